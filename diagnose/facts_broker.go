package diagnose

import (
	"slices"
	"strconv"
	"time"
)

// brokerFacts is what follows from one broker's evidence. Counters are worked
// out on demand by signal.
type brokerFacts struct {
	*Broker
	f  *facts
	sc scrapes
	// start is the present process's start; zero when unknown. estimated says
	// that it was inferred from counters that fell, since no start time is
	// exported: it is then the first scrape of the new process.
	start     time.Time
	estimated bool
	lead      leadership
	// slots is the configured number, capacity what the cache can hold; -1
	// when unknown.
	slots, capacity int
	counters        map[Signal]counter
	// pairs are evictions and the errors that follow from them, worked out on
	// demand.
	pairs *pairs
}

func newBrokerFacts(f *facts, b *Broker) *brokerFacts {
	x := &brokerFacts{Broker: b, f: f, slots: -1, capacity: -1, counters: map[Signal]counter{}}
	x.sc = brokerScrapes(f, b)
	if n := len(x.sc.starts); n > 0 {
		x.start = x.sc.starts[n-1]
	} else if at, ok := x.fallback(); ok {
		x.start, x.estimated = at, true
		x.sc.starts = []time.Time{at}
	}
	x.lead = newLeadership(x)
	x.setCapacity()
	return x
}

// brokerScrapes collects the scrape times of all signals and the process
// starts.
func brokerScrapes(f *facts, b *Broker) scrapes {
	var sc scrapes
	for _, m := range b.Signals {
		for _, s := range m.Series {
			sc.times = union(sc.times, s.Samples)
		}
	}
	sc.every = time.Duration(f.e.Metrics.ScrapeSeconds * float64(time.Second))
	if sc.every <= 0 {
		sc.every = medianGap(sc.times)
	}
	for _, ch := range chains(b.Signals[SignalProcessStart]) {
		for _, s := range ch {
			if s.V > 0 && s.V < maxUnixMilli/1000 {
				sc.starts = append(sc.starts, time.UnixMilli(int64(s.V*1000)).UTC())
			}
		}
	}
	slices.SortFunc(sc.starts, time.Time.Compare)
	sc.starts = slices.CompactFunc(sc.starts, func(a, b time.Time) bool { return a.Sub(b).Abs() < startJitter })
	return sc
}

// union merges the times of samples into times; both are in order. Series of
// one target share their times, so that mostly nothing is added.
func union(times []time.Time, samples []Sample) []time.Time {
	var out []time.Time
	i := 0
	for k, s := range samples {
		for i < len(times) && times[i].Before(s.T) {
			if out != nil {
				out = append(out, times[i])
			}
			i++
		}
		if i < len(times) && times[i].Equal(s.T) || k > 0 && samples[k-1].T.Equal(s.T) {
			continue
		}
		if out == nil {
			out = append(make([]time.Time, 0, len(times)+len(samples)), times[:i]...)
		}
		out = append(out, s.T)
	}
	if out == nil {
		return times
	}
	return append(out, times[i:]...)
}

// startJitter is how far two readings of one process start may differ: some
// exporters compute it from the uptime.
const startJitter = 5 * time.Second

func medianGap(times []time.Time) time.Duration {
	if len(times) < 2 {
		return 0
	}
	gaps := make([]time.Duration, 0, len(times)-1)
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i].Sub(times[i-1]))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// fallback finds the last moment at which a counter of the broker fell, and with
// it the sessions or the leaders: the sign of a new process where no start time is
// exported. Counters alone also start again with a proxy or a collector of metrics.
func (b *brokerFacts) fallback() (time.Time, bool) {
	var at time.Time
	for _, s := range []Signal{SignalErrorsAny, SignalFetchRequests, SignalEvictions} {
		for _, ch := range chains(b.Signals[s]) {
			for i := 1; i < len(ch); i++ {
				if ch[i].V < ch[i-1].V && ch[i].T.After(at) && !b.wentOn(ch[i-1].T, ch[i].T) {
					// Just before the scrape, so that its values count from zero.
					at = ch[i].T.Add(-time.Millisecond)
				}
			}
		}
	}
	return at, !at.IsZero()
}

// wentOn says that the process lived on between two scrapes: what it holds in
// memory is as it was. A new one has an empty session cache and leads nothing at
// first. Where neither is visible, or there was nothing, nobody can tell.
func (b *brokerFacts) wentOn(before, after time.Time) bool {
	told := false
	for _, s := range []Signal{SignalSessions, SignalLeaders} {
		was, now := 0.0, 0.0
		for _, v := range b.gauge(s) {
			if !v.T.After(before) {
				was = v.V
			}
			if now = v.V; !v.T.Before(after) {
				break
			}
		}
		if was <= 0 {
			continue
		}
		if now < inMemory*was {
			return false
		}
		told = true
	}
	return told
}

// inMemory is the share of the sessions, or leaders, that a scrape without a
// restart keeps: clients close a few sessions, elections move a few leaders.
const inMemory = 0.9

// setCapacity works out C = 8·⌊slots/8⌋ for the sharded cache of 3.8 and newer
// (KAFKA-9401), C = slots before. When the version is unknown, a multiple of 8
// gives the same number either way.
func (b *brokerFacts) setCapacity() {
	n, err := strconv.Atoi(b.Slots.Value)
	if !b.Slots.Usable() || err != nil || n < 0 {
		return
	}
	b.slots = n
	sharded := b.f.e.Cluster.ShardedCache
	switch {
	case n%shards == 0, sharded != nil && !*sharded:
		b.capacity = n
	case sharded != nil:
		b.capacity = n / shards * shards
	}
}

// shards is the number of shards of the fetch session cache from 3.8 on.
const shards = 8

// subject is "broker 3".
func (b *brokerFacts) subject() string { return subjectBroker(b.ID) }

// path leads to a field or signal of the broker.
func (b *brokerFacts) path(rest string) string {
	return "brokers[" + strconv.Itoa(int(b.ID)) + "]." + rest
}

// cite cites a signal.
func (b *brokerFacts) cite(s Signal, value string) Citation {
	return cite(b.path(string(s)), value, b.Signals[s].Reading)
}

// lazy are the signals whose series are born at the first event: absent beside
// a sibling means zero.
func lazy(s Signal) bool {
	switch s {
	case SignalEvictions, SignalConnectionsMade, SignalFetchBytesMean, SignalFetchBytesP50, SignalFetchBytesP99, SignalErrorsAny:
		return false
	default:
		return true
	}
}

// counter follows a counter signal of the broker.
func (b *brokerFacts) counter(s Signal) counter {
	if c, ok := b.counters[s]; ok {
		return c
	}
	m, asked := b.Signals[s]
	c := newCounter(m, b.sc, asked && lazy(s) && b.errorsVisible())
	b.counters[s] = c
	return c
}

// errorsVisible says that error counting is visible: some error counter of the
// broker is still being scraped. One that ended says nothing about now, except
// while a process that has just started leads nothing: nobody has called it yet,
// and counters are born at the first answer.
func (b *brokerFacts) errorsVisible() bool {
	for _, ch := range chains(b.Signals[SignalErrorsAny]) {
		end := ch[len(ch)-1].T
		if b.sc.last().Sub(end) <= b.tolerance() || end.Before(b.start) && b.uncalled() {
			return b.Signals[SignalErrorsAny].Usable()
		}
	}
	return false
}

// uncalled says that the process started within the grace, is scraped, and leads
// nothing.
func (b *brokerFacts) uncalled() bool {
	leaders, known := b.now(SignalLeaders)
	return known && leaders == 0 && b.young()
}

// gauge returns the samples of a gauge signal; the longest chain if several
// stand side by side.
func (b *brokerFacts) gauge(s Signal) chain {
	m := b.Signals[s]
	if !m.Usable() {
		return nil
	}
	var out chain
	for _, ch := range chains(m) {
		if len(out) == 0 || ch[len(ch)-1].T.After(out[len(out)-1].T) {
			out = ch
		}
	}
	return out
}

// now returns the latest value of a gauge, if it is fresh.
func (b *brokerFacts) now(s Signal) (float64, bool) {
	ch := b.gauge(s)
	if len(ch) == 0 || b.f.at().Sub(ch[len(ch)-1].T) > b.tolerance() {
		return 0, false
	}
	return ch[len(ch)-1].V, true
}

// peak returns the highest value of a gauge from a moment on.
func (b *brokerFacts) peak(s Signal, from time.Time) (float64, bool) {
	best, ok := 0.0, false
	for _, v := range b.gauge(s) {
		if !v.T.Before(from) && (!ok || v.V > best) {
			best, ok = v.V, true
		}
	}
	return best, ok
}

// tolerance is how old the last scrape may be: three scrapes, at least a
// minute.
func (b *brokerFacts) tolerance() time.Duration { return max(3*b.sc.every, time.Minute) }

// fresh says that the broker was scraped just now. A broker that is no longer
// scraped is not healthy, it is not visible.
func (b *brokerFacts) fresh() bool {
	return len(b.sc.times) > 0 && b.f.at().Sub(b.sc.last()) <= b.tolerance()
}

// age is how long the present process has run; ok is false when unknown.
func (b *brokerFacts) age() (time.Duration, bool) {
	if b.start.IsZero() {
		return 0, false
	}
	return b.f.at().Sub(b.start), true
}

// needReading finds the reading behind one of the broker's needs.
func (b *brokerFacts) needReading(n Need) (Reading, bool) {
	switch n {
	case NeedBrokerMetrics:
		return b.metricsReading(), true
	case NeedSlots:
		return firstUnusable(b.f.e.Cluster.Reading, b.Slots.Reading), true
	case NeedDemand:
		return b.Demand.Reading, true
	default:
		return Reading{}, false
	}
}

// metricsReading is the first reading that stands in the way of the broker's
// metrics.
func (b *brokerFacts) metricsReading() Reading {
	if r := firstUnusable(b.f.e.Metrics.Reading, b.Identity); !r.Usable() {
		return r
	}
	for _, s := range []Signal{SignalErrorsAny, SignalErrors70, SignalEvictions, SignalSessions, SignalProcessStart} {
		m := b.Signals[s]
		if !m.Usable() || len(m.Series) == 0 && (!lazy(s) || !b.errorsVisible()) {
			r := m.Reading
			if r.Known() == StatusOK || r.Known() == StatusEmpty {
				r.Status = StatusNotExported
			}
			return r
		}
	}
	if !b.fresh() {
		return Reading{Status: StatusPartial, Source: b.f.e.Metrics.Source, Error: "the last scrape of " + b.subject() + " is " + span(b.f.at().Sub(b.sc.last())) + " old"}
	}
	return b.f.e.Metrics.Reading
}

// foreign says that the cluster is a Kafka-like system without Apache Kafka's
// session cache.
func (f *facts) foreign() bool {
	fl := f.e.Cluster.Flavour
	return fl != "" && fl != "apache"
}

// unreadable answers for every fetch-session rule when the broker cannot be
// judged: its metrics were not read, are stale, or it is not Apache Kafka.
func (b *brokerFacts) unreadable() (Outcome, bool) {
	if b.f.foreign() {
		return Outcome{Answer: No, Because: "not applicable: this cluster is " + b.f.e.Cluster.Flavour + ", which has no such session cache"}, true
	}
	blind := Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}}
	switch {
	case !b.f.e.Metrics.Usable(), !b.Identity.Usable():
		blind.Because = "the metrics of this broker could not be read"
	case !b.errorsVisible():
		blind.Because = "error counters of this broker are not visible"
	case !b.fresh():
		blind.Because = "the last scrape of this broker is " + span(b.f.at().Sub(b.sc.last())) + " old"
	default:
		return Outcome{}, false
	}
	return blind, true
}

// seenFor is the span that a counter's silence is known for, in words: the window,
// or what the process or the samples have of it.
func (b *brokerFacts) seenFor(s Signal) string {
	from := latest(b.counter(s).since, b.start)
	if d := b.f.at().Sub(from); !from.IsZero() && d < b.f.cacheWindow()-b.sc.every {
		return "the " + span(d) + " since " + clock(from)
	}
	return span(b.f.cacheWindow())
}

// watched is how long the present process has been seen, in this window: an
// upper bound for what its silence can mean.
func (b *brokerFacts) watched(c counter) time.Duration {
	from := c.since
	if b.start.After(from) {
		from = b.start
	}
	return c.last.Sub(from)
}
