package diagnose

import (
	"fmt"
	"strings"
	"time"
)

// cacheFacts are the facts that the rules of a cache that is too small share.
func cacheFacts() []FactSpec {
	return []FactSpec{
		{Name: "slots", Unit: UnitCount, Meaning: "configured session slots"},
		{Name: "capacity", Unit: UnitCount, Meaning: "sessions the cache can hold"},
		{Name: "sessions", Unit: UnitCount, Meaning: "sessions in the cache"},
		{Name: "demand_consumers", Unit: UnitCount, Meaning: "consumers in groups that need a session here", Optional: true},
		{Name: "demand_followers", Unit: UnitCount, Meaning: "replica fetchers that need a session here", Optional: true},
		{Name: "demand", Unit: UnitCount, Meaning: "sessions needed: consumers and followers", Optional: true},
		{Name: "connections", Unit: UnitCount, Meaning: "client connections, the upper bound of the demand", Optional: true},
		{Name: "full_fetch_percent", Unit: UnitPercent, Meaning: "share of consumer fetches that are full", Optional: true},
		{Name: "partitions_per_session", Unit: UnitCount, Meaning: "cached partitions per session", Optional: true},
		{Name: "new_connections_per_second", Unit: UnitCount, Meaning: "client connections opened here in a second: at most so many short-lived clients arrive", Optional: true},
		{Name: "new_connections", Unit: UnitText, Meaning: "the same in words, or why it is not known"},
		{Name: "biggest_group", Unit: UnitText, Meaning: "the group with most members here", Optional: true},
		{Name: "biggest_group_members", Unit: UnitCount, Meaning: "its members", Optional: true},
	}
}

func cacheThrashRule() Rule {
	return Rule{
		Class: CacheThrash,
		Needs: []Need{NeedBrokerMetrics, NeedSlots, NeedDemand},
		Conditions: []string{
			"evictions in the window (600 s, never under 360 s)",
			"errors 70 ÷ evictions ≥ 0.5: live sessions are evicted",
			"sessions ≥ 95 % of the capacity",
			"demand > 85 % of the capacity (without it: undecided between this and a routing fault)",
			"errors at the return of leadership after a restart are left out",
			"evictions not more than consumers can cause: in 120 s, the sessions that were there before",
		},
		Corroboration: []string{
			"evictions in two 120 s periods or more",
			"demand counted by topology",
			"no sign of a routing fault (REBOOTSTRAP_REQUIRED, NOT_LEADER without elections, error 106)",
			"more evictions in some 120 s than there are replica fetchers",
		},
		Source:   "KIP-227; KAFKA-9401; measured: errors = evictions in six runs (159/159, 192/192, 130/130), in waves of 120 s",
		Explains: []Class{CacheNearLimit, CacheSaturated, DeadSessionTurnover},
		Provides: append(append(cacheFacts(), likelyFacts()...),
			FactSpec{Name: "errors", Unit: UnitCount, Meaning: "errors 70 in the window"},
			FactSpec{Name: "evictions", Unit: UnitCount, Meaning: "evictions in the window"},
			FactSpec{Name: "waves", Unit: UnitCount, Meaning: "120 s periods with evictions"},
			FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
			FactSpec{Name: "since_seconds", Unit: UnitSeconds, Meaning: "time since the first eviction seen"},
		),
		Judge: judgeCacheThrash,
	}
}

func judgeCacheThrash(f *facts) []Outcome { return f.eachBroker(judgeThrash) }

// live is what the window says about evictions of live sessions.
type live struct {
	errors, evictions []step
	ratio             float64
}

func judgeThrash(b *brokerFacts) Outcome {
	w, from := b.f.cacheWindow(), b.f.cacheFrom()
	e70, ev := b.counter(SignalErrors70), b.counter(SignalEvictions)
	x := live{errors: b.sustained(), evictions: ev.within(from, b.f.at())}
	c := b.cache()
	switch still := len(x.errors) == 0 && len(x.evictions) == 0; {
	case e70.noStep(from):
		return no("no session error in %s: live evictions give one each", b.seenFor(SignalErrors70))
	case ev.noStep(from):
		return no("0 evictions in %s", b.seenFor(SignalEvictions))
	case still && c.room(b.f.l):
		return no("the cache has room: at most %s of %s sessions", count(c.sessions), count(c.capacity))
	case !e70.known || !ev.known || len(x.evictions) == 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "evictions or session errors are not visible for " + span(w)}
	case len(x.errors) == 0 && e70.covers(from):
		return no("the session errors came with the return of leadership after a restart")
	}
	x.ratio = total(x.errors) / total(x.evictions)
	if x.ratio < b.f.l.LiveRatio {
		return no("%s and %s: the evicted sessions were not in use", plural(total(x.evictions), "eviction", "evictions"), plural(total(x.errors), "session error", "session errors"))
	}
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	if o, stop := b.notThrash(c, x); stop {
		return o
	}
	return thrashes(b, c, x)
}

// notThrash finds what excludes thrashing although live sessions are evicted.
func (b *brokerFacts) notThrash(c cache, x live) (Outcome, bool) {
	over, many := b.overrun()
	switch {
	case !c.full(b.f.l):
		return no("the cache has room: at most %s of %s sessions", count(c.sessions), count(c.capacity)), true
	case c.below(b.f.l.DemandShare):
		return no("at most %s need a session, far below the capacity of %s", plural(c.demand.high, "client", "clients"), count(c.capacity)), true
	case many:
		return no("%s within %s: more than consumers can cause (%s), so replica fetchers take part", plural(over.n, "eviction", "evictions"), span(over.at.Sub(over.from)), count(over.most)), true
	case b.followerVisits() != nil:
		return no("the evictions came in small steps with another broker's restart: its replica fetchers took the slots"), true
	case !c.above(b.f.l.DemandShare) && c.demand.high < 0:
		o := Outcome{Answer: Unknown, Blind: []Need{NeedDemand}, Because: "the number of clients that need a session is not known: a routing fault looks the same"}
		if c.demand.low >= 0 {
			o.Because = fmt.Sprintf("groups account for %s only, clients outside groups cannot be counted: a routing fault looks the same", plural(c.demand.low, "session", "sessions"))
		}
		return o, true
	default:
		return Outcome{}, false
	}
}

func thrashes(b *brokerFacts, c cache, x live) Outcome {
	waves := b.spread(x.evictions)
	o := Outcome{
		Answer: Yes, Provisional: waves < 2,
		Summary: fmt.Sprintf("Broker %d throws out fetch sessions that are in use: %s in %s, and about one FETCH_SESSION_ID_NOT_FOUND for each. More clients need a session than fit; each eviction costs a full fetch.",
			b.ID, plural(total(x.evictions), "eviction", "evictions"), span(b.f.cacheWindow())),
		Citations: append([]Citation{
			b.cite(SignalErrors70, fmt.Sprintf("%s in %s, none of them from a restart", plural(total(x.errors), "error", "errors"), span(b.f.cacheWindow()))),
			b.cite(SignalEvictions, fmt.Sprintf("%s in %s, in %s of %d s", plural(total(x.evictions), "eviction", "evictions"), span(b.f.cacheWindow()), plural(waves, "period", "periods"), b.f.l.WaveSeconds)),
		}, b.cacheCitations(c)...),
		Facts: append(b.cacheFactValues(c), factCount("errors", total(x.errors)), factCount("evictions", total(x.evictions)),
			factCount("waves", float64(waves)), factSeconds("window_seconds", b.f.cacheWindow()),
			factSeconds("since_seconds", b.f.at().Sub(x.evictions[0].at))),
	}
	if o.Provisional {
		o.Decides = fmt.Sprintf("a second wave of evictions, due within %d s", b.f.l.WaveSeconds)
		o.NextLookSeconds = max(15, int((x.evictions[0].at.Add(b.f.wave()+2*b.sc.every).Sub(b.f.at()))/time.Second))
	}
	b.likely(&o)
	weakenThrash(b, c, &o)
	return o
}

// weakenThrash names what keeps the verdict from being confirmed.
func weakenThrash(b *brokerFacts, c cache, o *Outcome) {
	if !c.above(b.f.l.DemandShare) {
		o.Missing = append(o.Missing, "the demand is bounded by connections only, not counted by topology")
		o.Blind = append(o.Blind, NeedDemand)
	}
	if unseen := b.unseen(routingSignals()...); len(unseen) > 0 {
		o.Missing = append(o.Missing, "signs of a routing fault are not visible: "+strings.Join(unseen, ", "))
	}
	if signs := b.routingSigns(); len(signs) > 0 {
		o.Alternatives = append(o.Alternatives, Alternative{Class: MisroutedSessions, Because: strings.Join(signs, "; ")})
	} else if !c.above(b.f.l.DemandShare) && !b.alone() {
		o.Alternatives = append(o.Alternatives, Alternative{Class: MisroutedSessions, Because: "other brokers have session errors as well, and a routing fault with a full cache looks the same"})
	}
	if len(o.Alternatives) > 0 && o.Decides == "" {
		o.Decides = "the number of clients that need a session here: far below the capacity means a routing fault"
	}
	if b.followersFew() {
		o.Alternatives = append(o.Alternatives, Alternative{Class: FollowerChurn, Because: "in no 120 s were there more evictions than replica fetchers: restarts of other brokers, if they are not visible, give as many"})
		if o.Decides == "" {
			o.Decides = "whether other brokers were restarted at the time of the evictions"
		}
	}
}

// followersFew says that replica fetchers can have caused all evictions by their
// number: no more than there are of them in any period.
func (b *brokerFacts) followersFew() bool {
	periods := b.periods(b.counter(SignalEvictions).within(b.f.cacheFrom(), b.f.at()))
	for _, n := range periods {
		if n > b.threads() {
			return false
		}
	}
	return len(periods) > 0
}

// alone says that no other broker has sustained session errors: a routing
// fault shows on several brokers at once.
func (b *brokerFacts) alone() bool {
	for _, other := range b.f.br {
		if other != b && len(other.sustained()) > 0 {
			return false
		}
	}
	return true
}
