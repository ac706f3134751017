package lint

import (
	"fmt"

	"github.com/kafka-oncall/kafka-oncall/internal/sizing"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

const slotsKey = "max.incremental.fetch.session.cache.slots"

// broker looks at server.properties.
func (c *checker) broker() {
	s := c.doc.base()
	c.slots(s)
	c.groupBounds(s)
	c.pairs(s)
	if c.o.Version.Before(3, 7) {
		return
	}
	c.newGroups(s)
}

// slots looks at the fetch session cache.
func (c *checker) slots(s scope) {
	x := s.set[slotsKey]
	if x == nil || s.unsure(slotsKey) {
		return
	}
	n, ok := x.whole(Broker)
	if !ok || n < 0 {
		return // said by the bounds
	}
	sharded := !c.o.Version.Before(3, 8)
	holds := sizing.Capacity(n, sharded)
	since := ""
	if !c.o.Version.Known() {
		since = "from Kafka 3.8 on, "
	}
	const source = "KAFKA-9401: 8 shards of slots ÷ 8 since 3.8; class FetchSessionCache"
	switch {
	case sizing.CacheBytes(float64(n), sizing.PartitionsAssumed) > anyHeap:
		c.add(Warning, x, note{check: "fetch-slots", message: fmt.Sprintf("a cache of that size would take about %s of heap (%d × (270 B + %d partitions × 97 B)), more than any broker has. It grows with its sessions: clients that leak them then end the broker with OutOfMemoryError, where a smaller cache would throw out what was not used for 120 s", heap(float64(n)), n, sizing.PartitionsAssumed), fix: "the sessions of your consumers and followers with some room; 1000 is the default", source: "measured: 270 B a session and 97 B a cached partition"})
		return
	case n == 0:
		c.add(Warning, x, note{check: "fetch-slots", message: "0 slots switch fetch sessions off: every fetch of every client and follower is a full one", fix: "delete the line: the default is 1,000", source: "KIP-227"})
		return
	case holds == 0:
		c.add(Error, x, note{check: "fetch-slots", message: fmt.Sprintf("%sthe cache holds no session at all: %d ÷ %d shards = 0 each, so every fetch is a full one", since, n, sizing.Shards), fix: slotsKey + "=1000 or more, a multiple of 8", source: source})
		return
	case holds < n && n >= sizing.DefaultSlots:
		c.add(Warning, x, note{check: "fetch-slots", message: fmt.Sprintf("%s%d slots hold %d sessions: each of %d shards gets %d, the rest is lost", since, n, holds, sizing.Shards, holds/sizing.Shards), fix: fmt.Sprintf("%s=%d", slotsKey, roundUp8(n)), source: source})
	}
	if n < sizing.DefaultSlots {
		rest := ""
		if holds < n {
			rest = fmt.Sprintf(", and %sholds %d sessions: each of %d shards gets %d", since, holds, sizing.Shards, holds/sizing.Shards)
		}
		c.add(Warning, x, note{check: "fetch-slots", message: fmt.Sprintf("%d is below the default of 1,000%s. One consumer needs a slot on each broker it fetches from, and %s of heap is all that 1,000 cost at %d partitions each", n, rest, heap(sizing.DefaultSlots), sizing.PartitionsAssumed), fix: "delete the line", source: "measured: 270 B a session and 97 B a cached partition"})
	}
	if n > sizing.DefaultSlots {
		more := ""
		if n > sizing.PlatformSlots {
			more = fmt.Sprintf(" Some platforms refuse more than %d (Aiven).", sizing.PlatformSlots)
		}
		c.add(Advice, x, note{check: "fetch-slots", message: fmt.Sprintf("a full cache takes about %s of heap (%d × (270 B + %d partitions × 97 B)). Use the same value on all brokers.%s It is read at start: a change needs a rolling restart. When the leadership of a restarted broker comes back, consumers with a session and partitions there get one FETCH_SESSION_ID_NOT_FOUND each; after a kill hardly any do", heap(float64(n)), n, sizing.PartitionsAssumed, more), source: "measured on 4.4.0; not in DynamicBrokerConfig"})
	}
}

// anyHeap is more heap than a broker is given: from 32 GB on, Java's references
// double in size (the limit of compressed pointers).
const anyHeap = 32e9

func roundUp8(n int64) int64 { return int64(sizing.Slots(float64(n))) }

func heap(sessions float64) string {
	return playbooks.Bytes(sizing.CacheBytes(sessions, sizing.PartitionsAssumed))
}

// groupBounds looks at who may join: clients send 45 s (10 s before 3.0).
func (c *checker) groupBounds(s scope) {
	const low, high = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
	at := s.first(low, high)
	if at == nil || s.unsure(low, high) {
		return
	}
	l, h := s.number(low, c.o.Version), s.number(high, c.o.Version)
	const source = "class GroupCoordinator: error 26 INVALID_SESSION_TIMEOUT"
	switch {
	case l > h:
		c.add(Error, at, note{check: "broker-bounds", message: fmt.Sprintf("%s (%s) is above %s (%s). The broker starts, and no classic consumer can join", low, millis(l), high, millis(h)), source: source + "; measured: 3.9.2 and 4.4.0 accept it"})
	case l > 45000:
		c.add(Error, at, note{check: "broker-bounds", message: fmt.Sprintf("%s is %s: clients with the default of 45 s cannot join", low, millis(l)), fix: low + "=6000, the default", source: source})
	case h < 45000:
		c.add(Error, at, note{check: "broker-bounds", message: fmt.Sprintf("%s is %s: clients with the default of 45 s cannot join", high, millis(h)), fix: high + "=1800000, the default", source: source})
	case l > 10000:
		c.add(Warning, at, note{check: "broker-bounds", message: fmt.Sprintf("%s is %s: Connect workers, Sarama and Java clients before 3.0 ask for 10 s and cannot join", low, millis(l)), fix: low + "=6000, the default", source: source})
	}
}

// pairs are sums that the broker checks when it starts.
func (c *checker) pairs(s scope) {
	for _, p := range []struct{ small, large string }{
		{"replica.fetch.wait.max.ms", "replica.socket.timeout.ms"},
		{"replica.fetch.wait.max.ms", "replica.lag.time.max.ms"},
	} {
		at := s.first(p.small, p.large)
		if at == nil || s.unsure(p.small, p.large) {
			continue
		}
		if a, b := s.number(p.small, c.o.Version), s.number(p.large, c.o.Version); a > b {
			c.add(Error, at, note{check: "broker-bounds", message: fmt.Sprintf("the broker refuses to start: %s (%s) must be at most %s (%s)", p.small, millis(a), p.large, millis(b)), source: "class KafkaConfig (measured on 3.9.2 and 4.4.0)"})
		}
	}
}

// newGroups looks at the limits of KIP-848 groups.
func (c *checker) newGroups(s scope) {
	for _, what := range []string{"session.timeout.ms", "heartbeat.interval.ms"} {
		low, value, high := "group.consumer.min."+what, "group.consumer."+what, "group.consumer.max."+what
		at := s.first(value, low, high)
		if at == nil || s.unsure(low, value, high) {
			continue
		}
		l, v, h := s.number(low, c.o.Version), s.number(value, c.o.Version), s.number(high, c.o.Version)
		if l > v || v > h {
			c.add(Error, at, note{check: "broker-bounds", message: fmt.Sprintf("the broker refuses to start: %s (%s) must lie between %s (%s) and %s (%s)", value, millis(v), low, millis(l), high, millis(h)), source: "class GroupCoordinatorConfig (measured on 3.9.2 and 4.4.0)"})
		}
	}
	const beatKey, sessKey = "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"
	at := s.first(beatKey, sessKey)
	if at == nil || s.unsure(beatKey, sessKey) {
		return
	}
	beat, sess := s.number(beatKey, c.o.Version), s.number(sessKey, c.o.Version)
	if limit := int64(sizing.MaxHeartbeat(float64(sess))); beat > limit {
		c.add(Warning, at, note{check: "heartbeat-ratio", message: fmt.Sprintf("fewer than 3 heartbeats fit a session: %s of %s ÷ 3 = %s, and %s is %s", sessKey, millis(sess), millis(limit), beatKey, millis(beat)), fix: fmt.Sprintf("%s=%d or less", beatKey, limit), source: "KIP-848"})
	}
}
