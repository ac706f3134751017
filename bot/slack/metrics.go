package slack

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what passes between the bot and Slack. Labels are method names
// and closed lists of words, never anything from outside.
type Metrics struct {
	calls       *prometheus.CounterVec
	rateLimited *prometheus.CounterVec
	waited      *prometheus.CounterVec
	degraded    prometheus.Counter
	connections prometheus.Gauge
	envelopes   *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "kafka_oncall", Subsystem: "slack", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		calls:       counter("calls_total", "Calls of the Slack Web API by method and outcome.", "method", "outcome"),
		rateLimited: counter("rate_limited_total", "Answers 429 from Slack.", "method"),
		waited:      counter("wait_seconds_total", "Seconds that messages waited for Slack's rate limits.", "method"),
		degraded: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "kafka_oncall", Subsystem: "slack", Name: "degraded_total",
			Help: "Messages sent as plain text because Slack refused their blocks."}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "kafka_oncall", Subsystem: "slack", Name: "socket_connections",
			Help: "Socket Mode connections that said hello and are alive."}),
		envelopes: counter("envelopes_total", "Socket Mode envelopes by type and what became of them.", "type", "outcome"),
	}
	if reg != nil {
		reg.MustRegister(m.calls, m.rateLimited, m.waited, m.degraded, m.connections, m.envelopes)
	}
	return m
}

func (m *Metrics) call(method string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = outcomeOf(err)
	}
	m.calls.WithLabelValues(method, outcome).Inc()
}

func (m *Metrics) wait(method string, d time.Duration) {
	if d > 0 {
		m.waited.WithLabelValues(method).Add(d.Seconds())
	}
}
