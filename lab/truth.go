package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// TruthSchema is the version of the Truth format.
const TruthSchema = 1

// Truth is what a scenario did: the answer that a diagnosis is scored against.
// Times are the lab's clock, which is the brokers' clock (one machine).
type Truth struct {
	Schema   int    `json:"schema"`
	Scenario string `json:"scenario"`
	Class    string `json:"class"`
	Family   string `json:"family"`
	// Alternatives are classes that the sources may be unable to tell from
	// Class; a diagnosis should name them unless it can rule them out.
	Alternatives []string `json:"alternatives,omitempty"`
	// While the victim is away another class may be the right answer.
	ProvisionalClass string  `json:"provisional_class,omitempty"`
	Cluster          string  `json:"cluster"`
	Version          string  `json:"version"`
	Protocol         string  `json:"protocol,omitempty"`
	Client           string  `json:"client,omitempty"` // java, librdkafka or franz-go
	How              string  `json:"how,omitempty"`    // the form of the scenario
	Subject          Subject `json:"subject"`

	Started time.Time  `json:"started_at"`          // clients are being started
	Ready   time.Time  `json:"ready_at"`            // the state before the fault
	Fault   *time.Time `json:"fault_at,omitempty"`  // the lab did it
	Effect  *time.Time `json:"effect_at,omitempty"` // the brokers show it
	Return  *time.Time `json:"return_at,omitempty"` // the victim is back
	Ended   time.Time  `json:"ended_at"`

	Parameters map[string]any     `json:"parameters"`
	Expected   map[string]float64 `json:"expected,omitempty"` // counts by name, from the set-up
	Observed   map[string]float64 `json:"observed,omitempty"` // the same counts, as the brokers had them
	Timeline   []Moment           `json:"timeline"`
	Looks      []Look             `json:"looks,omitempty"` // what kafka-oncall said, and where its evidence lies
}

// Subject is whom the fault hit. Empty fields do not apply.
type Subject struct {
	Broker   int      `json:"broker,omitempty"`
	Group    string   `json:"group,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Topic    string   `json:"topic,omitempty"`
	ClientID string   `json:"client_id,omitempty"`
	MemberID string   `json:"member_id,omitempty"`
	// ReturnedAs is the member id that the client id had at Return.
	ReturnedAs string `json:"returned_as,omitempty"`
	// Coordinator is the broker that led the group's offsets partition at Ready.
	Coordinator      int `json:"coordinator,omitempty"`
	OffsetsPartition int `json:"offsets_partition"`
}

// Moment is one line of the timeline.
type Moment struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
}

// Tag tells runs apart in names: the second they began in, in base 36 (it repeats
// after 19 days).
func (t Truth) Tag() string { return strconv.FormatInt(t.Started.Unix()%(36*36*36*36), 36) }

// Write prints the truth as one indented JSON object.
func (t Truth) Write(w io.Writer) error {
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return fmt.Errorf("writing the truth: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the truth: %w", err)
	}
	return nil
}

func (t *Truth) note(format string, args ...any) time.Time {
	now := time.Now().Truncate(time.Millisecond)
	t.Timeline = append(t.Timeline, Moment{At: now, Event: fmt.Sprintf(format, args...)})
	return now
}

// family gives the family of a class the lab can make (as the catalogue has them:
// codes belong to families; the lab writes it down so that a score needs no table).
func family(class string) string {
	switch class {
	case "restart-burst":
		return "restart-burst"
	case "cache-thrash", "cache-saturated", "follower-churn", "leaking-client":
		return "sustained-thrashing"
	case "session-timeout", "client-unreachable", "process-gone", "process-replaced", "poll-interval", "poll-interval-static",
		"join-sync-race", "sick-leader", "rebalance-timeout", "duplicate-static-id":
		return "eviction-trigger"
	case "quiet":
		return "none"
	}
	return "other"
}
