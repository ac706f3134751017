package score

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Degradation takes sources away, as a cluster without them would show itself.
type Degradation struct {
	Name    string
	Meaning string
	apply   func(*diagnose.Evidence)
}

// Apply returns the evidence with less in it; the argument is not changed.
func (d Degradation) Apply(e diagnose.Evidence) diagnose.Evidence {
	e = copied(e)
	d.apply(&e)
	return e
}

// degradable: cases whose truth is a doubt lie at a threshold on purpose; less
// evidence moves them to one side of it, which says nothing.
func degradable(j Judgement) bool { return !j.Partial && j.Truth != diagnose.Undecided }

// Degradations lists the matrix.
func Degradations() []Degradation {
	return []Degradation{
		{"no-logs", "no log source", withoutLogs},
		{"no-request-metrics", "the exporter drops RequestMetrics (errors, requests, request sizes)", withoutRequestMetrics},
		{"no-consumer-offsets", "no READ on __consumer_offsets", withoutOffsets},
		{"no-prometheus", "Prometheus does not answer", withoutPrometheus},
		{"no-kafka", "no admin API, no offsets topic, no watcher", withoutKafka},
		{"counters-reset", "every counter of every broker starts again in the middle of the window, and no broker was restarted: a proxy or collector of metrics was", countersReset},
		{"counters-reset-no-start", "the same, and the process start is not exported, so that it looks like a restart", countersResetNoStart},
		{"kafka-exporter-only", "only kafka_exporter's scrapes: the number of members (0 for KIP-848 groups, as it shows them) and the lag of each group every 15 s; no broker metrics, no history, no descriptions", exporterOnly},
	}
}

// copied copies the parts that degradations change; samples are shared.
func copied(e diagnose.Evidence) diagnose.Evidence {
	e.Brokers = slices.Clone(e.Brokers)
	for i := range e.Brokers {
		e.Brokers[i].Signals = maps.Clone(e.Brokers[i].Signals)
	}
	e.Groups = slices.Clone(e.Groups)
	return e
}

func withoutLogs(e *diagnose.Evidence) {
	e.LogText, e.Logs = diagnose.LogText{}, diagnose.Reading{Status: diagnose.StatusSkipped}
}

// withoutRequestMetrics drops what kafka.network:type=RequestMetrics holds.
func withoutRequestMetrics(e *diagnose.Evidence) {
	gone := diagnose.Metric{Reading: diagnose.Reading{Status: diagnose.StatusNotExported, AsOf: e.At, Hint: "the exporter's rules drop RequestMetrics"}}
	for i := range e.Brokers {
		for s := range e.Brokers[i].Signals {
			if isRequestMetric(s) {
				e.Brokers[i].Signals[s] = gone
			}
		}
	}
}

func isRequestMetric(s diagnose.Signal) bool {
	for _, p := range []string{"errors.", "requests.", "fetch_bytes.", "heartbeat_ms."} {
		if strings.HasPrefix(string(s), p) {
			return true
		}
	}
	return false
}

func withoutOffsets(e *diagnose.Evidence) {
	r := diagnose.Reading{Status: diagnose.StatusForbidden, AsOf: e.At, Error: "not authorized to read __consumer_offsets"}
	for i := range e.Groups {
		e.Groups[i].History = diagnose.GroupHistory{Reading: r, OffsetsPartition: e.Groups[i].History.OffsetsPartition}
	}
}

func withoutPrometheus(e *diagnose.Evidence) {
	r := diagnose.Reading{Status: diagnose.StatusUnreachable, AsOf: e.At, Error: "no connection to Prometheus"}
	e.Metrics = diagnose.MetricsSource{Reading: r}
	for i := range e.Brokers {
		b := &e.Brokers[i]
		b.Identity, b.Signals = r, nil
		b.SoftwareReading, b.Software = r, nil
		b.SoftwareGoneReading, b.SoftwareGone = r, nil
		b.Demand.Connections = -1
	}
	e.Clients, e.ClientsReading = nil, r
	e.PodList, e.Pods = nil, r
}

// withoutKafka leaves what Prometheus and the logs hold.
func withoutKafka(e *diagnose.Evidence) {
	r := diagnose.Reading{Status: diagnose.StatusUnreachable, AsOf: e.At, Error: "the brokers cannot be reached"}
	e.Cluster = diagnose.Cluster{Reading: r, ControllerID: -1}
	e.GroupsReading, e.Groups = r, nil
	e.Watcher = diagnose.Watcher{Reading: r}
	for i := range e.Brokers {
		b := &e.Brokers[i]
		b.Slots, b.Settings = diagnose.Setting{Reading: r}, nil
		b.Demand = diagnose.Demand{Reading: r, Connections: b.Demand.Connections}
		b.Leading, b.Awaited = nil, nil
	}
}

// countersReset lets every counter start again in the middle of the window.
// Error counters are born again at their next error. Gauges go on, and so does
// the process start.
func countersReset(e *diagnose.Evidence) {
	at := e.At.Add(-time.Duration(e.WindowSeconds) * time.Second / 2)
	for i := range e.Brokers {
		signals := e.Brokers[i].Signals
		restart := e.At.AddDate(-1, 0, 0)
		if start, ok := last(signals[diagnose.SignalProcessStart]); ok {
			restart = time.UnixMilli(int64(1000 * start))
		}
		for s, m := range signals {
			if isCounter(s) {
				signals[s] = reset(m, at, restart, strings.HasPrefix(string(s), "errors."))
			}
		}
	}
}

func countersResetNoStart(e *diagnose.Evidence) {
	countersReset(e)
	for i := range e.Brokers {
		if _, ok := e.Brokers[i].Signals[diagnose.SignalProcessStart]; ok {
			e.Brokers[i].Signals[diagnose.SignalProcessStart] = diagnose.Metric{Reading: diagnose.Reading{Status: diagnose.StatusNotExported, AsOf: e.At}}
		}
	}
}

func isCounter(s diagnose.Signal) bool {
	return s == diagnose.SignalEvictions || s == diagnose.SignalConnectionsMade || strings.HasPrefix(string(s), "errors.") || strings.HasPrefix(string(s), "requests.")
}

// reset takes from every later sample what had been counted by then since the
// process started.
func reset(m diagnose.Metric, at, restart time.Time, lazy bool) diagnose.Metric {
	m.Series = slices.Clone(m.Series)
	for i, series := range m.Series {
		samples, before := slices.Clone(series.Samples), 0.0
		for k := range samples {
			if k > 0 && samples[k-1].T.Before(restart) && !samples[k].T.Before(restart) {
				before = 0
			}
			if !samples[k].T.After(at) {
				before = samples[k].V
				continue
			}
			samples[k].V = max(0, samples[k].V-before)
		}
		if lazy {
			samples = slices.DeleteFunc(samples, func(x diagnose.Sample) bool { return x.T.After(at) && x.V == 0 })
		}
		m.Series[i].Samples = samples
	}
	return m
}
