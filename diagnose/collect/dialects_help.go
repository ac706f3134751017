package collect

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// helpName is the dialect's name in a verdict where no known exporter
// configuration was recognised.
const helpName = "by MBean names in HELP"

// maxMetadata bounds the metrics whose HELP text is read. A cluster with the
// JMX exporter has about a thousand.
const maxMetadata = 20000

// maxHelped bounds the series names that may serve one signal.
const maxHelped = 4

// mbean is an attribute of a bean. name is "null" where the bean has none.
type mbean struct{ domain, name, kind, attribute string }

func (b mbean) String() string {
	if b.name == "null" {
		return b.domain + ":type=" + b.kind + " " + b.attribute
	}
	return b.domain + ":type=" + b.kind + ",name=" + b.name + " " + b.attribute
}

// helpBean finds the bean at the end of a HELP text of the JMX exporter
// (recorded from 0.20.0, 1.0.1 and 1.6.0; a rule may set its own text). Where
// one series serves several beans, the text names the first of them.
var helpBean = regexp.MustCompile(`(?:^|\s)([A-Za-z0-9._-]+):name=([^,\s]+),type=([^,\s]+),attribute=(\S+)$`)

func parseHelp(text string) (mbean, bool) {
	m := helpBean.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return mbean{}, false
	}
	return mbean{domain: m[1], name: m[2], kind: m[3], attribute: m[4]}, true
}

// gaugeBeans are the beans with one value a broker.
func gaugeBeans() map[diagnose.Signal]mbean {
	cache := func(name, attribute string) mbean { return mbean{"kafka.server", name, "FetchSessionCache", attribute} }
	replicas := func(name string) mbean { return mbean{"kafka.server", name, "ReplicaManager", "Value"} }
	return map[diagnose.Signal]mbean{
		diagnose.SignalLeaders:          replicas("LeaderCount"),
		diagnose.SignalUnderReplicated:  replicas("UnderReplicatedPartitions"),
		auxPartitions:                   replicas("PartitionCount"),
		diagnose.SignalBrokerState:      {"kafka.server", "BrokerState", "KafkaServer", "Value"},
		auxController:                   {"kafka.controller", "ActiveControllerCount", "KafkaController", "Value"},
		diagnose.SignalSessions:         cache("NumIncrementalFetchSessions", "Value"),
		diagnose.SignalCachedPartitions: cache("NumIncrementalFetchPartitionsCached", "Value"),
		diagnose.SignalEvictions:        cache("IncrementalFetchSessionEvictionsPerSec", "Count"),
		diagnose.SignalProcessStart:     {"java.lang", "null", "Runtime", "StartTime"},
	}
}

func requestBean(name, attribute string) mbean {
	return mbean{"kafka.network", name, "RequestMetrics", attribute}
}

// percentile is a signal that is one percentile of a request's bean.
type percentile struct {
	signal        diagnose.Signal
	bean, request string
	attribute     string
	quantiles     []string
}

func percentiles() []percentile {
	return []percentile{
		{diagnose.SignalFetchBytesP50, "RequestBytes", "FetchConsumer", "50thPercentile", []string{"0.5", "0.50"}},
		{diagnose.SignalFetchBytesP99, "RequestBytes", "FetchConsumer", "99thPercentile", []string{"0.99"}},
		{diagnose.SignalHeartbeatP99, "TotalTimeMs", "Heartbeat", "99thPercentile", []string{"0.99"}},
	}
}

// helped builds a dialect for an unknown exporter configuration: which series
// holds which MBean is in the HELP texts that Prometheus keeps of its targets.
// They are not told apart by cluster; the series read later are. ok is false
// where no series of a broker is named.
func (p *Prometheus) helped(ctx context.Context, at time.Time) (dialect, bool, diagnose.Reading) {
	meta, reading := p.metadata(ctx, at)
	if !reading.Usable() {
		return dialect{}, false, reading
	}
	h := readHelp(meta)
	if !h.broker() {
		return dialect{}, false, reading
	}
	d := h.dialect(p.requestLabels(ctx, h.of(requestBean("ErrorsPerSec", "Count")), at))
	if len(meta) >= maxMetadata {
		d.note = fmt.Sprintf("Only %d HELP texts were read; a series may be among the others", maxMetadata)
	}
	return d, true, reading
}

// broker reports whether one of the series that every broker has is named.
func (h helpIndex) broker() bool {
	beans := gaugeBeans()
	return slices.ContainsFunc(brokerGauges(), func(s diagnose.Signal) bool { return len(h.of(beans[s])) > 0 })
}

// metadata reads the HELP texts of all metrics.
func (p *Prometheus) metadata(ctx context.Context, at time.Time) (map[string][]v1.Metadata, diagnose.Reading) {
	ctx, c := withCall(ctx)
	began := time.Now()
	meta, err := p.api.Metadata(ctx, "", strconv.Itoa(maxMetadata))
	r := diagnose.Reading{
		Status: diagnose.StatusOK, AsOf: at.UTC(), DurationMS: time.Since(began).Milliseconds(),
		Source: "prometheus: metadata (HELP texts)",
	}
	if err != nil {
		r.Status, r.Error, r.Hint = explain(err, c.status)
		p.log.Warn("prometheus metadata was not read", "http_status", c.status, "status", string(r.Status), "error", err)
	}
	return meta, r
}

// helpIndex holds the metric names by the bean that their HELP text names.
type helpIndex map[mbean][]string

func readHelp(meta map[string][]v1.Metadata) helpIndex {
	h := helpIndex{}
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		if !model.LegacyValidation.IsValidMetricName(name) {
			continue
		}
		seen := map[mbean]bool{}
		for _, m := range meta[name] {
			if b, ok := parseHelp(m.Help); ok && !seen[b] && len(h[b]) < maxHelped {
				seen[b] = true
				h[b] = append(h[b], name)
			}
		}
	}
	return h
}

// of returns the series that hold an attribute: those whose text names it, and,
// with the bean's name as a label, those whose text names a sister bean.
func (h helpIndex) of(b mbean) []string {
	if b.name == "null" {
		return h[b]
	}
	if names := h[b]; len(names) > 0 {
		// The series may hold sister beans besides, told apart by this label.
		return each(names, fmt.Sprintf("name=~%q", b.name+"|"))
	}
	var out []string
	for other, names := range h {
		if other.domain == b.domain && other.kind == b.kind && other.attribute == b.attribute && other.name != "null" {
			out = append(out, each(names, fmt.Sprintf("name=%q", b.name))...)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxHelped)]
}

// labelled says how request and error stand in the series of RequestMetrics.
type labelled struct {
	request, err string
	// fused says that both are in one label, as Bitnami's rules have it.
	fused bool
	// agent says that the exporter runs inside the broker, so that its process is
	// the broker's.
	agent bool
}

// requestLabels looks at a few error counters: the label whose value is NONE is
// the error, the one whose value is an API's name is the request.
func (p *Prometheus) requestLabels(ctx context.Context, errors []string, at time.Time) labelled {
	out := labelled{request: "request", err: "error"}
	var parts []string
	for _, text := range errors {
		if sel, err := parseSelector(text); err == nil {
			parts = append(parts, "topk(50, "+sel.and(p.set.cluster).String()+")")
		}
	}
	if sel, err := parseSelector(`jmx_exporter_build_info{name="jmx_prometheus_javaagent"}`); err == nil {
		parts = append(parts, "topk(1, "+sel.and(p.set.cluster).String()+")")
	}
	for _, s := range p.ask(ctx, strings.Join(parts, " or "), at).vector {
		if s.Metric[model.MetricNameLabel] == "jmx_exporter_build_info" {
			out.agent = true
			continue
		}
		out.read(s.Metric)
	}
	return out
}

func (l *labelled) read(m model.Metric) {
	for _, n := range sortedLabels(m) {
		v := string(m[model.LabelName(n)])
		head, _, fused := strings.Cut(v, fusedError)
		switch {
		case fused && apiName(head):
			l.request, l.fused = n, true
		case apiName(v):
			l.request = n
		case v == "NONE":
			l.err = n
		}
	}
}

// apiName recognises the requests that every broker has answered soon after its
// start.
func apiName(s string) bool {
	switch s {
	case "ApiVersions", "Fetch", "Metadata", "Produce", "FindCoordinator", "BrokerHeartbeat", "BrokerRegistration", "ControllerRegistration":
		return true
	}
	return false
}

// with adds a matcher to a series that may have one already.
func with(series, matchers string) string {
	if head, ok := strings.CutSuffix(series, "}"); ok {
		return head + "," + matchers + "}"
	}
	return series + "{" + matchers + "}"
}

func each(series []string, matchers string) []string {
	var out []string
	for _, s := range series {
		out = append(out, with(s, matchers))
	}
	return out
}

// dialect maps the signals whose beans are named.
func (h helpIndex) dialect(l labelled) dialect {
	d := dialect{
		name: helpName, title: "series found by the MBean names in their HELP texts (no known exporter configuration)",
		signals: map[diagnose.Signal][]string{}, hints: map[diagnose.Signal]string{}, scale: map[string]float64{},
		beanLabels: []string{l.request, l.err},
	}
	put := func(s diagnose.Signal, b mbean, selectors []string) {
		if len(selectors) > 0 {
			d.signals[s] = selectors
		}
		d.hints[s] = "No HELP text names " + b.String() + ": add a rule for it to the exporter, or give the selector under prometheus.overrides."
	}
	for s, b := range gaugeBeans() {
		put(s, b, h.of(b))
	}
	h.start(&d, l)
	h.requests(&d, l, put)
	sockets := mbean{"kafka.server", "null", "socket-server-metrics", "connection-creation-total"}
	put(diagnose.SignalConnectionsMade, sockets, each(h.of(sockets), `listener=~".+"`))
	sockets.attribute = "connections"
	if names := h.of(sockets); len(names) > 0 {
		d.census = with(names[0], `listener=~".+"`)
	}
	d.censusHint = "No HELP text names " + sockets.String() + ": add a rule for it that keeps clientSoftwareName, clientSoftwareVersion and listener."
	d.otherwise = "No HELP text names the MBean of this signal: give the selector under prometheus.overrides."
	return d
}

// start prefers the Runtime bean, which is the broker's everywhere. The
// exporter's own process is the broker only where it runs as an agent.
func (h helpIndex) start(d *dialect, l labelled) {
	for _, n := range d.signals[diagnose.SignalProcessStart] {
		d.scale[n] = 0.001
	}
	if l.agent {
		d.signals[diagnose.SignalProcessStart] = append(slices.Clone(d.signals[diagnose.SignalProcessStart]), "process_start_time_seconds")
	}
}

func (h helpIndex) requests(d *dialect, l labelled, put func(diagnose.Signal, mbean, []string)) {
	errors, requests := requestBean("ErrorsPerSec", "Count"), requestBean("RequestsPerSec", "Count")
	request := func(name string) string { return fmt.Sprintf("%s=%q", l.request, name) }
	failed := func(r, e string) string { return fmt.Sprintf("%s=%q,%s=%q", l.request, r, l.err, e) }
	counted := request
	if l.fused {
		failed = func(r, e string) string { return request(r + fusedError + e) }
		counted = func(name string) string { return fmt.Sprintf("%s=~%q", l.request, name+fusedVersion+".*") }
	}
	for _, e := range errorSignals() {
		put(e.signal, errors, each(h.of(errors), failed(e.request, e.error)))
	}
	for s, r := range requestSignals() {
		put(s, requests, each(h.of(requests), counted(r)))
	}
	put(diagnose.SignalErrorsAny, errors, h.of(errors))
	d.witness = l.witness(h.of(errors))
	mean := requestBean("RequestBytes", "Mean")
	put(diagnose.SignalFetchBytesMean, mean, each(h.of(mean), request("FetchConsumer")))
	for _, q := range percentiles() {
		bean := requestBean(q.bean, q.attribute)
		put(q.signal, bean, h.percentile(q, request(q.request)))
	}
}

// witness is one selector: the series of the first name.
func (l labelled) witness(series []string) string {
	if len(series) == 0 {
		return ""
	}
	const first = "ApiVersions|Fetch|BrokerRegistration|ControllerRegistration|Metadata"
	if l.fused {
		return with(series[0], fmt.Sprintf("%s=~%q", l.request, "("+first+")"+fusedError+"NONE"))
	}
	return with(series[0], fmt.Sprintf("%s=~%q,%s=%q", l.request, first, l.err, "NONE"))
}

// percentile finds a percentile in a series of its own, or under a label
// quantile beside the others, where the text names any attribute of the bean.
func (h helpIndex) percentile(q percentile, request string) []string {
	own := requestBean(q.bean, q.attribute)
	out := each(h.of(own), request+`,quantile=""`)
	var shared []string
	for b, names := range h {
		if b.domain == own.domain && b.kind == own.kind && b.name == own.name {
			shared = append(shared, names...)
		}
	}
	slices.Sort(shared)
	for _, n := range slices.Compact(shared) {
		for _, v := range q.quantiles {
			out = append(out, with(n, request+fmt.Sprintf(",quantile=%q", v)))
		}
	}
	return out[:min(len(out), 2*maxHelped)]
}
