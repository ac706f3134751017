package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/score"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

// someEvidence is any evidence that decodes.
const someEvidence = "../../diagnose/testdata/corpus/cache-near-limit/lab-4.4.0/evidence.json.gz"

func recording(t *testing.T, truth lab.Truth) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "process-gone-3.9.2-java-7")
	raw, err := os.ReadFile(someEvidence)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range truth.Looks {
		if l.Evidence == "" {
			continue
		}
		path := filepath.Join(dir, l.Evidence)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := truth.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goneTruth(looks ...lab.Look) lab.Truth {
	return lab.Truth{
		Schema: lab.TruthSchema, Scenario: "process-gone", Class: "process-gone", ProvisionalClass: "session-timeout",
		Version: "3.9.2", Protocol: "classic", Client: "java", Started: time.Unix(1796038975, 0),
		Parameters: map[string]any{"session_timeout_ms": 8000}, Looks: looks,
	}
}

// A recording becomes one case a look, which the score can read; to file it
// again changes nothing.
func TestCorpusFilesEachLook(t *testing.T) {
	dir := recording(t, goneTruth(
		lab.Look{Moment: lab.LookDuring, Evidence: "during/evidence.json.gz"},
		lab.Look{Moment: lab.LookAfter, Evidence: "after/evidence.json.gz"},
		lab.Look{Moment: lab.LookLater, Error: "the lab was gone"},
	))
	f := filing{into: t.TempDir(), set: score.HeldOut}
	var out bytes.Buffer
	for range 2 {
		if err := f.file(&out, dir); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("filed %d cases, want 2:\n%s", n, out.String())
	}
	var names []string
	for c, err := range score.Load(os.DirFS(f.into)) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, c.Name)
		if c.True() != "process-gone" || c.Provisional != "session-timeout" || c.Set != score.HeldOut || c.Provenance != score.Recorded || c.Primary != "" {
			t.Errorf("%s: %+v", c.Name, c.Meta)
		}
		if c.Parameters["version"] != "3.9.2" || c.Parameters["session_timeout_ms"] != float64(8000) {
			t.Errorf("%s: parameters %v", c.Name, c.Parameters)
		}
	}
	want := []string{"process-gone/run-process-gone-3.9.2-java-bcjj-after", "process-gone/run-process-gone-3.9.2-java-bcjj-during"}
	if !slices.Equal(names, want) {
		t.Errorf("cases %v, want %v", names, want)
	}
}

// Only the looks that were asked for are filed.
func TestCorpusFilesChosenLooks(t *testing.T) {
	dir := recording(t, goneTruth(
		lab.Look{Moment: lab.LookDuring, Evidence: "during/evidence.json.gz"},
		lab.Look{Moment: lab.LookAfter, Evidence: "after/evidence.json.gz"},
	))
	var out bytes.Buffer
	f := filing{into: t.TempDir(), set: score.Tuned, moments: []string{lab.LookAfter}}
	if err := f.file(&out, dir); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "-after\n") {
		t.Errorf("filed %q", got)
	}
}

// Without a look there is nothing to judge, which is said.
func TestCorpusWantsLooks(t *testing.T) {
	f := filing{into: t.TempDir(), set: score.Tuned}
	err := f.file(&bytes.Buffer{}, recording(t, goneTruth()))
	if err == nil || !strings.Contains(err.Error(), "--look") {
		t.Errorf("error %v", err)
	}
	if err := f.file(&bytes.Buffer{}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "truth") {
		t.Errorf("error %v", err)
	}
}
