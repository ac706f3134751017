package collect

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// watcherMetrics are the watcher's own series. The cluster is a constant label,
// so that watchers of several clusters share one registry.
type watcherMetrics struct {
	lostTotal *prometheus.CounterVec
	groups    prometheus.Gauge
	duration  prometheus.Histogram
	requests  prometheus.Gauge
	sweeps    *prometheus.CounterVec
}

func newWatcherMetrics(cluster string, reg prometheus.Registerer) (*watcherMetrics, error) {
	labels := prometheus.Labels{"cluster": cluster}
	m := &watcherMetrics{
		lostTotal: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kafka_oncall_group_member_lost_total", ConstLabels: labels,
			Help: "Members that disappeared from a consumer group, however they left. 0 from the moment the group is first seen.",
		}, []string{"group"}),
		groups: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kafka_oncall_watcher_groups", ConstLabels: labels,
			Help: "Consumer groups in the watcher's memory.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kafka_oncall_watcher_sweep_duration_seconds", ConstLabels: labels,
			Help:    "Time for one look at all groups.",
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		}),
		requests: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kafka_oncall_watcher_sweep_requests", ConstLabels: labels,
			Help: "Requests to Kafka in the last look at all groups.",
		}),
		sweeps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kafka_oncall_watcher_sweeps_total", ConstLabels: labels,
			Help: "Looks at all groups by how they ended: ok, partial (some brokers did not answer) or failed.",
		}, []string{"result"}),
	}
	for _, result := range []string{"ok", "partial", "failed"} {
		m.sweeps.WithLabelValues(result)
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.lostTotal, m.groups, m.duration, m.requests, m.sweeps} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// seen creates the group's counter at 0, so that its first loss is an increase.
func (m *watcherMetrics) seen(group string) { m.lostTotal.WithLabelValues(group) }

func (m *watcherMetrics) lost(group string) { m.lostTotal.WithLabelValues(group).Inc() }

func (m *watcherMetrics) forget(group string) { m.lostTotal.DeleteLabelValues(group) }

func (m *watcherMetrics) swept(s *sweep, err error, took time.Duration) {
	m.duration.Observe(took.Seconds())
	if err != nil {
		m.sweeps.WithLabelValues("failed").Inc()
		return
	}
	m.requests.Set(float64(s.requests))
	result := "ok"
	for _, b := range s.brokers {
		if !b.list.OK() {
			result = "partial"
		}
	}
	m.sweeps.WithLabelValues(result).Inc()
}
