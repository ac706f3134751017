package diagnose

import "time"

func membershipCases() []synthCase {
	var out []synthCase
	for _, cs := range [][]synthCase{sessionCases(), goneCases(), pollCases(), joinCases(), deployCases(), doubtCases(), causeCases()} {
		out = append(out, cs...)
	}
	return out
}

var (
	alice, bob, carol = person("a", 1), person("b", 1), person("c", 1)
	aliceAgain        = person("a", 2)
)

func lasting(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// settled is the group as it has been for three hours.
func settled(members ...who) turn {
	return turn{start: ago(3 * time.Hour), at: ago(3 * time.Hour), members: members}
}

// stalled is a member that froze 180 s ago, was dropped 45 s later, and came
// back another 15 s later.
func stalled() tale {
	return tale{
		turns: []turn{
			settled(alice, bob),
			{start: ago(lasting(135)), at: ago(lasting(133)), members: []who{bob}},
			{start: ago(lasting(120)), at: ago(lasting(118)), members: []who{aliceAgain, bob}},
		},
		silent: map[string][]span2{alice.id: {{ago(lasting(179)), t0}}},
		events: map[Signal][]event{SignalHeartbeat25: {{ago(lasting(121)), 1}}, SignalOffsetCommit25: {{ago(lasting(121)), 3}}},
		stable: 11,
	}
}

// frozenPolls is time-between-poll-max of a client that stood still.
func frozenPolls(from, to time.Time) map[string]func(time.Time) float64 {
	return map[string]func(time.Time) float64{
		alice.client: func(t time.Time) float64 {
			switch {
			case t.After(from) && t.Before(to):
				return -1 // not scraped
			case !t.Before(to) && t.Sub(to) <= time.Minute:
				return float64(to.Sub(from).Milliseconds())
			default:
				return 600
			}
		},
		bob.client: func(time.Time) float64 { return 700 },
	}
}

func sessionCases() []synthCase {
	class, truth := "session-timeout", "the process stood still for 60 s"
	not := []Class{PollInterval, ProcessGone, RollingDeploy, JoinSyncRace}
	with := func(change func(x *tale)) Evidence { x := stalled(); change(&x); return x.evidence() }
	return []synthCase{
		{class, "default-timeouts", "session 45 s, poll 300 s, dropped 47 s after the last commit; no client metrics", truth, SessionTimeout, Likely, not, stalled().evidence()},
		{class, "client-stood-still", "time-between-poll-max 58 s, no scrape meanwhile", truth, SessionTimeout, Confirmed, not, with(func(x *tale) { x.polls = frozenPolls(ago(lasting(179)), ago(lasting(121))) })},
		{class, "no-broker-metrics", "error and request counters are not exported", truth, SessionTimeout, Likely, not, with(func(x *tale) { x.change = noBrokerMetrics })},
		{class, "no-watcher", "the watcher was not running; the offsets topic has the baseline", truth, SessionTimeout, Likely, not, with(func(x *tale) { x.change = noWatcher })},
		{class, "forbidden-offsets", "no READ on __consumer_offsets: admin API, watcher and metrics only", truth, SessionTimeout, Likely, not, with(func(x *tale) { x.change = noOffsets })},
		{class, "near-29s", "dropped 29 s after the last commit, one second below 2/3 of the session timeout", "the member left", RollingDeploy, Likely, []Class{SessionTimeout}, with(func(x *tale) {
			x.turns[1].start, x.turns[1].at = ago(lasting(152)), ago(lasting(151))
			x.events, x.change = nil, noBrokerMetrics
		})},
		{class, "not-scraped-since", "the coordinator was last scraped before it came back, so nobody could see whether it called with its old id", truth, SessionTimeout, Likely, not, with(func(x *tale) {
			x.events, x.gaps = nil, [][2]time.Time{{ago(lasting(124)), t0.Add(time.Second)}}
		})},
		{class, "near-left", "as silent as a session timeout, but a LeaveGroup request took it out", "the process finished its work for 45 s and closed", RollingDeploy, Likely, []Class{SessionTimeout}, with(func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(135)), 1}}}
		})},
	}
}

func goneCases() []synthCase {
	class, truth := "process-gone", "the process was killed"
	gone := func(change func(x *tale)) Evidence {
		x := stalled()
		x.turns, x.events = x.turns[:2], nil
		change(&x)
		return x.evidence()
	}
	not := []Class{SessionTimeout, PollInterval, RollingDeploy, JoinSyncRace}
	return []synthCase{
		{class, "away", "away for 133 s with a session timeout of 45 s; nobody called with its id", truth, ProcessGone, Likely, not, gone(func(*tale) {})},
		{class, "restarted", "a new process of the same client id came 15 s after the drop; nobody called with the old id", truth + " and started again", ProcessGone, Likely, not, gone(func(x *tale) {
			x.turns = stalled().turns
		})},
		{class, "near-called", "as away, but one heartbeat with the old id was refused", "the process lives", SessionTimeout, Provisional, []Class{ProcessGone}, gone(func(x *tale) {
			x.events = map[Signal][]event{SignalHeartbeat25: {{ago(lasting(60)), 1}}}
		})},
		{class, "near-88s", "away for 88 s, two seconds below twice the session timeout", truth, SessionTimeout, Provisional, []Class{ProcessGone}, gone(func(x *tale) {
			x.silent = map[string][]span2{alice.id: {{ago(lasting(134)), t0}}}
			x.turns[1].start, x.turns[1].at = ago(lasting(90)), ago(lasting(88))
		})},
	}
}

// overslept is a member that took 320 s over one batch: it left after 300 s.
func overslept() tale {
	return tale{
		turns: []turn{
			settled(alice, bob),
			{start: ago(lasting(120)), at: ago(lasting(117)), members: []who{bob}},
			{start: ago(lasting(100)), at: ago(lasting(98)), members: []who{aliceAgain, bob}},
		},
		silent: map[string][]span2{alice.id: {{ago(lasting(419)), t0}}},
		events: map[Signal][]event{SignalLeaveRequests: {{ago(lasting(120)), 1}}},
		stable: 11,
	}
}

func pollCases() []synthCase {
	class, truth := "poll-interval", "one batch took 320 s, the limit is 300 s"
	with := func(change func(x *tale)) Evidence { x := overslept(); change(&x); return x.evidence() }
	not := []Class{SessionTimeout, ProcessGone, RollingDeploy, JoinSyncRace}
	// slowSurvivor: a session timeout whose record comes 310 s after the last
	// commit, since the other member rejoined only then.
	slowSurvivor := func(x *tale) {
		x.turns[1].start, x.turns[1].at = ago(lasting(374)), ago(lasting(110))
		x.silent[bob.id] = []span2{{ago(lasting(419)), ago(lasting(110))}}
		x.events = map[Signal][]event{SignalHeartbeat25: {{ago(lasting(350)), 1}}}
	}
	return []synthCase{
		{class, "default-timeouts", "session 45 s, poll 300 s; LeaveGroup, 303 s of silence, back after 20 s", truth, PollInterval, Confirmed, not, overslept().evidence()},
		{class, "away", "still busy", truth, PollInterval, Provisional, not, with(func(x *tale) { x.turns = x.turns[:2] })},
		{class, "no-broker-metrics", "error and request counters are not exported: its heartbeats went on far past the session timeout", truth, PollInterval, Likely, not, with(func(x *tale) { x.change = noBrokerMetrics })},
		{class, "first-batch", "a new member took 300 s over its first batch and left without a commit", "the first batch was too slow", PollInterval, Likely, not, with(func(x *tale) {
			x.turns = []turn{settled(bob), {start: ago(lasting(421)), at: ago(lasting(420)), members: []who{alice, bob}}, x.turns[1], x.turns[2]}
			x.silent[alice.id] = []span2{{ago(lasting(430)), t0}}
		})},
		{class, "sixty-seconds", "rebalance timeout 60 s, which is also what franz-go, Sarama and Connect use", "one batch took 80 s, the limit is 60 s", PollInterval, Likely, not, with(func(x *tale) {
			x.poll = time.Minute
			x.silent[alice.id] = []span2{{ago(lasting(179)), t0}}
		})},
		{class, "near-299s", "dropped 299 s after the last commit, one second below the limit", "the process was closed after 299 s of work", RollingDeploy, Likely, []Class{PollInterval}, with(func(x *tale) {
			x.turns[1].start, x.turns[1].at = ago(lasting(123)), ago(lasting(121))
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(123)), 1}}}
		})},
		{class, "near-slow-survivor", "a session timeout beside a slow survivor: the record comes 310 s after the last commit", "the process stood still for 60 s", SessionTimeout, Likely, []Class{PollInterval}, with(slowSurvivor)},
		{class, "near-kgo", "the same, by a client that has no poll limit", "a franz-go client was closed while it was busy", RollingDeploy, Provisional, []Class{PollInterval}, with(func(x *tale) {
			kgo := alice
			kgo.client = "kgo"
			x.turns = []turn{settled(kgo, bob), {start: ago(lasting(120)), at: ago(lasting(117)), members: []who{bob}}}
		})},
		{class, "near-two-sick-groups", "another group of the coordinator lost a member at the same time, the survivor was slow, and the watcher had just been started: neither LeaveGroup nor error 25 can be attributed", "the process stood still for 60 s", Undecided, Open, []Class{PollInterval}, with(func(x *tale) {
			slowSurvivor(x)
			x.events[SignalLeaveRequests] = []event{{ago(lasting(300)), 1}}
			x.change = func(e *Evidence) {
				e.Watcher.Since, e.Watcher.Losses = ago(lasting(310)), x.strangers
				g := &e.Groups[0]
				g.Snapshots = g.Snapshots[len(g.Snapshots)-1:]
				g.Snapshots[0].At = g.Snapshots[0].Until
			}
			x.strangers = []Loss{{Group: "billing", Coordinator: 2, MemberID: "billing-1", ClientID: "billing", Host: "/10.2.7.77", After: ago(lasting(300)), By: ago(lasting(290))}}
		})},
		{class, "near-idle", "its partitions had no records, so there are no commits to measure by", "the process was closed", Undecided, Open, []Class{PollInterval}, with(func(x *tale) { x.idle = map[string]bool{alice.id: true} })},
	}
}

func joinCases() []synthCase {
	class, truth := "join-sync-race", "a client joined, heartbeated and never synced"
	tell := func(drop time.Time, change func(x *tale)) Evidence {
		x := tale{
			turns: []turn{
				settled(alice, bob),
				{start: ago(lasting(421)), at: ago(lasting(420)), members: []who{alice, bob, carol}},
				{start: drop, at: drop.Add(100 * time.Millisecond), members: []who{alice, bob}},
			},
			silent: map[string][]span2{carol.id: {{ago(time.Hour), t0}}},
			events: map[Signal][]event{SignalHeartbeat25: {{ago(lasting(115)), 2}}, SignalSyncGroup25: {{ago(lasting(100)), 1}}},
			stable: 11,
		}
		change(&x)
		return x.evidence()
	}
	exact := ago(lasting(120))
	not := []Class{SessionTimeout, ProcessGone, PollInterval, RollingDeploy}
	return []synthCase{
		{class, "default-timeouts", "dropped 300 s after joining, poll limit 300 s; SyncGroup refused afterwards", truth, JoinSyncRace, Confirmed, not, tell(exact, func(*tale) {})},
		{class, "heartbeat-only", "the refused SyncGroup was not seen", truth, JoinSyncRace, Likely, not, tell(exact, func(x *tale) { delete(x.events, SignalSyncGroup25) })},
		{class, "near-committed", "it had committed once", "the process stood still after its first batch", SessionTimeout, Likely, []Class{JoinSyncRace}, tell(exact, func(x *tale) {
			x.silent[carol.id] = []span2{{ago(lasting(414)), t0}}
			x.turns = append(x.turns, turn{start: ago(lasting(90)), at: ago(lasting(89)), members: []who{alice, bob, person("c", 2)}})
		})},
		{class, "near-45s", "dropped 45 s after joining: the session timeout", "the new process died at once", ProcessGone, Likely, []Class{JoinSyncRace}, tell(ago(lasting(375)), func(x *tale) { x.events = nil })},
		{class, "near-first-batch", "dropped 300 s after joining, but by a LeaveGroup request", "its first batch took too long", PollInterval, Provisional, []Class{JoinSyncRace}, tell(exact, func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{exact, 1}}}
		})},
	}
}

// deploy is three members replaced one after the other, a minute apart; n of
// them are back.
func deploy(from time.Time, back int) tale {
	x := tale{turns: []turn{settled(alice, bob, carol)}, events: map[Signal][]event{}, silent: map[string][]span2{}, stable: 11}
	old := []who{alice, bob, carol}
	now := []who{alice, bob, carol}
	for i := range back + 1 {
		if i == len(old) {
			break
		}
		at := from.Add(time.Duration(i) * time.Minute)
		now = without(now, old[i])
		x.turns = append(x.turns, turn{start: at, at: at.Add(2 * time.Second), members: now})
		x.events[SignalLeaveRequests] = append(x.events[SignalLeaveRequests], event{at, 1})
		if i < back {
			next := person(string(rune('a'+i)), 2)
			now = append(now, next)
			x.turns = append(x.turns, turn{start: at.Add(20 * time.Second), at: at.Add(22 * time.Second), members: now})
		}
	}
	return x
}

// lagging adds lag that changes by so many records every 30 s.
func lagging(x tale, by int64) tale {
	for i := range int64(10) {
		x.lag = append(x.lag, LagPoint{At: ago(time.Duration(270-30*i) * time.Second), Total: 20_000 + by*i})
	}
	return x
}

func without(in []who, w who) []who {
	var out []who
	for _, x := range in {
		if x != w {
			out = append(out, x)
		}
	}
	return out
}

func deployCases() []synthCase {
	class, truth := "rolling-deploy", "three consumers were closed and started again one after the other"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, JoinSyncRace}
	wide := func(e *Evidence) { e.WindowSeconds = 900 }
	with := func(x tale, change func(e *Evidence)) Evidence { x.change = change; return x.evidence() }
	return []synthCase{
		{class, "done", "three LeaveGroup requests, three new members, lag falls", truth, RollingDeploy, Confirmed, not, lagging(deploy(ago(lasting(400)), 3), -500).evidence()},
		{class, "lag-not-read", "as done, without lag", truth, RollingDeploy, Likely, not, deploy(ago(lasting(400)), 3).evidence()},
		{class, "under-way", "the third is away for 60 s", truth, RollingDeploy, Provisional, not, deploy(ago(lasting(180)), 2).evidence()},
		{class, "no-broker-metrics", "request counters are not exported: each left within a commit interval", truth, RollingDeploy, Likely, not, with(deploy(ago(lasting(400)), 3), noBrokerMetrics)},
		{class, "lag-rises", "all are back and lag goes on rising", truth + ", with a slower version", RollingDeploy, Likely, not, lagging(deploy(ago(lasting(400)), 3), 5000).evidence()},
		{class, "missing-598s", "the third has been away for 598 s", truth, RollingDeploy, Provisional, not, with(deploy(ago(lasting(720)), 2), wide)},
		{class, "near-missing-603s", "the third has been away for 603 s, past the 10 min in which a deploy is benign", "the third consumer does not start", Undecided, Open, []Class{RollingDeploy, Quiet}, with(deploy(ago(lasting(725)), 2), wide)},
		{class, "near-killed", "members replaced without leaving, each dropped 45 s after its last commit", "the pods were killed", ProcessGone, Likely, []Class{RollingDeploy}, func() Evidence {
			x := stalled()
			x.events = nil
			return x.evidence()
		}()},
	}
}

func doubtCases() []synthCase {
	class := "undecided"
	return []synthCase{
		{class, "group-without-prometheus", "three members all the time, lag 12; there is no Prometheus", "somebody may commit to the group from outside, or nobody", Undecided, Open, []Class{Quiet}, func() Evidence {
			e := ask(orders(lagSpec{totals: ramp(12, 12), span: 600 * time.Second, produce: 6000, took: 6000}))
			for i := range e.Brokers {
				e.Brokers[i].Identity, e.Brokers[i].Signals = skipped, nil
			}
			e.Metrics = MetricsSource{Reading: Reading{Status: StatusSkipped, Hint: "no Prometheus is configured"}}
			return e
		}()},
		{class, "no-baseline", "the first record that is left was written after the drop, and the watcher was not running", "a process stood still", Undecided, Open, []Class{Quiet, SessionTimeout, RollingDeploy}, func() Evidence {
			x := stalled()
			x.change = func(e *Evidence) {
				noWatcher(e)
				g := &e.Groups[0]
				g.History.Records, g.History.Baseline = g.History.Records[2:], false
				g.Snapshots = g.Snapshots[len(g.Snapshots)-1:]
				g.Snapshots[0].At = g.Snapshots[0].Until
			}
			return x.evidence()
		}()},
	}
}

func noBrokerMetrics(e *Evidence) {
	for i := range e.Brokers {
		for sig, m := range e.Brokers[i].Signals {
			if sig != SignalProcessStart {
				e.Brokers[i].Signals[sig] = Metric{Reading: Reading{Status: StatusNotExported, Source: m.Source, Hint: "the exporter drops it"}}
			}
		}
	}
}

func noWatcher(e *Evidence) { e.Watcher = Watcher{} }

func noOffsets(e *Evidence) {
	e.Groups[0].History = GroupHistory{OffsetsPartition: -1, Reading: Reading{Status: StatusForbidden, Error: "reading __consumer_offsets was refused", Hint: "grant READ on __consumer_offsets"}}
}
