package diagnose

// lossSpecs are the facts that every rule about lost members provides: first
// about the member that the finding is about, then about the group.
func lossSpecs() []FactSpec {
	return []FactSpec{
		{Name: "group", Unit: UnitText, Meaning: "the group"},
		protocolSpec(),
		{Name: "member", Unit: UnitText, Meaning: "member id of the lost member (of the last one, when several were lost alike)"},
		{Name: "client_id", Unit: UnitText, Meaning: "its client id", Optional: true},
		{Name: "host", Unit: UnitText, Meaning: "its host as the broker saw it", Optional: true},
		{Name: "instance_id", Unit: UnitText, Meaning: "its group.instance.id, for a static member", Optional: true},
		{Name: "library", Unit: UnitText, Meaning: "its client library: java, librdkafka, franz-go, sarama, kafka-go, kafka-python, aiokafka or kafkajs", Optional: true},
		{Name: "library_by", Unit: UnitText, Meaning: "what shows the library, as in: its client id", Optional: true},
		{Name: "dropped_at", Unit: UnitTime, Meaning: "when it was dropped, at the latest"},
		{Name: "last_commit_at", Unit: UnitTime, Meaning: "its last commit before that", Optional: true},
		{Name: "delta_seconds", Unit: UnitSeconds, Meaning: "last commit to drop, at most", Optional: true},
		{Name: "delta_low_seconds", Unit: UnitSeconds, Meaning: "last commit to drop, at least (the rest may be the others' time to rejoin)", Optional: true},
		{Name: "silent_seconds", Unit: UnitSeconds, Meaning: "how long it was silent before the drop: its session timeout where that ran out, else the last commit to the drop", Optional: true},
		{Name: "session_timeout_seconds", Unit: UnitSeconds, Meaning: "its session timeout: session.timeout.ms from the group's own record; of a KIP-848 group consumer.session.timeout.ms of the group, else group.consumer.session.timeout.ms of the broker", Optional: true},
		{Name: "heartbeat_interval_seconds", Unit: UnitSeconds, Meaning: "its heartbeat interval where a setting shows it (KIP-848), else the longest to reckon with", Optional: true},
		{Name: "heartbeat_interval_by", Unit: UnitText, Meaning: "where that is from, as in: the setting of the group or its broker", Optional: true},
		{Name: "session_max_seconds", Unit: UnitSeconds, Meaning: "the longest session timeout that the broker takes, its default where the setting was not read", Optional: true},
		{Name: "rebalance_timeout_seconds", Unit: UnitSeconds, Meaning: "its rebalance timeout = max.poll.interval.ms for Java and librdkafka, from the group's own record", Optional: true},
		{Name: "return_seconds", Unit: UnitSeconds, Meaning: "drop to its return as a member; missing while it is away", Optional: true},
		{Name: "returned_at", Unit: UnitTime, Meaning: "when it was a member again", Optional: true},
		{Name: "away_seconds", Unit: UnitSeconds, Meaning: "how long it has been away; missing once it is back", Optional: true},
		{Name: "stall_seconds", Unit: UnitSeconds, Meaning: "longest time between two polls in its own metrics", Optional: true},
		{Name: "metrics_cover_drop", Unit: UnitText, Meaning: "yes where its own metrics were scraped all through its silence, or after its return while the longest poll is remembered", Optional: true},
		{Name: "gc_seconds", Unit: UnitSeconds, Meaning: "garbage collection of its JVM while it was silent, without concurrent collectors", Optional: true},
		{Name: "throttled_percent", Unit: UnitPercent, Meaning: "share of its CPU periods that were throttled while it was silent", Optional: true},
		{Name: "namespace", Unit: UnitText, Meaning: "the namespace of its pod", Optional: true},
		{Name: "pod", Unit: UnitText, Meaning: "its pod", Optional: true},
		{Name: "ended", Unit: UnitText, Meaning: "what its pod shows of the end of the process, as in: container app of pod shop/orders-0 was restarted by 02:27:15 (OOMKilled)", Optional: true},
		{Name: "end_reason", Unit: UnitText, Meaning: "the reason that Kubernetes gives, as in OOMKilled, Error", Optional: true},
		{Name: "partitions", Unit: UnitText, Meaning: "the partitions it held, at most six by name", Optional: true},
		{Name: "partition_count", Unit: UnitCount, Meaning: "how many partitions it held", Optional: true},
		{Name: "lost_members", Unit: UnitCount, Meaning: "how many members were lost alike in the window"},
		{Name: "members", Unit: UnitCount, Meaning: "members of the group now"},
		{Name: "baseline_members", Unit: UnitCount, Meaning: "members before the first loss"},
		{Name: "leaves", Unit: UnitCount, Meaning: "LeaveGroup requests at the coordinator around the drop", Optional: true},
		{Name: "errors_25", Unit: UnitCount, Meaning: "UNKNOWN_MEMBER_ID answers at the coordinator after the drop (heartbeats, commits by partition)", Optional: true},
		{Name: "max_commit_gap_seconds", Unit: UnitSeconds, Meaning: "its longest gap between two commits before it fell silent", Optional: true},
		{Name: "per_record_seconds", Unit: UnitSeconds, Meaning: "its processing time a record, from commits or its own metrics while it had the next record at once", Optional: true},
		{Name: "per_record_by", Unit: UnitText, Meaning: "where that is from", Optional: true},
		{Name: "per_record_at_most_seconds", Unit: UnitSeconds, Meaning: "the time a record by its commits where it may have waited for records: an upper bound", Optional: true},
		{Name: "per_record_missing", Unit: UnitText, Meaning: "why the processing time a record is not known; missing where it is", Optional: true},
		{Name: "coordinator", Unit: UnitText, Meaning: "the group's coordinator, as broker N", Optional: true},
	}
}

// protocolSpec is the fact by which steps name the settings that exist there.
func protocolSpec() FactSpec {
	return FactSpec{Name: "protocol", Unit: UnitText, Meaning: "classic, or consumer (KIP-848), whose session is a setting of the group and not of its clients", Optional: true}
}
