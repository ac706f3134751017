package diagnose

import (
	"errors"
	"fmt"
	"time"
)

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 10m", s)
	}
	return d, nil
}

// Validate checks what the rules rely on, and reports everything that is wrong
// at once.
func (e Evidence) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("evidence, "+format, args...)) }
	if e.At.IsZero() {
		bad("field at: the moment is missing")
	}
	if w := time.Duration(e.WindowSeconds) * time.Second; w <= 0 || w > MaxWindow {
		bad("field window_seconds: %d is not between 1 and %d", e.WindowSeconds, int(MaxWindow/time.Second))
	}
	seen := map[int32]bool{}
	for _, b := range e.Brokers {
		if b.ID < 0 {
			bad("field brokers: id %d is negative", b.ID)
		}
		if seen[b.ID] {
			bad("field brokers: broker %d is there twice", b.ID)
		}
		seen[b.ID] = true
	}
	ids := map[string]bool{}
	for _, g := range e.Groups {
		if g.ID == "" {
			bad("field groups: a group has no id")
		}
		if ids[g.ID] {
			bad("field groups: group %q is there twice", g.ID)
		}
		ids[g.ID] = true
	}
	e.Exported.validate(bad)
	for _, p := range e.PodList {
		if p.Name == "" {
			bad("field pods: a pod has no name")
		}
	}
	e.LogText.validate(bad)
	for _, s := range statuses(e) {
		if !s.status.valid() {
			bad("field %s: status %q is not known", s.path, s.status)
		}
	}
	return errors.Join(errs...)
}

// valid reports whether the status is one of the list, or the zero value.
func (s Status) valid() bool {
	switch s {
	case "", StatusOK, StatusPartial, StatusEmpty, StatusForbidden, StatusTimeout, StatusUnreachable,
		StatusUnsupported, StatusNotExported, StatusSkipped, StatusFailed:
		return true
	default:
		return false
	}
}

type placed struct {
	path   string
	status Status
}

// statuses lists the statuses of the sections.
func statuses(e Evidence) []placed {
	out := []placed{
		{"target_reading", e.TargetReading.Status}, {"cluster", e.Cluster.Status}, {"metrics", e.Metrics.Status}, {"groups_reading", e.GroupsReading.Status},
		{"exported_groups", e.Exported.Status}, {"watcher", e.Watcher.Status}, {"clients_reading", e.ClientsReading.Status},
		{"pods_reading", e.Pods.Status}, {"logs_reading", e.Logs.Status},
	}
	for _, b := range e.Brokers {
		p := fmt.Sprintf("brokers[%d].", b.ID)
		out = append(out, placed{p + "identity", b.Identity.Status}, placed{p + "slots", b.Slots.Status}, placed{p + "demand", b.Demand.Status})
		for _, s := range BrokerSignals() {
			out = append(out, placed{p + string(s), b.Signals[s].Status})
		}
	}
	for _, g := range e.Groups {
		p := "groups[" + g.ID + "]."
		out = append(out, placed{p + "reading", g.Status}, placed{p + "history", g.History.Status}, placed{p + "lag_reading", g.LagReading.Status})
	}
	return out
}
