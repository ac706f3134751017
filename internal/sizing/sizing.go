// Package sizing is the arithmetic behind advised numbers: fetch session slots,
// poll budgets, heartbeats. The playbooks compute with it through functions of
// the same names (see [Functions]), and `kafka-oncall lint` checks files with
// it, so that a card at night and a check in CI never disagree.
//
// Everything is total: absurd input (negative, not a number, beyond an int) is
// brought into range, never a panic and never a number Kafka would refuse.
package sizing

import "math"

// Numbers of the fetch session cache.
const (
	// Shards is the number of parts of the cache since Kafka 3.8 (KAFKA-9401,
	// constant NumFetchSessionCacheShards). Each holds slots / Shards sessions.
	Shards = 8
	// DefaultSlots is Kafka's default, and the least that is advised.
	DefaultSlots = 1000
	// MaxSlots is the largest multiple of Shards in Kafka's int.
	MaxSlots = math.MaxInt32 / Shards * Shards
	// DeploySurge is the share of consumers that a default rolling update runs
	// twice: the old ones' sessions stay for at least 120 s.
	DeploySurge = 0.25
	// SurgeBlueGreen is the same for a deploy that starts everything twice.
	SurgeBlueGreen = 1.0
	// SkewSmall and Skew are the room for parts that fill unevenly: measured,
	// the first refusal comes at 66–80 % of 200 slots and 86–91 % of 1,000.
	SkewSmall = 1.5
	Skew      = 1.25
	// SkewBelow is where SkewSmall ends.
	SkewBelow = 300
	// DeadSeconds is how long the session of a client that is gone keeps its slot
	// at least (constant MinIncrementalFetchSessionEvictionMs, KIP-227).
	DeadSeconds = 120
	// SessionBytes and PartitionBytes are the heap that a session, and each
	// partition cached in it, takes on a broker (measured on 4.4.0).
	SessionBytes   = 270
	PartitionBytes = 97
	// PartitionsAssumed is taken where nobody knows how many partitions a
	// session holds.
	PartitionsAssumed = 50
	// PlatformSlots is the most that a platform is known to accept (Aiven).
	PlatformSlots = 10000
)

// Numbers of consumers.
const (
	// HeartbeatsPerSession is how many heartbeats fit a session timeout at
	// least: Kafka's guidance for heartbeat.interval.ms (KIP-62).
	HeartbeatsPerSession = 3
	// PollShare is the share of max.poll.interval.ms that a batch may take as
	// measured; the rest is for the slow ones.
	PollShare = 0.5
)

// Capacity is the number of sessions that a cache of so many slots holds:
// all of them before Kafka 3.8, whole eighths since.
func Capacity(slots int64, sharded bool) int64 {
	slots = max(0, slots)
	if !sharded {
		return slots
	}
	return slots / Shards * Shards
}

// SkewFor is the factor for uneven parts at so many sessions.
func SkewFor(sessions float64) float64 {
	if sessions < SkewBelow {
		return SkewSmall
	}
	return Skew
}

// Sessions is the number of sessions to plan for on a broker: consumers with
// the surge of a deploy, and replica fetchers twice, since the sessions of a
// restarted follower stay for at least 120 s.
func Sessions(consumers, followers, surge float64) float64 {
	return finite(consumers)*(1+finite(surge)) + 2*finite(followers)
}

// Want is Sessions with room for uneven parts.
func Want(sessions float64) float64 {
	sessions = finite(sessions)
	return sessions * SkewFor(sessions)
}

// ArrivalSlots is the number of slots that dead sessions hold while so many
// short-lived clients arrive in a second: each leaves one, for DeadSeconds.
func ArrivalSlots(perSecond float64) float64 {
	return finite(perSecond) * DeadSeconds
}

// SlotsWanted is the whole sum: the sessions planned for, with room, and what
// short-lived clients leave behind (0 where their number is not known).
func SlotsWanted(sessions, arrivalsPerSecond float64) float64 {
	return Slots(Want(sessions) + ArrivalSlots(arrivalsPerSecond))
}

// Slots rounds up to a multiple of Shards, never below Kafka's default and
// never beyond its int.
func Slots(want float64) float64 {
	up := math.Ceil(finite(want)/Shards-1e-9) * Shards
	return min(MaxSlots, max(DefaultSlots, up))
}

// CacheBytes is the heap of a broker whose cache is full.
func CacheBytes(sessions, partitionsEach float64) float64 {
	return finite(sessions) * (SessionBytes + PartitionBytes*finite(partitionsEach))
}

// FitRecords is how many records of perRecord seconds fit into PollShare of a
// limit in seconds; 0 when not one does. From 20 on it is a multiple of 10, the
// way people write max.poll.records.
func FitRecords(limit, perRecord float64) float64 {
	limit, perRecord = finite(limit), finite(perRecord)
	if perRecord <= 0 {
		return math.MaxInt32
	}
	n := math.Floor(limit*PollShare/perRecord + 1e-9)
	if n >= 20 {
		n = math.Floor(n/10) * 10
	}
	return min(n, math.MaxInt32)
}

// MaxHeartbeat is the longest heartbeat.interval.ms for a session timeout, in
// the unit of the timeout.
func MaxHeartbeat(session float64) float64 {
	return finite(session) / HeartbeatsPerSession
}

// PauseNeeded is the shortest pause of a process that can cost it its session:
// the last heartbeat may have been sent a whole interval before the pause.
func PauseNeeded(session, heartbeat float64) float64 {
	return max(0, finite(session)-finite(heartbeat))
}

// finite brings a number into the range that is computed with.
func finite(n float64) float64 {
	switch {
	case math.IsNaN(n) || n < 0:
		return 0
	case n > 1e15:
		return 1e15
	}
	return n
}
