package diagnose

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// corpusCase is one case.json with its evidence.
type corpusCase struct {
	Notes      string       `json:"notes"`
	Provenance string       `json:"provenance"`
	Truth      string       `json:"truth"`
	Primary    Class        `json:"primary"`
	Confidence []Confidence `json:"confidence"`
	Not        []Class      `json:"not"`
	// What scoring needs; see the corpus' README.
	Injected    Class          `json:"class"`
	Provisional Class          `json:"provisional"`
	Telemetry   string         `json:"telemetry"`
	Set         string         `json:"set"`
	Produced    []string       `json:"produced"`
	Fault       any            `json:"fault"`
	Seed        uint64         `json:"seed"`
	Parameters  map[string]any `json:"parameters"`

	name  string // restart-burst/during
	class Class  // the folder
	near  bool
	dir   string
	ev    Evidence
	size  int
}

// corpusOnce keeps the corpus for all tests of a run; they copy what they
// change.
var corpusOnce struct {
	sync.Mutex
	cases []corpusCase
}

// corpus loads every case below testdata/corpus that must come out as something,
// and of those that the cache model played every fifth that is not held out. They
// are alike, and the score judges them all.
func corpus(t testing.TB) []corpusCase {
	t.Helper()
	corpusOnce.Lock()
	defer corpusOnce.Unlock()
	if corpusOnce.cases == nil {
		corpusOnce.cases = loadCorpus(t)
	}
	return corpusOnce.cases
}

func loadCorpus(t testing.TB) []corpusCase {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "corpus", "*", "*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []corpusCase
	scored := 0
	for _, p := range dirs {
		c := loadMeta(t, filepath.Dir(p))
		if c.Primary == "" {
			if c.Set == "held-out" {
				continue
			}
			if scored++; scored%5 != 1 {
				continue
			}
		}
		out = append(out, withEvidence(t, c))
	}
	if len(out) == 0 {
		t.Fatal("no corpus")
	}
	return out
}

// A case that says what must come out is read by every test here and has a golden:
// it was seen while rules were written, and cannot be held out.
func TestWhatWasSeenIsNotHeldOut(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "corpus", "*", "*", "case.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d cases: %v", len(dirs), err)
	}
	for _, p := range dirs {
		c := loadMeta(t, filepath.Dir(p))
		if c.Set != "held-out" {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.dir, "diagnosis.golden.json")); c.Primary != "" || err == nil {
			t.Errorf("%s is held out and says what must come out, or has a golden", c.name)
		}
	}
}

// loadMeta reads a case without its evidence.
func loadMeta(t testing.TB, dir string) corpusCase {
	t.Helper()
	var c corpusCase
	dec := json.NewDecoder(bytes.NewReader(readFile(t, filepath.Join(dir, "case.json"))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		t.Fatalf("%s/case.json: %v", dir, err)
	}
	name, _ := filepath.Rel(filepath.Join("testdata", "corpus"), dir)
	c.name, c.dir = filepath.ToSlash(name), dir
	c.class = Class(filepath.Base(filepath.Dir(dir)))
	c.near = strings.HasPrefix(filepath.Base(dir), "near-")
	return c
}

func withEvidence(t testing.TB, c corpusCase) corpusCase {
	t.Helper()
	raw := readEvidence(t, c.dir)
	ev, err := Decode(raw)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	c.ev, c.size = ev, len(raw)
	return c
}

func readEvidence(t testing.TB, dir string) []byte {
	t.Helper()
	plain, err := os.ReadFile(filepath.Join(dir, "evidence.json"))
	if err == nil {
		return plain
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(readFile(t, filepath.Join(dir, "evidence.json.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden compares with a file, or rewrites it under -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./diagnose -update writes it)", err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (go test ./diagnose -update rewrites it)\n%s", path, firstDifference(want, got))
	}
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(w), len(g)) {
		a, b := at(w, i), at(g, i)
		if a != b {
			return "want " + a + "\n got " + b
		}
	}
	return ""
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

func encodeDiagnosis(t testing.TB, d Diagnosis) []byte {
	t.Helper()
	b, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// TestCorpus judges every case: the truth, the near misses, and the golden.
func TestCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		if c.Primary == "" {
			continue // only scored
		}
		t.Run(c.name, func(t *testing.T) {
			d := Classify(c.ev, DefaultLimits())
			p := d.Primary()
			if p.Class != c.Primary {
				t.Errorf("primary is %s (%s), want %s: %s", p.Class, p.Confidence, c.Primary, p.Summary)
			}
			if len(c.Confidence) > 0 && !slices.Contains(c.Confidence, p.Confidence) {
				t.Errorf("confidence is %s, want one of %v (missing %v)", p.Confidence, c.Confidence, p.Missing)
			}
			for _, f := range d.Findings {
				if slices.Contains(c.Not, f.Class) || c.near && f.Class == c.class {
					t.Errorf("%s must not be found: %s", f.Class, f.Summary)
				}
			}
			golden(t, filepath.Join(c.dir, "diagnosis.golden.json"), encodeDiagnosis(t, d))
		})
	}
}

// maxPlain is the size from which evidence is kept compressed; what the cache
// model played always is.
const maxPlain = 16 << 10

// writeEvidence writes evidence.json, or evidence.json.gz for a large one. A
// file that already decodes to the same bytes is left alone, since compression
// may differ between Go releases.
func writeEvidence(t testing.TB, dir string, ev []byte) {
	t.Helper()
	plain, packed := filepath.Join(dir, "evidence.json"), filepath.Join(dir, "evidence.json.gz")
	if len(ev) <= maxPlain && !strings.Contains(filepath.ToSlash(dir), "/"+modelPrefix) {
		os.Remove(packed)
		if err := os.WriteFile(plain, ev, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	os.Remove(plain)
	if _, err := os.Stat(packed); err == nil && bytes.Equal(readEvidence(t, dir), ev) {
		return
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(ev); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
