package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// clone copies evidence through and through.
func clone(e Evidence) Evidence {
	return deepCopy(reflect.ValueOf(e)).Interface().(Evidence)
}

func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Struct:
		out.Set(v)
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[Sample]() {
			return out
		}
		for i := range v.NumField() {
			out.Field(i).Set(deepCopy(v.Field(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, k := range v.MapKeys() {
				out.SetMapIndex(k, deepCopy(v.MapIndex(k)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}

// lightClone copies the parts that removals change; samples are shared.
func lightClone(e Evidence) Evidence {
	e.Brokers = slices.Clone(e.Brokers)
	for i := range e.Brokers {
		e.Brokers[i].Signals = maps.Clone(e.Brokers[i].Signals)
	}
	e.Groups = slices.Clone(e.Groups)
	e.Clients = slices.Clone(e.Clients)
	for i := range e.Clients {
		e.Clients[i].Signals = maps.Clone(e.Clients[i].Signals)
	}
	return e
}

// removal takes one piece of the evidence away.
type removal struct {
	what string
	from func(e *Evidence)
}

var skipped = Reading{Status: StatusSkipped}

// removals lists every section, broker, signal, group and group section that
// can be missing from this evidence.
func removals(e Evidence) []removal {
	out := []removal{
		{"metrics", func(e *Evidence) { e.Metrics = MetricsSource{Reading: skipped} }},
		{"cluster", func(e *Evidence) { e.Cluster = Cluster{Reading: skipped, ControllerID: -1} }},
		{"brokers", func(e *Evidence) { e.Brokers = nil }},
		{"groups", func(e *Evidence) { e.Groups, e.GroupsReading = nil, skipped }},
		{"exported groups", func(e *Evidence) { e.Exported = ExportedGroups{Reading: skipped} }},
		{"pods", func(e *Evidence) { e.PodList, e.Pods = nil, skipped }},
		{"watcher", func(e *Evidence) { e.Watcher = Watcher{Reading: skipped} }},
		{"clients", func(e *Evidence) { e.Clients, e.ClientsReading = nil, skipped }},
		{"logs", func(e *Evidence) { e.LogText, e.Logs = LogText{}, skipped }},
	}
	for i, b := range e.Brokers {
		p := fmt.Sprintf("broker %d ", b.ID)
		out = append(out,
			removal{p, func(e *Evidence) { e.Brokers = slices.Delete(e.Brokers, i, i+1) }},
			removal{p + "identity", func(e *Evidence) { e.Brokers[i].Identity, e.Brokers[i].Signals = skipped, nil }},
			removal{p + "slots", func(e *Evidence) { e.Brokers[i].Slots = Setting{Reading: skipped} }},
			removal{p + "demand", func(e *Evidence) { e.Brokers[i].Demand = Demand{Reading: skipped, Connections: -1} }},
			removal{p + "connections", func(e *Evidence) { e.Brokers[i].Demand.Connections = -1 }},
			removal{p + "leading", func(e *Evidence) { e.Brokers[i].Leading = nil }},
			removal{p + "awaited", func(e *Evidence) { e.Brokers[i].Awaited = nil }},
		)
		for _, s := range slices.Sorted(maps.Keys(b.Signals)) {
			out = append(out,
				removal{p + string(s), func(e *Evidence) { delete(e.Brokers[i].Signals, s) }},
				removal{p + string(s) + " not exported", func(e *Evidence) {
					e.Brokers[i].Signals[s] = Metric{Reading: Reading{Status: StatusNotExported}}
				}},
			)
		}
	}
	for i, g := range e.Groups {
		p := "group " + g.ID + " "
		out = append(out,
			removal{p, func(e *Evidence) { e.Groups = slices.Delete(e.Groups, i, i+1) }},
			removal{p + "described", func(e *Evidence) { e.Groups[i].Reading, e.Groups[i].Snapshots = skipped, nil }},
			removal{p + "history", func(e *Evidence) {
				e.Groups[i].History = GroupHistory{Reading: skipped, OffsetsPartition: -1}
			}},
			removal{p + "baseline", func(e *Evidence) { e.Groups[i].History.Baseline = false }},
			removal{p + "commits", func(e *Evidence) { e.Groups[i].History.Commits = nil }},
			removal{p + "lag", func(e *Evidence) { e.Groups[i].Lag, e.Groups[i].LagReading = nil, skipped }},
		)
	}
	for i, c := range e.Clients {
		p := "client " + c.ClientID + " "
		out = append(out, removal{p, func(e *Evidence) { e.Clients = slices.Delete(e.Clients, i, i+1) }})
		for _, s := range slices.Sorted(maps.Keys(c.Signals)) {
			out = append(out, removal{p + string(s), func(e *Evidence) { delete(e.Clients[i].Signals, s) }})
		}
	}
	return out
}

// confirmed lists what is confirmed, by class and subject.
func confirmed(d Diagnosis) map[string]bool {
	out := map[string]bool{}
	for _, f := range d.Findings {
		if f.Confidence == Confirmed {
			out[string(f.Class)+" of "+f.Subject] = true
		}
	}
	return out
}

// newerOnly are removals that take away all that was seen of a newer event, or of
// where else it was: what is left is certain of itself. As patterns of path.Match.
var newerOnly = []string{
	// The description alone saw the next member of the deploy leave.
	"rolling-deploy/*-during without group * described",
	// One broker of two: nothing is left that says there is another.
	"misrouted-sessions/* without broker 1 ",
}

func isNewerOnly(name string) bool {
	return slices.ContainsFunc(newerOnly, func(p string) bool { ok, err := path.Match(p, name); return err == nil && ok })
}

// TestAblation takes away one piece after the other. A class may become open,
// a symptom that a cause had explained may surface; nothing becomes confirmed
// that was not.
func TestAblation(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := Classify(c.ev, DefaultLimits())
			was := confirmed(whole)
			for _, r := range removals(c.ev) {
				e := lightClone(c.ev)
				r.from(&e)
				d := Classify(e, DefaultLimits())
				for f := range confirmed(d) {
					if !was[f] && !isNewerOnly(c.name+" without "+r.what) {
						t.Errorf("without %s: confirmed %s, but with everything it is %s (%s)", r.what, f, whole.Primary().Class, whole.Primary().Confidence)
					}
				}
				if len(d.Findings) == 0 {
					t.Errorf("without %s: no finding", r.what)
				}
			}
		})
	}
}

// TestShuffle permutes every list: the answer does not change.
func TestShuffle(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := encodeDiagnosis(t, Classify(c.ev, DefaultLimits()))
			for seed := range uint64(3) {
				e := clone(c.ev)
				shuffle(rand.New(rand.NewPCG(seed, 7)), reflect.ValueOf(&e).Elem())
				if got := encodeDiagnosis(t, Classify(e, DefaultLimits())); !bytes.Equal(want, got) {
					t.Fatalf("seed %d: %s", seed, firstDifference(want, got))
				}
			}
		})
	}
}

// shuffle permutes every slice below v.
func shuffle(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			shuffle(r, v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			shuffle(r, v.Field(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(k))
			shuffle(r, item)
			v.SetMapIndex(k, item)
		}
	case reflect.Slice:
		for i := range v.Len() {
			shuffle(r, v.Index(i))
		}
		swap := reflect.Swapper(v.Interface())
		r.Shuffle(v.Len(), func(i, j int) { swap(i, j) })
	default:
	}
}

var dateOf = regexp.MustCompile(`\d{4}-\d\d-\d\dT`)

// TestTimeShift moves every time by whole days: the answer is the same but for
// the dates. By an odd amount: the same classes and confidences.
func TestTimeShift(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := Classify(c.ev, DefaultLimits())
			days := Classify(shifted(c.ev, -37*24*time.Hour), DefaultLimits())
			a := dateOf.ReplaceAll(encodeDiagnosis(t, want), []byte("T"))
			b := dateOf.ReplaceAll(encodeDiagnosis(t, days), []byte("T"))
			if !bytes.Equal(a, b) {
				t.Errorf("by days: %s", firstDifference(a, b))
			}
			odd := Classify(shifted(c.ev, 5*time.Hour+17*time.Minute+31*time.Second), DefaultLimits())
			if got, want := verdicts(odd), verdicts(want); !slices.Equal(got, want) {
				t.Errorf("by an odd amount: %v, want %v", got, want)
			}
		})
	}
}

func verdicts(d Diagnosis) []string {
	var out []string
	for _, f := range d.Findings {
		out = append(out, fmt.Sprint(f.Class, f.Confidence, f.Subject))
	}
	return out
}

// shifted moves every time, and the process starts, which are times in values.
func shifted(e Evidence, by time.Duration) Evidence {
	e = clone(e)
	move(reflect.ValueOf(&e).Elem(), by)
	for i := range e.Brokers {
		for _, s := range e.Brokers[i].Signals[SignalProcessStart].Series {
			for k := range s.Samples {
				s.Samples[k].V += by.Seconds()
			}
		}
	}
	return e
}

func move(v reflect.Value, by time.Duration) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			move(v.Elem(), by)
		}
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			if !at.IsZero() {
				v.Set(reflect.ValueOf(at.Add(by)))
			}
			return
		}
		for i := range v.NumField() {
			move(v.Field(i), by)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(k))
			move(item, by)
			v.SetMapIndex(k, item)
		}
	case reflect.Slice:
		for i := range v.Len() {
			move(v.Index(i), by)
		}
	default:
	}
}

// TestRoundTrip: a decoded file encodes to the same bytes and classifies the
// same.
func TestRoundTrip(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first, err := Encode(c.ev)
			if err != nil {
				t.Fatal(err)
			}
			e, err := Decode(first)
			if err != nil {
				t.Fatal(err)
			}
			second, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, second) {
				t.Errorf("encoding is not stable: %s", firstDifference(first, second))
			}
			want := encodeDiagnosis(t, Classify(c.ev, DefaultLimits()))
			if got := encodeDiagnosis(t, Classify(e, DefaultLimits())); !bytes.Equal(want, got) {
				t.Errorf("classifies otherwise: %s", firstDifference(want, got))
			}
			var d Diagnosis
			if err := json.Unmarshal(want, &d); err != nil {
				t.Fatal(err)
			}
			if got := encodeDiagnosis(t, d); !bytes.Equal(want, got) {
				t.Errorf("the diagnosis does not survive JSON: %s", firstDifference(want, got))
			}
		})
	}
}

// TestContract checks what every diagnosis promises: citations that resolve,
// known classes, lists that are never null, and the facts that the rule
// declares.
func TestContract(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := Classify(c.ev, DefaultLimits())
			if raw := encodeDiagnosis(t, d); bytes.Contains(raw, []byte(`": null`)) {
				for _, key := range []string{"findings", "citations", "alternatives", "ruled_out", "blind_spots", "leaves_open", "not_judged"} {
					if bytes.Contains(raw, []byte(`"`+key+`": null`)) {
						t.Errorf("%s is null", key)
					}
				}
			}
			for _, f := range d.Findings {
				checkFinding(t, c.ev, f)
			}
			seen := map[Class]bool{}
			for _, r := range d.RuledOut {
				if seen[r.Class] || r.Because == "" {
					t.Errorf("ruled out twice, or without an observation: %+v", r)
				}
				seen[r.Class] = true
				if slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Class == r.Class }) {
					t.Errorf("%s is found and ruled out", r.Class)
				}
			}
			for _, b := range d.BlindSpots {
				if len(b.LeavesOpen) == 0 || b.Status == "" {
					t.Errorf("blind spot %+v leaves nothing open, or has no status", b)
				}
			}
		})
	}
}

func checkFinding(t *testing.T, e Evidence, f Finding) {
	t.Helper()
	entry, known := Lookup(f.Class)
	if !known || entry.Family != f.Family || entry.Headline != f.Headline {
		t.Errorf("%s does not stand in the catalogue like this", f.Class)
	}
	if f.Summary == "" || f.Subject == "" || f.Confidence == "" {
		t.Errorf("%s lacks a summary, subject or confidence: %+v", f.Class, f)
	}
	for _, c := range f.Citations {
		if _, ok := e.Lookup(c.Path); !ok {
			t.Errorf("%s cites %s, which is not in the evidence", f.Class, c.Path)
		}
		if c.Value == "" {
			t.Errorf("%s cites %s without words", f.Class, c.Path)
		}
	}
	for _, a := range f.Alternatives {
		if _, ok := Lookup(a.Class); !ok || a.Because == "" || a.Class == f.Class {
			t.Errorf("%s has a wrong alternative: %+v", f.Class, a)
		}
	}
	if len(f.Alternatives) > 0 && f.Decides == "" {
		t.Errorf("%s has alternatives and does not say what decides", f.Class)
	}
	if f.Confidence == Confirmed && len(f.Missing)+len(f.Alternatives) > 0 {
		t.Errorf("%s is confirmed with something missing: %+v", f.Class, f)
	}
	checkFacts(t, f)
}

// checkFacts holds a finding against the facts its rule declares: playbooks
// are linted against the declaration.
func checkFacts(t *testing.T, f Finding) {
	t.Helper()
	rules := Rules()
	r := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Class == f.Class })]
	for _, x := range f.Facts {
		if !slices.ContainsFunc(r.Provides, func(s FactSpec) bool { return s.Name == x.Name && s.Unit == x.Unit }) {
			t.Errorf("%s does not declare the fact %s (%s)", f.Class, x.Name, x.Unit)
		}
	}
	for _, s := range r.Provides {
		if _, ok := f.Fact(s.Name); !ok && !s.Optional {
			t.Errorf("%s lacks the fact %s, which is not optional", f.Class, s.Name)
		}
	}
}

// TestCompleteness: each class with a rule has a case in which it holds and a
// near miss, and each case is filed under a class.
func TestCompleteness(t *testing.T) {
	holds, near := map[Class]int{}, map[Class]int{}
	for _, c := range corpus(t) {
		if _, ok := Lookup(c.class); !ok {
			t.Errorf("%s: no such class", c.name)
		}
		if c.Provenance != "recorded" && c.Provenance != "synthetic" || c.Truth == "" || c.Notes == "" {
			t.Errorf("%s: provenance, truth and notes are needed", c.name)
		}
		switch {
		case c.near:
			near[c.class]++
		case c.Primary == c.class:
			holds[c.class]++
		case c.Primary == "" && c.Injected == c.class:
			// Played by the cache model: only scored.
		default:
			t.Errorf("%s: primary is %s, so it belongs there or is a near miss", c.name, c.Primary)
		}
	}
	for _, class := range JudgedClasses() {
		if holds[class] == 0 || near[class] == 0 {
			t.Errorf("%s has %d cases and %d near misses, needs one of each", class, holds[class], near[class])
		}
	}
}

// TestPure: the core reaches no network, no Kafka, no Prometheus, no Slack,
// also not through a dependency.
func TestPure(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, p := range strings.Fields(string(out)) {
		root, _, _ := strings.Cut(p, "/")
		switch {
		case p == "net/netip": // addresses as values; it opens nothing
		case p == "net", root == "net", p == "os/exec", p == "database/sql":
			t.Errorf("diagnose depends on %s", p)
		case strings.Contains(root, ".") && p != "github.com/kafka-oncall/kafka-oncall/diagnose":
			t.Errorf("diagnose depends on %s", p)
		}
	}
}

// TestRulesTable prints the rules; the docs show the table.
func TestRulesTable(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Rules\n\nWhat each class needs, what must hold, and what makes it certain. Written by a test from the rules themselves.\n")
	for _, r := range Rules() {
		entry, _ := Lookup(r.Class)
		fmt.Fprintf(&b, "\n## %s\n\n%s — %s. Family: %s.\n", r.Class, entry.Headline, entry.Meaning, entry.Family)
		list(&b, "Needs", words(r.Needs))
		list(&b, "Conditions", r.Conditions)
		list(&b, "Corroboration", r.Corroboration)
		list(&b, "Explains", words(r.Explains))
		fmt.Fprintf(&b, "\nRests on: %s.\n", r.Source)
		if len(r.Provides) > 0 {
			b.WriteString("\n| fact | unit | meaning |\n|---|---|---|\n")
		}
		for _, p := range r.Provides {
			optional := ""
			if p.Optional {
				optional = " (may be missing)"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", p.Name, p.Unit, p.Meaning, optional)
		}
	}
	golden(t, "testdata/rules.golden.md", b.Bytes())
}

func words[T ~string](in []T) []string {
	var out []string
	for _, v := range in {
		out = append(out, "`"+string(v)+"`")
	}
	return out
}

func list(b *bytes.Buffer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", title)
	for _, i := range items {
		fmt.Fprintf(b, "- %s\n", i)
	}
}

// TestRulesDeclare: a rule says what it needs, what must hold and where that
// comes from, and every fact has a name, a unit and a meaning.
func TestRulesDeclare(t *testing.T) {
	seen := map[Class]bool{}
	for _, r := range Rules() {
		if seen[r.Class] {
			t.Errorf("%s has two rules", r.Class)
		}
		seen[r.Class] = true
		if len(r.Conditions) == 0 || r.Source == "" || len(r.Needs) == 0 && r.Class != Undecided {
			t.Errorf("%s: needs, conditions and source must be declared", r.Class)
		}
		if r.Judge == nil && r.Class != Quiet && r.Class != Undecided {
			t.Errorf("%s has no predicate", r.Class)
		}
		names := map[string]bool{}
		for _, p := range r.Provides {
			if names[p.Name] || p.Unit == UnitNone || p.Meaning == "" {
				t.Errorf("%s: fact %q is declared twice, or without unit or meaning", r.Class, p.Name)
			}
			names[p.Name] = true
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	var largest corpusCase
	for _, c := range corpus(b) {
		if c.size > largest.size {
			largest = c
		}
	}
	b.Logf("%s: %d bytes", largest.name, largest.size)
	b.ReportAllocs()
	for b.Loop() {
		Classify(largest.ev, DefaultLimits())
	}
}
