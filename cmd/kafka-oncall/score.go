package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/charmbracelet/colorprofile"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// defaultCorpus is where the cases lie in the source tree.
const defaultCorpus = "diagnose/testdata/corpus"

// score judges every case below a folder and prints how well that went.
func (a *app) score(dir, output, configFile string) error {
	if output != outputText && output != outputJSON {
		return usage("--score prints text or json, not %q", output)
	}
	limits, _, err := a.judging(configFile)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return failed("%s: %s\nGive the folder that holds the cases: kafka-oncall replay --score DIR", playbooks.Clean(dir, 500), reason(err))
	} else if !info.IsDir() {
		return usage("%s is a file; --score wants the folder that holds the cases", playbooks.Clean(dir, 500))
	}
	report, unread := a.scoreAll(dir, limits)
	if report.Runs == 0 && unread == 0 {
		return failed("%s holds no case: a case is a folder with case.json and evidence.json", playbooks.Clean(dir, 500))
	}
	if report.Runs == 0 {
		return failed("%s: no case could be read, so there is nothing to score", playbooks.Clean(dir, 500))
	}
	if err := a.writeScore(output, report); err != nil {
		return err
	}
	if unread > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

// scoreAll names every case that cannot be read and scores the others.
func (a *app) scoreAll(dir string, l diagnose.Limits) (score.Report, int) {
	s, unread := score.NewScorer(l), 0
	for c, err := range score.Load(os.DirFS(dir)) {
		if err != nil {
			_, _ = fmt.Fprintf(a.stderr, "kafka-oncall: %s: %s\n", playbooks.Clean(c.Name, 500), playbooks.Clean(err.Error(), 500))
			unread++
			continue
		}
		s.Add(c)
	}
	return s.Report(), unread
}

func (a *app) writeScore(output string, r score.Report) error {
	if output == outputJSON {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	p := &printer{w: colorprofile.NewWriter(a.stdout, a.env), width: widthOf(a.stdout)}
	p.wrapped("", fmt.Sprintf("%s: %d recorded on real brokers, %d synthetic. Rules were tuned on %d of them; held out: %d. A case is one look; known runs of the lab behind them: %d.",
		playbooks.Count(r.Runs, "case"), r.RecordedRuns, r.SyntheticRuns, r.TunedRuns, r.HeldOutRuns, r.LabRunsTotal))
	for _, part := range []struct {
		title string
		table score.Table
	}{
		{"Figures", r.Sets()},
		{"Classes", r.Classes()},
		{"Classes, recorded and held out", r.Unseen()},
		{"Confusion (full telemetry)", r.ConfusionTable()},
		{"With a source less", r.DegradedTable()},
		{"Simpler ways of judging, same cases", r.BaselineTable()},
	} {
		p.line("\n%s\n\n%s", strong(part.title), part.table.Plain())
	}
	if len(r.Misjudged) > 0 {
		p.line("%s\n", strong("Misjudged (held-out cases are not named)"))
	}
	for _, m := range r.Misjudged {
		p.line("%s: %s, found %s (%s)", playbooks.Clean(m.Case, 200), m.Truth, m.Found, m.Confidence)
	}
	return p.err
}
