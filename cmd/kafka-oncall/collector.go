package main

import (
	"context"
	"fmt"
	"log/slog"

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
	kafka, err := collect.NewKafka(c.Kafka, log)
	if err != nil {
		return nil, fmt.Errorf("set up Kafka of cluster %s: %w", c.Name, err)
	}
	r := collect.RunnerConfig{Cluster: c.Name, Kafka: kafka, Window: c.Window, Budget: c.Budget, Now: a.now}
	if c.Prometheus.URL != "" {
		if r.Prometheus, err = collect.NewPrometheus(c.Prometheus, log); err != nil {
			return nil, fmt.Errorf("set up Prometheus of cluster %s: %w", c.Name, err)
		}
	}
	return collect.NewRunner(r, log), nil
}
