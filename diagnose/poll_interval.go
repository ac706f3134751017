package diagnose

import "fmt"

func pollIntervalRule() Rule {
	return Rule{
		Class: PollInterval,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"its client library has a poll limit, or is not known (franz-go, Sarama, kafka-go and kafkajs have none)",
			"a dynamic member left the group: LeaveGroup requests rose around the drop, or the client's own metrics show the breach",
			"last commit to drop is at least its rebalance timeout (= max.poll.interval.ms); less rules it out, as much alone does not prove it",
			"nobody called with the old member id afterwards (a client that has left drops the id by itself)",
		},
		Corroboration: []string{
			"LeaveGroup requests at the coordinator, with no other group that lost members",
			"last-poll-seconds-ago or time-between-poll-max of the client reached max.poll.interval.ms",
			"the member came back",
			"membership before the window is known",
		},
		Source:   "KIP-62; Java ConsumerCoordinator.maybeLeaveGroup; measured: drop 14.0 s after the last commit for 12 s (2.0 s of it the others' rejoin), no error 25 on classic groups",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, PollInterval) },
	}
}

// pollIntervalView: the client left by itself because it did not poll in time.
func pollIntervalView(l *loss) view {
	c := PollInterval
	limit := seconds(l.rebalance())
	switch {
	case l.static():
		return exclude(c, "it is a static member ("+l.m.InstanceID+"); those do not leave on a poll breach")
	case l.noPollLimit():
		return exclude(c, "its client library has no poll limit ("+l.libraryWords()+")")
	case l.tooSoonForPoll():
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than its poll limit of "+limit)
	case l.leave.answer == isNo:
		return exclude(c, "it did not leave: "+l.leave.cite.Value)
	case l.called.answer == isYes && l.s.classic():
		return exclude(c, "somebody called with the old member id after the drop ("+l.called.cite.Value+"); a client that leaves drops its id first")
	case l.revokeOverdue():
		return exclude(c, "it was dropped one rebalance timeout after it was asked to give up partitions; a client past its poll limit goes before that")
	case l.leftAndBack():
		return match(c, "the same member id came back and nobody was refused: it had left by itself, as a KIP-848 client does past its poll limit")
	case l.overslept() == isNo:
		return exclude(c, "its own metrics show at most "+seconds(l.client.poll)+" between two polls; its limit is "+limit)
	case l.leftLate():
		return leave(c, "its poll limit ran out as well, in a rebalance that the group waited for it in")
	case l.leaderByRecords() && l.leave.answer != isYes:
		return leave(c, l.outwaitedWords())
	case l.overslept() == isYes && l.longEnoughForPoll():
		return match(c, "its own metrics show "+seconds(max(l.client.poll, l.client.waiting))+" between two polls; its limit is "+limit)
	case l.leave.answer == isYes && l.longEnoughForPoll() && l.brokeRhythm():
		return match(c, "it left by itself after "+l.sil.words()+" without a commit; its poll limit is "+limit)
	case l.leave.answer != isNo && l.pendingFits():
		return match(c, "it was dropped "+seconds(l.pendingHigh())+" after joining and never committed: its first batch may have taken longer than its poll limit of "+limit)
	case l.ranOutAfterPoll():
		return match(c, "it was silent for "+l.sil.words()+": its poll limit of "+limit+" and its session timeout of "+seconds(l.session())+" one after the other, as librdkafka does")
	case l.longEnoughForPoll() && l.pastSession():
		return match(c, "it was silent for "+l.sil.words()+", far past its session timeout, so its heartbeats went on; its poll limit is "+limit)
	case l.longEnoughForPoll():
		return leave(c, "it was silent for "+l.sil.words()+", which reaches its poll limit of "+limit)
	case l.sil.known && l.sil.idle:
		return leave(c, "its partitions had no records, so the time since its last commit says nothing")
	default:
		return leave(c, "how long it had not polled is not visible")
	}
}

// leftAndBack says that a KIP-848 member came back under its id although it had
// not been fenced: it had left, and its process went on.
func (l *loss) leftAndBack() bool {
	return !l.s.classic() && l.back != nil && l.back.sameID && l.called.answer == isNo
}

// noPollLimit recognises clients that never leave because of slow processing:
// Sarama, franz-go, kafka-go and kafkajs know no max.poll.interval. The 60 s rebalance
// timeout that they share does not tell: it may be a Java client's setting.
func (l *loss) noPollLimit() bool {
	lib, _ := l.library()
	return !lib.hasPollLimit()
}

func pollSummary(l *loss) string {
	how := "left by itself"
	if l.ranOutAfterPoll() {
		how = "was dropped"
	}
	s := fmt.Sprintf("%s %s at %s because it did not call poll() for %s; %s.", upper(l.name()), how, clock(l.by), timeoutWords("max.poll.interval.ms", l.rebalance()), l.returnWords())
	if p := partitionNames(l.m.Partitions); p != "" {
		s += " Its partitions (" + p + ") are read again from the last commit, so up to one batch is processed twice."
	}
	return s
}
