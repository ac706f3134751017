package diagnose

import "fmt"

func sessionsDisabledRule() Rule {
	return Rule{
		Class: SessionsDisabled,
		Needs: []Need{NeedSlots},
		Conditions: []string{
			"max.incremental.fetch.session.cache.slots is 0, or below 8 on Kafka 3.8 and newer, whose 8 shards hold ⌊slots/8⌋ sessions each",
			"the cache holds no session",
		},
		Corroboration: []string{
			"the number of sessions is exported and stays 0",
			"the version tells whether the cache is sharded",
		},
		Source: "KIP-227; KAFKA-9401; measured: 7 slots gave 0 sessions on 3.9.2 and 4.4.0, and 5 of 5 on 3.7.2",
		Provides: []FactSpec{
			{Name: "slots", Unit: UnitCount, Meaning: "configured session slots"},
			{Name: "fetches_per_second", Unit: UnitCount, Meaning: "consumer fetches a second, every one of them full", Optional: true},
			{Name: "demand_consumers", Unit: UnitCount, Meaning: "consumers in groups that would use a session here", Optional: true},
			{Name: "demand_followers", Unit: UnitCount, Meaning: "replica fetchers that would use a session here", Optional: true},
		},
		Judge: judgeSessionsDisabled,
	}
}

// judgeSessionsDisabled needs no metrics: the setting alone decides, and what
// the metrics show can only contradict or confirm it.
func judgeSessionsDisabled(f *facts) []Outcome {
	var out []Outcome
	for _, b := range f.brokers() {
		o := judgeDisabled(b)
		o.Subject = b.subject()
		out = append(out, o)
	}
	return out
}

func judgeDisabled(b *brokerFacts) Outcome {
	if b.f.foreign() {
		o, _ := b.unreadable()
		return o
	}
	n, seen := b.peak(SignalSessions, b.f.cacheFrom())
	switch {
	case seen && n > 0:
		return no("the cache holds %s", plural(n, "session", "sessions"))
	case b.slots < 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedSlots}, Because: "the number of session slots is not known"}
	case b.slots >= shards || b.capacity > 0:
		return no("%s, enough for sessions", plural(b.slots, "slot", "slots"))
	case b.capacity < 0 && !seen:
		return Outcome{Answer: Unknown, Blind: []Need{NeedAdmin}, Because: "whether the cache is sharded (Kafka 3.8 and newer) is not known, so neither is its capacity"}
	default:
		return disabled(b, seen)
	}
}

func disabled(b *brokerFacts, seen bool) Outcome {
	o := Outcome{
		Answer:    Yes,
		Summary:   fmt.Sprintf("Broker %d keeps no fetch sessions: %s. Every fetch names all its partitions. Nothing is lost; it costs requests and CPU for as long as the setting stays.", b.ID, b.disabledWords()),
		Citations: []Citation{cite(b.path("slots"), "max.incremental.fetch.session.cache.slots = "+b.Slots.Value, b.Slots.Reading)},
		Facts:     []Fact{factCount("slots", float64(b.slots))},
	}
	if seen {
		o.Citations = append(o.Citations, b.cite(SignalSessions, "0 sessions in the cache for "+span(b.f.cacheWindow())))
	} else {
		o.Missing = append(o.Missing, "the number of sessions is not visible")
		o.Blind = append(o.Blind, NeedBrokerMetrics)
	}
	if b.capacity < 0 {
		o.Missing = append(o.Missing, "whether the cache is sharded (Kafka 3.8 and newer) is not known")
		o.Blind = append(o.Blind, NeedAdmin)
	}
	if r, ok := b.perSecond(SignalFetchRequests); ok {
		o.Facts = append(o.Facts, factCount("fetches_per_second", r))
	}
	if b.demand().low >= 0 {
		o.Facts = append(o.Facts, factCount("demand_consumers", float64(b.Demand.Consumers)), factCount("demand_followers", float64(b.Demand.Followers)))
	}
	return o
}

func (b *brokerFacts) disabledWords() string {
	if b.slots == 0 {
		return "0 slots are configured"
	}
	return fmt.Sprintf("%s over %d shards leave none for each", plural(b.slots, "slot", "slots"), shards)
}

// perSecond is a counter's rate over the cache window, rounded to a whole
// number; ok is false where it is not visible.
func (b *brokerFacts) perSecond(s Signal) (float64, bool) {
	c := b.counter(s)
	from := b.f.cacheFrom()
	if c.since.After(from) {
		from = c.since
	}
	seconds := c.last.Sub(from).Seconds()
	if !c.known || seconds <= 0 {
		return 0, false
	}
	return float64(int(c.increase(from, b.f.at())/seconds + 0.5)), true
}
