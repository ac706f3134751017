package diagnose

import (
	"fmt"
	"slices"
	"time"
)

// stability says whether the members of a group came or went in the window.
type stability struct {
	// changed is true when somebody came or went; how says what was seen.
	changed bool
	how     string
	// known is true when the whole window was watched. Not changed and not
	// known means: not seen, which is not the same as nobody left.
	known bool
	// by cites the source that knows.
	by Citation
}

// stability looks for changes in what the watcher lost, the group's records
// and the snapshots, and at whether one of them spans the window.
func (f *facts) stability(g *Group) stability { return f.stableSince(g, f.from()) }

// stableSince is stability from a moment on.
func (f *facts) stableSince(g *Group, from time.Time) stability {
	looks := []func(*Group, time.Time) stability{f.byWatcher, f.byHistory, f.bySnapshots}
	for _, look := range looks {
		if s := look(g, from); s.changed {
			return s
		}
	}
	for _, look := range looks {
		if s := look(g, from); s.known {
			return s
		}
	}
	return stability{how: "whether members came or went is not visible"}
}

func (f *facts) byWatcher(g *Group, from time.Time) stability {
	if !f.e.Watcher.Usable() {
		return stability{}
	}
	for i, l := range f.e.Watcher.Losses {
		if l.Group == g.ID && l.By.After(from) && !l.By.After(f.at()) {
			return stability{changed: true, known: true, how: "a member was lost by " + clock(l.By),
				by: cite(fmt.Sprintf("watcher.losses[%d]", i), "a member was lost by "+clock(l.By), f.e.Watcher.Reading)}
		}
	}
	if since := f.e.Watcher.Since; !since.IsZero() && !since.After(from) {
		return stability{known: true, by: cite("watcher.since", "watched since "+clock(since)+", nobody lost", f.e.Watcher.Reading)}
	}
	return stability{}
}

func (f *facts) byHistory(g *Group, from time.Time) stability {
	h := g.History
	if !h.Usable() {
		return stability{}
	}
	for i, r := range h.Records {
		if !r.At.After(from) || r.At.After(f.at()) {
			continue
		}
		if i == 0 || !sameMembers(h.Records[i-1].Members, r.Members) {
			words := r.words() + " with other members at " + clock(r.At)
			return stability{changed: true, known: true, how: words,
				by: cite(groupPath(g.ID, fmt.Sprintf("history.records[%d]", i)), words, h.Reading)}
		}
	}
	if n := len(h.Records); h.Baseline || n > 0 && !h.Records[0].At.After(from) {
		return stability{known: true, by: cite(groupPath(g.ID, "history"), "no membership record in the window", h.Reading)}
	}
	return stability{}
}

func sameMembers(a, b []RecordMember) bool {
	return slices.EqualFunc(a, b, func(x, y RecordMember) bool { return x.ID == y.ID })
}

func (f *facts) bySnapshots(g *Group, from time.Time) stability {
	if g.unlisted() {
		words := "no broker lists the group at " + clock(g.AsOf)
		return stability{changed: true, known: true, how: words, by: cite(groupPath(g.ID, "status"), words, g.Reading)}
	}
	for i, s := range g.Snapshots {
		if i == 0 || !s.At.After(from) {
			continue
		}
		prev := g.Snapshots[i-1].Members
		if !slices.EqualFunc(prev, s.Members, func(x, y Member) bool { return x.ID == y.ID }) {
			words := fmt.Sprintf("members %d → %d at %s", len(prev), len(s.Members), clock(s.At))
			return stability{changed: true, known: true, how: words,
				by: cite(groupPath(g.ID, fmt.Sprintf("snapshots[%d]", i)), words, g.Reading)}
		}
	}
	if n := len(g.Snapshots); n > 0 && !g.Snapshots[0].At.After(from) && !g.Snapshots[0].At.IsZero() {
		return stability{known: true, by: cite(groupPath(g.ID, fmt.Sprintf("snapshots[%d]", n-1)), "the same members through the window", g.Reading)}
	}
	return stability{}
}

// stateDead is what DescribeGroups says of a group that its coordinator does not
// hold.
const stateDead = "Dead"

// unlisted says that the group was seen and its coordinator no longer lists it: the
// snapshots are of the past.
func (g *Group) unlisted() bool {
	n := len(g.Snapshots)
	return g.Status == StatusEmpty && n > 0 && g.Snapshots[n-1].until().Before(g.AsOf)
}

// until is the last moment for which the snapshot is known to hold.
func (s GroupSnapshot) until() time.Time { return latest(s.At, s.Until) }

// state returns the group's present snapshot; a group that is no longer listed is
// Dead and has no members.
func (g *Group) state() (GroupSnapshot, bool) {
	if g.unlisted() {
		return GroupSnapshot{At: g.AsOf, Until: g.AsOf, State: stateDead}, true
	}
	if len(g.Snapshots) == 0 {
		return GroupSnapshot{}, false
	}
	return g.Snapshots[len(g.Snapshots)-1], true
}
