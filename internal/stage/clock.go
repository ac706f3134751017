package stage

import "time"

// Clock maps real time to the time on stage: recorded time, moved to end near
// the present and played at a speed.
type Clock struct {
	// Start is the time on stage when the play began.
	Start time.Time
	// Began is the real time of that moment.
	Began time.Time
	// Speed is stage seconds per real second; 1 is real time.
	Speed float64
}

// Now returns the time on stage.
func (c Clock) Now() time.Time {
	played := time.Duration(float64(time.Since(c.Began)) * c.Speed)
	return c.Start.Add(played).UTC()
}

// Real returns how long d on stage takes in real time.
func (c Clock) Real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.Speed)
}
