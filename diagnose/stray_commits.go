package diagnose

import (
	"fmt"
	"slices"
	"time"
)

func strayCommitsRule() Rule {
	return Rule{
		Class: StrayCommits,
		Needs: []Need{NeedBrokerMetrics, NeedWatcher},
		Conditions: []string{
			"OffsetCommit is refused with UNKNOWN_MEMBER_ID (25) in at least 3 scrapes, over at least 2 min, or in at least 10 scrapes, and not once in a burst",
			"no heartbeat is refused with 25: a member that was dropped calls with both",
			"no group of that coordinator is seen to have lost a member",
		},
		Corroboration: []string{
			"the coordinator has no other group, so that the refusals are about this one",
			"membership is known for the whole window",
		},
		Source:   "measured: commits without membership (assign() and an admin reset on a live group) are refused with 25 for ever, classic and KIP-848; no record, nothing in the broker's log, group Stable",
		Explains: nil,
		Provides: []FactSpec{
			{Name: "refused", Unit: UnitCount, Meaning: "refused commits in the window, one per partition"},
			{Name: "per_minute", Unit: UnitCount, Meaning: "refused commits a minute; not said of less than a minute", Optional: true},
			{Name: "first_at", Unit: UnitTime, Meaning: "the first scrape in the window that shows them"},
			{Name: "last_at", Unit: UnitTime, Meaning: "the last one"},
			{Name: "coordinator", Unit: UnitText, Meaning: "the broker that refuses them, as broker N"},
			{Name: "groups_there", Unit: UnitCount, Meaning: "groups that this broker coordinates, as far as the watcher knows", Optional: true},
		},
		Judge: judgeStrayCommits,
	}
}

// Refusals of a member that was dropped come once, when it calls again: it gives
// up its id and rejoins at once. Those from outside go on: strayScrapes scrapes
// over strayLeast are no return, nor are strayMany in a row in a shorter time, as
// a dense scrape shows them in the first minutes.
const (
	strayScrapes = 3
	strayLeast   = 2 * time.Minute
	strayMany    = 10
)

func judgeStrayCommits(f *facts) []Outcome {
	var out []Outcome
	for _, b := range f.br {
		subject, ok := f.scopeOf(b)
		if !ok || f.e.Target.Topic != "" {
			continue
		}
		o := f.m.judgeStray(f, b)
		// Who asks about a broker's fetch sessions asks about no group.
		if len(f.groups()) == 0 && (o.Answer == No || slices.Contains(o.Blind, NeedBrokerMetrics)) {
			continue
		}
		o.Subject = subject
		out = append(out, o)
	}
	if g := f.group(f.e.Target.Group); g != nil && len(out) == 0 && f.e.Target.Topic == "" && !f.foreign() {
		o := strayUnseen(subjectBroker(g.Coordinator))
		if g.Coordinator < 0 {
			o = strayUnseen("the group's coordinator")
		}
		o.Subject = subjectGroup(g.ID)
		out = append(out, o)
	}
	return out
}

// strayUnseen is the answer where refused commits are not counted. Nothing else
// shows them: no record, no log line of the broker, and the group stays Stable.
func strayUnseen(broker string) Outcome {
	return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "commits that " + broker + " refuses show in its error counters only, which could not be read"}
}

func (m membership) judgeStray(f *facts, b *brokerFacts) Outcome {
	c := b.counter(SignalOffsetCommit25)
	if !f.e.Metrics.Usable() || !c.known || !b.fresh() {
		if f.foreign() {
			return no("%s", f.notApplicable())
		}
		return strayUnseen(b.subject())
	}
	steps := c.within(f.from(), f.at())
	n := total(steps)
	hidden := m.hidden(f, b.ID)
	if hidden != nil {
		// A member that was lost before the first record calls, and rejoins, within a
		// session of it. What is refused later is nobody's who was in the group.
		steps = c.within(latest(f.from(), hidden.accountedFrom()), f.at())
	}
	switch {
	case n == 0:
		return no("no commit was refused with UNKNOWN_MEMBER_ID at broker %d", b.ID)
	case m.lossAt(f, b.ID):
		return no("a group of broker %d lost a member, whose own calls are refused so", b.ID)
	case b.counter(SignalHeartbeat25).increase(f.from(), f.at())+b.counter(SignalGroupBeat25).increase(f.from(), f.at()) > 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedLogs}, Because: "heartbeats are refused as well, so somebody may have lost its membership"}
	case !steady(steps) && hidden != nil:
		return Outcome{Answer: Unknown, Blind: []Need{NeedOffsets, NeedWatcher}, Because: "who left the group before is not visible"}
	case !steady(steps):
		return Outcome{Answer: Unknown, Blind: []Need{NeedLogs}, Because: fmt.Sprintf("%s came at once: a member that returns, or somebody outside", plural(n, "refusal", "refusals"))}
	default:
		o := m.foundStray(f, b, steps)
		if hidden != nil {
			o.Missing = append(o.Missing, "who was a member before "+clock(hidden.firstRecordAt()))
		}
		return o
	}
}

// accountedFrom is the moment from which nobody who left the group unseen calls any
// more: a session after its first record. Without one nobody is accounted for.
func (s *groupStory) accountedFrom() time.Time {
	if !s.hasRecords() {
		return s.f.at()
	}
	var longest time.Duration
	for _, m := range s.g.History.Records[0].Members {
		longest = max(longest, ms(m.SessionTimeoutMS))
	}
	if longest == 0 {
		longest = defaultSession
	}
	return s.g.History.Records[0].At.Add(longest)
}

// steady says that refusals go on: several scrapes, over some minutes, no one of
// them holding nearly all.
func steady(steps []step) bool {
	if len(steps) < strayScrapes || len(steps) < strayMany && steps[len(steps)-1].at.Sub(steps[0].at) < strayLeast {
		return false
	}
	most := 0.0
	for _, s := range steps {
		most = max(most, s.n)
	}
	return most <= 0.8*total(steps)
}

func (m membership) foundStray(f *facts, b *brokerFacts, steps []step) Outcome {
	n, first, last := total(steps), steps[0].at, steps[len(steps)-1].at
	// A rate a minute takes a minute.
	seen, pace := last.Sub(steps[0].from), ""
	if seen >= time.Minute {
		pace = fmt.Sprintf("about %s a minute, ", count(max(1, n/seen.Minutes())))
	}
	words := fmt.Sprintf("%s refused in %d scrapes from %s to %s", plural(n, "commit was", "commits were"), len(steps), clock(first), clock(last))
	o := Outcome{
		Answer: Yes, Citations: []Citation{b.cite(SignalOffsetCommit25, words)},
		Facts: []Fact{
			factCount("refused", n), factTime("first_at", first), factTime("last_at", last), factText("coordinator", b.subject()),
		},
	}
	if pace != "" {
		o.Facts = append(o.Facts, factRate("per_minute", n/seen.Minutes()))
	}
	there, known := f.groupsAt(b.ID)
	if known {
		o.Facts = append(o.Facts, factCount("groups_there", float64(there)))
		o.Citations = append(o.Citations, cite("watcher.stable_groups", fmt.Sprintf("no group of broker %d lost a member", b.ID), f.e.Watcher.Reading))
	}
	if there != 1 {
		o.Missing = append(o.Missing, "which group the refused commits name: the counter is the broker's, and the offsets topic keeps no refused commit")
	}
	if w := f.e.Watcher; !w.Usable() || w.Since.IsZero() || w.Since.After(f.from()) {
		o.Blind = append(o.Blind, NeedWatcher)
		o.Alternatives = []Alternative{{SessionTimeout, "a member of a group that was not looked at may be losing its membership again and again"}}
		o.Decides = "Whether any group of broker " + fmt.Sprint(b.ID) + " loses members: the watcher has to run for the whole window."
	}
	if last.Sub(first) < strayLeast {
		o.Provisional = true
		if o.Decides == "" {
			o.Decides = "Whether commits are still refused in " + span(strayLeast) + "."
		}
	}
	lost := "no group there lost a member"
	if len(o.Alternatives) > 0 {
		lost = "no group that was looked at lost a member"
	}
	o.Summary = fmt.Sprintf("Somebody outside a group commits to it: broker %d refused %s (each partition counts) in %s with UNKNOWN_MEMBER_ID, from %s on, %swhile %s. Consumption is not hurt; those commits are lost.",
		b.ID, plural(n, "commit", "commits"), span(seen), clock(first), pace, lost)
	return o
}

// groupsAt is the number of groups that a broker coordinates, by the watcher.
func (f *facts) groupsAt(id int32) (int, bool) {
	if !f.e.Watcher.Usable() {
		return 0, false
	}
	for _, c := range f.e.Watcher.StableGroups {
		if c.Broker == id {
			return c.Stable + c.Hurt, true
		}
	}
	return 0, false
}
