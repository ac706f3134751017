package diagnose

import (
	"fmt"
	"time"
)

// coordView says how the coordinator was while a member was lost. A coordinator
// that froze, was overloaded or just loaded drops members of healthy clients.
type coordView struct {
	// well is yes when it served others all the time, no when something points
	// to it.
	well tri
	why  string
	cite Citation
}

func newCoordView(l *loss, m membership) coordView {
	if v, ok := l.coordSuspect(m); ok {
		return v
	}
	if l.sil.steady {
		c := l.s.g.History.Commits[l.sil.served]
		return coordView{well: isYes, why: "commits of other members were accepted meanwhile", cite: cite(
			groupPath(l.s.g.ID, fmt.Sprintf("history.commits[%d]", l.sil.served)),
			fmt.Sprintf("another member's commit was accepted at %s", clock(c.At)), l.s.g.History.Reading)}
	}
	if n, hurt, ok := l.s.neighbours(); ok && n > 0 && hurt <= 1 {
		w := l.s.f.e.Watcher.Reading
		return coordView{well: isYes, why: fmt.Sprintf("%s on broker %d kept their members", plural(n, "other group", "other groups"), l.s.g.Coordinator), cite: cite(
			"watcher.stable_groups", fmt.Sprintf("%s on broker %d kept their members", plural(n, "other group", "other groups"), l.s.g.Coordinator), w)}
	}
	return coordView{why: "no other group or member shows whether the coordinator was well"}
}

// neighbours counts the coordinator's groups that kept and that lost members.
func (s *groupStory) neighbours() (stable, hurt int, ok bool) {
	w := s.f.e.Watcher
	if !w.Usable() {
		return 0, 0, false
	}
	for _, c := range w.StableGroups {
		if c.Broker == s.g.Coordinator {
			return c.Stable, c.Hurt, true
		}
	}
	return 0, 0, false
}

// coordSuspect looks for what points to the coordinator.
func (l *loss) coordSuspect(m membership) (coordView, bool) {
	moment := time.Duration(l.s.f.l.SameMomentMS) * time.Millisecond
	if n, at := m.sameMoment(l, moment); n > 0 {
		return coordView{well: isNo, why: fmt.Sprintf("%s on broker %d lost members at the same moment, %s", plural(n, "other group", "other groups"), l.s.g.Coordinator, clock(at)), cite: Citation{
			Path: "watcher.losses", Value: fmt.Sprintf("%s of the same coordinator lost members at %s", plural(n, "other group", "other groups"), clock(at)), Source: l.s.f.e.Watcher.Source}}, true
	}
	if b := l.s.coordinator(); b != nil {
		if v, ok := l.coordRestart(b); ok {
			return v, true
		}
		if v, ok := l.coordHole(b); ok {
			return v, true
		}
	}
	if l.together > 1 && l.survivors == 0 && !l.leftAtOnce() {
		if n, hurt, ok := l.s.neighbours(); !ok || n == 0 || hurt > 1 {
			return coordView{well: isNo, why: fmt.Sprintf("all %d members were dropped at the same moment, at %s", l.together, clock(l.by)), cite: l.dropCitation()}, true
		}
	}
	return coordView{}, false
}

// coordRestart: a coordinator that has just loaded the group re-arms every
// session; whoever does not reach it in time is dropped one session later. A
// commit after the start shows that it had been reached.
func (l *loss) coordRestart(b *brokerFacts) (coordView, bool) {
	if b.start.IsZero() || !b.start.After(l.quietSince()) || b.start.After(l.by) {
		return coordView{}, false
	}
	return coordView{well: isNo, why: fmt.Sprintf("broker %d, the coordinator, started at %s, shortly before the drop", b.ID, clock(b.start)), cite: b.cite(SignalProcessStart, "process start "+clock(b.start))}, true
}

// coordHole: a frozen broker cannot be scraped.
func (l *loss) coordHole(b *brokerFacts) (coordView, bool) {
	from := l.quietSince()
	need := max(l.silentAtLeast(), 5*b.sc.every/2)
	for i := 1; i < len(b.sc.times); i++ {
		a, z := b.sc.times[i-1], b.sc.times[i]
		if z.Sub(a) >= need && z.After(from) && a.Before(l.by) && need > 0 {
			return coordView{well: isNo, why: fmt.Sprintf("broker %d, the coordinator, could not be scraped for %s from %s", b.ID, span(z.Sub(a)), clock(a)), cite: b.cite(SignalErrorsAny, fmt.Sprintf("no scrape from %s to %s", clock(a), clock(z)))}, true
		}
	}
	return coordView{}, false
}

// sameMoment counts the other groups of the coordinator that lost members
// within a moment of this loss. Only moments that are known well enough count:
// two losses between the same two looks of the watcher prove nothing.
func (m membership) sameMoment(l *loss, moment time.Duration) (groups int, at time.Time) {
	hit := map[string]bool{}
	close := func(group string, after, by time.Time) {
		exact := by.Sub(after) <= exactWithin && l.by.Sub(l.after) <= exactWithin
		if exact && by.Sub(l.by).Abs() <= moment {
			hit[group] = true
		}
	}
	for _, s := range m.stories {
		if s == l.s || s.g.Coordinator != l.s.g.Coordinator {
			continue
		}
		for _, x := range s.losses {
			close(s.g.ID, x.after, x.by)
		}
	}
	for _, v := range m.strangers(l, l.after.Add(-moment), l.by.Add(moment)) {
		close(v.Group, v.After, v.By)
	}
	return len(hit), l.by
}

// exactWithin is how well a moment must be known to compare two of them: the
// watcher looks every 10 s, and a group's records follow the survivors' rejoin.
const exactWithin = 12 * time.Second
