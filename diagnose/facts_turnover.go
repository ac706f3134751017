package diagnose

import (
	"fmt"
	"math"
	"time"
)

// turnover is what the window says about sessions that nobody uses any more.
type turnover struct {
	errors, evictions []step
	// ceiling: in two 120 s periods or more, as many sessions were evicted as
	// there are slots without a live one. Newcomers are refused then (measured:
	// 71 to 75 % of their fetches).
	ceiling bool
	// connected is the number of connections that were opened, as far as they are
	// seen; -1 unknown.
	connected float64
	// unconnected is the most sessions that were opened in some span of the window
	// beyond the connections that were: -1 unknown. A client that comes and goes
	// opens both, one that leaks only sessions; many connections at another time
	// (a deploy) prove nothing.
	unconnected float64
	// mostly says that most sessions were opened without a new connection, stayed
	// that there were more than clients can have waited for: some opened sessions
	// over and over while they stayed connected.
	mostly, stayed bool
}

const (
	// ceilingShare of the slots without a live session, evicted in one period,
	// counts as all of them: scrapes cut periods.
	ceilingShare = 0.8
	// openedShare of the sessions that were opened must be beyond the new
	// connections if clients that stayed connected opened them: a short-lived client
	// makes at least one connection here.
	openedShare = 0.5
)

func (b *brokerFacts) turnover(c cache) turnover {
	from, to := b.f.cacheFrom(), b.f.at()
	t := turnover{errors: b.sustained(), evictions: b.counter(SignalEvictions).within(from, to), connected: -1, unconnected: -1}
	t.ceiling = b.atCeiling(c, t.evictions)
	if made := b.counter(SignalConnectionsMade); made.known {
		t.connected = made.increase(from, to)
		var opened float64
		t.unconnected, opened = b.unconnected(made)
		t.mostly = t.unconnected > 0 && t.unconnected >= openedShare*opened
		t.stayed = t.mostly && t.unconnected > b.waiting(c)
	}
	return t
}

// unconnected is the largest rise of sessions opened minus connections opened,
// and how many sessions were opened, at least: those evicted, and the growth of
// the cache.
func (b *brokerFacts) unconnected(made counter) (most, opened float64) {
	ev := b.counter(SignalEvictions)
	from := latest(latest(b.f.cacheFrom(), b.start), made.since)
	evicted, connected := drain{ev.within(from, b.f.at())}, drain{made.within(from, b.f.at())}
	low, first := math.Inf(1), math.NaN()
	gone, connections := 0.0, 0.0
	for _, s := range b.gauge(SignalSessions) {
		if s.T.Before(from) {
			continue
		}
		gone += evicted.until(s.T)
		connections += connected.until(s.T)
		if math.IsNaN(first) {
			first = s.V
		}
		now := gone + s.V - connections
		low = min(low, now)
		most = max(most, now-low)
		opened = gone + s.V - first
	}
	return most, opened
}

// drain hands out the steps of a counter in the order of time.
type drain struct{ left []step }

// until sums the steps not later than t that were not handed out yet.
func (d *drain) until(t time.Time) float64 {
	n := 0.0
	for len(d.left) > 0 && !d.left[0].at.After(t) {
		n, d.left = n+d.left[0].n, d.left[1:]
	}
	return n
}

// waiting bounds the clients that may take a session without a new connection,
// once each: those that were refused one, or that lost theirs in a restart. While
// the cache has room, and without a restart, nobody has to wait.
func (b *brokerFacts) waiting(c cache) float64 {
	switch {
	case c.room(b.f.l) && !b.young():
		return 0
	case c.demand.low >= 0:
		return float64(c.demand.low)
	default:
		return float64(max(0, b.Demand.Connections))
	}
}

func (b *brokerFacts) atCeiling(c cache, evictions []step) bool {
	if c.capacity <= 0 || len(evictions) == 0 {
		return false
	}
	free := c.capacity - float64(max(0, c.demand.low))
	hit := 0
	for _, n := range b.periods(evictions) {
		if n >= ceilingShare*free {
			hit++
		}
	}
	return hit >= 2
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

// someLive doubts a verdict about dead sessions where a part of the evicted ones
// was in use: a client with more partitions than others may take theirs once they
// are 120 s old (KIP-227; measured: 7 of 64 beside four Java consumers).
func (b *brokerFacts) someLive(t turnover, o *Outcome) {
	e, ev := total(t.errors), total(t.evictions)
	if ev == 0 || e < deadRatio*ev {
		return
	}
	o.Alternatives = append(o.Alternatives, Alternative{CacheThrash, fmt.Sprintf("%s for %s: some of the evicted sessions were in use", plural(e, "session error", "session errors"), plural(ev, "eviction", "evictions"))})
	if o.Decides == "" {
		o.Decides = "session errors per eviction: about 1 means live sessions, 0 means dead ones"
	}
}

// deadEvictions answers for the classes of dead sessions when the window shows
// none being evicted.
func (b *brokerFacts) deadEvictions(t turnover) (Outcome, bool) {
	e70, ev := b.counter(SignalErrors70), b.counter(SignalEvictions)
	switch {
	case ev.noStep(b.f.cacheFrom()):
		return no("0 evictions in %s", b.seenFor(SignalEvictions)), true
	case !ev.known || !e70.known || len(t.evictions) == 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "evictions or session errors are not visible for " + span(b.f.cacheWindow())}, true
	case total(t.errors) >= b.f.l.LiveRatio*total(t.evictions):
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
		FactSpec{Name: "evicted", Unit: UnitText, Meaning: "which sessions were evicted, in words: only dead ones, or a few in use too"},
		FactSpec{Name: "connections_made", Unit: UnitCount, Meaning: "connections opened in the window", Optional: true},
		FactSpec{Name: "refused", Unit: UnitText, Meaning: "yes when newcomers are refused a session because dead ones hold the slots, else no"},
		FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
	)
}

func evicted(t turnover) string {
	if n := total(t.errors); n > 0 {
		return "dead sessions were thrown out, and " + count(n) + " in use with them"
	}
	return "only dead sessions were thrown out"
}

func (b *brokerFacts) turnoverValues(c cache, t turnover) []Fact {
	out := append(b.cacheFactValues(c), factCount("errors", total(t.errors)), factCount("evictions", total(t.evictions)),
		factText("evicted", evicted(t)), factYes("refused", t.ceiling), factSeconds("window_seconds", b.f.cacheWindow()))
	if t.connected >= 0 {
		out = append(out, factCount("connections_made", t.connected))
	}
	return out
}
