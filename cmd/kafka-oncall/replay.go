package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func (a *app) replayCommand() *cobra.Command {
	var output, config string
	var scored bool
	c := &cobra.Command{
		Use:   "replay FILE... | replay --score [DIR]",
		Short: "Diagnose recorded evidence, offline",
		Long: `Diagnose recorded evidence, offline. FILE is what 'diagnose --record' wrote, the
same gzipped, or a folder with an evidence.json in it. The same file gives the
same verdict on every machine.

With -o json there is one object a line and file. The exit code is that of the
worst file: 1 could not be read, 20 cannot tell yet, 10 a cause was named,
0 nothing wrong found.

With --score it measures the rules instead: every folder below DIR that holds
evidence and a case.json with the truth is judged, and the result is printed as
tables (confusion, recall and precision by class, what is left without a source,
simpler ways of judging on the same cases) or, with -o json, as one object with
runs, recorded_runs, macro_f1, wrong_confirmed_share, grounded_accuracy, per_class
and more. runs and recorded_runs count cases, which are single looks;
lab_runs_total counts the runs of the lab behind them. DIR is ` + defaultCorpus + ` unless given. Exit codes: 0 every case was
scored, whatever the score; 1 one could not be read (the others are scored),
or there was none; 2 bad usage.`,
		Example: "  kafka-oncall replay evidence.json\n  kafka-oncall replay -o json night/*.json.gz\n  kafka-oncall replay --score diagnose/testdata/corpus -o json",
		Args: func(c *cobra.Command, args []string) error {
			if scored {
				if len(args) > 1 {
					return usage("replay --score wants one DIR, not %d\nSee '%s --help'.", len(args), c.CommandPath())
				}
				return nil
			}
			if len(args) == 0 {
				return usage("replay wants at least one FILE\nSee '%s --help'.", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if scored {
				return a.score(append(args, defaultCorpus)[0], output, config)
			}
			return a.replay(args, output, config)
		},
	}
	c.Flags().BoolVar(&scored, "score", false, "measure the rules on cases whose truth is known")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, json or markdown")
	c.Flags().StringVar(&config, "config", "", "configuration file to take limits and playbooks from")
	return c
}

func (a *app) replay(files []string, output, configFile string) error {
	limits, set, err := a.judging(configFile)
	if err != nil {
		return err
	}
	write, err := a.writer(output, set)
	if err != nil {
		return err
	}
	worst := exitQuiet
	for i, name := range files {
		code := a.replayOne(name, limits, func(d diagnose.Diagnosis) error {
			if output != outputJSON && len(files) > 1 {
				if i > 0 {
					_, _ = fmt.Fprintln(a.stdout)
				}
				_, _ = fmt.Fprintf(a.stdout, "%s\n\n", playbooks.Clean(name, 500))
			}
			return write(d)
		})
		worst = worse(worst, code)
	}
	if worst == exitQuiet {
		return nil
	}
	return &exitError{code: worst}
}

// replayOne diagnoses one file and returns its exit code. A file that cannot
// be read does not stop the others.
func (a *app) replayOne(name string, l diagnose.Limits, write func(diagnose.Diagnosis) error) int {
	e, err := loadEvidence(name)
	if err == nil {
		d := diagnose.Classify(e, l)
		if err = write(d); err == nil {
			return exitCode(d)
		}
	}
	_, _ = fmt.Fprintf(a.stderr, "kafka-oncall: %s: %v\n", playbooks.Clean(name, 500), err)
	return exitFailed
}

// worse picks the worse of two exit codes of diagnoses.
func worse(a, b int) int {
	order := []int{exitQuiet, exitFound, exitUndecided, exitFailed}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// judging returns the limits and playbooks of a configuration file, or the
// built-in ones.
func (a *app) judging(file string) (diagnose.Limits, *playbooks.Set, error) {
	limits, dir := diagnose.DefaultLimits(), ""
	if file != "" {
		c, err := a.loadConfig(file)
		if err != nil {
			return limits, nil, configError(err)
		}
		limits, dir = c.Limits, c.PlaybooksDir
	}
	set, err := loadPlaybooks(dir)
	if err != nil {
		return limits, nil, asUsage(err)
	}
	return limits, set, nil
}

// configError gives a faulty file the code of bad configuration and a missing
// one that of a program that could not run.
func configError(err error) error {
	if isProblems(err) {
		return &exitError{exitUsage, err}
	}
	return &exitError{exitFailed, err}
}
