package diagnose

import (
	"fmt"
	"time"
)

// groupSymptoms are the observations about groups that some class has to
// account for.
func groupSymptoms(f *facts) []symptom {
	var out []symptom
	for _, g := range f.groups() {
		s := f.m.story(g)
		if s == nil {
			continue
		}
		out = append(out, s.undecidedLosses()...)
		out = append(out, s.missingAfterLeave()...)
		out = append(out, s.replacedStatics()...)
		out = append(out, s.doubtful()...)
	}
	return append(out, f.m.callsWithoutLoss(f)...)
}

// undecidedLosses are the members whose loss has causes of different families
// left; the last one stands for all.
func (s *groupStory) undecidedLosses() []symptom {
	var l *loss
	n := 0
	for _, x := range s.losses {
		if x.decision.primary == "" {
			l, n = x, n+1
		}
	}
	if l == nil {
		return nil
	}
	text := fmt.Sprintf("%s was dropped at %s; %s, and what dropped it is not visible", upper(l.name()), clock(l.by), l.returnWords())
	if n > 1 {
		text = fmt.Sprintf("%s were dropped, the last (%s) at %s; %s, and what dropped them is not visible", plural(n, "member", "members"), l.name(), clock(l.by), l.returnWords())
	}
	rest := l.alternatives()
	return []symptom{{
		Subject: subjectGroup(s.g.ID), Text: text, Citations: l.citations(""), Candidates: rest,
		Decides: undecidedBy(l, rest),
	}}
}

// undecidedBy names what tells the first two candidates apart.
func undecidedBy(l *loss, rest []Alternative) string {
	if len(rest) < 2 {
		return "the broker's log around " + clock(l.by)
	}
	for _, a := range rest {
		switch a.Class {
		case CoordinatorTrouble:
			return decider("", CoordinatorTrouble, l)
		case RollingDeploy, RemovedByAdmin:
			return decider("", RollingDeploy, l)
		default: // the pair decides, below
		}
	}
	return decider(rest[0].Class, rest[1].Class, l)
}

// missingAfterLeave: members left cleanly and were not replaced in time. That
// is no deploy any more, or one that went wrong.
func (s *groupStory) missingAfterLeave() []symptom {
	mine := s.decidedFor(RollingDeploy)
	if len(mine) == 0 {
		return nil
	}
	l := mine[len(mine)-1]
	if o := s.found(RollingDeploy, mine); o.Answer == Yes {
		return nil
	}
	return []symptom{{
		Subject:   subjectGroup(s.g.ID),
		Text:      fmt.Sprintf("%s left cleanly, the last at %s, and the group is at %s of %s since", plural(len(mine), "member", "members"), clock(l.by), count(s.current()), count(s.baseline())),
		Citations: l.citations(RollingDeploy),
		Candidates: []Alternative{
			{RollingDeploy, "a deploy or restart that did not come back, or the group was scaled in on purpose"},
			{RemovedByAdmin, "the members may have been removed through the admin API"},
		},
		Decides: "The state of the application's deployment: how many replicas it wants, and whether they start.",
	}}
}

// replacedStatics: a static member's id changed under the same instance id. A
// restart within the session looks like that, and so do two processes with one
// instance id; only the fenced one's error tells.
func (s *groupStory) replacedStatics() []symptom {
	if len(s.replaced) == 0 {
		return nil
	}
	l := s.replaced[len(s.replaced)-1]
	fenced, known := s.fenced()
	if known && fenced == 0 {
		return nil
	}
	c := []Alternative{
		{RollingDeploy, "a static member that restarts within its session timeout takes over its own instance id"},
		{DuplicateStaticID, "a second process with the same group.instance.id looks the same; whether anybody was fenced is not visible"},
	}
	if fenced > 0 {
		c = []Alternative{{DuplicateStaticID, fmt.Sprintf("%s with FENCED_INSTANCE_ID: the old holder is still running", plural(fenced, "commit was refused", "commits were refused"))}, c[0]}
	}
	return []symptom{{
		Subject:    subjectGroup(s.g.ID),
		Text:       fmt.Sprintf("Instance id %s was taken over by a new member id at %s", l.m.InstanceID, clock(l.by)),
		Citations:  []Citation{l.dropCitation()},
		Candidates: c,
		By:         []Class{RollingDeploy, DuplicateStaticID},
		Decides:    "FENCED_INSTANCE_ID in the log of a client, or errors 82 on OffsetCommit at the coordinator: two processes share the id.",
	}}
}

// fenced counts refused commits and heartbeats of fenced members at the
// coordinator in the window. Whichever the old holder sends first is refused, so
// that nobody was fenced is known only where both are counted.
func (s *groupStory) fenced() (float64, bool) {
	b := s.coordinator()
	if b == nil {
		return 0, false
	}
	commits, beats := b.counter(SignalCommitFenced), b.counter(SignalBeatFenced)
	n := commits.increase(s.f.from(), s.f.at()) + beats.increase(s.f.from(), s.f.at())
	return n, n > 0 || commits.known && (beats.known || !s.classic())
}

// fencedBy is the counter that shows it: the one that moved.
func (s *groupStory) fencedBy() Signal {
	if b := s.coordinator(); b.counter(SignalCommitFenced).increase(s.f.from(), s.f.at()) == 0 && b.counter(SignalBeatFenced).increase(s.f.from(), s.f.at()) > 0 {
		return SignalBeatFenced
	}
	return SignalCommitFenced
}

// callsWithoutLoss: UNKNOWN_MEMBER_ID at a broker where nobody lost a member.
// Commits from outside a group are answered so for ever.
func (m membership) callsWithoutLoss(f *facts) []symptom {
	var out []symptom
	for _, b := range f.br {
		subject, ok := f.scopeOf(b)
		if !ok || m.lossAt(f, b.ID) {
			continue
		}
		n, where := b.calls25(f)
		if n == 0 {
			continue
		}
		if s := m.hidden(f, b.ID); s != nil {
			out = append(out, s.hiddenLoss(subject, b, n, where))
			continue
		}
		if !f.e.Watcher.Usable() && f.e.Target.Group != "" && !b.goesOn25(f) {
			// Without the watcher the coordinator's other groups are not seen, and a
			// few errors can be theirs.
			continue
		}
		out = append(out, symptom{
			Subject:    subject,
			Text:       fmt.Sprintf("%s at broker %d since %s, and no group there is seen to have lost a member", plural(n, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"), b.ID, clock(f.from())),
			Citations:  []Citation{b.cite(where, fmt.Sprintf("%s since %s", plural(n, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"), clock(f.from())))},
			Candidates: []Alternative{{StrayCommits, "somebody outside a group commits to it (assign(), an admin reset, a tool): refused for ever, membership stable"}, {SessionTimeout, "a member of a group that was not looked at may have lost its membership"}},
			Decides:    "Which group the refused commits name: the client's log, or the broker's request log.",
			By:         []Class{StrayCommits, GroupMetadataLost, CoordinatorTrouble, RemovedByAdmin},
		})
	}
	return out
}

// hidden is the group asked about, if whoever left it is not visible.
func (m membership) hidden(f *facts, broker int32) *groupStory {
	for _, s := range m.stories {
		if s.g.ID == f.e.Target.Group && s.g.Coordinator == broker && !s.baselineKnown() {
			return s
		}
	}
	return nil
}

// hiddenLoss: somebody was dropped somewhere, and this group's past is dark.
func (s *groupStory) hiddenLoss(subject string, b *brokerFacts, n float64, where Signal) symptom {
	words := plural(n, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID") + " since " + clock(s.f.from())
	return symptom{
		Subject:   subject,
		Text:      fmt.Sprintf("%s at broker %d, the coordinator, and who left the group before %s is not visible", words, b.ID, clock(s.firstRecordAt())),
		Citations: []Citation{b.cite(where, words)},
		Candidates: []Alternative{
			{SessionTimeout, "a member may have been dropped before the oldest record that was read"},
			{StrayCommits, "somebody outside the group may commit to it"},
		},
		Decides: "A membership record from before the window: a longer read of the offsets topic, or the watcher running for longer.",
		By:      []Class{CoordinatorTrouble, StrayCommits},
		Under:   b.subject(),
	}
}

// scopeOf is the subject under which a broker's group errors are in scope: the
// group asked about, at its coordinator, or the broker asked about.
func (f *facts) scopeOf(b *brokerFacts) (string, bool) {
	t := f.e.Target
	switch {
	case t.Group != "":
		g := f.group(t.Group)
		return subjectGroup(t.Group), g != nil && g.Coordinator == b.ID
	case t.Broker != nil:
		return b.subject(), *t.Broker == b.ID
	default:
		return b.subject(), true
	}
}

// lossAt says that a group of the coordinator lost a member, or that this
// cannot be excluded for a group in the evidence.
func (m membership) lossAt(f *facts, broker int32) bool {
	for _, s := range m.stories {
		if s.g.Coordinator == broker && len(s.losses)+len(s.replaced) > 0 {
			return true
		}
	}
	for _, v := range f.e.Watcher.Losses {
		if v.Coordinator == broker && !v.By.Before(f.from()) {
			return true
		}
	}
	return false
}

// goesOn25 says that errors 25 go on: in four scrapes or more over a minute or
// more, the last one just now. A lost member makes them once.
func (b *brokerFacts) goesOn25(f *facts) bool {
	for _, s := range beat25 {
		steps := b.counter(s).within(f.from(), f.at())
		if n := len(steps); n >= 4 && steps[n-1].at.Sub(steps[0].at) >= time.Minute && f.at().Sub(steps[n-1].at) <= 2*b.tolerance() {
			return true
		}
	}
	return false
}

// calls25 counts UNKNOWN_MEMBER_ID on heartbeats and commits in the window, and
// says which signal has most of them.
func (b *brokerFacts) calls25(f *facts) (float64, Signal) {
	sum, most, where := 0.0, 0.0, SignalOffsetCommit25
	for _, s := range beat25 {
		n := b.counter(s).increase(f.from(), f.at())
		sum += n
		if n > most {
			most, where = n, s
		}
	}
	return sum, where
}
