package stage

import "time"

// Clock maps real time to the time on stage: played at a speed, and standing
// still when the recording is over, so that what it shows last can be looked at.
type Clock struct {
	// Start is the time on stage when the play began, Began the real time of
	// that moment, End the time on stage at which the clock stops.
	Start, Began, End time.Time
	// Speed is stage seconds per real second; 1 is real time.
	Speed float64
}

// Now returns the time on stage.
func (c Clock) Now() time.Time {
	now := c.Start.Add(time.Duration(float64(time.Since(c.Began)) * c.Speed))
	if !c.End.IsZero() && now.After(c.End) {
		now = c.End
	}
	return now.UTC()
}

// Real returns how long d on stage takes in real time.
func (c Clock) Real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.Speed)
}
