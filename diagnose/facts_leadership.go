package diagnose

import "time"

// leadership is how the broker's partitions came back after its last start.
// Session errors of a restart are timed by it, not by the process start: a
// client's next fetch with its dead session happens when leadership returns.
type leadership struct {
	// known is false when the number of leaders is not exported.
	known bool
	// before is the number of partitions led before the start, -1 if unknown.
	before float64
	// now is the present number.
	now float64
	// rises are the increases after the start, in order; the first is the
	// return. Empty when the return is older than the samples, or still to
	// come.
	rises []step
	// seen says that the samples reach back to the start, so that an absent
	// rise means that leadership is not back.
	seen bool
}

func newLeadership(b *brokerFacts) leadership {
	ch := b.gauge(SignalLeaders)
	l := leadership{before: -1}
	if len(ch) == 0 {
		return l
	}
	l.known, l.now = true, ch[len(ch)-1].V
	l.seen = !b.start.IsZero() && !b.start.Before(b.sc.first().Add(-b.sc.every))
	prev := Sample{T: b.start}
	for _, s := range ch {
		if s.T.Before(b.start) {
			l.before = max(l.before, s.V)
			continue
		}
		if l.seen && s.V > prev.V {
			l.rises = append(l.rises, step{from: prev.T, at: s.T, n: s.V - prev.V})
		}
		prev = s
	}
	return l
}

// back returns the moment of the first rise; zero if none was seen.
func (l leadership) back() time.Time {
	if len(l.rises) == 0 {
		return time.Time{}
	}
	return l.rises[0].at
}

// plateau reports whether as many partitions are led as before the start. With
// no number from before, any leader counts.
func (l leadership) plateau() bool {
	if l.before > 0 {
		return l.now >= leadersBack*l.before
	}
	return l.now > 0
}

// leadersBack is the share of the earlier leaders that counts as all back; the
// cluster may have moved a few for good (imbalance up to 10 % is left alone,
// leader.imbalance.per.broker.percentage).
const leadersBack = 0.9
