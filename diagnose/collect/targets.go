package collect

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// target is one scraped process: all series that share the labels Prometheus
// and the site put on them.
type target struct {
	key    string
	labels model.Metric
	found  map[diagnose.Signal][]found
	// override says that a series comes from a configured selector, which may
	// carry other labels than the scrape's (a recording rule).
	override bool

	// id is the broker, by way of how; only with resolved.
	id       int32
	how      string
	resolved bool
	// foreign says that the target names an id that is not a known broker, as a
	// dedicated controller does.
	foreign bool
}

// found is a series of a signal.
type found struct {
	lookup lookup
	metric model.Metric
	series diagnose.Series
}

// ownLabels are labels that Kafka's beans and the exporter put on a series, by
// plain name. What is left belongs to the scrape target.
var ownLabels = map[string]bool{
	"name": true, "request": true, "error": true, "version": true, "quantile": true, "objectname": true,
	"clientid": true, "id": true, "listener": true, "networkprocessor": true, "resource": true, "kafkaversion": true,
	"clientsoftwarename": true, "clientsoftwareversion": true, "clienttype": true, "springid": true,
}

// targetLabels leaves out the beans' labels; more are the names under which an
// unknown exporter configuration has them.
func targetLabels(m model.Metric, more ...string) model.Metric {
	out := model.Metric{}
	for n, v := range m {
		if n != model.MetricNameLabel && !ownLabels[plain(string(n))] && !slices.Contains(more, string(n)) {
			out[n] = v
		}
	}
	return out
}

// sortIn gives every series of the answers to its target and its signals.
func sortIn(batches []batch, answers []answer) []*target {
	byKey := map[string]*target{}
	for i, b := range batches {
		for _, stream := range answers[i].matrix {
			for _, l := range b.lookups {
				if l.sel.matches(stream.Metric) {
					add(byKey, l, stream)
				}
			}
		}
	}
	out := make([]*target, 0, len(byKey))
	for _, t := range byKey {
		for _, fs := range t.found {
			sort.Slice(fs, func(i, j int) bool { return less(fs[i], fs[j]) })
		}
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].key < out[j].key })
	return out
}

func less(a, b found) bool {
	if a.lookup.rank != b.lookup.rank {
		return a.lookup.rank < b.lookup.rank
	}
	return a.metric.String() < b.metric.String()
}

func add(byKey map[string]*target, l lookup, stream *model.SampleStream) {
	samples := clean(stream.Values, l.scale)
	if len(samples) == 0 || l.signal == diagnose.SignalConnectionsMade && !clientListener(stream.Metric) {
		return
	}
	lset := targetLabels(stream.Metric, l.beanLabels...)
	key := lset.String()
	t, ok := byKey[key]
	if !ok {
		t = &target{key: key, labels: lset, found: map[diagnose.Signal][]found{}}
		byKey[key] = t
	}
	t.override = t.override || l.override
	t.found[l.signal] = append(t.found[l.signal], found{
		lookup: l, metric: stream.Metric,
		series: diagnose.Series{Labels: telling(stream.Metric, l), Samples: samples},
	})
}

// clean drops NaN and infinities: the JMX exporter writes NaN for a gauge
// whose window is empty, which is no value (and no JSON).
func clean(in []model.SamplePair, scale float64) []diagnose.Sample {
	out := make([]diagnose.Sample, 0, len(in))
	for _, p := range in {
		v := float64(p.Value)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		out = append(out, diagnose.Sample{T: p.Timestamp.Time().UTC(), V: v * scale})
	}
	return out
}

// telling returns the labels that tell series of one signal apart: the bean's
// labels that the selector leaves open, and the scrape target.
func telling(m model.Metric, l lookup) map[string]string {
	out := map[string]string{}
	fixed := func(n model.LabelName) bool {
		return slices.ContainsFunc(l.sel.match, func(x *labels.Matcher) bool { return x.Name == string(n) && x.Type == labels.MatchEqual })
	}
	for n, v := range m {
		if (ownLabels[plain(string(n))] || slices.Contains(l.beanLabels, string(n))) && !fixed(n) {
			out[strings.TrimPrefix(string(n), "exported_")] = string(v)
		}
	}
	if f := fusedListener.FindStringSubmatch(string(m[model.MetricNameLabel])); f != nil {
		delete(out, model.MetricNameLabel)
		out["listener"], out["networkProcessor"] = f[1], f[2]
	}
	unfuse(out)
	for _, n := range []string{"instance", "pod"} {
		if v := m[model.LabelName(n)]; v != "" {
			out[n] = string(v)
			break
		}
	}
	return out
}

// brokerGauges are born with the broker and exist on brokers only.
func brokerGauges() []diagnose.Signal {
	return []diagnose.Signal{diagnose.SignalLeaders, diagnose.SignalSessions, diagnose.SignalBrokerState, auxPartitions}
}

// isBroker tells brokers from the other processes that answer to
// process_start_time_seconds, and from dedicated controllers.
func (t *target) isBroker() bool {
	return t.override || slices.ContainsFunc(brokerGauges(), func(s diagnose.Signal) bool { return len(t.found[s]) > 0 })
}

// best returns the series of the preferred way to find the signal.
func (t *target) best(s diagnose.Signal) []found {
	fs := t.found[s]
	if len(fs) == 0 {
		return nil
	}
	n := 1
	for n < len(fs) && fs[n].lookup.rank == fs[0].lookup.rank {
		n++
	}
	return fs[:n]
}

// last returns the newest sample of a gauge that has one series.
func (t *target) last(s diagnose.Signal) (diagnose.Sample, bool) {
	fs := t.best(s)
	if len(fs) == 0 {
		return diagnose.Sample{}, false
	}
	samples := fs[0].series.Samples
	return samples[len(samples)-1], true
}

// span returns the time between the first and the last sample of the series
// that every broker has.
func (t *target) span() (from, to time.Time) {
	var all []found
	for _, s := range brokerGauges() {
		all = append(all, t.best(s)...)
	}
	return spanOf(all)
}

func spanOf(fs []found) (from, to time.Time) {
	for _, f := range fs {
		a, b := f.series.Samples[0].T, f.series.Samples[len(f.series.Samples)-1].T
		if from.IsZero() || a.Before(from) {
			from = a
		}
		if b.After(to) {
			to = b
		}
	}
	return from, to
}

// scrapeSeconds is the median gap between samples, 0 when unknown.
func scrapeSeconds(ts []*target) float64 {
	var gaps []float64
	for _, t := range ts {
		for _, s := range []diagnose.Signal{diagnose.SignalLeaders, diagnose.SignalSessions} {
			for _, f := range t.best(s) {
				for i := 1; i < len(f.series.Samples); i++ {
					gaps = append(gaps, f.series.Samples[i].T.Sub(f.series.Samples[i-1].T).Seconds())
				}
			}
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return math.Round(gaps[len(gaps)/2]*1000) / 1000
}
