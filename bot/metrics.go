package bot

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
)

// metrics are the server's own. Every label has a closed set of values.
type metrics struct {
	s              *Server
	alerts         *prometheus.CounterVec
	webhooks       *prometheus.CounterVec
	webhookSeconds prometheus.Histogram
	cuts           *prometheus.CounterVec
	storeErrors    *prometheus.CounterVec
	batches        prometheus.Histogram
	open           *prometheus.GaugeVec
	verdicts       *prometheus.CounterVec
	looks          *prometheus.CounterVec
	lookSeconds    prometheus.Histogram
	posts          *prometheus.CounterVec
	postDelay      *prometheus.HistogramVec
	rootSeconds    prometheus.Histogram
	verdictSeconds prometheus.Histogram
	duplicates     prometheus.Counter
	fallbacks      prometheus.Counter
	recreated      prometheus.Counter
	commands       *prometheus.CounterVec
	clicks         *prometheus.CounterVec
}

const namespace = "kafka_oncall"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func seconds(name, help string, buckets ...float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
}

func newMetrics(reg *prometheus.Registry, s *Server) *metrics {
	m := &metrics{
		s:              s,
		alerts:         counters("alerts_total", "Alerts received, by what became of them and why.", "decision", "reason"),
		webhooks:       counters("webhook_requests_total", "Webhook requests by HTTP code.", "code"),
		webhookSeconds: prometheus.NewHistogram(seconds("webhook_seconds", "Time to answer a webhook: until it is on disk.", .001, .002, .005, .01, .025, .05, .1, .5, 1, 5)),
		cuts:           counters("webhook_cut_total", "What was beyond the bounds of a webhook.", "what"),
		storeErrors:    counters("store_errors_total", "Failed reads and writes of the database file.", "reason"),
		batches:        prometheus.NewHistogram(seconds("batch_seconds", "Time to work and commit a batch of events.", .001, .002, .005, .01, .025, .05, .1, .5, 1, 5)),
		open:           prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "incidents", Help: "Incidents that are not closed, by phase."}, []string{"phase"}),
		verdicts:       counters("verdicts_total", "Verdicts by class and confidence.", "class", "confidence"),
		looks:          counters("looks_total", "Diagnoses by purpose and result.", "purpose", "result"),
		lookSeconds:    prometheus.NewHistogram(seconds("look_seconds", "Time a diagnosis took.", .1, .25, .5, 1, 2, 3, 5, 10, 15, 30)),
		posts:          counters("posts_total", "Attempts to send a message, by kind and result.", "kind", "result"),
		postDelay:      prometheus.NewHistogramVec(seconds("post_delay_seconds", "How long a message waited after it was due.", .1, .5, 1, 2, 5, 10, 30, 60, 300, 900), []string{"kind"}),
		rootSeconds:    prometheus.NewHistogram(seconds("root_seconds", "From the webhook to the posted root.", .5, 1, 2, 3, 4, 5, 6, 8, 10, 30, 60, 300)),
		verdictSeconds: prometheus.NewHistogram(seconds("verdict_seconds", "From the webhook to the first verdict.", .25, .5, 1, 2, 3, 5, 10, 20, 30, 60)),
		duplicates:     counter("possible_duplicates_total", "Messages sent again although it could not be seen whether they had arrived."),
		fallbacks:      counter("fallback_total", "Threads that went to the fallback channel."),
		recreated:      counter("roots_recreated_total", "Roots that were posted again because theirs was deleted."),
		commands:       counters("commands_total", "Slash commands and mentions by verb and result.", "verb", "result"),
		clicks:         counters("clicks_total", "Pressed buttons by action and result.", "action", "result"),
	}
	reg.MustRegister(m.all()...)
	reg.MustRegister(s.gauges()...)
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// all lists the metrics that are counted here.
func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.alerts, m.webhooks, m.webhookSeconds, m.cuts, m.storeErrors, m.batches, m.open, m.verdicts, m.looks, m.lookSeconds,
		m.posts, m.postDelay, m.rootSeconds, m.verdictSeconds, m.duplicates, m.fallbacks, m.recreated, m.commands, m.clicks,
	}
}

// gauges are read from the store when they are scraped.
func (s *Server) gauges() []prometheus.Collector {
	gauge := func(name, help string, get func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, get)
	}
	outbox := func() store.OutboxState {
		ctx, cancel := context.WithTimeout(s.ops, 2*time.Second)
		defer cancel()
		st, err := s.store.Outbox(ctx, s.deps.Now())
		if err != nil {
			s.metrics.storeError(err)
		}
		return st
	}
	return []prometheus.Collector{
		gauge("inbox_rows", "Events that wait to be worked.", func() float64 { return float64(s.store.Waiting()) }),
		gauge("outbox_rows", "Messages that are due and not sent.", func() float64 { return float64(outbox().Rows) }),
		gauge("outbox_oldest_seconds", "How long the oldest due message has waited.", func() float64 {
			if o := outbox().Oldest; !o.IsZero() {
				return max(0, s.deps.Now().Sub(o).Seconds())
			}
			return 0
		}),
	}
}

func (m *metrics) cut(c alertmanager.Cut) {
	for what, n := range map[string]int{"members": c.Members(), "labels": c.Labels, "annotations": c.Annotations, "texts": c.Texts} {
		if n > 0 {
			m.cuts.WithLabelValues(what).Add(float64(n))
		}
	}
}

// incidents sets the gauge of open incidents.
func (m *metrics) incidents(book *incident.Book) {
	n := map[incident.Phase]int{incident.Firing: 0, incident.Partly: 0, incident.Resolved: 0, incident.Unknown: 0}
	for _, s := range book.All() {
		n[s.Phase]++
	}
	for phase, count := range n {
		m.open.WithLabelValues(string(phase)).Set(float64(count))
	}
}

func (m *metrics) storeError(err error) { m.storeErrors.WithLabelValues(storeReason(err)).Inc() }

// storeReason is a safe word for what is wrong with the store.
func storeReason(err error) string {
	switch {
	case errors.Is(err, store.ErrFull):
		return "full"
	case errors.Is(err, store.ErrCorrupt):
		return "damaged"
	case errors.Is(err, store.ErrReadOnly):
		return "read_only"
	case errors.Is(err, store.ErrQueueFull):
		return "queue_full"
	case errors.Is(err, store.ErrClosed):
		return "closed"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "other"
}
