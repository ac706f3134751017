package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/evidencefile"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

func corpusCommand() *cobra.Command {
	var f filing
	cmd := &cobra.Command{
		Use:   "corpus RECORDING...",
		Short: "File recordings as cases that replay --score judges",
		Long: `File recordings as cases that replay --score judges. RECORDING is a folder that
run or soak wrote with --look; each look in it becomes one case,

  DIR/CLASS/run-RUN-MOMENT/{evidence.json.gz,case.json}

with the lab's truth in case.json. What was filed is printed, one a line; a case
that is there already is left alone. A run is held out only if nobody has looked
at it, or at another run with the same parameters, to write a rule.`,
		Example: "  kafka-lab corpus --set held-out recordings/*/*",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.set != score.Tuned && f.set != score.HeldOut {
				return usage(fmt.Errorf("--set %q: %s or %s", f.set, score.Tuned, score.HeldOut))
			}
			var errs []error
			for _, dir := range args {
				if err := f.file(cmd.OutOrStdout(), dir); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", dir, err))
				}
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().StringVar(&f.into, "into", "diagnose/testdata/corpus", "folder of the cases")
	cmd.Flags().StringVar(&f.set, "set", score.Tuned, "tuned or held-out")
	cmd.Flags().StringVar(&f.soak, "soak", "", "name of the soak that they come from; the score shows each apart")
	cmd.Flags().StringSliceVar(&f.moments, "moment", nil, "only these looks: during, silent, after, later (default: all)")
	return cmd
}

// filing is where cases go and whether rules were tuned on them.
type filing struct {
	into, set, soak string
	moments         []string // none: every look
}

func (f filing) file(out io.Writer, dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		return fmt.Errorf("reading the truth: %w", err)
	}
	var t lab.Truth
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("truth.json: %w", err)
	}
	seen := 0
	for _, l := range t.Looks {
		if l.Evidence == "" {
			continue // a look that failed
		}
		seen++
		if len(f.moments) > 0 && !slices.Contains(f.moments, l.Moment) {
			continue
		}
		if err := f.look(out, dir, t, l); err != nil {
			return fmt.Errorf("look %s: %w", l.Moment, err)
		}
	}
	if seen == 0 {
		return errors.New("nobody looked: record it with --look")
	}
	return nil
}

func (f filing) look(out io.Writer, dir string, t lab.Truth, l lab.Look) error {
	raw, err := packed(filepath.Join(dir, l.Evidence))
	if err != nil {
		return err
	}
	run := runName(filepath.Base(dir), t)
	meta, err := json.MarshalIndent(f.meta(run, t, l), "", "  ")
	if err != nil {
		return fmt.Errorf("writing case.json: %w", err)
	}
	to := filepath.Join(f.into, t.Class, strings.Join([]string{"run", run, l.Moment}, "-"))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("making the class' folder: %w", err)
	}
	if err := os.Mkdir(to, 0o755); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("making the case's folder: %w", err)
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(to, "evidence.json.gz"), raw, 0o644),
		os.WriteFile(filepath.Join(to, "case.json"), append(meta, '\n'), 0o644),
	); err != nil {
		return fmt.Errorf("writing the case: %w", err)
	}
	_, err = fmt.Fprintln(out, to)
	return err
}

// runName replaces the number that a run has in its plan by its time of start:
// two plans number alike.
func runName(dir string, t lab.Truth) string {
	return strings.TrimRight(strings.TrimRight(dir, "0123456789"), "-") + "-" + t.Tag()
}

// meta is case.json. It has no primary: such a case is judged by the score alone,
// so that nobody bends a rule to one run.
func (f filing) meta(run string, t lab.Truth, l lab.Look) score.Meta {
	m := score.Meta{
		Notes:      "Taken by our collectors in a run of kafka-lab on a real " + t.Version + " broker.",
		Provenance: score.Recorded,
		Truth:      "The lab injected " + t.Scenario + "; see parameters.",
		Class:      diagnose.Class(t.Class),
		Set:        f.set,
		Fault:      faultOf(t),
		Parameters: map[string]any{"run": run, "moment": l.Moment, "scenario": t.Scenario, "version": t.Version, "protocol": t.Protocol, "client": t.Client},
	}
	if t.How != "" {
		m.Parameters["how"] = t.How
	}
	if f.soak != "" {
		m.Parameters["soak"] = f.soak
	}
	for k, v := range t.Parameters {
		m.Parameters[k] = v
	}
	m.Provisional = provisional(t)
	return m
}

// provisional is the class that is right as well while a finding is provisional.
func provisional(t lab.Truth) diagnose.Class {
	if t.ProvisionalClass == "" && t.Class == string(diagnose.Quiet) && len(t.Alternatives) > 0 {
		return diagnose.Class(t.Alternatives[0]) // a burst that is still to come
	}
	return diagnose.Class(t.ProvisionalClass)
}

// unpacked reads a file of evidence, gzipped or not.
func unpacked(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		raw, err = evidencefile.Unzip(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("reading evidence: %w", err)
	}
	return raw, nil
}

// packed reads evidence, checks that it is some, and packs it so that the same
// evidence always gives the same bytes.
func packed(path string) ([]byte, error) {
	raw, err := unpacked(path)
	if err != nil {
		return nil, err
	}
	if _, err := diagnose.Decode(raw); err != nil {
		return nil, err
	}
	var small bytes.Buffer // a tenth smaller without indentation, even packed
	if err := json.Compact(&small, raw); err != nil {
		return nil, fmt.Errorf("packing evidence: %w", err)
	}
	return evidencefile.Pack(small.Bytes(), gzip.BestCompression)
}
