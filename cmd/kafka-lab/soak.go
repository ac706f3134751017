package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

func soakCommand() *cobra.Command {
	var planFile, resultsFile string
	var versions []string
	var repeat int
	var list bool
	var p lab.Params
	var l lookFlags
	s := lab.Soak{Lab: lab.Options{Progress: progress}, Judge: judged}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Play a list of scenarios unattended; append one JSON line per run to a results file",
		Long: `Play a list of scenarios unattended, each on a fresh lab; append one JSON line
per run to a results file: scenario, version, protocol, client, the true class,
what kafka-oncall said during and after the fault, and whether that was right.

Without --plan every scenario is played in every form that --protocol and
--client allow, once per --version. A plan has one run a line, with the flags of
up and run; # begins a comment:

  restart-burst --version 3.9.2
  session-timeout --client librdkafka --session-timeout 10s --repeat 3
  misrouted-sessions --how requests --brokers 2 --slots 64

A run that fails is a line with an error; the next one starts.`,
		Example: "  kafka-lab soak --look --results soak.jsonl --record recordings\n  kafka-lab soak --plan night.txt --oncall ./kafka-oncall",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.Looker = l.looker()
			if err := fillPlan(&s, planFile, versions, p); err != nil {
				return usage(err)
			}
			s.Items = repeated(s.Items, repeat)
			if err := s.Check(); err != nil {
				return usage(err)
			}
			if list {
				for n, i := range s.Items {
					fmt.Println(i.Name(n + 1))
				}
				return nil
			}
			f, err := os.OpenFile(resultsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return fmt.Errorf("opening the results: %w", err)
			}
			defer f.Close()
			s.Results = f
			return s.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&planFile, "plan", "", "file with one run a line, - for standard input (default: every scenario)")
	f.StringArrayVar(&versions, "version", []string{"4.4.0"}, "Kafka version without a plan; repeatable")
	f.StringVar(&p.Protocol, "protocol", "classic", "group protocol without a plan: classic or consumer")
	f.StringVar(&p.Client, "client", "java", "client without a plan: java, librdkafka or franz-go")
	f.BoolVar(&p.Static, "static", false, "static members without a plan")
	l.add(f)
	f.DurationVar(&p.Later, "later", 0, "one more look that long after the end of each run")
	f.StringVar(&resultsFile, "results", "soak.jsonl", "file that gets one JSON line per run")
	f.StringVar(&s.Record, "record", "", "folder that gets the recordings, as CLASS/RUN")
	f.IntVar(&repeat, "repeat", 1, "play the whole list so many times")
	f.BoolVar(&list, "list", false, "only print the names of the runs")
	f.StringVar(&s.Lab.Name, "name", "soak", "name of the lab")
	f.StringVar(&s.Lab.Dir, "dir", ".klab", "folder of run state and logs")
	return cmd
}

// judged holds what a look said against the truth with the yardstick of
// `kafka-oncall replay --score`: a neighbour is right only where the evidence that
// was kept could not tell it from the truth.
func judged(t lab.Truth, l lab.Look, evidence string) (string, error) {
	raw, err := unpacked(evidence)
	if err != nil {
		return "", err
	}
	e, err := diagnose.Decode(raw)
	if err != nil {
		return "", err
	}
	c := score.Case{Meta: score.Meta{Class: diagnose.Class(t.Class), Provisional: provisional(t)}, Evidence: e}
	said := diagnose.Finding{Class: diagnose.Quiet}
	if len(l.Findings) > 0 {
		said.Class, said.Confidence = diagnose.Class(l.Findings[0].Class), diagnose.Confidence(l.Findings[0].Confidence)
		for _, a := range l.Findings[0].Alternatives {
			said.Alternatives = append(said.Alternatives, diagnose.Alternative{Class: diagnose.Class(a)})
		}
	}
	switch j := score.JudgeFinding(c, said); {
	case j.Right:
		return lab.Right, nil
	case j.Found == diagnose.Undecided && j.Named:
		return lab.Undecided, nil
	default:
		return lab.Wrong, nil
	}
}

func fillPlan(s *lab.Soak, file string, versions []string, p lab.Params) error {
	if file == "" {
		for _, v := range versions {
			s.Items = append(s.Items, lab.Plan(v, p)...)
		}
		return nil
	}
	in := os.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("reading the plan: %w", err)
		}
		defer f.Close()
		in = f
	}
	items, err := readPlan(in, p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.Items = items
	return nil
}

func repeated(items []lab.Item, n int) []lab.Item {
	var out []lab.Item
	for range n {
		out = append(out, items...)
	}
	return out
}

// readPlan reads a plan; base has what all runs share (binary, later).
func readPlan(r io.Reader, base lab.Params) ([]lab.Item, error) {
	var out []lab.Item
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		items, err := planLine(words, base)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, items...)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	return out, nil
}

func planLine(words []string, base lab.Params) ([]lab.Item, error) {
	item := lab.Item{Scenario: words[0]}
	var sets []string
	var repeat int
	f := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&item.Version, "version", "4.4.0", "")
	f.IntVar(&item.Brokers, "brokers", 0, "")
	f.IntVar(&item.Slots, "slots", 0, "")
	f.IntVar(&repeat, "repeat", 1, "")
	f.StringArrayVar(&sets, "set", nil, "")
	playFlags(f, &item.Play)
	f.StringVar(&item.Play.Record, "record", "", "")
	item.Play.Looker, item.Play.Later = base.Looker, base.Later
	if err := f.Parse(words[1:]); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q: one scenario a line", f.Arg(0))
	}
	if item.Play.Record != "" {
		return nil, fmt.Errorf("--record: give it to soak, which makes a folder for each run")
	}
	for _, s := range sets {
		set, err := lab.ParseSetting(s)
		if err != nil {
			return nil, err
		}
		item.Set = append(item.Set, set)
	}
	return repeated([]lab.Item{item}, max(repeat, 1)), nil
}
