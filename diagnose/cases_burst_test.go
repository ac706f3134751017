package diagnose

import (
	"slices"
	"time"
)

// syntheticCases lists every synthetic case of this package's own rules.
func syntheticCases() []synthCase {
	var out []synthCase
	for _, cs := range [][]synthCase{burstCases(), thrashCases(), saturatedCases(), nearLimitCases(), sessionsDisabledCases(), epochCases(), misroutedCases(), followerCases(), turnoverCases(), leakCases(), lagCases(), quietCases(), undecidedCases(), membershipCases(), exportedCases(), podCases()} {
		out = append(out, cs...)
	}
	return out
}

// burst is a broker restarted so long ago, whose leaders came back 40 s after
// the start, with n errors at that moment.
func burst3(since time.Duration, n float64) brokerSpec {
	back := ago(since)
	b := restarted(3, back.Add(-40*time.Second), back)
	b.events = map[Signal][]event{SignalErrors70: {{back.Add(200 * time.Millisecond), n}}}
	return b
}

// uncalled drops the error counters of the last broker from a moment on.
func uncalled(e Evidence, from time.Time) Evidence {
	b := &e.Brokers[len(e.Brokers)-1]
	m := b.Signals[SignalErrorsAny]
	m.Series = slices.Clone(m.Series)
	for i, s := range m.Series {
		m.Series[i].Samples = slices.DeleteFunc(slices.Clone(s.Samples), func(x Sample) bool { return x.T.After(from) })
	}
	b.Signals[SignalErrorsAny] = m
	return e
}

func burstCases() []synthCase {
	class := "restart-burst"
	return []synthCase{
		{
			class, "during", "three brokers, scrape 15 s, one restarted", "broker 3 was restarted and took its leaders back 60 s ago; 20 Java consumers got one error 70 each",
			RestartBurst, Provisional, []Class{CacheThrash},
			world(stable(1), stable(2), burst3(time.Minute, 20)).evidence(),
		},
		{
			class, "over", "the same broker nine minutes later", "the burst is over",
			RestartBurst, Confirmed, []Class{CacheThrash},
			world(stable(1), stable(2), burst3(9*time.Minute, 20)).evidence(),
		},
		{
			class, "one-step-before-over", "silent for 4 min, two periods but not yet a scrape more", "the burst is nearly over",
			RestartBurst, Provisional, nil,
			world(stable(1), stable(2), burst3(4*time.Minute, 20)).evidence(),
		},
		{
			class, "born-high", "the error series is born with 640: increase() sees 0", "a big burst: 640 consumers",
			RestartBurst, Provisional, []Class{CacheThrash},
			func() Evidence {
				b := burst3(90*time.Second, 640)
				b.consumers, b.connections = 700, 1500
				b.sessions = func(t time.Time) float64 {
					if t.Before(ago(90 * time.Second)) {
						return 0
					}
					return 702
				}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "instance-renamed", "the pod came back under another instance label: no reset to be seen", "broker 3 was rescheduled; 20 errors",
			RestartBurst, Confirmed, nil,
			func() Evidence {
				b := burst3(8*time.Minute, 20)
				b.procs[0].instance, b.procs[1].instance = "10.2.4.1:9404", "10.2.7.9:9404"
				b.events[SignalErrors70] = append(b.events[SignalErrors70], event{ago(14 * time.Minute), 3}) // before the restart
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "leadership-not-back", "no preferred election yet", "broker 3 restarted 2 min ago and leads nothing: the burst is still to come",
			RestartBurst, Provisional, nil,
			world(stable(1), stable(2), restarted(3, ago(2*time.Minute), time.Time{})).evidence(),
		},
		{
			class, "leadership-not-back-uncalled", "the same, and nobody has called it since: no error counter is born yet", "broker 3 restarted 2 min ago and leads nothing: the burst is still to come",
			RestartBurst, Provisional, nil,
			uncalled(world(stable(1), stable(2), restarted(3, ago(2*time.Minute), time.Time{})).evidence(), ago(2*time.Minute)),
		},
		{
			class, "near-uncalled-leads", "it leads again, and its error counters are gone", "the exporter lost them: nobody can tell",
			Undecided, Open, nil,
			uncalled(world(stable(1), stable(2), restarted(3, ago(2*time.Minute), ago(100*time.Second))).evidence(), ago(2*time.Minute)),
		},
		{
			class, "back-since-the-scrape", "leaders are 0 at the last scrape, and Kafka names the broker as leader since (3.9.2)", "leadership came back seconds ago: the burst shows in the next scrape",
			RestartBurst, Provisional, []Class{Quiet},
			func() Evidence {
				e := world(stable(1), stable(2), restarted(3, ago(30*time.Second), time.Time{})).evidence()
				none, four := 0, 4
				e.Brokers[2].Awaited, e.Brokers[2].Leading = &none, &four
				return e
			}(),
		},
		{
			class, "slow-pollers", "four members that poll every 3 s", "two errors at the return of leadership, two 8 s later",
			RestartBurst, Confirmed, nil,
			func() Evidence {
				b := burst3(7*time.Minute, 2)
				b.events[SignalErrors70] = append(b.events[SignalErrors70], event{ago(7*time.Minute - 8100*time.Millisecond), 2})
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "killed-few", "kill -9: clients with a fetch in flight get no error", "2 of 10 slow consumers got one",
			RestartBurst, Confirmed, nil,
			func() Evidence {
				b := burst3(8*time.Minute, 2)
				b.consumers = 10
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "leaders-not-exported", "LeaderCount is dropped by the exporter", "a burst that is over; its timing cannot be checked",
			RestartBurst, Likely, nil,
			func() Evidence {
				b := burst3(15*time.Minute, 20)
				b.omit = []Signal{SignalLeaders}
				w := world(stable(1), stable(2), b)
				return w.evidence()
			}(),
		},
		{
			class, "start-not-exported", "no process start (Bitnami): inferred from counters that fell", "a burst that is over",
			RestartBurst, Likely, nil,
			func() Evidence {
				b := burst3(8*time.Minute, 20)
				b.omit = []Signal{SignalProcessStart}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "twice", "the broker was restarted twice within eight minutes", "two bursts of 20, the second 5 min ago",
			RestartBurst, Confirmed, []Class{CacheThrash},
			func() Evidence {
				b := burst3(5*time.Minute, 20)
				first := ago(8 * time.Minute)
				b.procs = []proc{
					{start: ago(72 * time.Hour), end: first.Add(-time.Minute), leadersAt: ago(71 * time.Hour)},
					{start: first.Add(-40 * time.Second), leadersAt: first, end: ago(6 * time.Minute)},
					{start: ago(5*time.Minute + 40*time.Second), leadersAt: ago(5 * time.Minute)},
				}
				b.events[SignalErrors70] = append(b.events[SignalErrors70], event{first.Add(time.Second), 20})
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "short-range", "the samples begin after the burst: only the raw value shows it", "20 errors, 12 min ago",
			RestartBurst, Likely, nil,
			func() Evidence {
				w := world(stable(1), stable(2), burst3(12*time.Minute, 20))
				w.reach = 10 * time.Minute
				return w.evidence()
			}(),
		},
		{
			class, "near-goes-on", "20 errors at the return of leadership, 8 more two minutes later", "something else goes on; the cache has room",
			Undecided, Open, []Class{CacheThrash},
			func() Evidence {
				b := burst3(5*time.Minute, 20)
				b.events[SignalErrors70] = append(b.events[SignalErrors70], event{ago(3 * time.Minute), 8})
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-too-many", "three errors a client at the return of leadership", "60 errors cannot come from 20 clients' dead sessions",
			Undecided, Open, nil,
			func() Evidence {
				b := burst3(2*time.Minute, 60)
				b.connections = -1
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-killed", "kill -9 with a fetch in flight everywhere", "restarted 5 min ago, no error at all: nothing to explain",
			Quiet, Confirmed, nil,
			func() Evidence {
				b := burst3(5*time.Minute, 0)
				b.events = nil
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-late", "the broker started 16 min before the errors", "errors outside the grace of 15 min, with no return of leadership",
			Undecided, Open, nil,
			func() Evidence {
				b := burst3(18*time.Minute, 0)
				b.events = map[Signal][]event{SignalErrors70: {{ago(2 * time.Minute), 20}}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-no-restart", "the same 20 errors in one scrape on a broker that is up for three days", "no restart",
			Undecided, Open, nil,
			func() Evidence {
				b := stable(3)
				b.events = map[Signal][]event{SignalErrors70: {{ago(2 * time.Minute), 20}}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
	}
}
