package diagnose

import (
	"strconv"
	"testing"
	"time"
)

// scraped is broker 3 with so many slots at second `at`, of which these signals were
// scraped every 10 s since second 0.
func scraped(at, slots int, signals map[Signal]Metric) *brokerFacts {
	sharded := false
	b := Broker{ID: 3, Identity: Reading{Status: StatusOK}, Signals: signals, Slots: Setting{Reading: Reading{Status: StatusOK}, Value: strconv.Itoa(slots)}}
	var any []float64
	for s := 0; s <= at; s += 10 {
		any = append(any, float64(s), 100+float64(s))
	}
	signals[SignalErrorsAny] = okMetric(series("", any...))
	e := Evidence{
		At: atSecond(at), WindowSeconds: 600, Metrics: MetricsSource{Reading: Reading{Status: StatusOK}, ScrapeSeconds: 10},
		Cluster: Cluster{ShardedCache: &sharded}, Brokers: []Broker{b},
	}
	return newFacts(&e, DefaultLimits()).br[0]
}

// every is a series with a sample each 10 s.
func every(from int, values ...float64) Metric {
	var pairs []float64
	for i, v := range values {
		pairs = append(pairs, float64(from+10*i), v)
	}
	return okMetric(series("", pairs...))
}

// Consumers cannot evict more sessions within 120 s than were there before.
func TestOverrun(t *testing.T) {
	tests := []struct {
		name      string
		evictions Metric
		sessions  Metric
		start     float64
		n, most   float64
		ok        bool
	}{
		{"one wave of all slots", every(0, 0, 0, 32, 64), every(0, 64, 64, 64, 64), -5000, 0, 0, false},
		{"two waves 120 s apart", every(0, 0, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 128), every(0, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64), -5000, 0, 0, false},
		{"two waves 60 s apart", every(0, 0, 64, 64, 64, 64, 64, 64, 128), every(0, 64, 64, 64, 64, 64, 64, 64, 64), -5000, 128, 64, true},
		{"more than readings may differ", every(0, 0, 68), every(0, 64, 64), -5000, 68, 64, true},
		{"as much as readings may differ", every(0, 0, 67), every(0, 64, 64), -5000, 0, 0, false},
		{"four, and ten sessions were there before", every(0, 0, 0, 4), every(0, 10, 64, 64), -5000, 0, 0, false},
		{"four, and one session was there before", every(0, 0, 0, 4), every(0, 1, 64, 64), -5000, 4, 1, true},
		{"four in a process of 100 s", every(20, 0, 0, 4), every(20, 64, 64, 64), -60, 4, 0, true},
		{"four in a process of 130 s", every(20, 0, 0, 4), every(20, 64, 64, 64), -90, 0, 0, false},
		{"one in a young process: a reading may be off by one", every(20, 0, 0, 1), every(20, 64, 64, 64), -60, 0, 0, false},
		{"after a gap of 120 s nothing is dated", okMetric(series("", 0, 0, 120, 500)), every(0, 64), -5000, 0, 0, false},
		{"sessions not visible: the slots bound them", every(0, 0, 68), Metric{}, -5000, 68, 64, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			signals := map[Signal]Metric{SignalEvictions: tt.evictions, SignalSessions: tt.sessions}
			start := float64(atSecond(0).Unix()) + tt.start
			signals[SignalProcessStart] = every(0, start, start, start)
			last := tt.evictions.Series[0].Samples
			b := scraped(int(last[len(last)-1].T.Sub(atSecond(0)).Seconds()), 64, signals)
			x, ok := b.overrun()
			if ok != tt.ok || x.n != tt.n || x.most != tt.most {
				t.Errorf("%v of %v (%v), want %v of %v (%v)", x.n, x.most, ok, tt.n, tt.most, tt.ok)
			}
		})
	}
}

// An error follows its eviction within a poll gap.
func TestPairs(t *testing.T) {
	tests := []struct {
		name              string
		evictions, errors Metric
		live, evicted     float64
	}{
		{"in one scrape", every(0, 0, 4), every(0, 0, 4), 4, 4},
		{"the errors a scrape later", every(0, 0, 4, 4), every(0, 0, 0, 4), 4, 4},
		{"the errors half a minute later", every(0, 0, 4, 4, 4, 4), every(0, 0, 0, 0, 0, 4), 0, 0},
		{"errors before", every(0, 0, 0, 4), every(0, 0, 4, 4), 0, 0},
		{"a burst of 100 beside four evictions", every(0, 0, 4), every(0, 0, 100), 4, 4},
		{"mostly dead", every(0, 0, 20), every(0, 0, 3), 3, 3},
		{"each eviction once", every(0, 0, 4, 4), every(0, 0, 4, 8), 4, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := scraped(40, 64, map[Signal]Metric{SignalEvictions: tt.evictions, SignalErrors70: tt.errors})
			live, evicted := 0.0, 0.0
			for _, n := range b.liveEvictions() {
				live += n
			}
			for _, n := range b.evictedErrors() {
				evicted += n
			}
			if live != tt.live || evicted != tt.evicted {
				t.Errorf("%v live evictions, %v errors, want %v and %v", live, evicted, tt.live, tt.evicted)
			}
		})
	}
}

// Without a process start, counters that fall are a restart only where sessions or
// leaders fell with them.
func TestCountersThatFall(t *testing.T) {
	fell := func(v Metric) map[Signal]Metric { return map[Signal]Metric{SignalFetchRequests: v} }
	tests := []struct {
		name              string
		sessions, leaders Metric
		want              bool
	}{
		{"neither is visible", Metric{}, Metric{}, true},
		{"sessions went on", every(0, 50, 50, 50), Metric{}, false},
		{"a few were closed", every(0, 50, 50, 45), Metric{}, false},
		{"sessions fell", every(0, 50, 50, 44), Metric{}, true},
		{"leaders fell, sessions are back", every(0, 50, 50, 50), every(0, 12, 12, 0), true},
		{"both went on", every(0, 50, 50, 50), every(0, 12, 12, 12), false},
		{"there was nothing to lose", every(0, 0, 0, 0), every(0, 0, 0, 0), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			signals := fell(every(0, 900, 1000, 20))
			signals[SignalSessions], signals[SignalLeaders] = tt.sessions, tt.leaders
			b := scraped(20, 64, signals)
			if _, dated := b.age(); dated != tt.want {
				t.Errorf("a restart: %v, want %v", dated, tt.want)
			}
		})
	}
}

// Sessions beyond the connections of the same span.
func TestUnconnected(t *testing.T) {
	tests := []struct {
		name                      string
		sessions, evictions, made Metric
		want                      float64
	}{
		{"clients come and go", every(0, 0, 10, 20), every(0, 0, 0, 0), every(0, 5, 15, 25), 0},
		{"nobody comes, sessions do", every(0, 0, 10, 20), every(0, 0, 0, 0), every(0, 5, 5, 5), 20},
		{"a full cache turns over", every(0, 64, 64, 64), every(0, 0, 10, 25), every(0, 5, 5, 6), 24},
		{"a deploy at another time", every(0, 0, 0, 10, 20), every(0, 0, 0, 0, 0), every(0, 5, 305, 305, 305), 20},
		{"sessions that flicker are no new ones", every(0, 64, 63, 64, 63, 64), every(0, 0, 0, 0, 0, 0), every(0, 5, 5, 5, 5, 5), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := scraped(40, 64, map[Signal]Metric{SignalSessions: tt.sessions, SignalEvictions: tt.evictions, SignalConnectionsMade: tt.made})
			if got, _ := b.unconnected(b.counter(SignalConnectionsMade)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// NOT_LEADER errors go on when they last for 30 s after the leaders moved.
func TestNotLeaderGoesOn(t *testing.T) {
	still, moved := every(0, 6, 6, 6, 6, 6, 6, 6, 6), every(0, 0, 0, 0, 6, 6, 6, 6, 6)
	tests := []struct {
		name            string
		errors, leaders Metric
		want            bool
	}{
		{"30 s for sure", every(0, 0, 20, 40, 60, 80, 100), still, true},
		{"20 s for sure", every(0, 0, 20, 40, 60, 80), still, false},
		{"too few", every(0, 0, 5, 10, 15, 20, 25), still, false},
		{"while leaders moved", every(0, 0, 20, 40, 60, 80, 100), moved, false},
		{"leaders are not visible", every(0, 0, 20, 40, 60, 80, 100), Metric{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := scraped(70, 64, map[Signal]Metric{SignalNotLeaderList: tt.errors, SignalLeaders: tt.leaders})
			if _, on := b.notLeader(SignalNotLeaderList); on != tt.want {
				t.Errorf("%v, want %v", on, tt.want)
			}
		})
	}
}

// The restart of the whole cluster is nobody's visit: all caches are empty.
func TestStartedTogether(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{9 * time.Second, 0}, {10 * time.Second, 1}} {
		e := world(burstless(2, ago(3*time.Minute-tt.after)), burstless(3, ago(3*time.Minute))).evidence()
		if got := newFacts(&e, DefaultLimits()).br[1].returns(); len(got) != tt.want {
			t.Errorf("started %v later: %d returns, want %d", tt.after, len(got), tt.want)
		}
	}
}
