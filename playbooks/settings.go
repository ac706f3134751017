package playbooks

import (
	"regexp"
	"slices"
	"strings"
)

// settings lists the Kafka settings a playbook may name, from the consumer,
// broker and group reference of Apache Kafka 3.x and 4.x. A name that is not
// here is a mistake until somebody has looked it up and added it.
func settings() []string {
	return []string{
		// Consumers.
		"auto.offset.reset", "client.id", "client.rack", "enable.auto.commit", "auto.commit.interval.ms",
		"fetch.max.wait.ms", "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes",
		"group.id", "group.instance.id", "group.protocol", "heartbeat.interval.ms", "max.poll.interval.ms",
		"max.poll.records", "partition.assignment.strategy", "rebalance.timeout.ms", "request.timeout.ms", "session.timeout.ms",
		// Brokers.
		"auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds", "controlled.shutdown.enable",
		"max.incremental.fetch.session.cache.slots", "num.replica.fetchers", "num.network.threads", "num.io.threads",
		"offsets.topic.num.partitions", "offsets.retention.minutes", "advertised.listeners",
		"group.initial.rebalance.delay.ms", "group.min.session.timeout.ms", "group.max.session.timeout.ms", "group.max.size",
		"group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms", "group.consumer.max.session.timeout.ms",
		// A broker's logger, settable while it runs (KIP-412, 2.4).
		"kafka.request.logger",
		// Groups (KIP-848, dynamic per group from 4.0).
		"consumer.session.timeout.ms", "consumer.heartbeat.interval.ms",
		// Kafka Streams (KIP-812's predecessor is internal and not advised).
		"num.stream.threads",
	}
}

// inventedSetting is what a widely read article calls the eviction age. It is a
// constant of 120 s inside the broker (KIP-227 lists it under constants; class
// FetchSessionCache), and Kafka ignores keys it does not know: the advice would
// look applied and do nothing.
const inventedSetting = "min.incremental.fetch.session.eviction.ms"

var (
	settingWord = regexp.MustCompile(`\b[a-z]+(?:\.[a-z]+){1,7}\b`)
	// settingNumber finds "setting=5", "setting: 5", "setting to 5".
	settingNumber = regexp.MustCompile(`\b([a-z]+(?:\.[a-z]+){1,7})\b\W{0,2}(?:=|:| to | of )\s*\W?\d`)
	// fileSuffix marks words with dots that are no settings.
	fileSuffix = []string{".sh", ".properties", ".yaml", ".yml", ".json", ".jar", ".log", ".cfg"}
)

// settingNames finds words in s that look like Kafka settings.
func settingNames(s string) []string {
	var out []string
	for _, w := range settingWord.FindAllString(s, -1) {
		if strings.Count(w, ".") < 1 || slices.ContainsFunc(fileSuffix, func(x string) bool { return strings.HasSuffix(w, x) }) {
			continue
		}
		if strings.HasPrefix(w, "e.g") || strings.HasPrefix(w, "i.e") {
			continue
		}
		out = append(out, w)
	}
	return out
}

func knownSetting(name string) bool { return slices.Contains(settings(), name) }
