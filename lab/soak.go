package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Soak plays a list of scenarios unattended, each on a lab of its own, so that no
// run's counters are in another's window.
type Soak struct {
	// Lab is what every lab has in common; Name and Dir above all.
	Lab Options
	// Items are played in order.
	Items []Item
	// Record, if set, gets one folder for each run: CLASS/RUN.
	Record string
	// Judge scores the looks.
	Judge Judge
	// Results gets one Result a line (JSON), as soon as a run is over.
	Results io.Writer
}

// Item is one line of a plan.
type Item struct {
	Scenario string
	Version  string
	Brokers  int // 0: what the scenario needs
	Slots    int // 0: what the scenario needs
	Set      []Setting
	Play     Params
}

// Result is one line of a soak's results.
type Result struct {
	Run      string    `json:"run"`
	At       time.Time `json:"at"`
	Scenario string    `json:"scenario"`
	How      string    `json:"how,omitempty"`
	Version  string    `json:"version"`
	Protocol string    `json:"protocol"`
	Client   string    `json:"client"`
	Static   bool      `json:"static,omitempty"`
	Class    string    `json:"class"` // the truth
	Family   string    `json:"family"`
	Looks    []Scored  `json:"looks,omitempty"`
	Record   string    `json:"record,omitempty"`
	Seconds  float64   `json:"seconds"`
	// Error says why the run came to no end; it then counts neither way.
	Error string `json:"error,omitempty"`
}

// Scored is a look beside the truth.
type Scored struct {
	Look
	Verdict string `json:"verdict"`
	// Confidence of the first finding: a wrong one that is `confirmed` is the worst.
	Confidence string `json:"confidence,omitempty"`
}

// Verdicts of a look.
const (
	Right     = "right"
	Wrong     = "wrong"
	Undecided = "undecided" // and the truth is among what it left open
	NoVerdict = "none"      // nothing could be read
)

// Judge says how a look compares with the truth: one of the verdicts. evidence is
// the file that the look kept, empty if it kept none. The lab knows no rules, so
// whoever starts a soak brings the yardstick.
type Judge func(t Truth, l Look, evidence string) (string, error)

// scored puts the looks of a run beside its truth, while their evidence still lies
// in dir. Without a judge there is no verdict.
func (s Soak) scored(t Truth, dir string) []Scored {
	var out []Scored
	for _, l := range t.Looks {
		x := Scored{Look: l, Verdict: NoVerdict}
		if len(l.Findings) > 0 {
			x.Confidence = l.Findings[0].Confidence
		}
		if l.Error == "" && s.Judge != nil {
			evidence := ""
			if l.Evidence != "" {
				evidence = filepath.Join(dir, l.Evidence)
			}
			v, err := s.Judge(t, l, evidence)
			if err != nil {
				v, x.Error = NoVerdict, err.Error()
			}
			x.Verdict = v
		}
		out = append(out, x)
	}
	return out
}

// Plan is every scenario in every form on one version, as far as protocol and
// client allow it.
func Plan(version string, p Params) []Item {
	var out []Item
	for _, s := range Scenarios() {
		hows := s.Hows
		if len(hows) == 0 {
			hows = []string{""}
		}
		for _, how := range hows {
			q := p
			q.How, q.Client, q.Protocol = how, orString(p.Client, clientJava), orString(p.Protocol, "classic")
			if s.takes(q) == nil && s.onVersion(version, q) == nil {
				out = append(out, Item{Scenario: s.Name, Version: version, Play: q})
			}
		}
	}
	return out
}

// options are the lab that an item needs.
func (i Item) options(common Options) (Options, error) {
	s, err := findScenario(i.Scenario)
	if err != nil {
		return common, err
	}
	o := common
	o.Version, o.Brokers, o.Slots, o.Replace = orString(i.Version, "4.4.0"), orInt(i.Brokers, s.MinBrokers), i.Slots, true
	o.Set = slices.Concat(common.Set, s.Set, i.Set)
	switch {
	case o.Slots != 0:
	case s.NoCache:
		o.Slots = 7
	case s.Small:
		o.Slots = 64
	}
	return o, nil
}

// Name of the n-th run of a soak, from 1 on; its recording's folder, too.
func (i Item) Name(n int) string {
	parts := []string{i.Scenario}
	if i.Play.How != "" {
		parts = append(parts, i.Play.How)
	}
	parts = append(parts, orString(i.Version, "4.4.0"), orString(i.Play.Client, clientJava))
	if i.Play.Protocol == "consumer" {
		parts = append(parts, "848")
	}
	if i.Play.Static {
		parts = append(parts, "static")
	}
	return fmt.Sprintf("%s-%d", strings.Join(parts, "-"), n)
}

// Check finds mistakes before hours are spent.
func (s Soak) Check() error {
	for n, i := range s.Items {
		o, err := i.options(s.Lab)
		if err == nil {
			_, err = o.withDefaults()
		}
		if err == nil {
			sc, _ := findScenario(i.Scenario)
			p := i.Play
			p.Protocol, p.Client = orString(p.Protocol, "classic"), orString(p.Client, clientJava)
			err = errors.Join(sc.takes(p), sc.onVersion(o.Version, p))
		}
		if err != nil {
			return fmt.Errorf("line %d of the plan: %w", n+1, err)
		}
	}
	return nil
}

// Run plays everything; a run that fails is a result with an error, and the next
// one starts. Only the end of ctx and results that cannot be written stop it.
func (s Soak) Run(ctx context.Context) error {
	if err := s.Check(); err != nil {
		return err
	}
	enc := json.NewEncoder(s.Results)
	for n, i := range s.Items {
		s.progress("run %d of %d: %s", n+1, len(s.Items), i.Name(n+1))
		res := s.one(ctx, i, i.Name(n+1))
		if err := enc.Encode(res); err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
		s.progress("%s", res.words())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (s Soak) progress(format string, args ...any) {
	if s.Lab.Progress != nil {
		s.Lab.Progress(fmt.Sprintf(format, args...))
	}
}

func (s Soak) one(ctx context.Context, i Item, name string) Result {
	res := Result{Run: name, At: now(), Scenario: i.Scenario, How: i.Play.How, Static: i.Play.Static}
	truth, err := s.play(ctx, i, &res)
	res.Version, res.Protocol, res.Client, res.Class, res.Family = truth.Version, truth.Protocol, truth.Client, truth.Class, truth.Family
	if truth.Scenario == "" { // no lab, no truth
		res.Version, res.Protocol, res.Client = i.Version, i.Play.Protocol, i.Play.Client
	}
	res.Seconds = now().Sub(res.At).Seconds()
	if err != nil {
		res.Error = err.Error()
	}
	return res
}

func (s Soak) play(ctx context.Context, i Item, res *Result) (Truth, error) {
	o, err := i.options(s.Lab)
	if err != nil {
		return Truth{}, err
	}
	c, err := Up(ctx, o)
	if err != nil {
		return Truth{}, err
	}
	p, tmp := i.Play, ""
	if s.Record != "" {
		p.Record = s.running()
		if err := os.RemoveAll(p.Record); err != nil { // of a run that failed
			return Truth{}, errors.Join(fmt.Errorf("making room for the recording: %w", err), c.Down(context.WithoutCancel(ctx)))
		}
	} else if p.Looker != nil {
		if tmp, err = os.MkdirTemp("", "kafka-lab-"); err != nil {
			return Truth{}, errors.Join(fmt.Errorf("making a folder for evidence: %w", err), c.Down(context.WithoutCancel(ctx)))
		}
		p.Record = tmp
	}
	truth, err := c.Run(ctx, i.Scenario, p)
	res.Looks = s.scored(truth, p.Record)
	err = errors.Join(err, c.Down(context.WithoutCancel(ctx)))
	if tmp != "" {
		return truth, errors.Join(err, os.RemoveAll(tmp))
	}
	if s.Record == "" || err != nil {
		return truth, err
	}
	res.Record, err = s.keep(truth.Class, res.Run)
	return truth, err
}

// running is where a recording grows; soaks side by side, each with a lab of its
// own name, may share the folder of recordings.
func (s Soak) running() string { return filepath.Join(s.Record, ".running-"+s.Lab.Name) }

// keep moves a finished recording to CLASS/RUN; the class is known only now. A
// number is added rather than writing over an older one.
func (s Soak) keep(class, run string) (string, error) {
	if err := os.MkdirAll(filepath.Join(s.Record, class), 0o755); err != nil {
		return "", fmt.Errorf("keeping the recording: %w", err)
	}
	to := filepath.Join(s.Record, class, run)
	for n := 2; exists(to); n++ {
		to = filepath.Join(s.Record, class, fmt.Sprintf("%s-again%d", run, n))
	}
	if err := os.Rename(s.running(), to); err != nil {
		return "", fmt.Errorf("keeping the recording: %w", err)
	}
	return to, nil
}

func (r Result) words() string {
	if r.Error != "" {
		return r.Run + ": " + r.Error
	}
	said := []string{}
	for _, l := range r.Looks {
		said = append(said, l.Moment+" "+l.Verdict)
	}
	return fmt.Sprintf("%s: truth %s; %s", r.Run, r.Class, orString(strings.Join(said, ", "), "nobody looked"))
}
