package collect

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// WatcherConfig sets up a [Watcher].
type WatcherConfig struct {
	// Cluster is the label value of its metrics.
	Cluster string
	// Interval is the time between two lists of all groups; default 10 s.
	Interval time.Duration
	// Tick is the real time of an interval; default Interval. The demo plays
	// faster than the clock on the wall.
	Tick time.Duration
	// FullInterval is the longest time after which a group is described anew
	// though nothing seems to have changed; default 1 min. A rebalance that is
	// over between two lists leaves no trace in them, so this bounds how
	// precisely a loss is dated.
	FullInterval time.Duration
	// LagInterval is the time between two lag points; default 1 min.
	LagInterval time.Duration
	// Keep is the memory's length; default 60 min.
	Keep time.Duration
	// MaxGroups bounds the groups that are kept; default 5,000.
	MaxGroups int
	// Registerer takes the metrics; nil = none are exported.
	Registerer prometheus.Registerer
	// Now is the clock; default time.Now.
	Now func() time.Time
}

func (c WatcherConfig) withDefaults() WatcherConfig {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&c.Interval, 10*time.Second)
	set(&c.Tick, c.Interval)
	set(&c.FullInterval, time.Minute)
	set(&c.LagInterval, time.Minute)
	set(&c.Keep, time.Hour)
	if c.MaxGroups <= 0 {
		c.MaxGroups = 5000
	}
	c.Now = clock(c.Now)
	return c
}

// clock gives the moments of an evidence: UTC, without the monotonic part, to
// the millisecond as Kafka and Prometheus have them.
func clock(now func() time.Time) func() time.Time {
	if now == nil {
		now = time.Now
	}
	return func() time.Time { return now().UTC().Truncate(time.Millisecond) }
}

const (
	// maxEntries bounds the member slots in memory, about 150 B each.
	maxEntries = 100_000
	// maxLosses is the number of losses that are remembered at least; twice as
	// many at most.
	maxLosses = 2000
	// gapFactor times the interval without any answer is a gap in the watch.
	gapFactor = 3
	// goneAfter is the number of complete lists without a group after which it
	// is believed to be gone: while a coordinator moves, nobody lists a group
	// for a moment.
	goneAfter = 2
)

// Watcher remembers what the groups of one cluster did in the last hour. A
// diagnosis starts a minute or two after the event and the admin API only knows
// the present; this is the memory in between. It starts empty after a restart
// and says from when on it has watched.
//
// Every interval it lists the groups of each broker and describes those that
// are new, not settled, or listed in another state than last time; every full
// interval it describes all of them, and every lag interval it reads the lag.
// One failing broker costs only the groups it coordinates.
type Watcher struct {
	cfg     WatcherConfig
	k       *Kafka
	log     *slog.Logger
	metrics *watcherMetrics

	// These belong to the goroutine of Run.
	topo              *topology
	lastFull, lastLag time.Time
	staleTopo         bool

	mu sync.Mutex
	// since is when the watch without a gap began; looked is the last time any
	// broker answered.
	since, looked time.Time
	groups        map[string]*groupRing
	losses        []diagnose.Loss
	failed        map[int32]diagnose.Reading // brokers that did not list
	overflow      int                        // groups beyond MaxGroups
	shortened     time.Time                  // memory was cut to this moment
	lastTopo      *topology                  // for readers
}

// NewWatcher prepares a watcher and registers its metrics. Run starts it.
func NewWatcher(cfg WatcherConfig, k *Kafka, log *slog.Logger) (*Watcher, error) {
	cfg = cfg.withDefaults()
	m, err := newWatcherMetrics(cfg.Cluster, cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering the watcher's metrics for cluster %s: %w", cfg.Cluster, err)
	}
	return &Watcher{
		cfg: cfg, k: k, log: log.With("component", "watcher", "cluster", cfg.Cluster), metrics: m,
		groups: map[string]*groupRing{}, failed: map[int32]diagnose.Reading{},
	}, nil
}

// Run watches until the context ends. It returns nil then; nothing else ends it.
func (w *Watcher) Run(ctx context.Context) error {
	tick := time.NewTicker(w.cfg.Tick)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look does one round within one interval, or a little more where the interval
// is short.
func (w *Watcher) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(w.cfg.Interval, 5*time.Second))
	defer cancel()
	start := w.cfg.Now()
	s, err := w.sweep(ctx, start)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	w.metrics.swept(s, err, w.cfg.Now().Sub(start))
	if err != nil {
		w.log.Warn("groups could not be listed", "error", err)
		return
	}
	w.apply(s)
}

func (w *Watcher) sweep(ctx context.Context, now time.Time) (*sweep, error) {
	full := now.Sub(w.lastFull) >= w.cfg.FullInterval
	lag := now.Sub(w.lastLag) >= w.cfg.LagInterval
	want := sweepWant{describe: func(g listedGroup) bool { return full || w.changed(g) }}
	if lag {
		want.offsets = func(listedGroup) bool { return true }
	}
	if w.topo != nil && !full && !lag && !w.staleTopo {
		return w.k.sweepGroups(ctx, w.topo, want, w.cfg.Now), nil
	}
	s, err := w.k.sweepAll(ctx, w.topo, want, w.cfg.Now)
	if err != nil {
		return nil, err
	}
	w.topo = s.topo
	if full {
		w.lastFull = now
	}
	if lag {
		w.lastLag = now
	}
	return s, nil
}

// changed says whether a listed group has to be described.
func (w *Watcher) changed(g listedGroup) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.groups[g.id]
	if r == nil || r.last() == nil || r.coordinator != g.coordinator || r.missed > 0 {
		return true
	}
	switch g.state {
	case "Stable", "Empty", "Dead":
		return r.last().State != g.state
	}
	return true // rebalancing, or a broker that lists no states
}

// apply takes a sweep into the memory.
func (w *Watcher) apply(s *sweep) {
	now := w.cfg.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastTopo = s.topo
	complete := w.noteBrokers(s, now)
	ids := make([]string, 0, len(s.groups))
	for id := range s.groups {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	w.overflow = 0
	for _, id := range ids {
		w.applyGroup(s.groups[id])
	}
	if complete {
		w.noteMissing(s, now)
	}
	w.forget(now)
	w.metrics.groups.Set(float64(len(w.groups)))
}

// noteBrokers keeps track of failing brokers and of gaps. It reports whether
// every broker listed its groups.
func (w *Watcher) noteBrokers(s *sweep, now time.Time) bool {
	clear(w.failed)
	for _, b := range s.brokers {
		if !b.list.OK() {
			w.failed[b.id] = b.list
		}
	}
	w.staleTopo = len(w.failed) > 0
	if len(w.failed) == len(s.brokers) {
		return false
	}
	if w.looked.IsZero() || now.Sub(w.looked) > gapFactor*w.cfg.Interval {
		w.since = now
	}
	w.looked = now
	return len(w.failed) == 0
}

func (w *Watcher) applyGroup(g *groupLook) {
	r := w.groups[g.id]
	if r == nil {
		if len(w.groups) >= w.cfg.MaxGroups {
			w.overflow++
			return
		}
		r = &groupRing{id: g.id}
		w.groups[g.id] = r
		w.metrics.seen(g.id)
	}
	r.coordinator, r.missed = g.coordinator, 0
	if g.protocol != "" {
		r.protocol = g.protocol
	}
	if g.protocolType != "" {
		r.protocolType = g.protocolType
	}
	if g.reading.Known() != diagnose.StatusSkipped {
		r.reading = g.reading
	}
	if g.reading.OK() {
		w.lose(r.add(g.snapshot))
	}
	if g.lagReading.Known() != diagnose.StatusSkipped {
		r.addLag(g.lag, g.lagReading)
	}
}

// noteMissing finds groups that no broker lists any more.
func (w *Watcher) noteMissing(s *sweep, now time.Time) {
	for id, r := range w.groups {
		if s.groups[id] != nil {
			continue
		}
		if r.missed == 0 {
			r.missedAt = now
		}
		r.missed++
		if r.missed == goneAfter {
			w.lose(r.add(diagnose.GroupSnapshot{At: r.missedAt, Until: now, State: "Dead", Epoch: -1}))
		}
	}
}

func (w *Watcher) lose(losses []diagnose.Loss) {
	for _, l := range losses {
		w.losses = append(w.losses, l)
		w.metrics.lost(l.Group)
	}
	// Twice the limit before it is cut: a copy for each loss would be quadratic.
	if len(w.losses) > 2*maxLosses {
		w.losses = append([]diagnose.Loss(nil), w.losses[len(w.losses)-maxLosses:]...)
	}
}

// forget drops what is older than the memory's length, and more when there is
// too much of it.
func (w *Watcher) forget(now time.Time) {
	cut := now.Add(-w.cfg.Keep)
	w.forgetBefore(cut)
	for id, r := range w.groups {
		if r.missed >= goneAfter && r.missedAt.Before(cut) {
			delete(w.groups, id)
			w.metrics.forget(id)
		}
	}
	if w.shortened.Before(cut) {
		w.shortened = time.Time{}
	}
	if w.entries() <= maxEntries {
		return
	}
	// Down to three quarters, so that not every look has to cut.
	for keep := w.cfg.Keep * 3 / 4; w.entries() > maxEntries*3/4 && keep > w.cfg.Interval; keep = keep * 3 / 4 {
		w.shortened = now.Add(-keep)
		for _, r := range w.groups {
			r.forget(w.shortened)
		}
	}
}

func (w *Watcher) forgetBefore(cut time.Time) {
	for _, r := range w.groups {
		r.forget(cut)
	}
	n := 0
	for n < len(w.losses) && w.losses[n].By.Before(cut) {
		n++
	}
	w.losses = w.losses[n:]
}

func (w *Watcher) entries() int {
	n := 0
	for _, r := range w.groups {
		n += r.entries()
	}
	return n
}
