package alertmanager

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
)

// Mapping says where an alert's labels name the things an incident is about.
// Each list is tried in order; the first label that is present and not empty
// wins. Rendered text (annotations) is never read.
type Mapping struct {
	Cluster []string `yaml:"cluster"`
	Broker  []string `yaml:"broker"`
	Pod     []string `yaml:"pod"`
	// Instance labels name a scrape target that has to be resolved.
	Instance []string `yaml:"instance"`
	Group    []string `yaml:"group"`
	Topic    []string `yaml:"topic"`
	Severity []string `yaml:"severity"`
	// BrokerPod must match a pod's name, with the broker id as its first
	// sub-match: a consumer's pod has an ordinal too.
	BrokerPod string `yaml:"broker_pod"`
	// Clusters maps a label's value to the cluster's configured name.
	Clusters map[string]string `yaml:"clusters"`
	// DefaultCluster is used when no label names one.
	DefaultCluster string `yaml:"default_cluster"`
	// Brokers maps an instance to a broker id.
	Brokers map[string]int32 `yaml:"brokers"`
	Kinds   []KindRule       `yaml:"kinds"`
	// Ignore lists alerts, by normalised name, that open nothing.
	Ignore []string `yaml:"ignore"`

	pod *regexp.Regexp
	// brokerOf asks the collectors' resolver, nil when there is none.
	brokerOf func(cluster, instance string) (int32, bool)
}

// DefaultMapping holds the labels that Strimzi, the Grafana and Confluent
// rules, kafka_exporter, kminion and the usual jmx_exporter set-ups use.
// "cluster" may be the Kubernetes cluster, so names that only mean Kafka come
// first; env and job are last resorts.
func DefaultMapping() Mapping {
	return Mapping{
		Cluster:   []string{"kafka_cluster", "strimzi_io_cluster", "cluster", "cluster_name", "clusterArn", "env", "job"},
		Broker:    []string{"broker_id", "node_id", "broker", "coordinator"},
		Pod:       []string{"kubernetes_pod_name", "pod", "strimzi_io_name"},
		Instance:  []string{"instance"},
		Group:     []string{"consumergroup", "consumer_group", "group", "group_id", "groupId", "redpanda_group"},
		Topic:     []string{"topic"},
		Severity:  []string{"severity", "priority"},
		BrokerPod: `^(?:.*-)?(?:kafka|brokers?|controllers?|dual-role|pool(?:-[a-z0-9]+)?)-(\d{1,9})$`,
		Kinds:     DefaultKinds(),
		Ignore:    []string{"watchdog", "infoinhibitor", "deadmansswitch"},
	}
}

// Compile checks the mapping and prepares it. brokerOf may be nil.
func (m Mapping) Compile(brokerOf func(cluster, instance string) (int32, bool)) (Mapping, error) {
	pod, err := regexp.Compile(m.BrokerPod)
	if err != nil {
		return Mapping{}, err
	}
	m.pod, m.brokerOf = pod, brokerOf
	return m, nil
}

// Labels lists every label the mapping may read, for [Bounds.Keep].
func (m Mapping) Labels() []string {
	var out []string
	for _, l := range [][]string{m.Cluster, m.Broker, m.Pod, m.Instance, m.Group, m.Topic, m.Severity} {
		out = append(out, l...)
	}
	return out
}

// Mapped is what an alert's labels say it is about.
type Mapped struct {
	Cluster string
	Broker  *int32
	// BrokerHint names a broker that could not be resolved to an id.
	BrokerHint string
	Group      string
	Topic      string
	Severity   string
	Kind       incident.Kind
	Ignored    bool
}

// Map reads an alert's labels.
func (m Mapping) Map(a Alert) Mapped {
	name := normal(a.Name())
	out := Mapped{
		Cluster:  m.cluster(a.Labels),
		Group:    first(a.Labels, m.Group),
		Topic:    first(a.Labels, m.Topic),
		Severity: strings.ToLower(first(a.Labels, m.Severity)),
		Kind:     m.kind(name),
	}
	for _, n := range m.Ignore {
		out.Ignored = out.Ignored || normal(n) == name
	}
	out.Broker, out.BrokerHint = m.broker(out.Cluster, a.Labels)
	return out
}

func (m Mapping) cluster(labels map[string]string) string {
	v := first(labels, m.Cluster)
	if name, ok := m.Clusters[v]; ok {
		return name
	}
	if v == "" {
		return m.DefaultCluster
	}
	return v
}

func (m Mapping) broker(cluster string, labels map[string]string) (*int32, string) {
	named := first(labels, m.Broker)
	if id, ok := brokerID(named); ok {
		return &id, ""
	}
	for _, l := range m.Pod {
		if sub := m.pod.FindStringSubmatch(labels[l]); len(sub) == 2 {
			if id, ok := brokerID(sub[1]); ok {
				return &id, ""
			}
		}
	}
	instance := first(labels, m.Instance)
	if instance == "" {
		return nil, named
	}
	if id, ok := m.instance(cluster, instance); ok {
		return &id, ""
	}
	if named != "" {
		return nil, named
	}
	return nil, instance
}

func (m Mapping) instance(cluster, instance string) (int32, bool) {
	if id, ok := m.Brokers[instance]; ok {
		return id, true
	}
	if id, ok := brokerID(instance); ok {
		return id, true
	}
	if m.brokerOf != nil {
		return m.brokerOf(cluster, instance)
	}
	return 0, false
}

func brokerID(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && n >= 0
}

func first(labels map[string]string, names []string) string {
	for _, n := range names {
		if v := strings.TrimSpace(labels[n]); v != "" {
			return v
		}
	}
	return ""
}

// normal lower-cases a name and keeps its letters, so that
// "UnderReplicatedPartitions > 0" and "under_replicated_partitions" are one.
func normal(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' {
			b.WriteRune(r)
		}
	}
	return b.String()
}
