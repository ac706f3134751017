package cachemodel

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func last(t Trace) Second { return t[len(t)-1] }

// around holds a figure of the model against the one counted at a broker.
func around(t *testing.T, what string, got, measured, within float64) {
	t.Helper()
	if math.Abs(got-measured) > within {
		t.Errorf("%s: %.3f, the broker had %.3f (may differ by %.3f)", what, got, measured, within)
	}
}

// 83 raw clients with varying sizes, born over 100 s, on 64 slots for 400 s
// (4.4.0, and the same on 3.7.2): 159 evictions and 159 errors, 0.593 a second
// after 240 s, 20.2 % of 26,120 fetches full.
func TestThrashAsMeasured(t *testing.T) {
	for _, shards := range []int{1, 8} {
		tr := Run(Scenario{Slots: 64, Shards: shards, Seconds: 400, Clients: []Clients{{Count: 83, Partitions: 20, Vary: 5, EveryMS: 1170, BornOverS: 100}}}, 1)[0]
		end := last(tr)
		around(t, "evictions", float64(end.Evictions), 159, 12)
		around(t, "errors 70 for each eviction", float64(end.Errors70)/float64(end.Evictions), 1, 0.02)
		around(t, "evictions a second after 240 s", float64(end.Evictions-tr.At(240).Evictions)/160, 0.593, 0.08)
		around(t, "share of full fetches", float64(end.FullFetches)/float64(end.Fetches), 0.202, 0.02)
		around(t, "fetches", float64(end.Fetches), 26120, 1300)
		around(t, "sessions", float64(end.Sessions), 64, 0)
	}
}

// The same clients born within one second: 64 evictions within 15 s at +125,
// +245 and +365 s and nothing between; 192 in all.
func TestWavesAsMeasured(t *testing.T) {
	tr := Run(Scenario{Slots: 64, Shards: 8, Seconds: 380, Clients: []Clients{{Count: 83, Partitions: 20, Vary: 5, EveryMS: 1100, BornOverS: 1}}}, 2)[0]
	for i, wave := range []int{120, 240, 361} {
		around(t, "evictions before the wave", float64(tr.At(wave-1).Evictions), float64(64*i), 3)
		around(t, "evictions 19 s later", float64(tr.At(wave+18).Evictions), float64(64*(i+1)), 3)
	}
}

// 66 clients on 64 slots, two too many, born over 100 s: 130 evictions, 0.471 a
// second after 240 s, 2.6 % full fetches. The rate says nothing about the deficit.
func TestTwoTooManyAsMeasured(t *testing.T) {
	tr := Run(Scenario{Slots: 64, Shards: 8, Seconds: 380, Clients: []Clients{{Count: 66, Partitions: 20, Vary: 5, EveryMS: 1100, BornOverS: 100}}}, 3)[0]
	end := last(tr)
	around(t, "evictions", float64(end.Evictions), 130, 13)
	around(t, "errors 70 for each eviction", float64(end.Errors70)/float64(end.Evictions), 1, 0.05)
	around(t, "share of full fetches", float64(end.FullFetches)/float64(end.Fetches), 0.026, 0.01)
}

// 83 clients of equal size: the cache is full, nobody is evicted, no error,
// 23.0 % of 7,051 fetches are full for ever.
func TestSilentOverflowAsMeasured(t *testing.T) {
	end := last(Run(Scenario{Slots: 64, Shards: 8, Seconds: 100, Clients: []Clients{{Count: 83, Partitions: 20, EveryMS: 1170, BornOverS: 1}}}, 4)[0])
	if end.Sessions != 64 || end.Evictions != 0 || end.Errors70 != 0 {
		t.Errorf("%+v, the broker had 64 sessions, no eviction, no error", end)
	}
	around(t, "share of full fetches", float64(end.FullFetches)/float64(end.Fetches), 0.230, 0.01)
	around(t, "fetches", float64(end.Fetches), 7051, 300)
}

// 32 live clients on 64 slots and one a second that fetches three times and
// never closes, for 330 s: 64 evictions, no error, in waves; 696 of 980 fetches
// of the visitors refused.
func TestTurnoverAsMeasured(t *testing.T) {
	tr := Run(Scenario{
		Slots: 64, Shards: 8, Seconds: 330,
		Clients:  []Clients{{Count: 32, Partitions: 20, EveryMS: 1120, BornOverS: 1}},
		Visitors: []Visitors{{PerMinute: 60, Partitions: 20, Fetches: 3}},
	}, 5)[0]
	end := last(tr)
	around(t, "errors", float64(end.Errors70), 0, 0)
	around(t, "evictions", float64(end.Evictions), 64, 6)
	around(t, "refused", float64(end.Refused), 696, 60)
	around(t, "evictions before +120 s", float64(tr.At(118).Evictions), 0, 0)
	around(t, "evictions after the first wave", float64(tr.At(200).Evictions), 32, 3)
}

// The repro of a popular article, two equal clients and one slot: no session
// from 3.8 on, one before, and never an eviction or an error.
func TestOneSlotAsMeasured(t *testing.T) {
	for shards, sessions := range map[int]int{1: 1, 8: 0} {
		end := last(Run(Scenario{Slots: 1, Shards: shards, Seconds: 300, Clients: []Clients{{Count: 2, Partitions: 6, EveryMS: 500}}}, 6)[0])
		if end.Sessions != sessions || end.Evictions != 0 || end.Errors70 != 0 {
			t.Errorf("%d shards: %+v, the broker had %d sessions and nothing else", shards, end, sessions)
		}
	}
	// With varying sizes 3.7.2 evicts once every 120 s.
	end := last(Run(Scenario{Slots: 1, Shards: 1, Seconds: 370, Clients: []Clients{{Count: 2, Partitions: 6, Vary: 3, EveryMS: 500}}}, 7)[0])
	around(t, "evictions in 370 s", float64(end.Evictions), 3, 0)
}

// Slots that are no multiple of 8: 7 hold nothing, 23 hold 16 sessions.
func TestShardsRoundDown(t *testing.T) {
	for slots, want := range map[int]int{7: 0, 16: 16, 23: 16} {
		end := last(Run(Scenario{Slots: slots, Shards: 8, Seconds: 30, Clients: []Clients{{Count: 30, Partitions: 20, EveryMS: 1000}}}, 8)[0])
		if end.Sessions != want {
			t.Errorf("%d slots hold %d sessions, the broker held %d", slots, end.Sessions, want)
		}
	}
}

// A follower's four threads come back to a full cache: four evictions of
// consumers, whatever their age, and one error for each.
func TestFollowersDisplaceConsumers(t *testing.T) {
	tr := Run(Scenario{
		Slots: 64, Shards: 8, Seconds: 100, Clients: []Clients{{Count: 80, Partitions: 20, EveryMS: 1000, BornOverS: 1, BornS: 3}},
		Followers: Followers{Threads: 4, Partitions: 5, BackAtS: []int{60}},
	}, 9)[0]
	if tr.At(58).Evictions != 0 || last(tr).Evictions != 4 || last(tr).Errors70 != 4 {
		t.Errorf("before %+v, after %+v; the broker had 4 evictions and 4 errors", tr.At(58), last(tr))
	}
}

// What follows from the rules and was not measured: 120 s later the refused
// consumers take back the slots of the follower's old sessions, in as many
// evictions, and no error tells of those.
func TestSlotsOfDeadFollowersAreTakenBack(t *testing.T) {
	tr := Run(Scenario{
		Slots: 64, Shards: 8, Seconds: 300, Clients: []Clients{{Count: 80, Partitions: 20, EveryMS: 1000, BornOverS: 1, BornS: 3}},
		Followers: Followers{Threads: 4, Partitions: 5, BackAtS: []int{60}},
	}, 9)[0]
	if tr.At(170).Evictions != 4 || last(tr).Evictions != 8 || last(tr).Errors70 != 4 {
		t.Errorf("+110 s %+v, +240 s %+v", tr.At(170), last(tr))
	}
}

// SIGTERM and start: one error for each of 20 clients once leadership is back;
// after a kill with fetches in flight none.
func TestRestartAsMeasured(t *testing.T) {
	for killed, want := range map[bool]int{false: 20, true: 0} {
		tr := Run(Scenario{
			Slots: 1000, Shards: 8, Seconds: 120, Clients: []Clients{{Count: 20, Partitions: 4, EveryMS: 500}},
			Restart: &Restart{AtS: 50, BackS: 80, Killed: killed},
		}, 10)[0]
		if tr.At(79).Errors70 != 0 || last(tr).Errors70 != want || last(tr).Sessions != 20 {
			t.Errorf("killed %v: %+v then %+v, want %d errors and 20 sessions", killed, tr.At(79), last(tr), want)
		}
	}
}

// Two brokers behind one address, balanced by request: 50 to 55 % of all fetches
// get error 70, and sessions grow as fast as the errors.
func TestBalancedRequestsAsMeasured(t *testing.T) {
	both := Run(Scenario{Slots: 1000, Shards: 8, Seconds: 50, Brokers: 2, Clients: []Clients{{Count: 8, Partitions: 4, EveryMS: 280}}}, 11)
	a, b := last(both[0]), last(both[1])
	around(t, "errors a fetch", float64(a.Errors70+b.Errors70)/float64(a.Fetches+b.Fetches), 0.52, 0.05)
	around(t, "sessions of both for each error", float64(a.Sessions+b.Sessions)/float64(a.Errors70+b.Errors70), 1, 0.05)
}

// A consumer never displaces a session that is younger than 120 s, nor one of
// equal size; it displaces any that was unused for longer.
func TestWhoMayDisplaceWhom(t *testing.T) {
	for _, x := range []struct {
		name       string
		heldSize   int
		usedMS     int64
		now        int64
		size       int
		privileged bool
		want       bool
	}{
		{"bigger, but the other is young", 5, 100_000, 110_000, 50, false, false},
		{"bigger, the other is old", 5, 121_000, 122_000, 6, false, true},
		{"equal", 5, 121_000, 122_000, 5, false, false},
		{"smaller", 5, 121_000, 122_000, 4, false, false},
		{"smaller, but the other is unused", 5, 1_000, 121_001, 1, false, true},
		{"unused for 120 s exactly", 5, 1_000, 121_000, 9, false, false},
		{"a follower, the other is young", 5, 100_000, 110_000, 1, true, true},
	} {
		c := New(1, 1, rand.New(rand.NewPCG(1, 1)))
		id := c.Full(0, x.heldSize, false)
		c.Incremental(x.usedMS, id, x.heldSize)
		if got := c.Full(x.now, x.size, x.privileged) != 0; got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
		if c.Sessions() != 1 || (c.Evictions() == 1) != x.want {
			t.Errorf("%s: %d sessions, %d evictions", x.name, c.Sessions(), c.Evictions())
		}
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	s := Scenario{Slots: 64, Shards: 8, Seconds: 200, Clients: []Clients{{Count: 80, Partitions: 9, Vary: 3, EveryMS: 700, BornOverS: 20}}, Visitors: []Visitors{{PerMinute: 20, Partitions: 3, Fetches: 2}}}
	if !reflect.DeepEqual(Run(s, 5), Run(s, 5)) {
		t.Error("the same seed gave another trace")
	}
}
