package diagnose

import "time"

// Request asks for a diagnosis.
type Request struct {
	Target  Target
	Trigger *Trigger
	// Window is the span to judge; 0 = the configured default.
	Window time.Duration
	// At is the moment to look from; zero = now. A past moment reads metrics
	// and the offsets topic as they were; the admin API only knows the present
	// and says so in its readings.
	At time.Time
	// Scan asks for the groups that lost members on the target broker (or, with
	// no broker, in the cluster): a membership alert that names no group.
	Scan bool
	// Unresolved is what the alert calls its broker, when that is no broker id:
	// all brokers are looked at instead, and the answer says so.
	Unresolved string
}
