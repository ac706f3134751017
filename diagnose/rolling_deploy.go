package diagnose

import (
	"fmt"
	"time"
)

func rollingDeployRule() Rule {
	return Rule{
		Class: RollingDeploy,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"members left by themselves: LeaveGroup requests rose around each drop, or the drop came sooner after the last commit than any timeout",
			"the member count is back at its baseline, or the last leave is less than 10 min ago",
		},
		Corroboration: []string{
			"the member count is back at its baseline",
			"lag does not keep rising",
			"LeaveGroup requests at the coordinator, with no other group that lost members",
			"membership before the window is known",
		},
		Source:   "KIP-62 close(); measured: a closing Java consumer commits and leaves at once, 2 LeaveGroup requests for 2 pods, back in 2 s",
		Explains: []Class{RebalanceStorm},
		Provides: append(lossSpecs(),
			FactSpec{Name: "first_leave_at", Unit: UnitTime, Meaning: "when the first member left"},
			FactSpec{Name: "missing_members", Unit: UnitCount, Meaning: "members still missing, 0 when all are back"},
			FactSpec{Name: "static_restarts", Unit: UnitCount, Meaning: "static members that took their id over within the session timeout: nobody left", Optional: true},
		),
		Judge: func(f *facts) []Outcome { return judgeLosses(f, RollingDeploy) },
	}
}

// rollingDeployView: the member left by itself because it was closed.
func rollingDeployView(l *loss) view {
	c := RollingDeploy
	switch {
	case l.leave.answer == isNo:
		return exclude(c, "nobody left: "+l.leave.cite.Value)
	case l.called.answer == isYes:
		return exclude(c, "somebody called with the old member id after the drop ("+l.called.cite.Value+"); a closed client does not")
	case l.back != nil && l.back.sameID:
		return exclude(c, "the same member id came back, so the process was not closed")
	case l.brokeRhythm() && l.sil.lo >= l.silentAtLeast() && l.leave.blind && l.s.classic():
		return leave(c, "it may have been closed at the end of a long batch; "+l.leave.why)
	case l.brokeRhythm() && l.sil.lo >= l.silentAtLeast() && !(l.leave.answer == isYes && (l.tooSoonForPoll() || l.noPollLimit())):
		return exclude(c, "it had been silent for "+l.sil.words()+" before the drop; a client that is closed commits and leaves at once")
	case l.heldUp() && l.leave.answer != isYes:
		return leave(c, "it was dropped at the end of a rebalance that had waited for it for "+seconds(l.wait.held)+"; some clients commit while a callback of theirs blocks")
	case l.leftAtOnce() && l.batch():
		return leave(c, fmt.Sprintf("%d members left at once with %s; clients that close send one each", l.together, plural(l.leave.n, "LeaveGroup request", "LeaveGroup requests")))
	case l.leftAtOnce() && !l.sil.idle:
		return match(c, "it left within "+l.sil.words()+" of its last commit, sooner than any timeout")
	case l.leftLate():
		return leave(c, "it left by itself ("+l.leave.cite.Value+"), as the group had waited for it")
	case l.leave.answer == isYes && l.noPollLimit():
		return match(c, "it left by itself ("+l.leave.cite.Value+"), and its client library has no poll limit")
	case l.leave.answer == isYes && l.tooSoonForPoll():
		return match(c, "it left by itself ("+l.leave.cite.Value+") before its poll limit")
	case l.leave.answer == isYes:
		return leave(c, "it left by itself ("+l.leave.cite.Value+")")
	default:
		return leave(c, l.leave.why)
	}
}

// foundDeploy builds the finding for members that left by themselves. It is
// benign only while the count is back at its baseline, or will soon be: after
// that it ends as undecided (missingAfterLeave).
func (s *groupStory) foundDeploy(mine []*loss, l *loss) Outcome {
	missing := max(0, s.baseline()-s.current())
	last := mine[len(mine)-1]
	grace := time.Duration(s.f.l.DeployBaselineSeconds) * time.Second
	if missing > 0 && last.away() > grace {
		return Outcome{Answer: Unknown, Because: fmt.Sprintf("%s left and %s still missing %s later", plural(len(mine), "member", "members"), plural(missing, "is", "are"), span(last.away()))}
	}
	o := l.outcome(RollingDeploy, mine)
	o.Facts = append(o.Facts, deployFacts(mine, missing)...)
	o.Summary = deploySummary(s, mine, missing)
	if missing > 0 {
		o.Provisional = true
		o.NextLookSeconds = 60
		o.Decides = "Whether the member count is back at " + count(s.baseline()) + " within " + span(grace) + "."
	}
	if !s.g.LagReading.Usable() || len(s.g.Lag) == 0 {
		o.Missing = append(o.Missing, "whether lag keeps rising: it was not read")
	}
	if grown := s.lagGrown(last.by); grown > s.f.l.LagGrowthRecords {
		o.Missing = append(o.Missing, fmt.Sprintf("falling lag: it has grown by %s since %s, which a deploy alone does not explain once it is over", plural(grown, "record", "records"), clock(last.by)))
	}
	return o
}

func deployFacts(mine []*loss, missing int) []Fact {
	var v values
	v.time("first_leave_at", mine[0].by)
	v.count("missing_members", missing)
	return v
}

func deploySummary(s *groupStory, mine []*loss, missing int) string {
	who := plural(len(mine), "member", "members")
	when := "at " + clock(mine[0].by)
	if n := len(mine); n > 1 && clock(mine[0].by) != clock(mine[n-1].by) {
		when = "between " + clock(mine[0].by) + " and " + clock(mine[n-1].by)
	}
	if missing > 0 {
		return fmt.Sprintf("%s left cleanly %s, as in a deploy or restart; %s of %s are there now.", who, when, count(s.current()), count(s.baseline()))
	}
	return fmt.Sprintf("%s left cleanly %s and the group is back at %s, as in a deploy or restart. Nothing to do in Kafka.", who, when, plural(s.current(), "member", "members"))
}

func staticRestartSummary(n int, last *loss) string {
	who := fmt.Sprintf("Static member %s restarted within its session timeout and took over its group.instance.id", last.m.InstanceID)
	when := "at " + clock(last.by)
	if n > 1 {
		who = fmt.Sprintf("%s static members restarted within their session timeout and took over their group.instance.ids", count(n))
		when = fmt.Sprintf("the last (%s) at %s", last.m.InstanceID, clock(last.by))
	}
	return fmt.Sprintf("%s, %s. No rebalance, nobody fenced. Nothing to do in Kafka.", who, when)
}

// lagGrown is the growth of the group's lag since a moment, 0 when unknown.
func (s *groupStory) lagGrown(since time.Time) int64 {
	if !s.g.LagReading.Usable() {
		return 0
	}
	var first, last *LagPoint
	for i := range s.g.Lag {
		p := &s.g.Lag[i]
		if p.At.Before(since) {
			continue
		}
		if first == nil {
			first = p
		}
		last = p
	}
	if first == nil {
		return 0
	}
	return last.Total - first.Total
}

// staticRestart answers where nobody was lost and a static member's id changed:
// a process that restarts within its session timeout takes its instance id over
// without a rebalance, which is what static membership is for. Whether the old
// process still runs only the refused commits of a fenced one tell.
func (s *groupStory) staticRestart() Outcome {
	l := s.replaced[len(s.replaced)-1]
	n, known := s.fenced()
	switch {
	case !known:
		return Outcome{Answer: Unknown, Because: "a static member's id was replaced, and whether the old one was fenced is not visible", Blind: []Need{NeedBrokerMetrics}}
	case n > 0:
		return no("the process that had the instance id still runs: it was fenced")
	}
	b := s.coordinator()
	o := Outcome{
		Answer: Yes, Facts: append(l.facts(s.replaced), deployFacts(s.replaced, max(0, s.baseline()-s.current()))...),
		Citations: []Citation{l.dropCitation(), b.cite(SignalCommitFenced, fmt.Sprintf("no FENCED_INSTANCE_ID at broker %d since %s", b.ID, clock(s.f.from())))},
	}
	if !s.baselineKnown() {
		o.Missing = append(o.Missing, "membership before the window")
	}
	if !s.g.LagReading.Usable() || len(s.g.Lag) == 0 {
		o.Missing = append(o.Missing, "whether lag keeps rising: it was not read")
	}
	if n := b.counter(SignalUnreleased).increase(s.f.from(), s.f.at()); n > 0 && !s.classic() {
		o.Missing = append(o.Missing, "a clean close: UNRELEASED_INSTANCE_ID says that the former process had not left, so it was killed")
	}
	o.Facts = append(o.Facts, Fact{Name: "static_restarts", Unit: UnitCount, Number: float64(len(s.replaced))})
	o.Summary = staticRestartSummary(len(s.replaced), l)
	return o
}
