package diagnose

import (
	"fmt"
	"strings"
	"time"
)

func rebalanceTimeoutRule() Rule {
	return Rule{
		Class: RebalanceTimeout,
		Needs: []Need{NeedAdmin, NeedWatcher},
		Conditions: []string{
			"a member was still listed while the group was in PreparingRebalance, for longer than its session timeout, and that rebalance can have lasted for its rebalance timeout",
			"or, where nobody looked: it worked until a rebalance began that its own loss did not begin (somebody joined, or heartbeats were answered with REBALANCE_IN_PROGRESS before its session can have run out), and nobody of the group committed for its rebalance timeout, less a heartbeat and a commit",
			"or its own metrics show that its process ran and did not poll, it is no static member, and it did not leave",
			"no LeaveGroup request accounts for the drop; or it came sooner after the last commit than the poll limit allows, by half a second, or by anything if somebody else began the rebalance and it was seen for four fifths of the rebalance timeout",
			"the group had not waited for it as its leader before",
		},
		Corroboration: []string{
			"it was seen in the rebalance: records or client metrics alone make it likely",
			"membership before the window is known",
		},
		Source:   "Kafka GroupCoordinator: “removed dynamic members who haven't joined”; measured: a blocking revoke callback ends so for the Java client, exactly one rebalance timeout after the rebalance began",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: append(lossSpecs(),
			FactSpec{Name: "held_seconds", Unit: UnitSeconds, Meaning: "how long the group was seen waiting for it", Optional: true},
			FactSpec{Name: "assignor", Unit: UnitText, Meaning: "the group's assignor, as it was last seen", Optional: true},
		),
		Judge: func(f *facts) []Outcome { return judgeLosses(f, RebalanceTimeout) },
	}
}

// rebalanceTimeoutView: the member did not rejoin in time. It stays listed
// through the rebalance that it holds up; a member whose session ran out does not.
func rebalanceTimeoutView(l *loss) view {
	c := RebalanceTimeout
	if v, ok := l.revokeView(); ok && l.leave.answer != isYes {
		return v
	}
	reb := l.rebalance()
	waited := l.leaderWaited()
	switch {
	case l.leftLate():
		return match(c, l.heldReason()+"; the LeaveGroup request is what the client sent when it noticed, right after")
	case l.leave.answer == isYes && l.heldByRecords() && l.rebalanceFirst():
		return leave(c, l.heldReason()+"; whether it left before or after that ran out is not visible")
	case l.leave.answer == isYes:
		return exclude(c, "the member left by itself")
	case l.heldUp() && waited:
		return exclude(c, "the group had stood in CompletingRebalance for "+span(l.leaderWait().length)+" before, waiting for it as its leader")
	case l.leaderByRecords():
		return leave(c, "nobody of the group committed for "+seconds(l.still.length)+", and a rebalance before had not ended: more than one rebalance timeout explains")
	case l.heldUp() && l.leave.answer == isNo:
		return prove(c, l.heldWords())
	case l.heldUp():
		return match(c, l.heldWords())
	case l.heldLong() && waited:
		return leave(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance")
	case l.heldLong():
		return match(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance, longer than nearly all session timeouts")
	case l.wait.begun && l.wait.at < 0:
		return exclude(c, "it was no longer listed when the rebalance had just begun")
	case l.wait.begun && reb > 0 && l.wait.most < reb*8/10:
		return exclude(c, "the rebalance took at most "+seconds(l.wait.most)+", less than its rebalance timeout of "+seconds(reb))
	case l.leftAtOnce() && l.leave.answer == dontKnow && l.wait.at < 0 && l.recordsApart(reb):
		return leave(c, "the record that drops it came one rebalance timeout of "+seconds(reb)+" after the one before, and whether it was still listed meanwhile is not visible")
	case l.sil.known && reb > 0 && l.sil.hi < reb-l.lastWords():
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than its rebalance timeout of "+seconds(reb))
	case l.heldByRecords() && l.rebalanceFirst():
		return match(c, l.heldReason())
	case l.busyAlive() && l.leave.answer == isNo && !l.static():
		return match(c, "its process ran all the time and did not poll for "+seconds(l.client.longest())+", and it did not leave; its rebalance timeout is "+seconds(reb))
	case l.wait.at >= 0 && reb > 0 && l.wait.least >= reb*8/10:
		return leave(c, l.heldWords()+"; its session timeout is as long")
	case l.sil.join >= 0 && reb > 0 && l.sil.join < reb*8/10:
		return exclude(c, "the rebalance took at most "+span(l.sil.join)+", less than its rebalance timeout")
	case l.survivors == 0:
		return exclude(c, "no other member waited for it")
	default:
		return leave(c, "whether it was still listed while the group waited for it is not visible")
	}
}

// recordsApart says that the record which drops it ended a rebalance that can have
// begun with the record before and lasted for its rebalance timeout. Its commits do
// not speak against that: some clients commit while a callback of theirs blocks
// (measured: franz-go).
func (l *loss) recordsApart(reb time.Duration) bool {
	if l.rec < 1 || reb <= 0 {
		return false
	}
	h := l.s.g.History
	apart := settledAt(h, l.rec).Sub(h.Records[l.rec-1].At)
	return apart >= reb-pollSlack && apart <= reb+2*skew
}

// heldReason is what shows that the group waited for it.
func (l *loss) heldReason() string {
	if l.heldUp() {
		return l.heldWords()
	}
	return "it worked until the rebalance began, and nobody of the group committed for the " + seconds(l.still.length) + " before the group went on without it; its rebalance timeout is " + seconds(l.rebalance())
}

// leftLate says that the group had waited for it for its rebalance timeout and
// that the LeaveGroup request around the drop is not what took it out. A Java
// client whose revoke callback blocks counts its poll limit from the poll that the
// callback is part of, which is a heartbeat after the rebalance began: it leaves
// right after it was dropped (measured: 0.3 to 1.9 s). Its poll limit seems to fit
// as well where its last commit came within half a second of that poll (measured:
// 16.6 s of 17 s); a rebalance that somebody else began, and that was seen to last for
// nearly the whole rebalance timeout, decides.
func (l *loss) leftLate() bool {
	if l.leave.answer != isYes {
		return false
	}
	first := l.rebalanceFirst()
	if l.tooSoonForPoll() {
		return l.heldUp() || l.heldByRecords() && first
	}
	return l.heldUp() && first && l.sil.known && l.sil.hi < l.rebalance() && l.wait.least >= l.rebalance()*8/10
}

func (l *loss) heldWords() string {
	return "it was still listed for " + seconds(l.wait.held) + " of a rebalance; its rebalance timeout is " + seconds(l.rebalance())
}

// heldCitation is the snapshot that lists it while the group waited.
func (l *loss) heldCitation() (Citation, bool) {
	if l.wait.at < 0 {
		return Citation{}, false
	}
	x := l.s.seen[l.wait.at]
	return cite(x.path, fmt.Sprintf("PreparingRebalance, and %s is still listed, from %s", l.m.ClientID, clock(x.from)), x.reading), true
}

func heldSummary(l *loss) string {
	heldFor := timeoutWords("rebalance timeout", l.rebalance())
	what := "did not rejoin: the group waited"
	if !l.s.classic() {
		what = "did not give up its partitions: the group waited"
	}
	return fmt.Sprintf("%s %s for it for %s and went on without it at %s; %s. Its heartbeats were fine. Usually a revoke callback blocks, or a batch holds the thread that polls. %s.",
		upper(l.name()), what, heldFor, clock(l.by), l.returnWords(), l.heldEffect())
}

// heldEffect is what stood still while the group waited for it: all of a classic group
// with an eager assignor, unless it worked on itself; of others what had to move.
func (l *loss) heldEffect() string {
	switch a := l.s.assignor(); {
	case !l.s.classic():
		return "The partitions that it had to give up stood still meanwhile; the other members went on"
	case strings.Contains(a, "cooperative"):
		return "With the assignor " + a + " only the partitions that move stood still meanwhile"
	case l.sil.known && l.rebalance() > 0 && l.sil.hi < l.rebalance()-l.lastWords():
		return "It committed meanwhile; with an eager assignor the partitions of the others stood still"
	case a == "":
		return "With an eager assignor all partitions stood still meanwhile"
	default:
		return "All partitions stood still meanwhile"
	}
}

func heldFacts(l *loss) []Fact {
	var v values
	if l.wait.held > 0 {
		v.seconds("held_seconds", l.wait.held)
	}
	v.text("assignor", l.s.assignor())
	return v
}
