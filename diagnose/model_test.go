package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose/internal/cachemodel"
)

// modelPrefix begins the names of the cases that the cache model plays. They
// have a true class and no verdict that must come out: only the score judges
// them, and half of them are held out from whoever writes rules.
const modelPrefix = "model-"

// modelled is one incident for the cache model, and what stands around it.
type modelled struct {
	truth    string
	scenario cachemodel.Scenario
	// produced are the signals of broker 3 that the incident moves.
	produced []Signal
	// blind: groups may not be described, so that the demand is not known.
	blind bool
	// software is the census of the broker's connections, beside Java clients.
	software []Software
	// events are counters that the model does not have, on the brokers it plays.
	events map[Signal][]event
	// peerBackS is the second at which a restarted broker 2 fetches again.
	peerBackS int
	urp       float64
}

// modelKind makes cases of one class from random numbers.
type modelKind struct {
	class Class
	name  string
	n     int
	build func(r *rand.Rand) modelled
}

// modelCase is one case of a kind.
type modelCase struct {
	kind  modelKind
	index int
	seed  uint64
}

func modelCases() []modelCase {
	var out []modelCase
	for k, kind := range modelKinds() {
		for i := range kind.n {
			out = append(out, modelCase{kind, i, uint64(1000*(k+1) + i)})
		}
	}
	return out
}

func (c modelCase) name() string {
	return fmt.Sprintf("%s/%s%s-%02d", c.kind.class, modelPrefix, c.kind.name, c.index)
}

// set: every second case is held out.
func (c modelCase) set() string {
	if heldOut(c.name()) {
		return "held-out"
	}
	return "tuned"
}

// heldOut reports whether the name of a played case ends with an odd number.
func heldOut(name string) bool { return strings.ContainsAny(name[len(name)-1:], "13579") }

// play returns the case's evidence and its description.
func (c modelCase) play() (Evidence, map[string]any) {
	r := rand.New(rand.NewPCG(c.seed, 1))
	m := c.kind.build(r)
	every := []int{15, 15, 30, 30}[r.IntN(4)]
	e := m.evidence(cachemodel.Run(m.scenario, c.seed), time.Duration(every)*time.Second)
	words := map[string]any{
		"notes":      "Played by the cache model (diagnose/internal/cachemodel) with these parameters; written by go test ./diagnose -write-corpus.",
		"provenance": "synthetic", "truth": m.truth, "class": c.kind.class, "set": c.set(), "seed": c.seed,
		"parameters": map[string]any{"scenario": m.scenario, "scrape_s": every},
		"produced":   m.paths(),
	}
	if m.blind {
		words["telemetry"] = "partial"
	}
	return e, words
}

func (m modelled) paths() []string {
	out := []string{}
	for _, s := range m.produced {
		out = append(out, "brokers[3]."+string(s))
	}
	return out
}

// clock places a second of the run before t0.
func (m modelled) clock(second int) time.Time {
	return ago(time.Duration(m.scenario.Seconds-second) * time.Second)
}

func (m modelled) evidence(traces []cachemodel.Trace, every time.Duration) Evidence {
	peer := stable(2)
	if m.peerBackS > 0 {
		peer = burstless(2, m.clock(m.peerBackS).Add(-20*time.Second))
	}
	specs := []brokerSpec{peer, m.broker(3, traces[0])}
	if len(traces) > 1 {
		specs[0] = m.broker(2, traces[1])
	}
	w := world(specs...)
	w.every = every
	sharded := m.scenario.Shards > 1
	w.sharded = &sharded
	e := w.evidence()
	m.fill(&e.Brokers[1], traces[0])
	if len(traces) > 1 {
		m.fill(&e.Brokers[0], traces[1])
	}
	return e
}

// broker describes what the model played, for the exporter.
func (m modelled) broker(id int32, t cachemodel.Trace) brokerSpec {
	b := stable(id)
	live, made := 0, 0.02
	for _, c := range m.scenario.Clients {
		live += c.Count
	}
	for _, v := range m.scenario.Visitors {
		if v.Fetches > 1 {
			made += v.PerMinute / 60
		}
	}
	b.slots, b.consumers, b.followers, b.connections, b.made = m.scenario.Slots, live, max(2, m.scenario.Followers.Threads), 2*live+14, made
	b.byGroup = []GroupDemand{{"clickstream", live - live/3}, {"billing", live / 3}}
	if m.blind {
		b.consumers = -1
	}
	if r := m.scenario.Restart; r != nil {
		back := m.clock(r.BackS)
		if r.BackS >= m.scenario.Seconds {
			back = time.Time{}
		}
		b.procs = restarted(id, m.clock(r.AtS).Add(15*time.Second), back).procs
	}
	b.sessions = func(at time.Time) float64 { return float64(t.At(m.second(at)).Sessions) }
	b.events = map[Signal][]event{
		SignalErrors70:  m.growth(t, func(s cachemodel.Second) int { return s.Errors70 }),
		SignalErrors71:  m.growth(t, func(s cachemodel.Second) int { return s.Errors71 }),
		SignalEvictions: m.growth(t, func(s cachemodel.Second) int { return s.Evictions }),
	}
	for s, events := range m.events {
		b.events[s] = append(b.events[s], events...)
	}
	b.bytes, b.fetches = m.requestBytes(t)
	return b
}

// second is the last full second of the run at a moment.
func (m modelled) second(at time.Time) int {
	return m.scenario.Seconds - 1 - int(t0.Sub(at).Seconds())
}

// growth turns a counter of the trace into events. What was counted before the
// samples begin is one event.
func (m modelled) growth(t cachemodel.Trace, of func(cachemodel.Second) int) []event {
	var out []event
	before := 0
	first := max(1, len(t)-1300)
	for i := first; i < len(t); i++ {
		now := of(t[i])
		switch {
		case i == first && now > 0:
			out = append(out, event{m.clock(i), float64(now)})
		case now < before: // the process was replaced
			if now > 0 {
				out = append(out, event{m.clock(i + 1), float64(now)})
			}
		case now > before:
			out = append(out, event{m.clock(i + 1), float64(now - before)})
		}
		before = now
	}
	return out
}

// requestBytes are mean, p50 and p99 of the consumer fetches and how many there
// are a second: 29 bytes for an incremental one, 34 more a partition for a full one
// (measured: 707 with 20 partitions).
func (m modelled) requestBytes(t cachemodel.Trace) ([3]float64, float64) {
	end := t[len(t)-1]
	full, share := 29+33.9*float64(m.scenario.Clients[0].Partitions), 0.0
	if end.Fetches > 0 {
		share = float64(end.FullFetches) / float64(end.Fetches)
	}
	out := [3]float64{float64(int(29 + float64(share*(full-29)))), 29, 29}
	if share >= 0.5 {
		out[1] = float64(int(full))
	}
	if share >= 0.01 {
		out[2] = float64(int(full))
	}
	return out, float64(end.Fetches) / float64(m.scenario.Seconds)
}

// fill replaces what a synthetic broker has by rule of thumb.
func (m modelled) fill(b *Broker, t cachemodel.Trace) {
	for _, s := range b.Signals[SignalCachedPartitions].Series {
		for i := range s.Samples {
			s.Samples[i].V = float64(t.At(m.second(s.Samples[i].T)).Partitions)
		}
	}
	for _, s := range b.Signals[SignalUnderReplicated].Series {
		for i, x := range s.Samples {
			if m.behind(x.T) {
				s.Samples[i].V = m.urp
			}
		}
	}
	b.SoftwareReading = ok("prometheus: connections by software")
	b.Software = append([]Software{{Name: "apache-kafka-java", Version: "3.7.2", Connections: b.Demand.Connections}}, m.software...)
	slices.SortFunc(b.Software, func(x, y Software) int { return strings.Compare(x.Name, y.Name) })
}

// behind: a follower is away, around each of its returns.
func (m modelled) behind(at time.Time) bool {
	return slices.ContainsFunc(m.scenario.Followers.BackAtS, func(s int) bool {
		d := m.clock(s).Sub(at)
		return d >= 0 && d < 35*time.Second
	})
}

// TestModelCorpus keeps the played cases on disk equal to what is described
// here; -write-corpus writes them. Only every eighth is played again otherwise.
func TestModelCorpus(t *testing.T) {
	for i, c := range modelCases() {
		if i%8 != 0 && !*writeCorpus {
			continue
		}
		e, words := c.play()
		ev, err := Encode(e)
		if err != nil {
			t.Fatalf("%s: %v", c.name(), err)
		}
		meta, err := json.MarshalIndent(words, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		meta = append(meta, '\n')
		dir := filepath.Join("testdata", "corpus", filepath.FromSlash(c.name()))
		if *writeCorpus {
			writeCase(t, dir, ev, meta)
			continue
		}
		if !bytes.Equal(readEvidence(t, dir), ev) || !bytes.Equal(readFile(t, filepath.Join(dir, "case.json")), meta) {
			t.Errorf("%s differs from its description (go test ./diagnose -write-corpus)", dir)
		}
	}
}

// TestModelCorpusIsComplete: no played case is missing, none is left over, half
// of them are held out.
func TestModelCorpusIsComplete(t *testing.T) {
	onDisk, err := filepath.Glob(filepath.Join("testdata", "corpus", "*", modelPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	held := 0
	for _, c := range modelCases() {
		want = append(want, filepath.Join("testdata", "corpus", filepath.FromSlash(c.name())))
		if c.set() == "held-out" {
			held++
		}
	}
	slices.Sort(want)
	slices.Sort(onDisk)
	if !slices.Equal(onDisk, want) {
		t.Errorf("%d cases on disk, %d described", len(onDisk), len(want))
	}
	if 2*held != len(want) {
		t.Errorf("%d of %d are held out, want half", held, len(want))
	}
}
