package playbooks

import (
	"slices"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// TestSharedCalculations: every card works slots out with the same lines.
func TestSharedCalculations(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, b := range set.List() {
		for _, s := range b.Steps {
			own := func(c Compute) bool {
				return c.Name == "planned" && strings.Contains(c.Expr, "sessions_planned(demand_consumers") || c.Name == "planned" && strings.Contains(c.Expr, "sessions_planned(connections")
			}
			if s.Uses == "" && slices.ContainsFunc(s.Compute, own) {
				t.Errorf("%s/%s works slots out by itself: use a calculation of shared/slots.yaml", b.Class, s.ID)
			}
			if s.Uses != "" {
				used[string(b.Class)+" "+s.Uses] = true
			}
		}
	}
	for _, want := range []string{"cache-thrash slots-for-demand", "follower-churn slots-for-demand", "cache-thrash slots-for-connections"} {
		if !used[want] {
			t.Errorf("missing: %s", want)
		}
	}
}

func TestUsesIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		step StepDef
		want string
	}{
		"unknown": {StepDef{Uses: "slots-for-nobody"}, `"slots-for-nobody" is not a shared calculation; there are slots-for-connections, slots-for-demand`},
		"twice":   {StepDef{Uses: "slots-for-demand", Compute: []Compute{{Name: "x"}}}, "a step has uses or compute, not both"},
	} {
		if err := c.step.share(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFollowerChurnSizesLikeThrash: with more demand than slots the last step of
// follower-churn gives the number that cache-thrash gives; with room there is none.
func TestFollowerChurnSizesLikeThrash(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	d := thrash()
	f := &d.Findings[0]
	f.Class = diagnose.FollowerChurn
	f.Facts = append(f.Facts, txt("once", "no"), num("restarts", diagnose.UnitCount, 3), txt("follower", "broker 2"))
	done := []string{"stop-the-restarts"}
	step, ok := set.Next(d, done)
	if !ok || step.View.Command != "max.incremental.fetch.session.cache.slots=2072" {
		t.Errorf("%v %+v", ok, step)
	}
	for i, x := range f.Facts {
		if x.Name == "slots" {
			f.Facts[i].Number = 4000
		}
	}
	if step, ok := set.Next(d, done); ok {
		t.Errorf("with 4,000 slots: %+v", step)
	}
}
