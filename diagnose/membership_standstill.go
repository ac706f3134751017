package diagnose

import "time"

// standstill is the time before a drop in which nobody of a classic group
// committed, by the group's own records.
//
// Where a member's session runs out, the others work on until they hear of it,
// and rejoin at their next heartbeat and poll. Where a group waits for a member
// that does not rejoin, everybody stops at once and for the rebalance timeout;
// where it waits for a leader that does not sync, for the followers' session
// timeout on top (measured: 10.1 and 10.6 s of 12 s, 18.1 s of 6 and 12 s). Slow
// survivors alone can look like that, so it is never proof.
type standstill struct {
	// known says that the others had a rhythm and broke it: they were not idle.
	known bool
	// since is the last commit of a member that stayed, length from there to the
	// end of the join phase.
	since  time.Time
	length time.Duration
	// rhythm is the others' longest time between commits before.
	rhythm time.Duration
}

// stillness measures the standstill before the record that dropped the member.
func (l *loss) stillness() standstill {
	if l.rec < 1 || !l.s.classic() {
		return standstill{}
	}
	end := settledAt(l.s.g.History, l.rec)
	x := standstill{}
	for _, m := range l.s.change(l.rec).stayed {
		if len(m.Partitions) == 0 {
			continue // it commits nothing
		}
		// A slow survivor commits right before it rejoins, so every instant counts.
		reqs := l.s.requests(m.ID, time.Time{}, end.Add(-time.Nanosecond))
		if len(reqs) < minRhythm {
			return standstill{}
		}
		x.rhythm = max(x.rhythm, l.longestGap(reqs, time.Time{}))
		x.since = latest(x.since, l.commitAt(reqs[len(reqs)-1]))
	}
	x.length = end.Sub(x.since)
	x.known = !x.since.IsZero() && x.length > 3*x.rhythm
	return x
}

// lastWords is how long after a rebalance began its members may commit: up to the
// next heartbeat, which tells them, and the poll and commit after it.
func (l *loss) lastWords() time.Duration {
	return l.heartbeat() + max(l.still.rhythm, l.sil.rhythm) + pollSlack
}

// heldByRecords says that the member worked until the others stopped, and that
// they stood still for its rebalance timeout, longer than its session lasts.
func (l *loss) heldByRecords() bool {
	x, reb := l.still, l.rebalance()
	return x.known && reb > 0 && l.session() > 0 && l.sil.known &&
		x.since.Sub(l.sil.last) <= l.lastWords() &&
		x.length >= reb-l.lastWords() && x.length <= reb+x.rhythm+syncSlack &&
		x.length > l.session()+l.lastWords()
}

// leaderByRecords says that it led the group, that a rebalance before the drop
// never ended, and that the others stood still for their session timeout and its
// rebalance timeout, one after the other.
func (l *loss) leaderByRecords() bool {
	x, reb := l.still, l.rebalance()
	gap, _, _ := l.generationGap()
	return x.known && gap && l.led() == isYes && reb > 0 && l.session() > 0 &&
		x.length >= reb+l.silentAtLeast() && x.length <= reb+l.session()+2*l.lastWords()
}

// rebalanceFirst says that the rebalance began before the member's session can
// have run out: somebody else joined with it, or heartbeats were answered with
// REBALANCE_IN_PROGRESS by then. A rebalance that its own loss began is later.
func (l *loss) rebalanceFirst() bool {
	if l.rec < 1 {
		return false
	}
	before := idSet(l.s.g.History.Records[l.rec-1].Members)
	for _, m := range l.s.g.History.Records[l.rec].Members {
		if !before[m.ID] && !sameClient(l.m, m, false) {
			return true
		}
	}
	b := l.s.coordinator()
	if b == nil {
		return false
	}
	for _, s := range b.counter(SignalHeartbeat27).steps {
		if !s.from.Before(l.sil.last) && !s.at.After(l.sil.last.Add(l.silentAtLeast())) {
			return true
		}
	}
	return false
}
