package collect

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// maxSoftware bounds the libraries listed for one broker, most connections
// first.
const maxSoftware = 50

// census is who is connected, by scrape target.
type census struct {
	reading diagnose.Reading
	// exported is false where the dialect has no such series at all.
	exported bool
	byTarget map[string]*connected
}

type connected struct {
	counts           map[[2]string]int
	counted, skipped map[string]bool
}

// internalListener recognises listeners that clients do not use, by the names
// that Kafka's documentation, Strimzi (CONTROLPLANE-9090, REPLICATION-9091) and
// MSK (REPLICATION, REPLICATION_SECURE) give them.
var internalListener = regexp.MustCompile(`(?i)^(controller|control_?plane|replication|inter_?broker)([-_:0-9].*)?$`)

var fusedListener = regexp.MustCompile(`^kafka_server_socket_server_metrics_listener_(.+)_networkprocessor_([0-9]+)_connection_creation_total$`)

// clientListener says whether a series is of a listener that clients use, by
// its label or by the name in which jmx_exporter's kraft example fuses it.
func clientListener(m model.Metric) bool {
	listener := labelValue(m, "listener")
	if f := fusedListener.FindStringSubmatch(string(m[model.MetricNameLabel])); f != nil {
		listener = f[1]
	}
	return !internalListener.MatchString(listener)
}

// countConnections asks for the connections at the moment `at`: they are a
// gauge, and the classifier needs only the present.
func (p *Prometheus) countConnections(ctx context.Context, d dialect, at time.Time) census {
	sel, err := parseSelector(d.census)
	if err != nil || d.census == "" {
		return census{reading: diagnose.Reading{Status: diagnose.StatusNotExported, Hint: d.censusHint}}
	}
	a := p.ask(ctx, sel.and(p.set.cluster).String(), at)
	c := census{reading: a.reading, exported: len(a.vector) > 0, byTarget: map[string]*connected{}}
	for _, s := range a.vector {
		c.count(s)
	}
	return c
}

func (c *census) count(s *model.Sample) {
	name, version, listener := who(s.Metric)
	key := targetLabels(s.Metric).String()
	t, ok := c.byTarget[key]
	if !ok {
		t = &connected{counts: map[[2]string]int{}, counted: map[string]bool{}, skipped: map[string]bool{}}
		c.byTarget[key] = t
	}
	if internalListener.MatchString(listener) {
		t.skipped[listener] = true
		return
	}
	t.counted[listener] = true
	if n := float64(s.Value); n > 0 {
		t.counts[[2]string{name, version}] += int(n)
	}
}

var fusedCensus = regexp.MustCompile(`^kafka_server_socket_server_metrics_clientsoftwarename_(.+)_clientsoftwareversion_(.+)_listener_(.+)_networkprocessor_[0-9]+_connections$`)

// who reads library, version and listener off a series. jmx_exporter's kraft
// example fuses them into the name, in lower case with every other character
// replaced by _. Kafka allows only letters, digits, - and . in them, so a _ is
// read back as - in a name and as . in a version.
func who(m model.Metric) (name, version, listener string) {
	if f := fusedCensus.FindStringSubmatch(string(m[model.MetricNameLabel])); f != nil {
		return strings.ReplaceAll(f[1], "_", "-"), strings.ReplaceAll(f[2], "_", "."), f[3]
	}
	return labelValue(m, "clientsoftwarename"), labelValue(m, "clientsoftwareversion"), labelValue(m, "listener")
}

// of returns the clients of one broker, which may have several targets, and
// their number; ok is false where it is not known.
func (c census) of(ts []*target, d dialect) (diagnose.Reading, []diagnose.Software, int, bool) {
	r := c.reading
	if !r.Usable() {
		return r, nil, 0, false
	}
	sum := connected{counts: map[[2]string]int{}, counted: map[string]bool{}, skipped: map[string]bool{}}
	for _, t := range ts {
		sum.add(c.byTarget[t.key])
	}
	switch {
	case !c.exported:
		r.Status, r.Hint = diagnose.StatusNotExported, d.censusHint
		return r, nil, 0, false
	case len(sum.counted)+len(sum.skipped) == 0:
		r.Status = diagnose.StatusEmpty
		return r, nil, 0, false
	}
	r.Source += "; listeners counted: " + namesOf(sum.counted) + "; left out: " + namesOf(sum.skipped)
	sw, total := sum.software()
	return r, sw, total, true
}

func (c *connected) add(o *connected) {
	if o == nil {
		return
	}
	for k, n := range o.counts {
		c.counts[k] += n
	}
	for l := range o.counted {
		c.counted[l] = true
	}
	for l := range o.skipped {
		c.skipped[l] = true
	}
}

func (c *connected) software() ([]diagnose.Software, int) {
	out := make([]diagnose.Software, 0, len(c.counts))
	total := 0
	for k, n := range c.counts {
		out = append(out, diagnose.Software{Name: clip(k[0]), Version: clip(k[1]), Connections: n})
		total += n
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Connections != out[j].Connections {
			return out[i].Connections > out[j].Connections
		}
		return fmt.Sprint(out[i]) < fmt.Sprint(out[j])
	})
	return out[:min(len(out), maxSoftware)], total
}

func namesOf(set map[string]bool) string {
	if len(set) == 0 {
		return "none"
	}
	out := make([]string, 0, len(set))
	for l := range set {
		out = append(out, clip(l))
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 6)], ", ")
}
