package diagnose

import "strings"

// BotSoftware is the bot's own entry in the census of client libraries: it
// opens no fetch session and joins no group.
const BotSoftware = "kafka-oncall"

// javaSoftware is the Apache Kafka client's entry.
const javaSoftware = "apache-kafka-java"

// Sessionless reports whether a library sends every fetch without a session
// (id 0, epoch −1): librdkafka with its bindings, and Sarama. Sarama 1.26.0 and
// 1.26.1 do the opposite, see [Software.OpensForEachFetch].
func (s Software) Sessionless() bool {
	switch s.Library() {
	case LibraryLibrdkafka, LibrarySarama:
		return !s.OpensForEachFetch()
	default:
		return false
	}
}

// OpensForEachFetch reports whether a library is known to open a new session
// with every fetch: Sarama 1.26.0 and 1.26.1 (IBM/sarama#1644, mended in 1.26.2).
func (s Software) OpensForEachFetch() bool {
	v := strings.TrimPrefix(s.Version, "v")
	return strings.EqualFold(s.Name, "sarama") && (v == "1.26.0" || v == "1.26.1")
}

// label writes "sarama 1.26.1".
func (s Software) label() string {
	if s.Version == "" {
		return s.Name
	}
	return s.Name + " " + s.Version
}
