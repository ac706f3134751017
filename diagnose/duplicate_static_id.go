package diagnose

import (
	"fmt"
	"slices"
	"time"
)

func duplicateStaticIDRule() Rule {
	return Rule{
		Class: DuplicateStaticID,
		Needs: []Need{NeedOffsets, NeedBrokerMetrics},
		Conditions: []string{
			"classic group: a new member id took over a group.instance.id without a rebalance, and heartbeats or commits were refused with FENCED_INSTANCE_ID (82) afterwards: the old holder still runs",
			"KIP-848 group: ConsumerGroupHeartbeat was refused with UNRELEASED_INSTANCE_ID (111), and the holder of the id was still a member one session timeout later",
		},
		Corroboration: []string{
			"no other group of the coordinator has static members that were taken over",
			"membership before the window is known",
		},
		Source:   "KIP-345, KIP-848; measured: classic, the old process dies on 82, on a commit (once per partition) or on a heartbeat, whichever comes first; KIP-848, the newcomer dies on 111 and the holder is untouched. A benign static restart leaves the same records and no error",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: []FactSpec{
			{Name: "group", Unit: UnitText, Meaning: "the group"},
			{Name: "instance_id", Unit: UnitText, Meaning: "the group.instance.id, where it is visible which", Optional: true},
			{Name: "host", Unit: UnitText, Meaning: "host of the old holder", Optional: true},
			{Name: "new_host", Unit: UnitText, Meaning: "host of the one that took the id over", Optional: true},
			{Name: "taken_over_at", Unit: UnitTime, Meaning: "when the id changed hands last", Optional: true},
			{Name: "takeovers", Unit: UnitCount, Meaning: "how often an id changed hands in the window"},
			{Name: "refused", Unit: UnitCount, Meaning: "answers 82 (commits by partition) or 111 at the coordinator"},
			{Name: "victim", Unit: UnitText, Meaning: "old: the process that had the id dies (classic); new: the one that came later does (KIP-848)"},
			{Name: "coordinator", Unit: UnitText, Meaning: "the group's coordinator, as broker N"},
		},
		Judge: judgeDuplicateIDs,
	}
}

func judgeDuplicateIDs(f *facts) []Outcome {
	var out []Outcome
	for _, g := range f.groups() {
		s := f.m.story(g)
		if s == nil {
			continue
		}
		o := s.judgeDuplicate()
		o.Subject = subjectGroup(g.ID)
		out = append(out, o)
	}
	return out
}

func (s *groupStory) judgeDuplicate() Outcome {
	if blind := s.invisible(); len(blind) > 0 {
		return Outcome{Answer: Unknown, Because: "the group's members are not visible", Blind: blind}
	}
	if s.classic() {
		return s.judgeFenced()
	}
	return s.judgeUnreleased()
}

// judgeFenced is the classic kind: the newcomer takes the id over, and the old
// holder is fenced at its next commit.
func (s *groupStory) judgeFenced() Outcome {
	n, known := s.fenced()
	switch {
	case len(s.replaced) == 0 && s.baselineKnown():
		return no("no member id was replaced under its group.instance.id since %s", clock(s.f.from()))
	case len(s.replaced) == 0 && !s.hasStatics():
		return no("the group has no static member")
	case len(s.replaced) == 0:
		return Outcome{Answer: Unknown, Because: "whether an instance id changed hands is not visible", Blind: []Need{NeedOffsets, NeedWatcher}}
	case !known:
		return Outcome{Answer: Unknown, Because: "whether anybody was fenced is not visible", Blind: []Need{NeedBrokerMetrics}}
	case n == 0:
		return no("an instance id changed hands and nobody was fenced: a restart within its session timeout")
	}
	l := s.replaced[len(s.replaced)-1]
	b := s.coordinator()
	o := Outcome{
		Answer: Yes,
		Citations: []Citation{
			b.cite(s.fencedBy(), fmt.Sprintf("%s refused with FENCED_INSTANCE_ID at broker %d since %s", plural(n, "call", "calls"), b.ID, clock(s.f.from()))),
			l.dropCitation(),
		},
		Facts: s.duplicateFacts(l, n, "old"),
	}
	if others := s.othersReplaced(); others > 0 {
		o.Missing = append(o.Missing, fmt.Sprintf("whose commits were fenced: %s of broker %d had an instance id taken over too", plural(others, "other group", "other groups"), b.ID))
	}
	if !s.baselineKnown() {
		o.Missing = append(o.Missing, "membership before the window")
	}
	o.Summary = fmt.Sprintf("Two processes use group.instance.id %s: a new one took it over at %s, and the old one, still running, was fenced (%s refused). The old process dies of it; if both are restarted, they push each other out in turn.",
		l.m.InstanceID, clock(l.by), plural(n, "call", "calls"))
	return o
}

// judgeUnreleased is the KIP-848 kind: the newcomer is refused, the holder does
// not notice. A static process that was killed and comes back is refused as
// well, until the session of its former life runs out: then the holder goes.
func (s *groupStory) judgeUnreleased() Outcome {
	b := s.coordinator()
	if !s.hasStatics() {
		return no("the group has no static member")
	}
	if b == nil || !b.counter(SignalUnreleased).known {
		return Outcome{Answer: Unknown, Because: "whether anybody was refused its instance id is not visible", Blind: []Need{NeedBrokerMetrics}}
	}
	steps := b.counter(SignalUnreleased).within(s.f.from(), s.f.at())
	if len(steps) == 0 {
		return no("nobody was refused its instance id at broker %d", b.ID)
	}
	session := s.staticSession()
	first := steps[0].from
	if len(s.replaced) > 0 {
		return no("the instance id changed hands, so its holder was let go: a killed process came back and waited for that")
	}
	if slices.ContainsFunc(s.losses, func(l *loss) bool { return l.static() && l.by.After(first.Add(-session)) }) {
		return no("a static member was dropped around the refusals: a killed process came back and waited for its former self's session to run out")
	}
	n := total(steps)
	o := Outcome{
		Answer: Yes,
		Citations: []Citation{
			b.cite(SignalUnreleased, fmt.Sprintf("%s with UNRELEASED_INSTANCE_ID at broker %d since %s", plural(n, "heartbeat refused", "heartbeats refused"), b.ID, clock(first))),
			cite(s.seen[len(s.seen)-1].path, "the holders of the instance ids are still members", s.seen[len(s.seen)-1].reading),
		},
		Facts: s.duplicateFacts(s.onlyStatic(), n, "new"),
	}
	if s.f.at().Sub(steps[0].at) < session+sampling {
		o.Provisional = true
		o.NextLookSeconds = int(session.Seconds()) + 15
		o.Decides = fmt.Sprintf("Whether the holder is still a member %s after the first refusal: a killed process that came back waits for that.", seconds(session))
	}
	if there, known := s.f.groupsAt(b.ID); !known || there > 1 {
		o.Missing = append(o.Missing, "which group it was: the counter is the broker's")
	}
	id := "a group.instance.id"
	if l := s.onlyStatic(); l != nil {
		id = "group.instance.id " + l.m.InstanceID
	}
	o.Summary = fmt.Sprintf("Two processes use %s: the one that came later was refused at broker %d (%s) and dies of it; the holder is untouched and consumes on.", id, b.ID, plural(n, "heartbeat", "heartbeats"))
	if o.Provisional {
		o.Summary = fmt.Sprintf("Somebody was refused %s at broker %d (%s) because it is in use: a second process with the same id, or one that was killed and came back before its session ran out.", id, b.ID, plural(n, "heartbeat", "heartbeats"))
	}
	return o
}

// staticSession is the session timeout of the group, the default where it is
// not known.
func (s *groupStory) staticSession() time.Duration {
	if n := s.serverSession(); n > 0 {
		return ms(n)
	}
	return defaultSession
}

// hasStatics says that the group has, or had, a member with an instance id.
func (s *groupStory) hasStatics() bool {
	return slices.ContainsFunc(s.seen, func(x listing) bool {
		for _, m := range x.members {
			if m.InstanceID != "" {
				return true
			}
		}
		return false
	})
}

// onlyStatic is the group's static member if there is but one, as the holder of
// its id.
func (s *groupStory) onlyStatic() *loss {
	var out *loss
	for _, id := range s.seen[len(s.seen)-1].ids {
		if m := s.member(id, len(s.seen)-1); m.InstanceID != "" {
			if out != nil {
				return nil
			}
			out = &loss{s: s, m: m}
		}
	}
	return out
}

// othersReplaced counts the other groups of the coordinator with an instance id
// that changed hands.
func (s *groupStory) othersReplaced() int {
	n := 0
	for _, x := range s.f.m.stories {
		if x != s && x.g.Coordinator == s.g.Coordinator && len(x.replaced) > 0 {
			n++
		}
	}
	return n
}

func (s *groupStory) duplicateFacts(l *loss, n float64, victim string) []Fact {
	var v values
	v.text("group", s.g.ID)
	if l != nil {
		v.text("instance_id", l.m.InstanceID)
		v.text("host", hostOf(l.m))
		v.time("taken_over_at", l.by)
		if m, ok := s.holder(l); ok {
			v.text("new_host", hostOf(m))
		}
	}
	v.count("takeovers", len(s.replaced))
	v.count("refused", int(n))
	v.text("victim", victim)
	v.text("coordinator", subjectBroker(s.g.Coordinator))
	return v
}

// holder is the member that took an instance id over.
func (s *groupStory) holder(l *loss) (RecordMember, bool) {
	if l.by.IsZero() || l.drop < 0 {
		return RecordMember{}, false
	}
	for _, m := range s.seen[l.drop].members {
		if m.InstanceID == l.m.InstanceID && m.ID != l.m.ID {
			return m, true
		}
	}
	return RecordMember{}, false
}
