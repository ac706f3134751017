package diagnose

import (
	"fmt"
	"time"
)

// lagSpec describes a group's lag: from, to, over the window in 10 points.
type lagSpec struct {
	totals        []int64
	span          time.Duration
	produce, took int64 // records over the span
}

// orders is a stable group of three members.
func orders(l lagSpec) Group {
	g := Group{
		Reading: ok("kafka: DescribeGroups"), ID: "orders", Protocol: "classic", ProtocolType: "consumer", Coordinator: 2,
		History: GroupHistory{
			Reading: ok("kafka: __consumer_offsets-12"), OffsetsPartition: 12, From: ago(3 * time.Hour), Baseline: true,
			Records: []GroupRecord{{At: ago(3 * time.Hour), Generation: 4, Leader: "m-0", Members: recordMembers(3)}},
		},
		Snapshots:  []GroupSnapshot{{At: ago(time.Hour), Until: t0, State: "Stable", Assignor: "range", Epoch: -1, Members: members(3)}},
		LagReading: ok("kafka: ListOffsets, OffsetFetch"),
	}
	n := len(l.totals)
	for i, total := range l.totals {
		at, end, done := t0, int64(1_000_000)+l.produce, int64(990_000)+l.took
		if n > 1 {
			part := int64(i) * 1000 / int64(n-1)
			at = ago(l.span - time.Duration(i)*l.span/time.Duration(n-1))
			end, done = 1_000_000+l.produce*part/1000, 990_000+l.took*part/1000
		}
		g.Lag = append(g.Lag, LagPoint{At: at, Total: total, EndTotal: end, CommittedTotal: done})
	}
	return g
}

func members(n int) []Member {
	var out []Member
	for i := range n {
		out = append(out, Member{ID: fmt.Sprintf("m-%d", i), ClientID: fmt.Sprintf("orders-%d", i), Host: fmt.Sprintf("10.2.7.%d", 30+i), Epoch: -1,
			Partitions: []TopicPartition{{"orders", int32(2 * i)}, {"orders", int32(2*i + 1)}}})
	}
	return out
}

func recordMembers(n int) []RecordMember {
	var out []RecordMember
	for i := range n {
		out = append(out, RecordMember{ID: fmt.Sprintf("m-%d", i), ClientID: fmt.Sprintf("orders-%d", i), Host: fmt.Sprintf("10.2.7.%d", 30+i),
			RebalanceTimeoutMS: 300_000, SessionTimeoutMS: 45_000, Partitions: []TopicPartition{{"orders", int32(2 * i)}, {"orders", int32(2*i + 1)}}})
	}
	return out
}

// ask is evidence for a question about a group.
func ask(g Group) Evidence {
	w := world(stable(1), stable(2), stable(3))
	w.target = nil
	e := w.evidence()
	for i := range e.Brokers {
		// A question about a group needs no session series.
		for sig := range e.Brokers[i].Signals {
			if sig != SignalProcessStart && sig != SignalErrorsAny && sig != SignalHeartbeat25 && sig != SignalOffsetCommit25 {
				delete(e.Brokers[i].Signals, sig)
			}
		}
	}
	e.Target = Target{Cluster: "kafka-prod", Group: g.ID}
	e.Groups = []Group{g}
	return e
}

func ramp(from, to int64) []int64 {
	var out []int64
	for i := range int64(10) {
		out = append(out, from+(to-from)*i/9)
	}
	return out
}

// startedLagging is a group that was started two minutes ago and whose lag was
// seen for the last 60 s.
func startedLagging(totals []int64) Evidence {
	g := orders(lagSpec{totals: totals, span: time.Minute, produce: 9_000, took: 5_000})
	g.History.Records[0].At, g.History.Records[0].Generation = ago(2*time.Minute), 1
	g.History.From, g.Snapshots[0].At = ago(2*time.Minute), ago(110*time.Second)
	return ask(g)
}

func lagCases() []synthCase {
	class := "lag-stable-group"
	grows := lagSpec{totals: ramp(10_000, 40_000), span: 600 * time.Second, produce: 90_000, took: 60_000}
	return []synthCase{
		{
			class, "grows", "lag 10,000 → 40,000 in 10 min, three members all the time", "150 records/s come in, 100 are processed",
			LagStableGroup, Confirmed, nil, ask(orders(grows)),
		},
		{
			class, "stuck", "nothing is committed, the members are there", "the processing hangs while poll goes on",
			LagStableGroup, Confirmed, nil,
			ask(orders(lagSpec{totals: ramp(10_000, 100_000), span: 600 * time.Second, produce: 90_000})),
		},
		{
			class, "membership-not-visible", "no watcher, no offsets topic", "lag grows; whether somebody left is not known",
			LagStableGroup, Likely, nil,
			func() Evidence {
				g := orders(grows)
				g.History = GroupHistory{Reading: Reading{Status: StatusForbidden, Hint: "grant READ on __consumer_offsets"}, OffsetsPartition: -1}
				g.Snapshots[0].At = t0
				e := ask(g)
				e.Watcher = Watcher{}
				return e
			}(),
		},
		{
			class, "near-999", "lag grew by 999 records", "one record below the threshold",
			Quiet, Confirmed, nil,
			ask(orders(lagSpec{totals: ramp(10_000, 10_999), span: 600 * time.Second, produce: 60_999, took: 60_000})),
		},
		{
			class, "near-falling", "lag peaked and is falling", "the group catches up",
			Quiet, Confirmed, nil,
			ask(orders(lagSpec{totals: []int64{10_000, 90_000, 80_000, 70_000, 60_000, 50_000}, span: 600 * time.Second, produce: 90_000, took: 50_000})),
		},
		{
			class, "since-the-start", "a group that was started two minutes ago; lag was seen in four looks since, higher each time", "the producer is faster than the consumers",
			LagStableGroup, Provisional, nil, startedLagging(ramp(10_000, 14_000)[:4]),
		},
		{
			class, "near-saw-tooth", "the same, but lag fell once between two looks", "a burst, or commits every minute",
			Undecided, Open, []Class{LagStableGroup}, startedLagging([]int64{10_000, 12_000, 11_500, 14_000}),
		},
		{
			class, "near-two-looks", "the same, in two looks", "a burst, or commits every minute",
			Undecided, Open, []Class{LagStableGroup}, startedLagging([]int64{10_000, 14_000}),
		},
		{
			class, "near-member-joined", "a fourth member joined five minutes ago", "lag grows, but membership is not stable: no verdict about throughput",
			Undecided, Open, []Class{Quiet},
			func() Evidence {
				g := orders(grows)
				g.History.Records = append(g.History.Records, GroupRecord{At: ago(5 * time.Minute), Generation: 5, Leader: "m-0", Members: recordMembers(4)})
				g.Snapshots[0].Until = ago(5 * time.Minute)
				g.Snapshots = append(g.Snapshots, GroupSnapshot{At: ago(5 * time.Minute), Until: t0, State: "Stable", Assignor: "range", Epoch: -1, Members: members(4)})
				return ask(g)
			}(),
		},
		{
			class, "near-nobody-there", "the group is Empty since three hours ago and lag grows", "nobody consumes; no member was lost in the window",
			Undecided, Open, []Class{Quiet},
			func() Evidence {
				g := orders(grows)
				g.History.Records = []GroupRecord{{At: ago(3 * time.Hour), Generation: 5}}
				g.Snapshots = []GroupSnapshot{{At: ago(time.Hour), Until: t0, State: "Empty", Epoch: -1}}
				return ask(g)
			}(),
		},
		{
			class, "near-one-sample", "one look at a lag of 40,000", "whether it grows is not known",
			Undecided, Open, nil,
			ask(orders(lagSpec{totals: []int64{40_000}})),
		},
	}
}

func quietCases() []synthCase {
	class := "quiet"
	return []synthCase{
		{
			class, "broker", "three brokers up for three days, 24 of 1,000 slots", "nothing is wrong",
			Quiet, Confirmed, nil, world(stable(1), stable(2), stable(3)).evidence(),
		},
		{
			class, "group", "lag of 12 records, three members", "nothing is wrong",
			Quiet, Confirmed, nil, ask(orders(lagSpec{totals: ramp(12, 12), span: 600 * time.Second, produce: 6000, took: 6000})),
		},
		{
			class, "cluster", "a question that names neither a broker nor a group", "nothing is wrong",
			Quiet, Confirmed, nil,
			func() Evidence { w := world(stable(1), stable(2), stable(3)); w.target = nil; return w.evidence() }(),
		},
		{
			class, "gap", "four minutes without a scrape, in the middle", "the counters show that nothing happened in the gap",
			Quiet, Confirmed, nil,
			func() Evidence {
				b := stable(3)
				b.gaps = [][2]time.Time{{ago(8 * time.Minute), ago(4 * time.Minute)}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "instance-renamed", "the scrape target was renamed without a restart; old errors go on in the new series", "nothing happened",
			Quiet, Confirmed, []Class{RestartBurst},
			func() Evidence {
				b := stable(3)
				b.events = map[Signal][]event{SignalErrors70: {{ago(30 * time.Hour), 300}}}
				e := world(stable(1), stable(2), b).evidence()
				for sig, m := range e.Brokers[2].Signals {
					if len(m.Series) == 1 {
						m.Series = renamed(m.Series[0])
						e.Brokers[2].Signals[sig] = m
					}
				}
				return e
			}(),
		},
		{
			class, "near-blind", "Prometheus did not answer", "nothing is known",
			Undecided, Open, nil,
			func() Evidence {
				e := world(stable(1), stable(2), stable(3)).evidence()
				e.Metrics = MetricsSource{Reading: Reading{Status: StatusTimeout, Error: "the query took longer than 3 s"}}
				for i := range e.Brokers {
					e.Brokers[i].Signals = nil
					e.Brokers[i].Identity = Reading{}
				}
				return e
			}(),
		},
		{
			class, "near-stale", "no scrape of broker 3 for five minutes", "the broker may be down",
			Undecided, Open, nil,
			func() Evidence {
				b := stable(3)
				b.gaps = [][2]time.Time{{ago(5 * time.Minute), t0}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-no-errors-exported", "no error counter of the broker is exported: absent is not zero", "whether there are errors is not known",
			Undecided, Open, nil,
			func() Evidence {
				b := stable(3)
				b.omit = []Signal{SignalErrorsAny, SignalErrors70}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
		{
			class, "near-epoch-errors", "two epoch errors in ten minutes", "one above the noise",
			Undecided, Open, nil,
			func() Evidence {
				b := stable(3)
				b.events = map[Signal][]event{SignalErrors71: {{ago(7 * time.Minute), 1}, {ago(2 * time.Minute), 1}}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
	}
}

// renamed splits a series in the middle, as a target that changed its name
// does.
func renamed(s Series) []Series {
	half := len(s.Samples) / 2
	return []Series{
		{Labels: map[string]string{"instance": "10.2.4.1:9404"}, Samples: s.Samples[:half]},
		{Labels: map[string]string{"instance": "kafka-3:9404"}, Samples: s.Samples[half:]},
	}
}

func undecidedCases() []synthCase {
	class := "undecided"
	return []synthCase{
		{
			class, "near-one-epoch-error", "one epoch error in ten minutes", "noise",
			Quiet, Confirmed, nil,
			func() Evidence {
				b := stable(3)
				b.events = map[Signal][]event{SignalErrors71: {{ago(7 * time.Minute), 1}}}
				return world(stable(1), stable(2), b).evidence()
			}(),
		},
	}
}
