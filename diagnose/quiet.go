package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func quietRule() Rule {
	return Rule{
		Class: Quiet,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"every rule of the question's subjects answered, and none holds",
			"what was needed was read, and it is fresh",
			"no error, eviction or loss is left unexplained",
		},
		Corroboration: []string{
			"what was asked about is known from before: a group that began in the window and that nobody had looked at is new, or its state was lost",
		},
		Source: "docs/adr/0002: unknown is a status; a gap is never health",
		Provides: []FactSpec{
			{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was checked"},
		},
	}
}

// quiet answers Yes when every rule answered No for what was asked, so that
// everything needed was read and is normal. It is never the answer to sources
// that were blind.
func quiet(f *facts, t tally) Outcome {
	if len(t) == 0 {
		return Outcome{Answer: Unknown}
	}
	var missing []string
	var born []unseenStart
	for _, v := range t {
		if v.Answer != Unknown {
			continue
		}
		if b, ok := f.newOrLost(v); ok {
			born = append(born, b)
			continue
		}
		if !f.sideShow(v.Subject) {
			return Outcome{Answer: Unknown}
		}
		missing = append(missing, v.Subject+" was not looked at")
	}
	for _, g := range f.groups() {
		if s := f.stability(g); !s.known && !s.changed && !f.sideShow(subjectGroup(g.ID)) {
			return Outcome{Answer: Unknown, Subject: subjectGroup(g.ID), Blind: []Need{NeedWatcher, NeedOffsets}, Because: s.how}
		}
	}
	for _, b := range f.brokers() {
		missing = append(missing, b.quietMissing()...)
	}
	for _, g := range f.groups() {
		if b := f.broker(g.Coordinator); !f.sideShow(subjectGroup(g.ID)) && !f.foreign() && !b.callsVisible() {
			o := strayUnseen("its coordinator")
			o.Subject = subjectGroup(g.ID)
			return o
		}
	}
	if r := f.e.TargetReading; r.Status == StatusPartial {
		missing = append(missing, r.Error)
	}
	o := Outcome{Answer: Yes, Subject: targetSubject(f), Missing: unique(missing), Facts: []Fact{factSeconds("window_seconds", f.window())}}
	var said []string
	for _, b := range f.brokers() {
		if _, stop := b.unreadable(); !stop {
			words, cites := b.normal()
			said, o.Citations = append(said, words), append(o.Citations, cites...)
		}
	}
	for _, g := range f.groups() {
		if f.sideShow(subjectGroup(g.ID)) {
			continue
		}
		words, cites := f.groupNormal(g)
		said, o.Citations = append(said, words), append(o.Citations, cites...)
	}
	if len(said) == 0 {
		return Outcome{Answer: Unknown}
	}
	for _, b := range born {
		b.qualify(&o)
	}
	o.Summary = "Checked, measured, normal. " + quietWords(said)
	return o
}

// unseenStart is a group that began within the window and that nobody knew before.
type unseenStart struct {
	group string
	at    time.Time
}

// newOrLost recognises the one thing that may be unknown about a group of which all
// else was read and is normal: whether it is new, or began anew because its state was
// lost. Both look alike from then on.
func (f *facts) newOrLost(v verdict) (unseenStart, bool) {
	if v.rule.Class != GroupMetadataLost {
		return unseenStart{}, false
	}
	g := f.subjectGroup(v.Subject)
	if g == nil {
		return unseenStart{}, false
	}
	s := f.m.story(g)
	if s == nil || len(s.invisible()) > 0 {
		return unseenStart{}, false
	}
	at, ok := s.unseenBirth()
	return unseenStart{group: g.ID, at: at}, ok
}

// qualify takes the certainty from a quiet answer.
func (b unseenStart) qualify(o *Outcome) {
	o.Missing = append(o.Missing, fmt.Sprintf("what group %s was before %s: the offsets topic holds nothing older", b.group, clock(b.at)))
	if len(o.Alternatives) > 0 {
		return
	}
	o.Alternatives = []Alternative{{GroupMetadataLost, fmt.Sprintf("the first record of group %s is from %s, and nobody had looked before: it is new, or its state was lost", b.group, clock(b.at))}}
	o.Decides = fmt.Sprintf("whether group %s is older than %s; if it is, its state was lost, and its committed offsets usually with it", b.group, clock(b.at))
}

// callsVisible says that errors of members with an old id are counted at the
// broker and read.
func (b *brokerFacts) callsVisible() bool {
	if b == nil {
		return false
	}
	_, stop := b.unreadable()
	return !stop && b.counter(SignalOffsetCommit25).known
}

// sideShow says that a group is in the evidence only because it explains a
// broker's demand: its history was not asked for, and the question is about a
// broker.
func (f *facts) sideShow(subject string) bool {
	g := f.subjectGroup(subject)
	return g != nil && f.e.Target.Broker != nil && g.History.Known() == StatusSkipped
}

// quietMissing names what was not visible although something could show there.
func (b *brokerFacts) quietMissing() []string {
	if _, stop := b.unreadable(); stop {
		return nil
	}
	var out []string
	watched := append(routingSignals(), SignalErrors71, SignalEvictions)
	if unseen := b.unseen(watched...); len(unseen) > 0 {
		out = append(out, b.subject()+": not visible: "+strings.Join(unseen, ", "))
	}
	if e := b.counter(SignalErrors70); !e.covers(b.f.cacheFrom()) {
		out = append(out, b.subject()+": seen for "+span(b.watched(e))+" only")
	}
	age, known := b.age()
	if !known {
		out = append(out, b.subject()+": its start time is not visible")
	}
	if !b.lead.known && known && age <= b.f.grace() {
		out = append(out, b.subject()+": it restarted, and whether it leads its partitions again is not visible")
	}
	c := b.cache()
	if c.full(b.f.l) && !c.below(b.f.l.NearShare) {
		words := ": clients outside groups are not counted"
		if c.demand.high >= 0 {
			words += ", only its " + plural(c.demand.high, "connection", "connections")
		}
		out = append(out, b.subject()+words)
	}
	young := known && age < plateauFrom
	if c.demand.low < 0 && (young || c.sessions >= plateauShare*c.capacity) {
		out = append(out, b.subject()+": the number of clients that need a session is not known")
	}
	return out
}

// maxSaid bounds the subjects that a quiet answer describes.
const maxSaid = 3

func quietWords(said []string) string {
	more := len(said) - maxSaid
	s := strings.Join(said[:min(len(said), maxSaid)], " ")
	if more > 0 {
		s += fmt.Sprintf(" And %s alike.", count(more))
	}
	return s
}

func unique(in []string) []string {
	slices.Sort(in)
	return slices.Compact(in)
}

// normal describes a broker that has nothing wrong.
func (b *brokerFacts) normal() (string, []Citation) {
	e := b.counter(SignalErrors70)
	w := b.seenFor(SignalErrors70)
	words := fmt.Sprintf("Broker %d: no session error in %s", b.ID, w)
	cites := []Citation{b.cite(SignalErrors70, "0 session errors in "+w)}
	if len(e.within(b.f.cacheFrom(), b.f.at())) > 0 {
		words = fmt.Sprintf("Broker %d: no session error in %s that a restart does not explain", b.ID, w)
		cites[0] = b.cite(SignalErrors70, fmt.Sprintf("none in the last %s", span(e.silent())))
	}
	if b.counter(SignalEvictions).known {
		words += ", no eviction"
		cites = append(cites, b.cite(SignalEvictions, "0 evictions in "+b.seenFor(SignalEvictions)))
	}
	if n, ok := b.now(SignalSessions); ok {
		words += ", " + b.sessionsWords(n)
		cites = append(cites, b.cite(SignalSessions, b.sessionsWords(n)))
	}
	if age, ok := b.age(); ok && age <= b.f.grace() {
		words += fmt.Sprintf(". It restarted %s ago", span(age))
	}
	return words + ".", cites
}

// groupNormal describes a group that has nothing wrong.
func (f *facts) groupNormal(g *Group) (string, []Citation) {
	st, ok := g.state()
	if !ok {
		return "Group " + g.ID + " has no state.", nil
	}
	words := fmt.Sprintf("Group %s: %s, %s", g.ID, st.State, plural(len(st.Members), "member", "members"))
	cites := []Citation{cite(groupPath(g.ID, fmt.Sprintf("snapshots[%d]", len(g.Snapshots)-1)), words, g.Reading)}
	if s := f.stability(g); s.known && !s.changed {
		words += fmt.Sprintf(", nobody came or went in %s", span(f.window()))
		cites = append(cites, s.by)
	}
	if n := len(g.Lag); n > 0 && g.LagReading.Usable() {
		lag := "lag " + plural(g.Lag[n-1].Total, "record", "records")
		words += ", " + lag
		cites = append(cites, cite(groupPath(g.ID, "lag"), lag, g.LagReading))
	}
	return words + ".", cites
}
