package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func followerChurnRule() Rule {
	return Rule{
		Class: FollowerChurn,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"more evictions within 120 s than consumers can cause: they evict only sessions that were there 120 s before",
			"or all evictions came with another broker's restart: of sessions in use, not more than there are replica fetchers, within 120 s of its stop or start; of its old sessions, as many again, within 240 s of the start",
			"in the second case at least one session in use was evicted: an error 70 with it",
		},
		Corroboration: []string{
			"another broker was restarted, or partitions of this one were under-replicated, in the window",
		},
		Source:   "KIP-227: a follower's session beats a consumer's of any age, a consumer's only one that was created or unused for more than 120 s; measured: +3 to +8 evictions and errors 70 at each restart of a follower, by the number of fetcher threads",
		Explains: []Class{CacheThrash, CacheSaturated, CacheNearLimit, DeadSessionTurnover, LeakingClient},
		Provides: append(cacheFacts(),
			FactSpec{Name: "errors", Unit: UnitCount, Meaning: "errors 70 in the window, without those of a restart"},
			FactSpec{Name: "evictions", Unit: UnitCount, Meaning: "evictions in the window"},
			FactSpec{Name: "most_by_consumers", Unit: UnitCount, Meaning: "the most evictions that consumers can cause in the busiest span, when there were more", Optional: true},
			FactSpec{Name: "busiest_evictions", Unit: UnitCount, Meaning: "evictions in that span", Optional: true},
			FactSpec{Name: "busiest_seconds", Unit: UnitSeconds, Meaning: "the length of that span", Optional: true},
			FactSpec{Name: "once", Unit: UnitText, Meaning: "yes for one restart of a follower, no when it goes on"},
			FactSpec{Name: "restarts", Unit: UnitCount, Meaning: "restarts of other brokers that the evictions came with"},
			FactSpec{Name: "losses", Unit: UnitCount, Meaning: "how often this broker's partitions lost a follower (under-replicated), where all evictions came with that and no restart is seen", Optional: true},
			FactSpec{Name: "follower", Unit: UnitText, Meaning: "the broker that was restarted", Optional: true},
			FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
		),
		Judge: func(f *facts) []Outcome { return f.eachBroker(judgeFollowers) },
	}
}

// churn is what points to replica fetchers: evictions that consumers cannot have
// caused, or restarts of other brokers that account for all of them.
type churn struct {
	evictions []step
	over      overrun
	proven    bool
	visits    []visit
}

func judgeFollowers(b *brokerFacts) Outcome {
	w, from := b.f.cacheWindow(), b.f.cacheFrom()
	ev := b.counter(SignalEvictions)
	x := churn{evictions: ev.within(from, b.f.at())}
	switch {
	case ev.noStep(from):
		return no("0 evictions in %s", b.seenFor(SignalEvictions))
	case !ev.known || len(x.evictions) == 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "evictions are not visible for " + span(w)}
	}
	c := b.cache()
	if o, stop := b.unknownSize(c); stop {
		return o
	}
	x.over, x.proven = b.overrun()
	x.visits = b.followerVisits()
	switch n := plural(total(x.evictions), "eviction", "evictions"); {
	case x.proven || x.visits != nil:
		return churns(b, c, x)
	case !b.counter(SignalErrors70).known:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "session errors are not visible for " + span(w)}
	case len(b.sustained()) == 0:
		return no("%s and no session error: the evicted sessions were not in use", n)
	default:
		return no("%s in %s: not more than consumers can cause in any 120 s, and not just with another broker's restart", n, span(w))
	}
}

func churns(b *brokerFacts, c cache, x churn) Outcome {
	w, n, e := b.f.cacheWindow(), total(x.evictions), total(b.sustained())
	once := len(x.visits) == 1
	o := Outcome{
		Answer: Yes, Summary: b.churnWords(x),
		Citations: append([]Citation{
			b.cite(SignalEvictions, b.evictionWords(x)),
			b.cite(SignalErrors70, plural(e, "session error", "session errors")+" in "+span(w)),
		}, b.cacheCitations(c)...),
		Facts: append(b.cacheFactValues(c), factCount("errors", e), factCount("evictions", n),
			factYes("once", once), factCount("restarts", float64(len(x.visits))), factSeconds("window_seconds", w)),
	}
	if x.proven {
		o.Facts = append(o.Facts, factCount("most_by_consumers", x.over.most), factCount("busiest_evictions", x.over.n), factSeconds("busiest_seconds", x.over.at.Sub(x.over.from).Round(time.Second)))
	}
	if n := len(b.losses()); n > 0 && len(x.visits) == 0 {
		o.Facts = append(o.Facts, factCount("losses", float64(n)))
	}
	b.citeFollowers(&o, x)
	if x.proven || !once {
		return o
	}
	if left := x.evictions[0].at.Add(b.f.wave() + 2*b.sc.every).Sub(b.f.at()); left > 0 {
		o.Provisional = true
		o.Decides = fmt.Sprintf("no further eviction of a session in use for %d s: then it was one step", b.f.l.WaveSeconds)
		o.NextLookSeconds = max(15, int(left/time.Second))
	}
	return o
}

// churnWords says what the fetchers did, and whether it is over.
func (b *brokerFacts) churnWords(x churn) string {
	slots := plural(total(x.evictions), "slot", "slots")
	switch {
	case len(x.visits) == 1:
		return fmt.Sprintf("Broker %d was restarted, and replica fetchers that opened new sessions took slots from consumers on broker %d: %s changed hands. Each consumer that lost one got one FETCH_SESSION_ID_NOT_FOUND and carried on.", x.visits[0].peer.ID, b.ID, slots)
	case len(x.visits) > 1:
		return fmt.Sprintf("Other brokers were restarted %d times (%s), and each time replica fetchers that opened new sessions took slots from consumers on broker %d: %s changed hands.", len(x.visits), peers(x.visits), b.ID, slots)
	default:
		return fmt.Sprintf("Replica fetchers take session slots from consumers on broker %d: %s.%s This is a replication fault; look there first.", b.ID, b.evictionWords(x), b.lossWords())
	}
}

// lossWords says how often a follower went, where evictions came with that.
func (b *brokerFacts) lossWords() string {
	switch n := len(b.losses()); n {
	case 0:
		return ""
	case 1:
		return " Its partitions lost a follower then: a broker stopped, or was cut off."
	default:
		return fmt.Sprintf(" Its partitions lost a follower %s times then: a broker comes and goes.", count(n))
	}
}

// peers lists the brokers that came back.
func peers(visits []visit) string {
	var out []string
	for _, v := range visits {
		if name := v.peer.subject(); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

func (b *brokerFacts) evictionWords(x churn) string {
	n := plural(total(x.evictions), "eviction", "evictions")
	if !x.proven {
		return n + " in " + span(b.f.cacheWindow())
	}
	return fmt.Sprintf("%s, of them %s within %s, where consumers alone can cause %s", n, count(x.over.n), span(x.over.at.Sub(x.over.from)), count(x.over.most))
}

// citeFollowers adds what is known of the followers.
func (b *brokerFacts) citeFollowers(o *Outcome, x churn) {
	back, seen := b.restartedPeer(x.evictions[0].at.Add(-b.f.grace()))
	if len(x.visits) > 0 {
		back, seen = x.visits[len(x.visits)-1].peer, true
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
}

// restartedPeer is the other broker that started last, if that was after a
// moment, and not together with this one.
func (b *brokerFacts) restartedPeer(after time.Time) (*brokerFacts, bool) {
	up := b.start
	if (up.IsZero() || b.estimated) && len(b.sc.times) > 0 {
		up = b.sc.times[0]
	}
	after = latest(after, up.Add(startedTogether))
	best := b
	for _, other := range b.f.br {
		if other != b && other.start.After(after) && (best == b || other.start.After(best.start)) {
			best = other
		}
	}
	return best, best != b
}
