package diagnose

import "fmt"

// turnover is what the window says about sessions that nobody uses any more.
type turnover struct {
	errors, evictions []step
	// ceiling: in two 120 s periods or more, as many sessions were evicted as
	// there are slots without a live one. Newcomers are refused then (measured:
	// 71 to 75 % of their fetches).
	ceiling bool
	// connected is the number of connections that were opened; -1 unknown.
	connected float64
}

const (
	// ceilingShare of the slots without a live session, evicted in one period,
	// counts as all of them: scrapes cut periods.
	ceilingShare = 0.8
	// openedShare is the least number of new connections for each evicted
	// session if short-lived clients opened them: such a client makes at least
	// one connection here.
	openedShare = 0.5
)

func (b *brokerFacts) turnover(c cache) turnover {
	from, to := b.f.cacheFrom(), b.f.at()
	t := turnover{errors: b.sustained(), evictions: b.counter(SignalEvictions).within(from, to), connected: -1}
	if made := b.counter(SignalConnectionsMade); made.covers(from) {
		t.connected = made.increase(from, to)
	}
	t.ceiling = b.atCeiling(c, t.evictions)
	return t
}

func (b *brokerFacts) atCeiling(c cache, evictions []step) bool {
	if c.capacity <= 0 || len(evictions) == 0 {
		return false
	}
	free := c.capacity - float64(max(0, c.demand.low))
	periods := map[int]float64{}
	for _, s := range evictions {
		periods[int(s.at.Sub(evictions[0].at)/b.f.wave())] += s.n
	}
	hit := 0
	for _, n := range periods {
		if n >= ceilingShare*free {
			hit++
		}
	}
	return hit >= 2
}

// withoutConnections says that the sessions were opened by clients that stayed
// connected; known is false when connections are not counted.
func (t turnover) withoutConnections(sessions float64) (yes, known bool) {
	return t.connected < openedShare*sessions, t.connected >= 0
}

// leakySoftware is a connected library that is known to open a session with
// every fetch.
func (b *brokerFacts) leakySoftware() (Software, bool) {
	if !b.SoftwareReading.Usable() {
		return Software{}, false
	}
	for _, s := range b.Software {
		if s.OpensForEachFetch() && s.Connections > 0 {
			return s, true
		}
	}
	return Software{}, false
}

// deadEvictions answers for the classes of dead sessions when the window shows
// none being evicted.
func (b *brokerFacts) deadEvictions(t turnover) (Outcome, bool) {
	e70, ev := b.counter(SignalErrors70), b.counter(SignalEvictions)
	switch {
	case ev.noStep(b.f.cacheFrom()):
		return no("0 evictions in %s", span(b.f.cacheWindow())), true
	case !ev.known || !e70.known || len(t.evictions) == 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "evictions or session errors are not visible for " + span(b.f.cacheWindow())}, true
	case total(t.errors) >= deadRatio*total(t.evictions):
		return no("%s for %s: sessions in use are evicted", plural(total(t.errors), "session error", "session errors"), plural(total(t.evictions), "eviction", "evictions")), true
	default:
		return Outcome{}, false
	}
}

// deadCitations are the observations that the classes of dead sessions share.
func (b *brokerFacts) deadCitations(c cache, t turnover) []Citation {
	w := span(b.f.cacheWindow())
	out := append([]Citation{
		b.cite(SignalEvictions, plural(total(t.evictions), "eviction", "evictions")+" in "+w),
		b.cite(SignalErrors70, plural(total(t.errors), "session error", "session errors")+" in "+w),
	}, b.cacheCitations(c)...)
	if t.connected >= 0 {
		out = append(out, b.cite(SignalConnectionsMade, fmt.Sprintf("%s opened in %s", plural(t.connected, "connection", "connections"), w)))
	}
	return out
}

// turnoverFacts are the values that the classes of dead sessions share.
func turnoverFacts() []FactSpec {
	return append(cacheFacts(),
		FactSpec{Name: "errors", Unit: UnitCount, Meaning: "errors 70 in the window"},
		FactSpec{Name: "evictions", Unit: UnitCount, Meaning: "evictions in the window"},
		FactSpec{Name: "connections_made", Unit: UnitCount, Meaning: "connections opened in the window", Optional: true},
		FactSpec{Name: "refused", Unit: UnitText, Meaning: "yes when newcomers are refused a session because dead ones hold the slots, else no"},
		FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
	)
}

func (b *brokerFacts) turnoverValues(c cache, t turnover) []Fact {
	out := append(b.cacheFactValues(c), factCount("errors", total(t.errors)), factCount("evictions", total(t.evictions)),
		factYes("refused", t.ceiling), factSeconds("window_seconds", b.f.cacheWindow()))
	if t.connected >= 0 {
		out = append(out, factCount("connections_made", t.connected))
	}
	return out
}
