package score

import (
	"fmt"
	"slices"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Fault is what the lab did in a recorded run, as far as it moves evidence. What a
// finding cites must lie in its traces; a class' usual signs do not do.
type Fault struct {
	At time.Time `json:"at"`
	// Groups are those that were hit, Client the client id, if it was one.
	Groups []string `json:"groups,omitempty"`
	Client string   `json:"client,omitempty"`
	// Moved are the counters of their coordinator that the lab saw rise.
	Moved []diagnose.Signal `json:"moved,omitempty"`
	// Coordinator says that the coordinator itself was hit.
	Coordinator bool `json:"coordinator,omitempty"`
}

// lastWords is how long before the fault a member's last commit may lie: two
// commit intervals of the lab's longest. A silence begins with it.
const lastWords = 5 * time.Second

// Traces lists the paths into the evidence that the fault moved: what the groups
// wrote and how they were seen from then on, the counters that rose, the client.
// What stands elsewhere, and what a counter does not show, is no trace.
func (f Fault) Traces(e diagnose.Evidence) []string {
	var out []string
	for _, g := range e.Groups {
		if slices.Contains(f.Groups, g.ID) {
			out = append(out, f.inGroup(g)...)
			out = append(out, f.atCoordinator(g.Coordinator)...)
		}
	}
	for i, l := range e.Watcher.Losses {
		if slices.Contains(f.Groups, l.Group) && !l.By.Before(f.At) {
			out = append(out, fmt.Sprintf("watcher.losses[%d]", i))
		}
	}
	if f.Client != "" {
		out = append(out, fmt.Sprintf("clients[%s]", f.Client))
	}
	return out
}

func (f Fault) inGroup(g diagnose.Group) []string {
	var out []string
	add := func(format string, i int) { out = append(out, fmt.Sprintf("groups[%s]."+format, g.ID, i)) }
	for i, r := range g.History.Records {
		if !r.At.Before(f.At) {
			add("history.records[%d]", i)
		}
	}
	for i, c := range g.History.Commits {
		if !c.At.Before(f.At.Add(-lastWords)) {
			add("history.commits[%d]", i)
		}
	}
	for i, s := range g.Snapshots {
		if !s.At.Before(f.At) {
			add("snapshots[%d]", i)
		}
	}
	if n := len(g.Lag); n > 0 && !g.Lag[n-1].At.Before(f.At) {
		out = append(out, fmt.Sprintf("groups[%s].lag", g.ID))
	}
	return out
}

func (f Fault) atCoordinator(id int32) []string {
	var out []string
	at := func(s diagnose.Signal) { out = append(out, fmt.Sprintf("brokers[%d].%s", id, s)) }
	for _, s := range f.Moved {
		at(s)
	}
	if f.Coordinator {
		at(diagnose.SignalErrorsAny) // a hole in the scrapes
		at(diagnose.SignalProcessStart)
		out = append(out, "watcher.stable_groups")
	}
	return out
}
