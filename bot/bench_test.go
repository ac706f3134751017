package bot

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// BenchmarkWebhookAck measures the time to a 200, at a paced rate, while
// diagnoses run. Target: p99 ≤ 10 ms. One iteration is one second of posts.
func BenchmarkWebhookAck(b *testing.B) {
	for _, perSecond := range []int{100, 500} {
		b.Run(map[int]string{100: "100_per_second", 500: "500_per_second"}[perSecond], func(b *testing.B) { benchAck(b, perSecond) })
	}
}

func benchAck(b *testing.B, perSecond int) {
	set, err := playbooks.Default()
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{slack: &tinySlack{}, oracle: &oracle{}}
	r.oracle.after(300*time.Millisecond, diagnose.CacheThrash, diagnose.Likely)
	cfg := DefaultConfig()
	cfg.Listen, cfg.Channel, cfg.Store = "", "#kafka", filepath.Join(b.TempDir(), "bot.db")
	r.server, err = New(cfg, Deps{Diagnoser: r.oracle, Poster: r.slack, Responder: r.slack, Playbooks: set, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.server.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.server.Stop(context.Background()) }()
	bodies := make([]string, 20)
	for i := range bodies {
		bodies[i] = webhook(one{name: "KafkaFetchSessionErrors", labels: map[string]string{"broker_id": string(rune('0' + i))}, starts: time.Now()})
	}
	b.ResetTimer()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for n := range b.N * perSecond {
		<-tick.C
		wg.Go(func() {
			start := time.Now()
			code := r.post(bodies[n%len(bodies)])
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(start))
			if code != 200 {
				b.Errorf("answered %d", code)
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
