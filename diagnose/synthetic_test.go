package diagnose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

var writeCorpus = flag.Bool("write-corpus", false, "write the synthetic cases of the corpus")

// t0 is the moment at which the synthetic cases are judged.
var t0 = time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)

// ago is a moment before t0.
func ago(d time.Duration) time.Time { return t0.Add(-d) }

// synthCase is one case built here and kept in the corpus.
type synthCase struct {
	class, name string
	notes       string
	truth       string
	primary     Class
	confidence  Confidence
	not         []Class
	ev          Evidence
}

// event is n events at one moment.
type event struct {
	at time.Time
	n  float64
}

// proc is one run of a broker's process.
type proc struct {
	start, end time.Time // end zero = still up
	// leadersAt is when it led its partitions; zero = never.
	leadersAt time.Time
	instance  string
}

// brokerSpec describes a broker of a synthetic case: what it did, not what was
// scraped.
type brokerSpec struct {
	id       int32
	procs    []proc
	leaders  float64
	sessions func(t time.Time) float64
	events   map[Signal][]event
	// bytes are mean, p50 and p99 of the consumer fetches.
	bytes [3]float64
	// gaps are spans without a scrape.
	gaps [][2]time.Time
	// made is how many connections are opened a second.
	made float64
	// urp is the number of its under-replicated partitions, fetches of consumers a
	// second (40 if zero).
	urp, fetches float64
	// omit are signals that the exporter does not have.
	omit []Signal
	// slots, demand: the admin side. consumers < 0 = demand not read.
	slots                             int
	consumers, followers, connections int
	byGroup                           []GroupDemand
}

// stable is a broker that has been up for three days.
func stable(id int32) brokerSpec {
	return brokerSpec{
		id: id, procs: []proc{{start: ago(72 * time.Hour), leadersAt: ago(71 * time.Hour)}}, leaders: 4,
		sessions: always(24), slots: 1000, consumers: 20, followers: 2, connections: 58, bytes: [3]float64{30, 29, 29}, made: 0.02,
	}
}

// restarted is a broker that was down for 15 s and took its partitions back.
func restarted(id int32, start, back time.Time) brokerSpec {
	b := stable(id)
	b.procs = []proc{
		{start: ago(72 * time.Hour), end: start.Add(-15 * time.Second), leadersAt: ago(71 * time.Hour)},
		{start: start, leadersAt: back},
	}
	b.sessions = func(t time.Time) float64 {
		if t.Before(start) {
			return 24
		}
		if back.IsZero() || t.Before(back) {
			return 0
		}
		return 22
	}
	return b
}

func always(n float64) func(time.Time) float64 { return func(time.Time) float64 { return n } }

// synth is the shared part of a synthetic case.
type synth struct {
	every   time.Duration
	reach   time.Duration
	sharded *bool
	target  *int32
	specs   []brokerSpec
}

func world(specs ...brokerSpec) synth {
	yes := true
	id := specs[len(specs)-1].id
	return synth{every: 15 * time.Second, reach: 20 * time.Minute, sharded: &yes, target: &id, specs: specs}
}

func ok(source string) Reading { return Reading{Status: StatusOK, AsOf: t0, Source: source} }

func (s synth) evidence() Evidence {
	e := Evidence{
		Schema: SchemaVersion, At: t0, WindowSeconds: 600,
		Target:  Target{Cluster: "kafka-prod", Broker: s.target},
		Cluster: Cluster{Reading: ok("kafka: Metadata"), ID: "lab", ControllerID: 1, Version: "3.8 or newer", ShardedCache: s.sharded},
		Metrics: MetricsSource{
			Reading: ok("prometheus"), Dialect: "jmx-examples", Selector: `{cluster="kafka-prod"}`,
			ScrapeSeconds: s.every.Seconds(), RangeSeconds: int(s.reach.Seconds()),
		},
		GroupsReading: ok("kafka: DescribeGroups"),
		Watcher:       Watcher{Reading: ok("watcher"), Since: ago(time.Hour)},
	}
	for _, spec := range s.specs {
		e.Brokers = append(e.Brokers, s.broker(spec))
	}
	return e
}

func (s synth) broker(spec brokerSpec) Broker {
	b := Broker{
		ID: spec.id, Identity: ok("label broker_id"), Signals: map[Signal]Metric{},
		Slots:  Setting{Reading: ok("kafka: DescribeConfigs"), Value: strconv.Itoa(spec.slots), Origin: "STATIC_BROKER_CONFIG"},
		Demand: Demand{Reading: ok("kafka: DescribeGroups, Metadata"), Consumers: spec.consumers, Followers: spec.followers, Connections: spec.connections, ByGroup: spec.byGroup},
	}
	if spec.consumers < 0 {
		b.Demand = Demand{Reading: Reading{Status: StatusForbidden, Error: "DescribeGroups: not authorized", Hint: "grant DESCRIBE on groups"}, Connections: -1}
	}
	for _, sig := range BrokerSignals() {
		// The cases are older than these signals; those about them say so.
		if slices.Contains(lostStateSignals[:], sig) && spec.events[sig] == nil {
			continue
		}
		b.Signals[sig] = Metric{Reading: Reading{Status: StatusEmpty, AsOf: t0, Source: "prometheus: " + string(sig)}}
	}
	for i, p := range spec.procs {
		s.process(&b, spec, i, p)
	}
	for _, sig := range spec.omit {
		b.Signals[sig] = Metric{Reading: Reading{Status: StatusNotExported, Source: "prometheus: " + string(sig), Hint: "the exporter drops it"}}
	}
	return b
}

// process adds what one run of the process left in Prometheus.
func (s synth) process(b *Broker, spec brokerSpec, index int, p proc) {
	labels := map[string]string{}
	if p.instance != "" {
		labels["instance"] = p.instance
	}
	add := func(sig Signal, value func(t time.Time) (float64, bool)) {
		samples := s.scrape(spec, p, value)
		if len(samples) == 0 {
			return
		}
		m := b.Signals[sig]
		m.Status = StatusOK
		// Without a renamed target a restarted process goes on in its series.
		if n := len(m.Series); n > 0 && p.instance == "" {
			m.Series[n-1].Samples = append(m.Series[n-1].Samples, samples...)
		} else {
			m.Series = append(m.Series, Series{Labels: labels, Samples: samples})
		}
		b.Signals[sig] = m
	}
	always := func(v float64) func(time.Time) (float64, bool) {
		return func(time.Time) (float64, bool) { return v, true }
	}
	add(SignalProcessStart, always(float64(p.start.UnixMilli())/1000))
	add(SignalErrorsAny, func(t time.Time) (float64, bool) { return 100 + t.Sub(p.start).Seconds(), true })
	add(SignalFetchRequests, func(t time.Time) (float64, bool) { return t.Sub(p.start).Seconds() * cmp.Or(spec.fetches, 40), true })
	add(SignalConnectionsMade, func(t time.Time) (float64, bool) {
		n, _ := sum(spec.events[SignalConnectionsMade], p, t)
		return 60 + float64(int(t.Sub(p.start).Seconds()*spec.made)) + n, true
	})
	add(SignalUnderReplicated, always(spec.urp))
	add(SignalBrokerState, always(3))
	add(SignalSessions, func(t time.Time) (float64, bool) { return spec.sessions(t), true })
	add(SignalCachedPartitions, func(t time.Time) (float64, bool) { return spec.sessions(t) * 20, true })
	add(SignalFetchBytesMean, always(spec.bytes[0]))
	add(SignalFetchBytesP50, always(spec.bytes[1]))
	add(SignalFetchBytesP99, always(spec.bytes[2]))
	add(SignalLeaders, func(t time.Time) (float64, bool) {
		if p.leadersAt.IsZero() || t.Before(p.leadersAt) {
			return 0, true
		}
		return spec.leaders, true
	})
	add(SignalEvictions, func(t time.Time) (float64, bool) {
		n, _ := sum(spec.events[SignalEvictions], p, t)
		return n, true
	})
	for sig, events := range spec.events {
		if sig != SignalEvictions && sig != SignalConnectionsMade {
			add(sig, func(t time.Time) (float64, bool) { return sum(events, p, t) })
		}
	}
}

// sum is a lazily born counter: absent until the first event of the process.
func sum(events []event, p proc, t time.Time) (n float64, born bool) {
	for _, e := range events {
		if !e.at.After(t) && e.at.After(p.start) && (p.end.IsZero() || e.at.Before(p.end)) {
			n, born = n+e.n, true
		}
	}
	return n, born
}

func (s synth) scrape(spec brokerSpec, p proc, value func(time.Time) (float64, bool)) []Sample {
	var out []Sample
	for t := ago(s.reach); !t.After(t0); t = t.Add(s.every) {
		at := t.Add(-time.Duration(spec.id) * time.Second) // scrapes of brokers are not in step
		if at.Before(p.start) || !p.end.IsZero() && at.After(p.end) || gone(spec.gaps, at) {
			continue
		}
		if v, ok := value(at); ok {
			out = append(out, Sample{T: at, V: v})
		}
	}
	return out
}

func gone(gaps [][2]time.Time, t time.Time) bool {
	for _, g := range gaps {
		if !t.Before(g[0]) && !t.After(g[1]) {
			return true
		}
	}
	return false
}

// waves are n events over 15 s at every given moment.
func waves(n float64, moments ...time.Time) []event {
	var out []event
	for _, m := range moments {
		for i := range 3 {
			out = append(out, event{m.Add(time.Duration(i) * 5 * time.Second), n / 4})
		}
		out = append(out, event{m.Add(15 * time.Second), n - 3*(n/4)})
	}
	return out
}

// TestSyntheticCorpus keeps the synthetic cases on disk equal to what is
// described here; -write-corpus writes them.
func TestSyntheticCorpus(t *testing.T) {
	for _, c := range syntheticCases() {
		dir := filepath.Join("testdata", "corpus", c.class, c.name)
		ev, err := Encode(c.ev)
		if err != nil {
			t.Fatalf("%s/%s: %v", c.class, c.name, err)
		}
		words := map[string]any{
			"notes": c.notes, "provenance": "synthetic", "truth": c.truth, "primary": c.primary,
			"confidence": []Confidence{c.confidence}, "not": append([]Class{}, c.not...),
		}
		injectedIn[c.class+"/"+c.name].describe(words)
		meta, err := json.MarshalIndent(words, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		meta = append(meta, '\n')
		if *writeCorpus {
			writeCase(t, dir, ev, meta)
			continue
		}
		if !bytes.Equal(readEvidence(t, dir), ev) || !bytes.Equal(readFile(t, filepath.Join(dir, "case.json")), meta) {
			t.Errorf("%s differs from its description (go test ./diagnose -write-corpus)", dir)
		}
	}
}

func writeCase(t *testing.T, dir string, ev, meta []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeEvidence(t, dir, ev)
	if err := os.WriteFile(filepath.Join(dir, "case.json"), meta, 0o644); err != nil {
		t.Fatal(err)
	}
}
