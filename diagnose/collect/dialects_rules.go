package collect

import (
	"fmt"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// perSec holds what the rule files of Confluent and of Grafana have in common:
// Kafka's own names in lower case. The meters are cumulative counts in spite of
// their "persec".
func perSec() dialect {
	const requests = "kafka_network_requestmetrics_"
	d := ruled()
	d.probe = requests + "errorspersec"
	d.witness = requests + `errorspersec{` + witnessMatch + `}`
	d.census = `kafka_server_socketservermetrics_connections{client_software_name=~".+"}`
	d.signals[diagnose.SignalEvictions] = []string{"kafka_server_fetchsessioncache_incrementalfetchsessionevictionspersec"}
	d.signals[diagnose.SignalErrorsAny] = []string{requests + "errorspersec"}
	d.signals[diagnose.SignalConnectionsMade] = []string{
		"kafka_server_socketservermetrics_connection_creation", "kafka_server_socketservermetrics_connection_creation_total",
	}
	for _, e := range errorSignals() {
		d.signals[e.signal] = []string{fmt.Sprintf(requests+`errorspersec{request=%q,error=%q}`, e.request, e.error)}
	}
	for s, r := range requestSignals() {
		d.signals[s] = []string{fmt.Sprintf(requests+`requestspersec{request=%q}`, r)}
	}
	return d
}

// confluent is kafka_broker.yml of Confluent's jmx-monitoring-stacks. For the
// first 120 s after a start there is no scrape (its startDelaySeconds).
func confluent() dialect {
	d := perSec()
	d.name, d.title = "confluent", "Confluent's JMX exporter rules (jmx-monitoring-stacks)"
	d.marks = []string{"kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_oneminuterate"}
	d.otherwise = "Confluent's kafka_broker.yml keeps this series; look for a changed rule, or a metric_relabel_configs or blacklistObjectNames entry that drops it. " +
		"For the first 120 s after a start this rule file serves nothing (startDelaySeconds)."
	d.censusHint = "Confluent's kafka_broker.yml keeps connections by client library; look for a changed rule or a metric_relabel_configs entry that drops kafka_server_socketservermetrics_connections."
	return d
}

// grafana is kafka-mixin/jmx/kafka_broker.yml of Grafana's jsonnet-libs.
func grafana() dialect {
	d := perSec()
	d.name, d.title = "grafana", "Grafana's JMX exporter rules (kafka-mixin)"
	d.otherwise = "Grafana's kafka_broker.yml keeps this series; look for a changed rule, or a metric_relabel_configs or blacklistObjectNames entry that drops it."
	d.censusHint = "Grafana's kafka_broker.yml keeps connections by client library; look for a changed rule or a metric_relabel_configs entry that drops kafka_server_socketservermetrics_connections."
	return d
}

// bitnami is the JMX configuration of Bitnami's chart. Its exporter runs beside
// the broker and reads it over remote JMX, so that there are no JVM metrics of
// the broker but its Runtime bean; a rule fuses the second key of a bean into
// the first label (request="Fetch, error=NONE").
func bitnami() dialect {
	const requests = "kafka_network_requestmetrics_"
	total := func(bean, name string) []string { return []string{"kafka_" + bean + "_total_" + name + "_value"} }
	d := dialect{
		name: "bitnami", title: "Bitnami's JMX exporter rules",
		probe:   requests + "errorspersec_count",
		witness: requests + `errorspersec_count{request=~"(ApiVersions|Fetch|BrokerRegistration|ControllerRegistration|Metadata), error=NONE"}`,
		scale:   map[string]float64{"java_lang_runtime_starttime": 0.001},
		otherwise: "The rules of Bitnami's chart keep this series; look for a changed metrics.jmx.config, for metrics.jmx.whitelistObjectNames " +
			"and for a metric_relabel_configs entry that drops it.",
		censusHint: "The rules of Bitnami's chart drop socket-server-metrics; add a rule for kafka.server type=socket-server-metrics under metrics.jmx.extraRules.",
	}
	d.signals = map[diagnose.Signal][]string{
		diagnose.SignalProcessStart:     {"java_lang_runtime_starttime"},
		diagnose.SignalLeaders:          total("server_replicamanager", "leadercount"),
		diagnose.SignalUnderReplicated:  total("server_replicamanager", "underreplicatedpartitions"),
		diagnose.SignalBrokerState:      total("server_kafkaserver", "brokerstate"),
		diagnose.SignalSessions:         total("server_fetchsessioncache", "numincrementalfetchsessions"),
		diagnose.SignalCachedPartitions: total("server_fetchsessioncache", "numincrementalfetchpartitionscached"),
		diagnose.SignalEvictions:        {"kafka_server_fetchsessioncache_total_incrementalfetchsessionevictionspersec_count"},
		diagnose.SignalErrorsAny:        {requests + "errorspersec_count"},
		auxPartitions:                   total("server_replicamanager", "partitioncount"),
		auxController:                   {"kafka_controller_kafkacontroller_activecontrollercount_value"},
	}
	for _, e := range errorSignals() {
		d.signals[e.signal] = []string{fmt.Sprintf(requests+`errorspersec_count{request=%q}`, e.request+fusedError+e.error)}
	}
	for s, r := range requestSignals() {
		d.signals[s] = []string{fmt.Sprintf(requests+`requestspersec_count{request=~%q}`, r+fusedVersion+".*")}
	}
	const percentiles = "The rules of Bitnami's chart drop the percentiles of request metrics; add a rule for the attributes Mean, 50thPercentile and 99thPercentile under metrics.jmx.extraRules."
	d.hints = map[diagnose.Signal]string{
		diagnose.SignalFetchBytesMean: percentiles, diagnose.SignalFetchBytesP50: percentiles, diagnose.SignalFetchBytesP99: percentiles,
		diagnose.SignalHeartbeatP99:    percentiles,
		diagnose.SignalConnectionsMade: d.censusHint,
	}
	return d
}

// How Bitnami's rules join the keys of a bean in the label request: one comma,
// one space.
const (
	fusedError   = ", error="
	fusedVersion = ", version="
)

// unfuse splits such a label into its keys.
func unfuse(lset map[string]string) {
	head, rest, ok := strings.Cut(lset["request"], ", ")
	if key, value, two := strings.Cut(rest, "="); ok && two {
		lset["request"], lset[key] = head, value
	}
}

// metricsReporter is Strimzi's Metrics Reporter, a plug-in of the broker. The
// operator's default allow-list leaves out the fetch session cache; the
// reporter's own default (.*) has all.
func metricsReporter() dialect {
	const (
		requests = "kafka_network_requestmetrics_"
		setting  = "prometheus.metrics.reporter.allowlist (with the Strimzi operator: spec.kafka.metricsConfig.values.allowList)"
	)
	d := ruled()
	d.name, d.title = "strimzi-metrics-reporter", "Strimzi Metrics Reporter"
	d.probe = requests + "errorspersec_total"
	d.witness = requests + `errorspersec_total{` + witnessMatch + `}`
	d.census = `kafka_server_socket_server_metrics_connections{clientSoftwareName=~".+"}`
	d.signals[diagnose.SignalEvictions] = []string{"kafka_server_fetchsessioncache_incrementalfetchsessionevictionspersec_total"}
	d.signals[diagnose.SignalErrorsAny] = []string{requests + "errorspersec_total"}
	d.signals[diagnose.SignalConnectionsMade] = []string{"kafka_server_socket_server_metrics_connection_creation"}
	d.signals[auxAppInfo] = []string{"kafka_server_app_info_start_time_ms"}
	for _, e := range errorSignals() {
		d.signals[e.signal] = []string{fmt.Sprintf(requests+`errorspersec_total{request=%q,error=%q}`, e.request, e.error)}
	}
	for s, r := range requestSignals() {
		d.signals[s] = []string{fmt.Sprintf(requests+`requestspersec_total{request=%q}`, r)}
	}
	const cache = "The allow-list of the metrics reporter leaves out the fetch session cache, as the operator's default does: add kafka_server_fetchsessioncache.* to " + setting + "."
	d.hints = map[diagnose.Signal]string{
		diagnose.SignalSessions: cache, diagnose.SignalCachedPartitions: cache, diagnose.SignalEvictions: cache,
		diagnose.SignalFetchBytesMean: "The metrics reporter serves the percentiles of RequestBytes but no mean.",
	}
	d.otherwise = "The allow-list of the metrics reporter may leave this series out: look at " + setting + "."
	d.censusHint = "The allow-list of the metrics reporter may leave out the connections by client library: add kafka_server_socket_server_metrics.* to " + setting + "."
	return d
}
