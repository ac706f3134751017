package collect

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// What a series of a group exporter tells.
type groupFact int

const (
	groupMembers groupFact = iota
	// groupState has the state as a label: a change is a new series.
	groupState
	// groupLag is a total, groupLagParts one partition's or topic's share.
	groupLag
	groupLagParts
)

// groupSeries are the series of the group exporters, preferred ones first: one
// that counts members before one that only knows the lag. Names and labels of
// kminion 2.3.5 and kafka_exporter 1.9.0 (which Strimzi's Kafka Exporter is)
// are recorded, those of Amazon MSK, Burrow from 1.3.4 and kafka-lag-exporter
// are read in their documentation.
func groupSeries() []groupExporter {
	return []groupExporter{
		{"kminion", map[string]groupFact{
			"kminion_kafka_consumer_group_members": groupMembers, "kminion_kafka_consumer_group_info": groupState,
			"kminion_kafka_consumer_group_topic_lag": groupLagParts,
		}},
		{"kafka_exporter", map[string]groupFact{
			"kafka_consumergroup_members": groupMembers, "kafka_consumergroup_lag": groupLagParts,
		}},
		{"kafka-lag-exporter", map[string]groupFact{"kafka_consumergroup_group_sum_lag": groupLag}},
		{"Burrow", map[string]groupFact{"burrow_kafka_consumer_lag_total": groupLag}},
		{"Amazon MSK", map[string]groupFact{"kafka_consumer_group_ConsumerLagMetrics_Value": groupLagParts}},
	}
}

type groupExporter struct {
	name   string
	series map[string]groupFact
}

// groupLabels are the spellings of the group's label.
func groupLabels() []string {
	return []string{"group_id", "consumergroup", "consumer_group", "group", "groupId"}
}

const (
	exporterHint = "Run kminion or kafka_exporter (Strimzi: spec.kafkaExporter) and let Prometheus scrape it; if one runs, set prometheus.group_selector to its labels."
	// maxExported bounds the groups asked for.
	maxExported = 5
)

// Groups reads what group exporters say about the groups: one query.
func (p *Prometheus) Groups(ctx context.Context, at time.Time, rng time.Duration, ids []string) diagnose.ExportedGroups {
	ids = uniqueIDs(ids)
	if len(ids) == 0 {
		return diagnose.ExportedGroups{Reading: diagnose.Reading{Status: diagnose.StatusSkipped, AsOf: at.UTC()}}
	}
	asked := ids[:min(len(ids), maxExported)]
	rng = max(rng.Round(time.Second), time.Minute)
	a := p.ask(ctx, groupSelector(asked).and(p.groupMatchers()).overRange(rng), at)
	out := diagnose.ExportedGroups{Reading: a.reading}
	if !a.reading.Usable() {
		return out
	}
	all := sortExported(a.matrix, asked)
	if text, hint := mixedExporters(all, len(p.groupMatchers().match) > 0); text != "" {
		out.Status, out.Error, out.Hint = diagnose.StatusFailed, text, hint
		return out
	}
	for _, id := range asked {
		if g, ok := pickExported(all, id); ok {
			out.Groups = append(out.Groups, g)
		}
	}
	switch {
	case len(out.Groups) == 0 && out.Status == diagnose.StatusOK:
		out.Status, out.Hint = diagnose.StatusNotExported, exporterHint
	case len(asked) < len(ids):
		out.Status, out.Error = diagnose.StatusPartial, fmt.Sprintf("Asked for %d of %d groups", len(asked), len(ids))
	}
	return out
}

// groupMatchers are those of the exporters' series: configured, or else the
// cluster's, since most sites label a whole Prometheus or scrape job.
func (p *Prometheus) groupMatchers() selector {
	if len(p.set.groups.match) > 0 {
		return p.set.groups
	}
	return p.set.cluster
}

func groupSelector(ids []string) selector {
	var names []string
	for _, x := range groupSeries() {
		for n := range x.series {
			names = append(names, n)
		}
	}
	return namedIn(names, groupLabels(), ids)
}

// exportedSeries is a series with what it tells.
type exportedSeries struct {
	exporter string
	rank     int
	fact     groupFact
	group    string
	target   model.Metric
	metric   model.Metric
	samples  []diagnose.Sample
}

// exporterLabels are what the exporters put on a series besides the group; the
// rest belongs to the scrape target.
var exporterLabels = []string{
	"group_id", "consumergroup", "consumer_group", "group", "groupId", "topic", "topic_name", "partition", "partition_id", "state", "protocol",
	"protocol_type", "coordinator_id", "member_host", "consumer_id", "client_id",
}

func sortExported(m model.Matrix, ids []string) []exportedSeries {
	var out []exportedSeries
	for _, stream := range m {
		id := groupLabel(stream.Metric)
		x, rank, ok := exporterOf(string(stream.Metric[model.MetricNameLabel]))
		if !ok || !slices.Contains(ids, id) || strings.HasPrefix(x.name, "Amazon") && stream.Metric["name"] != "SumOffsetLag" {
			continue
		}
		s := exportedSeries{
			exporter: x.name, rank: rank, fact: x.series[string(stream.Metric[model.MetricNameLabel])], group: id,
			target: targetLabels(stream.Metric, exporterLabels...), metric: stream.Metric, samples: clean(stream.Values, 1),
		}
		if len(s.samples) > 0 {
			out = append(out, s)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].metric.String() < out[j].metric.String() })
	return out
}

func groupLabel(m model.Metric) string {
	for _, l := range groupLabels() {
		if v := m[model.LabelName(l)]; v != "" {
			return string(v)
		}
	}
	return ""
}

func exporterOf(series string) (groupExporter, int, bool) {
	for i, x := range groupSeries() {
		if _, ok := x.series[series]; ok {
			return x, i, true
		}
	}
	return groupExporter{}, 0, false
}

// mixedExporters refuses the answers of two clusters: group names repeat.
func mixedExporters(all []exportedSeries, selected bool) (text, hint string) {
	if selected {
		return "", ""
	}
	var ts []*target
	for _, s := range all {
		ts = append(ts, &target{labels: s.target})
	}
	for _, l := range clusterLabels() {
		if vs := valuesOf(ts, l); len(vs) > 1 {
			name := spelling(ts, l)
			return fmt.Sprintf("Group exporters of %d clusters know these groups", len(vs)),
				fmt.Sprintf("Set prometheus.group_selector by the label %s, for example {%s=%q}.", name, name, clip(vs[0]))
		}
	}
	return "", ""
}

// pickExported joins the series of one group: of the exporter that knows most,
// and of it the one process that was scraped most (two replicas of an exporter
// see the same).
func pickExported(all []exportedSeries, id string) (diagnose.ExportedGroup, bool) {
	by := map[string][]exportedSeries{}
	best, most, rank := "", 0, 0
	for _, s := range all {
		if s.group != id {
			continue
		}
		key := s.exporter + s.target.String()
		by[key] = append(by[key], s)
	}
	keys := make([]string, 0, len(by))
	for k := range by {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		n := 0
		for _, s := range by[k] {
			n = max(n, len(s.samples))
		}
		if r := by[k][0].rank; best == "" || r < rank || r == rank && n > most {
			best, most, rank = k, n, r
		}
	}
	if best == "" {
		return diagnose.ExportedGroup{}, false
	}
	return joinExported(by[best], id), true
}

func joinExported(ss []exportedSeries, id string) diagnose.ExportedGroup {
	g := diagnose.ExportedGroup{ID: id, Exporter: ss[0].exporter}
	var parts [][]diagnose.Sample
	for _, s := range ss {
		switch s.fact {
		case groupMembers:
			g.Members = s.samples
		case groupState:
			g.States = append(g.States, diagnose.StateSpan{
				State: clip(string(s.metric["state"])), From: s.samples[0].T, Until: s.samples[len(s.samples)-1].T,
			})
		case groupLag, groupLagParts:
			parts = append(parts, s.samples)
		}
	}
	g.Lag = summed(parts)
	doubtMembers(&g)
	return g
}

// doubtMembers leaves out a count that means nothing. A group of the KIP-848
// protocol has 0 members for kafka_exporter, none at all for kminion on Kafka
// 4.x, and is Dead with 0 members for kminion on 3.9 (all measured).
func doubtMembers(g *diagnose.ExportedGroup) {
	zero := !slices.ContainsFunc(g.Members, func(s diagnose.Sample) bool { return s.V != 0 })
	empty := len(g.States) > 0 && !slices.ContainsFunc(g.States, func(s diagnose.StateSpan) bool { return s.State != "Empty" })
	switch {
	case len(g.Members) > 0 && zero && !empty:
		g.Members = nil
		g.Doubt = g.Exporter + " shows 0 members all the time: an empty group, or one of the KIP-848 protocol, which it cannot count"
	case len(g.Members) == 0:
		g.Doubt = g.Exporter + " does not count the members of this group"
	}
	g.States = slices.DeleteFunc(g.States, func(s diagnose.StateSpan) bool { return s.State == "Dead" })
}

// summed adds series up at the moments at which all of them have a value:
// otherwise a partition that appears would look like lag.
func summed(parts [][]diagnose.Sample) []diagnose.Sample {
	sum, n := map[int64]float64{}, map[int64]int{}
	for _, p := range parts {
		for _, s := range p {
			if s.V < 0 {
				continue // no committed offset
			}
			sum[s.T.UnixMilli()] += s.V
			n[s.T.UnixMilli()]++
		}
	}
	full := 0
	for _, k := range n {
		full = max(full, k)
	}
	var out []diagnose.Sample
	for t, v := range sum {
		if n[t] == full {
			out = append(out, diagnose.Sample{T: time.UnixMilli(t).UTC(), V: v})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].T.Before(out[j].T) })
	return out
}
