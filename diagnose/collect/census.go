package collect

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

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
	// past are the same by what was last seen in the range, with those that have
	// left since.
	past     diagnose.Reading
	lastSeen map[string]*connected
}

// clients is who is connected to one broker.
type clients struct {
	reading, past diagnose.Reading
	// software is connected now, gone was in the range.
	software, gone []diagnose.Software
	// total is the number of connections now; known is false where it is not known.
	total int
	known bool
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

// countConnections asks for the connections at the moment of the look, which are a
// gauge, and for what was last seen in the range: a library whose last connection
// was closed has no series any more (Kafka's Selector, IntGaugeSuite).
func (p *Prometheus) countConnections(ctx context.Context, d dialect, l look) census {
	sel, err := parseSelector(d.census)
	if err != nil || d.census == "" {
		r := diagnose.Reading{Status: diagnose.StatusNotExported, Hint: d.censusHint}
		return census{reading: r, past: r}
	}
	sel = sel.and(p.set.cluster)
	now := p.ask(ctx, sel.String(), l.at)
	past := p.ask(ctx, "last_over_time("+sel.overRange(l.rng)+")", l.at)
	return census{
		reading: now.reading, exported: len(now.vector) > 0, byTarget: byTarget(now.vector),
		past: past.reading, lastSeen: byTarget(past.vector),
	}
}

func byTarget(v model.Vector) map[string]*connected {
	out := map[string]*connected{}
	for _, s := range v {
		key := targetLabels(s.Metric).String()
		if out[key] == nil {
			out[key] = newConnected()
		}
		out[key].count(s)
	}
	return out
}

func newConnected() *connected {
	return &connected{counts: map[[2]string]int{}, counted: map[string]bool{}, skipped: map[string]bool{}}
}

func (c *connected) count(s *model.Sample) {
	name, version, listener := who(s.Metric)
	if internalListener.MatchString(listener) {
		c.skipped[listener] = true
		return
	}
	c.counted[listener] = true
	if n := float64(s.Value); n > 0 {
		c.counts[[2]string{name, version}] += int(n)
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

// of returns the clients of one broker, which may have several targets.
func (c census) of(ts []*target, d dialect) clients {
	out := clients{reading: c.reading, past: c.past}
	if !out.reading.Usable() {
		return out
	}
	sum, seen := newConnected(), newConnected()
	for _, t := range ts {
		sum.add(c.byTarget[t.key])
		seen.add(c.lastSeen[t.key])
	}
	for k := range sum.counts {
		delete(seen.counts, k)
	}
	out.gone, _ = seen.software()
	switch {
	case !c.exported:
		out.reading.Status, out.reading.Hint = diagnose.StatusNotExported, d.censusHint
		return out
	case len(sum.counted)+len(sum.skipped) == 0:
		out.reading.Status = diagnose.StatusEmpty
		return out
	}
	out.reading.Source += "; listeners counted: " + namesOf(sum.counted) + "; left out: " + namesOf(sum.skipped)
	out.software, out.total = sum.software()
	out.known = true
	return out
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
