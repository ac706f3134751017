package diagnose

import (
	"fmt"
	"time"
)

func sickLeaderRule() Rule {
	return Rule{
		Class: SickLeader,
		Needs: []Need{NeedAdmin, NeedWatcher, NeedOffsets},
		Conditions: []string{
			"the group stood in CompletingRebalance for about a session timeout (the looks allow for two thirds of it, and show at least half of that): its leader had not synced",
			"the member that was dropped in the end led the group by the group's last record",
			"that member was still listed through the next rebalance, for longer than its session timeout",
			"or, where nobody looked: a generation is missing though no member was added, nobody of the group committed for the session and the rebalance timeout one after the other, and heartbeats were answered with REBALANCE_IN_PROGRESS again and again",
			"nobody called with its member id afterwards",
		},
		Corroboration: []string{
			"REBALANCE_IN_PROGRESS on Heartbeat rises: the followers' heartbeats went on",
			"membership before the window is known",
		},
		Source:   "Kafka reads one request of a connection at a time, so followers' heartbeats queue behind their SyncGroup; measured: Heartbeat 27 rose by 11, error 25 stayed 0, the leader ended as “haven't joined”",
		Explains: []Class{RebalanceStorm, LagStableGroup, SessionTimeout, ClientUnreachable},
		Provides: append(lossSpecs(),
			FactSpec{Name: "stuck_seconds", Unit: UnitSeconds, Meaning: "how long the group was seen waiting for its leader to sync", Optional: true},
			FactSpec{Name: "errors_27", Unit: UnitCount, Meaning: "REBALANCE_IN_PROGRESS answers on Heartbeat at the coordinator meanwhile", Optional: true},
		),
		Judge: func(f *facts) []Outcome { return judgeLosses(f, SickLeader) },
	}
}

// sickLeaderView: the group's leader never synced; the others look guilty. A
// leader that dies in that moment is dropped when its session runs out; one that
// is sick goes on with its heartbeats and is dropped a rebalance timeout later.
func sickLeaderView(l *loss) view {
	c := SickLeader
	if !l.s.classic() {
		return exclude(c, "a KIP-848 group has no leader")
	}
	waited := l.leaderWaited()
	words := "the group stood in CompletingRebalance for " + span(l.leaderWait().length) + ", waiting for its leader"
	gap, from, to := l.generationGap()
	switch {
	case l.led() == isNo:
		return exclude(c, "it was not the group's leader")
	case waited && l.heldUp() && l.led() == isYes && l.leave.answer == isNo:
		return prove(c, words+", and then for it to rejoin")
	case waited && l.heldUp():
		return match(c, words+", and then for it to rejoin")
	case l.called.answer == isYes && !waited && (l.session() > 0 || l.leaderWait().length == 0):
		// One that was seen to hold the group up calls when its assignor is done.
		return exclude(c, "somebody called with the old member id after the drop")
	case waited && l.heldLong():
		return match(c, words+", and then for it to rejoin")
	case waited && l.wait.begun && l.wait.most < l.rebalance()*8/10 && l.session() > 0:
		return exclude(c, "it was dropped when its session had run out, so it was silent as a whole")
	case l.leaderByRecords() && l.leave.answer != isYes && l.beatsClimb():
		return match(c, fmt.Sprintf("generation went from %d to %d, so a rebalance it led never ended, and nobody of the group committed for %s: its followers' session timeout and its rebalance timeout one after the other", from, to, seconds(l.still.length)))
	case waited:
		return leave(c, words)
	case l.session() == 0 && l.leaderWait().length > 0:
		return leave(c, words+"; its session timeout is not known")
	case gap && l.leave.answer != isYes:
		return leave(c, fmt.Sprintf("generation went from %d to %d: a rebalance before the drop never ended", from, to))
	case !l.wait.begun && l.led() == isYes && l.leave.answer != isYes && l.sil.known && l.rebalance() > 0 && l.sil.hi >= l.rebalance() && l.beatsClimb():
		return leave(c, "it led the group, and its followers were told again and again that a rebalance went on")
	default:
		return exclude(c, "no rebalance was seen waiting for its leader")
	}
}

// led says whether it led the group before the drop, by the group's last record
// that names a leader. A leader that stays a member stays the leader.
func (l *loss) led() tri {
	h := l.s.g.History
	if !h.Usable() {
		return dontKnow
	}
	for i := len(h.Records) - 1; i >= 0; i-- {
		r := h.Records[i]
		if i == l.rec || r.At.After(l.by) || r.Leader == "" {
			continue
		}
		if r.Leader == l.m.ID {
			return isYes
		}
		return isNo
	}
	return dontKnow
}

// stuckLeast is how long a group must wait for its leader to be called stuck:
// its followers give up after their own session timeout.
func (l *loss) stuckLeast() time.Duration {
	if l.session() == 0 {
		return sampling
	}
	return max(l.silentAtLeast(), time.Second)
}

// beatsClimb says that REBALANCE_IN_PROGRESS came more often than one rebalance
// gives it: each member hears it once or twice.
func (l *loss) beatsClimb() bool {
	n, _ := l.beats27()
	return n > float64(2*max(1, l.survivors))
}

// leaderWaited says that the group waited for its leader to sync. Looks bound
// the time in CompletingRebalance from both sides.
func (l *loss) leaderWaited() bool {
	w := l.leaderWait()
	return w.at >= 0 && w.most >= l.stuckLeast() && w.length >= l.stuckLeast()/2
}

// completing is a time in CompletingRebalance: length is from the first look to
// the last one that shows it, most from the look before to the look after.
type completing struct {
	length, most time.Duration
	at           int
}

// leaderWait is the longest time for which the group was seen in
// CompletingRebalance before the drop while this member was in it.
func (l *loss) leaderWait() completing {
	longest := completing{at: -1}
	since := l.waitSince()
	for i, x := range l.s.seen {
		if x.state != "CompletingRebalance" || x.from.After(l.by) || x.until.Before(since) || !x.has(l.m.ID) {
			continue
		}
		if d := x.until.Sub(x.from); longest.at < 0 || d > longest.length {
			longest = completing{length: d, most: l.s.between(i), at: i}
		}
	}
	return longest
}

// between is the time from the look before a snapshot to the look after it.
func (s *groupStory) between(i int) time.Duration {
	from, to := s.seen[i].from, s.seen[i].until
	for k := i - 1; k >= 0; k-- {
		if s.seen[k].rec < 0 {
			from = s.seen[k].until
			break
		}
	}
	for k := i + 1; k < len(s.seen); k++ {
		if s.seen[k].rec < 0 {
			to = s.seen[k].from
			break
		}
	}
	return to.Sub(from)
}

// generationGap says that a rebalance never ended. A gap in a record that also
// adds members is normal: two fresh members joining at once make one.
func (l *loss) generationGap() (gap bool, from, to int32) {
	if l.rec < 1 || l.s.change(l.rec).fresh {
		return false, 0, 0
	}
	a, b := l.s.g.History.Records[l.rec-1].Generation, l.s.g.History.Records[l.rec].Generation
	return b-a > 1, a, b
}

// waitSince is how far back the wait for a leader can have begun.
func (l *loss) waitSince() time.Time {
	if l.rebalance() == 0 {
		return earliest(l.by, l.s.f.from())
	}
	return l.by.Add(-l.session() - l.rebalance() - time.Minute)
}

// beats27 counts REBALANCE_IN_PROGRESS on heartbeats since the group waited.
func (l *loss) beats27() (float64, Citation) {
	b := l.s.coordinator()
	if b == nil {
		return 0, Citation{}
	}
	c := b.counter(SignalHeartbeat27)
	n := c.increase(l.waitSince(), l.by.Add(time.Minute))
	return n, b.cite(SignalHeartbeat27, fmt.Sprintf("%s REBALANCE_IN_PROGRESS on Heartbeat at broker %d: followers were alive and waiting", count(n), b.ID))
}

func leaderCitations(l *loss) []Citation {
	var out []Citation
	if w := l.leaderWait(); w.at >= 0 {
		x := l.s.seen[w.at]
		out = append(out, cite(x.path, fmt.Sprintf("CompletingRebalance for %s from %s", span(w.length), clock(x.from)), x.reading))
	}
	if n, c := l.beats27(); n > 0 {
		out = append(out, c)
	}
	return out
}

func leaderFacts(l *loss) []Fact {
	var v values
	if w := l.leaderWait(); w.at >= 0 {
		v.seconds("stuck_seconds", w.length)
	}
	if n, _ := l.beats27(); n > 0 {
		v.count("errors_27", int(n))
	}
	return v
}

func leaderSummary(l *loss) string {
	d := l.leaderWait().length
	if d == 0 {
		d = l.session() // the records show the whole wait, not its parts
	}
	return fmt.Sprintf("%s leads the group and did not hand out the assignment: the others waited at least %s for it, gave up and rejoined, and it was dropped at %s, when %s had run out; %s. The members that complain are healthy.",
		upper(l.name()), span(d), clock(l.by), timeoutWords("rebalance timeout", l.rebalance()), l.returnWords())
}
