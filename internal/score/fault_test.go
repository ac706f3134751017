package score

import (
	"slices"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// What the group wrote before the fault, another group, and a counter that did not
// rise are no traces of the fault.
func TestTracesAreWhatTheFaultMoved(t *testing.T) {
	fault := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return fault.Add(time.Duration(s) * time.Second) }
	group := func(id string) diagnose.Group {
		return diagnose.Group{
			ID: id, Coordinator: 2,
			Snapshots: []diagnose.GroupSnapshot{{At: at(-30)}, {At: at(7)}},
			Lag:       []diagnose.LagPoint{{At: at(-30)}},
			History: diagnose.GroupHistory{
				Records: []diagnose.GroupRecord{{At: at(-60)}, {At: at(6)}},
				Commits: []diagnose.Commit{{At: at(-20)}, {At: at(-1)}},
			},
		}
	}
	e := diagnose.Evidence{Groups: []diagnose.Group{group("orders"), group("other")}}
	e.Watcher.Losses = []diagnose.Loss{{Group: "other", By: at(6)}, {Group: "orders", By: at(-40)}, {Group: "orders", By: at(6)}}
	f := Fault{At: fault, Groups: []string{"orders"}, Client: "orders-a", Moved: []diagnose.Signal{diagnose.SignalHeartbeat25}}
	want := []string{
		"groups[orders].history.records[1]", "groups[orders].history.commits[1]", "groups[orders].snapshots[1]",
		"brokers[2].errors.heartbeat_unknown_member", "watcher.losses[2]", "clients[orders-a]",
	}
	if got := f.Traces(e); !slices.Equal(got, want) {
		t.Errorf("traces\n%q, want\n%q", got, want)
	}
	f.Coordinator = true
	if got := f.Traces(e); !slices.Contains(got, "brokers[2].process_start") || !slices.Contains(got, "watcher.stable_groups") {
		t.Errorf("traces of a coordinator that was hit: %q", got)
	}
}

// A right verdict that cites what was there before the fault is not grounded.
func TestCitingTheBaselineIsNotGrounded(t *testing.T) {
	f := diagnose.Finding{Citations: []diagnose.Citation{{Path: "groups[orders].history.records[0]"}}}
	fault := Fault{At: time.Unix(100, 0), Groups: []string{"orders"}}
	e := diagnose.Evidence{Groups: []diagnose.Group{{ID: "orders", History: diagnose.GroupHistory{Records: []diagnose.GroupRecord{{At: time.Unix(40, 0)}, {At: time.Unix(106, 0)}}}}}}
	if cites(f, fault.Traces(e)) {
		t.Error("the record is older than the fault")
	}
	f.Citations[0].Path = "groups[orders].history.records[1]"
	if !cites(f, fault.Traces(e)) {
		t.Error("the record is the fault's")
	}
}
