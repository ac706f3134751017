package diagnose

// cacheFacts are the facts that the rules of a cache that is too small share.
func cacheFacts() []FactSpec {
	return []FactSpec{
		{Name: "slots", Unit: UnitCount, Meaning: "configured session slots"},
		{Name: "capacity", Unit: UnitCount, Meaning: "sessions the cache can hold"},
		{Name: "sessions", Unit: UnitCount, Meaning: "sessions in the cache"},
		{Name: "demand_consumers", Unit: UnitCount, Meaning: "consumers in groups that need a session here", Optional: true},
		{Name: "demand_followers", Unit: UnitCount, Meaning: "replica fetchers that need a session here", Optional: true},
		{Name: "demand", Unit: UnitCount, Meaning: "sessions needed: consumers and followers", Optional: true},
		{Name: "connections", Unit: UnitCount, Meaning: "client connections, the upper bound of the demand", Optional: true},
		{Name: "full_fetch_percent", Unit: UnitPercent, Meaning: "share of consumer fetches that are full", Optional: true},
		{Name: "partitions_per_session", Unit: UnitCount, Meaning: "cached partitions per session", Optional: true},
		{Name: "biggest_group", Unit: UnitText, Meaning: "the group with most members here", Optional: true},
		{Name: "biggest_group_members", Unit: UnitCount, Meaning: "its members", Optional: true},
	}
}

func cacheThrashRule() Rule {
	return Rule{
		Class: CacheThrash,
		Needs: []Need{NeedBrokerMetrics, NeedSlots, NeedDemand},
		Conditions: []string{
			"evictions in the window (600 s, never under 360 s)",
			"errors 70 ÷ evictions ≥ 0.5: live sessions are evicted",
			"sessions ≥ 95 % of the capacity",
			"demand > 85 % of the capacity (without it: undecided between this and a routing fault)",
			"errors at the return of leadership after a restart are left out",
			"evictions not more than consumers can cause: capacity × (⌊window/120⌋ + 1)",
		},
		Corroboration: []string{
			"evictions in two 120 s periods or more",
			"demand counted by topology",
			"no sign of a routing fault (REBOOTSTRAP_REQUIRED, NOT_LEADER without elections, error 106)",
		},
		Source:   "KIP-227; KAFKA-9401; measured: errors = evictions in six runs (159/159, 192/192, 130/130), in waves of 120 s",
		Explains: []Class{CacheNearLimit, CacheSaturated, DeadSessionTurnover},
		Provides: append(cacheFacts(),
			FactSpec{Name: "errors", Unit: UnitCount, Meaning: "errors 70 in the window"},
			FactSpec{Name: "evictions", Unit: UnitCount, Meaning: "evictions in the window"},
			FactSpec{Name: "waves", Unit: UnitCount, Meaning: "120 s periods with evictions"},
			FactSpec{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
			FactSpec{Name: "since_seconds", Unit: UnitSeconds, Meaning: "time since the first eviction seen"},
		),
		Judge: judgeCacheThrash,
	}
}

func judgeCacheThrash(_ *facts) []Outcome { return nil }
