package diagnose

import (
	"errors"
	"fmt"
)

// Limits are the thresholds of all rules, with the reason for each. A
// configuration may override them.
type Limits struct {
	// WaveSeconds is the period of cache eviction: a session that was unused,
	// or created, more than 120 s ago may be evicted. A constant in the broker
	// (KIP-227; FetchSessionCache), not a setting.
	WaveSeconds int `json:"wave_seconds" yaml:"wave_seconds"`
	// MinWindowSeconds is the shortest window that may be judged: three waves.
	MinWindowSeconds int `json:"min_window_seconds" yaml:"min_window_seconds"`
	// RestartGraceSeconds is how long after a broker start session errors may
	// belong to the restart: 300 s between leadership checks, twice, plus the
	// time to start (leader.imbalance.check.interval.seconds = 300).
	RestartGraceSeconds int `json:"restart_grace_seconds" yaml:"restart_grace_seconds"`
	// PollGapSeconds is the largest gap between polls of a healthy slow
	// consumer: clients that poll rarely trail the burst by it (measured 8.1 s
	// for a 3 s poll).
	PollGapSeconds int `json:"poll_gap_seconds" yaml:"poll_gap_seconds"`
	// FullShare is the share of the capacity from which a cache counts as full.
	FullShare float64 `json:"full_share" yaml:"full_share"`
	// DemandShare is the share of the capacity that demand must exceed for
	// thrashing (measured: routing faults thrash with far less demand).
	DemandShare float64 `json:"demand_share" yaml:"demand_share"`
	// NearShare is the share of the capacity from which demand is "near".
	NearShare float64 `json:"near_share" yaml:"near_share"`
	// LiveRatio is error 70 ÷ evictions from which evicted sessions count as
	// live (measured 1.00 in six runs; dead sessions give 0).
	LiveRatio float64 `json:"live_ratio" yaml:"live_ratio"`
	// SameMomentMS is how close losses of several groups must be to count as
	// one event of the coordinator (measured 1–2 ms; sampled through records).
	SameMomentMS int `json:"same_moment_ms" yaml:"same_moment_ms"`
	// LagGrowthRecords is the growth of lag over the window that matters.
	LagGrowthRecords int64 `json:"lag_growth_records" yaml:"lag_growth_records"`
	// StormRebalances is the number of completed rebalances in the window that
	// makes a storm.
	StormRebalances int `json:"storm_rebalances" yaml:"storm_rebalances"`
	// DeployBaselineSeconds is how long a deploy may stay below its member
	// count before it is not benign.
	DeployBaselineSeconds int `json:"deploy_baseline_seconds" yaml:"deploy_baseline_seconds"`
}

// DefaultLimits returns the thresholds as measured.
func DefaultLimits() Limits {
	return Limits{
		WaveSeconds:           120,
		MinWindowSeconds:      360,
		RestartGraceSeconds:   900,
		PollGapSeconds:        10,
		FullShare:             0.95,
		DemandShare:           0.85,
		NearShare:             0.80,
		LiveRatio:             0.5,
		SameMomentMS:          1000,
		LagGrowthRecords:      1000,
		StormRebalances:       3,
		DeployBaselineSeconds: 600,
	}
}

// Validate reports every limit that cannot be meant, by its configuration name.
func (l Limits) Validate() error {
	var errs []error
	positive := func(name string, v int64) {
		if v <= 0 {
			errs = append(errs, fmt.Errorf("%s: %d must be above 0", name, v))
		}
	}
	share := func(name string, v float64) {
		if !(v > 0 && v <= 1) {
			errs = append(errs, fmt.Errorf("%s: %v must be above 0 and at most 1", name, v))
		}
	}
	positive("wave_seconds", int64(l.WaveSeconds))
	positive("min_window_seconds", int64(l.MinWindowSeconds))
	positive("restart_grace_seconds", int64(l.RestartGraceSeconds))
	positive("poll_gap_seconds", int64(l.PollGapSeconds))
	share("full_share", l.FullShare)
	share("demand_share", l.DemandShare)
	share("near_share", l.NearShare)
	share("live_ratio", l.LiveRatio)
	positive("same_moment_ms", int64(l.SameMomentMS))
	positive("lag_growth_records", l.LagGrowthRecords)
	positive("storm_rebalances", int64(l.StormRebalances))
	positive("deploy_baseline_seconds", int64(l.DeployBaselineSeconds))
	return errors.Join(errs...)
}
