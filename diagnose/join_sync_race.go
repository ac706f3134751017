package diagnose

func joinSyncRaceRule() Rule {
	return Rule{
		Class: JoinSyncRace,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member that had just joined was dropped exactly one rebalance timeout later",
			"it never committed while it was a member",
			"no LeaveGroup request accounts for the drop",
		},
		Corroboration: []string{
			"UNKNOWN_MEMBER_ID on SyncGroup or Heartbeat after the drop: the member was alive and never synced in time",
			"membership before the join is known",
		},
		Source:   "KAFKA-12890 pending sync expiry (2.8.1, 3.0.0); measured: dropped 12.02 s after joining for 12 s, while every API called the group Stable",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: append(lossSpecs(),
			FactSpec{Name: "joined_at", Unit: UnitTime, Meaning: "when it joined"},
			FactSpec{Name: "pending_seconds", Unit: UnitSeconds, Meaning: "join to drop"},
		),
		Judge: func(f *facts) []Outcome { return judgeLosses(f, JoinSyncRace) },
	}
}
