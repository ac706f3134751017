package main

import (
	"context"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
)

// sites are the clusters that the server looks after. It is the bot's
// Diagnoser: the one place where collecting and classifying meet.
type sites struct {
	byName map[string]*site
	names  []string
	limits diagnose.Limits
	log    *slog.Logger
}

// site is one cluster with its clients.
type site struct {
	name    string
	kafka   *collect.Kafka
	runner  *collect.Runner
	watcher *collect.Watcher
	// instances maps scrape targets to broker ids, as the last look found them.
	mu        sync.Mutex
	instances map[string]int32
}

// openSites builds the clients; nothing connects yet.
func openSites(cfg config, registry prometheus.Registerer, log *slog.Logger, now func() time.Time) (*sites, error) {
	s := &sites{byName: map[string]*site{}, limits: cfg.Limits, log: log}
	for _, c := range cfg.Clusters {
		one, err := openSite(c, registry, log, now)
		if err != nil {
			s.close()
			return nil, err
		}
		s.byName[c.Name] = one
		s.names = append(s.names, c.Name)
	}
	sort.Strings(s.names)
	return s, nil
}

func openSite(c clusterConfig, registry prometheus.Registerer, log *slog.Logger, now func() time.Time) (*site, error) {
	log = log.With("cluster", c.Name)
	r, err := runnerConfig(c, log, now)
	if err != nil {
		return nil, err
	}
	r.Watcher, err = collect.NewWatcher(collect.WatcherConfig{
		Cluster: c.Name, Interval: c.Watch.Interval, FullInterval: c.Watch.Full, Tick: c.Watch.tick, Registerer: registry, Now: now,
	}, r.Kafka, log)
	if err != nil {
		r.Kafka.Close()
		return nil, err
	}
	return &site{name: c.Name, kafka: r.Kafka, watcher: r.Watcher, runner: collect.NewRunner(r, log), instances: map[string]int32{}}, nil
}

func (s *sites) close() {
	for _, name := range s.names {
		s.byName[name].kafka.Close()
	}
}

// warmEvery is how often a site looks at its brokers unasked, so that alerts
// that name a scrape target find their broker at once.
const warmEvery = 5 * time.Minute

// watch runs the watchers until the context ends.
func (s *sites) watch(ctx context.Context, g *errgroup.Group) {
	for _, name := range s.names {
		one := s.byName[name]
		g.Go(func() error { return one.watcher.Run(ctx) })
		g.Go(func() error {
			one.warm(ctx)
			return nil
		})
	}
}

func (o *site) warm(ctx context.Context) {
	tick := time.NewTicker(warmEvery)
	defer tick.Stop()
	for {
		o.learn(o.runner.Collect(ctx, diagnose.Request{Target: diagnose.Target{Cluster: o.name}}))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// learn remembers which scrape target is which broker.
func (o *site) learn(e diagnose.Evidence) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range e.Brokers {
		if !b.Identity.Usable() {
			continue
		}
		for _, m := range b.Signals {
			for _, series := range m.Series {
				if instance := series.Labels["instance"]; instance != "" {
					o.instances[instance] = b.ID
				}
			}
		}
	}
}

// Diagnose implements bot.Diagnoser.
func (s *sites) Diagnose(ctx context.Context, r diagnose.Request) (diagnose.Evidence, diagnose.Diagnosis, error) {
	if r.Target.Cluster == "" && len(s.names) == 1 {
		r.Target.Cluster = s.names[0]
	}
	one, ok := s.byName[r.Target.Cluster]
	if !ok {
		return diagnose.Evidence{}, diagnose.Diagnosis{}, unknownCluster(r.Target.Cluster, s.names)
	}
	e := one.runner.Collect(ctx, r)
	one.learn(e)
	return e, diagnose.Classify(e, s.limits), nil
}

// brokerOf resolves the scrape target of an alert.
func (s *sites) brokerOf(cluster, instance string) (int32, bool) {
	one, ok := s.byName[cluster]
	if !ok {
		return 0, false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	id, ok := one.instances[instance]
	return id, ok
}
