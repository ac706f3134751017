package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Moments of a run at which kafka-oncall looks.
const (
	LookDuring = "during" // the brokers show the fault
	LookSilent = "silent" // between two waves of evictions
	LookAfter  = "after"  // the scenario is over, its clients still run
	LookLater  = "later"  // Params.Later after that
)

// Look is one diagnosis of the cluster while the lab had it broken.
type Look struct {
	Moment string    `json:"moment"`
	At     time.Time `json:"at"`
	// Evidence is the file that replays, relative to the recording.
	Evidence string    `json:"evidence,omitempty"`
	Findings []Finding `json:"findings"`
	// Error says why there is no verdict.
	Error string `json:"error,omitempty"`
}

// Finding is what a score needs of a diagnosis.
type Finding struct {
	Class        string   `json:"class"`
	Confidence   string   `json:"confidence"`
	Subject      string   `json:"subject,omitempty"`
	Alternatives []string `json:"alternatives,omitempty"`
}

// looks runs diagnoses beside the scenario, so that none delays it.
type looks struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	done []Look
}

func (l *looks) wait() []Look {
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	sort.Slice(l.done, func(i, j int) bool { return l.done[i].At.Before(l.done[j].At) })
	return l.done
}

// scrapeDelay lets Prometheus have one more scrape before a look.
const scrapeDelay = 1500 * time.Millisecond

// look lets the looker diagnose now and keep its evidence. Without one nothing
// happens. It does not wait: see looks.wait.
func (r *run) look(ctx context.Context, moment string) {
	if r.looker == nil {
		return
	}
	t := *r.t
	r.looks.wg.Go(func() {
		if sleep(ctx, scrapeDelay) != nil {
			return
		}
		l := r.diagnose(ctx, moment, t)
		r.looks.mu.Lock()
		r.looks.done = append(r.looks.done, l)
		r.looks.mu.Unlock()
		r.c.progress(l.words())
	})
}

// lookIn looks after a while, at its own pace.
func (r *run) lookIn(ctx context.Context, d time.Duration, moment string) {
	r.looks.wg.Go(func() {
		if sleep(ctx, d) == nil {
			r.look(ctx, moment)
		}
	})
}

// lookLater takes the last look, after everything that was started before is over.
func (r *run) lookLater(ctx context.Context) error {
	r.looks.wg.Wait()
	if r.p.Later <= 0 {
		return nil
	}
	r.note("left alone for %s", r.p.Later)
	if err := sleep(ctx, r.p.Later); err != nil {
		return err
	}
	r.look(ctx, LookLater)
	r.looks.wg.Wait()
	return nil
}

func (l Look) words() string {
	if l.Error != "" {
		return "look " + l.Moment + ": " + l.Error
	}
	var said []string
	for _, f := range l.Findings {
		said = append(said, f.Class+" ("+f.Confidence+")")
	}
	return "look " + l.Moment + ": " + orString(strings.Join(said, ", "), "nothing found")
}

// lookTimeout is more than kafka-oncall's own budget for reading.
const lookTimeout = 45 * time.Second

func (r *run) diagnose(ctx context.Context, moment string, t Truth) Look {
	l := Look{Moment: moment, At: now(), Evidence: filepath.Join(moment, "evidence.json.gz")}
	path := filepath.Join(r.p.Record, l.Evidence)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		l.Findings, err = r.looker.Look(ctx, t.target(), path)
	}
	if err != nil {
		l.Error = err.Error()
	}
	if !exists(path) {
		l.Evidence = ""
	}
	return l
}

// Target is whom a look asks about: a group, a broker, or (zero) the cluster.
type Target struct {
	Group  string
	Broker int
}

// target is whom the fault hit; the whole cluster when it was several or none.
func (t Truth) target() Target {
	if t.Subject.Group != "" {
		return Target{Group: t.Subject.Group}
	}
	return Target{Broker: t.Subject.Broker}
}

// Looker diagnoses a lab and keeps the evidence in a file (.json.gz).
type Looker interface {
	Look(ctx context.Context, t Target, evidence string) ([]Finding, error)
	Close() error
}

// Binary is a Looker that runs a kafka-oncall binary for each look. It has no
// memory: no watcher runs beside it.
func Binary(path string) func(context.Context, Info) (Looker, error) {
	return func(_ context.Context, i Info) (Looker, error) { return oncall{path, i}, nil }
}

type oncall struct {
	path string
	info Info
}

func (oncall) Close() error { return nil }

func (b oncall) Look(ctx context.Context, t Target, evidence string) ([]Finding, error) {
	cmd := exec.CommandContext(ctx, b.path, diagnoseArgs(b.info, t, evidence)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	// Exit codes 10 and 20 are verdicts.
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || (exit.ExitCode() != 10 && exit.ExitCode() != 20)) {
		return nil, fmt.Errorf("kafka-oncall: %w: %s", err, tail(errs.String(), 300))
	}
	return ParseFindings(out.Bytes())
}

func diagnoseArgs(i Info, t Target, path string) []string {
	args := []string{"diagnose", "--cluster", i.Name, "--bootstrap", i.Bootstrap, "--prometheus", i.Prometheus,
		"--selector", fmt.Sprintf("{cluster=%q}", i.Name), "-o", "json", "--record", path, "--budget", "20s"}
	switch {
	case t.Group != "":
		return append(args, "--group", t.Group)
	case t.Broker != 0:
		return append(args, "--broker", strconv.Itoa(t.Broker))
	}
	return args
}

// ParseFindings reads the part of a diagnosis (JSON) that a score needs.
func ParseFindings(b []byte) ([]Finding, error) {
	var d struct {
		Findings []struct {
			Class        string            `json:"class"`
			Confidence   string            `json:"confidence"`
			Subject      string            `json:"subject"`
			Alternatives []json.RawMessage `json:"alternatives"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("reading the diagnosis: %w", err)
	}
	out := []Finding{}
	for _, f := range d.Findings {
		x := Finding{Class: f.Class, Confidence: f.Confidence, Subject: f.Subject}
		for _, a := range f.Alternatives {
			x.Alternatives = append(x.Alternatives, alternativeClass(a))
		}
		out = append(out, x)
	}
	return out, nil
}

// alternativeClass takes the class of an alternative, which is a plain string or
// an object that says why, too.
func alternativeClass(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Class string `json:"class"`
	}
	_ = json.Unmarshal(raw, &o)
	return o.Class
}
