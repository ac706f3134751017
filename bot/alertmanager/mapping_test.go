package alertmanager

import (
	"fmt"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
)

func mapped(t *testing.T, labels map[string]string) Mapped {
	t.Helper()
	m := DefaultMapping()
	m.DefaultCluster = "only"
	m.Clusters = map[string]string{"arn:aws:kafka:x": "msk-prod"}
	m.Brokers = map[string]int32{"10.0.0.7:7071": 7}
	m, err := m.Compile(func(_, instance string) (int32, bool) { return 8, instance == "resolved:9404" })
	if err != nil {
		t.Fatal(err)
	}
	return m.Map(Alert{Labels: labels})
}

// The labels of the rule sets in the wild.
func TestMapping(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"strimzi broker": {map[string]string{"alertname": "UnderReplicatedPartitions", "kubernetes_pod_name": "prod-kafka-3", "strimzi_io_cluster": "prod", "namespace": "k"},
			"prod broker=3 hint= group= topic= broker"},
		"strimzi node pool": {map[string]string{"alertname": "UnderReplicatedPartitions", "pod": "prod-dual-role-0", "strimzi_io_cluster": "prod"},
			"prod broker=0 hint= group= topic= broker"},
		"strimzi exporter": {map[string]string{"alertname": "TooLargeConsumerGroupLag", "consumergroup": "orders", "topic": "t", "instance": "exporter:9308"},
			"only broker=- hint=exporter:9308 group=orders topic=t lag"},
		"grafana": {map[string]string{"alertname": "KafkaLagKeepsIncreasing", "kafka_cluster": "a", "cluster": "k8s", "consumergroup": "g", "topic": "t"},
			"a broker=- hint= group=g topic=t lag"},
		"confluent": {map[string]string{"alertname": "UnderReplicatedPartitions > 0", "env": "prod", "instance": "10.0.0.7:7071", "job": "kafka"},
			"prod broker=7 hint= group= topic= broker"},
		"awesome": {map[string]string{"alertname": "KafkaConsumersGroup", "consumergroup": "g"}, "only broker=- hint= group=g topic= lag"},
		"msk":     {map[string]string{"alertname": "X", "clusterArn": "arn:aws:kafka:x", "broker_id": "2"}, "msk-prod broker=2 hint= group= topic= other"},
		"own fetch rule": {map[string]string{"alertname": "KafkaFetchSessionFollowerChurn", "cluster": "c", "instance": "b1:9404"},
			"c broker=- hint=b1:9404 group= topic= fetch"},
		"own member rule":         {map[string]string{"alertname": "KafkaGroupUnknownMember", "cluster": "c", "node_id": "5"}, "c broker=5 hint= group= topic= membership"},
		"resolved by the hook":    {map[string]string{"alertname": "X", "cluster": "c", "instance": "resolved:9404"}, "c broker=8 hint= group= topic= other"},
		"a consumer's pod":        {map[string]string{"alertname": "KubePodCrashLooping", "cluster": "c", "pod": "orders-consumer-1"}, "c broker=- hint= group= topic= other"},
		"a kafka consumer's pod":  {map[string]string{"alertname": "KubePodCrashLooping", "cluster": "c", "pod": "kafka-ui-7d9f"}, "c broker=- hint= group= topic= other"},
		"a consumer on kafka":     {map[string]string{"alertname": "KubePodCrashLooping", "cluster": "c", "pod": "kafka-consumer-orders-0"}, "c broker=- hint= group= topic= other"},
		"broker id out of range":  {map[string]string{"alertname": "X", "cluster": "c", "broker_id": "99999999999"}, "c broker=- hint=99999999999 group= topic= other"},
		"negative broker id":      {map[string]string{"alertname": "X", "cluster": "c", "broker_id": "-1"}, "c broker=- hint=-1 group= topic= other"},
		"rendered text is no use": {map[string]string{"alertname": "X", "description": "group orders on broker 3"}, "only broker=- hint= group= topic= other"},
	} {
		m := mapped(t, c.labels)
		broker := "-"
		if m.Broker != nil {
			broker = fmt.Sprint(*m.Broker)
		}
		got := fmt.Sprintf("%s broker=%s hint=%s group=%s topic=%s %s", m.Cluster, broker, m.BrokerHint, m.Group, m.Topic, m.Kind)
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]incident.Kind{
		"KafkaFetchSessionErrors": incident.KindFetch, "KafkaFetchSessionLiveEvictions": incident.KindFetch, "KafkaFetchSessionCacheFull": incident.KindFetch,
		"KafkaGroupRebalanceStorm": incident.KindMembership, "KafkaConsumerHeartbeatStale": incident.KindMembership, "KafkaConsumerPollBudget": incident.KindMembership,
		"kafka_oncall_group_member_lost": incident.KindMembership, "ConnectFailedTask": incident.KindMembership,
		"KafkaConsumerGroupLagHigh": incident.KindLag, "KafkaLagIsTooHigh": incident.KindLag, "NoMessageForTooLong": incident.KindLag, "KafkaConsumerLag": incident.KindLag,
		"OfflinePartitionCount > 0": incident.KindBroker, "KafkaISRShrinkRate": incident.KindBroker, "KafkaPreferredReplicaImbalance": incident.KindBroker,
		"ActiveControllerCount != 1": incident.KindBroker, "KafkaContainerRestartedInTheLast5Minutes": incident.KindBroker, "service_down": incident.KindBroker,
		"CPUThrottlingHigh": incident.KindOther, "JvmThreadsDeadlocked": incident.KindOther,
	} {
		if got := mapped(t, map[string]string{"alertname": name}).Kind; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestIgnored(t *testing.T) {
	if !mapped(t, map[string]string{"alertname": "Watchdog"}).Ignored || mapped(t, map[string]string{"alertname": "X"}).Ignored {
		t.Error("wrong")
	}
}

func TestBadPodPattern(t *testing.T) {
	m := DefaultMapping()
	m.BrokerPod = "("
	if _, err := m.Compile(nil); err == nil {
		t.Error("a broken pattern compiled")
	}
}
