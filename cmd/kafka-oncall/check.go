package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func (a *app) checkCommand() *cobra.Command {
	check := &cobra.Command{
		Use:   "check",
		Short: "Check the set-up before an incident does",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	check.AddCommand(&cobra.Command{
		Use:   "config FILE",
		Short: "Check a configuration file without connecting to anything",
		Long: `Check a configuration file without connecting to anything: unknown keys, wrong
types, missing and contradicting values, files that cannot be read, and the
playbooks of playbooks_dir. Every problem is printed with file:line:column.

Exit code 0 when the file is fine, 2 when it is not, 1 when it cannot be read.`,
		Example: "  kafka-oncall check config /etc/kafka-oncall/config.yaml",
		Args:    oneArg("FILE"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.checkConfigFile(args[0]) },
	})
	return check
}

func (a *app) checkConfigFile(file string) error {
	c, err := a.loadConfig(file)
	if err != nil && !isProblems(err) {
		return failed("%w", err)
	}
	var ps playbooks.Problems
	errors.As(err, &ps)
	if c.doc != nil {
		ps = append(ps, a.checkServe(c)...)
	}
	if len(ps) > 0 {
		printProblems(a.stdout, ps)
		return &exitError{code: exitUsage, err: fmt.Errorf("%s in %s", playbooks.Count(len(ps), "problem"), file)}
	}
	_, err = fmt.Fprintf(a.stdout, "%s: fine, %s\n", file, playbooks.Count(len(c.Clusters), "cluster"))
	return err
}

func printProblems(w io.Writer, ps []playbooks.Problem) {
	for _, p := range ps {
		_, _ = fmt.Fprintln(w, playbooks.Clean(p.String(), 1000))
	}
}

// oneArg wants exactly one argument and says which.
func oneArg(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s wants one %s\nSee '%s --help'.", c.CommandPath(), name, c.CommandPath())
		}
		return nil
	}
}
