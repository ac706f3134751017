package playbooks

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// corpusDir is the classifier's corpus: real and synthetic evidence by class.
const corpusDir = "../diagnose/testdata/corpus"

// corpus classifies every case of the corpus, once for all tests.
func corpus(t *testing.T) map[string]diagnose.Diagnosis {
	t.Helper()
	all, err := classified()
	if err != nil || len(all.diagnoses) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	return all.diagnoses
}

// judgedCases are all cases of the corpus by name: what was found, and which of its
// groups are of KIP-848.
type judgedCases struct {
	diagnoses map[string]diagnose.Diagnosis
	kip848    map[string][]string
}

var classified = sync.OnceValues(func() (judgedCases, error) {
	files, err := filepath.Glob(filepath.Join(corpusDir, "*", "*", "evidence.json*"))
	out := judgedCases{map[string]diagnose.Diagnosis{}, map[string][]string{}}
	for _, f := range files {
		e, err := readEvidence(f)
		if err != nil {
			return out, fmt.Errorf("%s: %w", f, err)
		}
		rel, _ := filepath.Rel(corpusDir, filepath.Dir(f))
		name := filepath.ToSlash(rel)
		out.diagnoses[name] = diagnose.Classify(e, diagnose.DefaultLimits())
		for _, g := range e.Groups {
			if g.Protocol == "consumer" {
				out.kip848[name] = append(out.kip848[name], g.ID)
			}
		}
	}
	return out, err
})

func readEvidence(file string) (diagnose.Evidence, error) {
	data, err := os.ReadFile(file)
	if err == nil && strings.HasSuffix(file, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		return diagnose.Evidence{}, err
	}
	return diagnose.Decode(data)
}

// unfilled is a value that was not filled in; PromQL's braces hold matchers.
var unfilled = regexp.MustCompile(`\{[a-z_]+\}`)

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
		if unfilled.MatchString(show(m) + show(Thread(v))) {
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
		if now, ok := chosen[class]; !strings.HasPrefix(rest, "near-") && !strings.HasPrefix(rest, "model-") && (!ok || name < now) {
			chosen[class] = name
		}
	}
	for class, name := range chosen {
		d := all[name]
		v := set.Fill(View{Target: d.Target, Phase: PhaseFiring, Diagnosis: &d, LastLook: d.At}, nil)
		golden(t, "corpus/"+class+".txt", name+"\n\n"+show(Answer(v)))
	}
}
