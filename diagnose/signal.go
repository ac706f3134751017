package diagnose

import "sort"

// Signal names a metric independently of the exporter that serves it. The
// collector's dialect table maps it to series names.
type Signal string

// Broker signals. Counters unless said otherwise; the MBean each comes from is
// in brackets.
const (
	// SignalProcessStart is the broker's start, unix seconds, gauge.
	SignalProcessStart Signal = "process_start"
	// SignalLeaders is the number of partitions led, gauge [ReplicaManager LeaderCount].
	SignalLeaders Signal = "leaders"
	// SignalUnderReplicated is a gauge [ReplicaManager UnderReplicatedPartitions].
	SignalUnderReplicated Signal = "under_replicated"
	// SignalBrokerState is a gauge, 3 = running [KafkaServer BrokerState].
	SignalBrokerState Signal = "broker_state"
	// SignalSessions is the number of cached sessions, gauge: a high-water mark
	// that never exceeds the capacity [FetchSessionCache NumIncrementalFetchSessions].
	SignalSessions Signal = "sessions"
	// SignalCachedPartitions is a gauge [FetchSessionCache NumIncrementalFetchPartitionsCached].
	SignalCachedPartitions Signal = "cached_partitions"
	// SignalEvictions counts evicted sessions [FetchSessionCache IncrementalFetchSessionEvictionsPerSec].
	SignalEvictions Signal = "evictions"
	// SignalFetchRequests counts consumer fetches [RequestsPerSec FetchConsumer], one series a version.
	SignalFetchRequests Signal = "requests.fetch_consumer"
	// SignalLeaveRequests counts leaves [RequestsPerSec LeaveGroup]; its version label tells the client family.
	SignalLeaveRequests Signal = "requests.leave_group"
	// SignalJoinRequests counts joins [RequestsPerSec JoinGroup].
	SignalJoinRequests Signal = "requests.join_group"
	// SignalConnectionsMade counts opened client connections [socket-server-metrics
	// connection-creation-total], one series a listener and network thread.
	SignalConnectionsMade Signal = "connections_made"
	// SignalFetchBytesMean, P50 and P99 are gauges in bytes [RequestBytes FetchConsumer].
	SignalFetchBytesMean Signal = "fetch_bytes.mean"
	SignalFetchBytesP50  Signal = "fetch_bytes.p50"
	SignalFetchBytesP99  Signal = "fetch_bytes.p99"
	// SignalHeartbeatP99 is a gauge in ms [TotalTimeMs Heartbeat].
	SignalHeartbeatP99 Signal = "heartbeat_ms.p99"

	// SignalErrorsAny is any error counter of the broker, the proof that
	// error counting is visible: a lazily born series that is absent beside it
	// means zero so far.
	SignalErrorsAny Signal = "errors.any"
	// SignalErrors70 and 71 are Fetch errors, one per failed request.
	SignalErrors70  Signal = "errors.fetch_session_id_not_found"
	SignalErrors71  Signal = "errors.invalid_fetch_session_epoch"
	SignalErrors106 Signal = "errors.fetch_session_topic_id_error"
	// SignalNotLeaderFetch and SignalNotLeaderList point to a routing fault.
	SignalNotLeaderFetch Signal = "errors.fetch_not_leader"
	SignalNotLeaderList  Signal = "errors.list_offsets_not_leader"
	SignalRebootstrap    Signal = "errors.rebootstrap_required"
	// Group errors with code 25 (UNKNOWN_MEMBER_ID), by request. OffsetCommit
	// counts one per partition.
	SignalHeartbeat25    Signal = "errors.heartbeat_unknown_member"
	SignalOffsetCommit25 Signal = "errors.offset_commit_unknown_member"
	SignalGroupBeat25    Signal = "errors.consumer_group_heartbeat_unknown_member"
	SignalSyncGroup25    Signal = "errors.sync_group_unknown_member"
	SignalJoinGroup25    Signal = "errors.join_group_unknown_member"
	// SignalCommit22 and SignalCommit69 count commits that a coordinator refused
	// because it no longer knows the group's state: ILLEGAL_GENERATION up to 3.9,
	// GROUP_ID_NOT_FOUND from 4.0 on, one per partition. SignalGroupBeat69 is the
	// same on KIP-848 heartbeats.
	SignalCommit22    Signal = "errors.offset_commit_illegal_generation"
	SignalCommit69    Signal = "errors.offset_commit_group_not_found"
	SignalGroupBeat69 Signal = "errors.consumer_group_heartbeat_group_not_found"
	// SignalHeartbeat27 counts REBALANCE_IN_PROGRESS on heartbeats.
	SignalHeartbeat27 Signal = "errors.heartbeat_rebalance_in_progress"
	// SignalBeatFenced and SignalCommitFenced count FENCED_INSTANCE_ID (82) on
	// heartbeats and commits: which of the two the old holder of an instance id gets
	// is a race.
	SignalBeatFenced   Signal = "errors.heartbeat_fenced_instance"
	SignalCommitFenced Signal = "errors.offset_commit_fenced_instance"
	// SignalUnreleased counts UNRELEASED_INSTANCE_ID (111).
	SignalUnreleased Signal = "errors.consumer_group_heartbeat_unreleased_instance"
)

// Client signals, gauges unless said otherwise.
const (
	// SignalPollMax is time-between-poll-max in ms: recorded when the next poll
	// starts, and alive for at most 60 s.
	SignalPollMax Signal = "client.time_between_poll_max_ms"
	// SignalLastPoll is last-poll-seconds-ago; -1 means never polled.
	SignalLastPoll Signal = "client.last_poll_seconds_ago"
	// SignalPollIdle is poll-idle-ratio-avg: near 0 for a client that has the next
	// record at once, 0.5 for one that waits for every record.
	SignalPollIdle Signal = "client.poll_idle_ratio"
	// SignalLastHeartbeat is last-heartbeat-seconds-ago.
	SignalLastHeartbeat Signal = "client.last_heartbeat_seconds_ago"
	// SignalRebalances is a counter, rebalance-total.
	SignalRebalances Signal = "client.rebalance_total"
	// SignalGC counts seconds spent in garbage collection by the client's JVM, one
	// series a collector (label gc). Concurrent collectors are among them.
	SignalGC Signal = "client.gc_seconds"
)

// BrokerSignals lists every broker signal in the order of their names.
func BrokerSignals() []Signal {
	return sorted([]Signal{
		SignalProcessStart, SignalLeaders, SignalUnderReplicated, SignalBrokerState, SignalSessions,
		SignalCachedPartitions, SignalEvictions, SignalFetchRequests, SignalLeaveRequests, SignalJoinRequests, SignalConnectionsMade,
		SignalFetchBytesMean, SignalFetchBytesP50, SignalFetchBytesP99, SignalHeartbeatP99, SignalErrorsAny,
		SignalErrors70, SignalErrors71, SignalErrors106, SignalNotLeaderFetch, SignalNotLeaderList,
		SignalRebootstrap, SignalHeartbeat25, SignalOffsetCommit25, SignalGroupBeat25, SignalSyncGroup25,
		SignalJoinGroup25, SignalHeartbeat27, SignalBeatFenced, SignalCommitFenced, SignalUnreleased, SignalCommit22, SignalCommit69, SignalGroupBeat69,
	})
}

// ClientSignals lists every client signal in the order of their names.
func ClientSignals() []Signal {
	return sorted([]Signal{SignalPollMax, SignalLastPoll, SignalLastHeartbeat, SignalRebalances, SignalPollIdle, SignalGC})
}

func sorted(s []Signal) []Signal {
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return s
}
