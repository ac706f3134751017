package diagnose

import (
	"fmt"
	"time"
)

func cacheNearLimitRule() Rule {
	return Rule{
		Class: CacheNearLimit,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"no eviction and, apart from a restart, no error 70 in the window: this class is a warning before the harm",
			"demand ≥ 80 % of the capacity (above it only while evictions are not visible)",
			"or sessions ≥ 70 % of the capacity 5 to 20 min after a restart, before dead sessions gather",
			"or sessions ≥ 95 % of the capacity with demand unknown, or with more connections (above 3 for each client counted) or full fetches (≥ 5 %) than it explains: at capacity, overflow not visible",
		},
		Corroboration: []string{"demand counted by topology"},
		Source:        "measured: first refusal at 86–91 % of 1,000 slots and at 66–80 % of 200, by shard skew",
		Provides: append(cacheFacts(),
			FactSpec{Name: "used_percent", Unit: UnitPercent, Meaning: "demand (or, unknown, sessions) ÷ capacity"},
			FactSpec{Name: "overflow_visible", Unit: UnitText, Meaning: "no when the cache is full and the demand unknown, else yes"},
		),
		Judge: judgeCacheNearLimit,
	}
}

// plateauShare is the share of the capacity that sessions must reach shortly
// after a restart to warn: before dead sessions gather, they are the demand,
// and refusals start at 66 to 91 % by shard skew.
const plateauShare = 0.70

// After a restart, sessions equal the demand from plateauFrom (everybody is
// back) to plateauTo (dead sessions gather).
const (
	plateauFrom = 5 * time.Minute
	plateauTo   = 20 * time.Minute
)

func judgeCacheNearLimit(f *facts) []Outcome { return f.eachBroker(judgeNearLimit) }

func judgeNearLimit(b *brokerFacts) Outcome {
	c := b.cache()
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	near := b.f.l.NearShare
	age, known := b.age()
	settled := !known || age >= plateauFrom
	evictions := b.counter(SignalEvictions).increase(b.f.cacheFrom(), b.f.at())
	switch errors := total(b.sustained()); {
	case evictions > 0, errors > 0:
		return no("past a warning: %s and %s in %s", plural(evictions, "eviction", "evictions"), plural(errors, "session error", "session errors"), span(b.f.cacheWindow()))
	case b.plateau(c) && b.estimated:
		return Outcome{Answer: Unknown, Blind: []Need{NeedDemand, NeedBrokerMetrics}, Because: fmt.Sprintf("%s of %s sessions are in use, and whether all of them are new since a restart is not visible: its start time is not exported", count(c.sessions), count(c.capacity))}
	case b.plateau(c):
		return nearLimit(b, c, c.sessions, "after the restart")
	case settled && c.sessions < near*c.capacity:
		// With room in the cache nobody is refused: the sessions bound the demand.
		return no("at most %s of %s sessions in use", count(c.sessions), count(c.capacity))
	case c.above(1):
		return nearLimit(b, c, float64(c.demand.low), "over")
	case float64(c.demand.low) >= near*c.capacity:
		return nearLimit(b, c, float64(c.demand.low), "counted")
	case !c.full(b.f.l):
		return no("%s of %s sessions: nobody is refused", count(c.sessions), count(c.capacity))
	case c.below(near), b.countedLow(c):
		return no("the cache is full of old sessions: %s, the cache holds %s", b.demandWords(), count(c.capacity))
	default:
		return nearLimit(b, c, c.sessions, "full")
	}
}

// plateau reports whether the sessions some minutes after a restart are close
// to the capacity.
func (b *brokerFacts) plateau(c cache) bool {
	age, ok := b.age()
	return ok && age >= plateauFrom && age <= plateauTo && b.lead.known && b.lead.plateau() &&
		c.sessions >= plateauShare*c.capacity && !c.below(plateauShare)
}

func nearLimit(b *brokerFacts, c cache, used float64, how string) Outcome {
	share := used / c.capacity
	o := Outcome{
		Answer: Yes, Citations: b.cacheCitations(c),
		Facts: append(b.cacheFactValues(c), factPercent("used_percent", share), factYes("overflow_visible", how != "full" && how != "over")),
	}
	unseen := len(b.unseen(SignalEvictions, SignalErrors70)) > 0
	if unseen {
		o.Missing = append(o.Missing, "evictions or session errors are not visible")
		o.Blind = append(o.Blind, NeedBrokerMetrics)
	}
	switch how {
	case "counted":
		o.Summary = fmt.Sprintf("Broker %d needs %s of %s session slots (%s). Nothing is wrong yet; the next deploy or broker restart may not fit.", b.ID, count(used), count(c.capacity), percent(share))
	case "over":
		o.Summary = fmt.Sprintf("Broker %d needs %s session slots and has %s. What happens to the clients that do not fit is not visible.", b.ID, count(used), count(c.capacity))
		if !unseen {
			o.Summary = fmt.Sprintf("Broker %d needs %s session slots and has %s. Nobody was evicted so far; what happens to the clients that do not fit is still open.", b.ID, count(used), count(c.capacity))
			o.Missing = append(o.Missing, "what happens once all clients have come")
		}
		o.Alternatives = []Alternative{
			{Class: CacheThrash, Because: "if sessions are evicted, clients get errors in waves"},
			{Class: CacheSaturated, Because: "if they are not, newcomers are refused in silence"},
		}
		o.Decides = "evictions and FETCH_SESSION_ID_NOT_FOUND of this broker over 10 min"
	case "after the restart":
		o.Summary = fmt.Sprintf("Since its restart broker %d holds %s of %s sessions (%s): that is how many clients need one. Nothing is wrong yet; the next deploy may not fit.", b.ID, count(used), count(c.capacity), percent(share))
		o.Missing = append(o.Missing, "the demand is not counted by topology")
	default:
		o.Summary = fmt.Sprintf("The session cache of broker %d is at capacity (%s of %s). Whether clients are refused is not visible: full caches also fill with sessions nobody uses any more.", b.ID, count(used), count(c.capacity))
		o.Missing = append(o.Missing, "the demand is not known")
		o.Blind = append(o.Blind, NeedDemand)
		o.Alternatives = append(o.Alternatives, Alternative{Class: CacheSaturated, Because: "if more than " + count(c.capacity) + " clients need a session, some have none"})
		o.Decides = "the number of clients that need a session here: group members and connections"
	}
	return o
}
