package diagnose

func restartBurstRule() Rule {
	return Rule{
		Class: RestartBurst,
		Needs: []Need{NeedBrokerMetrics},
		Conditions: []string{
			"the broker's process started, or its leaders rose from about 0, within the last 15 min",
			"errors 70 since the start are not more than the clients with partitions here",
			"at least 90 % of them came within two scrapes of a return of leadership, plus the poll gap of slow clients",
			"provisional until leadership is at its plateau (or 15 min after the start) and two silent 120 s periods and a scrape have passed",
		},
		Corroboration: []string{
			"the return of leadership was seen",
			"the number of clients is known from topology or sessions",
			"no eviction since the start",
		},
		Source: "KIP-227; measured: 20 of 20, 12 of 12 and 4 of 4 Java consumers got one error each, within 98 ms of the return of leadership; none after kill -9 for clients with a fetch in flight",
		// A restart moves leaders and coordinators: rebalances and lagging
		// replicas of the next minutes on that broker belong to it.
		Explains: []Class{RebalanceStorm},
		Provides: []FactSpec{
			{Name: "errors", Unit: UnitCount, Meaning: "errors 70 since the process start"},
			{Name: "start_at", Unit: UnitTime, Meaning: "the broker's process start"},
			{Name: "up_seconds", Unit: UnitSeconds, Meaning: "how long the broker has been up"},
			{Name: "leadership_back", Unit: UnitText, Meaning: "yes or no: does the broker lead partitions again"},
			{Name: "leadership_back_at", Unit: UnitTime, Meaning: "when leadership returned", Optional: true},
			{Name: "leaders", Unit: UnitCount, Meaning: "partitions led now", Optional: true},
			{Name: "last_error_at", Unit: UnitTime, Meaning: "the scrape that showed the last error", Optional: true},
			{Name: "silent_seconds", Unit: UnitSeconds, Meaning: "time without a new error, up to the last scrape"},
			{Name: "over", Unit: UnitText, Meaning: "yes when the burst is confirmed to be over, else no"},
			{Name: "clients", Unit: UnitCount, Meaning: "clients that can have been hit", Optional: true},
			{Name: "sessions", Unit: UnitCount, Meaning: "sessions in the cache now", Optional: true},
			{Name: "slots", Unit: UnitCount, Meaning: "configured session slots", Optional: true},
			{Name: "capacity", Unit: UnitCount, Meaning: "sessions the cache can hold", Optional: true},
			{Name: "evictions", Unit: UnitCount, Meaning: "evictions since the start", Optional: true},
		},
		Judge: judgeRestartBurst,
	}
}

func judgeRestartBurst(_ *facts) []Outcome { return nil }
