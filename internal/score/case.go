package score

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/evidencefile"
)

// Provenance and set of a case, as case.json spells them.
const (
	Recorded  = "recorded"
	Synthetic = "synthetic"
	Tuned     = "tuned"
	HeldOut   = "held-out"
	Partial   = "partial"
)

// maxCaseBytes bounds case.json, which is a few lines.
const maxCaseBytes = 1 << 20

// Meta is case.json: what is true of a case, and what must come out.
type Meta struct {
	Notes      string `json:"notes"`
	Provenance string `json:"provenance"`
	Truth      string `json:"truth"`
	// Primary is the class that must come out; empty in cases that are only
	// scored.
	Primary    diagnose.Class        `json:"primary,omitempty"`
	Confidence []diagnose.Confidence `json:"confidence,omitempty"`
	Not        []diagnose.Class      `json:"not,omitempty"`
	// Class is what was injected, where that is known and is not Primary.
	Class diagnose.Class `json:"class,omitempty"`
	// Provisional is right as well while a finding is provisional and names the truth
	// as what else may come of it: a burst to come after a restart, a member that may
	// still return. Such verdicts are counted apart.
	Provisional diagnose.Class `json:"provisional,omitempty"`
	// Telemetry is "partial" where the sources that would decide are missing on
	// purpose; such cases are counted apart.
	Telemetry string `json:"telemetry,omitempty"`
	// Set is "tuned" or "held-out". Empty means tuned: a case counts as seen
	// while rules were written unless it says otherwise.
	Set string `json:"set,omitempty"`
	// Produced are the paths into the evidence that the injector moved; without
	// it [Produced] has those of the class.
	Produced []string `json:"produced,omitempty"`
	// Fault is what the lab did; it goes before the marks of the class.
	Fault *Fault `json:"fault,omitempty"`
	// Seed and Parameters made a synthetic case, or a recorded run.
	Seed       uint64         `json:"seed,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

// True is the class that a verdict is compared with.
func (m Meta) True() diagnose.Class {
	if m.Class != "" {
		return m.Class
	}
	return m.Primary
}

// Case is one case with its evidence. Name is its folder below the root.
type Case struct {
	Name string
	Meta
	Evidence diagnose.Evidence
}

// Load yields every case below the root, in the order of their names: one
// folder is read at a time. A case that cannot be read yields its name and an
// error; the others follow.
func Load(root fs.FS) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		stop := errors.New("enough")
		err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				if !yield(Case{Name: p}, fmt.Errorf("reading the folder: %w", err)) {
					return stop
				}
				return nil
			}
			if d.IsDir() || d.Name() != "case.json" {
				return nil
			}
			c, err := read(root, path.Dir(p))
			if !yield(c, err) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(Case{Name: "."}, err)
		}
	}
}

func read(root fs.FS, dir string) (Case, error) {
	c := Case{Name: dir}
	raw, err := bounded(root, path.Join(dir, "case.json"), maxCaseBytes)
	if err != nil {
		return c, err
	}
	if c.Meta, err = decodeMeta(raw); err != nil {
		return c, fmt.Errorf("case.json: %w", err)
	}
	raw, err = evidence(root, dir)
	if err != nil {
		return c, err
	}
	if c.Evidence, err = diagnose.Decode(raw); err != nil {
		return c, err
	}
	return c, nil
}

// decodeMeta reads case.json strictly: a misspelt key would change a figure
// without a word.
func decodeMeta(raw []byte) (Meta, error) {
	var m Meta
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, fmt.Errorf("line %d: %w", 1+bytes.Count(raw[:min(int(dec.InputOffset()), len(raw))], []byte("\n")), err)
	}
	return m, m.validate()
}

func (m Meta) validate() error {
	for field, c := range map[string]diagnose.Class{"class": m.Class, "primary": m.Primary, "provisional": m.Provisional} {
		if _, ok := diagnose.Lookup(c); c != "" && !ok {
			return fmt.Errorf("%s: there is no class %q", field, short(string(c)))
		}
	}
	switch {
	case m.True() == "":
		return errors.New("neither class nor primary is given; one says what is true")
	case m.Provenance != Recorded && m.Provenance != Synthetic:
		return fmt.Errorf("provenance: %q is neither recorded nor synthetic", short(m.Provenance))
	case m.Set != "" && m.Set != Tuned && m.Set != HeldOut:
		return fmt.Errorf("set: %q is neither tuned nor held-out", short(m.Set))
	case m.Telemetry != "" && m.Telemetry != Partial && m.Telemetry != "full":
		return fmt.Errorf("telemetry: %q is neither full nor partial", short(m.Telemetry))
	}
	return nil
}

func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// evidence reads evidence.json, or the same gzipped.
func evidence(root fs.FS, dir string) ([]byte, error) {
	raw, err := bounded(root, path.Join(dir, "evidence.json"), diagnose.MaxEvidenceBytes)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return raw, err
	}
	raw, err = bounded(root, path.Join(dir, "evidence.json.gz"), diagnose.MaxEvidenceBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the folder has a case.json, but no evidence.json and no evidence.json.gz")
	}
	if err != nil {
		return nil, err
	}
	if raw, err = evidencefile.Unzip(raw); err != nil {
		return nil, fmt.Errorf("evidence.json.gz: %w", err)
	}
	return raw, nil
}

func bounded(root fs.FS, name string, limit int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	_ = f.Close() // it was only read
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Base(name), err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path.Base(name), limit)
	}
	return raw, nil
}
