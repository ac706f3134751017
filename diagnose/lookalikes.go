package diagnose

import (
	"fmt"
	"time"
)

// Classes that have no rule yet, or none about losses. They are never a
// finding, but they are named as alternatives wherever the evidence cannot
// exclude them.

// clientUnreachableView: the process was healthy, its heartbeats did not arrive.
// From the broker it cannot be told from a process that stood still.
func clientUnreachableView(l *loss) view {
	c := ClientUnreachable
	s := sessionTimeoutView(l)
	switch {
	case s.fit == excluded:
		return exclude(c, s.because)
	case l.stoodStill() == isYes:
		return exclude(c, "its own metrics show that it stood still for "+seconds(l.client.longest()))
	case l.called.answer == isNo && l.back != nil:
		return exclude(c, "nobody called with the old member id after the drop; a client behind a silent network does when it is back")
	case l.stoodStill() == isNo:
		return view{c, s.fit, "it kept polling, at most " + seconds(l.client.poll) + " apart, so its process did not stand still"}
	default:
		return leave(c, "a silent network looks the same from the broker; "+l.client.unknown())
	}
}

func (v clientView) unknown() string {
	if v.why != "" {
		return v.why
	}
	return "the client's own metrics do not cover the drop"
}

// pollIntervalStaticView: a static member that stops polling sends no leave; its
// heartbeats stop at the poll limit, and the session runs out after that.
func pollIntervalStaticView(l *loss) view {
	c := PollIntervalStatic
	need := l.rebalance() + l.session()*8/10
	switch {
	case !l.static():
		return exclude(c, "it is not a static member")
	case l.rebalance() == 0:
		return leave(c, "its timeouts are not known")
	case l.sil.known && l.sil.hi < need:
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than poll limit and session timeout together")
	case l.called.answer == isYes:
		return exclude(c, "somebody called with the old member id after the drop; a client past its poll limit drops its id first")
	case l.overslept() == isNo:
		return exclude(c, "its own metrics show at most "+seconds(l.client.poll)+" between two polls")
	case l.sil.known && !l.sil.idle && l.sil.lo >= l.session()+l.heartbeat():
		return match(c, "it was silent for "+l.sil.words()+": its poll limit of "+seconds(l.rebalance())+" and its session timeout of "+seconds(l.session())+" one after the other")
	default:
		return leave(c, "a static member past its poll limit is dropped one session timeout later, without leaving")
	}
}

// processReplacedView: a successor was started without the old one leaving.
func processReplacedView(l *loss) view {
	c := ProcessReplaced
	switch {
	case l.called.answer == isYes:
		return exclude(c, "somebody called with the old member id after the drop, so the process lived")
	case l.leave.answer == isYes:
		return exclude(c, "the member left by itself")
	case l.back != nil && l.back.sameID:
		return exclude(c, "the same member id came back")
	case l.leftAtOnce():
		return exclude(c, "it was dropped sooner than its session timeout allows")
	case l.beside != "" && l.called.answer == isNo:
		return match(c, "a new member of the same client id was listed beside it before it was dropped, and nobody called with the old member id")
	case l.beside != "":
		return leave(c, "a new member of the same client id was listed beside it before it was dropped")
	case l.back != nil && l.back.sameRecord:
		return leave(c, "the record that dropped it lists a new member of the same client id")
	default:
		return exclude(c, "no successor was listed beside it")
	}
}

// rebalanceTimeoutView: the member did not rejoin in time.
func rebalanceTimeoutView(l *loss) view {
	c := RebalanceTimeout
	if v, ok := l.revokeView(); ok && l.leave.answer != isYes {
		return v
	}
	reb := l.rebalance()
	switch {
	case l.leave.answer == isYes:
		return exclude(c, "the member left by itself")
	case reb > 0 && l.listedPreparing >= reb*8/10:
		return match(c, "it was still listed for "+span(l.listedPreparing)+" of a rebalance; its rebalance timeout is "+seconds(reb))
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

// sickLeaderView: the group's leader never synced; the others look guilty.
func sickLeaderView(l *loss) view {
	c := SickLeader
	if !l.s.classic() {
		return exclude(c, "a KIP-848 group has no leader")
	}
	stuck := l.s.completing(l.by)
	gap, from, to := l.generationGap()
	switch {
	case l.called.answer == isYes:
		return exclude(c, "somebody called with the old member id after the drop")
	case stuck >= max(l.silentAtLeast(), time.Second) && l.session() > 0:
		return leave(c, "the group stood in CompletingRebalance for "+span(stuck)+", waiting for its leader")
	case gap && l.leave.answer != isYes:
		return leave(c, fmt.Sprintf("generation went from %d to %d: a rebalance before the drop never ended", from, to))
	default:
		return exclude(c, "no rebalance was seen waiting for its leader")
	}
}

// completing is how long the group was seen in CompletingRebalance before t.
func (s *groupStory) completing(t time.Time) time.Duration {
	var most time.Duration
	for _, x := range s.seen {
		if x.state == "CompletingRebalance" && !x.from.After(t) {
			most = max(most, x.until.Sub(x.from))
		}
	}
	return most
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

// coordinatorTroubleView: the coordinator dropped members of healthy clients.
func coordinatorTroubleView(l *loss) view {
	c := CoordinatorTrouble
	switch {
	case l.leave.answer == isYes && l.called.answer != isYes:
		return exclude(c, "the member left by itself")
	case l.coord.well == isNo:
		return match(c, l.coord.why)
	case l.leftAtOnce():
		return exclude(c, "it was dropped sooner after its last commit than a coordinator in trouble takes")
	case l.coord.well == isYes:
		return exclude(c, "the coordinator was well: "+l.coord.why)
	default:
		return leave(c, l.coord.why)
	}
}

// removedByAdminView: somebody removed the members through the admin API, which
// sends a LeaveGroup in their name; they call with their old id afterwards.
func removedByAdminView(l *loss) view {
	c := RemovedByAdmin
	switch {
	case l.leave.answer == isNo:
		return exclude(c, "nobody left and nobody was removed: "+l.leave.cite.Value)
	case l.leave.answer == isYes && l.called.answer == isYes:
		return match(c, "it was taken out by a LeaveGroup request and called with its old member id afterwards")
	case l.leave.answer == isYes && l.together > 1 && l.survivors == 0:
		return leave(c, "all members were taken out at once")
	case l.leftAtOnce() && l.called.answer == isYes:
		return match(c, "it was dropped sooner than any timeout and called with its old member id afterwards")
	default:
		return exclude(c, "nothing points to a removal through the admin API")
	}
}
