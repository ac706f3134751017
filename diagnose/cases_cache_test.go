package diagnose

import "time"

// small is a broker with 64 slots and 83 clients.
func small(events map[Signal][]event) brokerSpec {
	b := stable(3)
	b.slots, b.consumers, b.followers, b.connections = 64, 81, 2, 170
	b.sessions = always(64)
	b.events = events
	b.bytes = [3]float64{165, 29, 707}
	b.byGroup = []GroupDemand{{"clickstream", 60}, {"billing", 21}}
	return b
}

// alike gives both counters the same events: one error per eviction.
func alike(events []event) map[Signal][]event {
	return map[Signal][]event{SignalErrors70: events, SignalEvictions: events}
}

// every120 are the waves of the last minutes; the last one was so long ago.
func every120(last time.Duration, n int) []time.Time {
	var out []time.Time
	for i := range n {
		out = append(out, ago(last+time.Duration(n-1-i)*120*time.Second))
	}
	return out
}

func thrashCases() []synthCase {
	class := "cache-thrash"
	thrash := alike(waves(64, every120(30*time.Second, 10)...))
	return []synthCase{
		{
			class, "waves", "64 evictions within 15 s, every 120 s", "83 clients on 64 slots",
			CacheThrash, Confirmed, []Class{RestartBurst, CacheNearLimit},
			world(stable(1), stable(2), small(thrash)).evidence(),
		},
		{
			class, "in-its-silence", "judged 100 s after the last wave, in the silence between two", "83 clients on 64 slots",
			CacheThrash, Confirmed, []Class{Quiet},
			world(stable(1), stable(2), small(alike(waves(64, every120(104*time.Second, 10)...)))).evidence(),
		},
		{
			class, "one-wave", "only one wave so far", "thrashing has just begun",
			CacheThrash, Provisional, nil,
			world(stable(1), stable(2), small(alike(waves(64, ago(40*time.Second))))).evidence(),
		},
		{
			class, "by-connections", "the clients are in no group: only connections show them", "83 clients outside groups on 64 slots",
			CacheThrash, Likely, nil,
			func() Evidence {
				b := small(thrash)
				b.consumers, b.connections, b.byGroup = 0, 85, nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "after-restart", "a burst at the return of leadership, then waves: upgraded", "the broker was restarted and its cache is too small",
			CacheThrash, Confirmed, nil,
			func() Evidence {
				b := small(nil)
				back := ago(9 * time.Minute)
				b.procs = restarted(3, back.Add(-30*time.Second), back).procs
				b.sessions = func(t time.Time) float64 {
					if t.Before(back) {
						return 0
					}
					return 64
				}
				w := waves(64, back.Add(125*time.Second), back.Add(245*time.Second), back.Add(365*time.Second), back.Add(485*time.Second))
				b.events = map[Signal][]event{SignalErrors70: append([]event{{back.Add(time.Second), 60}}, w...), SignalEvictions: w}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "with-106", "topic id errors beside the waves: a routing fault is not excluded", "83 clients on 64 slots",
			CacheThrash, Likely, nil,
			func() Evidence {
				b := small(alike(waves(64, every120(30*time.Second, 10)...)))
				b.events[SignalErrors106] = []event{{ago(5 * time.Minute), 4}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-routing", "waves and one error per eviction on two brokers, but 9 clients only", "one address spread over two brokers, balanced per request",
			MisroutedSessions, Confirmed, nil,
			func() Evidence {
				a, b := small(thrash), small(thrash)
				a.id = 2
				a.consumers, a.followers, a.connections, a.byGroup = 8, 1, 16, nil
				b.consumers, b.followers, b.connections, b.byGroup = 8, 1, 16, nil
				return world(stable(1), a, b).evidence()
			}(),
		},
		{
			class, "near-demand-85", "demand is exactly 85 % of the capacity", "1 client below the threshold",
			Undecided, Open, nil,
			func() Evidence {
				b := small(thrash)
				b.slots, b.sessions, b.consumers, b.followers, b.connections = 80, always(80), 66, 2, 68
				b.byGroup = nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-demand-unknown", "groups may not be described", "thrashing or a routing fault: nobody can tell",
			Undecided, Open, nil,
			func() Evidence {
				b := small(thrash)
				b.consumers = -1
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-ratio", "49 errors per 100 evictions", "mostly dead sessions",
			Undecided, Open, nil,
			func() Evidence {
				moments := every120(30*time.Second, 5)
				b := small(map[Signal][]event{SignalEvictions: waves(100, moments...), SignalErrors70: waves(49, moments...)})
				b.slots, b.consumers, b.sessions = 104, 120, always(104)
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-room", "94 % of the capacity", "evictions with room in the cache fit no rule",
			Undecided, Open, nil,
			func() Evidence {
				b := small(alike(waves(20, every120(30*time.Second, 5)...)))
				b.slots, b.sessions, b.consumers = 800, always(752), 790
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-followers", "more evictions than consumers can cause", "replica fetchers flap",
			FollowerChurn, Likely, nil,
			world(stable(1), stable(2), small(alike(waves(90, every120(30*time.Second, 5)...)))).evidence(),
		},
		{
			class, "near-follower-step", "four evictions when broker 2 came back", "its fetchers took four slots from consumers",
			FollowerChurn, Provisional, nil,
			world(stable(1), burstless(2, ago(3*time.Minute)), small(alike([]event{{ago(2*time.Minute + 20*time.Second), 4}}))).evidence(),
		},
		{
			class, "near-evictions-absent", "the exporter has no eviction series (OTel rules, Metrics Reporter defaults)", "83 clients on 64 slots, but nobody can see the evictions",
			Undecided, Open, nil,
			func() Evidence {
				b := small(thrash)
				b.omit = []Signal{SignalEvictions}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-dead-sessions", "64 evictions, no error", "short-lived clients that never close",
			DeadSessionTurnover, Confirmed, nil,
			func() Evidence {
				b := small(map[Signal][]event{SignalEvictions: waves(32, every120(30*time.Second, 5)...)})
				b.consumers, b.connections, b.byGroup, b.made = 30, 40, nil, 2
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
	}
}

// burstless is a broker that restarted and had no session error.
func burstless(id int32, start time.Time) brokerSpec {
	return restarted(id, start, start.Add(30*time.Second))
}

func saturatedCases() []synthCase {
	class := "cache-saturated"
	full := func() brokerSpec { b := small(nil); b.bytes = [3]float64{184, 29, 707}; return b }
	return []synthCase{
		{
			class, "counted", "83 clients on 64 slots, Java 4.4 clients", "19 clients run without a session, in silence",
			CacheSaturated, Confirmed, []Class{CacheThrash, CacheNearLimit},
			world(stable(1), stable(2), full()).evidence(),
		},
		{
			class, "by-request-size", "demand is not readable; 23 % of the fetches are full", "19 clients run without a session",
			CacheSaturated, Likely, nil,
			func() Evidence { b := full(); b.consumers = -1; return world(stable(1), stable(2), b).evidence() }(),
		},
		{
			class, "near-fits", "64 clients on 64 slots", "everybody has a session",
			CacheNearLimit, Confirmed, nil,
			func() Evidence {
				b := full()
				b.consumers, b.connections, b.bytes = 62, 64, [3]float64{42, 29, 707}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-full-of-dead", "N = C and all is quiet: dead sessions fill the cache over days", "32 clients, 64 slots",
			Quiet, Confirmed, []Class{CacheNearLimit},
			func() Evidence {
				b := full()
				b.consumers, b.connections, b.bytes, b.byGroup = 30, 40, [3]float64{42, 29, 707}, nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-full-of-dead-loose", "the same with 80 connections: no more than 30 members may have", "32 clients, 64 slots",
			Quiet, Likely, []Class{CacheNearLimit},
			func() Evidence {
				b := full()
				b.consumers, b.connections, b.bytes, b.byGroup = 30, 80, [3]float64{42, 29, 707}, nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-many-connections", "107 connections, more than 30 members have: clients outside groups", "whether anybody is refused is not visible",
			CacheNearLimit, Likely, nil,
			func() Evidence {
				b := full()
				b.consumers, b.connections, b.bytes, b.byGroup = 30, 107, [3]float64{42, 29, 707}, nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-share-6", "80 connections for 30 members, and 6 % of the fetches are full", "somebody may be refused",
			CacheNearLimit, Likely, nil,
			func() Evidence {
				b := full()
				b.consumers, b.connections, b.bytes, b.byGroup = 30, 80, [3]float64{70, 29, 707}, nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-share-9", "demand unknown, 9 % of the fetches are full", "not enough to say that clients are refused",
			CacheNearLimit, Likely, nil,
			func() Evidence {
				b := full()
				b.consumers, b.bytes = -1, [3]float64{90, 29, 707}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-slots-7", "7 slots over 8 shards: no session at all", "sessions are switched off by a small setting",
			SessionsDisabled, Confirmed, []Class{CacheNearLimit, CacheThrash},
			func() Evidence {
				b := full()
				b.slots, b.sessions = 7, always(0)
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-version-unknown", "100 slots, and whether they are sharded is not known", "capacity is 96 or 100",
			Undecided, Open, nil,
			func() Evidence {
				b := full()
				b.slots, b.sessions = 100, always(96)
				w := world(stable(1), stable(2), b)
				w.sharded = nil
				return w.evidence()
			}(),
		},
	}
}

func nearLimitCases() []synthCase {
	class := "cache-near-limit"
	with := func(consumers int, sessions float64) brokerSpec {
		b := stable(3)
		b.consumers, b.followers, b.connections, b.sessions = consumers, 20, 2200, always(sessions)
		return b
	}
	return []synthCase{
		{
			class, "counted-80", "780 consumers and 20 replica fetchers on 1,000 slots", "80 % of the slots are needed",
			CacheNearLimit, Confirmed, nil,
			world(stable(1), stable(2), with(780, 830)).evidence(),
		},
		{
			class, "at-capacity", "the cache is full, groups may not be described", "overflow is not visible",
			CacheNearLimit, Likely, nil,
			world(stable(1), stable(2), with(-1, 1000)).evidence(),
		},
		{
			class, "plateau", "700 sessions ten minutes after a restart", "700 clients need one of 1,000 slots",
			CacheNearLimit, Likely, nil,
			func() Evidence {
				b := with(-1, 700)
				b.procs = restarted(3, ago(11*time.Minute), ago(10*time.Minute)).procs
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-79", "779 consumers and 20 replica fetchers on 1,000 slots", "one below the threshold",
			Quiet, Confirmed, nil,
			world(stable(1), stable(2), with(779, 830)).evidence(),
		},
		{
			class, "near-94", "94 % of the slots are used, demand unknown", "not full: nobody is refused",
			Quiet, Likely, nil,
			world(stable(1), stable(2), with(-1, 940)).evidence(),
		},
		{
			class, "near-plateau-69", "690 sessions ten minutes after a restart", "one step below the threshold",
			Quiet, Confirmed, nil,
			func() Evidence {
				b := with(-1, 690)
				b.procs = restarted(3, ago(11*time.Minute), ago(10*time.Minute)).procs
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
	}
}
