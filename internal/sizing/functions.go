package sizing

// Functions are the formulas under the names that playbooks use.
func Functions() map[string]any {
	return map[string]any{
		"sessions_planned": func(consumers, followers float64) float64 { return Sessions(consumers, followers, DeploySurge) },
		"skew_for":         SkewFor,
		"slots_for":        Slots,
		"arrival_slots":    ArrivalSlots,
		"slots_wanted":     SlotsWanted,
		"cache_bytes":      CacheBytes,
		"fit_records":      FitRecords,
		"max_heartbeat":    MaxHeartbeat,
		"pause_needed":     PauseNeeded,
	}
}
