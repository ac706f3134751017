package diagnose

import "time"

// exported is what an exporter shows of the group orders every 15 s.
func exported(exporter string, members, lag func(t time.Time) float64) ExportedGroups {
	g := ExportedGroup{ID: "orders", Exporter: exporter}
	for t := ago(20 * time.Minute); !t.After(t0); t = t.Add(15 * time.Second) {
		if members != nil {
			g.Members = append(g.Members, Sample{T: t, V: members(t)})
		}
		g.Lag = append(g.Lag, Sample{T: t, V: lag(t)})
	}
	return ExportedGroups{Reading: ok("prometheus: kafka_consumergroup_members"), Groups: []ExportedGroup{g}}
}

func constant(v float64) func(time.Time) float64 { return func(time.Time) float64 { return v } }

// rising grows by perSecond from a start.
func rising(start, perSecond float64) func(time.Time) float64 {
	return func(t time.Time) float64 { return start + perSecond*t.Sub(ago(20*time.Minute)).Seconds() }
}

// noKafka takes the admin API, the group's log and the watcher away.
func noKafka(e *Evidence) {
	down := Reading{Status: StatusUnreachable, AsOf: t0, Source: "kafka: Metadata", Error: "no broker answered"}
	e.Cluster = Cluster{Reading: down, ControllerID: -1}
	e.GroupsReading, e.Watcher = down, Watcher{Reading: Reading{Status: StatusSkipped}}
	e.ClientsReading, e.Clients = Reading{Status: StatusEmpty}, nil
	e.Groups = []Group{{ID: "orders", Reading: down, Coordinator: -1, LagReading: down, History: GroupHistory{Reading: down, OffsetsPartition: -1}}}
}

func exportedCases() []synthCase {
	class := "lag-stable-group"
	with := func(x ExportedGroups, more func(e *Evidence)) Evidence {
		e := tale{turns: []turn{settled(alice, bob)}, stable: 11}.evidence()
		noKafka(&e)
		e.Exported = x
		if more != nil {
			more(&e)
		}
		return e
	}
	fell := func(t time.Time) float64 {
		if t.After(ago(4*time.Minute)) && t.Before(ago(2*time.Minute)) {
			return 2
		}
		return 3
	}
	return []synthCase{
		{class, "seen-by-exporter", "no broker answers the admin API; kafka_exporter counts 3 members all the time and growing lag", "the consumers are slower than the producers", LagStableGroup, Likely, nil,
			with(exported("kafka_exporter", constant(3), rising(4000, 12)), nil)},
		{class, "near-exporter-without-members", "only a lag exporter: lag grows, who is a member is not known", "the consumers are slower than the producers", Undecided, Open, []Class{LagStableGroup},
			with(exported("Amazon MSK", nil, rising(4000, 12)), nil)},
		{class, "near-exporter-lost-member", "Kafka is unreachable; kafka_exporter counts 3 → 2 → 3 members", "one member was lost and came back", Undecided, Open, []Class{LagStableGroup, SessionTimeout},
			with(exported("kafka_exporter", fell, rising(4000, 12)), nil)},
		{class, "near-exporter-rebalancing", "kminion shows growing lag and a group in PreparingRebalance", "the group rebalances for minutes", Undecided, Open, []Class{LagStableGroup},
			with(exported("kminion", constant(3), rising(4000, 12)), func(e *Evidence) {
				e.Exported.Groups[0].States = []StateSpan{{"Stable", ago(20 * time.Minute), ago(8 * time.Minute)}, {"PreparingRebalance", ago(lasting(465)), t0}}
			})},
	}
}
