package diagnose

import (
	"fmt"
	"strings"
)

func sessionTimeoutRule() Rule {
	return Rule{
		Class: SessionTimeout,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member was dropped from the group, and no LeaveGroup request accounts for it",
			"it had been silent for its session timeout: last commit to drop is at least 2/3 of it (session timeout less one heartbeat interval)",
			"somebody called with the old member id after the drop (UNKNOWN_MEMBER_ID on Heartbeat or OffsetCommit), or the member is still away",
			"the coordinator served others meanwhile",
			"no wait of the group for this member is seen that is longer than its session lasts (rebalance-timeout, sick-leader)",
		},
		Corroboration: []string{
			"the member came back",
			"the client's own time-between-poll-max is as long as the silence, or its own scrape has a gap that long: the process stood still",
			"membership before the window is known",
			"garbage collection or CPU throttling as long as the session timeout less a heartbeat interval names the reason; less refutes it",
		},
		Source:   "Kafka GroupCoordinator heartbeat expiry; measured: silence 6.0 s of 6 s in 5 runs, error 25 on either heartbeat or commit (a race)",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, SessionTimeout) },
	}
}

// sessionTimeoutView: the process stood still for its session timeout.
func sessionTimeoutView(l *loss) view {
	v := silenceView(l)
	if v.fit != excluded && l.stoodStill() == isNo {
		return exclude(SessionTimeout, "it kept polling, at most "+seconds(l.client.poll)+" apart, so its process did not stand still")
	}
	return v
}

// silenceView: the coordinator heard nothing of the member for its session
// timeout, and its process lives. Whether the process or its network was silent
// only the client tells.
func silenceView(l *loss) view {
	c := SessionTimeout
	switch {
	case l.leave.answer == isYes && l.called.answer != isYes:
		return exclude(c, "the member left by itself ("+l.leave.cite.Value+"); a session that runs out sends no LeaveGroup")
	case l.leftAtOnce():
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than its session timeout of "+seconds(l.session())+" allows")
	case l.leftAndBack():
		return exclude(c, "its member id came back and nobody was refused; a fenced member is refused first")
	case l.neverSynced():
		return exclude(c, "it had never synced: its SyncGroup was refused after the drop, one rebalance timeout after it joined")
	case l.revokeOverdue():
		return exclude(c, "it was dropped one rebalance timeout after it was asked to give up partitions, and heartbeats had gone on")
	case l.outlivedSession():
		return leave(c, "a process that was slow for long may have frozen as well; its heartbeats outlived its last commit")
	case l.heldUp():
		return exclude(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance, longer than its session timeout of "+seconds(l.session())+": its heartbeats went on")
	case l.heldLong():
		return leave(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance; its session timeout is not known")
	case l.outwaited():
		return leave(c, l.outwaitedWords())
	case l.busyAlive() && l.called.answer != isYes:
		return leave(c, "its own metrics show that its process ran and did not poll for "+seconds(l.client.longest())+"; heartbeats go on meanwhile")
	case l.batch():
		return leave(c, fmt.Sprintf("%s came as %d members were dropped at once; it may be another group's", plural(l.leave.n, "LeaveGroup request", "LeaveGroup requests"), l.together))
	case l.staticOverslept():
		return leave(c, "it had been silent for far longer than its session timeout, so its heartbeats went on for most of that; it may have stood still after that")
	case l.back == nil:
		return sessionAway(l)
	case l.called.answer == isYes && (l.back.sameID || l.leave.answer != isYes):
		return match(c, "somebody called with the old member id after the drop, so the process was alive")
	case l.called.answer == isNo:
		return leave(c, "a process that stood still usually calls once with its old member id; nobody did")
	case l.stoodStill() == isYes:
		return match(c, "its own metrics show that it stood still for "+seconds(l.client.longest()))
	case l.back.sameID && !l.back.elsewhere:
		return match(c, "the same member id came back, so it is the same process")
	case l.sil.known && !l.sil.idle && l.tooSoonForPoll() && !l.back.elsewhere && !l.back.sameRecord:
		return match(c, "it was silent for "+l.sil.words()+", came back, and did not reach its poll limit")
	default:
		return leave(c, "it came back, and "+l.called.unknown())
	}
}

// sessionAway: while the member is away, a stalled process is the commonest
// cause; time turns it into a process that is gone.
func sessionAway(l *loss) view {
	c := SessionTimeout
	switch {
	case l.called.answer == isYes:
		return match(c, "somebody called with the old member id after the drop, so the process is alive")
	case l.beside != "" && l.called.answer == isNo:
		return leave(c, "nobody called with the old member id, but a process can stand still for long")
	case l.longGone():
		return leave(c, "a process can stand still for longer than "+span(l.away()))
	case l.leave.answer == isNo, l.sil.known && !l.sil.idle && l.tooSoonForPoll():
		return match(c, "it was dropped without leaving and is still away")
	default:
		return leave(c, "it is still away")
	}
}

// unknown words why it is not known whether anybody called.
func (v signalView) unknown() string {
	if v.why != "" {
		return v.why
	}
	return "whether anybody called with the old member id is not known"
}

// sessionSummary says which of the two kinds it can be.
func sessionSummary(l *loss) string {
	limit := timeoutWords("session timeout", l.session())
	head := fmt.Sprintf("%s was silent for %s and was dropped at %s; ", upper(l.name()), limit, clock(l.by))
	if !l.s.classic() && l.session() == 0 {
		head = fmt.Sprintf("%s was dropped at %s; ", upper(l.name()), clock(l.by))
	}
	if l.back == nil && l.pod.ended == isNo {
		return head + l.returnWords() + ". Its process stands still or cannot reach the broker: its " + l.pod.words + "."
	}
	if l.back == nil {
		return head + l.returnWords() + ". Its process stands still, is gone, or cannot reach the broker."
	}
	head += l.returnWords() + ". "
	switch {
	case l.stoodStill() == isYes && l.strain() != "":
		return head + fmt.Sprintf("Its own metrics show a hole of %s: the process stood still.", seconds(l.client.longest()))
	case l.stoodStill() == isYes:
		return head + fmt.Sprintf("Its own metrics show a hole of %s: the process stood still (GC, CPU throttling, frozen host).", seconds(l.client.longest()))
	default:
		return head + "Either " + l.kinds() + "."
	}
}

// kinds words what the silence can have been, as far as it is open.
func (l *loss) kinds() string {
	out := []string{"the process stood still (GC, CPU throttling, frozen host)"}
	for _, v := range l.decision.rest {
		switch v.class {
		case ClientUnreachable:
			out = append(out, "its network to "+subjectBroker(l.s.g.Coordinator)+" was silent")
		case PollInterval, PollIntervalStatic:
			out = append(out, "it was busy for too long between two polls")
		case CoordinatorTrouble:
			out = append(out, "the coordinator was in trouble")
		default: // the others are no kind of silence
		}
	}
	if len(out) == 1 {
		return out[0] + ", or somebody else called with its id"
	}
	return strings.Join(out[:len(out)-1], ", ") + " or " + out[len(out)-1]
}
