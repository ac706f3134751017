package collect

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
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
	// Loki may be nil: logs are then "skipped".
	Loki *Loki
	// Watcher may be nil (one-shot command): the group is then looked at twice
	// within the budget instead.
	Watcher *Watcher
	// Window is the span to judge when the request names none; default 10 min,
	// never under 1 min. The fetch-session rules judge at least 6 min whatever it
	// is (three waves of 120 s); samples reach back that far.
	Window time.Duration
	// Budget is the time for one collection; default 10 s.
	Budget time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
}

const (
	defaultWindow = 10 * time.Minute
	minWindow     = time.Minute
	defaultBudget = 10 * time.Second
	// metricsMargin is how far before the window samples are read: counters
	// need a value from before it, and a restart burst its broker's start.
	metricsMargin = 10 * time.Minute
	// pastAfter is the age from which a requested moment is the past, which the
	// admin API does not know.
	pastAfter = 30 * time.Second
)

// Runner fills an Evidence from all sources within one time budget. It is safe
// for concurrent use.
type Runner struct {
	cfg     RunnerConfig
	log     *slog.Logger
	metrics metricsReader // nil = none configured

	mu   sync.Mutex
	topo *topology // the last one read, for when Kafka does not answer
}

// metricsReader is what the runner needs of [Prometheus]: its four questions.
type metricsReader interface {
	Brokers(ctx context.Context, at time.Time, rng time.Duration, known []BrokerInfo) PrometheusResult
	Clients(ctx context.Context, at time.Time, rng time.Duration, clientIDs []string) (diagnose.Reading, []diagnose.Client)
	Groups(ctx context.Context, at time.Time, rng time.Duration, ids []string) diagnose.ExportedGroups
	Pods(ctx context.Context, at time.Time, rng time.Duration, hosts, names []string) (diagnose.Reading, []diagnose.Pod)
}

// NewRunner prepares a Runner.
func NewRunner(cfg RunnerConfig, log *slog.Logger) *Runner {
	if cfg.Window <= 0 {
		cfg.Window = defaultWindow
	}
	if cfg.Budget <= 0 {
		cfg.Budget = defaultBudget
	}
	cfg.Now = clock(cfg.Now)
	r := &Runner{cfg: cfg, log: log.With("component", "collect", "cluster", cfg.Cluster)}
	if cfg.Prometheus != nil {
		r.metrics = cfg.Prometheus
	}
	return r
}

// Collect reads what the request asks for within the budget. It never fails:
// what could not be read is a Reading. Metrics and the offsets topic are read
// as of the requested moment; what the admin API says about a past moment is
// marked as the present.
func (r *Runner) Collect(ctx context.Context, req diagnose.Request) diagnose.Evidence {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Budget)
	defer cancel()
	c := r.newCollection(req)
	c.run(ctx)
	return c.evidence()
}

// question is a request with its gaps filled.
type question struct {
	diagnose.Request
	sp   span
	past bool
	// metricsRange is how far back samples are read.
	metricsRange time.Duration
}

func (r *Runner) newCollection(req diagnose.Request) *collection {
	now := r.cfg.Now()
	q := question{Request: req}
	if q.Window <= 0 {
		q.Window = r.cfg.Window
	}
	q.Window = max(q.Window, minWindow)
	if q.At.IsZero() || q.At.After(now) {
		q.At = now
	}
	q.At = q.At.UTC().Truncate(time.Millisecond)
	q.past = now.Sub(q.At) > pastAfter
	q.sp = span{from: q.At.Add(-q.Window), to: q.At}
	q.metricsRange = q.Window + metricsMargin
	if q.Target.Cluster == "" {
		q.Target.Cluster = r.cfg.Cluster
	}
	return &collection{r: r, q: q, now: r.cfg.Now}
}

// remember keeps the topology for the next collection.
func (r *Runner) remember(t *topology) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.topo = t
}

// known is the last topology, the watcher's or the runner's, nil if none.
func (r *Runner) known() *topology {
	if r.cfg.Watcher != nil {
		if t := r.cfg.Watcher.topology(); t != nil {
			return t
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.topo
}

// section is the result of one source that is still on its way.
type section[T any] struct {
	ch   chan T
	fail func(failure) T
}

// begin reads one section beside the others. A panic in it becomes a failed
// reading; the stack goes to the log.
func begin[T any](r *Runner, name string, fail func(failure) T, read func() T) section[T] {
	s := section[T]{ch: make(chan T, 1), fail: fail}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				r.log.Error("section panicked", "section", name, "panic", p, "stack", string(debug.Stack()))
				s.ch <- fail(failure{status: diagnose.StatusFailed, text: "an internal fault, see the bot's log"})
			}
		}()
		s.ch <- read()
	}()
	return s
}

// never is a section that was not asked for.
func never[T any](v T) section[T] {
	s := section[T]{ch: make(chan T, 1)}
	s.ch <- v
	return s
}

// errOverBudget ends a section that does not heed its context.
var errOverBudget = errors.New("over the time budget")

// wait returns the section, or its failure when the budget is over.
func (s section[T]) wait(ctx context.Context) T {
	select {
	case v := <-s.ch:
		return v
	case <-ctx.Done():
	}
	select {
	case v := <-s.ch:
		return v
	default:
		return s.fail(failure{status: diagnose.StatusTimeout, text: errOverBudget.Error()})
	}
}

// reserve is the part of the budget that is kept back from the sources, so that
// they end in their own words before the budget does.
func (r *Runner) reserve() time.Duration { return r.cfg.Budget / 20 }

// inner is the context for the sources.
func (r *Runner) inner(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-r.reserve()))
}
