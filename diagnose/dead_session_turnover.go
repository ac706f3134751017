package diagnose

import "fmt"

func deadSessionTurnoverRule() Rule {
	return Rule{
		Class: DeadSessionTurnover,
		Needs: []Need{NeedBrokerMetrics, NeedSlots, NeedDemand},
		Conditions: []string{
			"evictions in the window, and errors 70 ÷ evictions < 0.1: nobody used the evicted sessions; from there to 0.5 a part of them was in use, and thrashing is named as well",
			"sessions ≥ 95 % of the capacity",
			"demand < 80 % of the capacity",
			"no library that opens a session with every fetch is connected, and the sessions came with new connections, as far as those are counted",
		},
		Corroboration: []string{
			"demand bounded from above by connections",
			"evictions below the ceiling of capacity − demand in 120 s: newcomers get their slot",
		},
		Source:   "KIP-227: dead sessions stay until a slot is needed; measured: 64 evictions, 0 errors, in waves of capacity − live sessions",
		Explains: []Class{CacheNearLimit},
		Provides: turnoverFacts(),
		Judge:    func(f *facts) []Outcome { return f.eachBroker(judgeTurnover) },
	}
}

func judgeTurnover(b *brokerFacts) Outcome {
	c := b.cache()
	t := b.turnover(c)
	if o, stop := b.deadEvictions(t); stop {
		return o
	}
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	s, leaky := b.leakySoftware()
	counted := t.connected >= 0
	switch {
	case !c.full(b.f.l):
		return no("the cache has room: at most %s of %s sessions", count(c.sessions), count(c.capacity))
	case float64(c.demand.low) >= b.f.l.NearShare*c.capacity:
		return no("%s: too many for a cache of %s to be full of dead sessions", b.demandWords(), count(c.capacity))
	case leaky:
		return no("%s is connected, which opens a session with every fetch", s.label())
	case t.stayed:
		return no("%s opened without a new connection: clients that stay connected opened them", plural(t.unconnected, "session was", "sessions were"))
	default:
		return turnsOver(b, c, t, counted)
	}
}

// noticed says who notices that dead sessions make room: each error is a session
// in use that went with them.
func noticed(t turnover) string {
	switch n := total(t.errors); n {
	case 0:
		return "Clients notice nothing."
	case 1:
		return "One in use went too: its client got an error, opened a new session and carried on."
	default:
		return fmt.Sprintf("%s in use went too: each of their clients got an error, opened a new session and carried on.", count(n))
	}
}

func turnsOver(b *brokerFacts, c cache, t turnover, counted bool) Outcome {
	o := Outcome{
		Answer: Yes, Citations: b.deadCitations(c, t), Facts: b.turnoverValues(c, t),
		Summary: fmt.Sprintf("The fetch session cache of broker %d is full of sessions nobody uses any more, and they make room when a slot is needed: %s in %s, %s. %s",
			b.ID, plural(total(t.evictions), "eviction", "evictions"), span(b.f.cacheWindow()), plural(total(t.errors), "session error", "session errors"), noticed(t)),
	}
	if t.ceiling {
		few, loses := "hardly a session error", "Nobody loses"
		if total(t.errors) >= deadRatio*total(t.evictions) {
			few, loses = plural(total(t.errors), "session error", "session errors"), "Few lose"
		}
		o.Summary = fmt.Sprintf("Short-lived clients leave dead fetch sessions on broker %d faster than they expire: %s in %s, and %s. %s a session in use, but newcomers get none and fetch in full.",
			b.ID, plural(total(t.evictions), "eviction", "evictions"), span(b.f.cacheWindow()), few, loses)
	}
	switch {
	case c.demand.low < 0:
		o.Missing = append(o.Missing, "the number of clients that need a session is not known")
		o.Blind = append(o.Blind, NeedDemand)
	case c.demand.high < 0:
		o.Missing = append(o.Missing, "clients outside groups are not counted: connections are not exported")
	case !c.below(b.f.l.NearShare):
		o.Missing = append(o.Missing, fmt.Sprintf("a bound on clients outside groups: there are %s", plural(c.demand.high, "connection", "connections")))
	}
	if !counted {
		o.Missing = append(o.Missing, "new connections are not exported")
	}
	if t.mostly || t.ceiling && !counted {
		o.Alternatives = append(o.Alternatives, Alternative{LeakingClient, becauseLeak})
		o.Decides = "new connections on this broker: about one for each evicted session means short-lived clients, hardly any means a client that leaks"
	}
	b.someLive(t, &o)
	return o
}
