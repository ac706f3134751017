package diagnose

import "time"

// Status says how reading one piece of evidence ended.
type Status string

// The statuses. Absent is not zero: StatusEmpty means the source answered and
// had nothing, StatusNotExported means the source can never have it as it is
// configured now, StatusUnsupported that the thing cannot exist there.
const (
	StatusOK          Status = "ok"
	StatusPartial     Status = "partial"
	StatusEmpty       Status = "empty"
	StatusForbidden   Status = "forbidden"
	StatusTimeout     Status = "timeout"
	StatusUnreachable Status = "unreachable"
	StatusUnsupported Status = "unsupported"
	StatusNotExported Status = "not_exported"
	StatusSkipped     Status = "skipped"
	StatusFailed      Status = "failed"
)

// Reading tells where a piece of evidence comes from and how reading it ended.
// The zero Reading is "skipped": nobody asked.
type Reading struct {
	Status Status `json:"status"`
	// AsOf is the moment the source answered for, UTC.
	AsOf time.Time `json:"as_of,omitzero"`
	// DurationMS is how long the source took, in milliseconds.
	DurationMS int64 `json:"duration_ms,omitempty"`
	// Source is the exact query or API call, for example
	// `prometheus: kafka_server_…{cluster="x"}[20m]` or `kafka: DescribeGroups`.
	Source string `json:"source,omitempty"`
	// Link opens the same query for a person; empty when no base URL is configured.
	Link string `json:"link,omitempty"`
	// Error is safe to show: no URL, host name, secret or stack trace.
	Error string `json:"error,omitempty"`
	// Hint says what to change so that the evidence becomes readable, for
	// example which ACL is missing or which exporter rule drops the series.
	Hint string `json:"hint,omitempty"`
}

// OK reports whether the evidence was read whole.
func (r Reading) OK() bool { return r.Status == StatusOK }

// Usable reports whether the evidence may be used, whole or in part. An empty
// answer is usable: the source said there is nothing.
func (r Reading) Usable() bool {
	return r.Status == StatusOK || r.Status == StatusPartial || r.Status == StatusEmpty
}

// Known returns the status, with the zero value spelled out.
func (r Reading) Known() Status {
	if r.Status == "" {
		return StatusSkipped
	}
	return r.Status
}

// Words says how a reading ended, for people.
func (s Status) Words() string {
	switch s {
	case StatusOK:
		return "read"
	case StatusPartial:
		return "read in part"
	case StatusEmpty:
		return "nothing there"
	case StatusForbidden:
		return "access denied"
	case StatusTimeout:
		return "no answer in time"
	case StatusUnreachable:
		return "not reachable"
	case StatusUnsupported:
		return "not possible here"
	case StatusNotExported:
		return "not exported"
	case StatusFailed:
		return "reading failed"
	default:
		return "not asked for"
	}
}
