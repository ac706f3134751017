package diagnose

import (
	"fmt"
	"time"
)

func followerChurnRule() Rule {
	return Rule{
		Class: FollowerChurn,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"errors 70 ÷ evictions ≥ 0.5: live sessions are evicted",
			"more evictions than consumers can cause: capacity × (⌊window/120⌋ + 1)",
			"or one step of evictions, not more than the replica fetchers, within 120 s of another broker's start",
		},
		Corroboration: []string{
			"another broker was restarted, or partitions of this one were under-replicated, in the window",
		},
		Source:   "KIP-227: a follower's session beats a consumer's of any age; measured: +4 and +3 evictions and errors 70 at each restart of a follower, the number of its fetcher threads",
		Explains: []Class{CacheThrash, CacheSaturated, CacheNearLimit, DeadSessionTurnover, LeakingClient},
		Provides: append(cacheFacts(),
			FactSpec{Name: "errors", Unit: UnitCount, Meaning: "errors 70 in the window"},
			FactSpec{Name: "evictions", Unit: UnitCount, Meaning: "evictions in the window"},
			FactSpec{Name: "most_by_consumers", Unit: UnitCount, Meaning: "the most evictions that consumers can cause in the window"},
			FactSpec{Name: "once", Unit: UnitText, Meaning: "yes for one step with a follower's restart, no when it goes on"},
			FactSpec{Name: "follower", Unit: UnitText, Meaning: "the broker that was restarted", Optional: true},
			FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
		),
		Judge: func(f *facts) []Outcome { return f.eachBroker(judgeFollowers) },
	}
}

func judgeFollowers(b *brokerFacts) Outcome {
	w, from := b.f.cacheWindow(), b.f.cacheFrom()
	e70, ev := b.counter(SignalErrors70), b.counter(SignalEvictions)
	x := live{errors: b.sustained(), evictions: ev.within(from, b.f.at())}
	c := b.cache()
	switch {
	case ev.noStep(from):
		return no("0 evictions in %s", span(w))
	case !ev.known || !e70.known || len(x.evictions) == 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "evictions or session errors are not visible for " + span(w)}
	}
	if x.ratio = total(x.errors) / total(x.evictions); x.ratio < b.f.l.LiveRatio {
		return no("%s and %s: the evicted sessions were not in use", plural(total(x.evictions), "eviction", "evictions"), plural(total(x.errors), "session error", "session errors"))
	}
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	most, step := b.mostEvictions(), b.followerStep(x)
	if total(x.evictions) <= most && !step {
		return no("%s in %s: not more than consumers can cause (%s), and no step with another broker's restart", plural(total(x.evictions), "eviction", "evictions"), span(w), count(most))
	}
	return churns(b, c, x, step)
}

func churns(b *brokerFacts, c cache, x live, once bool) Outcome {
	w, n := b.f.cacheWindow(), total(x.evictions)
	o := Outcome{
		Answer: Yes,
		Citations: append([]Citation{
			b.cite(SignalEvictions, fmt.Sprintf("%s in %s; consumers alone can cause %s", plural(n, "eviction", "evictions"), span(w), count(b.mostEvictions()))),
			b.cite(SignalErrors70, plural(total(x.errors), "session error", "session errors")+" in "+span(w)),
		}, b.cacheCitations(c)...),
		Facts: append(b.cacheFactValues(c), factCount("errors", total(x.errors)), factCount("evictions", n),
			factCount("most_by_consumers", b.mostEvictions()), factYes("once", once), factSeconds("window_seconds", w)),
	}
	back, seen := b.restartedPeer(x.evictions[0].at.Add(-b.f.grace()))
	switch {
	case once:
		o.Summary = fmt.Sprintf("Replica fetchers of broker %d came back after its restart and took %s from consumers on broker %d, each with one FETCH_SESSION_ID_NOT_FOUND. It happened once and is over.", back.ID, plural(n, "slot", "slots"), b.ID)
	default:
		o.Summary = fmt.Sprintf("Replica fetchers take session slots from consumers on broker %d again and again: %s in %s, more than consumers can cause. This is a replication fault; look there first.", b.ID, plural(n, "eviction", "evictions"), span(w))
	}
	if seen {
		o.Facts = append(o.Facts, factText("follower", back.subject()))
		o.Citations = append(o.Citations, back.cite(SignalProcessStart, back.subject()+" started "+clock(back.start)))
	}
	if urp, known := b.peak(SignalUnderReplicated, b.f.cacheFrom()); known && urp > 0 {
		o.Citations = append(o.Citations, b.cite(SignalUnderReplicated, "up to "+plural(urp, "under-replicated partition", "under-replicated partitions")))
	} else if !seen {
		o.Missing = append(o.Missing, "a restart of another broker, or under-replicated partitions here")
		o.Decides = "the replica fetchers' log on the other brokers: disconnects, restarts of fetcher threads"
	}
	if !once {
		return o
	}
	if left := x.evictions[0].at.Add(b.f.wave() + 2*b.sc.every).Sub(b.f.at()); left > 0 {
		o.Provisional = true
		o.Decides = fmt.Sprintf("no further eviction for %d s: then it was one step", b.f.l.WaveSeconds)
		o.NextLookSeconds = max(15, int(left/time.Second))
	}
	return o
}

// restartedPeer is the other broker that started last, if that was after a
// moment.
func (b *brokerFacts) restartedPeer(after time.Time) (*brokerFacts, bool) {
	best := b
	for _, other := range b.f.br {
		if other != b && other.start.After(after) && (best == b || other.start.After(best.start)) {
			best = other
		}
	}
	return best, best != b
}
