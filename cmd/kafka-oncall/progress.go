package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// progress says on a terminal what is being read and how long it took. It goes
// to standard error, and nowhere when that is not a terminal.
type progress struct {
	w  io.Writer
	on bool
}

func (p progress) start(budget time.Duration) {
	if p.on {
		_, _ = fmt.Fprintf(p.w, "reading Prometheus and Kafka, at most %s …\n", budget)
	}
}

func (p progress) done(e diagnose.Evidence) {
	if !p.on {
		return
	}
	for _, x := range []struct {
		what string
		r    diagnose.Reading
	}{
		{"broker metrics", e.Metrics.Reading}, {"cluster", e.Cluster.Reading}, {"groups", e.GroupsReading}, {"client metrics", e.ClientsReading},
		{"group exporter", e.Exported.Reading}, {"pods", e.Pods},
	} {
		if x.r.Known() == diagnose.StatusSkipped {
			continue
		}
		_, _ = fmt.Fprintf(p.w, "  %-15s %-13s %.1f s\n", x.what, x.r.Known().Words(), float64(x.r.DurationMS)/1000)
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// widthOf is the terminal's width, or the usual one.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(f.Fd()) {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width >= 60 {
			return min(width, 160)
		}
	}
	return textWidth
}
