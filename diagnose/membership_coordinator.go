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
	// sure says that what points to it leaves no room for a client's fault.
	sure bool
	// kind is "frozen", "started", "overloaded" or "several groups"; empty
	// unless something points to it.
	kind string
	why  string
	cite Citation
}

// The kinds of trouble a coordinator can be in.
const (
	coordFrozen     = "frozen"
	coordStarted    = "started"
	coordOverloaded = "overloaded"
	coordMany       = "several groups"
)

// newCoordView asks first what shows that the coordinator was well: a commit of
// another member that was accepted meanwhile outweighs any coincidence.
func newCoordView(l *loss, m membership) coordView {
	if l.sil.steady {
		c := l.s.g.History.Commits[l.sil.served]
		return coordView{well: isYes, why: "commits of other members were accepted meanwhile", cite: cite(
			groupPath(l.s.g.ID, fmt.Sprintf("history.commits[%d]", l.sil.served)),
			fmt.Sprintf("another member's commit was accepted at %s", clock(c.At)), l.s.g.History.Reading)}
	}
	if v, ok := l.coordSuspect(m); ok {
		return v
	}
	if silent, ok := l.allSilent(); ok {
		// It may have dropped this one alone as it woke (measured: 1 of 8 members).
		return coordView{why: fmt.Sprintf("nobody of the group committed for %s around the drop, and whether broker %d, the coordinator, stood still is not visible without its metrics", span(silent), l.s.g.Coordinator)}
	}
	if n, hurt, ok := l.s.neighbours(); ok && n > 0 && (hurt <= 1 || n > hurt) {
		w := l.s.f.e.Watcher.Reading
		return coordView{well: isYes, why: fmt.Sprintf("%s on broker %d kept their members", plural(n, "other group", "other groups"), l.s.g.Coordinator), cite: cite(
			"watcher.stable_groups", fmt.Sprintf("%s on broker %d kept their members", plural(n, "other group", "other groups"), l.s.g.Coordinator), w)}
	}
	if l.together > 1 && l.survivors == 0 {
		// One group alone: its clients may share a host or a network.
		return coordView{why: fmt.Sprintf("all %d members were dropped at the same moment, at %s, and no other group shows whether the coordinator was well", l.together, clock(l.by))}
	}
	return coordView{why: "no other group or member shows whether the coordinator was well"}
}

// allSilent says that no member of the group committed for a session before the
// drop, where the coordinator's own scrapes do not tell whether it was there.
func (l *loss) allSilent() (time.Duration, bool) {
	if b := l.s.coordinator(); b != nil && len(b.sc.times) > 0 || l.survivors == 0 && l.together < 2 {
		return 0, false
	}
	silent := l.s.commitHole(l.quietSince(), l.by)
	return silent, silent > 0 && silent >= l.silentAtLeast()
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
	groups, at := m.sameMoment(l, moment)
	if b := l.s.coordinator(); b != nil {
		for _, look := range []func(*brokerFacts, int) (coordView, bool){l.coordRestart, l.coordHole} {
			if v, ok := look(b, groups); ok {
				return v, true
			}
		}
	}
	if groups > 0 && !l.mostKept() {
		words := fmt.Sprintf("%s of the same coordinator lost members at %s", plural(groups, "other group", "other groups"), clock(at))
		return coordView{well: isNo, sure: l.survivors == 0, kind: coordMany, why: fmt.Sprintf("%s on broker %d lost members at the same moment, %s", plural(groups, "other group", "other groups"), l.s.g.Coordinator, clock(at)),
			cite: m.momentCitation(l, moment, words)}, true
	}
	if v, ok := l.coordSwept(m); ok {
		return v, true
	}
	if b := l.s.coordinator(); b != nil && m.others(l) > 0 {
		return l.coordOverload(b)
	}
	return coordView{}, false
}

// coordSwept: a coordinator that does not answer blinds the watcher, too, so that
// the moments of its losses are known badly. Everybody of this group was dropped at
// once, and two groups more lost members between the same two looks, while few kept
// theirs.
func (l *loss) coordSwept(m membership) (coordView, bool) {
	stable, hurt, ok := l.s.neighbours()
	if !ok || hurt <= 2*stable || l.survivors != 0 || l.by.Sub(l.after) > time.Minute {
		return coordView{}, false
	}
	groups := map[string]bool{}
	for _, v := range l.s.f.e.Watcher.Losses {
		if v.Group != l.s.g.ID && v.Coordinator == l.s.g.Coordinator && v.By.Sub(v.After) <= time.Minute && v.After.Before(l.by) && v.By.After(l.after) {
			groups[v.Group] = true
		}
	}
	if len(groups) < 2 {
		return coordView{}, false
	}
	words := fmt.Sprintf("%s of broker %d lost members around %s, and %s kept theirs", plural(len(groups), "other group", "other groups"), l.s.g.Coordinator, clock(l.by), plural(stable, "group", "groups"))
	return coordView{well: isNo, sure: true, kind: coordMany, why: words, cite: cite("watcher.stable_groups", words, l.s.f.e.Watcher.Reading)}, true
}

// mostKept says that more of the coordinator's groups kept their members than
// lost some: their clients share something else, a host perhaps.
func (l *loss) mostKept() bool {
	n, hurt, ok := l.s.neighbours()
	return ok && n > hurt
}

// coordRestart: a coordinator that has just loaded the group re-arms every
// session; whoever does not reach it in time is dropped exactly one session
// later. A commit after the start shows that it had been reached.
func (l *loss) coordRestart(b *brokerFacts, groups int) (coordView, bool) {
	if b.start.IsZero() || !b.start.After(l.quietSince()) || b.start.After(l.by) {
		return coordView{}, false
	}
	later := l.by.Sub(b.start)
	timely := l.session() > 0 && later >= l.silentAtLeast() && later <= l.session()+loading
	return coordView{well: isNo, sure: timely && (l.survivors == 0 || groups > 0), kind: coordStarted,
		why:  fmt.Sprintf("broker %d, the coordinator, started at %s, %s before the drop", b.ID, clock(b.start), span(later)),
		cite: b.cite(SignalProcessStart, "process start "+clock(b.start))}, true
}

// loading is how long a broker may take from its start to the groups' load.
const loading = time.Minute

// coordHole: a frozen broker cannot be scraped. Its timers run out as it wakes,
// so the drop comes at the end of the hole.
func (l *loss) coordHole(b *brokerFacts, groups int) (coordView, bool) {
	from := l.quietSince()
	need := b.holeFrom(l.silentAtLeast())
	for _, x := range b.holes(need) {
		if l.forgotten(x) {
			return coordView{well: isNo, sure: true, kind: coordFrozen, why: x.words(b) + ", and read its groups from the log again", cite: x.cite(b)}, true
		}
		if !x.to.After(from) || !x.from.Before(l.by) {
			continue
		}
		waking := !l.by.Before(x.from.Add(need-b.sc.every)) && !l.by.After(x.to.Add(b.sc.every))
		waking = waking || l.reloaded(x.to)
		served := l.s.commitHole(x.from, x.to) < need
		return coordView{well: isNo, sure: waking && (l.survivors == 0 || groups > 0 || !served), kind: coordFrozen, why: x.words(b), cite: x.cite(b)}, true
	}
	return coordView{}, false
}

// forgotten says that the member joined after the coordinator woke and was missing
// as another was listed again: the log, from which the group was read, did not hold
// it yet.
func (l *loss) forgotten(x hole) bool {
	if l.drop < 0 || len(l.s.relisted) == 0 {
		return false // only the watcher saw it go
	}
	if first := l.s.seen[l.s.first[l.m.ID]].from; first.Before(x.to.Add(-skew)) || l.by.Sub(x.to) > loading {
		return false
	}
	again := l.s.seen[l.drop].from
	for _, at := range l.s.relisted {
		if at.Equal(again) {
			return true
		}
	}
	return false
}

// holeFrom is the length from which a gap between scrapes is a hole: that of the
// silence in question, and never one scrape that was missed.
func (b *brokerFacts) holeFrom(silence time.Duration) time.Duration {
	return max(silence, 5*b.sc.every/2)
}

// holes are the times in which the broker could not be scraped for a silence, in
// their order, while others were or there is none.
func (b *brokerFacts) holes(silence time.Duration) []hole {
	need := b.holeFrom(silence)
	var out []hole
	for i := 1; i < len(b.sc.times) && need > 0; i++ {
		x := hole{from: b.sc.times[i-1], to: b.sc.times[i]}
		if x.to.Sub(x.from) >= need && !b.f.unscraped(x.from, x.to, b) {
			out = append(out, x)
		}
	}
	return out
}

func (x hole) words(b *brokerFacts) string {
	return fmt.Sprintf("broker %d, the coordinator, could not be scraped for %s from %s", b.ID, span(x.to.Sub(x.from)), clock(x.from))
}

func (x hole) cite(b *brokerFacts) Citation {
	return b.cite(SignalErrorsAny, fmt.Sprintf("no scrape from %s to %s", clock(x.from), clock(x.to)))
}

// reloaded says that the coordinator read the group from the log again as it woke,
// this member with it, which had to reach it within one session and did not.
func (l *loss) reloaded(woke time.Time) bool {
	again := l.s.relisted[l.m.ID]
	return l.session() > 0 && !again.Before(woke) && !again.After(l.by) && l.by.Sub(woke) >= l.silentAtLeast() && l.by.Sub(woke) <= l.session()+loading
}

// unscraped says that no other broker was scraped in a span either: then it was
// the monitoring that stood still.
func (f *facts) unscraped(from, to time.Time, but *brokerFacts) bool {
	others := false
	for _, b := range f.br {
		if b == but || len(b.sc.times) == 0 {
			continue
		}
		others = true
		for _, t := range b.sc.times {
			if t.After(from.Add(b.sc.every)) && t.Before(to.Add(-b.sc.every)) {
				return false
			}
		}
	}
	return others
}

// slowHeartbeatMS is the 99th percentile of a heartbeat's time at the broker
// from which it counts as overloaded. A healthy one takes a few milliseconds; no
// run has measured the limit itself.
const slowHeartbeatMS = 1000

// coordOverload: heartbeats took over a second at the broker. It is asked for
// only when several groups lost members.
func (l *loss) coordOverload(b *brokerFacts) (coordView, bool) {
	worst := 0.0
	for _, v := range b.gauge(SignalHeartbeatP99) {
		if v.T.After(l.quietSince()) && !v.T.After(l.by.Add(b.sc.every)) {
			worst = max(worst, v.V)
		}
	}
	if worst <= slowHeartbeatMS {
		return coordView{}, false
	}
	words := fmt.Sprintf("heartbeats took up to %s at broker %d (99th percentile)", seconds(time.Duration(worst*float64(time.Millisecond))), b.ID)
	return coordView{well: isNo, sure: true, kind: coordOverloaded, why: words, cite: b.cite(SignalHeartbeatP99, words)}, true
}

// sameMoment counts the other groups of the coordinator that lost members
// within a moment of this loss. Only moments that are known well enough count:
// two losses between the same two looks of the watcher prove nothing.
func (m membership) sameMoment(l *loss, moment time.Duration) (groups int, at time.Time) {
	hit := map[string]bool{}
	close := func(group string, after, by time.Time) {
		if l.sameTime(after, by, moment) {
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

// sameTime says that another loss can have come within a moment of this one, and
// that both are dated well enough for that to mean something.
func (l *loss) sameTime(after, by time.Time, moment time.Duration) bool {
	exact := by.Sub(after) <= exactWithin && l.by.Sub(l.after) <= exactWithin
	return exact && !l.by.Before(after.Add(-moment)) && !by.Before(l.after.Add(-moment))
}

// momentCitation cites the loss of another group at the same moment: the
// watcher's, or else the other group's own.
func (m membership) momentCitation(l *loss, moment time.Duration, words string) Citation {
	w := l.s.f.e.Watcher
	for i, v := range w.Losses {
		if w.Usable() && v.Group != l.s.g.ID && v.Coordinator == l.s.g.Coordinator && l.sameTime(v.After, v.By, moment) {
			return cite(fmt.Sprintf("watcher.losses[%d]", i), words, w.Reading)
		}
	}
	for _, s := range m.stories {
		for _, x := range s.losses {
			if s != l.s && s.g.Coordinator == l.s.g.Coordinator && l.sameTime(x.after, x.by, moment) {
				c := x.dropCitation()
				c.Value = words
				return c
			}
		}
	}
	return l.dropCitation()
}

// exactWithin is how well a moment must be known to compare two of them: the
// watcher looks every 10 s, and a group's records follow the survivors' rejoin.
const exactWithin = 12 * time.Second
