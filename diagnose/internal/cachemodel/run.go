package cachemodel

import "math/rand/v2"

// Clients is a population of consumers that live through the run, as Java
// clients behave: a full fetch until there is a session, then incremental ones;
// after error 70 a full fetch again.
type Clients struct {
	Count      int `json:"count"`
	Partitions int `json:"partitions"`
	// Vary is by how many partitions a fetch may fall short: clients before 4.0
	// leave partitions with buffered data out.
	Vary    int `json:"vary,omitempty"`
	EveryMS int `json:"every_ms"`
	// BornS and BornOverS are when the first one starts, and over how many
	// seconds the others follow.
	BornS     int `json:"born_s,omitempty"`
	BornOverS int `json:"born_over_s,omitempty"`
	// DuplicatesPPM is how many of a million fetches arrive twice: the second
	// one gets INVALID_FETCH_SESSION_EPOCH, and the client opens a new session in
	// the place of its old one.
	DuplicatesPPM int `json:"duplicates_ppm,omitempty"`
}

// Visitors are clients that come, fetch a few times and go without closing
// their session; with one fetch each they are a client that leaks.
type Visitors struct {
	PerMinute  float64 `json:"per_minute"`
	Partitions int     `json:"partitions"`
	Fetches    int     `json:"fetches"`
	FromS      int     `json:"from_s,omitempty"`
}

// Followers are replica fetchers that lose their sessions and come back at
// given seconds.
type Followers struct {
	Threads    int   `json:"threads"`
	Partitions int   `json:"partitions"`
	BackAtS    []int `json:"back_at_s,omitempty"`
}

// Restart empties the cache. Clients stay away until leadership is back. After a
// kill each had a fetch in flight, which ends in a full one.
type Restart struct {
	AtS    int  `json:"at_s"`
	BackS  int  `json:"back_s"`
	Killed bool `json:"killed,omitempty"`
}

// Scenario is what happens to one broker, or to several behind one address.
type Scenario struct {
	Slots     int        `json:"slots"`
	Shards    int        `json:"shards"`
	Seconds   int        `json:"seconds"`
	Clients   []Clients  `json:"clients,omitempty"`
	Visitors  []Visitors `json:"visitors,omitempty"`
	Followers Followers  `json:"followers,omitzero"`
	// Dead sessions are in the cache from the start and nobody uses them.
	Dead    int      `json:"dead,omitempty"`
	Restart *Restart `json:"restart,omitempty"`
	// Brokers above 1 share one address; a balancer gives each in turn a request.
	Brokers int `json:"brokers,omitempty"`
}

// Second is a broker's counters at the end of a second. They start again at a
// restart.
type Second struct {
	Sessions, Partitions, Evictions, Errors70, Errors71, Fetches, FullFetches, Refused int
}

// Trace is a broker's run.
type Trace []Second

// At is the state at a second; before the start it is empty, after the end the
// last one.
func (t Trace) At(second int) Second {
	switch {
	case second < 0 || len(t) == 0:
		return Second{}
	case second >= len(t):
		return t[len(t)-1]
	}
	return t[second]
}

// actor is whoever sends fetches.
type actor struct {
	Clients
	id         int64
	privileged bool
	// left is how many fetches a visitor still makes; -1 = no end.
	left int
	// untilMS is when a follower reconnects and leaves this session; 0 = never.
	untilMS int64
	turn    int
}

// world is a run under way.
type world struct {
	Scenario
	random *rand.Rand
	caches []*Cache
	sums   []Second
	wheel  [][]*actor
	live   []*actor
}

// stepMS is the resolution of the clock.
const stepMS = 100

// Run plays a scenario and returns one trace a broker.
func Run(s Scenario, seed uint64) []Trace {
	s.Brokers = max(1, s.Brokers)
	w := &world{Scenario: s, random: rand.New(rand.NewPCG(seed, 227)), sums: make([]Second, s.Brokers), wheel: make([][]*actor, s.Seconds*1000/stepMS+1)}
	for range s.Brokers {
		w.caches = append(w.caches, New(s.Slots, s.Shards, w.random))
	}
	w.populate()
	traces := make([]Trace, s.Brokers)
	for step := range s.Seconds * 1000 / stepMS {
		now := int64(step) * stepMS
		w.events(now)
		for _, a := range w.wheel[step] {
			w.fetch(now, a)
		}
		w.wheel[step] = nil
		if (now+stepMS)%1000 == 0 {
			for i := range traces {
				traces[i] = append(traces[i], w.second(i))
			}
		}
	}
	return traces
}

func (w *world) second(i int) Second {
	s := w.sums[i]
	s.Sessions, s.Partitions, s.Evictions = w.caches[i].Sessions(), w.caches[i].Partitions(), w.caches[i].Evictions()
	return s
}

func (w *world) at(ms int64, a *actor) {
	if i := int(ms / stepMS); i < len(w.wheel) {
		w.wheel[i] = append(w.wheel[i], a)
	}
}

// populate puts everybody's first fetch on the clock.
func (w *world) populate() {
	for range w.Dead {
		w.caches[0].Full(-2*staleMS, 20, false)
	}
	for _, p := range w.Clients {
		for i := range p.Count {
			a := &actor{Clients: p, left: -1}
			w.live = append(w.live, a)
			born := int64(p.BornS)*1000 + int64(p.BornOverS)*1000*int64(i)/int64(max(1, p.Count))
			w.at(born+w.random.Int64N(int64(p.EveryMS)), a)
		}
	}
	for _, v := range w.Visitors {
		gap := 60_000 / v.PerMinute
		for ms := float64(v.FromS) * 1000; ms < float64(w.Seconds)*1000; ms += float64(gap * (0.5 + w.random.Float64())) { // the conversion forbids fused operations, which differ by machine
			w.at(int64(ms), &actor{Clients: Clients{Partitions: v.Partitions, EveryMS: 1100}, left: v.Fetches})
		}
	}
	w.followers(0)
}

// followers come with fresh sessions and leave their old ones behind.
func (w *world) followers(ms int64) {
	for range w.Followers.Threads {
		w.at(ms+w.random.Int64N(500), &actor{
			Clients: Clients{Partitions: max(1, w.Followers.Partitions), EveryMS: 500}, privileged: true, left: -1, untilMS: w.nextReturn(ms),
		})
	}
}

// nextReturn is when followers that came at a moment reconnect; 0 = never.
func (w *world) nextReturn(ms int64) int64 {
	for _, s := range w.Followers.BackAtS {
		if next := int64(s) * 1000; next > ms {
			return next
		}
	}
	return 0
}

func (w *world) events(now int64) {
	if now%1000 != 0 {
		return
	}
	for _, s := range w.Followers.BackAtS {
		if int64(s)*1000 == now {
			w.followers(now)
		}
	}
	if r := w.Restart; r != nil && int64(r.AtS)*1000 == now {
		w.caches[0].Clear()
		w.sums[0] = Second{}
		for _, a := range w.live {
			if r.Killed {
				a.id = 0
			}
		}
		w.followers(now + 5000)
	}
}

// fetch is one request of an actor, and puts the next one on the clock.
func (w *world) fetch(now int64, a *actor) {
	if r := w.Restart; r != nil && !a.privileged && now >= int64(r.AtS)*1000 && now < int64(r.BackS)*1000 {
		w.at(int64(r.BackS)*1000+w.random.Int64N(1000), a)
		return
	}
	if a.left == 0 || a.untilMS > 0 && now >= a.untilMS {
		return
	}
	if a.left > 0 {
		a.left--
	}
	broker := 0
	if len(w.caches) > 1 {
		a.turn++
		broker = a.turn % len(w.caches)
	}
	w.request(now, broker, a)
	jitter := int64(a.EveryMS / 10)
	w.at(now+int64(a.EveryMS)-jitter/2+w.random.Int64N(jitter+1), a)
}

func (w *world) request(now int64, broker int, a *actor) {
	c, sum := w.caches[broker], &w.sums[broker]
	if !a.privileged {
		sum.Fetches++
	}
	size := a.Partitions
	if a.Vary > 0 {
		size -= w.random.IntN(a.Vary + 1)
	}
	if a.id != 0 {
		if !c.Incremental(now, a.id, size) {
			sum.Errors70++
			a.id = 0
		} else if a.DuplicatesPPM > 0 && w.random.IntN(1_000_000) < a.DuplicatesPPM {
			sum.Errors71++
			c.Close(a.id)
			a.id = c.Full(now, size, a.privileged)
		}
		return
	}
	if !a.privileged {
		sum.FullFetches++
	}
	if a.id = c.Full(now, size, a.privileged); a.id == 0 {
		sum.Refused++
	}
}
