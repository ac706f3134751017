package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// tale tells what happened to a group; evidence works out what the sources show
// of it. Times are before t0. Default timeouts, commits every 5 s.
type tale struct {
	session, poll time.Duration
	turns         []turn
	// silent are spans in which a member commits nothing, by member id.
	silent map[string][]span2
	// background are members that go on to commit in a join phase.
	background map[string]bool
	// idle are members whose partitions have no records.
	idle map[string]bool
	// events are what the coordinator, broker 2, counted.
	events map[Signal][]event
	// polls is time-between-poll-max by client id; nil = no client metrics.
	polls map[string]func(t time.Time) float64
	every time.Duration // scrape interval, 0 = 15 s
	// strangers are the watcher's losses in groups that are not in the evidence.
	strangers []Loss
	// stable is the number of the coordinator's groups that kept their members.
	stable int
	lag    []LagPoint
	// gaps are spans in which the coordinator was not scraped; started is when
	// its present process began, zero = three days ago.
	gaps    [][2]time.Time
	started time.Time
	change  func(e *Evidence)
}

// turn is the membership that a rebalance left behind: it began at start, and
// its join phase ended at at.
type turn struct {
	start, at time.Time
	// stuck is when a rebalance before this one waited for its leader to sync,
	// up to start; zero = there was none.
	stuck      time.Time
	generation int32
	members    []who
	// listed are lost members that were listed until the end of the join phase.
	listed []string
}

type who struct{ id, client, host, instance string }

type span2 struct{ from, to time.Time }

// member is a member named by a letter; n tells its lives apart.
func person(letter string, n int) who {
	return who{id: fmt.Sprintf("orders-%s-%d", letter, n), client: "orders-" + letter, host: "/10.2.7." + string('3'+rune(letter[0]-'a')) + "1"}
}

const orderPartitions = 6

func (x tale) defaults() tale {
	x.session = cmp.Or(x.session, 45*time.Second)
	x.poll = cmp.Or(x.poll, 300*time.Second)
	x.every = cmp.Or(x.every, 15*time.Second)
	return x
}

// assign gives the partitions in ranges, as the range assignor does.
func assign(members []who) map[string][]TopicPartition {
	ms := slices.Clone(members)
	slices.SortFunc(ms, func(a, b who) int { return cmp.Compare(a.id, b.id) })
	out := map[string][]TopicPartition{}
	for p := range orderPartitions {
		if len(ms) > 0 {
			m := ms[p*len(ms)/orderPartitions]
			out[m.id] = append(out[m.id], TopicPartition{"orders", int32(p)})
		}
	}
	return out
}

func (x tale) evidence() Evidence {
	x = x.defaults()
	w := world(stable(1), x.coordinatorSpec(), stable(3))
	w.target, w.every = nil, x.every
	e := w.evidence()
	for i := range e.Brokers {
		for sig := range e.Brokers[i].Signals {
			if fetchSignal(sig) {
				delete(e.Brokers[i].Signals, sig)
			}
		}
	}
	g := Group{
		Reading: ok("kafka: DescribeGroups"), ID: "orders", Protocol: "classic", ProtocolType: "consumer", Coordinator: 2,
		LagReading: Reading{Status: StatusSkipped},
	}
	if x.lag != nil {
		g.LagReading, g.Lag = ok("kafka: ListOffsets, OffsetFetch"), x.lag
	}
	g.Snapshots = x.snapshots()
	g.History = x.history()
	e.Target = Target{Cluster: "kafka-prod", Group: "orders"}
	e.Groups = []Group{g}
	x.watcher(&e, g)
	x.clients(&e)
	if x.change != nil {
		x.change(&e)
	}
	return e
}

func fetchSignal(s Signal) bool {
	switch s {
	case SignalProcessStart, SignalErrorsAny, SignalLeaveRequests, SignalJoinRequests, SignalHeartbeat25, SignalOffsetCommit25,
		SignalGroupBeat25, SignalSyncGroup25, SignalJoinGroup25, SignalHeartbeat27, SignalBeatFenced, SignalCommitFenced, SignalUnreleased, SignalCommit22, SignalCommit69, SignalGroupBeat69:
		return false
	default:
		return true
	}
}

func (x tale) coordinatorSpec() brokerSpec {
	b := stable(2)
	if !x.started.IsZero() {
		b = restarted(2, x.started, x.started.Add(10*time.Second))
	}
	b.events, b.gaps = x.events, x.gaps
	return b
}

func (x tale) history() GroupHistory {
	h := GroupHistory{Reading: ok("kafka: __consumer_offsets-12"), OffsetsPartition: 12, From: x.turns[0].at, Baseline: x.turns[0].at.Before(ago(10 * time.Minute))}
	for i, t := range x.turns {
		r := GroupRecord{At: t.at.Add(20 * time.Millisecond), StateAt: t.at, Generation: cmp.Or(t.generation, int32(i+4)), Assignor: "range"}
		own := assign(t.members)
		for _, m := range t.members {
			r.Members = append(r.Members, RecordMember{ID: m.id, ClientID: m.client, Host: m.host, InstanceID: m.instance,
				SessionTimeoutMS: int32(x.session.Milliseconds()), RebalanceTimeoutMS: int32(x.poll.Milliseconds()), Partitions: own[m.id]})
		}
		if len(t.members) > 0 {
			r.Leader = t.members[0].id
		}
		h.Records = append(h.Records, r)
	}
	h.Commits = x.commits()
	return h
}

// commits: every 5 s, each member commits its partitions, 50 records further.
func (x tale) commits() []Commit {
	var out []Commit
	offset := [orderPartitions]int64{}
	from := ago(16 * time.Minute)
	for t := from; t.Before(t0); t = t.Add(5 * time.Second) {
		cur, ok := x.turnAt(t)
		if cur.members == nil {
			continue
		}
		own := assign(cur.members)
		for _, m := range cur.members {
			if x.idle[m.id] || !ok && !x.background[m.id] || quietAt(x.silent[m.id], t) {
				continue
			}
			for _, p := range own[m.id] {
				offset[p.Partition] += 50
				out = append(out, Commit{At: t, TopicPartition: p, Offset: 1000 + offset[p.Partition]})
			}
		}
	}
	return out
}

func quietAt(spans []span2, t time.Time) bool {
	return slices.ContainsFunc(spans, func(s span2) bool { return !t.Before(s.from) && t.Before(s.to) })
}

// turnAt is the membership at a moment; it commits, but for a join phase.
func (x tale) turnAt(t time.Time) (turn, bool) {
	cur := -1
	for i, v := range x.turns {
		if !v.at.After(t) {
			cur = i
		}
	}
	if cur < 0 {
		return turn{}, false
	}
	if cur+1 < len(x.turns) && !x.turns[cur+1].begins().After(t) {
		return x.turns[cur], false
	}
	return x.turns[cur], true
}

// begins is when the members stopped for this rebalance.
func (t turn) begins() time.Time {
	if t.stuck.IsZero() {
		return t.start
	}
	return t.stuck
}

// snapshots are taken every 10 s, as the watcher's ring has them.
func (x tale) snapshots() []GroupSnapshot {
	var out []GroupSnapshot
	for t := ago(15 * time.Minute); !t.After(t0); t = t.Add(10 * time.Second) {
		s := x.look(t)
		if n := len(out); n > 0 && sameSnapshot(out[n-1], s) {
			out[n-1].Until = t
			continue
		}
		s.At, s.Until = t, t
		out = append(out, s)
	}
	return out
}

func (x tale) look(t time.Time) GroupSnapshot {
	state, cur := "Stable", x.turns[0]
	var listed []who
	for i, v := range x.turns {
		switch {
		case !v.at.After(t):
			cur, listed = v, v.members
		case i > 0 && !v.begins().After(t):
			state, listed = "PreparingRebalance", nil
			if v.start.After(t) {
				state = "CompletingRebalance"
			}
			for _, m := range cur.members {
				if slices.Contains(v.members, m) || slices.Contains(v.listed, m.id) || state == "CompletingRebalance" {
					listed = append(listed, m)
				}
			}
			for _, m := range v.members {
				if !slices.Contains(cur.members, m) {
					listed = append(listed, m)
				}
			}
		}
	}
	if len(listed) == 0 && state == "Stable" {
		state = "Empty"
	}
	own := assign(listed)
	s := GroupSnapshot{State: state, Epoch: -1}
	for _, m := range listed {
		s.Members = append(s.Members, Member{ID: m.id, ClientID: m.client, Host: m.host, InstanceID: m.instance, Epoch: -1, Partitions: own[m.id]})
	}
	slices.SortFunc(s.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

func sameSnapshot(a, b GroupSnapshot) bool {
	return a.State == b.State && slices.EqualFunc(a.Members, b.Members, func(x, y Member) bool { return x.ID == y.ID })
}

func (x tale) watcher(e *Evidence, g Group) {
	w := Watcher{Reading: ok("watcher"), Since: ago(time.Hour), Losses: x.strangers}
	for i := 1; i < len(g.Snapshots); i++ {
		a, b := g.Snapshots[i-1], g.Snapshots[i]
		for _, m := range a.Members {
			if !slices.ContainsFunc(b.Members, func(n Member) bool { return n.ID == m.ID }) {
				w.Losses = append(w.Losses, Loss{Group: g.ID, Coordinator: g.Coordinator, MemberID: m.ID, ClientID: m.ClientID, Host: m.Host, After: a.Until, By: b.At})
			}
		}
	}
	groups := map[string]bool{}
	for _, l := range w.Losses {
		groups[l.Group] = true
	}
	w.StableGroups = []CoordinatorGroups{{Broker: 2, Stable: x.stable, Hurt: len(groups)}}
	e.Watcher = w
}

func (x tale) clients(e *Evidence) {
	if x.polls == nil {
		e.ClientsReading = Reading{Status: StatusNotExported, AsOf: t0, Source: "prometheus: client metrics", Hint: "run the JMX exporter on the consumers"}
		return
	}
	e.ClientsReading = ok("prometheus: client metrics")
	for id, poll := range x.polls {
		m := Metric{Reading: ok("prometheus: time_between_poll_max"), Series: []Series{{}}}
		for t := ago(12 * time.Minute); !t.After(t0); t = t.Add(x.every) {
			if v := poll(t); v >= 0 {
				m.Series[0].Samples = append(m.Series[0].Samples, Sample{T: t, V: v})
			}
		}
		e.Clients = append(e.Clients, Client{ClientID: id, Signals: map[Signal]Metric{SignalPollMax: m}})
	}
	slices.SortFunc(e.Clients, func(a, b Client) int { return cmp.Compare(a.ClientID, b.ClientID) })
}
