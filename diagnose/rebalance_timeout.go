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
	waited := l.leaderWaited()
	switch {
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
	case l.sil.known && reb > 0 && l.sil.hi < reb-l.lastWords():
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than its rebalance timeout of "+seconds(reb))
	case l.heldByRecords() && l.rebalanceFirst():
		return match(c, "it worked until the rebalance began, and nobody of the group committed for the "+seconds(l.still.length)+" before the group went on without it; its rebalance timeout is "+seconds(reb))
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
	return fmt.Sprintf("%s did not rejoin: the group waited for it for %s and went on without it at %s; %s. Its heartbeats were fine. Usually a revoke callback blocks, or a batch holds the thread that polls. All partitions stood still meanwhile.",
		upper(l.name()), heldFor, clock(l.by), l.returnWords())
}

func heldFacts(l *loss) []Fact {
	var v values
	if l.wait.held > 0 {
		v.seconds("held_seconds", l.wait.held)
	}
	return v
}
