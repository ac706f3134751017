package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
)

// collector reads evidence. collect.Runner is the real one.
type collector interface {
	Collect(ctx context.Context, r diagnose.Request) diagnose.Evidence
}

// newCollector builds the clients of one cluster for a single diagnosis. They
// connect when they are used and end with the process.
func newCollector(c clusterConfig, a *app) (collector, error) {
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	r, err := runnerConfig(c, log, a.now)
	if err != nil {
		return nil, err
	}
	return collect.NewRunner(r, log), nil
}

// runnerConfig builds the clients of a cluster; nothing connects yet. The caller
// closes Kafka.
func runnerConfig(c clusterConfig, log *slog.Logger, now func() time.Time) (collect.RunnerConfig, error) {
	kafka, err := collect.NewKafka(c.Kafka, log)
	if err != nil {
		return collect.RunnerConfig{}, fmt.Errorf("set up Kafka of cluster %s: %w", c.Name, err)
	}
	r := collect.RunnerConfig{Cluster: c.Name, Kafka: kafka, Window: c.Window, Budget: c.Budget, Now: now}
	if c.Prometheus.URL != "" {
		if r.Prometheus, err = collect.NewPrometheus(c.Prometheus, log); err != nil {
			kafka.Close()
			return collect.RunnerConfig{}, fmt.Errorf("set up Prometheus of cluster %s: %w", c.Name, err)
		}
	}
	if c.Loki.URL != "" {
		if r.Loki, err = collect.NewLoki(c.Loki); err != nil {
			kafka.Close()
			return collect.RunnerConfig{}, fmt.Errorf("set up Loki of cluster %s: %w", c.Name, err)
		}
	}
	return r, nil
}
