package collect

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// watch starts a watcher that ends with the test.
func (f *fakeKafka) watch(cfg WatcherConfig) *Watcher {
	f.t.Helper()
	cfg.Cluster = "c1"
	w, err := NewWatcher(cfg, f.k, quiet())
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.ctx())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("Run returned %v", err)
		}
	})
	return w
}

const lostMetric = "kafka_oncall_group_member_lost_total"

func TestWatcherSeesAMemberDie(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 2, kfake.SeedTopics(4, "t"))
		f.member("orders", "t")
		f.commit("idle", "t", 4, 0)
		f.waitStable("orders", 1)
		victim := f.member("orders", "t", kgo.ClientID("victim"))
		f.waitStable("orders", 2)
		reg := prometheus.NewRegistry()
		w := f.watch(WatcherConfig{Registerer: reg})
		time.Sleep(5 * time.Minute)

		want := fmt.Sprintf(`# HELP %[1]s Members that disappeared from a consumer group, however they left. 0 from the moment the group is first seen.
# TYPE %[1]s counter
%[1]s{cluster="c1",group="idle"} 0
%[1]s{cluster="c1",group="orders"} %%d
`, lostMetric)
		if err := testutil.GatherAndCompare(reg, strings.NewReader(fmt.Sprintf(want, 0)), lostMetric); err != nil {
			t.Error(err)
		}
		dead := time.Now()
		victim.Close()
		time.Sleep(2 * time.Minute)

		if err := testutil.GatherAndCompare(reg, strings.NewReader(fmt.Sprintf(want, 1)), lostMetric); err != nil {
			t.Error(err)
		}
		m := w.memory(10*time.Minute, time.Now())
		if !m.OK() || len(m.Losses) != 1 {
			t.Fatalf("memory %+v", m)
		}
		l := m.Losses[0]
		if l.Group != "orders" || l.ClientID != "victim" || l.MemberID == "" || l.Host == "" {
			t.Errorf("loss %+v", l)
		}
		if l.After.After(dead) || l.By.Before(dead) || l.By.Sub(l.After) > 70*time.Second {
			t.Errorf("loss between %s and %s, died %s", l.After, l.By, dead)
		}
		hurt, stable := 0, 0
		for _, c := range m.StableGroups {
			hurt += c.Hurt
			stable += c.Stable
			if c.Hurt > 0 && c.Broker != l.Coordinator {
				t.Errorf("hurt groups on broker %d, the loss was on %d", c.Broker, l.Coordinator)
			}
		}
		if hurt != 1 || stable != 0 {
			t.Errorf("%d hurt and %d stable groups with members, want 1 and 0", hurt, stable)
		}
		mem, known := w.group("orders", time.Time{}, time.Now())
		if !known || len(mem.lag) < 6 {
			t.Fatalf("memory of the group: %+v", mem)
		}
		last := mem.snapshots[len(mem.snapshots)-1]
		if len(mem.snapshots[0].Members) != 2 || len(last.Members) != 1 || last.State != "Stable" {
			t.Errorf("snapshots %+v", mem.snapshots)
		}
	})
}

// Fast rebalances leave no trace in the lists: the full look finds them.
func TestWatcherDescribesLittle(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1, kfake.SeedTopics(4, "t"))
		f.member("orders", "t")
		f.waitStable("orders", 1)
		f.watch(WatcherConfig{FullInterval: 5 * time.Minute, LagInterval: time.Minute})
		time.Sleep(11 * time.Second)
		f.calls.reset()
		time.Sleep(5 * time.Minute)
		f.calls.mu.Lock()
		defer f.calls.mu.Unlock()
		got := f.calls.by[0]
		for key, want := range map[kmsg.Key]int{kmsg.ListGroups: 30, kmsg.DescribeGroups: 1, kmsg.OffsetFetch: 5} {
			if n := got[key.Int16()]; n != want {
				t.Errorf("%s: %d requests in 5 min, want %d", kmsg.NameForKey(key.Int16()), n, want)
			}
		}
	})
}

func TestWatcherTellsRestartsOfStaticMembersFromLosses(t *testing.T) {
	m := func(id, instance string) diagnose.Member { return diagnose.Member{ID: id, InstanceID: instance} }
	look := func(at int, ms ...diagnose.Member) diagnose.GroupSnapshot {
		when := time.Unix(int64(at), 0).UTC()
		return diagnose.GroupSnapshot{At: when, Until: when, State: "Stable", Members: ms}
	}
	for _, tc := range []struct {
		name   string
		first  diagnose.GroupSnapshot
		second diagnose.GroupSnapshot
		lost   []string
	}{
		{"nothing happened", look(1, m("a", "")), look(2, m("a", "")), nil},
		{"left", look(1, m("a", ""), m("b", "")), look(2, m("b", "")), []string{"a"}},
		{"evicted and back under a new id", look(1, m("a", "")), look(2, m("a2", "")), []string{"a"}},
		{"joined", look(1, m("a", "")), look(2, m("a", ""), m("b", "")), nil},
		{"static restart", look(1, m("a", "i")), look(2, m("a2", "i")), nil},
		{"static lost", look(1, m("a", "i"), m("b", "j")), look(2, m("b", "j")), []string{"a"}},
		{"all gone", look(1, m("a", ""), m("b", "")), look(2), []string{"a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &groupRing{id: "g", coordinator: 3}
			if l := r.add(tc.first); l != nil {
				t.Errorf("the first look lost %v", l)
			}
			var got []string
			for _, l := range r.add(tc.second) {
				got = append(got, l.MemberID)
				if l.Group != "g" || l.Coordinator != 3 || !l.After.Equal(tc.first.At) || !l.By.Equal(tc.second.At) {
					t.Errorf("loss %+v", l)
				}
			}
			if !slices.Equal(got, tc.lost) {
				t.Errorf("lost %v, want %v", got, tc.lost)
			}
		})
	}
}

// While a coordinator does not answer, or has just moved, its groups are
// unknown, not lost.
func TestWatcherDoesNotInventLosses(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 3, kfake.SeedTopics(4, "t"))
		f.member("orders", "t")
		f.waitStable("orders", 1)
		w := f.watch(WatcherConfig{})
		time.Sleep(2 * time.Minute)
		node := f.c.CoordinatorFor("orders")
		f.silence(node, kmsg.ListGroups)
		time.Sleep(2 * time.Minute)
		m := w.memory(10*time.Minute, time.Now())
		if len(m.Losses) != 0 {
			t.Errorf("losses while the coordinator was silent: %+v", m.Losses)
		}
		if m.Status != diagnose.StatusPartial || !strings.Contains(m.Error, fmt.Sprintf("broker %d", node)) {
			t.Errorf("reading %+v", m.Reading)
		}
		f.unsilence(node, kmsg.ListGroups)
		time.Sleep(time.Minute)
		if m := w.memory(10*time.Minute, time.Now()); len(m.Losses) != 0 || !m.OK() {
			t.Errorf("after it came back: %+v", m)
		}
	})
}

// A group that no broker lists any more is gone, on the second list.
func TestWatcherSeesAGroupVanish(t *testing.T) {
	w := &Watcher{cfg: WatcherConfig{}.withDefaults(), groups: map[string]*groupRing{}, failed: map[int32]diagnose.Reading{}}
	w.metrics, _ = newWatcherMetrics("c", nil)
	now := time.Unix(1000, 0).UTC()
	w.cfg.Now = func() time.Time { return now }
	look := func(listed bool) {
		s := &sweep{at: now, brokers: []brokerSweep{{id: 1, list: ok("x", now)}}, groups: map[string]*groupLook{}}
		if listed {
			g := &groupLook{listedGroup: listedGroup{id: "g", coordinator: 1}, reading: ok("x", now)}
			g.snapshot = diagnose.GroupSnapshot{At: now, Until: now, State: "Stable", Epoch: -1, Members: []diagnose.Member{{ID: "m"}}}
			s.groups["g"] = g
		}
		w.apply(s)
		now = now.Add(10 * time.Second)
	}
	look(true)
	look(false)
	look(true) // only moving
	if len(w.losses) != 0 {
		t.Fatalf("lost %v", w.losses)
	}
	look(false)
	if len(w.losses) != 0 {
		t.Fatalf("lost on the first list without it: %v", w.losses)
	}
	look(false)
	if len(w.losses) != 1 || w.losses[0].MemberID != "m" || w.losses[0].By != time.Unix(1030, 0).UTC() {
		t.Fatalf("losses %+v", w.losses)
	}
	look(false)
	if len(w.losses) != 1 {
		t.Errorf("counted again: %+v", w.losses)
	}
	now = now.Add(2 * time.Hour)
	look(false)
	if len(w.groups) != 0 || len(w.losses) != 0 {
		t.Errorf("still remembered after two hours: %v %v", w.groups, w.losses)
	}
}

// The watch starts anew after a gap without any answer.
func TestWatcherKnowsSinceWhen(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1, kfake.SeedTopics(1, "t"))
		f.commit("g", "t", 1, 0)
		start := time.Now()
		w := f.watch(WatcherConfig{})
		time.Sleep(time.Minute)
		if got := w.memory(time.Hour, time.Now()).Since; got.Sub(start) > time.Second {
			t.Errorf("since %s, started %s", got, start)
		}
		var broken atomic.Bool
		broken.Store(true)
		f.c.ControlKey(kmsg.ListGroups.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			f.c.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.ListGroupsResponse)
			resp.ErrorCode = 15 // COORDINATOR_NOT_AVAILABLE
			return resp, nil, broken.Load()
		})
		time.Sleep(2 * time.Minute)
		if m := w.memory(time.Hour, time.Now()); m.Status != diagnose.StatusPartial {
			t.Errorf("reading in the gap: %+v", m.Reading)
		}
		healed := time.Now()
		broken.Store(false)
		time.Sleep(time.Minute)
		m := w.memory(time.Hour, time.Now())
		if m.Since.Before(healed) || !m.OK() {
			t.Errorf("since %s (%+v), healed %s", m.Since, m.Reading, healed)
		}
		if old := w.memory(time.Hour, start.Add(-time.Hour)); old.Status != diagnose.StatusEmpty {
			t.Errorf("a moment before the watch: %+v", old.Reading)
		}
	})
}

func TestWatcherBoundsGroups(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1, kfake.SeedTopics(1, "t"))
		for _, g := range names(20) {
			f.commit(g, "t", 1, 0)
		}
		w := f.watch(WatcherConfig{MaxGroups: 15})
		time.Sleep(time.Minute)
		m := w.memory(time.Hour, time.Now())
		if m.Status != diagnose.StatusPartial || !strings.Contains(m.Error, "5 groups") {
			t.Errorf("reading %+v", m.Reading)
		}
	})
}

func TestTwoWatchersShareARegistry(t *testing.T) {
	reg := prometheus.NewRegistry()
	for _, c := range []string{"a", "b"} {
		if _, err := NewWatcher(WatcherConfig{Cluster: c, Registerer: reg}, nil, quiet()); err != nil {
			t.Errorf("cluster %s: %v", c, err)
		}
	}
	if _, err := NewWatcher(WatcherConfig{Cluster: "a", Registerer: reg}, nil, quiet()); err == nil {
		t.Error("the same cluster twice was accepted")
	}
}

// Storms must not eat the memory: 2,000 groups that change at every look.
func TestWatcherMemoryInAStorm(t *testing.T) {
	w := &Watcher{cfg: WatcherConfig{}.withDefaults(), groups: map[string]*groupRing{}, failed: map[int32]diagnose.Reading{}}
	w.metrics, _ = newWatcherMetrics("c", nil)
	now := time.Unix(100000, 0).UTC()
	w.cfg.Now = func() time.Time { return now }
	for round := range 70 {
		s := &sweep{at: now, brokers: []brokerSweep{{id: 1, list: ok("x", now)}}, groups: map[string]*groupLook{}}
		for i := range 2000 {
			g := &groupLook{listedGroup: listedGroup{id: fmt.Sprintf("group-%d", i), coordinator: 1}, reading: ok("x", now), lagReading: ok("x", now)}
			g.snapshot = diagnose.GroupSnapshot{At: now, Until: now, State: "Stable", Epoch: -1}
			for m := range 5 {
				g.snapshot.Members = append(g.snapshot.Members, diagnose.Member{
					ID: fmt.Sprintf("consumer-group-%d-%d-%08d-0000-0000-000000000000", i, m, round), ClientID: "consumer-1", Host: "/10.1.2.3",
					Partitions: []diagnose.TopicPartition{tp("topic", int32(m))},
				})
			}
			s.groups[g.id] = g
		}
		w.apply(s)
		now = now.Add(10 * time.Second)
	}
	if n := w.entries(); n > maxEntries {
		t.Errorf("%d member slots, want at most %d", n, maxEntries)
	}
	if len(w.losses) > 2*maxLosses {
		t.Errorf("%d losses, want at most %d", len(w.losses), 2*maxLosses)
	}
	if r := w.reading(now); r.Status != diagnose.StatusPartial || !strings.Contains(r.Error, "memory reaches back") {
		t.Errorf("reading %+v", r)
	}
	if mb := heapMB(); mb > 48 {
		t.Errorf("heap of %d MB after the storm", mb)
	}
	runtime.KeepAlive(w)
}

func heapMB() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20
}

func TestRingSnapshotsOfASpan(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	r := &groupRing{id: "g"}
	for i, s := range []int{0, 100, 200} {
		r.add(diagnose.GroupSnapshot{At: at(s), Until: at(s + 50), State: fmt.Sprint(i)})
	}
	for _, tc := range []struct {
		from, to int
		want     string
	}{{0, 300, "012"}, {120, 300, "12"}, {160, 190, "1"}, {0, 150, "01"}, {250, 300, "2"}} {
		got := ""
		for _, s := range r.snapshots(at(tc.from), at(tc.to)) {
			got += s.State
			if s.Until.After(at(tc.to)) {
				t.Errorf("span %d–%d: snapshot until %s", tc.from, tc.to, s.Until)
			}
		}
		if got != tc.want {
			t.Errorf("span %d–%d: %q, want %q", tc.from, tc.to, got, tc.want)
		}
	}
	r.forget(at(180))
	if len(r.snaps) != 2 {
		t.Errorf("%d snapshots after forgetting, want the one in force and the last", len(r.snaps))
	}
}
