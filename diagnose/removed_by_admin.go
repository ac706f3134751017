package diagnose

import (
	"fmt"
	"time"
)

func removedByAdminRule() Rule {
	return Rule{
		Class: RemovedByAdmin,
		Needs: []Need{NeedOffsets, NeedBrokerMetrics},
		Conditions: []string{
			"members were dropped sooner after their last commit than any timeout, or by fewer LeaveGroup requests than members",
			"they called with their old member ids afterwards (UNKNOWN_MEMBER_ID); a client that leaves by itself drops its id first",
		},
		Corroboration: []string{
			"LeaveGroup requests at the coordinator: the removal sends them in the members' name",
			"all members were taken out at once and came back",
			"membership before the window is known",
		},
		Source:   "KIP-571 removeMembersFromConsumerGroup: one LeaveGroup request for all members; measured: victims get error 25 on heartbeat or commit and are back within a second, on classic and KIP-848 groups",
		Explains: []Class{RebalanceStorm},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, RemovedByAdmin) },
	}
}

// removedByAdminView: somebody removed the members through the admin API, which
// sends a LeaveGroup in their name; they call with their old id afterwards.
func removedByAdminView(l *loss) view {
	c := RemovedByAdmin
	called := l.called.answer == isYes
	switch {
	case l.leave.answer == isNo:
		return exclude(c, "nobody left and nobody was removed: "+l.leave.cite.Value)
	case l.leftAtOnce() && !l.sil.idle && called && l.leave.n > 0:
		return prove(c, "it was taken out by a LeaveGroup request sooner than any timeout, and called with its old member id afterwards")
	case l.batch() && called:
		return match(c, fmt.Sprintf("%d members were taken out by %s, and they called with their old member ids afterwards", l.together, plural(l.leave.n, "LeaveGroup request", "LeaveGroup requests")))
	case l.leave.answer == isYes && called && l.stoodStill() == isYes:
		return leave(c, "its own metrics show that it stood still for "+seconds(l.client.longest())+", which explains the drop; the LeaveGroup request around it may be another client's")
	case l.leave.answer == isYes && called:
		return match(c, "it was taken out by a LeaveGroup request and called with its old member id afterwards")
	case l.batch() && l.leftAtOnce() && !l.sil.idle:
		return match(c, fmt.Sprintf("%d members were taken out at once by %s; clients that close send one each", l.together, plural(l.leave.n, "LeaveGroup request", "LeaveGroup requests")))
	case l.batch():
		return leave(c, fmt.Sprintf("%d members were taken out by %s", l.together, plural(l.leave.n, "LeaveGroup request", "LeaveGroup requests")))
	case l.leave.answer == isYes && l.together > 1 && l.survivors == 0:
		return leave(c, "all members were taken out at once")
	case l.leftAtOnce() && l.called.answer == dontKnow && (l.together > 1 && l.survivors == 0 || l.backAtOnce()):
		return leave(c, "it went and came back as a removed member does, and "+l.called.unknown())
	case l.leftAtOnce() && called:
		return match(c, "it was dropped sooner than any timeout and called with its old member id afterwards")
	case !l.sil.known && l.leave.answer == dontKnow && called && l.backAtOnce():
		return leave(c, "it called with its old member id and was back at once, as a removed member is; how long it had been silent before is not visible")
	case !l.sil.known && l.leave.answer == dontKnow && l.client.lived:
		return leave(c, "its process lives, and how long it had been silent before the drop is not visible")
	case l.heard.class == c:
		return leave(c, l.heard.because)
	default:
		return exclude(c, "nothing points to a removal through the admin API")
	}
}

// backAtOnce says that it was back on the same host sooner than most processes
// start (measured: a removed member is back within a second).
func (l *loss) backAtOnce() bool {
	return l.back != nil && !l.back.elsewhere && l.back.at.Sub(l.by) <= 5*time.Second
}

// batch says that fewer LeaveGroup requests came than members were taken out in
// the same moment: clients that close send one each.
func (l *loss) batch() bool {
	return l.leave.n > 0 && l.together > 1 && int(l.leave.n) < l.together && l.leave.rivals == l.together && l.by.Sub(l.after) <= leaveWithin
}

func removedSummary(l *loss, mine int) string {
	if mine > 1 {
		return fmt.Sprintf("%s were removed from the group at %s by somebody else, through the admin API: a LeaveGroup request took them out, and they called with their old member ids afterwards; the last of them: %s. Nothing is wrong with the clients.",
			plural(mine, "member", "members"), clock(l.by), l.returnWords())
	}
	return fmt.Sprintf("%s was removed from the group at %s by somebody else, through the admin API: a LeaveGroup request took it out, and it called with its old member id afterwards; %s. Nothing is wrong with the client.",
		upper(l.name()), clock(l.by), l.returnWords())
}
