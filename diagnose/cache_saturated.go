package diagnose

func cacheSaturatedRule() Rule {
	return Rule{
		Class: CacheSaturated,
		Needs: []Need{NeedBrokerMetrics, NeedSlots, NeedDemand},
		Conditions: []string{
			"sessions ≥ 95 % of the capacity",
			"no eviction and no error 70 in the window (600 s, never under 360 s)",
			"demand > capacity, or demand unknown and at least 10 % of the consumer fetches are full",
		},
		Corroboration: []string{
			"demand counted by topology",
			"full fetches ≥ 5 % by request size: (mean − p50)/(p99 − p50) of FetchConsumer RequestBytes",
		},
		Source:   "KIP-227; measured: 83 clients on 64 slots gave 0 evictions, 0 errors and 23 % full fetches (22.9 % by request size)",
		Explains: []Class{CacheNearLimit},
		Provides: append(cacheFacts(),
			FactSpec{Name: "without_session", Unit: UnitCount, Meaning: "clients that get no session: demand − capacity", Optional: true},
			FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
		),
		Judge: judgeCacheSaturated,
	}
}

func judgeCacheSaturated(_ *facts) []Outcome { return nil }
