package collect

import (
	"fmt"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// A dialect says under which series names one exporter configuration serves
// the signals. To add one:
//
//  1. write a function that returns its dialect, with a selector for each
//     signal it has (the first of several that has data wins),
//  2. list it in dialects, more specific ones first,
//  3. record a scrape, cut the needed series into testdata/dialects, and list
//     what it must resolve to in resolve.tsv.
//
// The names were recorded from Kafka 3.9.2 and 4.4.0 under the JMX exporter
// 0.20.0, 1.0.1 and 1.6.0 and under Strimzi's Metrics Reporter. What an unknown
// configuration serves is looked up by its HELP texts (helped).
type dialect struct {
	// name goes into the verdict.
	name string
	// title names it for people.
	title string
	// probe is a series that only this dialect's family has.
	probe string
	// marks are series of which one must exist besides probe; none = no further
	// condition.
	marks []string
	// signals maps a signal to its selectors.
	signals map[diagnose.Signal][]string
	// witness narrows what is fetched for SignalErrorsAny: one counter that any
	// called broker has is enough to prove that errors are counted, and all of
	// them would be most of the answer.
	witness string
	// scale converts a series to the signal's unit, by metric name.
	scale map[string]float64
	// beanLabels are label names besides the usual ones that come from the beans,
	// not from the scrape.
	beanLabels []string
	// census selects the connections by client library, "" = not exported.
	census string
	// hints says for a signal that is missing what to change in the exporter.
	hints map[diagnose.Signal]string
	// otherwise is the hint for all other signals.
	otherwise string
	// censusHint is the hint for a missing census.
	censusHint string
	// note is a reservation about the whole source, found when the dialect was.
	note string
}

// Auxiliary signals: read to find out which broker a series belongs to, never
// shown as evidence.
const (
	auxPartitions diagnose.Signal = "aux.partitions"
	auxController diagnose.Signal = "aux.active_controller"
	auxAppInfo    diagnose.Signal = "aux.app_info"
	// auxRequests proves that request counters are visible, as SignalErrorsAny
	// does for error counters: both kinds are born with their first use.
	auxRequests diagnose.Signal = "aux.requests"
)

// dialects is the table, most specific first.
func dialects() []dialect {
	return []dialect{
		strimzi(), jmxExamples(), jmxNone(), confluent(), grafana(), bitnami(), metricsReporter(),
	}
}

// custom is no dialect at all: only the configured overrides are read.
func custom() dialect {
	const hint = "The exporter's series names are not known; give a selector under prometheus.overrides."
	return dialect{name: "custom", title: "selectors from the configuration", otherwise: hint, censusHint: hint}
}

// errorSignal is an error counter: which request, which error name.
type errorSignal struct {
	signal         diagnose.Signal
	request, error string
}

// errorSignals are the labels of ErrorsPerSec, the same in all dialects read
// here (Kafka's RequestMetrics: request = ApiKeys name, error = Errors name).
func errorSignals() []errorSignal {
	return []errorSignal{
		{diagnose.SignalErrors70, "Fetch", "FETCH_SESSION_ID_NOT_FOUND"},
		{diagnose.SignalErrors71, "Fetch", "INVALID_FETCH_SESSION_EPOCH"},
		{diagnose.SignalErrors106, "Fetch", "FETCH_SESSION_TOPIC_ID_ERROR"},
		{diagnose.SignalNotLeaderFetch, "Fetch", "NOT_LEADER_OR_FOLLOWER"},
		{diagnose.SignalNotLeaderList, "ListOffsets", "NOT_LEADER_OR_FOLLOWER"},
		{diagnose.SignalRebootstrap, "ApiVersions", "REBOOTSTRAP_REQUIRED"},
		{diagnose.SignalHeartbeat25, "Heartbeat", "UNKNOWN_MEMBER_ID"},
		{diagnose.SignalOffsetCommit25, "OffsetCommit", "UNKNOWN_MEMBER_ID"},
		{diagnose.SignalGroupBeat25, "ConsumerGroupHeartbeat", "UNKNOWN_MEMBER_ID"},
		{diagnose.SignalSyncGroup25, "SyncGroup", "UNKNOWN_MEMBER_ID"},
		{diagnose.SignalJoinGroup25, "JoinGroup", "UNKNOWN_MEMBER_ID"},
		{diagnose.SignalCommit22, "OffsetCommit", "ILLEGAL_GENERATION"},
		{diagnose.SignalCommit69, "OffsetCommit", "GROUP_ID_NOT_FOUND"},
		{diagnose.SignalGroupBeat69, "ConsumerGroupHeartbeat", "GROUP_ID_NOT_FOUND"},
		{diagnose.SignalHeartbeat27, "Heartbeat", "REBALANCE_IN_PROGRESS"},
		{diagnose.SignalBeatFenced, "Heartbeat", "FENCED_INSTANCE_ID"},
		{diagnose.SignalCommitFenced, "OffsetCommit", "FENCED_INSTANCE_ID"},
		{diagnose.SignalUnreleased, "ConsumerGroupHeartbeat", "UNRELEASED_INSTANCE_ID"},
	}
}

// requestSignals are the request counters by Kafka's request name.
func requestSignals() map[diagnose.Signal]string {
	return map[diagnose.Signal]string{
		diagnose.SignalFetchRequests: "FetchConsumer",
		diagnose.SignalJoinRequests:  "JoinGroup",
		diagnose.SignalLeaveRequests: "LeaveGroup",
		auxRequests:                  "ApiVersions",
	}
}

// witnessMatch picks the counters that show error counting at work: the
// requests every client starts with. A fresh broker that no client has called
// shows the controller's registrations instead (measured).
const witnessMatch = `request=~"ApiVersions|Fetch|BrokerRegistration|ControllerRegistration|Metadata",error="NONE"`

// jmxNone is the JMX exporter without rules, which Amazon MSK's open monitoring
// serves: one name a bean type and attribute, the bean's keys as labels.
func jmxNone() dialect {
	const requests = "kafka_network_RequestMetrics_"
	value := func(bean, name string) []string {
		return []string{fmt.Sprintf(`kafka_%s_Value{name=%q}`, bean, name)}
	}
	d := dialect{
		name: "jmx-none", title: "JMX exporter without rules (MSK open monitoring)",
		probe:     requests + "Count",
		witness:   requests + `Count{name="ErrorsPerSec",` + witnessMatch + `}`,
		scale:     map[string]float64{"java_lang_Runtime_StartTime": 0.001},
		census:    `kafka_server_socket_server_metrics_connections{clientSoftwareName!=""}`,
		otherwise: "Without rules the JMX exporter serves every bean; look for a metric_relabel_configs or includeObjectNames entry that drops this one.",
		censusHint: "Without rules the JMX exporter serves socket-server-metrics; look for a metric_relabel_configs or includeObjectNames entry " +
			"that drops kafka_server_socket_server_metrics_connections.",
	}
	d.signals = map[diagnose.Signal][]string{
		// The Runtime bean is the broker's in every set-up; process_start_time_seconds
		// is the exporter's own where it runs beside the broker.
		diagnose.SignalProcessStart:     {"java_lang_Runtime_StartTime", "process_start_time_seconds"},
		diagnose.SignalLeaders:          value("server_ReplicaManager", "LeaderCount"),
		diagnose.SignalUnderReplicated:  value("server_ReplicaManager", "UnderReplicatedPartitions"),
		diagnose.SignalBrokerState:      value("server_KafkaServer", "BrokerState"),
		diagnose.SignalSessions:         value("server_FetchSessionCache", "NumIncrementalFetchSessions"),
		diagnose.SignalCachedPartitions: value("server_FetchSessionCache", "NumIncrementalFetchPartitionsCached"),
		diagnose.SignalEvictions:        {`kafka_server_FetchSessionCache_Count{name="IncrementalFetchSessionEvictionsPerSec"}`},
		diagnose.SignalFetchBytesMean:   {requests + `Mean{name="RequestBytes",request="FetchConsumer"}`},
		diagnose.SignalFetchBytesP50:    {requests + `50thPercentile{name="RequestBytes",request="FetchConsumer"}`},
		diagnose.SignalFetchBytesP99:    {requests + `99thPercentile{name="RequestBytes",request="FetchConsumer"}`},
		diagnose.SignalHeartbeatP99:     {requests + `99thPercentile{name="TotalTimeMs",request="Heartbeat"}`},
		diagnose.SignalErrorsAny:        {requests + `Count{name="ErrorsPerSec"}`},
		auxPartitions:                   value("server_ReplicaManager", "PartitionCount"),
		auxController:                   value("controller_KafkaController", "ActiveControllerCount"),
		auxAppInfo:                      {"kafka_server_app_info_StartTimeMs"},
		// Agents from 1.0 on take _total away from what is no counter to them.
		diagnose.SignalConnectionsMade: {
			"kafka_server_socket_server_metrics_connection_creation", "kafka_server_socket_server_metrics_connection_creation_total",
		},
	}
	for _, e := range errorSignals() {
		d.signals[e.signal] = []string{fmt.Sprintf(requests+`Count{name="ErrorsPerSec",request=%q,error=%q}`, e.request, e.error)}
	}
	for s, r := range requestSignals() {
		d.signals[s] = []string{fmt.Sprintf(requests+`Count{name="RequestsPerSec",request=%q}`, r)}
	}
	return d
}

// ruled holds what the rule files of jmx_exporter's examples and of Strimzi
// have in common. The suffix changes between agent versions (_count to
// _count_total, lost _total on gauges) do not touch these names.
func ruled() dialect {
	const requests = "kafka_network_requestmetrics_"
	d := dialect{probe: requests + "errors_total"}
	d.witness = requests + `errors_total{` + witnessMatch + `}`
	d.signals = map[diagnose.Signal][]string{
		diagnose.SignalProcessStart:     {"process_start_time_seconds"},
		diagnose.SignalLeaders:          {"kafka_server_replicamanager_leadercount"},
		diagnose.SignalUnderReplicated:  {"kafka_server_replicamanager_underreplicatedpartitions"},
		diagnose.SignalBrokerState:      {"kafka_server_kafkaserver_brokerstate"},
		diagnose.SignalSessions:         {"kafka_server_fetchsessioncache_numincrementalfetchsessions"},
		diagnose.SignalCachedPartitions: {"kafka_server_fetchsessioncache_numincrementalfetchpartitionscached"},
		diagnose.SignalEvictions:        {"kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total"},
		diagnose.SignalFetchBytesP50:    {requests + `requestbytes{request="FetchConsumer",quantile="0.50"}`, requests + `requestbytes{request="FetchConsumer",quantile="0.5"}`},
		diagnose.SignalFetchBytesP99:    {requests + `requestbytes{request="FetchConsumer",quantile="0.99"}`},
		diagnose.SignalHeartbeatP99:     {requests + `totaltimems{request="Heartbeat",quantile="0.99"}`},
		diagnose.SignalErrorsAny:        {requests + "errors_total"},
		auxPartitions:                   {"kafka_server_replicamanager_partitioncount"},
		auxController:                   {"kafka_controller_kafkacontroller_activecontrollercount"},
	}
	for _, e := range errorSignals() {
		d.signals[e.signal] = []string{fmt.Sprintf(requests+`errors_total{request=%q,error=%q}`, e.request, e.error)}
	}
	for s, r := range requestSignals() {
		d.signals[s] = []string{fmt.Sprintf(requests+`requests_total{request=%q}`, r)}
	}
	d.hints = map[diagnose.Signal]string{
		diagnose.SignalFetchBytesMean: "These exporter rules keep the percentiles of RequestBytes and drop its mean; add a rule for the attribute Mean to see it.",
		diagnose.SignalProcessStart:   "The JMX exporter as a Java agent serves process_start_time_seconds; look for a metric_relabel_configs entry that drops it.",
	}
	return d
}

// jmxExamples is jmx_exporter's examples/kafka-2_0_0.yml and
// kafka-kraft-3_0_0.yml. The first has no app-info id before Kafka 4.4 and no
// census, the second fuses both into the series name.
func jmxExamples() dialect {
	d := ruled()
	d.name, d.title = "jmx-examples", "JMX exporter with its example rules"
	d.signals[auxAppInfo] = []string{
		`{__name__=~"kafka_server_app_info_client_id_[0-9]+_start_time_ms"}`,
		"kafka_server_quota_start_time_ms",
	}
	d.signals[diagnose.SignalConnectionsMade] = []string{
		`{__name__=~"kafka_server_socket_server_metrics_listener_.+_networkprocessor_[0-9]+_connection_creation_total"}`,
	}
	d.hints[diagnose.SignalConnectionsMade] = "The rules kafka-2_0_0.yml drop socket-server-metrics; kafka-kraft-3_0_0.yml or Strimzi's rules keep the number of opened connections."
	d.census = `{__name__=~"kafka_server_socket_server_metrics_clientsoftwarename_.+_connections"}`
	d.otherwise = "The example rules kafka-2_0_0.yml and kafka-kraft-3_0_0.yml keep this series; look for a rule before them or a metric_relabel_configs entry that drops it."
	d.censusHint = "The rules kafka-2_0_0.yml drop socket-server-metrics; kafka-kraft-3_0_0.yml or Strimzi's rules keep the connections by client library."
	return d
}

// strimzi is Strimzi's kafka-metrics.yaml.
func strimzi() dialect {
	d := ruled()
	d.name, d.title = "strimzi", "Strimzi's JMX exporter rules"
	d.marks = []string{"kafka_server_raftmetrics_current_state", "kafka_server_socket_server_metrics_connections_software"}
	d.signals[diagnose.SignalConnectionsMade] = []string{"kafka_server_socket_server_metrics_connection_creation_total"}
	d.census = "kafka_server_socket_server_metrics_connections_software"
	d.otherwise = "Strimzi's kafka-metrics.yaml keeps this series; look for a changed rule in the ConfigMap or a metricRelabelings entry that drops it."
	d.censusHint = "Strimzi's kafka-metrics.yaml keeps connections by client library; look for a changed rule in the ConfigMap or a metricRelabelings entry that drops it."
	return d
}

// hint says what to change so that a missing signal becomes readable.
func (d dialect) hint(s diagnose.Signal) string {
	if h, ok := d.hints[s]; ok {
		return h
	}
	return d.otherwise
}
