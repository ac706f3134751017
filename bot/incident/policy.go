package incident

import "time"

// Policy are the times of an incident's life.
type Policy struct {
	// Looks are when to look again, counted from the start of an occurrence;
	// after the last one every Every while it fires.
	Looks []time.Duration `yaml:"looks"`
	Every time.Duration   `yaml:"every"`
	// MinGap is the least time between two looks that were not asked for by a
	// person.
	MinGap time.Duration `yaml:"min_gap"`
	// Confirm is how long after the end a provisional verdict is followed up: a
	// restart burst is confirmed by two silent periods of 120 s and a scrape,
	// at most 15 min after the start.
	Confirm time.Duration `yaml:"confirm"`
	// Reopen is how long a resolved incident may come back in its thread.
	Reopen time.Duration `yaml:"reopen"`
	// News is how long an alert may fire without being sent again; it must be
	// above Alertmanager's repeat_interval (4 h by default).
	News time.Duration `yaml:"news"`
	// Join is how long after its start, or its last verdict, an incident takes
	// in alerts that it explains.
	Join time.Duration `yaml:"join"`
	// BroadcastRefired also shows a line about coming back in the channel.
	BroadcastRefired bool `yaml:"broadcast_refired"`
}

// DefaultPolicy returns the documented times.
func DefaultPolicy() Policy {
	return Policy{
		Looks:   []time.Duration{time.Minute, 3 * time.Minute, 5 * time.Minute, 15 * time.Minute},
		Every:   15 * time.Minute,
		MinGap:  10 * time.Second,
		Confirm: 20 * time.Minute,
		Reopen:  12 * time.Hour,
		News:    4*time.Hour + 30*time.Minute,
		Join:    15 * time.Minute,
	}
}

// nextLook is the schedule's next moment after now.
func (p Policy) nextLook(since, now time.Time) time.Time {
	for _, d := range p.Looks {
		if at := since.Add(d); at.Sub(now) >= p.MinGap {
			return at
		}
	}
	return now.Add(max(p.Every, p.MinGap, time.Second))
}
