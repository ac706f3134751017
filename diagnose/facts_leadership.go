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
	// come (now is 0).
	rises []step
	// all are the increases in the samples, those of earlier processes too.
	all []step
}

func newLeadership(b *brokerFacts) leadership {
	ch := b.gauge(SignalLeaders)
	l := leadership{before: -1}
	if len(ch) == 0 {
		return l
	}
	l.known, l.now = true, ch[len(ch)-1].V
	prev, follow := Sample{}, false
	if s, ok := b.sc.startIn(b.sc.first().Add(-b.sc.every), ch[0].T); ok {
		prev, follow = Sample{T: s}, true
	}
	for _, s := range ch {
		if at, ok := b.sc.startIn(prev.T, s.T); ok && follow {
			prev = Sample{T: at}
		}
		if s.T.Before(b.start) {
			l.before = max(l.before, s.V)
		}
		if follow && s.V > prev.V {
			l.add(step{from: prev.T, at: s.T, n: s.V - prev.V}, b.start)
		}
		prev, follow = s, true
	}
	return l
}

// add files a rise, and as one of the present process if it came after start.
func (l *leadership) add(s step, start time.Time) {
	l.all = append(l.all, s)
	if s.at.After(start) {
		l.rises = append(l.rises, s)
	}
}

// explains reports whether an increase belongs to a return of leadership: it
// came after the last scrape without it and within two scrapes plus the poll
// gap of slow clients (measured 8.1 s for a 3 s poll).
func (l leadership) explains(s step, every, pollGap time.Duration) bool {
	for _, r := range l.all {
		if s.at.After(r.from) && !s.at.After(r.at.Add(2*every+pollGap)) {
			return true
		}
	}
	return false
}

// settled is when errors of the last rise must have shown.
func (l leadership) settled(every, pollGap time.Duration) time.Time {
	if len(l.rises) == 0 {
		return time.Time{}
	}
	return l.rises[len(l.rises)-1].at.Add(2*every + pollGap)
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
