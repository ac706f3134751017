package diagnose

import "slices"

// membershipRules are the rules about group membership.
func membershipRules() []Rule {
	return []Rule{
		sessionTimeoutRule(), clientUnreachableRule(), processGoneRule(), processReplacedRule(), pollIntervalRule(), pollIntervalStaticRule(),
		joinSyncRaceRule(), sickLeaderRule(), rebalanceTimeoutRule(), coordinatorTroubleRule(), groupMetadataLostRule(), removedByAdminRule(),
		rollingDeployRule(), strayCommitsRule(), duplicateStaticIDRule(), rebalanceStormRule(),
	}
}

// judgeLosses answers for every group in scope: Yes where a loss was decided
// for the class, No where an observation excludes it for every loss, Unknown
// where it is one of several candidates or where losses are not visible.
func judgeLosses(f *facts, c Class) []Outcome {
	var out []Outcome
	for _, g := range f.groups() {
		s := f.m.story(g)
		if s == nil {
			continue
		}
		o := s.judge(c)
		o.Subject = subjectGroup(g.ID)
		out = append(out, o)
	}
	return out
}

func (s *groupStory) judge(c Class) Outcome {
	if blind := s.invisible(); len(blind) > 0 {
		return Outcome{Answer: Unknown, Because: "who left the group is not visible", Blind: blind}
	}
	if mine := s.decidedFor(c); len(mine) > 0 {
		return s.found(c, mine)
	}
	if len(s.losses) == 0 {
		return s.nobodyLost(c)
	}
	for _, l := range s.losses {
		if v := l.decision.view(c); v.fit != excluded {
			return Outcome{Answer: Unknown, Because: v.because, Blind: s.blindFor(l)}
		}
	}
	l, mixed := s.gravest()
	because := l.decision.view(c).because
	if mixed {
		because += " (the loss at " + clock(l.by) + ")"
	}
	return Outcome{Answer: No, Because: because}
}

// gravest is the last loss of the gravest kind, which the first finding is about;
// mixed says that there are losses of other kinds, so that a reason has to say
// which it means.
func (s *groupStory) gravest() (worst *loss, mixed bool) {
	for _, l := range s.losses {
		mixed = mixed || l.decision.primary != s.losses[0].decision.primary
		if worst == nil || severity(l.decision.primary) >= severity(worst.decision.primary) {
			worst = l
		}
	}
	return worst, mixed
}

func severity(c Class) int {
	e, _ := Lookup(c)
	return e.Severity
}

// nobodyLost: no loss was seen. That only excludes anything if it would have
// been seen.
func (s *groupStory) nobodyLost(c Class) Outcome {
	if c == RollingDeploy && len(s.replaced) > 0 {
		return s.staticRestart()
	}
	if s.baselineKnown() {
		return Outcome{Answer: No, Because: "no member was lost since " + clock(s.f.from())}
	}
	return Outcome{
		Answer: Unknown, Because: "who was a member before the window is not visible",
		Blind: []Need{NeedOffsets, NeedWatcher},
	}
}

// invisible lists the sections without which nothing is known of the group's
// membership.
func (s *groupStory) invisible() []Need {
	if s.sighted() {
		return nil
	}
	if s.g.History.Usable() && s.f.e.GroupsReading.Usable() && s.g.Usable() {
		return nil // read, and empty: the group has no members
	}
	return []Need{NeedAdmin, NeedOffsets, NeedWatcher}
}

// decidedFor are the losses that were decided for a class, latest last.
func (s *groupStory) decidedFor(c Class) []*loss {
	return slices.DeleteFunc(slices.Clone(s.losses), func(l *loss) bool { return l.decision.primary != c })
}

// found builds the finding for the losses of one class. It is about the last
// one that is still away, or else the last one.
func (s *groupStory) found(c Class, mine []*loss) Outcome {
	l := mine[len(mine)-1]
	for _, x := range mine {
		if x.back == nil {
			l = x
		}
	}
	if c == RollingDeploy {
		return s.foundDeploy(mine, l)
	}
	o := l.outcome(c, mine)
	o.Facts = append(o.Facts, l.ownFacts(c)...)
	o.Provisional = l.back == nil && (c == SessionTimeout || c == ClientUnreachable || c == PollInterval || c == PollIntervalStatic)
	if o.Provisional {
		o.NextLookSeconds = l.nextLook()
	}
	return o
}

// ownFacts are what a class provides besides the facts of every loss.
func (l *loss) ownFacts(c Class) []Fact {
	switch c {
	case JoinSyncRace:
		return joinFacts(l)
	case RebalanceTimeout:
		return heldFacts(l)
	case SickLeader:
		return leaderFacts(l)
	default:
		return nil
	}
}

// nextLook is when time will have told whether a member that is away is gone.
func (l *loss) nextLook() int {
	left := 2*l.session() - l.away()
	return int(min(max(left.Seconds()+1, 15), 120))
}
