package diagnose

import (
	"fmt"
	"time"
)

func epochMismatchRule() Rule {
	return Rule{
		Class: EpochMismatch,
		Needs: []Need{NeedBrokerMetrics},
		Conditions: []string{
			"errors 71 in at least 80 % of the 5 min periods that can be seen, of two or more; before that, in three scrapes over a minute or more, and in the last 120 s",
			"more than 1 error 71 in 10 min, and at least 1 in 100,000 consumer fetches: below that it is noise",
			"provisional until three periods were seen, or while the broker is young: versions mix in an upgrade",
		},
		Corroboration: []string{
			"the number of consumer fetches is exported",
			"no error 106, which mixes with 71 while versions change",
		},
		Source: "KIP-227; KAFKA-8052; measured: one error 71 for each duplicated request, with evictions, errors 70 and sessions unmoved",
		Provides: []FactSpec{
			{Name: "errors", Unit: UnitCount, Meaning: "errors 71 in the window"},
			{Name: "per_minute", Unit: UnitCount, Meaning: "errors 71 a minute, at least 1"},
			{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
			{Name: "suspect", Unit: UnitText, Meaning: "the client library that is not the Apache Kafka one, when there is one", Optional: true},
			{Name: "suspect_connections", Unit: UnitCount, Meaning: "its connections here", Optional: true},
		},
		Judge: func(f *facts) []Outcome { return f.eachBroker(judgeEpochs) },
	}
}

const (
	// epochPeriod and epochShare make errors 71 sustained: a transport fault or
	// a rolling upgrade gives one period of them.
	epochPeriod = 5 * time.Minute
	epochShare  = 0.8
	// epochRecurs is the time over which errors 71 must come, in three scrapes or
	// more, to be named before two periods were seen.
	epochRecurs = time.Minute
	// epochFloor is the share of consumer fetches under which errors 71 are
	// noise.
	epochFloor = 1e-5
)

func judgeEpochs(b *brokerFacts) Outcome {
	e := b.counter(SignalErrors71)
	from, to := b.f.cacheFrom(), b.f.at()
	n := e.increase(from, to)
	switch {
	case !e.known:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "epoch errors are not visible"}
	case e.noStep(from):
		return no("no epoch error (71) in %s", b.seenFor(SignalErrors71))
	case n <= epochNoise && e.covers(from):
		return no("%s in %s: noise", plural(n, "epoch error", "epoch errors"), span(b.f.cacheWindow()))
	}
	fetches := b.counter(SignalFetchRequests)
	if all := fetches.increase(from, to); fetches.known && all > 0 && n < epochFloor*all {
		return no("%s in %s consumer fetches: noise", plural(n, "epoch error", "epoch errors"), count(all))
	}
	hit, seen := b.epochPeriods()
	sustained := seen >= 2 && float64(hit) >= epochShare*float64(seen)
	switch {
	case !sustained && b.epochsRecur():
		return epochsOff(b, n, 1)
	case seen < 2:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "too little was seen to say whether epoch errors go on"}
	case !sustained && !b.epochsNow():
		return no("epoch errors in %d of %d periods of 5 min, none in the last: they do not go on", hit, seen)
	case !sustained:
		return Outcome{Answer: Unknown, Because: fmt.Sprintf("epoch errors in %d of %d periods of 5 min: whether they go on is not known yet", hit, seen)}
	}
	return epochsOff(b, n, seen)
}

// epochPeriods counts the 5 min periods back from now that can be seen of the
// present process, and those with errors 71.
func (b *brokerFacts) epochPeriods() (hit, seen int) {
	e := b.counter(SignalErrors71)
	since := latest(e.since, b.start)
	for to := b.f.at(); ; to = to.Add(-epochPeriod) {
		from := to.Add(-epochPeriod)
		if from.Before(since.Add(-b.sc.every)) || seen == 6 {
			return hit, seen
		}
		seen++
		if len(e.within(from, to)) > 0 {
			hit++
		}
	}
}

// epochsRecur says that errors 71 came again and again over the last minutes: a
// connection that was cut, or a broker that was upgraded, gives them at once.
func (b *brokerFacts) epochsRecur() bool {
	steps := b.counter(SignalErrors71).within(b.f.at().Add(-epochPeriod), b.f.at())
	n := len(steps)
	return n >= 3 && steps[n-1].at.Sub(steps[0].from) >= epochRecurs && b.f.at().Sub(steps[n-1].at) <= b.f.wave()
}

// epochsNow says that there were errors 71 in the last period.
func (b *brokerFacts) epochsNow() bool {
	return len(b.counter(SignalErrors71).within(b.f.at().Add(-epochPeriod), b.f.at())) > 0
}

func epochsOff(b *brokerFacts, n float64, seen int) Outcome {
	w, how := b.f.cacheWindow(), "in each of the last periods of 5 min"
	if seen < 2 {
		how = "again and again in the last minutes"
	}
	o := Outcome{
		Answer: Yes, Provisional: seen < 3 || b.young(),
		Summary: fmt.Sprintf("A client uses its fetch session on broker %d out of step, again and again: %s in %s. Each costs one full fetch; no record is lost. The cache is not the cause: more slots change nothing.",
			b.ID, plural(n, "INVALID_FETCH_SESSION_EPOCH", "INVALID_FETCH_SESSION_EPOCH"), span(w)),
		Citations: []Citation{b.cite(SignalErrors71, fmt.Sprintf("%s in %s, %s", plural(n, "epoch error", "epoch errors"), span(w), how))},
		Facts: []Fact{
			factCount("errors", n), factCount("per_minute", max(1, float64(int(n/w.Minutes()+0.5)))), factSeconds("window_seconds", w),
		},
	}
	if o.Provisional {
		o.Decides = "whether the errors go on for another 10 min"
		o.NextLookSeconds = int(epochPeriod / time.Second)
	}
	if _, dated := b.age(); !dated {
		o.Missing = append(o.Missing, "the broker's start time is not visible")
	}
	if fetches := b.counter(SignalFetchRequests); fetches.known {
		o.Citations = append(o.Citations, b.cite(SignalFetchRequests, plural(fetches.increase(b.f.cacheFrom(), b.f.at()), "consumer fetch", "consumer fetches")+" in "+span(w)))
	} else {
		o.Missing = append(o.Missing, "the number of consumer fetches is not visible")
	}
	if n := b.counter(SignalErrors106).increase(b.f.cacheFrom(), b.f.at()); n > 0 {
		o.Missing = append(o.Missing, plural(n, "topic id error", "topic id errors")+" (106) beside them: versions may be changing")
	}
	if s, ok := b.strangeSoftware(); ok {
		o.Facts = append(o.Facts, factText("suspect", s.label()), factCount("suspect_connections", float64(s.Connections)))
		o.Citations = append(o.Citations, cite(b.path("software"), fmt.Sprintf("%s: %s", s.label(), plural(s.Connections, "connection", "connections")), b.SoftwareReading))
	}
	return o
}

// young says that the broker was restarted within the grace of a restart.
func (b *brokerFacts) young() bool {
	age, ok := b.age()
	return ok && age <= b.f.grace()
}

// strangeSoftware is the library with most connections that uses fetch sessions
// and is neither the Apache Kafka client, which was mended in 2.3 (KAFKA-8052),
// nor the bot.
func (b *brokerFacts) strangeSoftware() (Software, bool) {
	var best Software
	if !b.SoftwareReading.Usable() {
		return best, false
	}
	for _, s := range b.Software {
		if s.Name != javaSoftware && s.Name != BotSoftware && !s.Sessionless() && s.Connections > best.Connections {
			best = s
		}
	}
	return best, best.Connections > 0
}
