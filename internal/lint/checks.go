package lint

// CheckInfo is one check for people.
type CheckInfo struct {
	// Name is stable; it stands in every finding.
	Name string
	// What is what it finds.
	What string
	// Why is its reason and where that comes from.
	Why string
}

// Checks lists the checks in the order of the documentation.
func Checks() []CheckInfo {
	return []CheckInfo{
		{"unknown-key", "a key that nothing of the file's kind knows, with the key that was probably meant", "Java clients and brokers ignore it in silence; librdkafka refuses to start"},
		{"invented-key", "`min.incremental.fetch.session.eviction.ms`", "it does not exist: a constant of 120 s in the broker (KIP-227, class `FetchSessionCache`), and setting it looks applied and does nothing"},
		{"removed-key", "a key that the given version, or a newer one, no longer knows", "the definitions of Kafka 2.4 to 4.4"},
		{"newer-key", "a key that the given version does not know yet", "the definitions of Kafka 2.4 to 4.4"},
		{"deprecated-key", "a key that Kafka or librdkafka marks as deprecated", "their own definitions"},
		{"duplicate-key", "a key that stands there twice", "the later line counts, and people read the first"},
		{"bad-value", "a value that is no number, truth value or word of the list, or outside its bounds; a comment behind a value", "Java refuses the value; librdkafka reads `45s` as 45 ms and `0600000` as octal, and says nothing (measured on 2.16)"},
		{"heartbeat-ratio", "`heartbeat.interval.ms` above a third of the session timeout", "one or two lost heartbeats cost the membership (KIP-62); as long as the session, a Java client refuses to start"},
		{"session-bounds", "`session.timeout.ms` outside the broker's `group.min.session.timeout.ms` and `group.max.session.timeout.ms`", "the coordinator answers 26 INVALID_SESSION_TIMEOUT and the member never joins"},
		{"session-length", "a session timeout under 10 s or over 5 min", "a pause of session − heartbeat costs the membership; a dead process keeps its partitions for the whole of it (KIP-735)"},
		{"session-poll", "`session.timeout.ms` above `max.poll.interval.ms`", "librdkafka refuses to start; with Java a dead process is noticed later than a slow one"},
		{"request-timeout", "a fetch that waits longer than a request may take; a very short request timeout; `delivery.timeout.ms` below `linger.ms` + `request.timeout.ms`", "classes `NetworkClient`, `KafkaProducer` (KIP-91)"},
		{"static-member", "what `group.instance.id` costs: one id for several processes, and when a lost one is noticed", "KIP-345: no LeaveGroup, so poll limit plus session timeout"},
		{"group-protocol", "`group.protocol=consumer` beside settings that the broker decides", "KIP-848: Kafka 4.x clients and librdkafka refuse to start, 3.9 ignores them (measured)"},
		{"poll-budget", "with `--per-record`: `max.poll.records` × time a record against `max.poll.interval.ms`", "over the limit the member leaves in the middle of the batch; over half of it, one slow call makes it leave (KIP-62)"},
		{"fetch-slots", "`max.incremental.fetch.session.cache.slots`: below 8 or 0, no multiple of 8, below the default, more than any heap; heap and restart of a larger one", "8 shards of slots ÷ 8 since 3.8 (KAFKA-9401); 270 B a session and 97 B a partition (measured on 4.4.0)"},
		{"broker-bounds", "a broker's limits that keep clients with default settings out, or that the broker refuses itself", "class `GroupCoordinator`, `KafkaConfig` (measured on 3.9.2 and 4.4.0)"},
	}
}
