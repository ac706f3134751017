package diagnose

import (
	"math/rand/v2"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose/internal/cachemodel"
)

// between is a random number from low to high, both included.
func between(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }

// times is a random share of n. The conversions forbid fused operations, whose
// results differ by machine.
func times(r *rand.Rand, n int, low, high float64) int {
	return int(float64(n) * float64(low+float64(r.Float64()*(high-low))))
}

// cache is a broker with one of some sizes; before 3.8 it has one shard.
func cacheOf(r *rand.Rand, sizes ...int) cachemodel.Scenario {
	s := cachemodel.Scenario{Slots: sizes[r.IntN(len(sizes))], Shards: 8, Seconds: 1200 + between(r, 400, 900)}
	if r.IntN(5) == 0 {
		s.Shards = 1
	}
	return s
}

// fleet are clients with equal partitions, all there from the start.
func fleet(r *rand.Rand, n int) cachemodel.Clients {
	return cachemodel.Clients{Count: n, Partitions: between(r, 10, 40), EveryMS: 500 * between(r, 2, 10), BornOverS: between(r, 1, 100)}
}

// modelKinds lists what is played. The order is part of the seeds: new kinds go
// to the end.
func modelKinds() []modelKind {
	return []modelKind{
		{CacheThrash, "waves", 14, func(r *rand.Rand) modelled { return playThrash(r, false) }},
		{CacheThrash, "blind", 6, func(r *rand.Rand) modelled { return playThrash(r, true) }},
		{CacheSaturated, "overflow", 14, func(r *rand.Rand) modelled { return playOverflow(r, false) }},
		{CacheSaturated, "blind", 6, func(r *rand.Rand) modelled { return playOverflow(r, true) }},
		{DeadSessionTurnover, "visitors", 12, playVisitors},
		{FollowerChurn, "step", 6, playFollowerStep},
		{FollowerChurn, "flapping", 6, playFlapping},
		{LeakingClient, "climb", 12, playLeak},
		{MisroutedSessions, "requests", 8, playBalancedRequests},
		{MisroutedSessions, "connections", 8, playBalancedConnections},
		{EpochMismatch, "duplicates", 10, playDuplicates},
		{SessionsDisabled, "slots", 8, playDisabled},
		{RestartBurst, "over", 8, func(r *rand.Rand) modelled { return playRestart(r, between(r, 480, 720), between(r, 15, 90)) }},
		{RestartBurst, "during", 8, func(r *rand.Rand) modelled { return playRestart(r, between(r, 60, 240), between(r, 15, 40)) }},
		{RestartBurst, "to-come", 4, func(r *rand.Rand) modelled { return playRestart(r, between(r, 60, 240), 300) }},
		{CacheNearLimit, "demand", 10, playNearLimit},
		{Quiet, "room", 8, func(r *rand.Rand) modelled { return playQuiet(r, false) }},
		{Quiet, "full-of-dead", 8, func(r *rand.Rand) modelled { return playQuiet(r, true) }},
		{Quiet, "killed", 4, playKilled},
	}
}

// playThrash: more clients than slots, and fetches of varying size.
func playThrash(r *rand.Rand, blind bool) modelled {
	s := cacheOf(r, 64, 104, 200, 400)
	c := fleet(r, times(r, s.Slots, 1.05, 1.6))
	c.Vary = between(r, 3, c.Partitions/2)
	s.Clients = []cachemodel.Clients{c}
	return modelled{
		truth: "more clients than slots, whose fetches vary in size: live sessions are evicted", scenario: s, blind: blind,
		produced: []Signal{SignalErrors70, SignalEvictions, SignalFetchBytesMean},
	}
}

// playOverflow: more clients than slots, all of equal size.
func playOverflow(r *rand.Rand, blind bool) modelled {
	s := cacheOf(r, 64, 104, 200, 400, 1000)
	s.Clients = []cachemodel.Clients{fleet(r, times(r, s.Slots, 1.15, 1.7))}
	return modelled{
		truth: "more clients than slots, all of equal size: newcomers are refused in silence", scenario: s, blind: blind,
		produced: []Signal{SignalSessions, SignalFetchBytesMean, "demand"},
	}
}

// playVisitors: a full cache of live and dead sessions, and clients that come,
// fetch three times and go.
func playVisitors(r *rand.Rand) modelled {
	s := cacheOf(r, 64, 104, 200, 400)
	live := times(r, s.Slots, 0.2, 0.65)
	s.Clients = []cachemodel.Clients{fleet(r, live)}
	s.Dead = s.Slots - live
	s.Visitors = []cachemodel.Visitors{{PerMinute: float64(times(r, s.Slots-live, 0.15, 0.75)), Partitions: between(r, 5, 20), Fetches: 3}}
	return modelled{
		truth: "short-lived clients that never close their sessions take the slots of dead ones", scenario: s,
		produced: []Signal{SignalEvictions, SignalSessions, SignalConnectionsMade},
	}
}

// playFollowerStep: a restarted broker's fetchers take slots from consumers.
func playFollowerStep(r *rand.Rand) modelled {
	s := cacheOf(r, 64, 104, 200)
	back := s.Seconds - between(r, 60, 400)
	s.Clients = []cachemodel.Clients{fleet(r, times(r, s.Slots, 1.0, 1.3))}
	s.Followers = cachemodel.Followers{Threads: between(r, 3, 6), Partitions: 8, BackAtS: []int{back}}
	return modelled{
		truth: "broker 2 was restarted, and its fetchers displaced consumers on a full cache", scenario: s, peerBackS: back, urp: 8,
		produced: []Signal{SignalEvictions, SignalErrors70, SignalUnderReplicated},
	}
}

// playFlapping: fetchers that reconnect every few seconds.
func playFlapping(r *rand.Rand) modelled {
	s := cacheOf(r, 64, 104)
	s.Clients = []cachemodel.Clients{fleet(r, times(r, s.Slots, 0.7, 1.2))}
	s.Clients[0].EveryMS = 1000
	s.Followers = cachemodel.Followers{Threads: between(r, 6, 12), Partitions: 8}
	for at := s.Seconds - between(r, 500, 900); at < s.Seconds; at += between(r, 4, 8) {
		s.Followers.BackAtS = append(s.Followers.BackAtS, at)
	}
	return modelled{
		truth: "replica fetchers reconnect again and again and displace consumers", scenario: s, urp: 8,
		produced: []Signal{SignalEvictions, SignalErrors70, SignalUnderReplicated},
	}
}

// playLeak: one client opens a new session with every fetch.
func playLeak(r *rand.Rand) modelled {
	s := cacheOf(r, 400, 1000, 2000)
	s.Clients = []cachemodel.Clients{fleet(r, times(r, s.Slots, 0.03, 0.15))}
	s.Visitors = []cachemodel.Visitors{{PerMinute: float64(times(r, s.Slots, 0.0175, 0.0375)), Partitions: between(r, 3, 10), Fetches: 1, FromS: s.Seconds - 1300}}
	m := modelled{
		truth: "one client opens a new session with every fetch and keeps its connection", scenario: s,
		produced: []Signal{SignalSessions, SignalCachedPartitions, "software", SignalEvictions, SignalConnectionsMade},
	}
	if r.IntN(2) == 0 {
		m.software = []Software{{Name: "sarama", Version: []string{"1.26.0", "1.26.1"}[r.IntN(2)], Connections: between(r, 1, 4)}}
	}
	return m
}

// playBalancedRequests: one address for two brokers, each request to the next.
func playBalancedRequests(r *rand.Rand) modelled {
	s := cacheOf(r, 200, 400, 1000)
	c := fleet(r, between(r, 6, 20))
	c.EveryMS, c.BornS, c.BornOverS = between(r, 200, 500), s.Seconds-between(r, 150, 1100), 5
	s.Brokers, s.Clients = 2, []cachemodel.Clients{c}
	return modelled{
		truth: "one address leads to two brokers, balanced request by request", scenario: s,
		produced: []Signal{SignalErrors70, SignalSessions, SignalEvictions},
	}
}

// playBalancedConnections: the same by connection. The cache sees nothing of it;
// the wrong broker refuses what it does not lead, or with 4.4 clients tells them
// to bootstrap again.
func playBalancedConnections(r *rand.Rand) modelled {
	s := cacheOf(r, 1000)
	s.Clients = []cachemodel.Clients{fleet(r, between(r, 8, 30))}
	from := time.Duration(between(r, 240, 1000)) * time.Second
	m := modelled{truth: "one address leads to two brokers, balanced by connection", scenario: s}
	if r.IntN(2) == 0 {
		m.produced = []Signal{SignalRebootstrap}
		m.events = map[Signal][]event{SignalRebootstrap: goingOn(float64(between(r, 1, 4)), 5*time.Second, from)}
		return m
	}
	m.produced = []Signal{SignalNotLeaderList, SignalNotLeaderFetch}
	m.events = map[Signal][]event{SignalNotLeaderList: goingOn(float64(between(r, 100, 350)), 5*time.Second, from)}
	if r.IntN(2) == 0 {
		m.events[SignalNotLeaderFetch] = goingOn(float64(between(r, 1000, 9000)), 5*time.Second, from)
	}
	return m
}

// playDuplicates: requests arrive twice.
func playDuplicates(r *rand.Rand) modelled {
	s := cacheOf(r, 400, 1000)
	s.Seconds += 1200 // it has been going on for long
	c := fleet(r, between(r, 40, 150))
	c.EveryMS, c.DuplicatesPPM = 500, between(r, 150, 2000)
	s.Clients = []cachemodel.Clients{c}
	return modelled{
		truth: "fetches arrive twice on one session", scenario: s, produced: []Signal{SignalErrors71},
	}
}

// playDisabled: slots that leave each shard none.
func playDisabled(r *rand.Rand) modelled {
	s := cachemodel.Scenario{Slots: r.IntN(8), Shards: 8, Seconds: 1300, Clients: []cachemodel.Clients{fleet(r, between(r, 5, 60))}}
	return modelled{truth: "too few slots for eight shards: no session at all", scenario: s, produced: []Signal{"slots", SignalSessions}}
}

// playRestart: the broker restarts so many seconds before the end, and leads
// again some seconds later.
func playRestart(r *rand.Rand, ago, back int) modelled {
	s := cacheOf(r, 1000)
	s.Clients = []cachemodel.Clients{fleet(r, between(r, 8, 600))}
	s.Restart = &cachemodel.Restart{AtS: s.Seconds - ago - back, BackS: s.Seconds - ago}
	if back == 300 { // the next check of the leaders is still to come
		s.Restart = &cachemodel.Restart{AtS: s.Seconds - ago, BackS: s.Seconds + 60}
	}
	return modelled{
		truth: "the broker was restarted; each client meets its dead session once, when leadership returns", scenario: s,
		produced: []Signal{SignalErrors70, SignalProcessStart, SignalLeaders, SignalSessions},
	}
}

// playNearLimit: everybody has a session, and few slots are left.
func playNearLimit(r *rand.Rand) modelled {
	s := cacheOf(r, 200, 400, 1000)
	s.Clients = []cachemodel.Clients{fleet(r, times(r, s.Slots, 0.82, 0.97))}
	return modelled{truth: "the clients need more than 80 % of the slots", scenario: s, produced: []Signal{SignalSessions, "demand", "slots"}}
}

// playQuiet: enough slots; or all taken, by sessions that nobody uses.
func playQuiet(r *rand.Rand, full bool) modelled {
	s := cacheOf(r, 200, 400, 1000)
	live := times(r, s.Slots, 0.1, 0.7)
	s.Clients = []cachemodel.Clients{fleet(r, live)}
	m := modelled{truth: "nothing was done", scenario: s}
	if full {
		m.scenario.Dead, m.truth = s.Slots-live, "nothing was done; dead sessions of the last days fill the cache"
	}
	return m
}

// playKilled: a kill with every fetch in flight, long over.
func playKilled(r *rand.Rand) modelled {
	m := playRestart(r, between(r, 620, 800), between(r, 15, 60))
	m.scenario.Restart.Killed = true
	m.truth, m.produced = "kill -9 and start with all fetches in flight: no client gets an error", nil
	return m
}
