package logs

import (
	"regexp"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// pattern is one line that a program writes. Word is the fixed text by which it
// is found, in lower case; re, where there is one, must match too and names the
// fields: group, member, instance, client, node, detail, and n for the number.
type pattern struct {
	kind diagnose.LogKind
	by   string
	word string
	re   *regexp.Regexp
}

// The programs.
const (
	broker  = "broker"
	java    = "java"
	rdkafka = "librdkafka"
	franz   = "franz-go"
	sarama  = "sarama"
	kafkago = "kafka-go"
	python  = "kafka-python"
	kafkajs = "kafkajs"
	brod    = "brod"
	app     = "app"
)

func p(kind diagnose.LogKind, by, word, re string) pattern {
	x := pattern{kind: kind, by: by, word: word}
	if re != "" {
		x.re = regexp.MustCompile(re)
	}
	return x
}

// table holds every pattern; for a line, the first that fits in this order.
// Texts are those of Kafka's Scala and Java coordinators and clients up to 4.4,
// librdkafka, franz-go, Sarama, kafka-go, kafka-python, aiokafka, kafkajs and
// brod; Kafka's were checked against recorded runs.
func table() []pattern {
	var out []pattern
	for _, part := range [][]pattern{fetchPatterns(), brokerPatterns(), javaPatterns(), clientPatterns(), errorPatterns(), appPatterns()} {
		out = append(out, part...)
	}
	return out
}

func fetchPatterns() []pattern {
	const request = `(?:\(sessionId=\S+, epoch=(?P<n>\d+)\))?`
	return []pattern{
		p(diagnose.LogFetchUnknown, java, "fetch_session_id_not_found", `(?:Node (?P<node>\d+).*?`+request+`: |returned a )FETCH_SESSION_ID_NOT_FOUND`),
		p(diagnose.LogFetchEpoch, java, "invalid_fetch_session_epoch", `Node (?P<node>\d+).*?`+request+`: INVALID_FETCH_SESSION_EPOCH`),
		p(diagnose.LogFetchTopicID, java, "fetch_session_topic_id_error", ""),
		p(diagnose.LogFetchTransport, java, "error sending fetch request", `sessionId=(?P<member>\w+), epoch=(?P<detail>\w+)\) to node (?P<node>\d+)`),
		p(diagnose.LogFetchNoHandler, java, "unable to find fetchsessionhandler for node", ""),
		p(diagnose.LogRebootstrap, java, "rebootstrap requested by server", ""),
		p(diagnose.LogFetchRefused, franz, "broker likely maxed on sessions", ""),
		p(diagnose.LogFetchUnknown, franz, "received sessionidnotfound from our in use session", ""),
		p(diagnose.LogFetchEpoch, franz, "invalidfetchsessionepoch", ""),
		p(diagnose.LogFetchEpoch, franz, "resetting fetch session", `INVALID_FETCH_SESSION_EPOCH`),
		p(diagnose.LogFetchUnknown, franz, "resetting fetch session", `SESSION_ID_NOT_FOUND`),
		p(diagnose.LogFetchTransport, franz, "unable to fetch, retrying", ""),
		p(diagnose.LogSessionUnknown, broker, "no such session id found", ""),
		p(diagnose.LogDuplicateFetch, broker, "possible duplicate request", `expected epoch (?P<n>\d+), but got`),
		p(diagnose.LogFetchNew, broker, "session_id=0,session_epoch=0", `clientId=(?P<client>[^,)]+)`),
		p(diagnose.LogFetchNew, broker, `"sessionid":0,"sessionepoch":0`, `"clientId":"(?P<client>[^"]+)"`),
		p(diagnose.LogCacheSessions, broker, "numincrementalfetchsessions", `(?i)(?:node=(?P<node>\d+).*)?NumIncrementalFetchSessions(?:[^\d]|{[^}]*})*?[ =](?P<n>\d+)`),
		p(diagnose.LogCacheEvictions, broker, "incrementalfetchsessionevictions", `(?i)(?:node=(?P<node>\d+).*)?IncrementalFetchSessionEvictions\w*(?:{[^}]*})?.*?[ =](?P<n>\d+(?:\.\d+)?)`),
		p(diagnose.LogSharedAddress, app, "advertised", `cluster has (?P<n>\d+) brokers?, 1 advertised`),
		p(diagnose.LogNotLeader, java, "not_leader_or_follower", ""),
		p(diagnose.LogNotLeader, java, "not_leader_for_partition", ""),
	}
}

func brokerPatterns() []pattern {
	return []pattern{
		p(diagnose.LogMemberFailed, broker, "has failed, removing it from the group", `[Mm]ember (?P<member>\S+) in group (?P<group>\S+) has failed`),
		p(diagnose.LogPendingMember, broker, "has been removed after session timeout expiration", `Pending member (?P<member>\S+) in group (?P<group>\S+)`),
		p(diagnose.LogPendingSync, broker, "on pending sync request expiration", `Removing (?:Set\(|\[)(?P<member>[^,)\]]*)`),
		p(diagnose.LogNotJoined, broker, "removed dynamic members who haven", `Group (?P<group>\S+) removed dynamic members.*?: (?:Set\(|HashSet\(|\[)(?P<member>[^,)\]]*)`),
		p(diagnose.LogMemberExpired, broker, "fenced from the group because the member session expired", `Member (?P<member>\S+) fenced`),
		p(diagnose.LogRevokeSlow, broker, "it failed to transition from epoch", `Member (?P<member>\S+) fenced.*within (?P<n>\d+) ?ms`),
		p(diagnose.LogAdminRemoved, broker, "member was removed by an admin", `(?:[Mm]ember MemberMetadata\(memberId=|memberId=|[Mm]ember )(?P<member>[^,\s)]+)`),
		p(diagnose.LogPollTimeout, broker, "poll timeout has expired", "has left group|on LeaveGroup"),
		p(diagnose.LogMemberLeft, broker, "through explicit `leavegroup`", "client reason: (?P<detail>.*?)\\.?(?: \\(kafka|$)"),
		p(diagnose.LogMemberLeft, broker, "left the consumer group", `Member (?P<member>\S+) (?P<detail>(?:temporarily )?left the consumer group)`),
		p(diagnose.LogStaticReplaced, broker, "replacing previously mapped member", `groupInstanceId=(?P<instance>\S+).* Replacing previously mapped member (?P<member>\S+)`),
		p(diagnose.LogFenced, broker, "is fenced by ", `(?:memberId=|member )(?P<member>\S+) (?:for static member )?(?:with )?(?:groupInstanceId=|instance id )(?P<instance>\S+) is fenced by`),
		p(diagnose.LogFenced, broker, "the instance id is owned by member", ""),
		p(diagnose.LogRebalanceBegan, broker, "preparing to rebalance group", `Preparing to rebalance group (?P<group>\S+) in state .*?\(reason: (?P<detail>.*?)\)\.? ?(?:\((?:kafka|org)\.|$)`),
		p(diagnose.LogStabilized, broker, "stabilized group", `Stabilized group (?P<group>\S+) generation`),
		p(diagnose.LogNewMember, broker, "created a new member id", `joins group (?P<group>\S+) in .*new member id (?P<member>\S+)`),
		p(diagnose.LogNewMember, broker, "joins the consumer group using the", `Member (?P<member>\S+) joins`),
		p(diagnose.LogGroupEmpty, broker, "is now empty", `Group (?P<group>\S+) with generation`),
		p(diagnose.LogGroupLoaded, broker, "loading group metadata for", `metadata for (?P<group>\S+) with`),
		p(diagnose.LogGroupLoaded, broker, "loaded consumer group", `group (?P<group>\S+) with`),
		p(diagnose.LogGroupLoaded, broker, "loaded classic group", `group (?P<group>\S+) with`),
		p(diagnose.LogGroupLoaded, broker, "unloading group metadata", ""),
		p(diagnose.LogBrokerStopped, broker, "shut down completed", `(?:KafkaServer|BrokerServer|KafkaRaftServer)`),
		p(diagnose.LogBrokerStopped, broker, "starting controlled shutdown", ""),
		p(diagnose.LogBrokerStarted, broker, "started (kafka.server.", ""),
		p(diagnose.LogBrokerStarted, broker, "kafka server started", ""),
		p(diagnose.LogBrokerStarved, broker, "timed out heartbeat from broker", ""),
		p(diagnose.LogBrokerStarved, broker, "because its session has timed out", `(?:Fencing|fencing) broker (?P<node>\d+)`),
		p(diagnose.LogSoftwareVersion, broker, "app-info version=", `node=(?P<node>\d+).*version=(?P<detail>\S+)`),
		p(diagnose.LogSoftwareVersion, java, "kafka version", `Kafka version ?: ?(?P<detail>[\d.]+)`),
	}
}

func javaPatterns() []pattern {
	return []pattern{
		p(diagnose.LogPollOvershoot, java, "exceeded approximately by", `by (?P<n>\d+) ?ms`),
		p(diagnose.LogPollTimeout, java, "consumer poll timeout has expired", ""),
		p(diagnose.LogPollTimeout, java, "worker poll timeout has expired", ""),
		p(diagnose.LogLeaveSent, java, "sending leavegroup request", `(?P<detail>heartbeat-thread) `),
		p(diagnose.LogLeaveSent, java, "sending leavegroup request", `(?:due to (?P<detail>[^.]*))?$`),
		p(diagnose.LogHeartbeatStale, java, "attempt to heartbeat with stale", ""),
		p(diagnose.LogFenced, java, "failed due to fenced instance id", `instance id (?P<instance>[\w.-]+):`),
		p(diagnose.LogFenced, java, "due to group instance id", `fenced`),
		p(diagnose.LogFenced, java, "attempt to heartbeat", `FENCED_INSTANCE_ID`),
		p(diagnose.LogHeartbeatUnknown, java, "attempt to heartbeat", `UNKNOWN_MEMBER_ID|is not valid`),
		p(diagnose.LogHeartbeatUnknown, java, "because member", `because member (?P<member>\S+) is unknown`),
		p(diagnose.LogHeartbeatRebal, java, "attempt to heartbeat failed since group is rebalancing", ""),
		p(diagnose.LogSessionTimedOut, java, "session timed out without receiving a heartbeat response", ""),
		p(diagnose.LogHeartbeatCut, java, "cancelled in-flight heartbeat", ""),
		p(diagnose.LogSyncUnknown, java, "syncgroup failed", `not aware of this member|UNKNOWN_MEMBER_ID`),
		p(diagnose.LogSyncUnknown, java, "unknown_member_id from sync_group", ""),
		p(diagnose.LogLeaderDisconnect, java, "rebalance failed due to", `Disconnect`),
		p(diagnose.LogAlreadyRebalance, java, "group is already rebalancing", ""),
		p(diagnose.LogCoordinatorLost, java, "broker coordinator was unreachable for", `for (?P<n>\d+)ms`),
		p(diagnose.LogCoordinatorLost, java, "is unavailable or invalid due to cause", `cause: (?P<detail>[^.]*)`),
		p(diagnose.LogCoordinatorLost, java, "group coordinator", `is unavailable or invalid, will attempt rediscovery`),
		p(diagnose.LogPartitionsLost, java, "giving away all assigned partitions as lost", ""),
		p(diagnose.LogCommitNotSent, java, "failing offsetcommit request since the consumer is not part of an active group", ""),
		p(diagnose.LogAutoCommitFailed, java, "synchronous auto-commit of offsets", `failed`),
		p(diagnose.LogCommitFailed, java, "commit of offsets threw an unexpected exception", ""),
		p(diagnose.LogCommitFailed, java, "offset commit failed on partition", `at offset \d+: (?P<detail>[^|(]*)`),
		p(diagnose.LogCommitFailed, java, "offset commit cannot be completed since the consumer is not part of an active group", ""),
		p(diagnose.LogCommitFailed, java, "commit cannot be completed since the group has already rebalanced", ""),
		p(diagnose.LogCommitFailed, java, "commitfailedexception", ""),
		p(diagnose.LogCommitFailed, java, "offsetcommit failed with generation", ""),
		p(diagnose.LogGroupGone, java, "groupidnotfoundexception", ""),
		p(diagnose.LogGroupGone, "", "group_id_not_found", ""),
		p(diagnose.LogProtocolMismatch, "", "inconsistent_group_protocol", ""),
		p(diagnose.LogProtocolMismatch, "", "inconsistentgroupprotocol", ""),
		p(diagnose.LogProtocolMismatch, "", "inconsistent group protocol", ""),
		p(diagnose.LogProtocolMismatch, "", "supported protocols are incompatible with those of existing members", ""),
		p(diagnose.LogRejoin, java, "revoking previously assigned partitions", ""),
		p(diagnose.LogRejoin, java, "(re-)joining group", ""),
		p(diagnose.LogRejoin, java, "request joining group due to", `due to: (?P<detail>.*)`),
		p(diagnose.LogJoined, java, "successfully joined group with generation", ""),
		p(diagnose.LogJoined, java, "adding newly assigned partitions", ""),
		p(diagnose.LogSynced, java, "successfully synced group", ""),
		p(diagnose.LogManualAssign, java, "subscribed to partition(s)", ""),
		p(diagnose.LogManualAssign, java, "assigned to partition(s)", ""),
		p(diagnose.LogProcessStop, java, "state transition from running to pending_shutdown", ""),
		p(diagnose.LogProcessStop, java, "kafka consumer has been closed", ""),
	}
}

func clientPatterns() []pattern {
	return []pattern{
		p(diagnose.LogPollTimeout, rdkafka, "application maximum poll interval", `interval \((?P<n>\d+)ms\) exceeded`),
		p(diagnose.LogSessionTimedOut, rdkafka, "consumer group session timed out", `after (?P<n>\d+) ms.*\(broker (?P<node>-?\d+), last error was (?P<detail>[^)]*)\)`),
		p(diagnose.LogFenced, rdkafka, "static consumer fenced by other consumer", ""),
		p(diagnose.LogMemberLeft, rdkafka, "leave (in state", `Group "(?P<group>[^"]+)": (?P<detail>leave)`),
		p(diagnose.LogHeartbeatOK, rdkafka, "|heartbeat|", `Heartbeat for group "(?P<group>[^"]+)"`),
		p(diagnose.LogHeartbeatOK, python, "sending request heartbeatrequest", `group='(?P<group>[^']+)'`),
		p(diagnose.LogPollTimeout, python, "heartbeat poll expired", ""),
		p(diagnose.LogSessionTimedOut, python, "heartbeat session expired", ""),
		p(diagnose.LogHeartbeatUnknown, python, "local member_id was not recognized", ""),
		p(diagnose.LogHeartbeatRebal, python, "heartbeat failed for group", `Heartbeat failed for group (?P<group>\S+) because it is rebalancing`),
		p(diagnose.LogHeartbeatRebal, python, "rebalanceinprogresserror", ""),
		p(diagnose.LogCoordinatorLost, python, "marking the coordinator dead", `for ?group (?P<group>[^\s:]+?)[.:]?(?: |$)`),
		p(diagnose.LogFenced, python, "fencedinstanceid", ""),
		p(diagnose.LogCommitFailed, python, "offsetcommit failed for group", `for group (?P<group>\S+) due to group error \((?P<detail>.*?)\)`),
		p(diagnose.LogJoined, python, "joined group '", `Joined group '(?P<group>[^']+)'`),
		p(diagnose.LogJoined, kafkajs, "consumer has joined the group", ""),
		p(diagnose.LogHeartbeatUnknown, kafkajs, "response heartbeat(key: 12", `not aware of this member`),
		p(diagnose.LogHeartbeatUnknown, kafkajs, "is not aware of this member, re-joining the group", ""),
		p(diagnose.LogHeartbeatRebal, kafkajs, "the group is rebalancing, re-joining", ""),
		p(diagnose.LogHeartbeatRebal, kafkajs, "response heartbeat(key: 12", `rebalancing`),
		p(diagnose.LogHeartbeatUnknown, franz, "heartbeat errored", `UNKNOWN_MEMBER_ID`),
		p(diagnose.LogHeartbeatRebal, franz, "heartbeat errored", `REBALANCE_IN_PROGRESS`),
		p(diagnose.LogSyncUnknown, franz, "sync", `(?i)sync.*(?:failed|errored).*UNKNOWN_MEMBER_ID`),
		p(diagnose.LogHeartbeatUnknown, franz, "rejoining without a member id", ""),
		p(diagnose.LogJoined, franz, "new group session begun", ""),
		p(diagnose.LogRejoin, franz, "rejoining the group", ""),
		p(diagnose.LogMemberUnknown, brod, "joining group, reason::unknown_member_id", ""),
		p(diagnose.LogMemberUnknown, brod, "reason::illegal_generation", ""),
		p(diagnose.LogHeartbeatRebal, brod, "joining group, reason::rebalance_in_progress", ""),
		p(diagnose.LogMemberUnknown, brod, "unknown_member_id", `^\s*(?:re-joining group, )?reason::?`),
		p(diagnose.LogHeartbeatRebal, brod, "rebalance_in_progress", `^\s*(?:re-joining group, )?reason::?`),
		p(diagnose.LogJoined, brod, "assignments received", `Group member|assignments received:`),
	}
}

// errorPatterns are texts of error codes, wherever a client repeats them.
func errorPatterns() []pattern {
	return []pattern{
		p(diagnose.LogFenced, "", "fenced_instance_id", ""),
		p(diagnose.LogFenced, "", "rejected this static consumer since another consumer", ""),
		p(diagnose.LogFenced, "", "fencedinstanceidexception", ""),
		p(diagnose.LogFenced, "", "unreleased_instance_id", ""),
		p(diagnose.LogFenced, "", "unreleasedinstanceidexception", ""),
		p(diagnose.LogNotCoordinator, rdkafka, "broker: not coordinator", ""),
		p(diagnose.LogNotCoordinator, sarama, "consumer group that is not coordinated by this broker", ""),
		p(diagnose.LogNotCoordinator, "", "not_coordinator", ""),
		p(diagnose.LogNotCoordinator, java, "this is not the correct coordinator", ""),
		p(diagnose.LogMemberUnknown, sarama, "the provided member is not known in the current generation", ""),
		p(diagnose.LogMemberUnknown, kafkago, "unknown member id: the memberid is not in the current generation", ""),
		p(diagnose.LogHeartbeatRebal, sarama, "a rebalance for the group is in progress", ""),
		p(diagnose.LogHeartbeatRebal, kafkago, "rebalance in progress: the coordinator has begun rebalancing", ""),
		p(diagnose.LogMemberUnknown, rdkafka, "broker: unknown member", ""),
		p(diagnose.LogHeartbeatRebal, rdkafka, "broker: group rebalance in progress", ""),
		p(diagnose.LogMemberUnknown, rdkafka, "broker: specified group generation id is not valid", ""),
		p(diagnose.LogMemberUnknown, "", "unknown_member_id", ""),
		p(diagnose.LogMemberUnknown, "", "unknownmemberid", ""),
		p(diagnose.LogMemberUnknown, "", "coordinator is not aware of this member", ""),
		p(diagnose.LogRejoin, "", "rebalance_in_progress", ""),
	}
}

// appPatterns are what applications, containers and people write around it.
func appPatterns() []pattern {
	return []pattern{
		p(diagnose.LogPollGap, app, "poll", `(?i)poll.*max gap (?P<n>\d+) ?ms`),
		p(diagnose.LogManualAssign, app, "assigned manually", `(?:(?P<client>\S+) )?assigned manually`),
		p(diagnose.LogManualAssign, app, "manually assigned", ""),
		p(diagnose.LogManualAssign, app, "manual assignment", ""),
		p(diagnose.LogProcessStop, app, "sigterm", ""),
		p(diagnose.LogProcessStop, app, "stopping container", ""),
		p(diagnose.LogProcessStop, app, "closing kafka client", ""),
		p(diagnose.LogProcessStop, app, "graceful shutdown", ""),
		p(diagnose.LogProcessStop, app, "shutting down", `(?i)shutting down (?:gracefully|consumer|application|worker|service|pod)`),
		p(diagnose.LogProcessStart, app, "ready for connections", ""),
		p(diagnose.LogProcessStart, app, "started container", ""),
		p(diagnose.LogProcessStart, app, "started ", `Started \w+ in [\d.]+ seconds`),
		p(diagnose.LogProcessKilled, app, "oomkilled", ""),
		p(diagnose.LogProcessKilled, app, "outofmemoryerror", ""),
		p(diagnose.LogProcessKilled, app, "out of memory: killed process", ""),
		p(diagnose.LogProcessKilled, app, "exit code 137", ""),
		p(diagnose.LogProcessPause, app, "clock leap detected", ""),
		p(diagnose.LogProcessPause, app, "pause full", `Pause Full.*?(?P<n>\d+)(?:\.\d+)?ms`),
		p(diagnose.LogProcessPause, app, "detected pause in jvm", ""),
		p(diagnose.LogProcessPause, app, "has been blocked for", `blocked for (?P<n>\d+) ms`),
		p(diagnose.LogDownstreamTrouble, app, "appears to be unreachable or down", ""),
		p(diagnose.LogDownstreamTrouble, app, "attempted to resurrect connection to dead", ""),
		p(diagnose.LogDownstreamTrouble, app, "could not index event to", ""),
		p(diagnose.LogDownstreamTrouble, app, "retrying failed action", ""),
		p(diagnose.LogDownstreamTrouble, app, "connection is not available, request timed out after", ""),
		p(diagnose.LogConsumptionHalt, app, "lag_stuck", `lag_stuck=[1-9]`),
		p(diagnose.LogConsumptionHalt, app, "stopped consuming", ""),
		p(diagnose.LogConsumptionHalt, app, "not consuming", ""),
		p(diagnose.LogConsumptionHalt, app, "lag is not moving", ""),
		p(diagnose.LogRejoin, app, "joined group", `(?i)scale|replica`),
		p(diagnose.LogJoined, app, "joined", `msg="?joined"?`),
	}
}
