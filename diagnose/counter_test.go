package diagnose

import (
	"math"
	"testing"
	"time"
)

// at10 is second s of a small timeline.
func atSecond(s int) time.Time {
	return time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC).Add(time.Duration(s) * time.Second)
}

// series builds samples from second and value pairs.
func series(instance string, pairs ...float64) Series {
	s := Series{}
	if instance != "" {
		s.Labels = map[string]string{"instance": instance}
	}
	for i := 0; i < len(pairs); i += 2 {
		s.Samples = append(s.Samples, Sample{T: atSecond(int(pairs[i])), V: pairs[i+1]})
	}
	return s
}

func okMetric(s ...Series) Metric { return Metric{Reading: Reading{Status: StatusOK}, Series: s} }

// every10 are scrapes from a second to another.
func every10(from, to int, starts ...int) scrapes {
	sc := scrapes{every: 10 * time.Second}
	for s := from; s <= to; s += 10 {
		sc.times = append(sc.times, atSecond(s))
	}
	for _, s := range starts {
		sc.starts = append(sc.starts, atSecond(s))
	}
	return sc
}

func TestCounter(t *testing.T) {
	type want struct {
		known      bool
		raw, older float64
		steps      []step
		silent     time.Duration
	}
	tests := []struct {
		name    string
		metric  Metric
		sc      scrapes
		visible bool
		want    want
	}{
		{
			"born beside scraped siblings: the first value counts",
			okMetric(series("", 50, 20, 60, 20)), every10(0, 60, -1000), true,
			want{true, 20, 0, []step{{atSecond(40), atSecond(50), 20}}, 10 * time.Second},
		},
		{
			"born in the first scrape after the process start",
			okMetric(series("", 10, 20, 20, 20)), every10(10, 20, 5), true,
			want{true, 20, 0, []step{{atSecond(5), atSecond(10), 20}}, 10 * time.Second},
		},
		{
			"there from the beginning of the range: the value is from before",
			okMetric(series("", 0, 300, 10, 300, 20, 302)), every10(0, 20, -1000), true,
			want{true, 302, 300, []step{{atSecond(10), atSecond(20), 2}}, 0},
		},
		{
			"absent beside siblings: zero since the process start",
			Metric{Reading: Reading{Status: StatusEmpty}}, every10(0, 60, -1000), true,
			want{true, 0, 0, nil, 1060 * time.Second},
		},
		{
			"absent without siblings: not exported",
			Metric{Reading: Reading{Status: StatusEmpty}}, every10(0, 60, -1000), false,
			want{known: false},
		},
		{
			"a source that failed is not zero",
			Metric{Reading: Reading{Status: StatusTimeout}}, every10(0, 60, -1000), true,
			want{known: false},
		},
		{
			"a value that went down is a new process",
			okMetric(series("", 0, 50, 10, 50, 20, 3, 30, 4)), every10(0, 30), true,
			want{true, 4, 0, []step{{atSecond(10), atSecond(20), 3}, {atSecond(20), atSecond(30), 1}}, 0},
		},
		{
			"a restart without a drop: the whole new value counts",
			okMetric(series("", 0, 20, 10, 20, 40, 25)), every10(0, 40, -1000, 30), true,
			want{true, 25, 0, []step{{atSecond(30), atSecond(40), 25}}, 0},
		},
		{
			"a restart that the series did not survive: zero since the start",
			okMetric(series("", 0, 20, 10, 20)), every10(0, 60, -1000, 30), true,
			want{true, 0, 0, nil, 60 * time.Second},
		},
		{
			"a renamed target goes on: nothing happened",
			okMetric(series("a", 0, 300, 10, 300), series("b", 30, 300, 40, 301)), every10(0, 40, -1000), true,
			want{true, 301, 300, []step{{atSecond(30), atSecond(40), 1}}, 0},
		},
		{
			"a renamed target with a restart: born with a high value",
			okMetric(series("a", 0, 300, 10, 300), series("b", 40, 310)), every10(0, 40, -1000, 30), true,
			want{true, 310, 0, []step{{atSecond(30), atSecond(40), 310}}, 0},
		},
		{
			"two jobs scrape the same broker: counted once",
			okMetric(series("a", 0, 1, 20, 5), series("b", 5, 1, 25, 5)), every10(0, 20, -1000), true,
			want{true, 5, 1, []step{{atSecond(0), atSecond(20), 4}}, 0},
		},
		{
			"a gap loses nothing",
			okMetric(series("", 0, 1, 10, 1, 90, 8)), every10(0, 90, -1000), true,
			want{true, 8, 1, []step{{atSecond(10), atSecond(90), 7}}, 0},
		},
		{
			"NaN and Inf are no values",
			okMetric(series("", 0, 1, 10, math.NaN(), 20, math.Inf(1), 30, 2)), every10(0, 30, -1000), true,
			want{true, 2, 1, []step{{atSecond(0), atSecond(30), 1}}, 0},
		},
		{
			"label sets add up",
			okMetric(
				Series{Labels: map[string]string{"version": "12"}, Samples: series("", 0, 1, 10, 2).Samples},
				Series{Labels: map[string]string{"version": "13"}, Samples: series("", 0, 5, 10, 9).Samples},
			), every10(0, 10, -1000), true,
			want{true, 11, 6, []step{{atSecond(0), atSecond(10), 5}}, 0},
		},
		{
			"nothing was scraped",
			Metric{Reading: Reading{Status: StatusEmpty}}, scrapes{}, true,
			want{known: false},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounter(tt.metric, tt.sc, tt.visible)
			if c.known != tt.want.known {
				t.Fatalf("known %v, want %v", c.known, tt.want.known)
			}
			if !c.known {
				return
			}
			if c.raw != tt.want.raw || c.older != tt.want.older {
				t.Errorf("raw %v (older %v), want %v (%v)", c.raw, c.older, tt.want.raw, tt.want.older)
			}
			if len(c.steps) != len(tt.want.steps) {
				t.Fatalf("steps %v, want %v", c.steps, tt.want.steps)
			}
			for i, s := range c.steps {
				if w := tt.want.steps[i]; !s.from.Equal(w.from) || !s.at.Equal(w.at) || s.n != w.n || s.n < 0 {
					t.Errorf("step %d is %v, want %v", i, s, w)
				}
			}
			if c.silent() != tt.want.silent {
				t.Errorf("silent for %v, want %v", c.silent(), tt.want.silent)
			}
		})
	}
}

func TestCounterWindow(t *testing.T) {
	c := newCounter(okMetric(series("", 0, 1, 10, 2, 20, 2, 30, 7)), every10(0, 30, -1000), true)
	if n := c.increase(atSecond(10), atSecond(30)); n != 5 {
		t.Errorf("the step at the open end is left out: %v, want 5", n)
	}
	if n := c.increase(atSecond(0), atSecond(20)); n != 1 {
		t.Errorf("increase %v, want 1", n)
	}
	if c.covers(atSecond(-1)) {
		t.Error("what happened before the first sample is not known when there was a value already")
	}
	if !c.covers(atSecond(0)) || c.noStep(atSecond(0)) || !c.noStep(atSecond(30)) {
		t.Error("covers from the first scrape on; no step only after the last")
	}
}

func TestUnion(t *testing.T) {
	var times []time.Time
	for _, s := range []Series{series("", 10, 0, 30, 0), series("", 10, 1, 30, 1), series("", 0, 1, 20, 1, 20, 2, 40, 1), series("")} {
		times = union(times, s.Samples)
	}
	for i, want := range []int{0, 10, 20, 30, 40} {
		if len(times) != 5 || !times[i].Equal(atSecond(want)) {
			t.Fatalf("times %v", times)
		}
	}
}

func TestLeadership(t *testing.T) {
	f := &facts{e: &Evidence{At: atSecond(100)}, l: DefaultLimits()}
	build := func(leaders Series, starts ...float64) *brokerFacts {
		var p []float64
		for i, s := range starts {
			p = append(p, float64(i*50), float64(atSecond(int(s)).Unix()))
		}
		return newBrokerFacts(f, &Broker{ID: 3, Signals: map[Signal]Metric{
			SignalProcessStart: okMetric(series("", p...)), SignalLeaders: okMetric(leaders),
		}})
	}
	b := build(series("", 0, 40, 60, 0, 70, 0, 80, 30, 90, 40), -500, 50)
	if !b.lead.back().Equal(atSecond(80)) || b.lead.before != 40 || !b.lead.plateau() || len(b.lead.rises) != 2 {
		t.Errorf("back in two steps: %+v", b.lead)
	}
	if b := build(series("", 0, 40, 60, 40), -500, 50); !b.lead.back().Equal(atSecond(60)) {
		t.Errorf("back in the first scrape: %+v", b.lead)
	}
	if b := build(series("", 0, 40, 60, 0), -500, 50); b.leadersBack() || b.lead.plateau() {
		t.Errorf("not back: %+v", b.lead)
	}
	if b := build(series("", 0, 40, 60, 35), -500, 50); b.lead.plateau() {
		t.Errorf("35 of 40 is not the plateau: %+v", b.lead)
	}
}

func TestCapacity(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		slots   string
		sharded *bool
		want    int
	}{
		{"1000", nil, 1000}, {"1000", &yes, 1000}, {"7", &yes, 0}, {"7", &no, 7}, {"7", nil, -1},
		{"23", &yes, 16}, {"0", nil, 0}, {"-1", &yes, -1}, {"many", &yes, -1}, {"", &yes, -1},
	} {
		f := &facts{e: &Evidence{Cluster: Cluster{ShardedCache: tt.sharded}}}
		b := newBrokerFacts(f, &Broker{Slots: Setting{Reading: Reading{Status: StatusOK}, Value: tt.slots}})
		if b.capacity != tt.want {
			t.Errorf("%q slots: capacity %d, want %d", tt.slots, b.capacity, tt.want)
		}
	}
}

func TestFullShare(t *testing.T) {
	for _, tt := range []struct {
		mean, p50, p99 float64
		want           float64
		ok             bool
	}{
		{184, 29, 707, 0.229, true}, // measured 23.0 %
		{42, 29, 29, 0, false},      // p99 is the small form: too few full fetches to tell
		{600, 29, 707, 0, false},    // above 50 %: p50 is no longer the small form
		{29, 0, 707, 0, false},
	} {
		e := Evidence{At: atSecond(0)}
		f := &facts{e: &e, l: DefaultLimits()}
		b := newBrokerFacts(f, &Broker{Signals: map[Signal]Metric{
			SignalFetchBytesMean: okMetric(series("", 0, tt.mean)), SignalFetchBytesP50: okMetric(series("", 0, tt.p50)), SignalFetchBytesP99: okMetric(series("", 0, tt.p99)),
		}})
		if got, ok := b.fullShare(); ok != tt.ok || math.Abs(got-tt.want) > 0.001 {
			t.Errorf("%v: %v %v, want %v %v", tt, got, ok, tt.want, tt.ok)
		}
	}
}
