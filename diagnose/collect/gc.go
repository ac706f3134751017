package collect

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// gcSeries are the counters of time spent in garbage collection:
//
//	jvm_gc_collection_seconds_sum        JMX exporter agent, client_java
//	jvm_gc_pause_seconds_sum             Micrometer (pauses only)
//	jvm_gc_duration_seconds_sum          OpenTelemetry
//	java_lang_…_CollectionTime           JMX exporter without rules, in ms; the
//	                                     collector is in the name (JDK 17) or in a label
const gcSeries = "jvm_gc_collection_seconds_sum|jvm_gc_pause_seconds_sum|jvm_gc_duration_seconds_sum|java_lang_.+_CollectionTime"

const gcHint = "The JMX exporter as an agent in the consumer's JVM serves jvm_gc_collection_seconds, Micrometer jvm_gc_pause_seconds; look for a rule or relabelling that drops it."

var gcInName = regexp.MustCompile(`^java_lang_(.+)_CollectionTime$`)

// addGC reads the collection times of the clients' processes: one query, joined
// by the scrape target.
func (p *Prometheus) addGC(ctx context.Context, at time.Time, rng time.Duration, cs []oneClient, out []diagnose.Client) {
	var instances []string
	for _, c := range cs {
		if v := labelValue(c.target.labels, "instance"); v != "" {
			instances = append(instances, quoteRegexp(v))
		}
	}
	slices.Sort(instances)
	instances = slices.Compact(instances)
	if len(instances) == 0 {
		return
	}
	sel := selector{match: []*labels.Matcher{
		labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, gcSeries),
		labels.MustNewMatcher(labels.MatchRegexp, "instance", strings.Join(instances, "|")),
	}}.and(p.set.client)
	a := p.ask(ctx, sel.overRange(rng), at)
	a.reading.Link = p.link(sel, at, rng)
	for i, c := range cs {
		m := diagnose.Metric{Reading: a.reading}
		for _, stream := range a.matrix {
			if s, ok := gcOf(c.target.labels, stream); ok {
				m.Series = append(m.Series, s)
			}
		}
		if len(m.Series) == 0 && m.Status == diagnose.StatusOK {
			m.Status, m.Hint = diagnose.StatusNotExported, gcHint
		}
		out[i].Signals[diagnose.SignalGC] = m
	}
}

// gcOf is a collector's series, if it is of this scrape target.
func gcOf(t model.Metric, stream *model.SampleStream) (diagnose.Series, bool) {
	m := stream.Metric
	if m["instance"] != t["instance"] || t["job"] != "" && m["job"] != t["job"] {
		return diagnose.Series{}, false
	}
	scale, gc := 1.0, labelValue(m, "gc", "jvmgcname")
	if f := gcInName.FindStringSubmatch(string(m[model.MetricNameLabel])); f != nil {
		scale = 0.001
		if gc = string(m["name"]); gc == "" {
			gc = f[1]
		}
	}
	samples := clean(stream.Values, scale)
	lset := map[string]string{"gc": clip(strings.ReplaceAll(gc, "_", " "))}
	for _, n := range []string{"action", "cause"} {
		if v := labelValue(m, n, "jvmgc"+n); v != "" {
			lset[n] = clip(v)
		}
	}
	return diagnose.Series{Labels: lset, Samples: samples}, len(samples) > 0
}
