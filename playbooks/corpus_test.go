package playbooks

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// corpusDir is the classifier's corpus: real and synthetic evidence by class.
const corpusDir = "../diagnose/testdata/corpus"

// corpus classifies every case of the corpus.
func corpus(t *testing.T) map[string]diagnose.Diagnosis {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir, "*", "*", "evidence.json*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	out := map[string]diagnose.Diagnosis{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		e, err := diagnose.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		name, _ := filepath.Rel(corpusDir, filepath.Dir(f))
		out[filepath.ToSlash(name)] = diagnose.Classify(e, diagnose.DefaultLimits())
	}
	return out
}

// Every verdict the classifier gives has its words: a one-line text, a step
// whose values are all there, and no placeholder left over.
func TestEveryCorpusCaseHasItsWords(t *testing.T) {
	set := defaultSet(t)
	for name, d := range corpus(t) {
		v := set.Fill(View{IncidentID: "i", Target: d.Target, Phase: PhaseFiring, Diagnosis: &d, LastLook: d.At}, nil)
		if v.Step == nil {
			t.Errorf("%s (%s): no next step", name, d.Primary().Class)
		}
		for _, s := range v.Steps {
			if strings.Contains(s.Text, "cannot be filled in") {
				t.Errorf("%s: step %s of %s: %s", name, s.ID, s.Playbook, s.Text)
			}
		}
		m := Root(v)
		if m.Text == "" || len(m.Title) == 0 || len(m.Summary) == 0 {
			t.Errorf("%s: the root lacks text, title or summary: %+v", name, m)
		}
		if len(m.Evidence) > evidenceInRoot {
			t.Errorf("%s: %d lines of evidence in the root", name, len(m.Evidence))
		}
		if strings.ContainsAny(show(m)+show(Thread(v)), "{}") && !strings.Contains(show(Thread(v)), "{cluster") {
			t.Errorf("%s: a placeholder is left:\n%s", name, show(m))
		}
	}
}

// One case of each class is kept word for word, to be read when a text changes.
func TestCorpusCards(t *testing.T) {
	set := defaultSet(t)
	all := corpus(t)
	chosen := map[string]string{}
	for name := range all {
		class, rest, _ := strings.Cut(name, "/")
		if now, ok := chosen[class]; !strings.HasPrefix(rest, "near-") && (!ok || name < now) {
			chosen[class] = name
		}
	}
	for class, name := range chosen {
		d := all[name]
		v := set.Fill(View{Target: d.Target, Phase: PhaseFiring, Diagnosis: &d, LastLook: d.At}, nil)
		golden(t, "corpus/"+class+".txt", name+"\n\n"+show(Answer(v)))
	}
}
