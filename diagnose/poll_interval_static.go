package diagnose

import "fmt"

func pollIntervalStaticRule() Rule {
	return Rule{
		Class: PollIntervalStatic,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a static member (group.instance.id) was dropped, and no LeaveGroup request accounts for it",
			"last commit to drop is its rebalance timeout (= max.poll.interval.ms) and its session timeout, one after the other: at least both less a heartbeat interval and a commit, at most a heartbeat and a commit more than both",
			"nobody called with the old member id afterwards",
		},
		Corroboration: []string{
			"last-poll-seconds-ago or time-between-poll-max of the client reached max.poll.interval.ms",
			"the member came back under its instance id",
			"membership before the window is known",
		},
		Source:   "KIP-345: a static member sends no LeaveGroup; measured: dropped 17.3 to 19 s after the last commit with a poll limit of 12 s and a session timeout of 6 s, no error 25",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, PollIntervalStatic) },
	}
}

// pollIntervalStaticView: a static member that stops polling sends no leave; its
// heartbeats stop at the poll limit, and the session runs out after that.
func pollIntervalStaticView(l *loss) view {
	c := PollIntervalStatic
	need := l.bothLimits()
	switch {
	case !l.static():
		return exclude(c, "it is not a static member")
	case l.noPollLimit():
		return exclude(c, "its client library has no poll limit ("+l.libraryWords()+")")
	case l.rebalance() == 0 || l.session() == 0:
		return leave(c, "its timeouts are not known")
	case l.sil.known && l.sil.hi < need:
		return exclude(c, "it was dropped "+l.sil.words()+" after its last commit, sooner than poll limit and session timeout together")
	case l.called.answer == isYes && l.s.classic():
		return exclude(c, "somebody called with the old member id after the drop; a client past its poll limit drops its id first")
	case l.leave.answer == isYes && l.s.classic():
		return exclude(c, "a LeaveGroup request took it out; a static member past its poll limit sends none")
	case l.heldUp():
		return exclude(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance, so its heartbeats went on")
	case l.overslept() == isNo:
		return exclude(c, "its own metrics show at most "+seconds(l.client.poll)+" between two polls")
	case l.staticOverslept() && l.overslept() == isYes:
		return prove(c, "its own metrics show "+seconds(max(l.client.poll, l.client.waiting))+" between two polls, and it was dropped one session timeout after its poll limit")
	case l.staticOverslept():
		return match(c, "it was silent for "+l.sil.words()+": its poll limit of "+seconds(l.rebalance())+" and its session timeout of "+seconds(l.session())+" one after the other")
	default:
		return leave(c, "a static member past its poll limit is dropped one session timeout later, without leaving")
	}
}

func pollStaticSummary(l *loss) string {
	return fmt.Sprintf("%s did not call poll() for its limit of %s. A static member does not leave: it stopped its heartbeats, and the broker dropped it %s after that, at %s; %s. At the broker this looks like a session timeout; it is slow processing.",
		upper(l.name()), seconds(l.rebalance()), seconds(l.session()), clock(l.by), l.returnWords())
}
