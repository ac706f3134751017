package diagnose

import (
	"fmt"
	"slices"
	"time"
)

func groupMetadataLostRule() Rule {
	return Rule{
		Class: GroupMetadataLost,
		Needs: []Need{NeedOffsets, NeedAdmin},
		Conditions: []string{
			"the group had members, and its generation (KIP-848: its epoch) fell back: by its records, or its first record follows a look at it with members",
			"or it was Stable with members, no broker lists it now, and its partition of the offsets topic holds no record of it, not even that of a deletion",
			"the group was not empty or deleted in between: a deleted group starts again at generation 1 as well",
		},
		Corroboration: []string{
			"commits refused with ILLEGAL_GENERATION (22, up to 3.9) or GROUP_ID_NOT_FOUND (69, from 4.0), or KIP-848 heartbeats with 69",
		},
		Source:   "measured: after the loss 3.9.2 answers commits with 22 and heartbeats once with 25, 4.4.0 commits with 69; both rejoin with generation 1, offsets gone. KIP-848 Java clients stop for good on heartbeat 69 (4.4.0)",
		Explains: []Class{RebalanceStorm, LagStableGroup, SessionTimeout, ProcessGone, ClientUnreachable, CoordinatorTrouble},
		Provides: []FactSpec{
			{Name: "group", Unit: UnitText, Meaning: "the group"},
			{Name: "lost_at", Unit: UnitTime, Meaning: "when its state was gone, at the latest"},
			{Name: "generation_before", Unit: UnitCount, Meaning: "generation or epoch before", Optional: true},
			{Name: "generation_now", Unit: UnitCount, Meaning: "generation or epoch after, once it has begun again", Optional: true},
			{Name: "refused", Unit: UnitCount, Meaning: "refusals at the coordinator since (22 and 69; commits by partition)", Optional: true},
			{Name: "members", Unit: UnitCount, Meaning: "members now"},
			{Name: "baseline_members", Unit: UnitCount, Meaning: "members before"},
			{Name: "protocol", Unit: UnitText, Meaning: "classic or consumer (KIP-848)"},
			{Name: "coordinator", Unit: UnitText, Meaning: "the group's coordinator, as broker N", Optional: true},
		},
		Judge: judgeMetadataLost,
	}
}

// rebirth is a group whose state began anew although it had members.
type rebirth struct {
	// after and by bound the moment.
	after, by time.Time
	// before is the last generation or epoch seen, -1 when only members were.
	before, now int32
	members     int
	// unlisted says that the group has not begun again yet: its coordinator does not
	// hold it.
	unlisted bool
	cite     Citation
}

// reborn finds the last moment in the window at which the group began anew.
func (s *groupStory) reborn() *rebirth {
	var out *rebirth
	for _, r := range []*rebirth{s.fallInRecords(), s.bornAgain(), s.fallInEpochs(), s.vanished()} {
		if r != nil && r.by.After(s.f.from()) && !r.by.After(s.f.at()) && (out == nil || r.by.After(out.by)) {
			out = r
		}
	}
	return out
}

// fallInRecords: a record of a lower generation follows one with members.
func (s *groupStory) fallInRecords() *rebirth {
	h := s.g.History
	if !h.Usable() {
		return nil
	}
	var out *rebirth
	for i := 1; i < len(h.Records); i++ {
		a, b := h.Records[i-1], h.Records[i]
		if len(a.Members) == 0 || a.Tombstone || b.Tombstone || !s.beganAnew(a.Generation, b.Generation) {
			continue
		}
		out = &rebirth{after: a.At, by: b.At, before: a.Generation, now: b.Generation, members: len(a.Members), cite: cite(
			groupPath(s.g.ID, fmt.Sprintf("history.records[%d]", i)),
			fmt.Sprintf("generation %d at %s after generation %d with %s", b.Generation, clock(b.At), a.Generation, plural(len(a.Members), "member", "members")), h.Reading)}
	}
	return out
}

// firstGenerations is the highest generation of a group's first record: two
// members that join at once make it the second (measured).
const firstGenerations = 2

// beganAnew tells a group that began again from two records in the wrong order:
// the clocks of two coordinators may differ. A fall by one has to be backed by
// refused calls.
func (s *groupStory) beganAnew(before, now int32) bool {
	return now < before && now <= firstGenerations && (before-now > 1 || s.refusals(s.f.from()) > 0)
}

// refusals counts the calls refused since a moment because the group's state
// was not there.
func (s *groupStory) refusals(since time.Time) float64 {
	b := s.coordinator()
	if b == nil {
		return 0
	}
	n := 0.0
	for _, sig := range lostStateSignals {
		n += b.counter(sig).increaseSince(since)
	}
	return n
}

// vanished: the coordinator does not hold a group that was Stable a moment ago. Only
// an empty group is deleted, and that leaves a tombstone in the log.
func (s *groupStory) vanished() *rebirth {
	g := s.g
	if !g.unlisted() || g.History.Status != StatusEmpty {
		return nil
	}
	x := g.Snapshots[len(g.Snapshots)-1]
	if x.State == "Empty" || len(x.Members) == 0 {
		return nil
	}
	return &rebirth{after: x.until(), by: g.AsOf, before: -1, members: len(x.Members), unlisted: true, cite: cite(
		groupPath(g.ID, "status"),
		fmt.Sprintf("no broker lists the group at %s, and it was %s with %s at %s", clock(g.AsOf), x.State, plural(len(x.Members), "member", "members"), clock(x.until())), g.Reading)}
}

// bornAgain: the oldest record there is says that the group was just made, and
// it was seen Stable with members before that. Its first record is of generation 2
// where nobody synced in the first; as a group could have reached that by itself,
// all members have to be others and calls refused for want of the group's state.
func (s *groupStory) bornAgain() *rebirth {
	h := s.g.History
	if !h.Usable() || len(h.Records) == 0 || h.Records[0].Generation > firstGenerations || h.Records[0].Tombstone {
		return nil
	}
	first := h.Records[0]
	for i := len(s.g.Snapshots) - 1; i >= 0; i-- {
		x := s.g.Snapshots[i]
		until := x.until()
		if until.After(first.At.Add(-2 * skew)) {
			continue
		}
		if x.State == "Empty" {
			return nil // only an empty group can be deleted
		}
		if x.State != "Stable" || len(x.Members) == 0 {
			continue
		}
		if first.Generation > 1 && (s.refusals(until) == 0 || first.listsAnyOf(x.Members)) {
			return nil
		}
		return &rebirth{after: until, by: first.At, before: -1, now: first.Generation, members: len(x.Members), cite: cite(
			groupPath(s.g.ID, "history.records[0]"),
			fmt.Sprintf("generation %d at %s is the group's first record, and it was Stable with %s before", first.Generation, clock(first.At), plural(len(x.Members), "member", "members")), h.Reading)}
	}
	return nil
}

func (r GroupRecord) listsAnyOf(members []Member) bool {
	return slices.ContainsFunc(r.Members, func(a RecordMember) bool {
		return slices.ContainsFunc(members, func(b Member) bool { return a.ID == b.ID })
	})
}

// fallInEpochs: the epoch of a KIP-848 group fell, by half or with refused
// heartbeats, or the group is none any more.
func (s *groupStory) fallInEpochs() *rebirth {
	var out *rebirth
	for i := 1; i < len(s.g.Snapshots); i++ {
		a, b := s.g.Snapshots[i-1], s.g.Snapshots[i]
		gone := b.Epoch < 0 && len(b.Members) == 0 && s.refusedBeats() > 0
		if a.Epoch <= 0 || len(a.Members) == 0 || b.Epoch >= a.Epoch || b.Epoch < 0 && !gone || b.Epoch >= 0 && 2*b.Epoch > a.Epoch && s.refusedBeats() == 0 {
			continue
		}
		words := fmt.Sprintf("epoch %d at %s after epoch %d with %s", b.Epoch, clock(b.At), a.Epoch, plural(len(a.Members), "member", "members"))
		if b.Epoch < 0 {
			words = fmt.Sprintf("%s without members at %s after epoch %d with %s", b.State, clock(b.At), a.Epoch, plural(len(a.Members), "member", "members"))
		}
		out = &rebirth{after: a.until(), by: b.At, before: a.Epoch, now: max(0, b.Epoch), members: len(a.Members),
			cite: cite(groupPath(s.g.ID, fmt.Sprintf("snapshots[%d]", i)), words, s.g.Reading)}
	}
	return out
}

// refusedBeats counts KIP-848 heartbeats for a group that the coordinator does
// not know.
func (s *groupStory) refusedBeats() float64 {
	b := s.coordinator()
	if b == nil {
		return 0
	}
	return b.counter(SignalGroupBeat69).increase(s.f.from(), s.f.at())
}

// lostStateSignals are the refusals of a coordinator that lost a group's state.
var lostStateSignals = [...]Signal{SignalCommit69, SignalCommit22, SignalGroupBeat69}

// refused counts refusals since the state was lost; known says that they would
// have been seen.
func (s *groupStory) refused(r *rebirth) (n float64, where Citation, known bool) {
	b := s.coordinator()
	if b == nil {
		return 0, Citation{}, false
	}
	for _, sig := range lostStateSignals {
		c := b.counter(sig)
		if !c.known || c.since.After(r.by) {
			continue
		}
		known = true
		if x := c.increaseSince(r.after); x > 0 {
			n += x
			where = b.cite(sig, fmt.Sprintf("%s at broker %d since %s", plural(x, "refusal", "refusals"), b.ID, clock(r.after)))
		}
	}
	return n, where, known
}

// groupMetadataLostView: a member that was dropped as its group's state was
// lost.
func groupMetadataLostView(l *loss) view {
	c := GroupMetadataLost
	r := l.s.rebirth
	switch {
	case l.s.f.foreign():
		return exclude(c, l.s.f.notApplicable())
	case r == nil && !l.s.hasRecords() && l.survivors == 0 && l.refusedGroup() > 0:
		return match(c, fmt.Sprintf("all members went at once, and %s as its group was not known (GROUP_ID_NOT_FOUND)", plural(l.refusedGroup(), "call was refused", "calls were refused")))
	case r == nil && !l.s.hasRecords() && l.survivors == 0 && l.s.refusals(l.after) > 0:
		return leave(c, "all members went at once, and commits were refused with ILLEGAL_GENERATION afterwards")
	case r == nil && !l.s.hasRecords() && l.s.classic() && l.survivors == 0 && l.coord.well != isYes && l.leave.answer != isYes:
		return leave(c, "all members went at once, and whether the group's generation began again shows in the offsets topic only")
	case r == nil && l.mayBeReborn():
		return leave(c, "all members went at once, and the calls that a coordinator without the group's state refuses (22, 69) are not visible")
	case r == nil:
		return exclude(c, l.s.notReborn())
	case l.by.Before(r.after.Add(-skew)) || l.after.After(r.by.Add(skew)):
		return exclude(c, "it was dropped at another time than the group's state")
	default:
		return prove(c, r.cite.Value)
	}
}

// mayBeReborn says that everybody was gone at once, that what is there of the
// group's records may be those of one that began again, and that nobody read the
// counters which would tell: a coordinator that has started drops members, and it
// is the one that may have lost the group.
func (l *loss) mayBeReborn() bool {
	if l.survivors != 0 || l.coord.well == isYes || l.leave.answer == isYes || l.s.refusalsKnown(l.after) {
		return false
	}
	if !l.s.hasRecords() {
		return true
	}
	first := l.s.g.History.Records[0]
	return !first.Tombstone && first.Generation <= firstGenerations && first.At.After(l.after) && !first.At.After(l.by.Add(skew))
}

// refusalsKnown says that refusals since a moment would have been seen.
func (s *groupStory) refusalsKnown(since time.Time) bool {
	b := s.coordinator()
	return b != nil && slices.ContainsFunc(lostStateSignals[:], func(sig Signal) bool {
		c := b.counter(sig)
		return c.known && !c.since.After(since)
	})
}

// refusedGroup counts the calls refused since the drop because the coordinator
// does not know the group at all.
func (l *loss) refusedGroup() float64 {
	b := l.s.coordinator()
	if b == nil {
		return 0
	}
	return b.counter(SignalCommit69).increaseSince(l.after) + b.counter(SignalGroupBeat69).increaseSince(l.after)
}

func (s *groupStory) notReborn() string {
	if s.classic() {
		return "the group's generation did not fall back"
	}
	return "the group's epoch did not fall back"
}

func judgeMetadataLost(f *facts) []Outcome {
	var out []Outcome
	for _, g := range f.groups() {
		s := f.m.story(g)
		if s == nil {
			continue
		}
		o := s.judgeRebirth()
		o.Subject = subjectGroup(g.ID)
		out = append(out, o)
	}
	return out
}

func (s *groupStory) judgeRebirth() Outcome {
	if s.f.foreign() {
		return no("%s", s.f.notApplicable())
	}
	if r := s.rebirth; r != nil {
		return s.foundRebirth(r)
	}
	if blind := s.invisible(); len(blind) > 0 {
		return Outcome{Answer: Unknown, Because: "whether the group's state began anew is not visible", Blind: blind}
	}
	if at, ok := s.unseenBirth(); ok {
		return Outcome{Answer: Unknown, Because: fmt.Sprintf("the group's first record is from %s, and whether it had members before is not visible", clock(at)), Blind: []Need{NeedWatcher}}
	}
	if s.hasRecords() || !s.classic() || s.baselineKnown() {
		return no("%s", s.notReborn())
	}
	if len(s.losses) == 0 {
		return Outcome{Answer: Unknown, Because: "generations are only in the offsets topic", Blind: []Need{NeedOffsets}}
	}
	return no("nothing points to a loss of the group's state")
}

// unseenBirth says that a group began within the window and that nobody had looked
// before: it is new, or its state was lost.
func (s *groupStory) unseenBirth() (time.Time, bool) {
	if !s.hasRecords() || s.startedAtZero() {
		return time.Time{}, false
	}
	records := s.g.History.Records
	// From 4.0 on a group's first record is one without members, of generation 0; the
	// next comes when they have joined.
	for len(records) > 1 && records[0].Generation == 0 && len(records[0].Members) == 0 && !records[0].Tombstone {
		records = records[1:]
	}
	first := records[0]
	if first.Tombstone || len(first.Members) == 0 && first.Generation > 0 || first.Generation > firstGenerations || !first.At.After(s.f.from()) || first.At.After(s.f.at()) {
		return time.Time{}, false
	}
	w := s.f.e.Watcher
	watched := w.Usable() && !w.Since.IsZero() && w.Since.Before(first.At) || len(s.seen) > 0 && s.seen[0].until.Before(first.At.Add(-2*skew))
	return first.At, !watched
}

// startedAtZero says that the group began at the first record of each partition that
// it commits, before there was one to read: then it had nothing to lose.
func (s *groupStory) startedAtZero() bool {
	begun := map[TopicPartition]bool{}
	for _, c := range s.g.History.Commits {
		if !begun[c.TopicPartition] && c.Offset != 0 {
			return false
		}
		begun[c.TopicPartition] = true
	}
	return len(begun) > 0
}

func (s *groupStory) foundRebirth(r *rebirth) Outcome {
	n, where, known := s.refused(r)
	o := Outcome{Answer: Yes, Citations: []Citation{r.cite}, Facts: s.rebirthFacts(r, n, known)}
	switch {
	case n > 0:
		o.Citations = append(o.Citations, where)
	case !known:
		o.Missing = append(o.Missing, "whether commits were refused (22, 69): the coordinator's error counters were not read")
	default:
		o.Missing = append(o.Missing, "refused commits (22, 69): none were counted")
	}
	o.Missing = append(o.Missing, s.f.kafkaMissing()...)
	if r.unlisted {
		o.Missing = append(o.Missing, "its members joining again")
	}
	o.Summary = s.rebirthSummary(r)
	return o
}

func (s *groupStory) rebirthSummary(r *rebirth) string {
	was := "it had members before"
	if r.before >= 0 {
		was = fmt.Sprintf("it was at %d before", r.before)
	}
	what := "generation"
	if !s.classic() {
		what = "epoch"
	}
	head := fmt.Sprintf("%s lost the state of group %s: its %s began again at %d by %s, and %s.", capital(subjectBroker(s.g.Coordinator)), s.g.ID, what, r.now, clock(r.by), was)
	switch {
	case r.unlisted:
		head = fmt.Sprintf("%s lost the state of group %s: it does not hold the group at %s, which was there with %s at %s, and its log has no record of it. Nobody has joined again yet.",
			capital(subjectBroker(s.g.Coordinator)), s.g.ID, clock(r.by), plural(r.members, "member", "members"), clock(r.after))
	case !s.classic() && s.current() == 0:
		head = fmt.Sprintf("%s lost the state of group %s: at %s it was no KIP-848 group any more and empty, at epoch %d with %s before. KIP-848 Java consumers stop for good on this and have to be restarted.",
			capital(subjectBroker(s.g.Coordinator)), s.g.ID, clock(r.by), r.before, plural(r.members, "member", "members"))
	}
	return head + " Committed offsets usually go with it: members then start where auto.offset.reset says."
}

func (s *groupStory) rebirthFacts(r *rebirth, n float64, known bool) []Fact {
	var v values
	v.text("group", s.g.ID)
	v.time("lost_at", r.by)
	if r.before >= 0 {
		v.count("generation_before", int(r.before))
	}
	if !r.unlisted {
		v.count("generation_now", int(r.now))
	}
	if known {
		v.count("refused", int(n))
	}
	v.count("members", max(0, s.current()))
	v.count("baseline_members", r.members)
	v.text("protocol", map[bool]string{true: "classic", false: "consumer"}[s.classic()])
	if s.g.Coordinator >= 0 {
		v.text("coordinator", subjectBroker(s.g.Coordinator))
	}
	return v
}
