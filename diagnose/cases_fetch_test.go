package diagnose

import "time"

// goingOn are n events every gap, from so long ago until now.
func goingOn(n float64, gap, from time.Duration) []event {
	var out []event
	for at := from; at > 0; at -= gap {
		out = append(out, event{ago(at), n})
	}
	return out
}

// climbing is a number of sessions that rises steadily from low to high over the
// last 20 min.
func climbing(low, high float64) func(time.Time) float64 {
	return func(t time.Time) float64 {
		share := 1 - t0.Sub(t).Seconds()/(20*60)
		return float64(int(low + (high-low)*max(0, share)))
	}
}

func sessionsDisabledCases() []synthCase {
	class := "sessions-disabled"
	with := func(slots int, sessions float64) brokerSpec {
		b := stable(3)
		b.slots, b.sessions, b.bytes = slots, always(sessions), [3]float64{707, 707, 707}
		return b
	}
	old := func(specs ...brokerSpec) Evidence {
		w := world(specs...)
		no := false
		w.sharded = &no
		return w.evidence()
	}
	return []synthCase{
		{class, "slots-0", "0 slots", "sessions are switched off", SessionsDisabled, Confirmed, nil, world(stable(1), stable(2), with(0, 0)).evidence()},
		{class, "slots-7", "7 slots over 8 shards", "a small setting switches sessions off without a word", SessionsDisabled, Confirmed, nil, world(stable(1), stable(2), with(7, 0)).evidence()},
		{class, "slots-1-no-metrics", "the article's one slot, and no metrics at all", "1 slot over 8 shards", SessionsDisabled, Likely, nil,
			func() Evidence {
				e := world(stable(1), stable(2), with(1, 0)).evidence()
				e.Metrics = MetricsSource{Reading: Reading{Status: StatusUnreachable, Error: "no answer"}}
				for i := range e.Brokers {
					e.Brokers[i].Signals = nil
				}
				return e
			}()},
		{class, "version-unknown", "5 slots, and whether the cache is sharded is not known; it stays empty", "sessions are off", SessionsDisabled, Likely, nil,
			func() Evidence {
				w := world(stable(1), stable(2), with(5, 0))
				w.sharded = nil
				return w.evidence()
			}()},
		{class, "near-slots-8", "8 slots: one a shard", "8 sessions", CacheSaturated, Confirmed, []Class{SessionsDisabled},
			func() Evidence {
				b := with(8, 8)
				b.bytes = [3]float64{300, 29, 707}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-old-broker", "7 slots before 3.8: one map, 7 sessions", "7 sessions (measured: 5 of 5 on 3.7.2)", CacheSaturated, Confirmed, []Class{SessionsDisabled},
			func() Evidence {
				b := with(7, 7)
				b.bytes = [3]float64{300, 29, 707}
				return old(stable(1), stable(2), b)
			}()},
		{class, "near-slots-unknown", "DescribeConfigs is forbidden and the cache is empty", "nobody can tell", Undecided, Open, []Class{SessionsDisabled},
			func() Evidence {
				e := world(stable(1), stable(2), with(0, 0)).evidence()
				e.Brokers[2].Slots = Setting{Reading: Reading{Status: StatusForbidden, Error: "DescribeConfigs: not authorized"}}
				return e
			}()},
	}
}

func epochCases() []synthCase {
	class := "epoch-mismatch"
	with := func(events []event) brokerSpec {
		b := stable(3)
		b.events = map[Signal][]event{SignalErrors71: events}
		return b
	}
	return []synthCase{
		{class, "duplicates", "a client sends each request twice (measured: one error for each pair)", "a faulty client library", EpochMismatch, Confirmed, []Class{CacheThrash},
			func() Evidence {
				e := world(stable(1), stable(2), with(goingOn(2, 10*time.Second, 25*time.Minute))).evidence()
				e.Brokers[2].SoftwareReading = ok("prometheus: connections")
				e.Brokers[2].Software = []Software{{"apache-kafka-java", "3.9.2", 20}, {"my-kafka", "0.1", 4}}
				return e
			}()},
		{class, "rare", "one a minute", "an old client", EpochMismatch, Confirmed, nil, world(stable(1), stable(2), with(goingOn(1, time.Minute, 25*time.Minute))).evidence()},
		{class, "beside-an-upgrade", "the broker was restarted 12 min ago", "may be the noise of the roll", EpochMismatch, Provisional, nil,
			func() Evidence {
				b := burstless(3, ago(12*time.Minute))
				b.events = map[Signal][]event{SignalErrors71: goingOn(2, 10*time.Second, 11*time.Minute)}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-once", "one error in 10 min", "noise", Quiet, Confirmed, []Class{EpochMismatch}, world(stable(1), stable(2), with([]event{{ago(4 * time.Minute), 1}})).evidence()},
		{class, "near-over", "a burst 12 min ago, none since", "a connection was cut once", Quiet, Confirmed, []Class{EpochMismatch}, world(stable(1), stable(2), with([]event{{ago(12 * time.Minute), 30}})).evidence()},
		{class, "just-begun", "errors for one minute, in four scrapes", "whether they go on is not known yet", EpochMismatch, Provisional, nil, world(stable(1), stable(2), with(goingOn(2, 10*time.Second, time.Minute))).evidence()},
		{class, "near-just-begun", "errors in two scrapes", "too young to tell", Undecided, Open, []Class{EpochMismatch}, world(stable(1), stable(2), with(goingOn(2, 10*time.Second, 30*time.Second))).evidence()},
		{class, "near-burst", "30 errors at once, a minute ago", "a connection was cut", Undecided, Open, []Class{EpochMismatch}, world(stable(1), stable(2), with([]event{{ago(time.Minute), 30}})).evidence()},
		{class, "near-floor", "12 errors in 10 min among 3 million fetches", "noise", Quiet, Confirmed, []Class{EpochMismatch},
			func() Evidence {
				b := with(goingOn(1, 50*time.Second, 25*time.Minute))
				b.fetches = 5000
				return world(stable(1), stable(2), b).evidence()
			}()},
	}
}

func misroutedCases() []synthCase {
	class := "misrouted-sessions"
	few := func(id int32, events map[Signal][]event) brokerSpec {
		b := stable(id)
		b.slots, b.sessions, b.consumers, b.followers, b.connections, b.byGroup = 64, always(64), 8, 1, 16, nil
		b.events, b.bytes = events, [3]float64{690, 700, 707}
		return b
	}
	storm := func(id int32, n float64) brokerSpec {
		b := stable(id)
		b.events = map[Signal][]event{SignalNotLeaderFetch: goingOn(n, 15*time.Second, 20*time.Minute)}
		return b
	}
	filling := func(id int32, share float64) brokerSpec {
		b := stable(id)
		b.slots, b.sessions, b.fetches = 10000, climbing(8, 1300), 2
		b.events = map[Signal][]event{SignalErrors70: goingOn(2*15*share, 15*time.Second, 20*time.Minute)}
		return b
	}
	told := func(events []event) brokerSpec {
		b := stable(3)
		b.events = map[Signal][]event{SignalRebootstrap: events}
		return b
	}
	thrash := alike(waves(64, every120(30*time.Second, 10)...))
	return []synthCase{
		{class, "rebootstrap", "clients and brokers 4.4 notice it themselves", "two brokers behind one address", MisroutedSessions, Confirmed, nil,
			world(stable(1), stable(2), told(goingOn(3, 30*time.Second, 10*time.Minute))).evidence()},
		{class, "told-once", "26 clients are told to bootstrap again within a minute, three minutes ago", "one address for several brokers, or an address that changed its owner", MisroutedSessions, Provisional, nil,
			world(stable(1), stable(2), told([]event{{ago(3 * time.Minute), 26}})).evidence()},
		{class, "not-leader-storm", "hundreds of NOT_LEADER a scrape on two brokers", "a balancer for connections, replication factor 1", MisroutedSessions, Confirmed, nil,
			world(stable(1), storm(2, 900), storm(3, 700)).evidence()},
		{class, "filling", "half of the fetches fail and each leaves a session behind", "a balancer for requests in front of two brokers", MisroutedSessions, Confirmed, []Class{LeakingClient, CacheThrash},
			world(stable(1), filling(2, 0.5), filling(3, 0.5)).evidence()},
		{class, "full", "waves and one error per eviction on two brokers, for 9 clients", "the same, once the cache is full: looks like thrashing", MisroutedSessions, Confirmed, []Class{CacheThrash},
			world(stable(1), few(2, thrash), few(3, thrash)).evidence()},
		{class, "one-broker-storm", "NOT_LEADER goes on, on one broker only", "a stale address", MisroutedSessions, Likely, nil, world(stable(1), stable(2), storm(3, 700)).evidence()},
		{class, "storm-just-begun", "NOT_LEADER on ListOffsets for a minute, 240 a second, on two brokers (measured: connections balanced, replicas on both)", "a balancer for connections", MisroutedSessions, Confirmed, []Class{Quiet},
			func() Evidence {
				a, b := stable(2), stable(3)
				for _, x := range []*brokerSpec{&a, &b} {
					x.events = map[Signal][]event{SignalNotLeaderList: goingOn(1200, 5*time.Second, time.Minute)}
				}
				return world(stable(1), a, b).evidence()
			}()},
		{class, "near-storm-too-short", "the same for 40 s: surely no longer than 25 s", "an election", Quiet, Confirmed, []Class{MisroutedSessions},
			func() Evidence {
				b := stable(3)
				b.events = map[Signal][]event{SignalNotLeaderList: goingOn(1200, 5*time.Second, 40*time.Second)}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-storm-at-return", "80 s of them, and leadership came back a minute ago: surely 15 s since", "a restart", Quiet, Confirmed, []Class{MisroutedSessions},
			func() Evidence {
				b := burstless(3, ago(90*time.Second))
				b.procs[1].leadersAt = ago(60 * time.Second)
				b.events = map[Signal][]event{SignalNotLeaderList: goingOn(50, 5*time.Second, 80*time.Second)}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-election", "NOT_LEADER for 30 s while leaders moved", "an election", Quiet, Confirmed, []Class{MisroutedSessions},
			func() Evidence {
				b := stable(3)
				b.events = map[Signal][]event{SignalNotLeaderFetch: goingOn(40, 15*time.Second, 30*time.Second)}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-share-6", "0.6 % of the fetches fail, as while thrashing", "thrashing on two brokers", CacheThrash, Confirmed, []Class{MisroutedSessions},
			func() Evidence {
				a, b := small(thrash), small(thrash)
				a.id = 2
				return world(stable(1), a, b).evidence()
			}()},
		{class, "near-one-broker", "waves for 9 clients on a single broker", "not a routing fault: that shows on several", Undecided, Open, []Class{MisroutedSessions, CacheThrash},
			world(stable(1), stable(2), few(3, thrash)).evidence()},
	}
}

// comesBack is broker 2 after restarts that were so long ago, 15 s down each.
func comesBack(starts ...time.Duration) brokerSpec {
	b := stable(2)
	b.procs = []proc{{start: ago(72 * time.Hour), leadersAt: ago(71 * time.Hour)}}
	for _, s := range starts {
		b.procs[len(b.procs)-1].end = ago(s + 15*time.Second)
		b.procs = append(b.procs, proc{start: ago(s), leadersAt: ago(s - 30*time.Second)})
	}
	return b
}

func followerCases() []synthCase {
	class := "follower-churn"
	each := every120(30*time.Second, 5)
	flapping := func(evictions, errors float64) brokerSpec {
		b := small(map[Signal][]event{SignalEvictions: waves(evictions, each...), SignalErrors70: waves(errors, each...)})
		b.urp = 6
		return b
	}
	four := func(when ...time.Duration) []event {
		var out []event
		for _, d := range when {
			out = append(out, event{ago(d), 4})
		}
		return out
	}
	young := func(up time.Duration) brokerSpec {
		b := small(alike(four(20 * time.Second)))
		b.procs = []proc{{start: ago(up), leadersAt: ago(up - 10*time.Second)}}
		b.sessions = func(t time.Time) float64 { return min(64, max(0, 3*t.Sub(ago(up-10*time.Second)).Seconds())) }
		return b
	}
	echo := func(dead float64) Evidence {
		b := small(map[Signal][]event{
			SignalErrors70:  four(6 * time.Minute),
			SignalEvictions: append(four(6*time.Minute), event{ago(4*time.Minute + 20*time.Second), dead}),
		})
		return world(stable(1), comesBack(6*time.Minute+20*time.Second), b).evidence()
	}
	return []synthCase{
		{class, "flapping", "450 evictions on 64 slots and 6 under-replicated partitions", "replica fetchers reconnect again and again", FollowerChurn, Confirmed, []Class{CacheThrash},
			world(stable(1), stable(2), flapping(90, 90)).evidence()},
		{class, "flapping-half-dead", "49 errors for 100 evictions: refused consumers take the fetchers' old sessions", "replica fetchers reconnect again and again", FollowerChurn, Confirmed, []Class{CacheThrash},
			world(stable(1), stable(2), flapping(100, 49)).evidence()},
		{class, "just-above-most", "68 evictions within 15 s on 64 slots", "consumers alone cannot do that", FollowerChurn, Confirmed, []Class{CacheThrash},
			world(stable(1), stable(2), flapping(68, 68)).evidence()},
		{class, "young-cache", "four evictions, and the broker started 110 s ago: no session is old enough for a consumer to evict", "replica fetchers took four slots", FollowerChurn, Likely, []Class{CacheThrash, RestartBurst},
			world(stable(1), stable(2), young(110*time.Second)).evidence()},
		{class, "step", "four evictions when broker 2 came back, four minutes ago", "its fetchers took four slots (measured: +4)", FollowerChurn, Confirmed, []Class{CacheThrash},
			world(stable(1), burstless(2, ago(5*time.Minute)), small(alike(four(4*time.Minute+20*time.Second)))).evidence()},
		{class, "step-at-the-stop", "four evictions when broker 2 stopped and four when it came back, four minutes ago (measured on 3.9.2)", "replica fetchers of broker 1 took four slots, and those of broker 2 as many", FollowerChurn, Confirmed, []Class{CacheThrash},
			func() Evidence {
				b := small(alike(four(5*time.Minute+20*time.Second, 4*time.Minute+20*time.Second)))
				b.followers = 8
				return world(stable(1), burstless(2, ago(5*time.Minute)), b).evidence()
			}()},
		{class, "step-just-now", "the step is 20 s old", "whether it was one step is not known yet", FollowerChurn, Provisional, nil,
			world(stable(1), burstless(2, ago(60*time.Second)), small(alike(four(20*time.Second)))).evidence()},
		{class, "restarts", "broker 2 was restarted three times, four evictions each", "its fetchers took four slots each time", FollowerChurn, Confirmed, []Class{CacheThrash},
			world(stable(1), comesBack(8*time.Minute, 5*time.Minute, 2*time.Minute), small(alike(four(7*time.Minute+30*time.Second, 4*time.Minute+30*time.Second, 90*time.Second)))).evidence()},
		{class, "step-and-echo", "four evictions when broker 2 came back, and four without an error 100 s later", "refused consumers took the slots of its old sessions back", FollowerChurn, Confirmed, []Class{CacheThrash}, echo(4)},
		{class, "near-echo", "twelve evictions without an error 100 s later", "more than its fetchers had", Undecided, Open, []Class{FollowerChurn}, echo(12)},
		{class, "near-most", "384 evictions: exactly what consumers can cause", "thrashing", CacheThrash, Confirmed, []Class{FollowerChurn},
			world(stable(1), stable(2), small(alike(waves(64, every120(30*time.Second, 5)...)))).evidence()},
		{class, "near-just-above-most", "67 evictions within 15 s on 64 slots: readings differ by as much", "thrashing", CacheThrash, Confirmed, []Class{FollowerChurn},
			world(stable(1), stable(2), small(alike(waves(67, each...)))).evidence()},
		{class, "near-young-cache", "four evictions, and the broker started 170 s ago", "sessions of the first half minute are old enough", CacheThrash, Provisional, []Class{FollowerChurn},
			world(stable(1), stable(2), young(170*time.Second)).evidence()},
		{class, "near-step-too-large", "twenty evictions when broker 2 came back", "more than its fetchers", CacheThrash, Provisional, []Class{FollowerChurn},
			world(stable(1), burstless(2, ago(3*time.Minute)), small(alike([]event{{ago(2*time.Minute + 20*time.Second), 20}}))).evidence()},
		{class, "near-step-late", "four evictions, three minutes after broker 2 came back", "thrashing has just begun", CacheThrash, Provisional, []Class{FollowerChurn},
			world(stable(1), burstless(2, ago(4*time.Minute)), small(alike(four(50*time.Second)))).evidence()},
		{class, "near-dead", "300 evictions and no session error", "consumers replace dead sessions", DeadSessionTurnover, Confirmed, []Class{FollowerChurn},
			func() Evidence {
				b := small(map[Signal][]event{SignalEvictions: waves(60, each...)})
				b.consumers, b.connections, b.byGroup, b.made = 30, 40, nil, 2
				return world(stable(1), stable(2), b).evidence()
			}()},
	}
}

func turnoverCases() []synthCase {
	class := "dead-session-turnover"
	with := func(perWave, made float64) brokerSpec {
		b := small(map[Signal][]event{SignalEvictions: waves(perWave, every120(30*time.Second, 10)...)})
		b.consumers, b.connections, b.byGroup, b.bytes, b.made = 30, 40, nil, [3]float64{42, 29, 707}, made
		return b
	}
	return []synthCase{
		{class, "cron-jobs", "8 dead sessions a period make room for 8 short-lived clients", "console consumers run by cron, 32 live clients on 64 slots", DeadSessionTurnover, Confirmed, []Class{CacheThrash, CacheNearLimit},
			world(stable(1), stable(2), with(8, 0.2)).evidence()},
		{class, "at-the-ceiling", "32 a period: all that can expire", "more short-lived clients than slots expire (measured: 71 to 75 % of their fetches refused)", DeadSessionTurnover, Confirmed, nil,
			world(stable(1), stable(2), with(32, 2)).evidence()},
		{class, "connections-not-exported", "32 a period, and new connections are not exported", "short-lived clients, or one that leaks", DeadSessionTurnover, Likely, nil,
			func() Evidence {
				b := with(32, 2)
				b.omit = []Signal{SignalConnectionsMade}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "demand-unknown", "groups may not be described", "dead sessions all the same: no error", DeadSessionTurnover, Likely, nil,
			func() Evidence {
				b := with(8, 0.2)
				b.consumers = -1
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "no-new-connection", "20 sessions replaced without a new connection, and 32 clients could have waited for a slot", "clients that were refused before take the slots of dead sessions", DeadSessionTurnover, Likely, []Class{LeakingClient},
			world(stable(1), stable(2), with(4, 0)).evidence()},
		{class, "some-live", "one error in ten evictions: larger clients displace a few sessions in use", "short-lived clients, beside a few with more partitions than the others", DeadSessionTurnover, Likely, nil,
			func() Evidence {
				b := with(40, 2)
				b.events[SignalErrors70] = waves(4, every120(30*time.Second, 10)...)
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-half-live", "one error in two evictions", "sessions in use are evicted, and too few clients are counted to fill the cache", Undecided, Open, []Class{DeadSessionTurnover},
			func() Evidence {
				b := with(40, 2)
				b.events[SignalErrors70] = waves(20, every120(30*time.Second, 10)...)
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-demand-80", "demand is 80 % of the capacity", "too many clients for dead sessions to fill the cache", Undecided, Open, []Class{DeadSessionTurnover},
			func() Evidence {
				b := with(8, 0.2)
				b.slots, b.sessions, b.consumers, b.followers, b.connections = 80, always(80), 62, 2, 90
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-leak", "32 a period without a new connection", "a client that stays connected opens them", LeakingClient, Likely, []Class{DeadSessionTurnover},
			world(stable(1), stable(2), with(32, 0.02)).evidence()},
	}
}

func leakCases() []synthCase {
	class := "leaking-client"
	sarama := func(e Evidence) Evidence {
		b := &e.Brokers[len(e.Brokers)-1]
		b.SoftwareReading = ok("prometheus: connections")
		b.Software = []Software{{"apache-kafka-java", "3.9.2", 20}, {"sarama", "1.26.1", 3}}
		return e
	}
	rising := func(low, high, made float64) brokerSpec {
		b := stable(3)
		b.sessions, b.made = climbing(low, high), made
		return b
	}
	full := func() brokerSpec {
		b := small(map[Signal][]event{SignalEvictions: waves(32, every120(30*time.Second, 10)...)})
		b.consumers, b.connections, b.byGroup, b.bytes = 30, 40, nil, [3]float64{42, 29, 707}
		return b
	}
	return []synthCase{
		{class, "sarama-1.26.1", "sessions climb, and Sarama 1.26.1 is connected", "it opens a session with every fetch (IBM/sarama#1644)", LeakingClient, Confirmed, []Class{DeadSessionTurnover, MisroutedSessions},
			sarama(world(stable(1), stable(2), rising(100, 700, 0.02)).evidence())},
		{class, "unknown-client", "600 sessions more in 20 min for 58 connections, and hardly a new one", "a hand-written client opens one after the other", LeakingClient, Likely, nil,
			world(stable(1), stable(2), rising(100, 700, 0.02)).evidence()},
		{class, "full", "the cache is full of its dead sessions", "the same, later", LeakingClient, Confirmed, []Class{DeadSessionTurnover},
			sarama(world(stable(1), stable(2), full()).evidence())},
		{class, "full-beside-a-deploy", "32 a period, and 300 connections that were opened at once six minutes ago", "a client leaks; others were deployed meanwhile", LeakingClient, Likely, []Class{DeadSessionTurnover},
			func() Evidence {
				b := full()
				b.events[SignalConnectionsMade] = []event{{ago(6 * time.Minute), 300}}
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-restart", "sessions climb to 40 in the minutes after a restart", "everybody opens one", Quiet, Confirmed, []Class{LeakingClient},
			func() Evidence {
				b := restarted(3, ago(14*time.Minute), ago(13*time.Minute))
				b.sessions = func(t time.Time) float64 { return min(40, max(0, t.Sub(ago(13*time.Minute)).Seconds()/10)) }
				return world(stable(1), stable(2), b).evidence()
			}()},
		{class, "near-come-and-go", "sessions climb, each with a new connection", "short-lived clients: dead sessions gather, nobody is hurt", Quiet, Confirmed, []Class{LeakingClient},
			world(stable(1), stable(2), rising(100, 700, 1)).evidence()},
		{class, "near-within-clients", "sessions climb to 50, for 58 connections", "clients start one after the other", Quiet, Confirmed, []Class{LeakingClient},
			world(stable(1), stable(2), rising(10, 50, 0.02)).evidence()},
		{class, "near-sarama-1.26.2", "the mended release, sessions stay", "no leak", Quiet, Confirmed, []Class{LeakingClient},
			func() Evidence {
				e := sarama(world(stable(1), stable(2), stable(3)).evidence())
				e.Brokers[2].Software[1].Version = "1.26.2"
				return e
			}()},
	}
}
