package diagnose

import "fmt"

func rebalanceTimeoutRule() Rule {
	return Rule{
		Class: RebalanceTimeout,
		Needs: []Need{NeedAdmin, NeedWatcher},
		Conditions: []string{
			"a member was still listed while the group was in PreparingRebalance, for at least 0.8 of its rebalance timeout and longer than its session timeout",
			"no LeaveGroup request accounts for the drop",
			"the group had not waited for it as its leader before",
		},
		Corroboration: []string{
			"the group's record is written one rebalance timeout after the rebalance began",
			"membership before the window is known",
		},
		Source:   "Kafka GroupCoordinator: “removed dynamic members who haven't joined”; measured: a blocking revoke callback ends so for the Java client, exactly one rebalance timeout after the rebalance began",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: append(lossSpecs(),
			FactSpec{Name: "held_seconds", Unit: UnitSeconds, Meaning: "how long the group was seen waiting for it", Optional: true},
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
	stuck, _ := l.leaderWait()
	switch {
	case l.leave.answer == isYes:
		return exclude(c, "the member left by itself")
	case l.heldUp() && stuck >= l.stuckLeast():
		return exclude(c, "the group had stood in CompletingRebalance for "+span(stuck)+" before, waiting for it as its leader")
	case l.heldUp() && l.leave.answer == isNo:
		return prove(c, l.heldWords())
	case l.heldUp():
		return match(c, l.heldWords())
	case l.heldLong() && stuck >= l.stuckLeast():
		return leave(c, "it was still listed for "+span(l.listedPreparing)+" of a rebalance")
	case l.heldLong():
		return match(c, "it was still listed for "+span(l.listedPreparing)+" of a rebalance, longer than nearly all session timeouts")
	case reb > 0 && l.listedPreparing >= reb*8/10:
		return leave(c, l.heldWords()+"; its session timeout is as long")
	case l.sawPreparing && (l.listedPreparing == 0 || reb > 0 && l.listedPreparing < reb/2):
		return exclude(c, "it was no longer listed when the rebalance had just begun")
	case l.sil.known && reb > 0 && l.sil.hi < reb-pollSlack:
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than its rebalance timeout of "+seconds(reb))
	case l.sil.join >= 0 && reb > 0 && l.sil.join < reb*8/10:
		return exclude(c, "the rebalance took at most "+span(l.sil.join)+", less than its rebalance timeout")
	case l.survivors == 0:
		return exclude(c, "no other member waited for it")
	default:
		return leave(c, "whether it was still listed while the group waited for it is not visible")
	}
}

func (l *loss) heldWords() string {
	return "it was still listed for " + span(l.listedPreparing) + " of a rebalance; its rebalance timeout is " + seconds(l.rebalance())
}

// heldCitation is the snapshot that lists it while the group waited.
func (l *loss) heldCitation() (Citation, bool) {
	for i := l.drop; i >= 0; i-- {
		x := l.s.seen[i]
		if x.rec < 0 && x.state == "PreparingRebalance" && x.has(l.m.ID) {
			return cite(x.path, fmt.Sprintf("PreparingRebalance, and %s is still listed, from %s", l.m.ClientID, clock(x.from)), x.reading), true
		}
	}
	return Citation{}, false
}

func heldSummary(l *loss) string {
	heldFor := timeoutWords("rebalance timeout", l.rebalance())
	return fmt.Sprintf("%s did not rejoin: the group waited for it for %s and went on without it at %s; %s. Its heartbeats were fine. Usually a revoke callback blocks, or a batch holds the thread that polls. All partitions stood still meanwhile.",
		upper(l.name()), heldFor, clock(l.by), l.returnWords())
}

func heldFacts(l *loss) []Fact {
	var v values
	if l.listedPreparing > 0 {
		v.seconds("held_seconds", l.listedPreparing)
	}
	return v
}
