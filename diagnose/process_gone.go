package diagnose

import "fmt"

func processGoneRule() Rule {
	return Rule{
		Class: ProcessGone,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member was dropped from the group, and no LeaveGroup request accounts for it",
			"it had been silent for its session timeout",
			"nobody called with the old member id after the drop (no UNKNOWN_MEMBER_ID)",
			"it has stayed away for twice its session timeout, or came back as a new process",
		},
		Corroboration: []string{
			"pod evidence: a container restarted (OOMKilled, Error), a process killed for memory, or the pod gone",
			"membership before the window is known",
		},
		Source:   "Kafka GroupCoordinator heartbeat expiry; measured: kill -9 leaves errors 25 at 0 for ever",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, ProcessGone) },
	}
}

// processGoneView: the process was killed or its node was lost.
func processGoneView(l *loss) view {
	c := ProcessGone
	switch {
	case l.called.answer == isYes:
		return exclude(c, "somebody called with the old member id after the drop ("+l.called.cite.Value+"), so the process lived")
	case l.neverSynced():
		return exclude(c, "its SyncGroup request came after the drop, so the process lived")
	case l.leave.answer == isYes:
		return exclude(c, "the member left by itself ("+l.leave.cite.Value+"); a killed process sends no LeaveGroup")
	case l.leftAtOnce():
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than its session timeout of "+seconds(l.session())+" allows")
	case l.back != nil && l.back.sameID:
		return exclude(c, "the same member id came back, so it is the same process")
	case l.heldUp():
		return exclude(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance, longer than its session timeout of "+seconds(l.session())+": its process lived")
	case l.heldLong():
		return leave(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance; its session timeout is not known")
	case l.outwaited():
		return leave(c, l.outwaitedWords())
	case l.busyAlive():
		return exclude(c, "its own metrics show that its process ran all through the silence")
	case l.client.lived:
		return exclude(c, "its own metrics were scraped on after the drop, so its process lives")
	case l.tookOver() && !l.sharedClient():
		return exclude(c, "its successor was there before it was dropped: replaced, not lost")
	case l.likeOthers():
		return leave(c, "it came back as a new process: nobody called with the old member id")
	case l.tookOver():
		return leave(c, "the new member of the same client id may be another process")
	case l.staticOverslept() && l.overslept() == isYes && l.back != nil:
		return exclude(c, "its own metrics show that its process lived")
	case l.staticOverslept():
		return leave(c, "it may have died while it was busy")
	case l.back != nil && l.called.answer == isNo && l.gonePossible():
		return match(c, "it came back as a new process: nobody called with the old member id")
	case l.back != nil && l.called.answer == isNo:
		return leave(c, "it came back as a new process: nobody called with the old member id")
	case l.back != nil:
		return leave(c, "it came back, perhaps as a new process: "+l.called.unknown())
	case l.longGone() && l.gonePossible():
		return match(c, "it has been away for "+span(l.away())+l.silentSince())
	default:
		return leave(c, "it is still away")
	}
}

// silentSince adds that nobody called, where that is known.
func (l *loss) silentSince() string {
	if l.called.answer == isNo {
		return " and nobody called with the old member id"
	}
	return ""
}

// gonePossible says that the loss was seen to be one of silence: where neither
// its length nor the leaves are known, it may as well have left.
func (l *loss) gonePossible() bool {
	return l.called.answer != isYes && (l.leave.answer == isNo || l.sil.known && !l.sil.idle)
}

func goneSummary(l *loss) string {
	if l.pod.ended == isYes {
		return fmt.Sprintf("%s died: %s. It was dropped at %s, when %s had run out; %s.",
			upper(l.name()), l.pod.words, clock(l.by), timeoutWords("session timeout", l.session()), l.returnWords())
	}
	limit := timeoutWords("session timeout", l.session())
	if l.back != nil {
		return fmt.Sprintf("%s died and was dropped at %s, when %s had run out; %s as a new process. The timeout only discovered it.", upper(l.name()), clock(l.by), limit, l.returnWords())
	}
	return fmt.Sprintf("%s is gone: it was dropped at %s, when %s had run out, and nobody has called with its member id since. The timeout only discovered it.", upper(l.name()), clock(l.by), limit)
}

// sharedClient says that other members have its client id as well, so that a
// new one with that id need not be its successor.
func (l *loss) sharedClient() bool {
	if l.last < 0 {
		return false
	}
	for id, m := range l.s.seen[l.last].members {
		if id != l.m.ID && id != l.beside && m.ClientID == l.m.ClientID && m.InstanceID == "" {
			return true
		}
	}
	return false
}
