package diagnose

import "fmt"

func clientUnreachableRule() Rule {
	return Rule{
		Class: ClientUnreachable,
		Needs: []Need{NeedOffsets, NeedClientMetrics},
		Conditions: []string{
			"a member was dropped after a silence of its session timeout, as in session-timeout",
			"its own metrics cover the silence and show that it kept polling: time-between-poll-max, or last-poll-seconds-ago while it is away, stays below its session timeout less one heartbeat interval, in scrapes without a hole that long",
			"the coordinator served others meanwhile",
		},
		Corroboration: []string{
			"somebody called with the old member id after the drop",
			"membership before the window is known",
		},
		Source:   "measured: from the broker a silent network and a stalled process look the same; time-between-poll-max is at most 1.1 s in the first and as long as the stall (10.0 to 20.0 s) in the second",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, ClientUnreachable) },
	}
}

// clientUnreachableView: the process was healthy, its heartbeats did not arrive.
// From the broker it cannot be told from a process that stood still.
func clientUnreachableView(l *loss) view {
	c := ClientUnreachable
	s := silenceView(l)
	switch {
	case s.fit == excluded:
		return exclude(c, s.because)
	case l.stoodStill() == isYes:
		return exclude(c, "its own metrics show that it stood still for "+seconds(l.client.longest()))
	case l.mayHaveStoodStill():
		return leave(c, "its own metrics show a hole of "+seconds(l.client.longest())+"; a process that stands still loses its session of "+seconds(l.session())+" from "+seconds(l.surelySilent())+" on with the usual heartbeat interval")
	case l.called.answer == isNo && l.back != nil:
		return exclude(c, "nobody called with the old member id after the drop; a client behind a silent network does when it is back")
	case l.stoodStill() == isNo && l.leave.answer == dontKnow && l.called.answer != isYes:
		return leave(c, "it kept polling, at most "+seconds(l.client.poll)+" apart, and whether it left by itself is not known: "+l.leave.why)
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

func unreachableSummary(l *loss) string {
	return fmt.Sprintf("%s kept polling (at most %s apart), but its heartbeats did not reach %s for %s: it was dropped at %s, and %s. Look at the network between the two, not at GC.",
		upper(l.name()), seconds(l.client.poll), subjectBroker(l.s.g.Coordinator), timeoutWords("session timeout", l.session()), clock(l.by), l.returnWords())
}
