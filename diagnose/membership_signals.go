package diagnose

import (
	"fmt"
	"slices"
	"time"
)

// tri is an answer that may not be known.
type tri int

const (
	dontKnow tri = iota
	isNo
	isYes
)

// signalView is what a broker counter says about one loss.
type signalView struct {
	answer tri
	// n is the increase that was counted.
	n float64
	// rivals is the number of losses whose moment it can be about.
	rivals int
	// why says in words why the answer is not known.
	why string
	// cite is the observation; its Path is empty when nothing was read.
	cite Citation
	// blind is true when the counter could not be read at all.
	blind bool
}

// observe works out what the sources saw around a loss. All losses must have
// been listened to before, since that dates them.
func (l *loss) observe(m membership) {
	l.leave = l.leaves(m)
	l.called = l.calls(m)
	l.client = newClientView(l)
	l.coord = newCoordView(l, m)
}

// coordinator returns the facts of the group's coordinator, nil if unknown.
func (s *groupStory) coordinator() *brokerFacts { return s.f.broker(s.g.Coordinator) }

// leaves counts LeaveGroup requests around the drop. A member that leaves by
// itself sends one; a session that runs out, and a process that dies, none.
// KIP-848 members leave by heartbeat, which this counter does not see; their
// records show it for static members only.
func (l *loss) leaves(m membership) signalView {
	b := l.s.coordinator()
	if v, ok := l.leftForNow(); ok {
		return v
	}
	if !l.s.classic() {
		return signalView{why: "KIP-848 members leave by heartbeat, which no counter shows", blind: true}
	}
	if b == nil {
		return signalView{why: "the coordinator's metrics were not read", blind: true}
	}
	c := b.counter(SignalLeaveRequests)
	if !c.known {
		return signalView{why: "LeaveGroup requests are not exported", blind: true}
	}
	if c.since.After(l.by) {
		return signalView{why: "the coordinator was not scraped around the drop", blind: true}
	}
	if c.last.Before(l.by) {
		return signalView{why: "the coordinator has not been scraped since the drop"}
	}
	from, to := l.after.Add(-skew), l.by.Add(skew)
	v := signalView{n: overlapping(c.steps, from, to)}
	at := clock(l.by)
	rivals := m.near(l, from, to)
	v.rivals = rivals
	switch {
	case v.n == 0:
		v.answer = isNo
		v.cite = b.cite(SignalLeaveRequests, fmt.Sprintf("no LeaveGroup request at broker %d around %s", b.ID, at))
	case l.by.Sub(l.after) > leaveWithin:
		v.why = fmt.Sprintf("%s at broker %d between %s and %s, too long a time to say whose", plural(v.n, "LeaveGroup request", "LeaveGroup requests"), b.ID, clock(l.after), at)
		v.cite = b.cite(SignalLeaveRequests, v.why)
	case l.likelierSilent():
		v.why = fmt.Sprintf("%s at broker %d around %s, perhaps of another group: this member had been silent for its session timeout, and the others were not all looked at since", plural(v.n, "LeaveGroup request", "LeaveGroup requests"), b.ID, at)
		v.cite = b.cite(SignalLeaveRequests, v.why)
	case int(v.n) >= rivals:
		v.answer = isYes
		v.cite = b.cite(SignalLeaveRequests, fmt.Sprintf("%s at broker %d around %s", plural(v.n, "LeaveGroup request", "LeaveGroup requests"), b.ID, at))
	default:
		v.why = fmt.Sprintf("%s for %d members lost at the same time on broker %d", plural(v.n, "LeaveGroup request", "LeaveGroup requests"), rivals, b.ID)
		v.cite = b.cite(SignalLeaveRequests, v.why)
	}
	return v
}

// leaveWithin is how well the moment of the drop must be known to call a
// LeaveGroup request the member's own: consumers that come and go between two
// looks of the watcher send them too.
const leaveWithin = time.Minute

// likelierSilent says that the member's session can have run out, that its poll limit
// cannot, and that the coordinator may have other groups, of which the watcher has not
// seen enough since to know their losses. A client that closes commits first and would not
// have been silent.
func (l *loss) likelierSilent() bool {
	w := l.s.f.e.Watcher
	stable, hurt, ok := l.s.neighbours()
	early := !ok || stable+hurt > 1 && w.AsOf.Before(l.by.Add(sampling))
	return early && l.session() > 0 && l.brokeRhythm() && !l.longEnoughForPoll() &&
		l.sil.lo <= l.session()+skew && l.sil.hi >= l.silentAtLeast()
}

// overlapping sums the steps that can lie in (from, to].
func overlapping(steps []step, from, to time.Time) float64 {
	n := 0.0
	for _, s := range steps {
		if s.at.After(from) && s.from.Before(to) {
			n += s.n
		}
	}
	return n
}

// near counts the losses at the same coordinator, this one included, whose
// moment can lie in the span: a counter of the broker cannot tell them apart.
func (m membership) near(l *loss, from, to time.Time) int {
	n := 0
	for _, s := range m.stories {
		if s.g.Coordinator != l.s.g.Coordinator {
			continue
		}
		for _, x := range s.losses {
			if x == l || x.by.After(from) && x.after.Before(to) {
				n++
			}
		}
	}
	return n + len(m.strangers(l, from, to))
}

// strangers are the watcher's losses at the same coordinator, in groups that
// are not in the evidence, whose moment can lie in the span.
func (m membership) strangers(l *loss, from, to time.Time) []Loss {
	w := l.s.f.e.Watcher
	if !w.Usable() {
		return nil
	}
	var out []Loss
	for _, v := range w.Losses {
		known := slices.ContainsFunc(m.stories, func(s *groupStory) bool { return s.g.ID == v.Group })
		if !known && v.Coordinator == l.s.g.Coordinator && v.By.After(from) && v.After.Before(to) {
			out = append(out, v)
		}
	}
	return out
}

// beat25 are the errors 25 that a member with an old id gets. Which of them is
// a race between its heartbeat and its commit, so only the sum means anything;
// commits count once a partition.
var beat25 = [...]Signal{SignalHeartbeat25, SignalOffsetCommit25, SignalGroupBeat25}

// calls counts UNKNOWN_MEMBER_ID after the drop: somebody called with the old
// member id, so the process lived.
func (l *loss) calls(m membership) signalView {
	b := l.s.coordinator()
	if b == nil {
		return signalView{why: "the coordinator's metrics were not read", blind: true}
	}
	if !l.s.classic() && !b.counter(SignalGroupBeat25).known {
		// A member of such a group calls by ConsumerGroupHeartbeat first; that nobody
		// was refused elsewhere says nothing.
		return signalView{why: "errors 25 of ConsumerGroupHeartbeat are not exported", blind: true}
	}
	v := signalView{answer: isNo}
	var early []step
	var last time.Time
	seen := 0
	first := m.firstLoss(l)
	for _, s := range beat25 {
		c := b.counter(s)
		if !c.known || c.since.After(l.after) {
			continue
		}
		seen++
		last = c.last
		n := l.callsIn(c, b)
		v.n += n
		early = append(early, c.within(l.s.f.from(), first)...)
		if v.cite.Path == "" || n > 0 {
			v.cite = b.cite(s, "")
		}
	}
	switch {
	case seen == 0:
		return signalView{why: "errors 25 are not exported, or not since before the drop", blind: true}
	case last.Before(l.by):
		return signalView{why: "the coordinator has not been scraped since the drop"}
	}
	v.cite.Value = fmt.Sprintf("%s at broker %d since %s", plural(v.n, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"), b.ID, clock(l.after))
	if v.n == 0 {
		if l.back != nil && (l.back.sameID || l.leave.answer != isYes) && last.Before(l.back.at) {
			// A member that was silent calls when it wakes up, and rejoins: nobody has
			// looked since. One that was removed calls at its next heartbeat.
			return signalView{why: "the coordinator has not been scraped since its return"}
		}
		v.cite.Value = fmt.Sprintf("no UNKNOWN_MEMBER_ID at broker %d since %s", b.ID, clock(l.after))
		return v
	}
	v.answer = isYes
	if others := m.others(l); others > 0 {
		v.answer = dontKnow
		v.why = fmt.Sprintf("errors 25 at broker %d can come from %s that lost members there", b.ID, plural(others, "other group", "other groups"))
	} else if recurring(early) {
		v.answer = dontKnow
		v.why = fmt.Sprintf("errors 25 at broker %d went on before the first loss already", b.ID)
	}
	return v
}

// recurring says that errors came again and again before the first loss, as from
// a tool that commits from outside. A single time belongs to a loss of its own.
func recurring(early []step) bool {
	slices.SortFunc(early, func(a, b step) int { return a.at.Compare(b.at) })
	return len(early) > 1 && early[len(early)-1].at.Sub(early[0].at) > time.Minute
}

// callsIn counts the errors of a counter that the lost member can have got. The
// counter is the broker's, so the time has to fit: a process that calls with an
// old id rejoins at once, and one that was removed calls at its next heartbeat.
// Errors long after its return, or long ago while it is still away, are somebody
// else's.
func (l *loss) callsIn(c counter, b *brokerFacts) float64 {
	removed := l.leave.answer == isYes
	slack := 2*b.sc.every + l.heartbeat()
	if !removed {
		slack += max(l.session(), defaultSession)
	}
	n := 0.0
	for _, s := range c.steps {
		fits := !s.at.After(l.by.Add(slack)) || !removed && s.at.After(l.s.f.at().Add(-slack))
		if l.back != nil {
			fits = !s.at.After(l.back.at.Add(slack))
		}
		if s.at.After(l.after) && fits {
			n += s.n
		}
	}
	return n
}

// firstLoss is the earliest moment at which the coordinator can have dropped a
// member that is known of.
func (m membership) firstLoss(l *loss) time.Time {
	first := l.after
	for _, s := range m.stories {
		for _, x := range s.losses {
			if s.g.Coordinator == l.s.g.Coordinator {
				first = earliest(first, x.after)
			}
		}
	}
	return first
}

// others counts the other groups of the coordinator that lost members in the
// window.
func (m membership) others(l *loss) int {
	groups := map[string]bool{}
	for _, s := range m.stories {
		if s != l.s && s.g.Coordinator == l.s.g.Coordinator && len(s.losses) > 0 {
			groups[s.g.ID] = true
		}
	}
	for _, v := range m.strangers(l, l.s.f.from(), l.s.f.at()) {
		groups[v.Group] = true
	}
	return len(groups)
}

// pendingSync counts UNKNOWN_MEMBER_ID on SyncGroup after the drop; 0 when it
// is not known.
func (l *loss) pendingSync() (float64, Citation) {
	b := l.s.coordinator()
	if b == nil {
		return 0, Citation{}
	}
	c := b.counter(SignalSyncGroup25)
	if !c.known {
		return 0, Citation{}
	}
	n := l.callsIn(c, b)
	return n, b.cite(SignalSyncGroup25, fmt.Sprintf("%s on SyncGroup at broker %d since %s", plural(n, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"), b.ID, clock(l.after)))
}
