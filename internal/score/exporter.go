package score

import (
	"math"
	"slices"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// scrapeEvery is how often Prometheus scrapes the exporter, scraped how far back
// the collector reads.
const (
	scrapeEvery = 15 * time.Second
	scraped     = 20 * time.Minute
)

// exporterOnly leaves what kafka_exporter would have shown of the groups: how many
// members they had and their lag, scrape by scrape. Who they were is gone.
func exporterOnly(e *diagnose.Evidence) {
	groups := e.Groups
	withoutKafka(e)
	withoutPrometheus(e)
	withoutLogs(e)
	e.Brokers = nil
	r := e.GroupsReading
	e.Exported = diagnose.ExportedGroups{Reading: diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: e.At, Source: "prometheus: kafka_consumergroup_members"}}
	for _, g := range groups {
		if g.ID == e.Target.Group {
			e.Groups = []diagnose.Group{{
				ID: g.ID, Reading: r, Coordinator: -1, LagReading: r,
				History: diagnose.GroupHistory{Reading: r, OffsetsPartition: -1},
			}}
		}
		if x := exporterSees(g, e.At); len(x.Members)+len(x.Lag) > 0 {
			e.Exported.Status = diagnose.StatusOK
			e.Exported.Groups = append(e.Exported.Groups, x)
		}
	}
}

// exporterSees is a group as kafka_exporter counts it. For one of the KIP-848
// protocol it shows 0 members all the time, which the collector leaves out
// (measured).
func exporterSees(g diagnose.Group, at time.Time) diagnose.ExportedGroup {
	x := diagnose.ExportedGroup{ID: g.ID, Exporter: "kafka_exporter"}
	for t := at.Add(-scraped); !t.After(at); t = t.Add(scrapeEvery) {
		if n, ok := membersAt(g, t); ok && g.Protocol != "consumer" {
			x.Members = append(x.Members, diagnose.Sample{T: t, V: float64(n)})
		}
		if lag, ok := lagAt(g.Lag, t); ok {
			x.Lag = append(x.Lag, diagnose.Sample{T: t, V: lag})
		}
	}
	if len(x.Members) == 0 || !slices.ContainsFunc(x.Members, func(s diagnose.Sample) bool { return s.V > 0 }) {
		x.Members, x.Doubt = nil, "kafka_exporter shows 0 members all the time: an empty group, or one of the KIP-848 protocol, which it cannot count"
	}
	return x
}

// membersAt counts the members as described last before a moment, or as the
// group's record before it lists them.
func membersAt(g diagnose.Group, t time.Time) (n int, ok bool) {
	var since time.Time
	for _, r := range g.History.Records {
		if !r.At.After(t) {
			n, ok, since = len(r.Members), true, r.At
		}
	}
	for _, x := range g.Snapshots {
		if !x.At.After(t) && (!ok || !x.At.Before(since)) {
			n, ok, since = len(x.Members), true, x.At
		}
	}
	return n, ok
}

// lagAt is the lag at a moment between two that were measured.
func lagAt(points []diagnose.LagPoint, t time.Time) (float64, bool) {
	i := slices.IndexFunc(points, func(p diagnose.LagPoint) bool { return !p.At.Before(t) })
	switch {
	case i < 0:
		return 0, false
	case points[i].At.Equal(t):
		return float64(points[i].Total), true
	case i == 0:
		return 0, false
	}
	a, b := points[i-1], points[i]
	share := float64(t.Sub(a.At)) / float64(b.At.Sub(a.At))
	return math.Round(float64(a.Total) + share*float64(b.Total-a.Total)), true
}
