package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func TestCollectThePast(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		w := f.watch(WatcherConfig{})
		victim := f.member("orders", "t")
		f.waitStable("orders", 2)
		time.Sleep(5 * time.Minute)
		then := time.Now()
		time.Sleep(5 * time.Minute)
		victim.Close()
		time.Sleep(2 * time.Minute)

		req := diagnose.Request{Target: diagnose.Target{Group: "orders"}, At: then}
		e := f.collect(f.runner(nil, w), req)
		g := e.Groups[0]
		if !e.At.Equal(then) || len(e.Watcher.Losses) != 0 {
			t.Errorf("evidence of %s, want %s; losses %+v", e.At, then, e.Watcher.Losses)
		}
		if last := g.Snapshots[len(g.Snapshots)-1]; len(last.Members) != 2 || last.Until.After(then) || !g.OK() {
			t.Errorf("%+v: last snapshot %+v, want the two members of then", g.Reading, last)
		}
		if n := len(g.Lag); n == 0 || g.Lag[n-1].At.After(then) || !g.LagReading.OK() {
			t.Errorf("lag %+v %+v", g.LagReading, g.Lag)
		}
		e = f.collect(f.runner(nil, nil), req)
		g = e.Groups[0]
		if g.Status != diagnose.StatusPartial || g.Error != presentOnly || g.LagReading.Status != diagnose.StatusUnsupported || len(g.Lag) != 0 {
			t.Errorf("without a watcher: %+v, lag %+v", g.Reading, g.LagReading)
		}
		if e.GroupsReading.Status != diagnose.StatusPartial || e.GroupsReading.Error != presentOnly {
			t.Errorf("groups %+v", e.GroupsReading)
		}
	})
}

// A tight budget still gives two looks, and says what they are worth.
func TestCollectInLittleTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		r := NewRunner(RunnerConfig{Cluster: "c1", Kafka: f.k, Budget: 3 * time.Second}, quiet())
		g := f.collect(r, diagnose.Request{Target: diagnose.Target{Group: "orders"}}).Groups[0]
		if len(g.Lag) != 2 || g.LagReading.Status != diagnose.StatusPartial || !strings.Contains(g.LagReading.Error, "1.5 s apart") {
			t.Errorf("lag %+v, %+v", g.Lag, g.LagReading)
		}
		r.cfg.Budget = time.Second
		g = f.collect(r, diagnose.Request{Target: diagnose.Target{Group: "orders"}}).Groups[0]
		if len(g.Lag) != 1 || g.LagReading.Status != diagnose.StatusPartial || !strings.Contains(g.LagReading.Error, "one look") {
			t.Errorf("lag %+v, %+v", g.Lag, g.LagReading)
		}
	})
}
