package sizing

import (
	"math"
	"testing"
)

func TestSlotsAreMultiplesOfEightAndNeverRefused(t *testing.T) {
	for _, c := range []struct {
		name                        string
		consumers, followers, surge float64
		want                        float64
	}{
		{"default for a small cluster", 40, 2, DeploySurge, 1000},
		{"the measured case", 1284, 26, DeploySurge, 2072}, // (1605 + 52) × 1.25 = 2071.25
		{"blue/green doubles the consumers", 1284, 26, SurgeBlueGreen, 3280},
		{"a multiple stays", 1280, 0, DeploySurge, 2000},
		{"nothing", 0, 0, 0, 1000},
		{"negative counts as nothing", -5, -5, -1, 1000},
		{"not a number counts as nothing", math.NaN(), 0, 0, 1000},
		{"beyond an int", 1e12, 0, 0, MaxSlots},
		{"infinite", math.Inf(1), 0, 0, MaxSlots},
	} {
		got := Slots(Want(Sessions(c.consumers, c.followers, c.surge)))
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if int64(got)%Shards != 0 || got > math.MaxInt32 {
			t.Errorf("%s: Kafka would lose or refuse %v", c.name, got)
		}
	}
}

func TestSkewIsLargerForFewSessions(t *testing.T) {
	for n, want := range map[float64]float64{0: 1.5, 299.9: 1.5, 300: 1.25, 5000: 1.25} {
		if got := SkewFor(n); got != want {
			t.Errorf("%v: %v, want %v", n, got, want)
		}
	}
}

func TestCapacityLosesTheRestSince38(t *testing.T) {
	for _, c := range []struct {
		slots, whole, old int64
	}{
		{1000, 1000, 1000}, {1001, 1000, 1001}, {7, 0, 7}, {8, 8, 8}, {0, 0, 0}, {-3, 0, 0},
		{math.MaxInt64, math.MaxInt64 - 7, math.MaxInt64},
	} {
		if got := Capacity(c.slots, true); got != c.whole {
			t.Errorf("%d sharded: %d, want %d", c.slots, got, c.whole)
		}
		if got := Capacity(c.slots, false); got != c.old {
			t.Errorf("%d: %d, want %d", c.slots, got, c.old)
		}
	}
}

// 1,657 sessions planned want 2,071.25 slots; each short-lived client a second
// leaves one dead session for 120 s.
func TestShortLivedClientsTakeSlotsFor120Seconds(t *testing.T) {
	for rate, want := range map[float64]float64{0: 2072, 0.006: 2072, 0.5: 2136, 2: 2312, -1: 2072, 1e12: MaxSlots} {
		if got := SlotsWanted(1657, rate); got != want {
			t.Errorf("%v a second: %v, want %v", rate, got, want)
		}
	}
	if got := SlotsWanted(1657, math.NaN()); got != 2072 {
		t.Errorf("not a number: %v", got)
	}
}

func TestCacheBytes(t *testing.T) {
	if got := CacheBytes(10000, 50); got != 51_200_000 {
		t.Errorf("10,000 sessions of 50 partitions: %v", got)
	}
	if got := CacheBytes(math.Inf(1), math.Inf(1)); math.IsInf(got, 0) || math.IsNaN(got) {
		t.Errorf("absurd input gives %v", got)
	}
}

func TestFitRecords(t *testing.T) {
	for _, c := range []struct{ limit, each, want float64 }{
		{300, 0.05, 3000},
		{300, 0.64, 230}, // 234.4
		{300, 10, 15},
		{300, 150, 1},
		{300, 151, 0},
		{0, 1, 0},
		{300, 0, math.MaxInt32},
		{300, -1, math.MaxInt32},
		{300, 1e-300, math.MaxInt32},
		{math.Inf(1), math.NaN(), math.MaxInt32},
	} {
		if got := FitRecords(c.limit, c.each); got != c.want {
			t.Errorf("%v s ÷ %v s: %v, want %v", c.limit, c.each, got, c.want)
		}
	}
}

func TestHeartbeats(t *testing.T) {
	if got := MaxHeartbeat(45000); got != 15000 {
		t.Errorf("a third of 45 s: %v", got)
	}
	// facts: 45 s session and 3 s heartbeat need a pause of 42 s.
	if got := PauseNeeded(45, 3); got != 42 {
		t.Errorf("%v", got)
	}
	if got := PauseNeeded(3, 45); got != 0 {
		t.Errorf("a heartbeat longer than the session: %v", got)
	}
}
