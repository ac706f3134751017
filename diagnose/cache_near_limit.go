package diagnose

func cacheNearLimitRule() Rule {
	return Rule{
		Class: CacheNearLimit,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"demand ≥ 80 % of the capacity, and not above it",
			"or sessions ≥ 70 % of the capacity 5 to 20 min after a restart, before dead sessions gather",
			"or sessions ≥ 95 % of the capacity with demand unknown: at capacity, overflow not visible",
		},
		Corroboration: []string{"demand counted by topology"},
		Source:        "measured: first refusal at 86–91 % of 1,000 slots and at 66–80 % of 200, by shard skew",
		Provides: append(cacheFacts(),
			FactSpec{Name: "used_percent", Unit: UnitPercent, Meaning: "demand (or, unknown, sessions) ÷ capacity"},
			FactSpec{Name: "overflow_visible", Unit: UnitText, Meaning: "no when the cache is full and the demand unknown, else yes"},
		),
		Judge: judgeCacheNearLimit,
	}
}

func judgeCacheNearLimit(_ *facts) []Outcome { return nil }
