package collect

import (
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// A name that nobody uses is said so, whatever kind of thing it names.
func TestSubjectsThatAreNotThere(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		id := func(n int32) *int32 { return &n }
		for name, c := range map[string]struct {
			r      diagnose.Request
			status diagnose.Status
			text   string
		}{
			"a broker":             {diagnose.Request{Target: diagnose.Target{Broker: id(1)}}, diagnose.StatusOK, ""},
			"no broker":            {diagnose.Request{Target: diagnose.Target{Broker: id(77)}}, diagnose.StatusEmpty, "there is no broker 77 in this cluster; it has 0, 1, 2"},
			"a group":              {diagnose.Request{Target: diagnose.Target{Group: "idle"}}, diagnose.StatusOK, ""},
			"no group":             {diagnose.Request{Target: diagnose.Target{Group: "ordesr"}}, diagnose.StatusEmpty, "there is no group ordesr in this cluster: never used, deleted, expired, or misspelled; there is orders"},
			"a group that is gone": {diagnose.Request{Target: diagnose.Target{Group: "gone"}}, diagnose.StatusEmpty, "there is no group gone"},
			"no topic":             {diagnose.Request{Target: diagnose.Target{Topic: "nope"}}, diagnose.StatusEmpty, "there is no topic nope in this cluster"},
			"the cluster":          {diagnose.Request{}, diagnose.StatusOK, ""},
			"a name for a broker":  {diagnose.Request{Unresolved: "-1"}, diagnose.StatusPartial, "the alert names “-1”, which is not known to be a broker"},
		} {
			e := f.collect(f.runner(&fakeMetrics{}, nil), c.r)
			if r := e.TargetReading; r.Status != c.status || !strings.HasPrefix(r.Error, c.text) {
				t.Errorf("%s: %+v, want %s %q", name, r, c.status, c.text)
			}
			d := diagnose.Classify(e, diagnose.DefaultLimits()).Primary()
			if c.status == diagnose.StatusEmpty && (d.Class != diagnose.Undecided || !strings.HasPrefix(strings.ToLower(d.Summary), c.text)) {
				t.Errorf("%s: %s, %q", name, d.Class, d.Summary)
			}
		}
	})
}

func TestNear(t *testing.T) {
	all := []string{"orders", "orders-eu", "billing", "a"}
	for name, want := range map[string]string{
		"order": "; there is orders, orders-eu", "ORDERS": "; there is orders, orders-eu", "biling": "; there is billing", "bliling": "; there is billing",
		"payments": "", "": "; there is a, billing, orders",
	} {
		if got := near(name, all); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
