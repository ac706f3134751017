package diagnose

import (
	"fmt"
	"slices"
	"time"
)

func processReplacedRule() Rule {
	return Rule{
		Class: ProcessReplaced,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member was dropped from the group, and no LeaveGroup request accounts for it",
			"a new member of the same client was listed beside it before the drop, or takes its place in the record that drops it after a silence of its session timeout, or came within a minute after others of the group had been replaced so",
			"nobody called with the old member id after the drop (no UNKNOWN_MEMBER_ID)",
		},
		Corroboration: []string{
			"pod or node evidence: killed after its grace period, crash loop, or a Kafka Streams deploy",
			"no other member shares the client id",
			"membership before the window is known",
		},
		Source:   "measured: kill -9 and start again, and a Kafka Streams restart (no LeaveGroup on close): old and new member listed together for one session timeout, errors 25 and LeaveGroup 0",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, ProcessReplaced) },
	}
}

// processReplacedView: a successor was started without the old one leaving. A
// kill after the grace period, a crash loop and a Kafka Streams deploy look the
// same to every source of Kafka.
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
	case l.heldUp():
		return exclude(c, "it was still listed for "+seconds(l.wait.held)+" of a rebalance, longer than its session timeout: its process lived")
	case l.staticOverslept():
		return exclude(c, "it was silent for far longer than its session timeout, so its process lived")
	case l.tookOver() && l.coord.kind == coordFrozen:
		return exclude(c, "its coordinator stood still before: clients that gave up on it come back with a new member id beside the old one")
	case l.tookOver() && l.beside != "":
		return match(c, "a new member of the same client id was listed beside it before it was dropped, and nobody called with the old member id")
	case l.tookOver():
		return match(c, "the record that dropped it lists a new member of the same client id, and nobody left or called with the old member id")
	case l.likeOthers():
		return match(c, "others of the group were replaced without leaving in the same minutes, and its own successor came "+seconds(l.back.at.Sub(l.by))+" after the drop")
	case l.beside != "":
		return leave(c, "a new member of the same client id was listed beside it before it was dropped")
	case l.back != nil && l.back.sameRecord:
		return leave(c, "the record that dropped it lists a new member of the same client id")
	default:
		return exclude(c, "no successor was listed beside it")
	}
}

// likeOthers says that it is one of several that were replaced without leaving:
// its successor took longer to start than its session lasted.
func (l *loss) likeOthers() bool {
	if l.back == nil || l.back.sameID || l.called.answer != isNo || l.leave.answer != isNo || l.back.at.Sub(l.by) > max(l.session(), time.Minute) {
		return false
	}
	return slices.ContainsFunc(l.s.takenOver, func(x *loss) bool {
		return x != l && x.by.Sub(l.by).Abs() <= 5*time.Minute
	})
}

func replacedSummary(l *loss) string {
	where := "a new one of the same client had joined before that"
	if l.beside == "" && l.back != nil && !l.back.sameRecord {
		return fmt.Sprintf("%s was replaced without leaving, as others of the group were: its process ended, the broker dropped it at %s, when %s had run out, and %s. A kill after the grace period, a crash loop and a Kafka Streams deploy look alike here.",
			upper(l.name()), clock(l.by), timeoutWords("session timeout", l.session()), l.returnWords())
	}
	if l.beside == "" {
		where = "a new one of the same client took its place"
	}
	return fmt.Sprintf("%s was replaced without leaving: its process ended, %s, and the broker dropped the old one at %s, when %s had run out. A kill after the grace period, a crash loop and a Kafka Streams deploy look alike here.",
		upper(l.name()), where, clock(l.by), timeoutWords("session timeout", l.session()))
}
