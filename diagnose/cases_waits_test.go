package diagnose

import "time"

// justStarted is evidence of a bot that was started after the fact: no watcher, one
// look at the group.
func justStarted(e *Evidence) {
	noWatcher(e)
	g := &e.Groups[0]
	last := g.Snapshots[len(g.Snapshots)-1]
	last.At, last.Until = t0, t0
	g.Snapshots = []GroupSnapshot{last}
}

// lastPolls adds last-poll-seconds-ago of alice, who polled last at a moment and
// next at another; scrapes in a hole are missing.
func lastPolls(e *Evidence, last, next time.Time, hole span2) {
	m := Metric{Reading: ok("prometheus: last_poll_seconds_ago"), Series: []Series{{}}}
	for t := ago(12 * time.Minute); !t.After(t0); t = t.Add(15 * time.Second) {
		v := 0.0
		if t.After(last) && t.Before(next) {
			v = t.Sub(last).Seconds()
		}
		if t.Before(hole.from) || !t.Before(hole.to) {
			m.Series[0].Samples = append(m.Series[0].Samples, Sample{T: t, V: v})
		}
	}
	e.ClientsReading = ok("prometheus: client metrics")
	e.Clients = []Client{{ClientID: alice.client, Signals: map[Signal]Metric{SignalLastPoll: m}}}
}

// leaderStuck is a group whose leader did not hand out the assignment when carol
// joined: 45 s in CompletingRebalance, 300 s in PreparingRebalance.
func leaderStuck() tale {
	return tale{
		turns: []turn{
			settled(alice, bob),
			{stuck: ago(lasting(495)), start: ago(lasting(450)), at: ago(lasting(150)), members: []who{bob, carol}, listed: []string{alice.id}, generation: 6},
		},
		silent: map[string][]span2{alice.id: {{ago(lasting(497)), t0}}},
		events: map[Signal][]event{SignalHeartbeat27: waves(11, ago(lasting(440)), ago(lasting(300)))},
		stable: 11,
	}
}

func leaderCases() []synthCase {
	class, truth := "sick-leader", "the leader's assignor hung; its heartbeats went on"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, RebalanceTimeout, JoinSyncRace}
	return []synthCase{
		{class, "away", "45 s in CompletingRebalance, 300 s in PreparingRebalance with the leader listed", truth, SickLeader, Confirmed, not, told(leaderStuck())},
		{class, "back", "the same, and the leader joined again", truth, SickLeader, Confirmed, not, told(leaderStuck(), func(x *tale) {
			x.turns = append(x.turns, turn{start: ago(lasting(120)), at: ago(lasting(118)), members: []who{aliceAgain, bob, carol}, generation: 7})
		})},
		{class, "no-heartbeat-27", "REBALANCE_IN_PROGRESS was not counted", truth, SickLeader, Likely, not, told(leaderStuck(), func(x *tale) { x.events = nil })},
		{class, "records-only", "nobody looked: generation 4 to 6 with no new member, and nobody committed for 345 s, 45 and 300 one after the other", truth, SickLeader, Likely, not, told(leaderStuck(), func(x *tale) {
			x.turns[1].members, x.change = []who{bob}, justStarted
		})},
		{class, "near-records-carol", "the same, but carol joined meanwhile, which skips a generation too", "the leader's process was killed while carol joined; the survivor was slow", ProcessGone, Likely, []Class{SickLeader}, told(leaderStuck(), func(x *tale) { x.change = justStarted })},
		{class, "near-records-300s", "a generation is missing and the group stood still for 300 s only", "the leader's process was killed", ProcessGone, Likely, []Class{SickLeader}, told(leaderStuck(), func(x *tale) {
			x.turns[1].members, x.turns[1].stuck, x.change = []who{bob}, time.Time{}, justStarted
			x.silent = map[string][]span2{alice.id: {{ago(lasting(500)), t0}}}
		})},
		{class, "near-follower", "the member that held the group up did not lead it, and no sync was missing", "a revoke callback of a follower hung", RebalanceTimeout, Confirmed, []Class{SickLeader}, told(held(bob, alice))},
		{class, "near-leader-died", "the leader fell silent as a whole: 45 s in CompletingRebalance and then dropped", "the leader's process was killed in the middle of a rebalance", ProcessGone, Likely, []Class{SickLeader}, told(leaderStuck(), func(x *tale) {
			x.turns[1] = turn{stuck: ago(lasting(495)), start: ago(lasting(450)), at: ago(lasting(430)), members: []who{bob, carol}, generation: 6}
			x.events = nil
		})},
		{class, "near-slow-assignor", "10 s in CompletingRebalance, and it was the leader that did not rejoin", "a revoke callback of the leader hung", RebalanceTimeout, Confirmed, []Class{SickLeader}, told(leaderStuck(), func(x *tale) { x.turns[1].stuck = ago(lasting(460)) })},
	}
}

// held is a group that waited 300 s for one member to rejoin as carol joined.
func held(slow, other who) tale {
	return tale{
		turns: []turn{
			settled(alice, bob),
			{start: ago(lasting(450)), at: ago(lasting(150)), members: []who{other, carol}, listed: []string{slow.id}},
		},
		silent: map[string][]span2{slow.id: {{ago(lasting(452)), t0}}},
		stable: 11,
	}
}

func heldCases() []synthCase {
	class, truth := "rebalance-timeout", "a revoke callback blocked for six minutes"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, SickLeader, JoinSyncRace, ClientUnreachable}
	back := func(x *tale) {
		x.turns = append(x.turns, turn{start: ago(lasting(100)), at: ago(lasting(98)), members: []who{person("b", 2), alice, carol}})
		x.events = map[Signal][]event{SignalJoinGroup25: {{ago(lasting(101)), 1}}, SignalHeartbeat25: {{ago(lasting(101)), 1}}}
	}
	connect := func(x *tale) {
		x.session, x.poll = 10*time.Second, time.Minute
		x.turns[1].start = ago(lasting(210))
		x.silent = map[string][]span2{bob.id: {{ago(lasting(212)), t0}}}
	}
	sixty := func(x *tale) {
		connect(x)
		x.session = time.Minute
	}
	return []synthCase{
		{class, "away", "listed through 300 s of PreparingRebalance, then dropped", truth, RebalanceTimeout, Confirmed, not, told(held(bob, alice))},
		{class, "back", "the same, and it came back with its old id first", truth, RebalanceTimeout, Confirmed, not, told(held(bob, alice), back)},
		{class, "connect", "session 10 s, rebalance timeout 60 s, as Kafka Connect has them", "a connector blocked in its stop", RebalanceTimeout, Confirmed, not, told(held(bob, alice), connect)},
		{class, "records-only", "nobody looked: both worked until carol joined, and nobody committed for 300 s", truth, RebalanceTimeout, Likely, not[1:], told(held(alice, bob), func(x *tale) { x.change = justStarted })},
		{class, "records-and-beats", "nobody looked and nobody joined: heartbeats were told of a rebalance 10 s after its last commit, sooner than its session can have run out", truth, RebalanceTimeout, Likely, not[1:], told(held(alice, bob), func(x *tale) {
			x.turns[1].members, x.change = []who{bob}, justStarted
			x.events = map[Signal][]event{SignalHeartbeat27: {{ago(lasting(440)), 1}, {ago(lasting(425)), 1}, {ago(lasting(410)), 1}}}
		})},
		{class, "client-busy", "nobody looked, the partitions had no records, and its client was scraped all the time while it did not poll for 310 s", truth, RebalanceTimeout, Likely, not[1:], told(held(alice, bob), func(x *tale) {
			x.idle = map[string]bool{alice.id: true, bob.id: true}
			x.change = func(e *Evidence) {
				justStarted(e)
				lastPolls(e, ago(lasting(452)), ago(lasting(100)), span2{})
			}
		})},
		{class, "near-client-frozen", "the same, but its client was not scraped for 60 s", "the process stood still", SessionTimeout, Likely, []Class{RebalanceTimeout}, told(stalled(), func(x *tale) {
			x.change = func(e *Evidence) {
				lastPolls(e, ago(lasting(180)), ago(lasting(121)), span2{ago(lasting(180)), ago(lasting(121))})
			}
		})},
		{class, "near-records-late-beats", "as records-and-beats, but the first heartbeat was told of a rebalance when its session had run out", "the process was killed, and the survivor was slow", ProcessGone, Likely, []Class{RebalanceTimeout}, told(held(alice, bob), func(x *tale) {
			x.turns[1].members, x.change = []who{bob}, justStarted
			x.events = map[Signal][]event{SignalHeartbeat27: {{ago(lasting(405)), 1}, {ago(lasting(390)), 1}, {ago(lasting(375)), 1}}}
		})},
		{class, "near-records-255s", "nobody looked: the group stood still for 255 s only as carol joined", "the process was killed as carol joined, and the survivor was slow", ProcessGone, Likely, []Class{RebalanceTimeout}, told(held(alice, bob), func(x *tale) {
			x.turns[1].start, x.change = ago(lasting(405)), justStarted
			x.silent = map[string][]span2{alice.id: {{ago(lasting(407)), t0}}}
		})},
		{class, "near-leave", "the same silence, and a LeaveGroup request took it out", "one batch was too slow: it left by itself", PollInterval, Provisional, []Class{RebalanceTimeout}, told(held(bob, alice), func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(150)), 1}}}
		})},
		{class, "near-slow-survivor", "the group waited for somebody else: the victim was not listed in the rebalance", "the process stood still beside a slow survivor", SessionTimeout, Likely, []Class{RebalanceTimeout}, told(held(bob, alice), back, func(x *tale) {
			x.turns[1].listed = nil
			x.silent[bob.id] = []span2{{ago(lasting(494)), t0}}
			x.silent[alice.id] = []span2{{ago(lasting(455)), ago(lasting(150))}}
			x.events = map[Signal][]event{SignalHeartbeat25: {{ago(lasting(410)), 1}}}
		})},
		{class, "left-late", "as away, with a heartbeat of 15 s before it heard: the LeaveGroup request of a client that noticed its poll limit came with the drop", truth, RebalanceTimeout, Likely, not, told(held(bob, alice), func(x *tale) {
			x.silent = map[string][]span2{bob.id: {{ago(lasting(436)), t0}}}
			x.background = map[string]bool{bob.id: true}
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(150)), 1}}}
		})},
		{class, "commits-go-on", "listed all the time, and its commits went on: some clients commit while a callback blocks", truth, RebalanceTimeout, Confirmed, not, told(held(bob, alice), func(x *tale) {
			x.silent, x.background = nil, map[string]bool{bob.id: true}
		})},
		{class, "near-session-60s", "session timeout as long as the rebalance timeout, so that being listed proves nothing", "not visible which of the two ran out; the process did not return", ProcessGone, Likely, []Class{RebalanceTimeout}, told(held(bob, alice), sixty, func(x *tale) { x.events = nil })},
		{class, "near-counters-missing", "LeaveGroup requests are not exported, so it may have left at its poll limit", truth, PollInterval, Provisional, []Class{RebalanceTimeout}, told(held(bob, alice), onEvidence(noBrokerMetrics))},
	}
}
