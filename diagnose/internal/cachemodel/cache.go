// Package cachemodel plays the broker's fetch session cache and the clients that
// use it, for synthetic evidence. It follows the rules of the broker, read in its
// source (FetchSessionCacheShard, 3.8 to 4.4) and checked against runs on real
// brokers of 3.7.2, 3.9.2 and 4.4.0; its own tests hold it against their counts.
//
// A [Cache] is one broker's cache: eight shards from Kafka 3.8 on, one before,
// slots divided among them with the rest thrown away. A newcomer gets a slot in
// the next shard in turn. If that is full it may take the place of
//
//   - the session that was unused for longest, if that is more than 120 s,
//     whoever it belongs to;
//   - else the least valuable session that may be displaced, if the newcomer is
//     worth more: followers before consumers, then more partitions before fewer.
//     A follower may displace any consumer, a consumer only sessions that are older
//     than 120 s. Equal sizes never displace each other;
//
// else it gets none and fetches in full for ever. Nothing else removes a
// session: those of vanished clients stay until somebody wants the slot.
//
// [Run] plays populations of clients over such a cache and returns, second by
// second, what the broker's metrics would have shown.
//
// Everything follows from the seed. Times are milliseconds from the start.
package cachemodel

import "math/rand/v2"

// staleMS is how long a session must be unused, or exist, before others may
// take its slot: a constant of the broker, not a setting (KIP-227).
const staleMS = 120_000

// Cache is one broker's fetch session cache.
type Cache struct {
	shards    [][]*session
	perShard  int
	turn      int
	byID      map[int64]*session
	random    *rand.Rand
	evictions int
	cached    int
}

type session struct {
	id         int64
	shard      int
	privileged bool
	size       int
	createdMS  int64
	usedMS     int64
	// old says that it was used once it was older than 120 s: the broker looks at
	// the age when a session is used, not in between.
	old bool
}

// New returns an empty cache with so many slots over so many shards.
func New(slots, shards int, random *rand.Rand) *Cache {
	return &Cache{shards: make([][]*session, shards), perShard: slots / shards, byID: map[int64]*session{}, random: random}
}

// Sessions counts the cached sessions, used or not.
func (c *Cache) Sessions() int { return len(c.byID) }

// Partitions counts the partitions of all cached sessions.
func (c *Cache) Partitions() int { return c.cached }

// Evictions counts the sessions that lost their slot to another.
func (c *Cache) Evictions() int { return c.evictions }

// Full answers a full fetch that asks for a session, and returns its id, or 0
// when it is refused.
func (c *Cache) Full(now int64, size int, privileged bool) int64 {
	shard := c.turn
	c.turn = (c.turn + 1) % len(c.shards)
	if len(c.shards[shard]) >= c.perShard && !c.makeRoom(now, shard, size, privileged) {
		return 0
	}
	s := &session{id: 1 + c.random.Int64N(1<<31-2), shard: shard, privileged: privileged, size: size, createdMS: now, usedMS: now}
	for c.byID[s.id] != nil {
		s.id = 1 + c.random.Int64N(1<<31-2)
	}
	c.byID[s.id] = s
	c.shards[shard] = append(c.shards[shard], s)
	c.cached += size
	return s.id
}

// Incremental answers an incremental fetch, after which the session holds so
// many partitions; false is FETCH_SESSION_ID_NOT_FOUND.
func (c *Cache) Incremental(now, id int64, size int) bool {
	s := c.byID[id]
	if s == nil {
		return false
	}
	c.cached += size - s.size
	s.usedMS, s.size = now, size
	s.old = s.old || now-s.createdMS > staleMS
	return true
}

// Close removes a session at the client's wish; that is no eviction.
func (c *Cache) Close(id int64) {
	if s := c.byID[id]; s != nil {
		c.remove(s)
	}
}

// Clear is a restart of the broker.
func (c *Cache) Clear() {
	for i := range c.shards {
		c.shards[i] = nil
	}
	c.byID, c.evictions, c.cached = map[int64]*session{}, 0, 0
}

func (c *Cache) makeRoom(now int64, shard, size int, privileged bool) bool {
	victim := c.longestUnused(shard)
	if victim == nil || now-victim.usedMS <= staleMS {
		victim = c.leastValuable(shard, privileged)
		if victim == nil || !worthMore(size, privileged, victim) {
			return false
		}
	}
	c.remove(victim)
	c.evictions++
	return true
}

func (c *Cache) longestUnused(shard int) *session {
	var out *session
	for _, s := range c.shards[shard] {
		if out == nil || s.usedMS < out.usedMS || s.usedMS == out.usedMS && s.id < out.id {
			out = s
		}
	}
	return out
}

// leastValuable finds whom a newcomer may displace.
func (c *Cache) leastValuable(shard int, privileged bool) *session {
	var out *session
	for _, s := range c.shards[shard] {
		if !s.old && (!privileged || s.privileged) {
			continue
		}
		if out == nil || less(s, out) {
			out = s
		}
	}
	return out
}

func less(a, b *session) bool {
	if a.privileged != b.privileged {
		return b.privileged
	}
	if a.size != b.size {
		return a.size < b.size
	}
	return a.id < b.id
}

// worthMore: a newcomer has no id yet, so that equal sizes lose.
func worthMore(size int, privileged bool, victim *session) bool {
	if privileged != victim.privileged {
		return privileged
	}
	return size > victim.size
}

func (c *Cache) remove(s *session) {
	delete(c.byID, s.id)
	c.cached -= s.size
	shard := c.shards[s.shard]
	for i := range shard {
		if shard[i] == s {
			shard[i] = shard[len(shard)-1]
			c.shards[s.shard] = shard[:len(shard)-1]
			return
		}
	}
}
