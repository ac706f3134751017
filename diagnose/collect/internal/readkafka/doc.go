// Package readkafka is the bot's only way to Kafka, and it can only read.
//
// [Client] wraps a franz-go client and exposes one method per question:
// metadata, API versions, groups, offsets, configs, and raw records of a
// partition. The franz-go client itself stays private to this package, and
// every request passes a list of allowed API keys, so neither a collector nor a
// future mistake in one can write, join a group, or create a topic. Notably
// absent is FindCoordinator: on a cluster without __consumer_offsets it makes
// the broker create that topic. A group's coordinator is the broker that lists
// it.
//
// Requests go to one named broker each. franz-go then neither splits nor
// rewrites them, so the number of requests is what the caller sends, and one
// refused group cannot hide the others. The price is that topic ids (OffsetFetch
// from version 10, Fetch from 13) must be filled in and mapped back here.
//
// Fetches carry no session (id 0, epoch -1) and no group: reading the offsets
// topic never takes a slot of the fetch session cache that may be under
// diagnosis.
package readkafka
