package diagnose

import (
	"fmt"
	"time"
)

func leakingClientRule() Rule {
	return Rule{
		Class: LeakingClient,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"sessions climb through three 120 s periods, beyond the number of clients; or the cache is full and dead ones are evicted",
			"clients that stay connected open them: at least half of the sessions in some span are beyond its new connections, and more than clients can have waited for; or Sarama 1.26.0 or 1.26.1 is connected",
			"where neither is known: dead sessions are evicted as fast as they expire",
			"hardly an error 70: it is not a routing fault",
			"not in the 15 min after a restart, when everybody opens a session, unless more were opened without a connection than there are clients",
		},
		Corroboration: []string{
			"a library known to open a session with every fetch is connected",
			"new connections are counted",
		},
		Source:   "IBM/sarama#1644 (1.26.0 and 1.26.1 opened a session for each fetch); linkedin/Burrow#621; KIP-227; KIP-511 and IBM/sarama#2028 (Sarama gives its name since 1.30)",
		Explains: []Class{CacheNearLimit, CacheSaturated, DeadSessionTurnover},
		Provides: append(turnoverFacts(),
			FactSpec{Name: "opened", Unit: UnitCount, Meaning: "sessions that were opened and left in the window, at least"},
			FactSpec{Name: "suspect", Unit: UnitText, Meaning: "a connected client library that is known for it", Optional: true},
			FactSpec{Name: "suspect_connections", Unit: UnitCount, Meaning: "its connections here", Optional: true},
			FactSpec{Name: "likely_clients", Unit: UnitText, Meaning: "the connected libraries that may be behind it, likeliest first", Optional: true},
		),
		Judge: func(f *facts) []Outcome { return f.eachBroker(judgeLeak) },
	}
}

func judgeLeak(b *brokerFacts) Outcome {
	c := b.cache()
	t := b.turnover(c)
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	opened, why := b.left(c, t)
	if opened == 0 {
		return why
	}
	age, dated := b.age()
	s, leaky := b.leakySoftware()
	counted := t.connected >= 0
	switch {
	case total(b.sustained()) >= b.f.l.LiveRatio*opened:
		return no("%s beside them: sessions in use are lost", plural(total(b.sustained()), "session error", "session errors"))
	case !t.stayed && dated && age <= b.f.grace():
		return no("up for %s: everybody opens a session after a restart", span(age))
	case !leaky && counted && !t.stayed:
		return no("%s opened for %s: clients come and go", plural(t.connected, "connection was", "connections were"), plural(opened, "session", "sessions"))
	case !leaky && !counted:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "whether clients that stay connected open the sessions is not visible: new connections are not exported"}
	}
	return leaks(b, c, t, opened, s)
}

// left is how many sessions were opened and left behind; 0 with the reason.
func (b *brokerFacts) left(c cache, t turnover) (float64, Outcome) {
	if c.full(b.f.l) {
		if o, stop := b.deadEvictions(t); stop {
			return 0, o
		}
		if t.stayed {
			return t.unconnected, Outcome{}
		}
		if !t.ceiling {
			return 0, no("%s in %s: dead sessions make room as fast as it is needed", plural(total(t.evictions), "eviction", "evictions"), span(b.f.cacheWindow()))
		}
		return total(t.evictions), Outcome{}
	}
	grown, periods := b.climb()
	most := float64(c.demand.high)
	if c.demand.high < 0 {
		most = 1.5 * float64(c.demand.low)
	}
	switch {
	case periods < 3 || grown < 10:
		return 0, no("sessions do not climb: %s in the cache", plural(c.sessions, "session", "sessions"))
	case c.demand.low < 0 && c.demand.high < 0:
		return 0, Outcome{Answer: Unknown, Blind: []Need{NeedDemand}, Because: "sessions climb, and the number of clients that need one is not known"}
	case c.sessions <= most:
		return 0, no("%s for up to %s", plural(c.sessions, "session", "sessions"), plural(most, "client", "clients"))
	default:
		return grown, Outcome{}
	}
}

// climb is by how much the sessions rose over the window, and in how many of
// its 120 s periods they did.
func (b *brokerFacts) climb() (grown float64, periods int) {
	seen := map[int]bool{}
	var prev Sample
	for _, s := range b.gauge(SignalSessions) {
		if s.T.Before(b.f.cacheFrom()) {
			continue
		}
		if !prev.T.IsZero() && s.V > prev.V {
			seen[int(s.T.Sub(b.f.cacheFrom())/b.f.wave())] = true
		}
		prev = s
	}
	return b.grownSessions(), len(seen)
}

func leaks(b *brokerFacts, c cache, t turnover, opened float64, s Software) Outcome {
	w := b.f.cacheWindow()
	o := Outcome{
		Answer: Yes, Citations: b.deadCitations(c, t),
		Summary: fmt.Sprintf("A client opens one fetch session after the other on broker %d and leaves them: at least %s in %s for which there was no new connection. Its dead sessions hold the slots, so that other clients get none.",
			b.ID, plural(opened, "session", "sessions"), span(w)),
		Facts: append(b.turnoverValues(c, t), factCount("opened", opened)),
	}
	if !c.full(b.f.l) {
		o.Summary = fmt.Sprintf("A client opens one fetch session after the other on broker %d and leaves them: %s more in %s. At this rate the cache of %s is full in %s; then other clients get none.",
			b.ID, plural(opened, "session", "sessions"), span(w), count(c.capacity), span(time.Duration((c.capacity-c.sessions)/opened*float64(w))))
	}
	if s.Name == "" {
		o.Missing = append(o.Missing, "a library known for it")
		o.Decides = "which client opens one session after the other (session id 0, epoch 0) in the broker's request log"
	}
	b.likelyLeak(s, &o)
	if s.Name != "" {
		o.Facts = append(o.Facts, factText("suspect", s.label()), factCount("suspect_connections", float64(s.Connections)))
		o.Citations = append(o.Citations, cite(b.path("software"), fmt.Sprintf("%s: %s", s.label(), plural(s.Connections, "connection", "connections")), b.SoftwareReading))
	}
	if t.connected < 0 {
		o.Missing = append(o.Missing, "new connections are not exported")
	}
	b.someLive(t, &o)
	return o
}
