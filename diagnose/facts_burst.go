package diagnose

import (
	"fmt"
	"time"
)

// burst is how the session errors since the broker's start relate to the
// return of leadership.
type burst struct {
	// total is the raw number of errors since the start, without those that came
	// with an eviction: the raw value, since increase() misses the value a series
	// is born with. A cache that was just restarted is empty and evicts nothing;
	// who loses a session by eviction gets its error for that.
	total float64
	// in came with a return of leadership, out apart from it; undated is the
	// part that happened before the first sample.
	in, out, undated float64
	// lastIn is the last step that belongs to the restart.
	lastIn step
}

// burst splits the errors 70 since the start. Where leaders are not exported,
// the first step stands for the return of leadership.
func (b *brokerFacts) burst() burst {
	e := b.counter(SignalErrors70)
	x := burst{total: e.raw, undated: e.older}
	evicted := b.evictedErrors()
	for _, s := range e.steps {
		if !s.at.After(b.start) {
			continue
		}
		if b.ofRestart(s) {
			n := s.n - evicted[s.at]
			x.total -= evicted[s.at]
			if n > 0 {
				x.in += n
				x.lastIn = s
			}
		} else {
			x.out += s.n
		}
	}
	return x
}

// ofRestart reports whether a step of error 70 belongs to a restart: this
// process's, or an earlier one's in a series of restarts.
func (b *brokerFacts) ofRestart(s step) bool {
	slack := 2*b.sc.every + b.f.pollGap()
	start := b.sc.startBy(s.at)
	if start.IsZero() || s.at.After(start.Add(b.f.grace()+slack)) {
		return false
	}
	if b.lead.known {
		return b.lead.explains(s, b.sc.every, b.f.pollGap())
	}
	return !s.at.After(b.firstError(start).Add(slack))
}

// firstError is when the first error 70 after a start was seen.
func (b *brokerFacts) firstError(start time.Time) time.Time {
	for _, s := range b.counter(SignalErrors70).steps {
		if s.at.After(start) {
			return s.at
		}
	}
	return time.Time{}
}

// sustained returns the errors 70 of the cache window that do not belong to a
// restart: those that came apart from it, or with an eviction. When there are
// more than one for each client, none belongs to it.
func (b *brokerFacts) sustained() []step {
	if _, many := b.tooMany(); many {
		return b.counter(SignalErrors70).within(b.f.cacheFrom(), b.f.at())
	}
	var out []step
	evicted := b.evictedErrors()
	for _, s := range b.counter(SignalErrors70).within(b.f.cacheFrom(), b.f.at()) {
		if b.ofRestart(s) {
			s.n = evicted[s.at]
		}
		if s.n > 0 {
			out = append(out, s)
		}
	}
	return out
}

func total(steps []step) float64 {
	n := 0.0
	for _, s := range steps {
		n += s.n
	}
	return n
}

// clients bounds the number of clients that a restart can have hit with one
// error each: consumers counted by topology, or the sessions in the cache,
// since each of them opened a new one; the larger, as neither sees all. ok is
// false when neither is known.
func (b *brokerFacts) clients() (n float64, ok bool) {
	if b.demand().low >= 0 {
		n, ok = float64(b.Demand.Consumers), true
	}
	if s, known := b.now(SignalSessions); known {
		n, ok = max(n, s), true
	}
	return n, ok
}

// tooMany reports whether the errors that came with the return of leadership
// are more than one for each client, with some allowance for clients that were
// not counted.
func (b *brokerFacts) tooMany() (clients float64, many bool) {
	n, known := b.clients()
	return n, known && b.burst().in > 1.1*n+2
}

// sessionsWords cites the cache's fill: "22 of 1,000 session slots in use".
func (b *brokerFacts) sessionsWords(n float64) string {
	if b.slots < 0 {
		return plural(n, "session", "sessions") + " in the cache"
	}
	if b.capacity >= 0 && b.capacity != b.slots {
		return fmt.Sprintf("%s of %s sessions in the cache (%s slots in 8 shards)", count(n), count(b.capacity), count(b.slots))
	}
	return fmt.Sprintf("%s of %s session slots in use", count(n), count(b.slots))
}

// optional helpers for facts.
func factCount(name string, n float64) Fact { return Fact{Name: name, Unit: UnitCount, Number: n} }
func factSeconds(name string, d time.Duration) Fact {
	return Fact{Name: name, Unit: UnitSeconds, Number: float64(int64(d / time.Second))}
}
func factPercent(name string, share float64) Fact {
	return Fact{Name: name, Unit: UnitPercent, Number: float64(int(share*1000+0.5)) / 10}
}
func factTime(name string, t time.Time) Fact {
	return Fact{Name: name, Unit: UnitTime, Text: t.UTC().Format(time.RFC3339)}
}
func factText(name, s string) Fact { return Fact{Name: name, Unit: UnitText, Text: s} }
func factYes(name string, yes bool) Fact {
	if yes {
		return factText(name, "yes")
	}
	return factText(name, "no")
}
