package diagnose

import (
	"fmt"
	"strings"
	"time"
)

// clientView is what the lost member's own metrics say.
type clientView struct {
	known bool
	// why says in words why nothing is known.
	why string
	// poll is the longest time between two polls around the drop, 0 = not seen;
	// it is recorded when the next poll begins.
	poll time.Duration
	// waiting is the longest last-poll-seconds-ago around the drop.
	waiting time.Duration
	// gap is the longest time without a scrape of the client around the drop: a
	// frozen process cannot be scraped.
	gap time.Duration
	// covered says that it was scraped all through the silence, never a session
	// timeout apart: a frozen process cannot be scraped.
	covered bool
	// waited says that last-poll-seconds-ago was among that, which unlike the time
	// between two polls is known before the next poll begins.
	waited bool
	// after says that the client was scraped after the member's return and while
	// that is remembered, so that poll covers the whole stall.
	after bool
	// lived says that it was scraped on after the drop as it was all through the
	// silence, without a hole in which another process could have taken its place, and
	// not with the values of before: what a gateway serves for a dead process.
	lived bool
	cite  Citation
}

// pollMemory is how long time-between-poll-max remembers a poll: two metric
// samples of 30 s.
const pollMemory = 60 * time.Second

func newClientView(l *loss) clientView {
	f := l.s.f
	if !f.e.ClientsReading.Usable() {
		return clientView{why: "client metrics are not in Prometheus"}
	}
	c, why := l.pickClient()
	if c == nil {
		return clientView{why: why}
	}
	v := clientView{known: true}
	from, to := l.clientSpan()
	v.poll, v.cite = v.peak(c, SignalPollMax, from, to, time.Millisecond)
	waiting, cite := v.peak(c, SignalLastPoll, from, to, time.Second)
	v.waiting = waiting
	if v.waiting > v.poll {
		v.cite = cite
	}
	v.gaps(c, from, to)
	v.covered, v.waited = l.scrapedThrough(c), c.looked(SignalLastPoll, from, l.by)
	v.after = l.back != nil && c.scraped(l.back.at, to)
	v.lived = v.covered && v.gap == 0 && c.moved(l.by, to)
	if v.cite.Path == "" && v.gap == 0 {
		return clientView{why: "the client's poll metrics have no samples around the drop"}
	}
	return v
}

// clientSpan is the time in which the cause shows in client metrics.
func (l *loss) clientSpan() (from, to time.Time) {
	from = l.quietSince()
	if !l.sil.known {
		from = earliest(from, l.after.Add(-max(l.rebalance(), l.session(), time.Minute)))
	}
	to = l.s.f.at()
	if l.back != nil {
		to = earliest(to, l.back.at.Add(pollMemory))
	}
	return from, to
}

// pickClient finds the client behind the member: by client id, and by host
// where several share it.
func (l *loss) pickClient() (*Client, string) {
	var named, here []*Client
	for i := range l.s.f.e.Clients {
		c := &l.s.f.e.Clients[i]
		if c.ClientID != l.m.ClientID {
			continue
		}
		named = append(named, c)
		if host := strings.TrimPrefix(l.m.Host, "/"); host != "" && strings.HasPrefix(c.Instance, host) {
			here = append(here, c)
		}
	}
	switch {
	case len(named) == 0:
		return nil, "no client metrics of " + l.m.ClientID
	case len(named) == 1:
		return named[0], ""
	case len(here) == 1:
		return here[0], ""
	default:
		return nil, fmt.Sprintf("%d clients share the id %s", len(named), l.m.ClientID)
	}
}

// peak is the highest value of a gauge in a span, as a time.
func (v *clientView) peak(c *Client, s Signal, from, to time.Time, unit time.Duration) (time.Duration, Citation) {
	best, found := 0.0, false
	m := c.Signals[s]
	if !m.Usable() {
		return 0, Citation{}
	}
	for _, ch := range chains(m) {
		for _, x := range ch {
			if x.T.Before(from) || x.T.After(to) {
				continue
			}
			if !found || x.V > best {
				best, found = x.V, true
			}
		}
	}
	if !found {
		return 0, Citation{}
	}
	d := time.Duration(max(0, best) * float64(unit))
	path := "clients[" + c.ClientID + "]." + string(s)
	if s == SignalPollMax {
		return d, cite(path, "longest time between two polls "+seconds(d), m.Reading)
	}
	return d, cite(path, "last poll "+seconds(d)+" ago", m.Reading)
}

// gaps finds the longest time without a scrape.
func (v *clientView) gaps(c *Client, from, to time.Time) {
	m := c.Signals[SignalPollMax]
	if len(m.Series) == 0 {
		m = c.Signals[SignalLastHeartbeat]
	}
	var times []time.Time
	for _, ch := range chains(m) {
		for _, x := range ch {
			times = append(times, x.T)
		}
	}
	usual := medianGap(times)
	for i := 1; i < len(times); i++ {
		if g := times[i].Sub(times[i-1]); times[i].After(from) && times[i-1].Before(to) && 2*g > 5*usual {
			v.gap = max(v.gap, g)
		}
	}
}

// scrapedThrough says that no part of the silence as long as a session timeout
// less a heartbeat is without a scrape of the client.
func (l *loss) scrapedThrough(c *Client) bool {
	need, from := l.silentAtLeast(), l.quietSince()
	if need <= 0 {
		return false
	}
	for _, s := range [...]Signal{SignalLastPoll, SignalPollMax} {
		at, holes := from, false
		for _, ch := range chains(c.Signals[s]) {
			for _, x := range ch {
				if x.T.Before(at) || x.T.After(l.by) {
					continue
				}
				holes = holes || x.T.Sub(at) >= need
				at = x.T
			}
		}
		if at.After(from) && !holes && l.by.Sub(at) < need {
			return true
		}
	}
	return false
}

// scraped says that the client's longest poll was scraped in a span.
func (c *Client) scraped(from, to time.Time) bool { return c.looked(SignalPollMax, from, to) }

// looked says that a gauge was scraped in a span.
func (c *Client) looked(s Signal, from, to time.Time) bool {
	for _, ch := range chains(c.Signals[s]) {
		for _, x := range ch {
			if !x.T.Before(from) && !x.T.After(to) {
				return true
			}
		}
	}
	return false
}

// moved says that a value of the client was scraped in a span and differs from the
// one before.
func (c *Client) moved(from, to time.Time) bool {
	for _, m := range c.Signals {
		for _, ch := range chains(m) {
			for i := 1; i < len(ch); i++ {
				if ch[i].T.After(from) && !ch[i].T.After(to) && ch[i].V != ch[i-1].V {
					return true
				}
			}
		}
	}
	return false
}

// longest is the longest stall that the client's metrics show.
func (v clientView) longest() time.Duration { return max(v.poll, v.waiting, v.gap) }

// stoodStill says whether the process stood still for the member's session
// timeout: its polls or its scrapes have a hole that long. One that is long enough
// only with an unusual heartbeat interval leaves it open.
func (l *loss) stoodStill() tri {
	need := l.silentAtLeast()
	switch {
	case !l.client.known || need <= 0:
		return dontKnow
	case l.busyAlive():
		return dontKnow
	case l.client.longest() >= l.surelySilent():
		return isYes
	case l.client.longest() >= need:
		return dontKnow
	case l.client.covered && l.client.waited:
		return isNo
	case l.back != nil && l.client.after && l.client.poll > 0:
		return isNo
	default:
		return dontKnow
	}
}

// surelySilent is the shortest standstill that ends a session with the heartbeat
// interval that is set, or else the default one: 42 s of 45 s. With a longer interval,
// which no record shows, less is enough; then it is not sure.
func (l *loss) surelySilent() time.Duration {
	beat := defaultHeartbeat
	if !l.s.classic() {
		beat = defaultGroupBeat
	}
	return l.session() - min(l.heartbeat(), beat)
}

// mayHaveStoodStill says that its metrics show a hole that ends its session only with
// a heartbeat interval above the default.
func (l *loss) mayHaveStoodStill() bool {
	n := l.client.longest()
	return l.client.known && l.silentAtLeast() > 0 && n >= l.silentAtLeast() && n < l.surelySilent() && !l.busyAlive()
}

// coversDrop says that the client's own metrics show what its process did while the
// member was silent: they were scraped all through it, or after its return, when the
// longest poll is still remembered.
func (l *loss) coversDrop() bool {
	return l.client.known && (l.client.covered && l.client.gap < l.silentAtLeast() || l.client.after)
}

// busyAlive says that the process was scraped all through the silence and did not
// poll in that time: it was neither frozen nor gone, its polling thread was held.
func (l *loss) busyAlive() bool {
	need := l.silentAtLeast()
	return l.client.known && l.client.covered && l.client.waited && need > 0 && l.client.waiting >= need
}

// overslept says whether the time between two polls reached the poll limit.
func (l *loss) overslept() tri {
	switch {
	case !l.client.known || l.rebalance() == 0:
		return dontKnow
	case max(l.client.poll, l.client.waiting) >= l.rebalance():
		return isYes
	case l.back != nil && l.client.after && l.client.poll > 0:
		return isNo
	default:
		return dontKnow
	}
}
