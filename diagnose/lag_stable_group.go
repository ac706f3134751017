package diagnose

import (
	"fmt"
	"time"
)

func lagStableGroupRule() Rule {
	return Rule{
		Class: LagStableGroup,
		Needs: []Need{NeedLag, NeedAdmin},
		Conditions: []string{
			"the group has members and none came or went in the window, or none was lost and none came since the lag was first seen",
			"lag grew by 1,000 records or more over the window, and is not falling at its end; where it was seen for less than 2 min, by as much over its newest looks, three at least, each higher than the one before",
		},
		Corroboration: []string{
			"membership is known for the whole window (watcher, or the offsets topic with a record from before the window)",
			"lag was seen over at least 5 min, for all partitions",
			"by Kafka itself: where it cannot be asked, a group exporter's count of members and lag makes it likely, never more",
		},
		Source: "lag = end − committed; the growth of both sums gives produce and consume rates",
		Provides: []FactSpec{
			{Name: "lag_records", Unit: UnitCount, Meaning: "lag now"},
			{Name: "lag_growth", Unit: UnitCount, Meaning: "growth over the window"},
			{Name: "span_seconds", Unit: UnitSeconds, Meaning: "the span over which lag was seen"},
			{Name: "produce_per_second", Unit: UnitCount, Meaning: "records produced per second", Optional: true},
			{Name: "consume_per_second", Unit: UnitCount, Meaning: "records committed per second", Optional: true},
			{Name: "shortfall_percent", Unit: UnitPercent, Meaning: "how much faster the group has to be to stop falling behind", Optional: true},
			{Name: "members", Unit: UnitCount, Meaning: "members of the group"},
			{Name: "partitions", Unit: UnitCount, Meaning: "partitions assigned in the group", Optional: true},
			{Name: "committing", Unit: UnitText, Meaning: "no when nothing was committed in the span, else yes; unknown where only an exporter shows the lag"},
		},
		Judge: judgeLagStableGroup,
	}
}

// A rate needs some time: minLagSpan is the shortest span whose growth is
// judged, goodLagSpan the one that corroborates.
const (
	minLagSpan  = 2 * time.Minute
	goodLagSpan = 5 * time.Minute
	// lagFresh is how old the last lag may be.
	lagFresh = 5 * time.Minute
	// lagFalling is the share of the peak under which lag counts as falling.
	lagFalling = 0.9
)

func judgeLagStableGroup(f *facts) []Outcome {
	var out []Outcome
	for _, g := range f.groups() {
		o := judgeLag(f, g)
		if o.Answer == Unknown {
			o = judgeExportedLag(f, g.ID, o)
		}
		o.Subject = subjectGroup(g.ID)
		out = append(out, o)
	}
	if len(out) == 0 && f.e.Target.Group != "" {
		o := judgeExportedLag(f, f.e.Target.Group, Outcome{Answer: Unknown, Blind: []Need{NeedAdmin}, Because: "the group could not be described"})
		o.Subject = subjectGroup(f.e.Target.Group)
		out = append(out, o)
	}
	return out
}

// lagTrend is the lag over the window.
type lagTrend struct {
	first, last LagPoint
	peak        int64
	hidden      int
	span        time.Duration
	growth      int64
	// climb is the growth over the newest looks that were each higher than the one
	// before, 0 for fewer than three: what is no saw-tooth between two commits. A level
	// stretch before it (the fault began later than the watch) takes nothing from it.
	climb int64
}

func (f *facts) lagTrend(g *Group) (lagTrend, bool) {
	var t lagTrend
	seen, rising, foot := false, 0, int64(0)
	for _, p := range g.Lag {
		if p.At.Before(f.from()) || p.At.After(f.at()) {
			continue
		}
		if !seen {
			t.first, foot, seen = p, p.Total, true
		}
		if p.Total > t.last.Total {
			rising++
		} else {
			rising, foot = 1, p.Total
		}
		t.last = p
		t.peak = max(t.peak, p.Total)
		t.hidden = max(t.hidden, p.Hidden)
	}
	if rising >= 3 {
		t.climb = t.last.Total - foot
	}
	t.span, t.growth = t.last.At.Sub(t.first.At), t.last.Total-t.first.Total
	return t, seen && f.at().Sub(t.last.At) <= lagFresh
}

func judgeLag(f *facts, g *Group) Outcome {
	t, seen := f.lagTrend(g)
	st, described := g.state()
	limit := f.l.LagGrowthRecords
	switch {
	case !g.Usable() || !described:
		return Outcome{Answer: Unknown, Blind: []Need{NeedAdmin}, Because: "the group could not be described"}
	case !g.LagReading.Usable() || !seen:
		return Outcome{Answer: Unknown, Blind: []Need{NeedLag}, Because: "the lag is not known"}
	case t.last.Total < limit && t.growth < limit && t.hidden == 0:
		return no("lag is %s", plural(t.last.Total, "record", "records"))
	case t.span < minLagSpan && t.growth < limit:
		return Outcome{Answer: Unknown, Blind: []Need{NeedLag}, Because: fmt.Sprintf("lag is %s, seen for %s only: whether it grows is not known", plural(t.last.Total, "record", "records"), span(t.span))}
	case t.growth < limit:
		return no("lag is %s and grew by %s in %s", plural(t.last.Total, "record", "records"), count(max(0, t.growth)), span(t.span))
	case float64(t.last.Total) < lagFalling*float64(t.peak):
		return no("lag peaked at %s and is falling: %s", plural(t.peak, "record", "records"), count(t.last.Total))
	case len(st.Members) == 0:
		return no("the group has no members: nobody consumes")
	}
	s := f.stability(g)
	if s.changed && f.onlyGrew(g) {
		// Members that came before the lag was seen to grow do not explain it.
		s = f.stableSince(g, t.first.At)
	}
	if s.changed {
		return no("membership is not stable: %s", s.how)
	}
	if t.span < minLagSpan && t.climb < limit {
		return Outcome{Answer: Unknown, Blind: []Need{NeedLag}, Because: fmt.Sprintf("lag was seen for %s only: whether it keeps growing is not known", span(t.span))}
	}
	if !settledState(st.State) {
		return no("the group is %s: membership, not throughput", st.State)
	}
	return lagHolds(f, g, t, s)
}

// onlyGrew says that nobody is known to have left the group in the window: what
// changed are members that came.
func (f *facts) onlyGrew(g *Group) bool {
	s := f.m.story(g)
	return s != nil && s.baselineKnown() && len(s.losses)+len(s.replaced) == 0
}

// lagSymptoms: lag grows in a group to which the class does not apply, because
// members came or went, or nobody is there.
func lagSymptoms(f *facts) []symptom {
	var out []symptom
	for _, g := range f.groups() {
		t, seen := f.lagTrend(g)
		falling := float64(t.last.Total) < lagFalling*float64(t.peak)
		if !seen || !g.LagReading.Usable() || t.growth < f.l.LagGrowthRecords || falling {
			continue
		}
		words := fmt.Sprintf("lag grew by %s, to %s, in %s", count(t.growth), plural(t.last.Total, "record", "records"), span(t.span))
		s := symptom{
			Subject:    subjectGroup(g.ID),
			ByAny:      true,
			Under:      subjectBroker(g.Coordinator),
			Text:       words + " while membership was not stable",
			Citations:  []Citation{cite(groupPath(g.ID, "lag"), words, g.LagReading)},
			Candidates: []Alternative{{RebalanceStorm, "rebalances stop the consumption again and again"}},
			Decides:    "whether lag still grows once membership has been stable for " + span(f.window()),
		}
		st, ok := g.state()
		switch o := judgeLag(f, g); {
		case o.Answer == Unknown && o.Because != "":
			s.Text, s.Candidates = words, []Alternative{{LagStableGroup, o.Because}}
			s.Decides = "whether lag still grows in " + span(minLagSpan)
		case ok && len(st.Members) == 0:
			s.Text, s.Candidates = words+" and the group has no members: nobody consumes", nil
			s.Decides = "whether the application runs, and why its members left"
		}
		out = append(out, s)
	}
	return out
}

// settledState reports whether a group in this state consumes: a classic group
// that is Stable, or a KIP-848 group, which consumes while it reconciles.
func settledState(state string) bool {
	switch state {
	case "Stable", "Reconciling", "Assigning":
		return true
	default:
		return false
	}
}

func lagHolds(f *facts, g *Group, t lagTrend, s stability) Outcome {
	st, _ := g.state()
	produced, consumed, rated := t.rates()
	o := Outcome{
		Answer:  Yes,
		Summary: lagSummary(g, t, len(st.Members)),
		Citations: []Citation{
			cite(groupPath(g.ID, "lag"), fmt.Sprintf("%s → %s records in %s", count(t.first.Total), count(t.last.Total), span(t.span)), g.LagReading),
			cite(groupPath(g.ID, fmt.Sprintf("snapshots[%d]", len(g.Snapshots)-1)), fmt.Sprintf("%s, %s", st.State, plural(len(st.Members), "member", "members")), g.Reading),
		},
		Facts: []Fact{
			factCount("lag_records", float64(t.last.Total)), factCount("lag_growth", float64(t.growth)),
			factSeconds("span_seconds", t.span), factCount("members", float64(len(st.Members))),
			factYes("committing", t.last.CommittedTotal != t.first.CommittedTotal),
		},
	}
	if s.known {
		o.Citations = append(o.Citations, s.by)
	} else {
		o.Missing = append(o.Missing, s.how)
		o.Blind = append(o.Blind, NeedWatcher)
	}
	if t.span < minLagSpan {
		o.Provisional = true
		o.Decides = "Whether lag still grows in " + span(minLagSpan) + "."
	}
	if t.span < goodLagSpan {
		o.Missing = append(o.Missing, "lag was seen for "+span(t.span)+" only")
	}
	if t.hidden > 0 {
		o.Missing = append(o.Missing, plural(t.hidden, "partition", "partitions")+" could not be read")
	}
	if rated {
		o.Facts = append(o.Facts, factRate("produce_per_second", produced), factRate("consume_per_second", consumed))
		if consumed > 0 {
			o.Facts = append(o.Facts, factPercent("shortfall_percent", produced/consumed-1))
		}
	}
	if n := assigned(st); n > 0 {
		o.Facts = append(o.Facts, factCount("partitions", float64(n)))
	}
	return o
}

// rates are records produced and committed per second; ok is false when an
// offset went back (a reset) or no time passed.
func (t lagTrend) rates() (produced, consumed float64, ok bool) {
	end, committed := t.last.EndTotal-t.first.EndTotal, t.last.CommittedTotal-t.first.CommittedTotal
	if t.span <= 0 || end < 0 || committed < 0 || t.last.EndTotal == 0 {
		return 0, 0, false
	}
	return float64(end) / t.span.Seconds(), float64(committed) / t.span.Seconds(), true
}

func factRate(name string, perSecond float64) Fact {
	return Fact{Name: name, Unit: UnitCount, Number: float64(int64(perSecond*10+0.5)) / 10}
}

func assigned(s GroupSnapshot) int {
	n := 0
	for _, m := range s.Members {
		n += len(m.Partitions)
	}
	return n
}

func lagSummary(g *Group, t lagTrend, members int) string {
	s := fmt.Sprintf("Group %s keeps its %s and falls behind: lag grew by %s, to %s, in %s.",
		g.ID, plural(members, "member", "members"), count(t.growth), plural(t.last.Total, "record", "records"), span(t.span))
	produced, consumed, ok := t.rates()
	switch {
	case !ok:
		return s + " Nobody was evicted: look at throughput, not membership."
	case consumed == 0:
		return s + " It commits nothing although its members are there."
	default:
		return s + fmt.Sprintf(" About %s records/s come in and %s/s are committed: throughput, not membership.", count(produced), count(consumed))
	}
}
