package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func coordinatorTroubleRule() Rule {
	return Rule{
		Class: CoordinatorTrouble,
		Needs: []Need{NeedWatcher, NeedOffsets},
		Conditions: []string{
			"members were dropped without leaving, after a silence that their session timeout allows",
			"no commit of another member was accepted meanwhile, and the coordinator's other groups did not all keep their members",
			"one of: other groups of the coordinator lost members within the same second; the coordinator could not be scraped for a session timeout, up to the drop; it had started about one session timeout before; its heartbeats took over 1 s (99th percentile) while several groups lost members",
			"all members of the group were dropped, or another group lost some in the same second, or nobody of the group committed while the coordinator could not be scraped: with one group only and nothing else it stays an alternative",
			"or the group kept its members: its coordinator could not be scraped for a session timeout, it committed nothing meanwhile, and as that ended other groups lost members, members of it were gone for a moment, or UNKNOWN_MEMBER_ID was answered",
		},
		Corroboration: []string{
			"other groups of the same coordinator lost members in the same second",
			"membership before the window is known",
		},
		Source:   "measured: a broker frozen for 8 to 10 s with sessions of 6 s drops everybody within 1 to 2 ms as it wakes (3.9.2, 4.4.0; not every time); frozen for 12 s it is fenced as well, registers again and reads its groups from the log, so that whoever it had dropped is listed again; on 3.9.2 members expired exactly one session after the load",
		Explains: []Class{SessionTimeout, ClientUnreachable, ProcessGone, ProcessReplaced, RebalanceTimeout, RebalanceStorm, LagStableGroup},
		Provides: []FactSpec{
			{Name: "kind", Unit: UnitText, Meaning: "frozen, started, overloaded or several groups"},
			{Name: "lost_members", Unit: UnitCount, Meaning: "members that it dropped, in the groups that were looked at"},
			{Name: "hurt_groups", Unit: UnitCount, Meaning: "groups that lost members with it, the watcher's included"},
			{Name: "groups", Unit: UnitText, Meaning: "those groups, at most six by name"},
			{Name: "dropped_at", Unit: UnitTime, Meaning: "when, at the latest"},
			{Name: "session_timeout_seconds", Unit: UnitSeconds, Meaning: "the members' session timeout", Optional: true},
			{Name: "session_max_seconds", Unit: UnitSeconds, Meaning: "the longest session timeout that the broker takes, its default where the setting was not read", Optional: true},
			protocolSpec(),
			{Name: "returned_members", Unit: UnitCount, Meaning: "how many of them are back"},
			{Name: "errors_25", Unit: UnitCount, Meaning: "UNKNOWN_MEMBER_ID answers there since (heartbeats, commits by partition)", Optional: true},
			{Name: "started_at", Unit: UnitTime, Meaning: "when the broker started, if that is the kind", Optional: true},
		},
		Judge:  judgeCoordinators,
		Covers: troubleCovers,
	}
}

// coordinatorTroubleView: the coordinator dropped members of healthy clients.
func coordinatorTroubleView(l *loss) view {
	c := CoordinatorTrouble
	switch {
	case l.s.f.foreign():
		return exclude(c, l.s.f.notApplicable())
	case l.leave.answer == isYes && l.called.answer != isYes:
		return exclude(c, "the member left by itself")
	case l.leftAtOnce():
		return exclude(c, "it was dropped sooner after its last commit than a coordinator in trouble takes")
	case l.heldUp():
		return exclude(c, "the coordinator went on with a rebalance meanwhile")
	case l.coord.well == isYes:
		return exclude(c, "the coordinator was well: "+l.coord.why)
	case l.coord.well == isNo && l.coord.kind == coordStarted && l.mayBeReborn():
		return match(c, l.coord.why)
	case l.coord.well == isNo && l.coord.sure:
		return prove(c, l.coord.why)
	case l.coord.well == isNo:
		return match(c, l.coord.why)
	default:
		return leave(c, l.coord.why)
	}
}

// notApplicable words why a class about Apache Kafka's own coordinator says
// nothing about a Kafka-like system.
func (f *facts) notApplicable() string {
	return "not applicable: this cluster is " + f.e.Cluster.Flavour + ", whose group coordinator is not Apache Kafka's"
}

// kafkaMissing names what is not known of the cluster itself.
func (f *facts) kafkaMissing() []string {
	if f.e.Cluster.Usable() {
		return nil
	}
	return []string{"whether this is Apache Kafka: the cluster's metadata were not read"}
}

// judgeCoordinators answers about the brokers: the members of several groups
// were lost by one cause. Groups that lost nobody with it answer for themselves.
func judgeCoordinators(f *facts) []Outcome {
	var out []Outcome
	mine := map[int32][]*loss{}
	var brokers []int32
	for _, g := range f.groups() {
		s := f.m.story(g)
		if s == nil {
			continue
		}
		if hit := s.decidedFor(CoordinatorTrouble); len(hit) > 0 {
			if len(mine[g.Coordinator]) == 0 {
				brokers = append(brokers, g.Coordinator)
			}
			mine[g.Coordinator] = append(mine[g.Coordinator], hit...)
			continue
		}
		o := s.judge(CoordinatorTrouble)
		o.Subject = subjectGroup(g.ID)
		if x, ok := s.spared(); ok {
			o = s.sparedOutcome(x)
		} else if why, hidden := s.troubleUnseen(); hidden && o.Answer == No && len(s.losses) == 0 {
			o = Outcome{Answer: Unknown, Because: why, Blind: []Need{NeedBrokerMetrics}, Subject: subjectGroup(g.ID)}
		}
		out = append(out, o)
	}
	slices.Sort(brokers)
	out = slices.DeleteFunc(out, func(o Outcome) bool { // one answer a broker, from those it hurt
		return slices.ContainsFunc(brokers, func(id int32) bool { return o.Subject == subjectBroker(id) })
	})
	for _, id := range brokers {
		out = append(out, troubleOutcome(f, id, mine[id]))
	}
	return firstOfEach(out)
}

// firstOfEach keeps one outcome a subject.
func firstOfEach(all []Outcome) []Outcome {
	var out []Outcome
	for _, o := range all {
		if !slices.ContainsFunc(out, func(p Outcome) bool { return p.Subject == o.Subject }) {
			out = append(out, o)
		}
	}
	return out
}

func troubleOutcome(f *facts, id int32, mine []*loss) Outcome {
	slices.SortStableFunc(mine, func(a, b *loss) int { return a.by.Compare(b.by) })
	l := mine[len(mine)-1]
	for _, x := range mine {
		if x.coord.sure && !l.coord.sure {
			l = x
		}
	}
	groups := f.m.hurtWith(id, mine)
	o := Outcome{
		Answer: Yes, Subject: subjectBroker(id), Citations: []Citation{l.coord.cite},
		Alternatives: l.alternatives(), Facts: troubleFacts(l, mine, groups),
	}
	for _, x := range mine {
		if c := x.dropCitation(); len(o.Citations) < maxTroubleCitations && !slices.ContainsFunc(o.Citations, func(d Citation) bool { return d.Path == c.Path }) {
			o.Citations = append(o.Citations, c)
		}
	}
	if l.called.cite.Path != "" && l.called.n > 0 {
		o.Citations = append(o.Citations, l.called.cite)
	}
	if len(groups) < 2 {
		o.Missing = append(o.Missing, "other groups of broker "+fmt.Sprint(id)+" that lost members in the same second")
	}
	if !l.s.baselineKnown() {
		o.Missing = append(o.Missing, "membership before the window")
	}
	o.Missing = append(o.Missing, f.kafkaMissing()...)
	if len(o.Alternatives) > 0 {
		o.Decides = fmt.Sprintf("Whether other groups of broker %d lost members in the same second.", id)
	}
	o.Summary = troubleSummary(l, id, mine, groups)
	return o
}

const maxTroubleCitations = 6

// hurtWith lists the groups of a coordinator that lost members within the
// moment of one of these losses.
func (m membership) hurtWith(id int32, mine []*loss) []string {
	var out []string
	for _, l := range mine {
		out = append(out, l.s.g.ID)
		moment := time.Duration(l.s.f.l.SameMomentMS) * time.Millisecond
		for _, v := range l.s.f.e.Watcher.Losses {
			if v.Coordinator == id && l.sameTime(v.After, v.By, moment) {
				out = append(out, v.Group)
			}
		}
	}
	return unique(out)
}

func troubleFacts(l *loss, mine []*loss, groups []string) []Fact {
	var v values
	v.text("kind", l.coord.kind)
	v.count("lost_members", len(mine))
	v.count("hurt_groups", len(groups))
	v.text("groups", firstNames(groups))
	v.time("dropped_at", l.by)
	if l.session() > 0 {
		v.seconds("session_timeout_seconds", l.session())
		v.seconds("session_max_seconds", l.s.longestSession())
	}
	v.text("protocol", protocolOf(mine))
	v.count("returned_members", returned(mine))
	if l.called.cite.Path != "" {
		v.count("errors_25", int(l.called.n))
	}
	if b := l.s.coordinator(); b != nil && l.coord.kind == coordStarted {
		v.time("started_at", b.start)
	}
	return v
}

func returned(mine []*loss) int {
	n := 0
	for _, x := range mine {
		if x.back != nil {
			n++
		}
	}
	return n
}

// firstNames lists at most six names.
func firstNames(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(", %d more", len(names)-most)
}

func troubleSummary(l *loss, id int32, mine []*loss, groups []string) string {
	what := map[string]string{
		coordFrozen:     "stood still",
		coordStarted:    "had just started and dropped members that had not reached it yet",
		coordOverloaded: "answered heartbeats too slowly",
		coordMany:       "lost touch with its clients",
	}[l.coord.kind]
	lost := fmt.Sprintf("all %s members of group %s were", count(len(mine)), firstNames(groups))
	if len(mine) == 1 {
		lost = fmt.Sprintf("the only member of group %s was", firstNames(groups))
	}
	switch {
	case len(groups) > 1:
		lost = fmt.Sprintf("members of %d groups (%s) were", len(groups), firstNames(groups))
	case l.survivors != 0:
		lost = fmt.Sprintf("in group %s %s", firstNames(groups), plural(len(mine), "member was", "members were"))
	}
	return fmt.Sprintf("Broker %d %s: %s dropped at %s. %s. The clients are the victims; %s.",
		id, what, lost, clock(l.by), capital(l.coord.why), backWords(len(mine), returned(mine)))
}

// backWords says how many of the members looked at are back.
func backWords(n, back int) string {
	switch {
	case n == 1 && back == 1:
		return "the member looked at is back"
	case n == 1:
		return "the member looked at is not back yet"
	case back == 0:
		return fmt.Sprintf("none of the %s members looked at is back yet", count(n))
	case back == n:
		return fmt.Sprintf("all %s members looked at are back", count(n))
	default:
		return fmt.Sprintf("of the %s members looked at %s back", count(n), plural(back, "is", "are"))
	}
}

// troubleCovers: a coordinator in trouble accounts for losses of its groups in
// the same minute, and for what follows from them.
func troubleCovers(f *facts, cause, symptom Finding) bool {
	g := f.subjectGroup(symptom.Subject)
	if g == nil || subjectBroker(g.Coordinator) != cause.Subject {
		return false
	}
	if symptom.Class == RebalanceStorm || symptom.Class == LagStableGroup {
		return true
	}
	at, okA := cause.Fact("dropped_at")
	drop, okB := symptom.Fact("dropped_at")
	a, errA := time.Parse(time.RFC3339, at.Text)
	b, errB := time.Parse(time.RFC3339, drop.Text)
	return okA && okB && errA == nil && errB == nil && a.Sub(b).Abs() <= time.Minute
}
