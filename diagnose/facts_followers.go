package diagnose

import (
	"math"
	"slices"
	"time"
)

// overrun is a span with more evictions than consumers can cause.
//
// Whoever wants a slot may evict a session that was unused for 120 s; a consumer
// may otherwise only evict one that was created more than 120 s ago (KIP-227,
// FetchSessionCacheShard). So each session that consumers evict in a span of
// 120 s was in the cache all through the time from 120 s before the end of the
// span to its begin, and they cannot evict more than were there then. A replica
// fetcher evicts consumers of any age.
type overrun struct {
	// n evictions came after from and not later than at; consumers can have
	// caused most of them.
	n, most  float64
	from, at time.Time
}

const (
	// stopping is how long before its last scrape a broker hands its leaders over: a
	// controlled shutdown does that first.
	stopping = 30 * time.Second
	// startedTogether: a broker that started before this one, or so soon after it,
	// found its cache empty and evicted nobody.
	startedTogether = 10 * time.Second
	// scrapeJitter is by how much the time of a sample may be ahead of its
	// values: an exporter reads them after it was asked.
	scrapeJitter = 5 * time.Second
	// overrunShare is what the number of sessions and that of the evictions may
	// differ by, since they are not read in the same instant.
	overrunShare = 0.05
)

// overrun finds the span of the window in which evictions exceed most what
// consumers can cause; ok is false when they never do.
func (b *brokerFacts) overrun() (worst overrun, ok bool) {
	steps := b.counter(SignalEvictions).within(b.f.cacheFrom(), b.f.at())
	if b.capacity <= 0 {
		return worst, false
	}
	sessions := b.gauge(SignalSessions)
	sum, first := 0.0, 0
	for i, s := range steps {
		sum += s.n
		for first < i && s.at.Sub(steps[first].from) > b.f.wave()-scrapeJitter {
			sum -= steps[first].n
			first++
		}
		if s.at.Sub(steps[first].from) > b.f.wave()-scrapeJitter {
			continue // a gap between scrapes: its evictions cannot be dated
		}
		x := overrun{n: sum, most: b.oldSessions(sessions, steps[first].from, s.at), from: steps[first].from, at: s.at}
		if x.n > x.most+max(1, overrunShare*x.most) && x.n-x.most > worst.n-worst.most {
			worst, ok = x, true
		}
	}
	return worst, ok
}

// oldSessions is the most sessions that consumers can evict in (from, at]: those
// that were there from 120 s before its end to its begin.
func (b *brokerFacts) oldSessions(sessions chain, from, at time.Time) float64 {
	since := at.Add(-b.f.wave())
	if !b.estimated && b.sc.startBy(at).After(since) {
		return 0 // the cache is younger than that
	}
	most := float64(b.capacity)
	i, _ := slices.BinarySearchFunc(sessions, since, func(s Sample, t time.Time) int { return s.T.Compare(t) })
	for ; i < len(sessions) && !sessions[i].T.After(from); i++ {
		most = min(most, sessions[i].V)
	}
	return most
}

// visit is a restart of another broker, with which replica fetchers open new
// sessions here.
type visit struct {
	peer *brokerFacts
	// start is the peer's process start, down the last scrape before it: from
	// then on nobody used the sessions that its fetchers had here.
	start, down time.Time
	// live and dead are how many slots its fetchers can have taken from sessions
	// in use, and how many of their old ones others can have taken since.
	live, dead float64
	// with says that evictions came with it.
	with bool
}

// followerVisits are the returns of other brokers that account for all evictions
// of the window, none when some are left. A restart evicts up to as many consumers
// as there are replica fetchers (measured: +4 and +3 at each start, on 3.9.2 up to
// 4 more at a stop, one error each). The old sessions hold slots until they were unused for 120 s; then
// refused consumers take them, and no error tells of it.
func (b *brokerFacts) followerVisits() []visit {
	steps := b.counter(SignalEvictions).within(b.f.cacheFrom(), b.f.at())
	all := b.returns()
	live := b.liveEvictions()
	for _, s := range steps {
		n := live[s.at]
		if n > 0 && !b.accounts(all, s, n, true) || s.n > n && !b.accounts(all, s, s.n-n, false) {
			return nil
		}
	}
	out := slices.DeleteFunc(all, func(v visit) bool { return !v.with })
	if len(out) == 0 || len(live) == 0 {
		return nil
	}
	return out
}

// during says that evictions of a step can come with a restart. When a broker
// stops, others follow its partitions from this one and open sessions; when it
// starts, it does. Its old sessions are free 120 s after its stop.
func (b *brokerFacts) during(s step, v visit, live bool) bool {
	near := func(from, to time.Time) bool { return !s.at.Before(from) && !s.from.After(to.Add(b.sc.every)) }
	if live {
		return near(v.down.Add(-stopping), v.down.Add(b.f.wave())) || near(v.start, v.start.Add(b.f.wave()))
	}
	return near(v.down.Add(-stopping), v.start.Add(2*b.f.wave()))
}

// threads bounds the replica fetchers that open a session here at a restart: those
// that fetch here by topology, or four where it was not read (num.replica.fetchers
// is 1 by default, and 4 in the lab).
func (b *brokerFacts) threads() float64 { return float64(max(4, b.Demand.Followers)) }

// returns are the starts of other brokers that can have to do with evictions of
// the window, in the order of time.
func (b *brokerFacts) returns() []visit {
	threads := b.threads()
	var out []visit
	for _, other := range b.f.br {
		if other == b {
			continue
		}
		for _, s := range other.sc.starts {
			if s.Before(b.f.cacheFrom().Add(-2*b.f.wave())) || s.After(b.f.at()) || s.Before(b.start.Add(startedTogether)) {
				continue
			}
			v := visit{peer: other, start: s, down: s, live: threads, dead: threads}
			if t := other.sc.before(s); !t.IsZero() && s.Sub(t) < b.f.grace() {
				v.down = t
			}
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(x, y visit) int { return x.start.Compare(y.start) })
	return out
}

// lossSpan is from the first scrape to the last that shows a loss.
type lossSpan struct{ from, to time.Time }

// losses are the spans in which this broker's partitions lacked a follower
// (under-replicated partitions), as far as all evictions of the window came with
// one: within two of a session's 120 s of its begin or end. A broker that is down
// while one looks is in no list, and its restarts are not seen.
func (b *brokerFacts) losses() []lossSpan {
	var out []lossSpan
	was := math.Inf(1)
	for _, s := range b.gauge(SignalUnderReplicated) {
		switch {
		case s.V > 0 && was == 0:
			out = append(out, lossSpan{from: s.T, to: s.T})
		case s.V > 0 && len(out) > 0:
			out[len(out)-1].to = s.T
		}
		was = s.V
	}
	out = slices.DeleteFunc(out, func(x lossSpan) bool { return x.to.Before(b.f.cacheFrom()) })
	for _, s := range b.counter(SignalEvictions).within(b.f.cacheFrom(), b.f.at()) {
		if !slices.ContainsFunc(out, func(x lossSpan) bool {
			return !s.at.Before(x.from.Add(-stopping)) && !s.from.After(x.to.Add(2*b.f.wave()))
		}) {
			return nil
		}
	}
	return out
}

// accounts books n evictions of a step on returns, the latest first: those of
// sessions in use, or of dead ones. It is false when some are left.
func (b *brokerFacts) accounts(all []visit, s step, n float64, live bool) bool {
	for i := range all {
		v := &all[len(all)-1-i]
		room := &v.dead
		if live {
			room = &v.live
		}
		if !b.during(s, *v, live) {
			continue
		}
		k := min(n, *room)
		*room, n, v.with = *room-k, n-k, true
	}
	return n <= 0
}

// pairs are evictions and the errors 70 that follow from them: a client that
// loses a session in use gets its error with the next fetch, after a poll gap at
// the latest.
type pairs struct {
	// live is how many of the evictions that were seen at a scrape took a session
	// in use, errors how many of the errors seen at a scrape follow from one.
	live, errors map[time.Time]float64
}

func (b *brokerFacts) liveEvictions() map[time.Time]float64 { return b.paired().live }
func (b *brokerFacts) evictedErrors() map[time.Time]float64 { return b.paired().errors }

// allEvicted says that each of these errors follows from an eviction.
func (b *brokerFacts) allEvicted(errors []step) bool {
	by := b.evictedErrors()
	return !slices.ContainsFunc(errors, func(s step) bool { return by[s.at] < s.n })
}

// paired pairs the earliest eviction with the earliest error.
func (b *brokerFacts) paired() *pairs {
	if b.pairs != nil {
		return b.pairs
	}
	b.pairs = &pairs{live: map[time.Time]float64{}, errors: map[time.Time]float64{}}
	evictions := slices.Clone(b.counter(SignalEvictions).steps)
	k := 0
	for _, failed := range b.counter(SignalErrors70).steps {
		left := failed.n
		for k < len(evictions) && left > 0 && evictions[k].from.Before(failed.at) {
			e := &evictions[k]
			if n := min(left, e.n); n > 0 && !e.at.Add(b.f.pollGap()).Before(failed.from) {
				b.pairs.live[e.at] += n
				b.pairs.errors[failed.at] += n
				left, e.n = left-n, e.n-n
				if e.n > 0 {
					break
				}
			}
			k++
		}
	}
	return b.pairs
}
