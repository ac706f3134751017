package diagnose

import (
	"slices"
	"time"
)

// causeCases are the synthetic cases of the classes that are told apart by who
// else suffered, by who was listed when, and by who called afterwards.
func causeCases() []synthCase {
	var out []synthCase
	for _, cs := range [][]synthCase{
		unreachableCases(), replacedCases(), pollStaticCases(), leaderCases(), heldCases(), troubleCases(), metadataCases(),
		removedCases(), strayCases(), duplicateCases(), stormCases(),
	} {
		out = append(out, cs...)
	}
	return out
}

// told is the evidence of a tale after a change.
func told(x tale, changes ...func(x *tale)) Evidence {
	for _, c := range changes {
		c(&x)
	}
	return x.evidence()
}

// onEvidence changes the evidence that a tale gives.
func onEvidence(change func(e *Evidence)) func(x *tale) { return func(x *tale) { x.change = change } }

func called(at float64, beats, commits float64) func(x *tale) {
	return func(x *tale) {
		x.events = map[Signal][]event{SignalHeartbeat25: {{ago(lasting(at)), beats}}, SignalOffsetCommit25: {{ago(lasting(at)), commits}}}
	}
}

func unreachableCases() []synthCase {
	class, truth := "client-unreachable", "the network between the client and its coordinator was silent"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, RollingDeploy, CoordinatorTrouble}
	polls := func(ms float64) func(x *tale) {
		return func(x *tale) {
			x.polls = map[string]func(time.Time) float64{alice.client: func(time.Time) float64 { return ms }, bob.client: func(time.Time) float64 { return 700 }}
		}
	}
	return []synthCase{
		{class, "client-kept-polling", "time-between-poll-max stayed at 0.6 s while the broker heard nothing for 45 s", truth, ClientUnreachable, Confirmed, not, told(stalled(), polls(600))},
		{class, "no-watcher", "as client-kept-polling, the watcher was not running; the offsets topic has the baseline", truth, ClientUnreachable, Confirmed, not, told(stalled(), polls(600), onEvidence(noWatcher))},
		{class, "queued-commits", "six commits for three partitions were refused on its return, no heartbeat", truth, ClientUnreachable, Confirmed, not, told(stalled(), polls(900), called(121, 0, 18))},
		{class, "commits-only", "an application without auto-commit: only one heartbeat was refused", truth, ClientUnreachable, Confirmed, not, told(stalled(), polls(1100), called(121, 1, 0))},
		{class, "near-poll-30s", "time-between-poll-max 30 s, as long as two thirds of the session timeout: enough only with a heartbeat interval of 15 s", "the process stood still", SessionTimeout, Likely, []Class{ClientUnreachable}, told(stalled(), polls(30_000))},
		{class, "near-poll-42s", "time-between-poll-max 42 s: the session timeout less the default heartbeat interval", "the process stood still", SessionTimeout, Confirmed, []Class{ClientUnreachable}, told(stalled(), polls(42_000))},
		{class, "near-no-client-metrics", "client metrics are not exported: from the broker both look the same", truth, SessionTimeout, Likely, []Class{ClientUnreachable}, told(stalled())},
		{class, "near-closed", "kept polling, and a LeaveGroup request took it out", "the client was closed and started again", RollingDeploy, Likely, []Class{ClientUnreachable}, told(stalled(), polls(600), func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(135)), 1}}}
		})},
	}
}

// besideOne is a member that was killed and started again at once: both lives
// are listed until the old one's session runs out.
func besideOne() tale {
	x := stalled()
	x.events = nil
	x.turns = []turn{x.turns[0], {start: ago(lasting(165)), at: ago(lasting(133)), members: []who{aliceAgain, bob}, listed: []string{alice.id}}}
	return x
}

// streams is a Kafka Streams restart, pod after pod: no LeaveGroup, each old
// member is listed beside its successor for a session timeout.
func streams() tale {
	x := tale{turns: []turn{settled(alice, bob, carol)}, silent: map[string][]span2{}, stable: 11}
	now := []who{alice, bob, carol}
	for i, old := range []who{alice, bob, carol} {
		from := 480 - 120*float64(i)
		next := person(string(rune('a'+i)), 2)
		now = append(without(now, old), next)
		x.silent[old.id] = []span2{{ago(lasting(from + 20)), t0}}
		x.turns = append(x.turns, turn{start: ago(lasting(from)), at: ago(lasting(from - 30)), members: now, listed: []string{old.id}})
	}
	return x
}

func replacedCases() []synthCase {
	class, truth := "process-replaced", "the process was killed and a new one was started at once"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, RollingDeploy, CoordinatorTrouble}
	return []synthCase{
		{class, "beside", "a new process of the same client id joined while the old one was still listed", truth, ProcessReplaced, Likely, not, told(besideOne())},
		{class, "streams-deploy", "three pods of a Kafka Streams application, one after the other, none left", "a Kafka Streams application was deployed", ProcessReplaced, Likely, not, told(streams())},
		{class, "same-record", "snapshots were not taken; one record drops the old member and lists the new one, 45 s after its last commit", truth, ProcessReplaced, Likely, not[:4], told(besideOne(), onEvidence(func(e *Evidence) {
			noWatcher(e)
			e.Groups[0].Snapshots = e.Groups[0].Snapshots[len(e.Groups[0].Snapshots)-1:]
			e.Groups[0].Snapshots[0].At = e.Groups[0].Snapshots[0].Until
		}))},
		{class, "no-offsets", "no READ on __consumer_offsets: the watcher saw both listed", truth, ProcessReplaced, Likely, not[:4], told(besideOne(), onEvidence(noOffsets))},
		{class, "streams-deploy-slow-start", "the same, but the last pod's successor took longer to start than its session lasted", "a Kafka Streams application was deployed", ProcessReplaced, Likely, not, told(streams(), func(x *tale) {
			last := len(x.turns) - 1
			next := person("c", 2)
			x.turns[last].listed, x.turns[last].members = nil, without(x.turns[last].members, next)
			x.turns[last].start = x.turns[last].at.Add(-3 * time.Second)
			x.turns = append(x.turns, turn{start: x.turns[last].at.Add(8 * time.Second), at: x.turns[last].at.Add(10 * time.Second), members: append(slices.Clone(x.turns[last].members), next)})
		})},
		{class, "near-called", "both listed, and a heartbeat with the old id was refused", "the process stood still; a second one had been added", SessionTimeout, Provisional, []Class{ProcessReplaced}, told(besideOne(), called(121, 1, 0))},
		{class, "near-left", "the old one left before the new one came", "a rolling deploy", RollingDeploy, Confirmed, []Class{ProcessReplaced}, lagging(deploy(ago(lasting(400)), 3), -500).evidence()},
		{class, "near-away-first", "the new one came 13 s after the drop", "the process was killed and came back later", ProcessGone, Likely, []Class{ProcessReplaced}, told(stalled(), func(x *tale) { x.events = nil })},
	}
}

// staticBusy is a static member that took too long over a batch: it fell silent
// for 300 s, its heartbeats stopped, and 45 s later it was dropped.
func staticBusy() tale {
	x := overslept()
	static := alice
	static.instance = "a"
	x.turns = []turn{settled(static, bob), {start: ago(lasting(75)), at: ago(lasting(73)), members: []who{bob}}}
	x.events = nil
	return x
}

func staticBack(x *tale) {
	again := aliceAgain
	again.instance = "a"
	x.turns = append(x.turns, turn{start: ago(lasting(40)), at: ago(lasting(38)), members: []who{again, bob}})
}

func pollStaticCases() []synthCase {
	class, truth := "poll-interval-static", "one batch was too slow; a static member does not leave"
	not := []Class{SessionTimeout, PollInterval, ProcessGone, ClientUnreachable, RollingDeploy}
	busy := func(x *tale) {
		x.polls = map[string]func(time.Time) float64{alice.client: func(t time.Time) float64 {
			if t.After(ago(lasting(45))) {
				return 375_000
			}
			return 600
		}}
	}
	return []synthCase{
		{class, "away", "dropped 347 s after its last commit with 300 s and 45 s, no LeaveGroup, still away", truth, PollIntervalStatic, Provisional, not, told(staticBusy())},
		{class, "back", "the same, and back under its instance id", truth, PollIntervalStatic, Likely, not, told(staticBusy(), staticBack)},
		{class, "client-metrics", "time-between-poll-max 375 s", truth, PollIntervalStatic, Confirmed, not, told(staticBusy(), staticBack, busy)},
		{class, "no-broker-metrics", "counters are not exported", truth, PollIntervalStatic, Likely, not, told(staticBusy(), staticBack, onEvidence(noBrokerMetrics))},
		{class, "near-45s", "a static member, dropped 47 s after its last commit", "the process stood still", SessionTimeout, Likely, []Class{PollIntervalStatic}, told(stalled(), func(x *tale) {
			static, again := alice, aliceAgain
			static.instance, again.instance = "a", "a"
			x.turns[0] = settled(static, bob)
			x.turns[2].members = []who{again, bob}
		})},
		{class, "librdkafka", "dropped 331 s after its last commit: its last heartbeat came 10 s before its poll limit, and its last commit after its last poll", truth, PollIntervalStatic, Provisional, not, told(staticBusy(), func(x *tale) {
			x.turns[1].start, x.turns[1].at = ago(lasting(91)), ago(lasting(89))
		})},
		{class, "near-322s", "dropped 322 s after its last commit, three seconds below poll limit and session less a heartbeat and a commit", "the process was killed after 277 s without records", ProcessGone, Likely, []Class{PollIntervalStatic}, told(staticBusy(), func(x *tale) {
			x.turns[1].start, x.turns[1].at = ago(lasting(100)), ago(lasting(98))
		})},
		{class, "near-called", "the same silence, and a heartbeat with the old id was refused", "the process stood still after a long batch", SessionTimeout, Likely, []Class{PollIntervalStatic}, told(staticBusy(), staticBack, called(41, 1, 0))},
		{class, "near-dynamic", "a dynamic member, as silent, and it left by itself", "one batch was too slow", PollInterval, Confirmed, []Class{PollIntervalStatic}, overslept().evidence()},
	}
}

// frozen is a coordinator that stood still for 50 s: everybody is dropped as it
// wakes.
func frozen() tale {
	return tale{
		turns: []turn{
			settled(alice, bob),
			{start: ago(lasting(133)), at: ago(lasting(133))},
			{start: ago(lasting(132)), at: ago(lasting(129)), members: []who{aliceAgain, person("b", 2)}},
		},
		silent: map[string][]span2{alice.id: {{ago(lasting(183)), t0}}, bob.id: {{ago(lasting(183)), t0}}},
		events: map[Signal][]event{SignalHeartbeat25: {{ago(lasting(132)), 4}}, SignalOffsetCommit25: {{ago(lasting(132)), 36}}},
		strangers: []Loss{
			{Group: "billing", Coordinator: 2, MemberID: "billing-1", ClientID: "billing", Host: "/10.2.7.77", After: ago(lasting(140)), By: ago(lasting(130))},
			{Group: "payments", Coordinator: 2, MemberID: "payments-1", ClientID: "payments", Host: "/10.2.7.78", After: ago(lasting(140)), By: ago(lasting(130))},
		},
		gaps: [][2]time.Time{{ago(lasting(183)), ago(lasting(133))}},
	}
}

// swept dates the others' losses badly: between two looks 20 s apart.
func swept(stable int) func(x *tale) {
	return func(x *tale) {
		x.stable = stable
		for i := range x.strangers {
			x.strangers[i].After, x.strangers[i].By = ago(lasting(150)), ago(lasting(130))
		}
	}
}

// spared is a group of that coordinator which lost nobody.
func spared() tale {
	x := frozen()
	x.turns = x.turns[:1]
	x.silent = map[string][]span2{alice.id: {{ago(lasting(183)), ago(lasting(133))}}, bob.id: {{ago(lasting(183)), ago(lasting(133))}}}
	x.events = nil
	x.stable = 2
	return x
}

func alone1(x *tale) { x.strangers = nil }

func seen(x *tale) { x.gaps = nil }

func troubleCases() []synthCase {
	class, truth := "coordinator-trouble", "the coordinator's process stood still for 50 s"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, RollingDeploy, RemovedByAdmin}
	started := func(x *tale) {
		alone1(x)
		seen(x)
		x.started = ago(lasting(180))
		x.silent = map[string][]span2{alice.id: {{ago(lasting(195)), t0}}, bob.id: {{ago(lasting(195)), t0}}}
		x.events = map[Signal][]event{SignalHeartbeat25: {{ago(lasting(132)), 2}}}
	}
	slow := func(ms float64) func(x *tale) {
		return func(x *tale) {
			seen(x)
			x.strangers[0].After, x.strangers[0].By = ago(lasting(230)), ago(lasting(220))
			x.strangers = x.strangers[:1]
			x.change = func(e *Evidence) {
				m := Metric{Reading: ok("prometheus: heartbeat_ms.p99"), Series: []Series{{}}}
				for t := ago(20 * time.Minute); !t.After(t0); t = t.Add(15 * time.Second) {
					v := 4.0
					if t.After(ago(lasting(260))) && t.Before(ago(lasting(120))) {
						v = ms
					}
					m.Series[0].Samples = append(m.Series[0].Samples, Sample{T: t, V: v})
				}
				e.Brokers[1].Signals[SignalHeartbeatP99] = m
			}
		}
	}
	ask := func(e Evidence, broker int32) Evidence {
		e.Target = Target{Cluster: "kafka-prod", Broker: &broker}
		return e
	}
	return []synthCase{
		{class, "frozen", "not scraped for 50 s, three groups dropped as it woke", truth, CoordinatorTrouble, Confirmed, not, told(frozen())},
		{class, "frozen-broker-asked", "the same, asked about the broker", truth, CoordinatorTrouble, Confirmed, not, ask(told(frozen()), 2)},
		{class, "frozen-scrapes-not-visible", "the same without metrics of brokers: three groups lost everybody in one moment", truth, CoordinatorTrouble, Confirmed, not, told(frozen(), seen, onEvidence(noBrokerMetrics))},
		{class, "frozen-one-group", "one group only, but the broker was not scraped for 50 s up to the drop", truth, CoordinatorTrouble, Likely, not, told(frozen(), alone1)},
		{class, "frozen-one-member", "not scraped for 50 s, nobody of the group committed meanwhile, and one of its two members was dropped as it woke", truth, CoordinatorTrouble, Likely, not, told(frozen(), alone1, func(x *tale) {
			x.turns = []turn{settled(alice, bob), {start: ago(lasting(133)), at: ago(lasting(132)), members: []who{bob}}, {start: ago(lasting(130)), at: ago(lasting(129)), members: []who{aliceAgain, bob}}}
			x.silent[bob.id] = []span2{{ago(lasting(183)), ago(lasting(133))}}
		})},
		{class, "near-frozen-served", "the same, but the other member's commits were accepted all the time", "the process stood still while Prometheus was moved", SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(frozen(), alone1, func(x *tale) {
			x.turns = []turn{settled(alice, bob), {start: ago(lasting(133)), at: ago(lasting(132)), members: []who{bob}}, {start: ago(lasting(130)), at: ago(lasting(129)), members: []who{aliceAgain, bob}}}
			x.silent[bob.id] = nil
		})},
		{class, "spared", "the group kept its members: its coordinator was not scraped for 50 s, nothing was committed meanwhile, and two other groups lost members", truth, CoordinatorTrouble, Likely, not, told(lagging(spared(), 0))},
		{class, "near-spared-served", "the same, but the group's commits went on", "Prometheus was moved, and two clients stood still", Quiet, Confirmed, []Class{CoordinatorTrouble}, told(lagging(spared(), 0), func(x *tale) { x.silent = nil })},
		{class, "near-spared-earlier", "the same, but the others lost their members 40 s before it was silent", "two clients stood still before the broker did", Quiet, Confirmed, []Class{CoordinatorTrouble}, told(lagging(spared(), 0), func(x *tale) {
			for i := range x.strangers {
				x.strangers[i].After, x.strangers[i].By = ago(lasting(240)), ago(lasting(230))
			}
		})},
		{class, "started", "the coordinator started 47 s before all were dropped, one session timeout", "clients got through too late after a fail-over", CoordinatorTrouble, Likely, not, told(frozen(), started)},
		{class, "overloaded", "heartbeats took 2.6 s while two groups lost members", "the broker's request threads were busy", CoordinatorTrouble, Likely, not, told(frozen(), slow(2600))},
		{class, "watcher-blind", "nothing was scraped and the watcher got no answer for 20 s: everybody of this group and members of two others were lost between the same two looks", truth, CoordinatorTrouble, Likely, not, told(frozen(), seen, swept(0), onEvidence(noBrokerMetrics))},
		{class, "near-watcher-blind", "the same, and two groups kept their members", "a host with consumers of three groups stood still", SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(frozen(), seen, swept(2), onEvidence(noBrokerMetrics))},
		{class, "near-one-group", "one group lost everybody at once, and nothing else shows how the coordinator was", truth, SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(frozen(), alone1, seen)},
		{class, "near-one-host", "another group lost a member in the same look of the watcher, while commits of the others were accepted", "a host with consumers of two groups stood still", SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(stalled(), func(x *tale) {
			x.strangers = []Loss{{Group: "billing", Coordinator: 2, MemberID: "billing-1", ClientID: "billing", Host: "/10.2.7.31", After: ago(lasting(140)), By: ago(lasting(133))}}
		})},
		{class, "near-nothing-scraped", "one group lost everybody, and no broker was scraped for 50 s: the monitoring stood still", "the application's host was frozen while Prometheus was moved", SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(frozen(), alone1, onEvidence(func(e *Evidence) {
			for i := range e.Brokers {
				for sig, m := range e.Brokers[i].Signals {
					for k := range m.Series {
						m.Series[k].Samples = slices.DeleteFunc(m.Series[k].Samples, func(x Sample) bool { return x.T.After(ago(lasting(190))) && x.T.Before(ago(lasting(125))) })
					}
					e.Brokers[i].Signals[sig] = m
				}
			}
		}))},
		{class, "near-started-and-served", "the coordinator started shortly before, but it took commits of the others all the time", "the process stood still", SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(stalled(), func(x *tale) { x.started = ago(lasting(170)) })},
		{class, "near-900ms", "heartbeats took 0.9 s while two groups lost members at different times", "two clients stood still", SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(frozen(), slow(900))},
		{class, "near-redpanda", "the same on a Kafka-like system, whose coordinator is another", truth, SessionTimeout, Likely, []Class{CoordinatorTrouble}, told(frozen(), onEvidence(func(e *Evidence) { e.Cluster.Flavour = "redpanda" }))},
	}
}

// wiped is a group whose state was lost: it begins again at generation 1.
func wiped() tale {
	first := settled(alice, bob)
	first.generation = 40
	return tale{
		turns: []turn{
			first,
			{start: ago(lasting(130)), at: ago(lasting(128)), members: []who{aliceAgain, person("b", 2)}, generation: 1},
		},
		events: map[Signal][]event{SignalHeartbeat25: {{ago(lasting(131)), 2}}, SignalCommit22: {{ago(lasting(131)), 6}}},
		stable: 11,
	}
}

func metadataCases() []synthCase {
	class, truth := "group-metadata-lost", "__consumer_offsets was truncated after an unclean election"
	not := []Class{SessionTimeout, ProcessGone, CoordinatorTrouble, RemovedByAdmin, RollingDeploy, StrayCommits}
	truncated := func(x *tale) {
		x.events = map[Signal][]event{SignalCommit69: {{ago(lasting(131)), 6}}}
		x.change = func(e *Evidence) {
			h := &e.Groups[0].History
			h.Records = h.Records[1:]
			h.Commits = slices.DeleteFunc(h.Commits, func(c Commit) bool { return c.At.Before(ago(lasting(128))) })
			h.Baseline = false
		}
	}
	epochs := func(after int32, state string, members int) func(x *tale) {
		return func(x *tale) {
			x.turns = x.turns[:1]
			x.events = map[Signal][]event{SignalGroupBeat69: {{ago(lasting(131)), 2}}}
			x.change = func(e *Evidence) {
				g := &e.Groups[0]
				g.Protocol = "consumer"
				g.History = GroupHistory{Reading: Reading{Status: StatusUnsupported, Hint: "KIP-848 records are not decoded"}, OffsetsPartition: -1}
				g.Snapshots[0].Epoch, g.Snapshots[0].Until = 17, ago(lasting(140))
				next := GroupSnapshot{At: ago(lasting(120)), Until: t0, State: state, Epoch: after}
				if members > 0 {
					next.Members = slices.Clone(g.Snapshots[0].Members)
				}
				g.Snapshots = append(g.Snapshots, next)
				e.Watcher.Losses = nil
				if members == 0 {
					for _, m := range g.Snapshots[0].Members {
						e.Watcher.Losses = append(e.Watcher.Losses, Loss{Group: g.ID, Coordinator: 2, MemberID: m.ID, ClientID: m.ClientID, Host: m.Host, After: ago(lasting(140)), By: ago(lasting(120))})
					}
				}
			}
		}
	}
	return []synthCase{
		{class, "generation-falls", "generation 40 and then 1, commits refused with ILLEGAL_GENERATION (3.9)", truth, GroupMetadataLost, Confirmed, not, told(wiped())},
		{class, "log-truncated", "the old records are gone as well; the watcher had seen the group Stable; commits refused with GROUP_ID_NOT_FOUND (4.x)", truth, GroupMetadataLost, Confirmed, not, told(wiped(), truncated)},
		{class, "no-broker-metrics", "refused commits are not exported", truth, GroupMetadataLost, Likely, not, told(wiped(), onEvidence(noBrokerMetrics))},
		{class, "kip848-gone", "a KIP-848 group turned into an empty classic one, heartbeats refused with GROUP_ID_NOT_FOUND; its clients stopped", truth, GroupMetadataLost, Confirmed, not, told(wiped(), epochs(-1, "Empty", 0))},
		{class, "kip848-epoch-falls", "epoch 17 and then 2, the same members", truth, GroupMetadataLost, Confirmed, not, told(wiped(), epochs(2, "Stable", 2))},
		{class, "near-generation-41", "the generation rises, all members were replaced", "a full restart", RollingDeploy, Likely, []Class{GroupMetadataLost}, told(wiped(), func(x *tale) {
			x.turns[1].generation = 41
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(131)), 2}}}
		})},
		{class, "near-clocks", "two records in the wrong order: generation 3 and then 2, written by two coordinators", "the clocks of two brokers differ by a second", Quiet, Confirmed, []Class{GroupMetadataLost}, told(lagging(wiped(), 0), func(x *tale) {
			x.turns = []turn{
				{start: ago(3 * time.Hour), at: ago(3 * time.Hour), members: []who{alice, bob}, generation: 1},
				{start: ago(lasting(130)), at: ago(lasting(130)), members: []who{alice, bob}, generation: 3},
				{start: ago(lasting(129)), at: ago(lasting(129)), members: []who{alice, bob}, generation: 2},
			}
			x.events = nil
		})},
		{class, "near-redpanda", "the same on a Kafka-like system, whose coordinator is another", "the group was made anew", Undecided, Open, []Class{GroupMetadataLost}, told(wiped(), onEvidence(func(e *Evidence) { e.Cluster.Flavour = "redpanda" }))},
		{class, "near-deleted", "the group was empty and was deleted before it began again at generation 1", "an operator deleted the group between two versions of the application", RollingDeploy, Likely, []Class{GroupMetadataLost}, told(wiped(), func(x *tale) {
			x.turns = []turn{x.turns[0], {start: ago(lasting(300)), at: ago(lasting(300)), generation: 41}, x.turns[1]}
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(300)), 2}}}
		})},
		{class, "near-deleted-log", "the old records are gone, and the watcher had seen the group Empty before its first record", "an operator deleted the empty group", Undecided, Open, []Class{GroupMetadataLost}, told(wiped(), func(x *tale) {
			x.turns = []turn{x.turns[0], {start: ago(lasting(300)), at: ago(lasting(300)), generation: 41}, x.turns[1]}
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(300)), 2}}}
			x.change = func(e *Evidence) {
				h := &e.Groups[0].History
				h.Records, h.Baseline = h.Records[2:], false
			}
		})},
		{class, "near-new-group", "the first record is generation 1 and nobody knew the group before", "a new group was started", Quiet, Confirmed, []Class{GroupMetadataLost}, told(lagging(wiped(), 0), func(x *tale) {
			x.turns = []turn{x.turns[1]}
			x.events = nil
			x.change = func(e *Evidence) {
				g := &e.Groups[0]
				g.Snapshots = slices.DeleteFunc(g.Snapshots, func(s GroupSnapshot) bool { return s.Until.Before(ago(lasting(128))) })
				g.Snapshots[0].At = ago(lasting(120))
			}
		})},
	}
}

// removed is an operator's removal of all members: one LeaveGroup request.
func removed() tale {
	return tale{
		turns: []turn{
			settled(alice, bob),
			{start: ago(lasting(120)), at: ago(lasting(120))},
			{start: ago(lasting(119)), at: ago(lasting(118)), members: []who{aliceAgain, person("b", 2)}},
		},
		events: map[Signal][]event{SignalLeaveRequests: {{ago(lasting(120)), 1}}, SignalHeartbeat25: {{ago(lasting(119)), 2}}},
		stable: 11,
	}
}

func removedCases() []synthCase {
	class, truth := "removed-by-admin", "an operator removed the members"
	not := []Class{SessionTimeout, ProcessGone, PollInterval, RollingDeploy, CoordinatorTrouble}
	return []synthCase{
		{class, "all", "one LeaveGroup request took out both members at once, and both called with their old ids afterwards", truth, RemovedByAdmin, Confirmed, not, told(removed())},
		{class, "one-by-one", "two LeaveGroup requests, one a member", truth, RemovedByAdmin, Confirmed, not, told(removed(), func(x *tale) {
			x.events[SignalLeaveRequests] = []event{{ago(lasting(120)), 2}}
		})},
		{class, "one-member", "one member was taken out, the other went on", truth, RemovedByAdmin, Confirmed, not, told(removed(), func(x *tale) {
			x.turns[1].members, x.turns[2].members = []who{bob}, []who{aliceAgain, bob}
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(120)), 1}}, SignalOffsetCommit25: {{ago(lasting(118)), 3}}}
		})},
		{class, "no-offsets", "no READ on __consumer_offsets: fewer LeaveGroup requests than members, and calls afterwards", truth, RemovedByAdmin, Likely, not[:4], told(removed(), onEvidence(noOffsets))},
		{class, "near-closed", "the same, and nobody called afterwards", "the application was closed and started again at once", RollingDeploy, Likely, []Class{RemovedByAdmin}, told(removed(), func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(120)), 2}}}
		})},
		{class, "near-no-leave", "called afterwards, but no LeaveGroup request came", "the process stood still", SessionTimeout, Likely, []Class{RemovedByAdmin}, told(stalled())},
		{class, "near-no-broker-metrics", "counters are not exported: taken out or closed is not visible", truth, RollingDeploy, Likely, []Class{RemovedByAdmin}, told(removed(), onEvidence(noBrokerMetrics))},
	}
}

// densely refuses commits in n scrapes, one after the other, up to now.
func densely(x *tale, n int) {
	x.every, x.events = 5*time.Second, map[Signal][]event{}
	for i := range n {
		x.events[SignalOffsetCommit25] = append(x.events[SignalOffsetCommit25], event{ago(time.Duration(i)*5*time.Second + 2*time.Second), 4})
	}
	slices.Reverse(x.events[SignalOffsetCommit25])
}

func strayCases() []synthCase {
	class, truth := "stray-commits", "an admin tool commits to a live group"
	not := []Class{SessionTimeout, ProcessGone, Quiet}
	stray := tale{turns: []turn{settled(alice, bob)}, stable: 11, events: map[Signal][]event{SignalOffsetCommit25: waves(8, ago(lasting(500)), ago(lasting(300)), ago(lasting(100)))}}
	with := func(change func(x *tale)) Evidence { return told(stray, change) }
	broker := int32(2)
	return []synthCase{
		{class, "steady", "commits are refused all the time and nobody lost membership", truth, StrayCommits, Likely, not, told(stray)},
		{class, "only-group", "the coordinator has this group only", truth, StrayCommits, Confirmed, not, with(func(x *tale) { x.stable = 1 })},
		{class, "broker-asked", "asked about the broker", truth, StrayCommits, Likely, not, func() Evidence {
			e := told(stray)
			e.Target = Target{Cluster: "kafka-prod", Broker: &broker}
			return e
		}()},
		{class, "no-watcher", "the watcher was not running: another group may be losing members", truth, StrayCommits, Likely, not, with(onEvidence(noWatcher))},
		{class, "first-minutes", "refused in ten scrapes within 50 s: a scrape every 5 s", truth, StrayCommits, Provisional, not, with(func(x *tale) { densely(x, 10) })},
		{class, "near-nine-scrapes", "refused in nine scrapes within 45 s", "too few, in too short a time", Undecided, Open, []Class{StrayCommits}, with(func(x *tale) { densely(x, 9) })},
		{class, "near-at-once", "12 commits refused in one scrape", "a member of another group may have come back", Undecided, Open, []Class{StrayCommits}, with(func(x *tale) {
			x.events = map[Signal][]event{SignalOffsetCommit25: {{ago(lasting(200)), 12}}}
		})},
		{class, "near-two-scrapes", "refused in two scrapes, 60 s apart", "too short to call it steady", Undecided, Open, []Class{StrayCommits}, with(func(x *tale) {
			x.events = map[Signal][]event{SignalOffsetCommit25: {{ago(lasting(200)), 4}, {ago(lasting(140)), 4}}}
		})},
		{class, "near-heartbeats", "heartbeats are refused too", "somebody is dropped and returns again and again", Undecided, Open, []Class{StrayCommits}, with(func(x *tale) {
			x.events = map[Signal][]event{
				SignalOffsetCommit25: x.events[SignalOffsetCommit25],
				SignalHeartbeat25:    {{ago(lasting(300)), 1}},
			}
		})},
		{class, "near-lost-member", "a member was dropped and came back", "the process stood still", SessionTimeout, Likely, []Class{StrayCommits}, stalled().evidence()},
	}
}

// twins is a static member whose instance id was taken over while it ran on.
func twins() tale {
	static, again := alice, aliceAgain
	static.instance, again.instance = "inst-a", "inst-a"
	again.host = "/10.2.9.9"
	return tale{
		turns: []turn{
			settled(static, bob),
			{start: ago(lasting(180)), at: ago(lasting(180)), generation: 4, members: []who{again, bob}},
		},
		events: map[Signal][]event{SignalCommitFenced: {{ago(lasting(178)), 3}}},
		stable: 11,
	}
}

func duplicateCases() []synthCase {
	class, truth := "duplicate-static-id", "two processes were started with one group.instance.id"
	not := []Class{RollingDeploy, SessionTimeout, ProcessGone, StrayCommits}
	pingPong := func(x *tale) {
		static := alice
		static.instance = "inst-a"
		for i, at := range []float64{150, 120} {
			again := static
			again.id = alice.id + "-" + string(rune('x'+i))
			x.turns = append(x.turns, turn{start: ago(lasting(at)), at: ago(lasting(at)), generation: 4, members: []who{again, bob}})
			x.events[SignalCommitFenced] = append(x.events[SignalCommitFenced], event{ago(lasting(at - 2)), 3})
		}
	}
	kip848 := func(first float64, change func(g *Group)) func(x *tale) {
		return func(x *tale) {
			x.turns = x.turns[:1]
			x.events = map[Signal][]event{SignalUnreleased: {{ago(lasting(first)), 1}}}
			x.stable = 1
			x.change = func(e *Evidence) {
				g := &e.Groups[0]
				g.Protocol = "consumer"
				g.History = GroupHistory{Reading: Reading{Status: StatusUnsupported, Hint: "KIP-848 records are not decoded"}, OffsetsPartition: -1}
				for i := range g.Snapshots {
					g.Snapshots[i].Epoch = 9
				}
				change(g)
				for i := 1; i < len(g.Snapshots); i++ {
					a, b := g.Snapshots[i-1], g.Snapshots[i]
					for _, m := range a.Members {
						if !slices.ContainsFunc(b.Members, func(n Member) bool { return n.ID == m.ID }) {
							e.Watcher.Losses = append(e.Watcher.Losses, Loss{Group: g.ID, Coordinator: 2, MemberID: m.ID, ClientID: m.ClientID, Host: m.Host, After: a.Until, By: b.At})
						}
					}
				}
			}
		}
	}
	same := func(*Group) {}
	killed := func(g *Group) {
		was := g.Snapshots[0]
		g.Snapshots[0].Until = ago(lasting(140))
		next := was
		next.At, next.Until, next.Epoch = ago(lasting(130)), t0, 11
		next.Members = slices.Clone(was.Members)
		next.Members[0].ID = "orders-a-9"
		slices.SortFunc(next.Members, func(a, b Member) int { return compareText(a.ID, b.ID) })
		g.Snapshots = append(g.Snapshots, next)
	}
	return []synthCase{
		{class, "taken-over", "the id changed hands without a rebalance, and three commits of the old holder were fenced", truth, DuplicateStaticID, Confirmed, not, told(twins())},
		{class, "fenced-on-heartbeat", "the old holder was fenced on its next heartbeat, before it committed", truth, DuplicateStaticID, Confirmed, not, told(twins(), func(x *tale) {
			x.events = map[Signal][]event{SignalBeatFenced: {{ago(lasting(178)), 1}}}
		})},
		{class, "in-turn", "both are restarted by their supervisor and push each other out", truth, DuplicateStaticID, Confirmed, not, told(twins(), pingPong)},
		{class, "kip848", "a KIP-848 group: the newcomer was refused, the holder is still there 180 s later", truth, DuplicateStaticID, Confirmed, not, told(twins(), kip848(180, same))},
		{class, "kip848-at-once", "refused 30 s ago: a killed process that comes back waits as well", truth, DuplicateStaticID, Provisional, not, told(twins(), kip848(30, same))},
		{class, "near-restart", "the id changed hands and nobody was fenced", "a static member was restarted within its session timeout", RollingDeploy, Likely, []Class{DuplicateStaticID, Undecided}, told(twins(), func(x *tale) { x.events = nil })},
		{class, "near-restart-lag-read", "the same with lag that falls", "a static member was restarted within its session timeout", RollingDeploy, Confirmed, []Class{DuplicateStaticID, Undecided}, told(lagging(twins(), -500), func(x *tale) { x.events = nil })},
		{class, "near-fenced-not-visible", "the id changed hands; errors are not exported", truth, Undecided, Open, []Class{DuplicateStaticID, RollingDeploy}, told(twins(), onEvidence(noBrokerMetrics))},
		{class, "near-beats-not-visible", "the id changed hands; no commit was refused, and refused heartbeats are not exported", truth, Undecided, Open, []Class{DuplicateStaticID, RollingDeploy}, told(twins(), func(x *tale) {
			x.events = nil
			x.change = func(e *Evidence) {
				for i := range e.Brokers {
					e.Brokers[i].Signals[SignalBeatFenced] = Metric{Reading: Reading{Status: StatusNotExported}}
				}
			}
		})},
		{class, "near-kip848-killed", "refused, and the holder's session ran out 50 s later", "a static member was killed and came back", RollingDeploy, Likely, []Class{DuplicateStaticID}, told(twins(), kip848(185, killed))},
	}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// restless is a group that rebalances every minute with the same members.
func restless(n int) tale {
	x := tale{turns: []turn{settled(alice, bob, carol)}, stable: 11}
	for i := range n {
		at := 480 - 60*float64(i)
		x.turns = append(x.turns, turn{start: ago(lasting(at + 3)), at: ago(lasting(at)), members: []who{alice, bob, carol}})
	}
	return x
}

func stormCases() []synthCase {
	class, truth := "rebalance-storm", "a consumer changes its subscription every minute"
	not := []Class{SessionTimeout, RollingDeploy, ProcessGone, PollInterval}
	topics := func(x *tale) {
		x.change = func(e *Evidence) {
			for i := range e.Groups[0].History.Records {
				for k := range i {
					m := &e.Groups[0].History.Records[i].Members[0]
					m.Partitions = append(slices.Clone(m.Partitions), TopicPartition{"orders-" + string(rune('a'+k)), 0})
				}
			}
		}
	}
	scaling := tale{turns: []turn{settled(alice, bob)}, stable: 11}
	now := []who{alice, bob}
	for i := range 4 {
		now = append(slices.Clone(now), person(string(rune('c'+i)), 1))
		at := 420 - 90*float64(i)
		scaling.turns = append(scaling.turns, turn{start: ago(lasting(at + 3)), at: ago(lasting(at)), members: now})
	}
	clients := func(x *tale) {
		x.turns = x.turns[:1]
		x.change = func(e *Evidence) {
			noWatcher(e)
			noOffsets(e)
			e.ClientsReading = ok("prometheus: client metrics")
			m := Metric{Reading: ok("prometheus: rebalance_total"), Series: []Series{{}}}
			for t := ago(12 * time.Minute); !t.After(t0); t = t.Add(15 * time.Second) {
				m.Series[0].Samples = append(m.Series[0].Samples, Sample{T: t, V: 4 + float64(t.Sub(ago(12*time.Minute))/(2*time.Minute))})
			}
			e.Clients = []Client{{ClientID: alice.client, Signals: map[Signal]Metric{SignalRebalances: m}}}
		}
	}
	return []synthCase{
		{class, "same-members", "six rebalances in 5 min, members and partitions the same", truth, RebalanceStorm, Likely, not, told(restless(6))},
		{class, "new-topics", "every rebalance brings a topic more: a pattern subscription", "somebody creates topics that match the pattern", RebalanceStorm, Confirmed, not, told(restless(5), topics)},
		{class, "scaling", "four members joined one after the other", "an autoscaler adds members one by one", RebalanceStorm, Confirmed, not, told(scaling)},
		{class, "by-client", "no offsets topic and no watcher: rebalance-total of a client", truth, RebalanceStorm, Likely, not[:1], told(restless(6), clients)},
		{class, "near-two", "two rebalances in the window", "normal", Quiet, Confirmed, []Class{RebalanceStorm}, told(lagging(restless(2), 0))},
		{class, "near-deploy", "six rebalances by a rolling deploy", "three consumers were closed and started again", RollingDeploy, Likely, []Class{RebalanceStorm}, deploy(ago(lasting(400)), 3).evidence()},
		{class, "near-evicted", "rebalances because a member is dropped again and again", "the process stands still again and again", SessionTimeout, Likely, []Class{RebalanceStorm}, stalled().evidence()},
		{class, "near-started", "a group that was started: its members came one by one", "a new application", Quiet, Confirmed, []Class{RebalanceStorm}, told(lagging(scaling, 0), func(x *tale) {
			x.turns = slices.Clone(x.turns[1:])
			for i := range x.turns {
				x.turns[i].generation = int32(i + 1)
			}
		})},
		{class, "starting", "a group that was started seven minutes ago: its members still come one by one, the last 20 s ago", "an autoscaler starts an application pod by pod", RebalanceStorm, Provisional, not, told(lagging(scaling, 0), func(x *tale) {
			x.turns = slices.Clone(x.turns)
			for i := range x.turns {
				at := 440 - 105*float64(i)
				x.turns[i].start, x.turns[i].at, x.turns[i].generation = ago(lasting(at+3)), ago(lasting(at)), int32(i+1)
			}
		})},
		{class, "near-coordinator-start", "three rebalances right after its coordinator started", "members came back one by one after a broker restart", Quiet, Confirmed, []Class{RebalanceStorm}, told(lagging(restless(3), 0), func(x *tale) { x.started = ago(lasting(485)) })},
	}
}
