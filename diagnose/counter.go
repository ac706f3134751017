package diagnose

import (
	"math"
	"slices"
	"sort"
	"time"
)

// counter is what one counter did while it was watched, worked out from raw
// samples. Births, resets, renamed scrape targets and gaps are resolved here,
// once:
//
//   - A series that is born while other series of the broker were already
//     scraped counts from zero: Kafka registers an error meter at its first
//     error, so its first value is the whole burst. rate() and increase() give
//     0 for it.
//   - A value that went down, or a process start between two samples, is a new
//     process: the new value counts from zero. Nothing is ever negative.
//   - A series that goes on under another target name (instance, pod …) is the
//     same counter.
//   - A gap loses nothing, since the counter is cumulative; what happened in it
//     is dated by its two ends.
type counter struct {
	// known is false when the counter could not be seen; why says so.
	known bool
	why   Reading
	// steps are the increases in the order of time.
	steps []step
	// raw is the value since the process start; older is the part of it that
	// was there at the first sample and cannot be dated.
	raw, older float64
	// since is the moment from which the counter's course is known: the
	// process start where that is known and nothing happened unseen, else the
	// first scrape.
	since time.Time
	// whole is true when nothing since the process start is unseen, however
	// short ago that was.
	whole bool
	// last is the last scrape at which it would have shown.
	last time.Time
}

// step is one increase: by n, after from and not later than at.
type step struct {
	from, at time.Time
	n        float64
}

// increase sums the steps that were seen in (from, to].
func (c counter) increase(from, to time.Time) float64 { return total(c.within(from, to)) }

// increaseSince sums the steps that were seen after a moment.
func (c counter) increaseSince(t time.Time) float64 { return c.increase(t, c.last) }

// within returns the steps seen in (from, to], as a part of those of the counter.
func (c counter) within(from, to time.Time) []step {
	until := func(t time.Time) int {
		return sort.Search(len(c.steps), func(i int) bool { return c.steps[i].at.After(t) })
	}
	i := until(from)
	j := max(i, until(to))
	return c.steps[i:j:j]
}

// lastStep returns the latest increase; ok is false when there was none.
func (c counter) lastStep() (step, bool) {
	if len(c.steps) == 0 {
		return step{}, false
	}
	return c.steps[len(c.steps)-1], true
}

// silent is how long the counter is known not to have moved, up to its last
// scrape.
func (c counter) silent() time.Duration {
	from := c.since
	if s, ok := c.lastStep(); ok {
		from = s.at
	}
	return max(0, c.last.Sub(from))
}

// covers reports whether the counter's course is known from that moment on, or
// for the whole life of the process.
func (c counter) covers(from time.Time) bool { return c.known && (c.whole || !c.since.After(from)) }

// noStep reports that a counter is known and did not move from a moment on.
func (c counter) noStep(from time.Time) bool {
	return c.covers(from) && len(c.within(from, c.last)) == 0
}

// identityLabels name a scrape target. A series that differs only in them from
// one that ended is the same counter after a rename.
var identityLabels = map[string]bool{
	"instance": true, "pod": true, "kubernetes_pod_name": true, "pod_name": true, "host": true, "hostname": true,
	"node": true, "node_name": true, "job": true, "container": true, "endpoint": true, "replica": true,
	"prometheus": true, "prometheus_replica": true, "uid": true, "pod_ip": true, "ip": true,
}

// chain is one counter or gauge through all its target names: samples in the
// order of time, without stale duplicates, NaN and Inf.
type chain []Sample

// chains joins the series of a metric that differ only in the name of their
// scrape target. Where two overlap (the same broker scraped by two jobs), the
// later one takes over after the earlier one's last sample.
func chains(m Metric) []chain {
	bySelf := map[string][]Series{}
	var keys []string
	for _, s := range m.Series {
		k := labelKey(s.Labels, identityLabels)
		if _, seen := bySelf[k]; !seen {
			keys = append(keys, k)
		}
		bySelf[k] = append(bySelf[k], s)
	}
	slices.Sort(keys)
	var out []chain
	for _, k := range keys {
		if c := join(bySelf[k]); len(c) > 0 {
			out = append(out, c)
		}
	}
	return out
}

func join(series []Series) chain {
	if len(series) == 1 {
		return finite(series[0].Samples)
	}
	parts := make([]chain, 0, len(series))
	for _, s := range series {
		if c := finite(s.Samples); len(c) > 0 {
			parts = append(parts, c)
		}
	}
	slices.SortStableFunc(parts, func(a, b chain) int {
		if d := a[0].T.Compare(b[0].T); d != 0 {
			return d
		}
		return len(b) - len(a)
	})
	var out chain
	for _, p := range parts {
		for _, s := range p {
			if len(out) == 0 || s.T.After(out[len(out)-1].T) {
				out = append(out, s)
			}
		}
	}
	return out
}

func finite(samples []Sample) chain {
	bad := func(s Sample) bool { return math.IsNaN(s.V) || math.IsInf(s.V, 0) }
	if !slices.ContainsFunc(samples, bad) {
		return samples
	}
	return slices.DeleteFunc(slices.Clone(samples), bad)
}

// scrapes is when a target was scraped and when its process started.
type scrapes struct {
	// times are all scrapes in the evidence, in order.
	times []time.Time
	// starts are the process starts that are known, in order.
	starts []time.Time
	// every is the scrape interval, 0 when unknown.
	every time.Duration
}

// before returns the last scrape before t; zero if there was none.
func (s scrapes) before(t time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(s.times, t, time.Time.Compare)
	if i == 0 {
		return time.Time{}
	}
	return s.times[i-1]
}

// last returns the last scrape; zero if there was none.
func (s scrapes) last() time.Time {
	if len(s.times) == 0 {
		return time.Time{}
	}
	return s.times[len(s.times)-1]
}

// first returns the first scrape; zero if there was none.
func (s scrapes) first() time.Time {
	if len(s.times) == 0 {
		return time.Time{}
	}
	return s.times[0]
}

// startBy returns the latest process start not after t; zero if unknown.
func (s scrapes) startBy(t time.Time) time.Time {
	var out time.Time
	for _, v := range s.starts {
		if !v.After(t) {
			out = v
		}
	}
	return out
}

// startIn returns a process start in (from, to]; ok is false if there is none.
func (s scrapes) startIn(from, to time.Time) (time.Time, bool) {
	v := s.startBy(to)
	return v, !v.IsZero() && v.After(from)
}

// newCounter follows a counter through its samples. visible says that an
// absent series means zero: a sibling of the same broker was scraped.
func newCounter(m Metric, sc scrapes, visible bool) counter {
	c := counter{why: m.Reading, last: sc.last(), since: sc.first()}
	all := chains(m)
	c.known = m.Usable() && (len(all) > 0 || visible) && len(sc.times) > 0
	if !c.known {
		return c
	}
	start := sc.startBy(c.last)
	for _, ch := range all {
		steps, base := follow(ch, sc)
		c.steps = append(c.steps, steps...)
		if end := ch[len(ch)-1]; !end.T.Before(start) {
			c.raw += end.V
			c.older += base
		}
	}
	c.steps = merge(c.steps)
	if c.whole = !start.IsZero() && c.older == 0; c.whole && start.Before(c.since) {
		c.since = start
	}
	return c
}

// follow turns a chain into steps. base is the part of the present value that
// was there at the first sample and cannot be dated.
func follow(ch chain, sc scrapes) (steps []step, base float64) {
	prev := Sample{T: sc.before(ch[0].T)}
	born := !prev.T.IsZero()
	if s, ok := sc.startIn(sc.first().Add(-sc.every), ch[0].T); ok && s.After(prev.T) {
		prev.T, born = s, true
	}
	if !born {
		prev, base = ch[0], ch[0].V
	}
	for _, cur := range ch {
		if !cur.T.After(prev.T) {
			continue
		}
		from, was := prev.T, prev.V
		if s, ok := sc.startIn(prev.T, cur.T); ok {
			from, was, base = s, 0, 0
		} else if cur.V < prev.V {
			was, base = 0, 0
		}
		if n := cur.V - was; n > 0 {
			steps = append(steps, step{from: from, at: cur.T, n: n})
		}
		prev = cur
	}
	return steps, base
}

// merge orders steps and adds up those of one scrape.
func merge(steps []step) []step {
	slices.SortFunc(steps, func(a, b step) int {
		if d := a.at.Compare(b.at); d != 0 {
			return d
		}
		return a.from.Compare(b.from)
	})
	var out []step
	for _, s := range steps {
		if k := len(out) - 1; k >= 0 && out[k].at.Equal(s.at) {
			out[k].n += s.n
			continue
		}
		out = append(out, s)
	}
	return out
}
