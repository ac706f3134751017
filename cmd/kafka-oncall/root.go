package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

// Exit codes. The first three answer a diagnosis.
const (
	exitQuiet     = 0
	exitFound     = 10
	exitUndecided = 20
	exitFailed    = 1
	exitUsage     = 2
)

// app is what the commands share: the outside world, replaceable in tests.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	now            func() time.Time
	newCollector   func(clusterConfig, *app) (collector, error)
}

// exitError ends the program with a code. An empty message prints nothing: the
// output has said it all.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func failed(format string, args ...any) error {
	return &exitError{exitFailed, fmt.Errorf(format, args...)}
}

// getenv reads the environment the program was given.
func (a *app) getenv(key string) string {
	for i := len(a.env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitQuiet
	}
	var e *exitError
	if !errors.As(err, &e) {
		// What cobra finds by itself is bad usage: an unknown command or flag.
		e = &exitError{exitUsage, err}
	}
	if e.err != nil {
		_, _ = fmt.Fprintf(a.stderr, "kafka-oncall: %s\n", strings.TrimSpace(e.Error()))
	}
	return e.code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kafka-oncall",
		Short: "Name the cause of a Kafka incident, and the next step",
		Long: `kafka-oncall reads metrics from Prometheus and cluster and group state from
Kafka, names the cause of an incident by rule, and says what to do next and
what not to do. It never writes to Kafka.

Try it on your cluster, nothing to set up:

  kafka-oncall diagnose --bootstrap localhost:9092 --prometheus http://localhost:9090

Exit codes of diagnose and replay: 0 nothing wrong found, 10 a cause was named,
20 cannot tell yet. lint: 0 fine, 1 something to mend. All others: 1 could not
run, 2 bad usage or configuration.`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.ArbitraryArgs,
		RunE: group,
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w\nSee '%s --help'.", err, c.CommandPath())
	})
	for _, c := range []*cobra.Command{
		a.serveCommand(), a.demoCommand(), a.diagnoseCommand(), a.replayCommand(), a.playbooksCommand(), a.checkCommand(), a.lintCommand(), a.versionCommand(),
	} {
		root.AddCommand(c)
	}
	return root
}

// group is a command that only has subcommands.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		c.SetOut(c.ErrOrStderr())
		_ = c.Help()
		return &exitError{code: exitUsage}
	}
	msg := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if near := strictyaml.Nearest(args[0], names); near != "" {
		return usage("%s; did you mean %q?", msg, near)
	}
	return usage("%s\nSee '%s --help'.", msg, c.CommandPath())
}

// exitCode is the code of a diagnosis: by its primary finding.
func exitCode(d diagnose.Diagnosis) int {
	switch d.Primary().Class {
	case diagnose.Undecided, "":
		return exitUndecided
	case diagnose.Quiet:
		return exitQuiet
	default:
		return exitFound
	}
}
