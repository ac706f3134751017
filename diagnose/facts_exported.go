package diagnose

import (
	"fmt"
	"slices"
	"time"
)

// exportedFacts is what follows from one group's exported series.
type exportedFacts struct {
	f *facts
	g *ExportedGroup
	// path leads to it.
	path string
}

// exported returns a group's exported series, nil where there are none.
func (f *facts) exported(id string) *exportedFacts {
	if !f.e.Exported.Usable() {
		return nil
	}
	i := slices.IndexFunc(f.e.Exported.Groups, func(g ExportedGroup) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return &exportedFacts{f: f, g: &f.e.Exported.Groups[i], path: fmt.Sprintf("exported_groups.groups[%d]", i)}
}

func (x *exportedFacts) cite(field, value string) Citation {
	return cite(x.path+"."+field, value, x.f.e.Exported.Reading)
}

// within are the samples of the window.
func (x *exportedFacts) within(in []Sample) []Sample {
	var out []Sample
	for _, s := range in {
		if !s.T.Before(x.f.from()) && !s.T.After(x.f.at()) {
			out = append(out, s)
		}
	}
	return out
}

// lag is the trend of the exported lag, by the measure of lagTrend.
func (x *exportedFacts) lag() (lagTrend, bool) {
	var g Group
	for _, s := range x.g.Lag {
		g.Lag = append(g.Lag, LagPoint{At: s.T, Total: int64(s.V)})
	}
	return x.f.lagTrend(&g)
}

// members is the count over the window.
type memberCount struct {
	known           bool
	first, last, lo float64
	// at is when the count fell first, and the scrape before.
	before, at time.Time
	// changed says that it moved at all.
	changed bool
	// whole says that the window is covered by scrapes.
	whole bool
}

func (x *exportedFacts) members() memberCount {
	in := x.within(x.g.Members)
	if len(in) < 2 {
		return memberCount{}
	}
	c := memberCount{known: true, first: in[0].V, last: in[len(in)-1].V, lo: in[0].V}
	for i, s := range in[1:] {
		was := in[i]
		c.changed = c.changed || s.V != was.V
		if s.V < was.V && c.at.IsZero() {
			c.before, c.at = was.T, s.T
		}
		c.lo = min(c.lo, s.V)
	}
	slack := 3 * medianGap(sampleTimes(in))
	c.whole = in[0].T.Sub(x.f.from()) <= slack && x.f.at().Sub(in[len(in)-1].T) <= max(slack, lagFresh)
	return c
}

func sampleTimes(in []Sample) []time.Time {
	out := make([]time.Time, len(in))
	for i, s := range in {
		out[i] = s.T
	}
	return out
}

// restless is a state of the window in which the group did not consume; "" =
// none was seen.
func (x *exportedFacts) restless() string {
	for _, s := range x.g.States {
		if s.Until.Before(x.f.from()) || s.From.After(x.f.at()) {
			continue
		}
		if !settledState(s.State) {
			return s.State
		}
	}
	return ""
}

// judgeExportedLag judges lag by an exporter's word where Kafka cannot be
// asked. It is never certain: an exporter counts members, and one that is
// replaced between two scrapes does not show.
func judgeExportedLag(f *facts, id string, otherwise Outcome) Outcome {
	x := f.exported(id)
	if x == nil {
		return otherwise
	}
	t, seen := x.lag()
	m := x.members()
	limit := f.l.LagGrowthRecords
	by := x.g.Exporter
	switch {
	case f.changedByKafka(id):
		return otherwise
	case !seen || t.span < minLagSpan || !m.known || !m.whole:
		return otherwise
	case t.growth < limit:
		return no("lag is %s and grew by %s in %s (%s)", plural(t.last.Total, "record", "records"), count(max(0, t.growth)), span(t.span), by)
	case float64(t.last.Total) < lagFalling*float64(t.peak):
		return no("lag peaked at %s and is falling: %s (%s)", plural(t.peak, "record", "records"), count(t.last.Total), by)
	case m.changed:
		return no("membership is not stable: %s counts %s to %s members", by, count(m.lo), count(max(m.first, m.last)))
	case m.last == 0:
		return no("the group has no members: nobody consumes (%s)", by)
	case x.restless() != "":
		return no("the group was %s: membership, not throughput (%s)", x.restless(), by)
	}
	members := int(m.last)
	return Outcome{
		Answer: Yes,
		Summary: fmt.Sprintf("Group %s keeps its %s and falls behind, as far as %s shows: lag grew by %s, to %s, in %s.",
			id, plural(members, "member", "members"), by, count(t.growth), plural(t.last.Total, "record", "records"), span(t.span)),
		Citations: []Citation{
			x.cite("lag", fmt.Sprintf("%s → %s records in %s (%s)", count(t.first.Total), count(t.last.Total), span(t.span), by)),
			x.cite("members", fmt.Sprintf("%s all through the window (%s)", plural(members, "member", "members"), by)),
		},
		Facts: []Fact{
			factCount("lag_records", float64(t.last.Total)), factCount("lag_growth", float64(t.growth)), factSeconds("span_seconds", t.span),
			factCount("members", float64(members)), factText("committing", "unknown"),
		},
		Missing: []string{"Kafka's own word: " + by + " counts members and does not tell whether one was replaced, nor whether the group commits"},
		Blind:   otherwise.Blind,
	}
}

// changedByKafka says that Kafka or the watcher saw members come or go.
func (f *facts) changedByKafka(id string) bool {
	g := f.group(id)
	return g != nil && f.stability(g).changed
}

// exportedSymptoms: an exporter saw a group lose members that Kafka cannot be
// asked about. Who it was, and why, no exporter shows.
func exportedSymptoms(f *facts) []symptom {
	var out []symptom
	for _, id := range f.exportedInScope() {
		x := f.exported(id)
		m := x.members()
		if !m.known || m.at.IsZero() || f.membershipKnown(id) {
			continue
		}
		words := fmt.Sprintf("%s counts %s → %s members between %s and %s", x.g.Exporter, count(m.first), count(m.lo), clock(m.before), clock(m.at))
		if m.last > m.lo {
			words += ", " + count(m.last) + " now"
		}
		s := symptom{
			Subject: subjectGroup(id), Text: "Group " + id + " lost members, and Kafka could not be asked who and why: " + words,
			Citations: []Citation{x.cite("members", words)}, ByAny: true,
			Candidates: []Alternative{
				{SessionTimeout, "a member may have been silent for its session timeout"},
				{ProcessGone, "a process may have died"},
				{PollInterval, "a member may have left because its processing took too long"},
				{RollingDeploy, "it may be a deploy: members that close and come back"},
			},
			Decides: "Kafka's own record: " + f.whyNoMembership(id),
		}
		if m.last >= m.first {
			s.Text = "Group " + id + " lost members for a while, and Kafka could not be asked who and why: " + words
		}
		out = append(out, s)
	}
	return out
}

// exportedInScope are the groups that the question is about: the target, or all
// that were exported where Kafka named none.
func (f *facts) exportedInScope() []string {
	var out []string
	for _, g := range f.e.Exported.Groups {
		t := f.e.Target
		if t.Group == g.ID || t.Group == "" && f.subjectGroup(subjectGroup(g.ID)) != nil {
			out = append(out, g.ID)
		}
	}
	return out
}

// membershipKnown says that Kafka or the watcher showed who came and went.
func (f *facts) membershipKnown(id string) bool {
	g := f.group(id)
	if g == nil {
		return false
	}
	s := f.m.story(g)
	return s != nil && (len(s.losses) > 0 || s.sighted() && s.baselineKnown() || g.Usable() && f.stability(g).changed)
}

// whyNoMembership says what stood in the way.
func (f *facts) whyNoMembership(id string) string {
	readings := []Reading{f.e.Cluster.Reading, f.e.GroupsReading}
	if g := f.group(id); g != nil {
		readings = append(readings, g.Reading, g.History.Reading)
	}
	r := firstUnusable(readings...)
	words := "the admin API and __consumer_offsets (" + r.Known().Words() + ")"
	if r.Hint != "" {
		words += "; " + r.Hint
	}
	return words
}
