package logs

import (
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// minWindow and maxWindow bound the span that log text is judged over.
const (
	minWindow = 10 * time.Minute
	maxWindow = 24 * time.Hour
)

// Evidence wraps log text as evidence of its own: no cluster, no metrics. It
// speaks for the last stamp in the text, or for now where there is none.
func Evidence(t diagnose.LogText, now time.Time) diagnose.Evidence {
	at := t.To
	if at.IsZero() {
		at = now
	}
	window := min(max(t.To.Sub(t.From), minWindow), maxWindow)
	skipped := diagnose.Reading{Status: diagnose.StatusSkipped, Error: "only log text was given"}
	e := diagnose.Evidence{
		Schema: diagnose.SchemaVersion, At: at.UTC(), WindowSeconds: int(window.Seconds()),
		Cluster:       diagnose.Cluster{Reading: skipped, ControllerID: -1},
		Metrics:       diagnose.MetricsSource{Reading: skipped},
		GroupsReading: skipped, Watcher: diagnose.Watcher{Reading: skipped}, ClientsReading: skipped, Pods: skipped,
	}
	Attach(&e, t, "log text")
	return e
}

// Attach adds log text to evidence.
func Attach(e *diagnose.Evidence, t diagnose.LogText, source string) {
	e.LogText = t
	e.Logs = diagnose.Reading{Status: diagnose.StatusOK, AsOf: e.At, Source: source}
	switch {
	case t.Recognised == 0:
		e.Logs.Status = diagnose.StatusEmpty
	case t.Dropped > 0:
		e.Logs.Status, e.Logs.Error = diagnose.StatusPartial, "more kinds of lines than are kept"
	}
}
