package diagnose

import (
	"fmt"
	"time"
)

func cacheSaturatedRule() Rule {
	return Rule{
		Class: CacheSaturated,
		Needs: []Need{NeedBrokerMetrics, NeedSlots, NeedDemand},
		Conditions: []string{
			"sessions ≥ 95 % of the capacity",
			"no eviction and no error 70 in the window (600 s, never under 360 s); provisional while less than 360 s were seen",
			"demand > capacity, or demand unknown and at least 10 % of the consumer fetches are full",
		},
		Corroboration: []string{
			"demand counted by topology",
			"full fetches ≥ 5 % by request size: (mean − p50)/(p99 − p50) of FetchConsumer RequestBytes",
		},
		Source:   "KIP-227; measured: 83 clients on 64 slots gave 0 evictions, 0 errors and 23 % full fetches (22.9 % by request size)",
		Explains: []Class{CacheNearLimit},
		Provides: append(cacheFacts(),
			FactSpec{Name: "without_session", Unit: UnitCount, Meaning: "clients that get no session: demand − capacity", Optional: true},
			FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
		),
		Judge: judgeCacheSaturated,
	}
}

// shares of full fetches, by request size: overflowOnly carries the verdict
// when demand is unknown, overflowSeen corroborates (measured with room: 2 to
// 3 %).
const (
	overflowOnly = 0.10
	overflowSeen = 0.05
)

func judgeCacheSaturated(f *facts) []Outcome { return f.eachBroker(judgeSaturated) }

func judgeSaturated(b *brokerFacts) Outcome {
	w, from := b.f.cacheWindow(), b.f.cacheFrom()
	e70, ev := b.counter(SignalErrors70), b.counter(SignalEvictions)
	c := b.cache()
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	switch {
	case !c.full(b.f.l):
		return no("the cache has room: at most %s of %s sessions in %s", count(c.sessions), count(c.capacity), b.seenFor(SignalErrors70))
	case ev.known && len(ev.within(from, b.f.at())) > 0:
		return no("not silent: %s in %s", plural(ev.increase(from, b.f.at()), "eviction", "evictions"), span(w))
	case len(b.sustained()) > 0:
		return no("not silent: %s in %s", plural(total(b.sustained()), "session error", "session errors"), span(w))
	case c.below(1):
		return no("at most %s need a session, the cache holds %s", plural(c.demand.high, "client", "clients"), count(c.capacity))
	case !ev.known || !e70.known:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "evictions or session errors are not visible"}
	case c.above(1), c.shareKnown && c.share >= overflowOnly:
		return saturates(b, c)
	case b.countedLow(c):
		return no("%s, the cache holds %s", b.demandWords(), count(c.capacity))
	default:
		return Outcome{Answer: Unknown, Blind: []Need{NeedDemand}, Because: "the cache is full and the number of clients that need a session is not known"}
	}
}

func saturates(b *brokerFacts, c cache) Outcome {
	w := b.f.cacheWindow()
	o := Outcome{
		Answer:  Yes,
		Summary: fmt.Sprintf("The fetch session cache of broker %d is full and newcomers are refused in silence: no error, no eviction, but every fetch of a client without a session is a full one. It stays like this until there are more slots or fewer clients.", b.ID),
		Citations: append(b.cacheCitations(c),
			b.cite(SignalEvictions, "0 evictions in "+b.seenFor(SignalEvictions)), b.cite(SignalErrors70, "no session error in "+b.seenFor(SignalErrors70))),
		Facts: append(b.cacheFactValues(c), factSeconds("window_seconds", w)),
	}
	if c.above(1) {
		o.Facts = append(o.Facts, factCount("without_session", float64(c.demand.low)-c.capacity))
	} else {
		o.Missing = append(o.Missing, "the demand is not counted by topology: the share of full fetches carries the verdict")
		o.Blind = append(o.Blind, NeedDemand)
	}
	need := time.Duration(b.f.l.MinWindowSeconds) * time.Second
	if seen := min(b.watched(b.counter(SignalEvictions)), b.watched(b.counter(SignalErrors70))); seen < need {
		o.Provisional = true
		o.Decides = fmt.Sprintf("no eviction for three periods of %d s; seen for %s so far", b.f.l.WaveSeconds, span(seen))
		o.NextLookSeconds = max(15, int((need-seen+b.sc.every)/time.Second))
	}
	switch {
	case !c.shareKnown:
		o.Missing = append(o.Missing, "the share of full fetches is not visible (FetchConsumer RequestBytes)")
	case c.share < overflowSeen:
		o.Missing = append(o.Missing, "only "+percent(c.share)+" of the fetches are full")
	}
	return o
}
