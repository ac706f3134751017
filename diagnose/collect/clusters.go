package collect

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// clusterLabels are label names, in their plain form, that sites use for the
// Kafka cluster.
func clusterLabels() []string {
	return []string{"cluster", "kafkacluster", "clustername", "kafkaclustername", "clusterid", "kafkaclusterid", "strimziiocluster"}
}

// clusterSpellings are those labels as they are written.
func clusterSpellings() []string {
	return []string{
		"cluster", "kafka_cluster", "kafkaCluster", "cluster_name", "clusterName", "kafka_cluster_name",
		"cluster_id", "clusterId", "kafka_cluster_id", "strimzi_io_cluster",
	}
}

// splitLabels may tell clusters apart where no cluster label does; used in the
// advice only.
func splitLabels() []string {
	return append(clusterLabels(), "namespace", "kubernetesnamespace", "env", "environment", "region", "job")
}

// twoClusters reports whether the targets belong to more than one Kafka
// cluster; text is empty if not. Mixing two clusters' series gives verdicts about a cluster that does
// not exist, so the answer is then not used at all.
//
// With a configured selector only facts count (two active controllers, one
// broker id claimed twice at the same moment): a stretched cluster may well
// carry two values of a label called "cluster".
func twoClusters(ts []*target, configured bool) (text, hint string) {
	if !configured {
		if text, hint := mixed(ts, nil); text != "" {
			return text, hint
		}
	}
	if a := controllers(ts); len(a) > 1 {
		return "Series of two clusters answer: there are two active controllers", advise(a, configured)
	}
	if a := rivals(ts); len(a) > 1 {
		return fmt.Sprintf("Series of two clusters answer: two processes are broker %d", a[0].id), advise(a, configured)
	}
	return "", ""
}

// mixed looks at labels and, where given, at the families of exporters that
// answer: what is enough to refuse where nobody has said which cluster is meant.
func mixed(ts []*target, families []string) (text, hint string) {
	for _, l := range clusterLabels() {
		if vs := valuesOf(ts, l); len(vs) > 1 {
			return fmt.Sprintf("Series of %d clusters answer", len(vs)), adviseOn(ts, l, false)
		}
	}
	if len(families) > 1 {
		return fmt.Sprintf("Series of %d exporter configurations answer, probably of as many clusters", len(families)), advise(ts, false)
	}
	return "", ""
}

func valuesOf(ts []*target, name string) []string {
	var out []string
	for _, t := range ts {
		if v := labelValue(t.labels, name); v != "" {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// advise names a label that differs between the targets.
func advise(ts []*target, configured bool) string {
	for _, l := range splitLabels() {
		if len(valuesOf(ts, l)) > 1 {
			return adviseOn(ts, l, configured)
		}
	}
	if configured {
		return "Make prometheus.selector narrower, so that only one cluster's series match."
	}
	return `Set prometheus.selector to matchers that only this cluster's series have, for example {job="kafka"}.`
}

func adviseOn(ts []*target, label string, configured bool) string {
	name, values := spelling(ts, label), valuesOf(ts, label)
	verb := "Set"
	if configured {
		verb = "Narrow"
	}
	return fmt.Sprintf("%s prometheus.selector by the label %s, for example {%s=%q}; there are %s.",
		verb, name, name, clip(values[0]), strings.Join(clipAll(values), ", "))
}

// spelling returns how the targets spell a label that is given in plain form.
func spelling(ts []*target, label string) string {
	for _, t := range ts {
		for _, n := range sortedLabels(t.labels) {
			if plain(n) == label && t.labels[model.LabelName(n)] != "" {
				return n
			}
		}
	}
	return label
}

// controllers returns the targets that say, and have been saying for three
// scrapes, that they are the active controller. One scrape may show two of them
// while the role moves.
func controllers(ts []*target) []*target {
	var out []*target
	for _, t := range ts {
		fs := t.best(auxController)
		if len(fs) > 0 && active(fs[0].series.Samples) && t.current(ts) && !slices.ContainsFunc(out, t.sameProcess) {
			out = append(out, t)
		}
	}
	return out
}

const controllerScrapes = 3

func active(samples []diagnose.Sample) bool {
	if len(samples) < controllerScrapes {
		return false
	}
	for _, s := range samples[len(samples)-controllerScrapes:] {
		if s.V != 1 {
			return false
		}
	}
	return true
}

// sameProcess reports whether two targets are one process scraped twice: the
// same start to the millisecond.
func (t *target) sameProcess(o *target) bool {
	a, okA := t.last(diagnose.SignalProcessStart)
	b, okB := o.last(diagnose.SignalProcessStart)
	return okA && okB && a.V == b.V
}

// rivals returns two targets that are the same broker at the same time and are
// not one process. Series one after the other are a target that changed its
// name, usually at a restart: both are kept.
func rivals(ts []*target) []*target {
	for i, a := range ts {
		for _, b := range ts[i+1:] {
			if a.resolved && b.resolved && a.id == b.id && overlap(a, b) && !a.sameProcess(b) {
				return []*target{a, b}
			}
		}
	}
	return nil
}

// overlap reports whether both targets show one of the broker's gauges at the
// same time. A recording rule that holds a single signal overlaps with nothing.
func overlap(a, b *target) bool {
	for _, s := range brokerGauges() {
		fromA, toA := spanOf(a.best(s))
		fromB, toB := spanOf(b.best(s))
		if !fromA.IsZero() && !fromB.IsZero() && fromA.Before(toB) && fromB.Before(toA) {
			return true
		}
	}
	return false
}

// onceEach drops targets that are a second scrape of a process that is there
// already, so that nothing counts double.
func onceEach(ts []*target) []*target {
	var out []*target
	for _, t := range ts {
		double := func(o *target) bool {
			return t.resolved && o.resolved && t.id == o.id && overlap(t, o) && t.sameProcess(o)
		}
		if !slices.ContainsFunc(out, double) {
			out = append(out, t)
		}
	}
	return out
}

// clip bounds a label value that goes into a text.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func clipAll(values []string) []string {
	out := slices.Clone(values[:min(len(values), 4)])
	for i := range out {
		out[i] = clip(out[i])
	}
	sort.Strings(out)
	if len(values) > len(out) {
		out = append(out, "…")
	}
	return out
}
