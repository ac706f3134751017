package diagnose

func lagStableGroupRule() Rule {
	return Rule{
		Class: LagStableGroup,
		Needs: []Need{NeedLag, NeedAdmin},
		Conditions: []string{
			"the group has members and none came or went in the window",
			"lag grew by 1,000 records or more over the window, and is not falling at its end",
		},
		Corroboration: []string{
			"membership is known for the whole window (watcher, or the offsets topic with a record from before the window)",
			"lag was seen over at least 5 min, for all partitions",
		},
		Source: "lag = end − committed; the growth of both sums gives produce and consume rates",
		Provides: []FactSpec{
			{Name: "lag_records", Unit: UnitCount, Meaning: "lag now"},
			{Name: "lag_growth", Unit: UnitCount, Meaning: "growth over the window"},
			{Name: "span_seconds", Unit: UnitSeconds, Meaning: "the span over which lag was seen"},
			{Name: "produce_per_second", Unit: UnitCount, Meaning: "records produced per second", Optional: true},
			{Name: "consume_per_second", Unit: UnitCount, Meaning: "records committed per second", Optional: true},
			{Name: "shortfall_percent", Unit: UnitPercent, Meaning: "how much faster the group has to be to stop falling behind", Optional: true},
			{Name: "members", Unit: UnitCount, Meaning: "members of the group"},
			{Name: "partitions", Unit: UnitCount, Meaning: "partitions assigned in the group", Optional: true},
			{Name: "committing", Unit: UnitText, Meaning: "no when nothing was committed in the span, else yes"},
		},
		Judge: judgeLagStableGroup,
	}
}

func judgeLagStableGroup(_ *facts) []Outcome { return nil }
