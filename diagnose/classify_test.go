package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAbsorb: a cause hides the symptoms it explains, for the subjects it
// covers.
func TestAbsorb(t *testing.T) {
	g := orders(lagSpec{})
	e := Evidence{Groups: []Group{g}}
	f := newFacts(&e, DefaultLimits())
	burst := finding(RestartBurst, Outcome{Answer: Yes, Subject: "broker 2"}, restartBurstRule().Explains)
	storm := finding(RebalanceStorm, Outcome{Answer: Yes, Subject: "group orders"}, nil)
	lag := finding(LagStableGroup, Outcome{Answer: Yes, Subject: "group orders"}, nil)
	if got := absorb(f, Rules(), []Finding{burst, storm, lag}); len(got) != 2 || got[0].Class != RestartBurst || got[1].Class != LagStableGroup {
		t.Errorf("the coordinator's restart explains the storm, not the lag: %v", got)
	}
	burst.Subject = "broker 3"
	if got := absorb(f, Rules(), []Finding{burst, storm}); len(got) != 2 {
		t.Errorf("the restart of another broker explains nothing: %v", got)
	}
}

// TestRank: severity, then independent citations, then code, then subject.
func TestRank(t *testing.T) {
	f := func(c Class, subject string, paths ...string) Finding {
		x := Finding{Class: c, Subject: subject}
		for _, p := range paths {
			x.Citations = append(x.Citations, Citation{Path: p})
		}
		return x
	}
	got := rank([]Finding{
		f(CacheNearLimit, "broker 1", "a", "b", "c"), f(RestartBurst, "broker 2", "a", "a"), f(RestartBurst, "broker 1", "a", "a"),
		f(RestartBurst, "broker 3", "a", "b"), f(CacheThrash, "broker 9"),
	})
	var order []string
	for _, x := range got {
		order = append(order, x.Subject)
	}
	if s := strings.Join(order, ","); s != "broker 9,broker 3,broker 1,broker 2,broker 1" {
		t.Errorf("order %s", s)
	}
}

// TestConfidence is derived, never set.
func TestConfidence(t *testing.T) {
	for _, tt := range []struct {
		o    Outcome
		want Confidence
	}{
		{Outcome{Answer: Yes}, Confirmed},
		{Outcome{Answer: Yes, Missing: []string{"x"}}, Likely},
		{Outcome{Answer: Yes, Blind: []Need{NeedDemand}}, Likely},
		{Outcome{Answer: Yes, Alternatives: []Alternative{{}}}, Likely},
		{Outcome{Answer: Yes, Missing: []string{"x"}, Provisional: true}, Provisional},
		{Outcome{Answer: Unknown}, Open},
	} {
		if got := tt.o.confidence(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.o, got, tt.want)
		}
	}
}

// TestScope: a question is about its target.
func TestScope(t *testing.T) {
	thrashing := small(alike(waves(64, every120(30*time.Second, 10)...)))
	w := world(stable(1), stable(2), thrashing)
	id := int32(1)
	w.target = &id
	if d := Classify(w.evidence(), DefaultLimits()); d.Primary().Class != Quiet || d.Primary().Subject != "broker 1" {
		t.Errorf("broker 1 is fine: %s of %s", d.Primary().Class, d.Primary().Subject)
	}
	w.target = nil
	if d := Classify(w.evidence(), DefaultLimits()); d.Primary().Class != CacheThrash || d.Primary().Subject != "broker 3" {
		t.Errorf("the cluster is not: %s of %s", d.Primary().Class, d.Primary().Subject)
	}
	e := w.evidence()
	g := orders(lagSpec{totals: ramp(1, 1), span: 600 * time.Second})
	e.Groups, e.Target.Group = []Group{g}, g.ID
	if d := Classify(e, DefaultLimits()); d.Primary().Class != Quiet || d.Primary().Subject != "group orders" {
		t.Errorf("the group is fine: %s of %s", d.Primary().Class, d.Primary().Subject)
	}
}

// TestMissingTarget: what was asked about and is not in the evidence is not
// healthy.
func TestMissingTarget(t *testing.T) {
	id := int32(7)
	for _, target := range []Target{{Broker: &id}, {Group: "nobody"}, {Topic: "nothing"}, {}} {
		e := world(stable(1)).evidence()
		e.Brokers, e.Target = nil, target
		d := Classify(e, DefaultLimits())
		if p := d.Primary(); p.Class != Undecided || p.Confidence != Open || p.Summary == "" || p.Decides == "" {
			t.Errorf("%+v: %s %s %q", target, p.Class, p.Confidence, p.Summary)
		}
	}
}

// TestForeign: the fetch-session classes do not apply to a Kafka-like system.
func TestForeign(t *testing.T) {
	e := world(stable(1), stable(2), small(alike(waves(64, every120(30*time.Second, 10)...)))).evidence()
	e.Cluster.Flavour = "redpanda"
	d := Classify(e, DefaultLimits())
	if p := d.Primary(); p.Class != Undecided || !strings.Contains(p.Summary, "redpanda") {
		t.Errorf("%s: %s", p.Class, p.Summary)
	}
	for _, r := range d.RuledOut {
		if e, _ := Lookup(r.Class); e.Family == FamilySustainedThrash && !strings.Contains(r.Because, "not applicable") {
			t.Errorf("%+v", r)
		}
	}
}

// Each Kafka-like system is told apart from Apache Kafka alike.
func TestForeignByAnyName(t *testing.T) {
	for _, flavour := range []string{"azure-event-hubs", "warpstream", "bufstream"} {
		e := world(stable(1), small(alike(waves(64, every120(30*time.Second, 10)...)))).evidence()
		e.Cluster.Flavour = flavour
		for _, r := range Classify(e, DefaultLimits()).RuledOut {
			if x, _ := Lookup(r.Class); x.Family == FamilySustainedThrash && !strings.Contains(r.Because, flavour) {
				t.Errorf("%s: %+v", flavour, r)
			}
		}
	}
}

// TestBlindSpots: what could not be read names its status, its hint and the
// classes it leaves open.
func TestBlindSpots(t *testing.T) {
	b := small(alike(waves(64, every120(30*time.Second, 10)...)))
	b.consumers = -1
	d := Classify(world(stable(1), stable(2), b).evidence(), DefaultLimits())
	want := BlindSpot{Reading: "demand", Status: StatusForbidden, LeavesOpen: []Class{CacheThrash, MisroutedSessions}, Detail: "DescribeGroups: not authorized; grant DESCRIBE on groups"}
	if len(d.BlindSpots) != 1 || fmt.Sprint(d.BlindSpots[0]) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", d.BlindSpots, want)
	}
}

// TestNextLook: a provisional burst is looked at when time has told.
func TestNextLook(t *testing.T) {
	d := Classify(world(stable(1), stable(2), burst3(time.Minute, 20)).evidence(), DefaultLimits())
	if n := d.NextLookSeconds; n < 180 || n > 260 {
		t.Errorf("next look in %d s, want when two periods of 120 s are over", n)
	}
	if n := Classify(world(stable(1)).evidence(), DefaultLimits()).NextLookSeconds; n != 0 {
		t.Errorf("quiet: next look in %d s", n)
	}
}

// TestAnyLimits: limits that make no sense are reported, and never stop a
// diagnosis.
func TestAnyLimits(t *testing.T) {
	if err := DefaultLimits().Validate(); err != nil {
		t.Error(err)
	}
	err := Limits{FullShare: 2}.Validate()
	if err == nil || !strings.Contains(err.Error(), "wave_seconds") || !strings.Contains(err.Error(), "full_share: 2") {
		t.Errorf("%v", err)
	}
	for _, c := range corpus(t) {
		if d := Classify(c.ev, Limits{}); len(d.Findings) == 0 {
			t.Errorf("%s: no finding", c.name)
		}
	}
}

// TestWindowDifference: waves are seen in any window, since the cache is never
// judged over less than three periods.
func TestWindowDifference(t *testing.T) {
	e := world(stable(1), stable(2), small(alike(waves(64, every120(100*time.Second, 10)...)))).evidence()
	for _, w := range []int{60, 120, 360, 600, 1200} {
		e.WindowSeconds = w
		if p := Classify(e, DefaultLimits()).Primary(); p.Class != CacheThrash || p.Confidence != Confirmed {
			t.Errorf("window %d s: %s (%s)", w, p.Class, p.Confidence)
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		count(1310): "1,310", count(-1234567): "-1,234,567", count(999): "999", count(20.0): "20",
		plural(1, "client", "clients"): "1 client", plural(0, "client", "clients"): "0 clients",
		span(45 * time.Second): "45 s", span(119 * time.Second): "119 s", span(10 * time.Minute): "10 min", span(3 * time.Hour): "3 h", span(72 * time.Hour): "3 d",
		percent(0.229): "23 %", capital(""): "", capital("a b"): "A b",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNoSubject: a name nobody uses is no good news, and a broker that is down is
// said to be down; no rule runs.
func TestNoSubject(t *testing.T) {
	id := int32(3)
	for status, want := range map[Status]string{
		StatusEmpty: "absent=yes down=no", StatusForbidden: "absent=yes down=no", StatusUnreachable: "absent=yes down=yes",
	} {
		e := world(stable(1), stable(3)).evidence()
		e.Target.Broker, e.TargetReading = &id, Reading{Status: status, Error: "there is no broker 3"}
		d := Classify(e, DefaultLimits())
		p := d.Primary()
		a, _ := p.Fact("absent")
		down, _ := p.Fact("down")
		if got := "absent=" + a.Text + " down=" + down.Text; len(d.Findings) != 1 || p.Class != Undecided || !strings.HasPrefix(p.Summary, "There is no broker 3.") || got != want {
			t.Errorf("%s: %s %q %s, want %s", status, p.Class, p.Summary, got, want)
		}
	}
	e := world(stable(1), stable(3)).evidence()
	e.TargetReading = Reading{Status: StatusPartial, Error: "the alert names “-1”"}
	if p := Classify(e, DefaultLimits()).Primary(); p.Class != Quiet || p.Confidence != Likely {
		t.Errorf("an unknown broker: %s, %s; want quiet, but not confirmed", p.Class, p.Confidence)
	}
}

// TestNothingComesBack: a broker that leads nothing and awaits nothing, and one
// whose partitions are new, have no burst to come.
func TestNothingComesBack(t *testing.T) {
	start := ago(5 * time.Minute)
	fresh := brokerSpec{
		id: 1, procs: []proc{{start: start}}, leaders: 14, sessions: always(0), slots: 1000, followers: 0, connections: 3, bytes: [3]float64{30, 29, 29},
	}
	none, some := 0, 2
	for name, c := range map[string]struct {
		awaited *int
		back    time.Time
		want    Class
	}{
		"idle":                 {&none, time.Time{}, Quiet},
		"partitions elsewhere": {&some, time.Time{}, RestartBurst},
		"not known":            {nil, time.Time{}, RestartBurst},
		"its first partitions": {&none, ago(15 * time.Second), Quiet},
	} {
		b := fresh
		b.procs = []proc{{start: start, leadersAt: c.back}}
		e := world(b).evidence()
		e.Brokers[0].Awaited = c.awaited
		if p := Classify(e, DefaultLimits()).Primary(); p.Class != c.want {
			t.Errorf("%s: %s (%s), want %s", name, p.Class, p.Summary, c.want)
		}
	}
}
