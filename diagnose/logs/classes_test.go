package logs_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
)

var testNow = time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)

// logCase is log text and what it must be taken for. The fixed text is that of
// the programs' sources; names and times are made up.
type logCase struct {
	name string
	log  string
	want diagnose.Class
	// says must stand in the summary or the advice.
	says string
}

var logCases = []logCase{
	{"kafka-python leaves past its poll limit", `
2031-03-01 10:00:01,120 WARNING kafka.coordinator Heartbeat poll expired, leaving group
2031-03-01 10:00:01,121 INFO kafka.coordinator Leaving consumer group (default).
`, diagnose.PollInterval, "poll"},
	{"confluent-kafka in Rust, wrapped", `
ERROR librdkafka: librdkafka: MAXPOLL [thrd:main]: Application maximum poll interval (60000ms) exceeded by 398ms (adjust max.poll.interval.ms for long-running message processing): leaving group
   at src/client.rs:77
`, diagnose.PollInterval, "60 s"},
	{"JSON with the facility in a field of its own", `
{"time":"2031-03-01T10:00:00Z","level":"WARN","Tag":"MAXPOLL","msg":"[thrd:main]: Application maximum poll interval (300000ms) exceeded by 12ms (adjust max.poll.interval.ms for long-running message processing): leaving group","name":"rdkafka#consumer-4"}
`, diagnose.PollInterval, "5 min"},
	{"broker 3.9 names the poll timeout", `
[2031-03-01 10:00:05,001] INFO [GroupCoordinator 2]: Preparing to rebalance group billing in state PreparingRebalance with old generation 7 (__consumer_offsets-3) (reason: Removing member billing-1-0b0e21c4-2222-4f0a-8d6b-0d3b61a7e8c1 on LeaveGroup; client reason: consumer poll timeout has expired.) (kafka.coordinator.group.GroupCoordinator)
[2031-03-01 10:00:05,001] INFO [GroupCoordinator 2]: Member MemberMetadata(memberId=billing-1-0b0e21c4-2222-4f0a-8d6b-0d3b61a7e8c1, groupInstanceId=None, clientId=billing-1, clientHost=/10.1.1.9, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left group billing through explicit ` + "`LeaveGroup`" + `; client reason: consumer poll timeout has expired. (kafka.coordinator.group.GroupCoordinator)
`, diagnose.PollInterval, "poll"},
	{"static member past its poll limit", `
2031-03-01T10:00:05.001Z  WARN 7 --- [ad | shipments] o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer instanceId=ship-2, clientId=shipper-2, groupId=shipments] consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms
`, diagnose.PollIntervalStatic, "static"},
	{"aiokafka session expiry", `
2031-03-01 10:00:01,120 ERROR aiokafka.consumer.group_coordinator Heartbeat session expired - marking coordinator dead
2031-03-01 10:00:01,121 WARNING aiokafka.consumer.group_coordinator Marking the coordinator dead (node 3)for group reports.
`, diagnose.SessionTimeout, "event loop"},
	{"franz-go heartbeat refused, basic logger", `
[INFO] 2031-03-01 10:00:01.120 heartbeat errored; group: scores, err: UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.
[INFO] 2031-03-01 10:00:01.121 join returned UnknownMemberID, rejoining without a member id; group: scores
`, diagnose.SessionTimeout, "does not say why"},
	{"broker 4.x KIP-848 session expiry", `
[2031-03-01 10:00:05,001] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=9] [GroupId carts] Member 9tQx3kU0QgKkE0b2Jw3n1Q fenced from the group because the member session expired. (org.apache.kafka.coordinator.group.GroupMetadataManager)
`, diagnose.SessionTimeout, "Heartbeats"},
	{"KIP-848 revocation too slow", `
[2031-03-01 10:00:05,001] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=9] [GroupId carts] Member 9tQx3kU0QgKkE0b2Jw3n1Q fenced from the group because it failed to transition from epoch 12 within 300000ms. (org.apache.kafka.coordinator.group.GroupMetadataManager)
`, diagnose.RebalanceTimeout, "rebalance timeout"},
	{"haven't joined", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator 1]: Group carts removed dynamic members who haven't joined: Set(carts-2-aa11bb22-3333-4444-5555-666677778888) (kafka.coordinator.group.GroupCoordinator)
`, diagnose.RebalanceTimeout, "revo"},
	{"pending sync, Java coordinator", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=9] Preparing to rebalance group carts in state PreparingRebalance with old generation 4 (reason: Removing [carts-2-aa11bb22-3333-4444-5555-666677778888] on pending sync request expiration). (org.apache.kafka.coordinator.group.GroupMetadataManager)
`, diagnose.JoinSyncRace, "sync"},
	{"admin removal", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=9] [Group carts] Member carts-2-aa11bb22-3333-4444-5555-666677778888 has left group through explicit ` + "`LeaveGroup`" + ` request; client reason: member was removed by an admin: maintenance (org.apache.kafka.coordinator.group.GroupMetadataManager)
`, diagnose.RemovedByAdmin, "admin"},
	{"admin removal, Scala coordinator", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator 1]: Member MemberMetadata(memberId=carts-2-aa11bb22-3333-4444-5555-666677778888, groupInstanceId=None, clientId=carts-2, clientHost=/10.1.1.9, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left group carts through explicit ` + "`LeaveGroup`" + `; client reason: member was removed by an admin: maintenance (kafka.coordinator.group.GroupCoordinator)
`, diagnose.RemovedByAdmin, "admin"},
	{"clean close", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=9] [Group carts] Member carts-2-aa11bb22-3333-4444-5555-666677778888 has left group through explicit ` + "`LeaveGroup`" + ` request; client reason: the consumer is being closed (org.apache.kafka.coordinator.group.GroupMetadataManager)
[2031-03-01 10:05:11,001] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=9] Stabilized group carts generation 5 with 3 members. (org.apache.kafka.coordinator.group.GroupMetadataManager)
`, diagnose.RollingDeploy, "by themselves"},
	{"fenced at a commit, broker 3.9", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator 1]: Request memberId=w-1-aa11bb22-3333-4444-5555-666677778888 for static member with groupInstanceId=w-1 is fenced by current memberId=w-1-99990000-3333-4444-5555-666677778888 during operation offset-commit (kafka.coordinator.group.GroupMetadata)
`, diagnose.DuplicateStaticID, "w-1"},
	{"librdkafka fenced", `
%3|1930000000.123|FATAL|worker#consumer-1| [thrd:main]: Fatal error: Broker: Static consumer fenced by other consumer with same group.instance.id: Fatal consumer error: Broker: Static consumer fenced by other consumer with same group.instance.id
`, diagnose.DuplicateStaticID, "group.instance.id"},
	{"many groups in one second", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator 1]: Member a-1-aa11bb22-3333-4444-5555-666677778888 in group a has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)
[2031-03-01 10:05:05,002] INFO [GroupCoordinator 1]: Member b-1-aa11bb22-3333-4444-5555-666677778888 in group b has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)
[2031-03-01 10:05:05,002] INFO [GroupCoordinator 1]: Member c-1-aa11bb22-3333-4444-5555-666677778888 in group c has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)
`, diagnose.CoordinatorTrouble, "victims"},
	{"a member that failed, nothing else", `
[2031-03-01 10:05:05,001] INFO [GroupCoordinator 1]: Member a-1-aa11bb22-3333-4444-5555-666677778888 in group a has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)
`, diagnose.SessionTimeout, "dropped"},
	{"the exception alone, however it is worded", `
Caused by: org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member. This means that the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms
	at org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.ensureFresh(ConsumerCoordinator.java:1)
`, diagnose.Undecided, "whatever the cause"},
	{"kafka-go cannot say why", `
2031/03/01 10:05:05 consumer.go:33: fetch failed: [25] Unknown Member ID: the memberid is not in the current generation
`, diagnose.Undecided, "no longer a member"},
	{"kafkajs rebalancing is normal", `
{"level":"WARN","timestamp":"2031-03-01T10:05:05.001Z","logger":"kafkajs","message":"[Runner] The group is rebalancing, re-joining","groupId":"mail","memberId":"m-1-aa11bb22-3333-4444-5555-666677778888"}
{"level":"INFO","timestamp":"2031-03-01T10:05:06.001Z","logger":"kafkajs","message":"[ConsumerGroup] Consumer has joined the group","groupId":"mail","memberId":"m-1-aa11bb22-3333-4444-5555-666677778888"}
`, diagnose.RollingDeploy, "no failure"},
	{"assign with a subscribed group's id, Java", `
2031-03-01 10:05:05,001 INFO [main] [Consumer clientId=audit-1, groupId=orders] Subscribed to partition(s): orders-0 (org.apache.kafka.clients.consumer.KafkaConsumer)
2031-03-01 10:05:15,001 ERROR [main] [Consumer clientId=audit-1, groupId=orders] Offset commit failed on partition orders-0 at offset 12: The coordinator is not aware of this member. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
`, diagnose.StrayCommits, "never a member"},
	{"client 4.4 blames eviction after a restart", `
[2031-03-01 10:00:00,001] INFO [BrokerServer id=3] shut down completed (kafka.server.BrokerServer)
[2031-03-01 10:00:30,001] INFO [KafkaRaftServer nodeId=3] Kafka Server started (kafka.server.KafkaRaftServer)
[2031-03-01 10:00:41,001] DEBUG [Consumer clientId=s-1, groupId=stock] Node 3 returned a FETCH_SESSION_ID_NOT_FOUND error; the fetch session 99 was likely evicted from the broker's fetch session cache. Re-sending a full fetch request to establish a new session. (org.apache.kafka.clients.FetchSessionHandler)
`, diagnose.RestartBurst, "restart"},
	{"misrouted, told by the broker", `
[2031-03-01 10:00:00,001] INFO [Consumer clientId=s-1, groupId=stock] Rebootstrap requested by server due to cluster metadata mismatch for cluster x and node 1 (org.apache.kafka.clients.Metadata)
`, diagnose.MisroutedSessions, "another broker"},
	{"session per fetch, JSON request log", `
[2031-03-01 10:00:00,001] DEBUG Completed request:{"requestHeader":{"requestApiKey":1,"clientId":"leaky"},"request":{"replicaId":-1,"sessionId":0,"sessionEpoch":0}} (kafka.request.logger)
[2031-03-01 10:00:00,251] DEBUG Completed request:{"requestHeader":{"requestApiKey":1,"clientId":"leaky"},"request":{"replicaId":-1,"sessionId":0,"sessionEpoch":0}} (kafka.request.logger)
`, diagnose.LeakingClient, "leaky"},
	{"a rolling restart, broker by broker", rolling, diagnose.RestartBurst, "ends by itself"},
	{"one client, many errors in seconds", strings.Repeat(one70, 6), diagnose.CacheThrash, "again and again"},
	{"a client that joins for ever", strings.Repeat("2031-03-01 10:00:00,001 INFO [Consumer clientId=s-1, groupId=stock] Request joining group due to: cached metadata has changed from (version6: {a=4}) at the beginning of the rebalance to (version9: {a=5})\n2031-03-01 10:00:03,001 INFO [Consumer clientId=s-1, groupId=stock] Successfully joined group with generation Generation{generationId=8, memberId='s-1-aa11bb22-3333-4444-5555-666677778888', protocol='range'}\n", 6), diagnose.RebalanceStorm, "nobody is dropped"},
	{"two applications, one group id", `
2031-03-01 10:00:00,001 ERROR [main] org.apache.kafka.common.errors.InconsistentGroupProtocolException: The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list.
`, diagnose.StrayCommits, "same group id"},
	{"KIP-848 client of a group that is gone", `
2031-03-01 10:00:00,001 ERROR [consumer_background_thread] [Consumer clientId=s-1, groupId=stock] ConsumerGroupHeartbeatRequest failed due to unexpected error: GROUP_ID_NOT_FOUND (org.apache.kafka.clients.consumer.internals.ConsumerHeartbeatRequestManager)
`, diagnose.GroupMetadataLost, "offsets"},
	{"no line says anything", "2031-03-01 10:00:00 INFO all is well\nnothing to see\n", diagnose.Undecided, "none says anything"},
}

const one70 = "2031-03-01 10:00:07,001 INFO [Consumer clientId=s-1, groupId=stock] Node 4 was unable to process the fetch request with (sessionId=1, epoch=900): FETCH_SESSION_ID_NOT_FOUND. (org.apache.kafka.clients.FetchSessionHandler)\n"

var rolling = one70 +
	strings.NewReplacer("s-1", "s-2").Replace(one70) +
	strings.NewReplacer("Node 4", "Node 5", "10:00", "10:06").Replace(one70) +
	strings.NewReplacer("Node 4", "Node 5", "10:00", "10:06", "s-1", "s-2").Replace(one70)

func classify(t *testing.T, text string) (diagnose.Diagnosis, diagnose.Evidence) {
	t.Helper()
	found, err := logs.Read(strings.NewReader(text), logs.Options{Now: testNow})
	if err != nil {
		t.Fatal(err)
	}
	e := logs.Evidence(found, testNow)
	return diagnose.Classify(e, diagnose.DefaultLimits()), e
}

func TestClasses(t *testing.T) {
	for _, c := range logCases {
		t.Run(c.name, func(t *testing.T) {
			d, e := classify(t, c.log)
			f := d.Primary()
			if f.Class != c.want {
				t.Errorf("%s, want %s: %s\n%+v", f.Class, c.want, f.Summary, e.LogText.Findings)
			}
			if f.Advice == nil || !strings.Contains(f.Summary+f.Advice.Text, c.says) {
				t.Errorf("neither summary nor advice says %q: %s %+v", c.says, f.Summary, f.Advice)
			}
			holdsPromises(t, d, e)
		})
	}
}

// holdsPromises checks what every diagnosis from log text promises.
func holdsPromises(t *testing.T, d diagnose.Diagnosis, e diagnose.Evidence) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Confidence == diagnose.Confirmed {
			t.Errorf("%s is confirmed by log text alone", f.Class)
		}
		if f.Basis != diagnose.BasisLogs || f.Decides == "" || f.Subject == "" {
			t.Errorf("a finding without basis, subject or what decides: %+v", f)
		}
		for _, c := range f.Citations {
			if _, ok := e.Lookup(c.Path); !ok {
				t.Errorf("%s cites %s, which is not there", f.Class, c.Path)
			}
		}
	}
	raw, err := diagnose.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	again, err := diagnose.Decode(raw)
	if err != nil {
		t.Fatalf("its evidence does not load: %v", err)
	}
	want, got := encoded(t, d), encoded(t, diagnose.Classify(again, diagnose.DefaultLimits()))
	if !bytes.Equal(want, got) {
		t.Errorf("the recorded file classifies otherwise:\n%s\n%s", want, got)
	}
	for i, j := 0, len(again.LogText.Findings)-1; i < j; i, j = i+1, j-1 {
		again.LogText.Findings[i], again.LogText.Findings[j] = again.LogText.Findings[j], again.LogText.Findings[i]
	}
	if got := encoded(t, diagnose.Classify(again, diagnose.DefaultLimits())); !bytes.Equal(want, got) {
		t.Errorf("another order classifies otherwise")
	}
}

func encoded(t *testing.T, d diagnose.Diagnosis) []byte {
	t.Helper()
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Taking one kind of line away never makes the answer more than likely, and
// always leaves one.
func TestWithoutAKind(t *testing.T) {
	for _, c := range logCases {
		_, e := classify(t, c.log)
		for i := range e.LogText.Findings {
			less := e
			less.LogText.Findings = append(append([]diagnose.LogFinding{}, e.LogText.Findings[:i]...), e.LogText.Findings[i+1:]...)
			d := diagnose.Classify(less, diagnose.DefaultLimits())
			if len(d.Findings) == 0 || d.Primary().Confidence == diagnose.Confirmed {
				t.Errorf("%s without finding %d: %+v", c.name, i, d.Findings)
			}
		}
	}
}
