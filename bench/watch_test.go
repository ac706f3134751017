package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

const brokers, groups, partitions = 3, 2000, 12

// calls counts answered requests by broker.
type calls struct {
	mu sync.Mutex
	by map[int32]int
}

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (c *calls) OnBrokerE2E(meta kgo.BrokerMetadata, _ int16, _ kgo.BrokerE2E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[meta.NodeID]++
}

// take returns all requests and those to the busiest broker, and starts anew.
func (c *calls) take() (total, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.by {
		total, most = total+n, max(most, n)
	}
	clear(c.by)
	return total, most
}

// watch is what watching 2,000 groups costs. A sweep that describes every group
// and reads every lag stands beside kadm.Lag, which reads the same, and beside
// kadm group by group.
func watch(b *testing.B, bin string, t *table) {
	c, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, "t"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	count := &calls{by: map[int32]int{}}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.WithHooks(count))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cl.Close)
	adm := kadm.NewClient(cl)
	seed(b, adm)
	memory(b, bin, c.ListenAddrs(), t)

	sweep := hourOfSweeps(b, c.ListenAddrs())
	batched := peerLag(b, adm, count)
	single := peerEach(b, adm, count)
	target := fmt.Sprintf("requests ≤ 5 per broker + 2 (%d)", 5*brokers+2)
	b.ReportMetric(ms(quantile(sweep.took, 50)), "sweep-ms")
	t.add(fmt.Sprintf("full sweep, %d groups × %d partitions, %d brokers", groups, partitions, brokers), sweep.text(), "kadm.Lag "+batched.text(), ratio(quantile(sweep.took, 50), quantile(batched.took, 50)), target)
	t.add("", "", "kadm.Lag per group, 32 at once "+single.text(), ratio(quantile(sweep.took, 50), quantile(single.took, 50)), "")
	t.add("live heap added by an hour of full sweeps", fmt.Sprintf("%.1f MB", sweep.grownMB), "–", "–", "")
}

// cost is what looking at all groups took.
type cost struct {
	took []time.Duration
	// total and most are requests per look: all, and to the busiest broker.
	total, most float64
	grownMB     float64
}

func (c cost) text() string {
	return fmt.Sprintf("p50 %.1f ms, worst %.1f ms (n=%d), %.1f requests, %.1f to one broker", ms(quantile(c.took, 50)), ms(quantile(c.took, 100)), len(c.took), c.total, c.most)
}

func seed(b *testing.B, adm *kadm.Client) {
	for g := range groups {
		var os kadm.Offsets
		for p := range int32(partitions) {
			os.AddOffset("t", p, 0, -1)
		}
		if _, err := adm.CommitOffsets(b.Context(), fmt.Sprintf("group-%04d", g), os); err != nil {
			b.Fatal(err)
		}
	}
}

// memory is the resident memory of a whole bot, in a process of its own.
func memory(b *testing.B, bin string, bootstrap []string, t *table) {
	srv := httptest.NewServer(promstore.NewServer(promstore.New(), time.Now))
	defer srv.Close()
	p := serve(b, bin, "c", bootstrap, srv.URL)
	await(b, "five sweeps over all groups", func() bool {
		return p.metric(b, `kafka_oncall_watcher_groups\{[^}]*\}`) == groups && p.metric(b, `kafka_oncall_watcher_sweep_duration_seconds_count\{[^}]*\}`) >= 5
	})
	with := p.rssMB(b)
	stop(p.cmd)
	empty, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, "t"))
	if err != nil {
		b.Fatal(err)
	}
	defer empty.Close()
	p = serve(b, bin, "c", empty.ListenAddrs(), srv.URL)
	await(b, "five sweeps over no groups", func() bool {
		return p.metric(b, `kafka_oncall_watcher_sweep_duration_seconds_count\{[^}]*\}`) >= 5
	})
	without := p.rssMB(b)
	stop(p.cmd)
	b.ReportMetric(with, "rss-MB")
	t.add(fmt.Sprintf("resident memory of the whole bot, %d groups, five sweeps", groups), fmt.Sprintf("%.0f MB", with), fmt.Sprintf("the same bot, no groups: %.0f MB", without), fmt.Sprintf("%.2f×", with/without), "≤ 64 MB")
}

// hourOfSweeps runs the watcher on a clock 600 times as fast, so that each tick
// of 100 ms is a minute and every sweep describes all groups and reads all lag.
// It ends after 60 warm sweeps.
func hourOfSweeps(b *testing.B, bootstrap []string) cost {
	const fast = 600
	count := &calls{by: map[int32]int{}}
	k, err := collect.NewKafkaWith(collect.KafkaConfig{BootstrapServers: bootstrap}, slog.New(slog.DiscardHandler), collect.KafkaOptions{Hooks: []kgo.Hook{count}})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	began, registry := time.Now(), prometheus.NewRegistry()
	w, err := collect.NewWatcher(collect.WatcherConfig{
		Cluster: "c", Interval: time.Minute, Tick: 100 * time.Millisecond, FullInterval: time.Second, LagInterval: time.Second, Registerer: registry,
		Now: func() time.Time { return began.Add(time.Since(began) * fast) },
	}, k, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var g errgroup.Group
	g.Go(func() error { return w.Run(ctx) })
	done := uint64(0)
	sum := 0.0
	var out cost
	var before uint64
	await(b, "an hour of sweeps", func() bool {
		n, s := swept(b, registry)
		switch {
		case n > done && done > 0:
			out.took = append(out.took, time.Duration((s-sum)/float64(n-done)/fast*float64(time.Second)))
		case n > done: // the first one connects
			count.take()
			before = live()
		}
		done, sum = n, s
		return n >= 61
	})
	cancel()
	_ = g.Wait()
	total, most := count.take()
	out.total, out.most = float64(total)/float64(done-1), float64(most)/float64(done-1)
	out.grownMB = (float64(live()) - float64(before)) / (1 << 20)
	runtime.KeepAlive(w)
	return out
}

// live is the heap in use after a collection.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// swept reads number and total seconds of the sweeps.
func swept(b *testing.B, r *prometheus.Registry) (uint64, float64) {
	families, err := r.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "kafka_oncall_watcher_sweep_duration_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	return 0, 0
}

func peerLag(b *testing.B, adm *kadm.Client, count *calls) cost {
	look := func() {
		lags, err := adm.Lag(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if len(lags) != groups {
			b.Fatalf("kadm saw %d groups", len(lags))
		}
	}
	look() // connections and metadata, as the watcher's first sweep
	count.take()
	var out cost
	for range 20 {
		start := time.Now()
		look()
		out.took = append(out.took, time.Since(start))
	}
	total, most := count.take()
	out.total, out.most = float64(total)/20, float64(most)/20
	return out
}

func peerEach(b *testing.B, adm *kadm.Client, count *calls) cost {
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(32)
	start := time.Now()
	for n := range groups {
		g.Go(func() error {
			_, err := adm.Lag(ctx, fmt.Sprintf("group-%04d", n))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	out := cost{took: []time.Duration{time.Since(start)}}
	total, most := count.take()
	out.total, out.most = float64(total), float64(most)
	return out
}
