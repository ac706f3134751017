package collect

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// maxAskedClients bounds the client ids asked for in one query.
const maxAskedClients = 200

// clientSeries are the names of the client signals, preferred first:
//
//	kafka_consumer_consumer_…_metrics_…  JMX exporter on the consumer without
//	    rules, or with Confluent's rules; agents before 1.0 keep _total
//	kafka_consumer_…                     Micrometer, jmx_exporter's connect rules
//	    (which drop time-between-poll-max), OpenTelemetry's agent
//	org_apache_kafka_consumer_…          pushed through a broker's plug-in (KIP-714)
//
// The units are Kafka's own in all of them: ms and seconds as the name says.
func clientSeries() map[diagnose.Signal][]string {
	return map[diagnose.Signal][]string{
		diagnose.SignalPollMax: {
			"kafka_consumer_consumer_metrics_time_between_poll_max", "kafka_consumer_time_between_poll_max", "org_apache_kafka_consumer_time_between_poll_max",
		},
		diagnose.SignalLastPoll: {
			"kafka_consumer_consumer_metrics_last_poll_seconds_ago", "kafka_consumer_last_poll_seconds_ago", "org_apache_kafka_consumer_last_poll_seconds_ago",
		},
		diagnose.SignalPollIdle: {
			"kafka_consumer_consumer_metrics_poll_idle_ratio_avg", "kafka_consumer_poll_idle_ratio_avg", "org_apache_kafka_consumer_poll_idle_ratio_avg",
		},
		diagnose.SignalLastHeartbeat: {
			"kafka_consumer_consumer_coordinator_metrics_last_heartbeat_seconds_ago",
			"kafka_consumer_coordinator_last_heartbeat_seconds_ago", "kafka_consumer_last_heartbeat_seconds_ago",
			"org_apache_kafka_consumer_coordinator_last_heartbeat_seconds_ago",
		},
		diagnose.SignalRebalances: {
			"kafka_consumer_consumer_coordinator_metrics_rebalance", "kafka_consumer_consumer_coordinator_metrics_rebalance_total",
			"kafka_consumer_coordinator_rebalance_total", "kafka_consumer_coordinator_rebalance", "kafka_consumer_rebalance_total",
			"org_apache_kafka_consumer_coordinator_rebalance_total",
		},
	}
}

const (
	clientHint = "Run the JMX exporter agent in the consumer's JVM (no rules are needed), or register Micrometer's KafkaClientMetrics, " +
		"and let Prometheus keep the label client_id."
	pollMaxHint = "The connect rules of jmx_exporter drop time-between-poll-max; run the agent without rules or add a rule for it."
)

// clientIDLabels are the spellings that exporters use.
func clientIDLabels() []string { return []string{"client_id", "clientId", "clientid"} }

// Clients reads client signals for the given client ids, one entry for each
// client id and scrape target, sorted. Processes often share a client id
// (consumer-<group>-1 is Java's default), so one id may have several entries.
func (p *Prometheus) Clients(ctx context.Context, at time.Time, rng time.Duration, clientIDs []string) (diagnose.Reading, []diagnose.Client) {
	ids := uniqueIDs(clientIDs)
	if len(ids) == 0 {
		return diagnose.Reading{Status: diagnose.StatusSkipped, AsOf: at.UTC()}, nil
	}
	asked := ids[:min(len(ids), maxAskedClients)]
	rng = max(rng.Round(time.Second), time.Minute)
	sel := clientSelector(asked).and(p.set.client)
	a := p.ask(ctx, sel.overRange(rng), at)
	if !a.reading.Usable() {
		return a.reading, nil
	}
	byKey := groupClients(a.matrix, asked)
	if values, name := clientClusters(byKey); len(values) > 1 && len(p.set.client.match) == 0 {
		a.reading.Status = diagnose.StatusFailed
		a.reading.Error = fmt.Sprintf("Clients of %d clusters answer to these client ids", len(values))
		a.reading.Hint = fmt.Sprintf("Set prometheus.client_selector by the label %s, for example {%s=%q}.", name, name, clip(values[0]))
		return a.reading, nil
	}
	out := p.clients(byKey, a.reading, at, rng)
	p.addGC(ctx, at, rng, byKey, out)
	switch {
	case len(out) == 0 && a.reading.Status == diagnose.StatusOK:
		a.reading.Status, a.reading.Hint = diagnose.StatusNotExported, clientHint
	case len(asked) < len(ids):
		a.reading.Status = diagnose.StatusPartial
		a.reading.Error = fmt.Sprintf("Asked for %d of %d client ids", len(asked), len(ids))
	}
	return a.reading, out
}

func uniqueIDs(in []string) []string {
	var out []string
	for _, id := range in {
		if id != "" {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// clientSelector selects the series of clients by id.
func clientSelector(ids []string) selector {
	var names []string
	for _, series := range clientSeries() {
		names = append(names, series...)
	}
	return namedIn(names, clientIDLabels(), ids)
}

// namedIn selects series of these names whose label, under any of its spellings,
// is one of the ids, in one query: each spelling may be absent, but where it is
// there it must be one of them.
func namedIn(names, spellings, ids []string) selector {
	sort.Strings(names)
	out := selector{match: []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, strings.Join(names, "|"))}}
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = quoteRegexp(id)
	}
	for _, l := range spellings {
		out.match = append(out.match, labels.MustNewMatcher(labels.MatchRegexp, l, strings.Join(quoted, "|")+"|"))
	}
	return out
}

// oneClient is one client id of one scrape target.
type oneClient struct {
	id     string
	target *target
	// void are signals whose series exist but hold no number in the range.
	void map[diagnose.Signal]bool
}

func groupClients(m model.Matrix, ids []string) []oneClient {
	byKey := map[string]*oneClient{}
	series := clientSeries()
	for _, stream := range m {
		id := labelValue(stream.Metric, "clientid")
		sig, rank, ok := clientSignal(series, string(stream.Metric[model.MetricNameLabel]))
		if !ok || !slices.Contains(ids, id) {
			continue
		}
		lset := targetLabels(stream.Metric)
		key := id + lset.String()
		c, ok := byKey[key]
		if !ok {
			c = &oneClient{id: id, target: &target{key: key, labels: lset, found: map[diagnose.Signal][]found{}}, void: map[diagnose.Signal]bool{}}
			byKey[key] = c
		}
		samples := clean(stream.Values, 1)
		if len(samples) == 0 {
			c.void[sig] = true
			continue
		}
		c.target.found[sig] = append(c.target.found[sig], found{
			lookup: lookup{signal: sig, rank: rank}, metric: stream.Metric, series: diagnose.Series{Samples: samples},
		})
	}
	out := make([]oneClient, 0, len(byKey))
	for _, c := range byKey {
		for _, fs := range c.target.found {
			sort.Slice(fs, func(i, j int) bool { return less(fs[i], fs[j]) })
		}
		out = append(out, *c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].target.key < out[j].target.key })
	return out
}

func clientSignal(series map[diagnose.Signal][]string, name string) (diagnose.Signal, int, bool) {
	for sig, names := range series {
		if i := slices.Index(names, name); i >= 0 {
			return sig, i, true
		}
	}
	return "", 0, false
}

func clientClusters(cs []oneClient) (values []string, label string) {
	ts := make([]*target, len(cs))
	for i := range cs {
		ts[i] = cs[i].target
	}
	for _, l := range clusterLabels() {
		if vs := valuesOf(ts, l); len(vs) > 1 {
			return vs, spelling(ts, l)
		}
	}
	return nil, ""
}

func (p *Prometheus) clients(cs []oneClient, base diagnose.Reading, at time.Time, rng time.Duration) []diagnose.Client {
	var out []diagnose.Client
	series := clientSeries()
	for _, c := range cs {
		cl := diagnose.Client{ClientID: c.id, Instance: instanceOf(c.target.labels), Signals: map[diagnose.Signal]diagnose.Metric{}}
		for _, sig := range diagnose.ClientSignals() {
			if sig == diagnose.SignalGC {
				continue // addGC
			}
			m := diagnose.Metric{Reading: base}
			name := series[sig][0]
			for _, f := range c.target.best(sig) {
				m.Series = append(m.Series, f.series)
				name = string(f.metric[model.MetricNameLabel])
			}
			sel := p.oneClientSelector(name, c)
			m.Source, m.Link = "prometheus: "+sel.overRange(rng), p.link(sel, at, rng)
			if len(m.Series) == 0 && base.Status == diagnose.StatusOK {
				m.Status, m.Hint = c.missing(sig)
			}
			cl.Signals[sig] = m
		}
		out = append(out, cl)
	}
	return out
}

// oneClientSelector is the query a person would type for this client.
func (p *Prometheus) oneClientSelector(name string, c oneClient) selector {
	label := clientIDLabels()[0]
	for _, fs := range c.target.found {
		for _, l := range clientIDLabels() {
			if len(fs) > 0 && fs[0].metric[model.LabelName(l)] != "" {
				label = l
			}
		}
	}
	s := selector{match: []*labels.Matcher{
		labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, name),
		labels.MustNewMatcher(labels.MatchEqual, label, c.id),
	}}
	return s.and(p.set.client)
}

// missing tells a signal that the exporter drops from one without a value:
// time-between-poll-max is NaN while no poll has started for a minute, which is
// what a stuck consumer looks like.
func (c oneClient) missing(sig diagnose.Signal) (diagnose.Status, string) {
	switch {
	case c.void[sig]:
		return diagnose.StatusEmpty, ""
	case sig == diagnose.SignalPollMax:
		return diagnose.StatusNotExported, pollMaxHint
	}
	return diagnose.StatusNotExported, clientHint
}

func instanceOf(m model.Metric) string { return labelValue(m, "instance", "pod") }
