package collect

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// PrometheusResult is what Prometheus says about the brokers of one cluster.
type PrometheusResult struct {
	// Source says which dialect was read, and how well.
	Source diagnose.MetricsSource
	// Brokers holds one entry for each known broker, sorted by id, with ID,
	// Identity, Signals and Software filled. With no broker known (the admin API
	// did not answer), it holds the brokers that the series name.
	Brokers []diagnose.Broker
	// Connections is the number of client connections by broker id: all
	// listeners but those of controllers and replication. Where followers use the
	// clients' listener they are in it, so it is an upper bound. A broker that
	// does not export it is not in the map.
	Connections map[int32]int
}

// Prometheus reads broker and client series of one cluster through the
// Prometheus HTTP API: at most seven queries for the brokers (six once the
// dialect is known; two more, once, where the exporter's configuration is not) and one for the clients. It is safe for concurrent use.
type Prometheus struct {
	set       settings
	api       v1.API
	transport *transport
	log       *slog.Logger
	dialects  []dialect

	mu sync.Mutex
	// dialect is the one that was found last, nil before.
	dialect *dialect
}

// NewPrometheus checks the configuration and prepares the client. It does not
// connect. Its error names each wrong key.
func NewPrometheus(cfg PrometheusConfig, log *slog.Logger) (*Prometheus, error) {
	set, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("prometheus configuration: %w", err)
	}
	base, err := config.NewRoundTripperFromConfig(set.http, "kafka-oncall")
	if err != nil {
		return nil, fmt.Errorf("prometheus configuration: http_client: %w", err)
	}
	t := &transport{next: base, maxBody: set.maxBody, pause: retryPause}
	client, err := api.NewClient(api.Config{Address: set.base.String(), RoundTripper: t})
	if err != nil {
		return nil, fmt.Errorf("prometheus configuration: url: %w", err)
	}
	p := &Prometheus{set: set, api: v1.NewAPI(client), transport: t, log: log, dialects: dialects()}
	for _, d := range p.dialects {
		if _, err := plan(d, set.overrides); err != nil {
			return nil, fmt.Errorf("prometheus dialects: %w", err)
		}
	}
	return p, nil
}

// Stats returns the counters since the start.
func (p *Prometheus) Stats() PrometheusStats {
	return PrometheusStats{
		Requests: p.transport.requests.Load(), Retries: p.transport.retries.Load(), Bytes: p.transport.bytes.Load(),
	}
}

// Brokers reads all broker signals as raw samples ending at `at`, reaching back
// rng, and matches the series to the brokers the admin API knows. It never
// fails as a whole: what could not be read says so in its Reading.
func (p *Prometheus) Brokers(ctx context.Context, at time.Time, rng time.Duration, known []BrokerInfo) PrometheusResult {
	began := time.Now()
	rng = max(rng.Round(time.Second), time.Minute)
	look := look{at: at, rng: rng, known: known}
	res := p.brokers(ctx, look)
	res.Source.Selector = p.set.cluster.String()
	res.Source.RangeSeconds = int(rng.Seconds())
	res.Source.DurationMS = time.Since(began).Milliseconds()
	return res
}

// look is one question: which moment, how far back, about whom.
type look struct {
	at    time.Time
	rng   time.Duration
	known []BrokerInfo
}

func (p *Prometheus) brokers(ctx context.Context, l look) PrometheusResult {
	d, cached, failed := p.resolveDialect(ctx, l)
	if failed != nil {
		return nothing(*failed, l.known)
	}
	r := p.read(ctx, d, l)
	if cached && r.silent() {
		// The exporter may have been reconfigured since.
		p.forget()
		if d, _, failed = p.resolveDialect(ctx, l); failed != nil {
			return nothing(*failed, l.known)
		}
		r = p.read(ctx, d, l)
	}
	return p.assemble(r, l)
}

// resolveDialect returns the cluster's dialect, from memory if it was found
// before. A reading is returned instead where none can be used.
func (p *Prometheus) resolveDialect(ctx context.Context, l look) (d dialect, cached bool, failed *diagnose.Reading) {
	if p.set.dialect != nil {
		return *p.set.dialect, false, nil
	}
	p.mu.Lock()
	known := p.dialect
	p.mu.Unlock()
	if known != nil {
		return *known, true, nil
	}
	sel := probe(p.dialects).and(p.set.cluster)
	by := strings.Join(append([]string{model.MetricNameLabel}, clusterSpellings()...), ", ")
	a := p.ask(ctx, "count by ("+by+") (last_over_time("+sel.overRange(l.rng)+"))", l.at)
	if !a.reading.Usable() {
		return dialect{}, false, &a.reading
	}
	d, failed = p.choose(ctx, a, l.at)
	if failed != nil {
		return d, false, failed
	}
	p.mu.Lock()
	p.dialect = &d
	p.mu.Unlock()
	p.log.Info("metric dialect found", "dialect", d.name)
	return d, false, nil
}

// choose reads the probe's answer. Without a selector it must come from one
// cluster: two clusters with different exporters would otherwise read as the
// bigger one.
func (p *Prometheus) choose(ctx context.Context, a answer, at time.Time) (dialect, *diagnose.Reading) {
	counts := map[string]float64{}
	var ts []*target
	for _, s := range a.vector {
		counts[string(s.Metric[model.MetricNameLabel])] += float64(s.Value)
		ts = append(ts, &target{labels: targetLabels(s.Metric)})
	}
	r := a.reading
	if len(p.set.cluster.match) == 0 {
		if text, hint := mixed(ts, families(p.dialects, counts)); text != "" {
			r.Status, r.Error, r.Hint = diagnose.StatusFailed, text, hint
			return dialect{}, &r
		}
	}
	d, ok := pick(p.dialects, counts)
	if !ok {
		return p.chooseUnknown(ctx, a.reading, at)
	}
	if f := families(p.dialects, counts); len(f) > 1 {
		d.note = "The brokers use more than one exporter configuration; only the one of most series is read"
	}
	return d, nil
}

// chooseUnknown is for a cluster without any series of a known exporter
// configuration: the HELP texts may tell which series is which.
func (p *Prometheus) chooseUnknown(ctx context.Context, r diagnose.Reading, at time.Time) (dialect, *diagnose.Reading) {
	d, ok, meta := p.helped(ctx, at)
	switch {
	case ok:
		return d, nil
	case len(p.set.overrides) > 0:
		return custom(), nil
	}
	r.Status = diagnose.StatusEmpty
	r.Hint = "No request metrics of a Kafka broker match prometheus.selector. Check the selector, the scrape job, and that the JMX exporter's rules keep kafka.network RequestMetrics."
	if !meta.Usable() {
		r.Hint += " The HELP texts, which could tell an unknown exporter configuration, were not read: " + meta.Known().Words() + "."
	}
	return d, &r
}

func (p *Prometheus) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialect = nil
}

// raw is what one look got.
type raw struct {
	dialect dialect
	batches []batch
	answers []answer
	census  census
	targets []*target
}

// silent reports that Prometheus answered everything and had no broker.
func (r raw) silent() bool {
	return len(r.targets) == 0 && !slices.ContainsFunc(r.answers, func(a answer) bool { return !a.reading.Usable() })
}

// parallel bounds the queries that run side by side: Prometheus runs 20 for all
// its users.
const parallel = 3

// read sends the plan's queries and the census.
func (p *Prometheus) read(ctx context.Context, d dialect, l look) raw {
	r := raw{dialect: d}
	r.batches, _ = plan(d, p.set.overrides) // checked by NewPrometheus
	r.answers = make([]answer, len(r.batches))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	run := func(f func()) {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f()
		})
	}
	for i, b := range r.batches {
		run(func() { r.answers[i] = p.ask(ctx, b.sel.and(p.set.cluster).overRange(l.rng), l.at) })
	}
	run(func() { r.census = p.countConnections(ctx, d, l) })
	wg.Wait()
	for _, t := range sortIn(r.batches, r.answers) {
		if t.isBroker() {
			r.targets = append(r.targets, t)
		}
	}
	return r
}
