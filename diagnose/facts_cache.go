package diagnose

import (
	"fmt"
	"math"
	"time"
)

// cache is how full the session cache is and who needs it.
type cache struct {
	// capacity, slots and sessions are -1 when unknown. sessions is the highest
	// number of the window: a session that was just evicted is replaced at
	// once, so the peak tells whether the cache is full.
	capacity, slots, sessions float64
	demand                    bound
	share                     float64
	shareKnown                bool
}

func (b *brokerFacts) cache() cache {
	c := cache{capacity: float64(b.capacity), slots: float64(b.slots), sessions: -1, demand: b.demand()}
	from := b.f.cacheFrom()
	if b.start.After(from) {
		from = b.start
	}
	if n, ok := b.peak(SignalSessions, from); ok {
		c.sessions = n
	}
	c.share, c.shareKnown = b.fullShare()
	return c
}

// full reports whether the cache counts as full.
func (c cache) full(l Limits) bool {
	return c.capacity > 0 && c.sessions >= l.FullShare*c.capacity
}

// room reports whether the cache is known not to be full.
func (c cache) room(l Limits) bool { return c.capacity > 0 && c.sessions >= 0 && !c.full(l) }

// above reports whether demand is known to exceed a share of the capacity, and
// below whether it is known not to.
func (c cache) above(share float64) bool {
	return c.demand.low >= 0 && float64(c.demand.low) > share*c.capacity
}

func (c cache) below(share float64) bool {
	return c.demand.high >= 0 && float64(c.demand.high) <= share*c.capacity
}

// connectionsPerClient is how many connections a client of a group may have to one
// broker: for metadata, for fetches, and to its coordinator.
const connectionsPerClient = 3

// countedLow says that topology counts too few clients to fill the cache, and that
// nothing tells of others: no more connections than those clients may have, and
// hardly a fetch that is a full one, as far as that is visible. A client that was
// refused sends nothing else.
func (b *brokerFacts) countedLow(c cache) bool {
	if b.Demand.Status != StatusOK || c.demand.low < 0 || float64(c.demand.low) >= b.f.l.NearShare*c.capacity {
		return false
	}
	if c.shareKnown && c.share >= overflowSeen {
		return false
	}
	return c.demand.high <= connectionsPerClient*c.demand.low+connectionsBeside
}

// connectionsBeside are those of brokers, exporters and admin tools.
const connectionsBeside = 10

// unknownSize answers for rules that need the capacity and the fill.
func (b *brokerFacts) unknownSize(c cache) (Outcome, bool) {
	switch {
	case c.capacity < 0 && c.slots >= 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedAdmin}, Because: "whether the cache is sharded (Kafka 3.8 and newer) is not known, so neither is its capacity"}, true
	case c.capacity < 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedSlots}, Because: "the number of session slots is not known"}, true
	case c.sessions < 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "the number of sessions is not visible"}, true
	case c.capacity == 0:
		return no("the cache holds no session at all (%s slots)", count(c.slots)), true
	default:
		return Outcome{}, false
	}
}

// demandWords cites the demand: "1,310 clients need a session (1,284 consumers
// + 26 replica fetchers)".
func (b *brokerFacts) demandWords() string {
	d := b.demand()
	if d.low < 0 {
		return "demand not known"
	}
	s := fmt.Sprintf("%s a session (%s + %s)", plural(d.low, "client needs", "clients need"),
		plural(b.Demand.Consumers, "consumer in groups", "consumers in groups"),
		plural(b.Demand.Followers, "replica fetcher", "replica fetchers"))
	if d.high >= 0 {
		s += fmt.Sprintf(", at most %s by connections", count(d.high))
	}
	return s
}

// cacheCitations are the observations that the rules of a small cache share:
// fill, slots, demand, full fetches.
func (b *brokerFacts) cacheCitations(c cache) []Citation {
	out := []Citation{b.cite(SignalSessions, b.sessionsWords(c.sessions))}
	out = append(out, cite(b.path("slots"), fmt.Sprintf("max.incremental.fetch.session.cache.slots = %s", b.Slots.Value), b.Slots.Reading))
	if c.demand.low >= 0 {
		out = append(out, cite(b.path("demand"), b.demandWords(), b.Demand.Reading))
	}
	if c.shareKnown {
		out = append(out, b.cite(SignalFetchBytesMean, "about "+percent(c.share)+" of consumer fetches are full, by request size"))
	}
	return out
}

// cacheFactValues fill in cacheFacts.
func (b *brokerFacts) cacheFactValues(c cache) []Fact {
	out := append(b.slotFacts(), factCount("sessions", c.sessions))
	if c.demand.low >= 0 {
		out = append(out, factCount("demand", float64(c.demand.low)),
			factCount("demand_consumers", float64(b.Demand.Consumers)),
			factCount("demand_followers", float64(b.Demand.Followers)))
	}
	if c.demand.high >= 0 {
		out = append(out, factCount("connections", float64(c.demand.high)))
	}
	if c.shareKnown {
		out = append(out, factPercent("full_fetch_percent", c.share))
	}
	if p, ok := b.now(SignalCachedPartitions); ok && c.sessions > 0 {
		out = append(out, factCount("partitions_per_session", float64(int(p/c.sessions+0.5))))
	}
	rate, known, words := b.newConnections()
	out = append(out, factText("new_connections", words))
	if known {
		out = append(out, Fact{Name: "new_connections_per_second", Unit: UnitCount, Number: rate})
	}
	if g := b.Demand.ByGroup; len(g) > 0 {
		out = append(out, factText("biggest_group", g[0].Group), factCount("biggest_group_members", float64(g[0].Members)))
	}
	return out
}

// newConnections is how many client connections were opened in a second of the
// window, rounded up to hundredths so that a sum shown with it is the sum that is
// done. It bounds the arrivals of short-lived clients from above: each makes at
// least one connection, and so do producers, probes and clients that reconnect.
// After a restart everybody connects again, which says nothing about arrivals.
func (b *brokerFacts) newConnections() (perSecond float64, known bool, words string) {
	made, from := b.counter(SignalConnectionsMade), b.f.cacheFrom()
	switch {
	case b.f.anyRestart():
		return 0, false, "a broker started not long ago, and everybody connects again"
	case !made.known:
		return 0, false, "new connections are not exported"
	case !made.covers(from):
		return 0, false, "new connections were not seen for the whole " + span(b.f.cacheWindow())
	}
	n := made.increase(from, b.f.at())
	perSecond = math.Ceil(100*n/b.f.cacheWindow().Seconds()-1e-9) / 100
	return perSecond, true, plural(n, "connection", "connections") + " opened in " + span(b.f.cacheWindow())
}

// routingSigns lists what points to a routing fault: one address spread over
// several brokers.
func (b *brokerFacts) routingSigns() []string {
	var out []string
	from, to := b.f.cacheFrom(), b.f.at()
	if n := b.counter(SignalRebootstrap).increase(from, to); n > 0 {
		out = append(out, rebootstrapped(n))
	}
	if n := b.counter(SignalErrors106).increase(from, to); n > 0 && !b.f.anyRestart() {
		// While brokers restart, 106 is the noise of an upgrade.
		out = append(out, plural(n, "topic id error", "topic id errors")+" (106)")
	}
	for _, s := range []Signal{SignalNotLeaderFetch, SignalNotLeaderList} {
		if steps, on := b.notLeader(s); on {
			out = append(out, plural(total(steps), "NOT_LEADER error", "NOT_LEADER errors")+" while leaders were constant")
		}
	}
	return out
}

// routingSignals are the counters that show a routing fault.
func routingSignals() []Signal {
	return []Signal{SignalRebootstrap, SignalErrors106, SignalNotLeaderFetch, SignalNotLeaderList}
}

// unseen lists the counters among these that are not visible.
func (b *brokerFacts) unseen(signals ...Signal) []string {
	var out []string
	for _, s := range signals {
		if !b.counter(s).known {
			out = append(out, string(s))
		}
	}
	return out
}

// sustainedPeriods is the number of 120 s periods with errors that makes them
// sustained: an election gives one, at most two.
const sustainedPeriods = 3

// spread counts the 120 s periods, from the first step on, that have steps.
func (b *brokerFacts) spread(steps []step) int {
	return len(b.periods(steps))
}

// periods sums steps by 120 s period from the first step on, without the empty ones.
func (b *brokerFacts) periods(steps []step) map[time.Duration]float64 {
	out := map[time.Duration]float64{}
	for _, s := range steps {
		out[s.at.Sub(steps[0].at)/b.f.wave()] += s.n
	}
	return out
}

const (
	// stormLasts is how long NOT_LEADER errors must go on after the number of
	// leaders last changed, at least, and stormRate how many a second there must be,
	// to be no election: a client that gets one asks for the new leader at once.
	stormLasts = 30 * time.Second
	stormRate  = 1
)

// notLeader are the NOT_LEADER errors since the number of leaders last changed; on
// says that they go on, in three 120 s periods or as a storm: clients ask again and
// again for what this broker does not lead.
func (b *brokerFacts) notLeader(s Signal) (steps []step, on bool) {
	since := b.leadersMoved()
	for _, x := range b.counter(s).within(b.f.cacheFrom(), b.f.at()) {
		if !x.from.Before(since) {
			steps = append(steps, x)
		}
	}
	if len(steps) == 0 {
		return nil, false
	}
	// Surely so long: the first may have come at the end of its step, the last at
	// the begin.
	lasted := steps[len(steps)-1].from.Sub(steps[0].at)
	storm := lasted >= stormLasts && total(steps) >= stormRate*lasted.Seconds()
	return steps, storm || b.spread(steps) >= sustainedPeriods
}

// leadersMoved is the scrape of the window that showed a change in the number of
// leaders last; zero when none did. It only raises doubt, so that an unknown number
// counts as constant.
func (b *brokerFacts) leadersMoved() time.Time {
	var moved time.Time
	for i, ch := 1, b.gauge(SignalLeaders); i < len(ch); i++ {
		if ch[i].V != ch[i-1].V && !ch[i].T.Before(b.f.cacheFrom()) {
			moved = ch[i].T
		}
	}
	return moved
}

// anyRestart says that some broker's process started in the cache window or
// shortly before: within the grace of a restart.
func (f *facts) anyRestart() bool {
	for _, b := range f.br {
		if age, ok := b.age(); ok && age <= f.grace()+f.cacheWindow() {
			return true
		}
	}
	return false
}
