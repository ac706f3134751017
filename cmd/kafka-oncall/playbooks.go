package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func (a *app) playbooksCommand() *cobra.Command {
	var dir string
	books := &cobra.Command{
		Use:   "playbooks",
		Short: "List, show and lint playbooks",
		Long: `Playbooks hold the words and steps of each class, one YAML file a class. Those
in a folder (--dir) replace the built-in ones or add to them.`,
		Args: cobra.ArbitraryArgs,
		RunE: group,
	}
	books.PersistentFlags().StringVar(&dir, "dir", "", "folder of playbooks that replace or add to the built-in ones")
	books.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List the playbooks",
			Args:  cobra.NoArgs,
			RunE:  func(*cobra.Command, []string) error { return a.listPlaybooks(dir) },
		},
		&cobra.Command{
			Use:   "lint",
			Short: "Check playbooks: steps without verify, numbers without arithmetic, unknown facts and settings",
			Long: `Check the built-in playbooks, with those of --dir put over them, against the
rules: every judged class has a playbook, every step a verify, every number its
arithmetic, every fact and setting exists, and every text fits a card. Problems
are printed with file:line:column; exit code 2 when there are any.`,
			Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.lintPlaybooks(dir) },
		},
		a.showPlaybookCommand(&dir),
	)
	return books
}

func (a *app) showPlaybookCommand(dir *string) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "show CLASS",
		Short:   "Show the playbook of a class",
		Example: "  kafka-oncall playbooks show cache-thrash\n  kafka-oncall playbooks show poll-interval -o markdown",
		Args:    oneArg("CLASS"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return classes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.showPlaybook(*dir, args[0], output) },
	}
	c.Flags().StringVarP(&output, "output", "o", "text", "text or markdown")
	return c
}

func classes() []string {
	var out []string
	for _, e := range diagnose.Catalogue() {
		out = append(out, string(e.Class))
	}
	return out
}

// loadPlaybooks reads the built-in playbooks and those of dir, if any.
func loadPlaybooks(dir string) (*playbooks.Set, error) {
	if dir == "" {
		return playbooks.Default()
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, usage("%s is not a folder of playbooks that can be read", dir)
	}
	return playbooks.Load(os.DirFS(dir))
}

// lintPlaybooks lists everything wrong with an overlay.
func lintPlaybooks(dir string) []playbooks.Problem {
	set, err := loadPlaybooks(dir)
	var ps playbooks.Problems
	switch {
	case errors.As(err, &ps):
		return ps
	case err != nil:
		return []playbooks.Problem{{Message: err.Error()}}
	}
	return playbooks.Lint(set, diagnose.Rules())
}

func (a *app) lintPlaybooks(dir string) error {
	if _, err := loadPlaybooks(dir); err != nil && !isProblems(err) {
		return asUsage(err)
	}
	ps := lintPlaybooks(dir)
	if len(ps) > 0 {
		printProblems(a.stdout, ps)
		return &exitError{code: exitUsage, err: fmt.Errorf("%s in the playbooks", playbooks.Count(len(ps), "problem"))}
	}
	_, err := fmt.Fprintln(a.stdout, "playbooks: fine")
	return err
}

func (a *app) listPlaybooks(dir string) error {
	set, err := loadPlaybooks(dir)
	if err != nil {
		return asUsage(err)
	}
	for _, b := range set.List() {
		e, _ := diagnose.Lookup(b.Class)
		if _, err := fmt.Fprintf(a.stdout, "%-20s %-8s %s\n", b.Class, playbooks.Count(len(b.Steps), "step"), e.Headline); err != nil {
			return failed("print: %w", err)
		}
	}
	return nil
}

// asUsage gives faulty playbooks the exit code of faulty configuration.
func asUsage(err error) error {
	var e *exitError
	if errors.As(err, &e) {
		return err
	}
	return &exitError{exitUsage, err}
}

func (a *app) showPlaybook(dir, class, output string) error {
	if output != "text" && output != "markdown" {
		return usage("-o %s: wants text or markdown", output)
	}
	set, err := loadPlaybooks(dir)
	if err != nil {
		return asUsage(err)
	}
	b, ok := set.Show(diagnose.Class(class))
	if !ok {
		return usage("there is no playbook for %q; 'kafka-oncall playbooks list' shows them", class)
	}
	if output == "markdown" {
		return writeBookMarkdown(a.stdout, b)
	}
	return writeBook(a.stdout, b)
}

func writeBook(w io.Writer, b playbooks.Playbook) error {
	e, _ := diagnose.Lookup(b.Class)
	p := printer{w: w}
	p.line("%s (%s)", e.Headline, b.Class)
	p.wrapped("", b.Meaning)
	p.wrapped("", b.Impact)
	for i, s := range b.Steps {
		p.line("")
		p.line("%d. %s [%s]", i+1, s.Title, s.Safety.Words())
		p.field("only if", s.When)
		p.wrapped("   ", s.Text)
		for _, c := range s.Compute {
			p.field(c.Name+" =", strings.TrimSpace(c.Expr+"   "+only(c.When)+round(c.Round)))
		}
		p.field("$", s.Command)
		if s.Avoid != nil {
			p.wrapped("   ! ", s.Avoid.Text+" "+s.Avoid.Why)
		}
		for _, v := range s.Variants() {
			p.wrapped("   "+v.Place()+": ", strings.TrimSpace(v.Words()))
			p.field("$", v.Command)
		}
		if s.Verify != nil {
			p.wrapped("   ✓ ", s.Verify.Read+" "+s.Verify.Shows)
		}
	}
	return p.err
}

// upperFirst begins a line with a capital letter.
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func round(s string) string {
	if s == "" {
		return ""
	}
	return "(round " + s + ")"
}

// only is the condition of a computed value.
func only(when string) string {
	if when == "" {
		return ""
	}
	return "(only if " + when + ") "
}

func writeBookMarkdown(w io.Writer, b playbooks.Playbook) error {
	e, _ := diagnose.Lookup(b.Class)
	p := printer{w: w}
	p.line("# %s\n\n`%s`\n\n%s\n\n%s", e.Headline, b.Class, b.Meaning, b.Impact)
	for i, s := range b.Steps {
		p.line("\n## %d. %s\n\n*%s*", i+1, s.Title, s.Safety.Words())
		if s.When != "" {
			p.line("\nOnly if `%s`.", strings.TrimSpace(s.When))
		}
		p.line("\n%s", strings.TrimSpace(s.Text))
		for _, c := range s.Compute {
			p.line("\n- `%s` = `%s` %s", c.Name, strings.TrimSpace(c.Expr), only(c.When)+round(c.Round))
		}
		if s.Command != "" {
			p.line("\n```\n%s\n```", s.Command)
		}
		if s.Avoid != nil {
			p.line("\n**What not to do.** %s %s", s.Avoid.Text, s.Avoid.Why)
		}
		for _, v := range s.Variants() {
			p.line("\n**%s.** %s", upperFirst(v.Place()), v.Words())
			if v.Command != "" {
				p.line("\n```\n%s\n```", v.Command)
			}
		}
		if s.Verify != nil {
			p.line("\n**How to see that it worked.** %s %s", s.Verify.Read, s.Verify.Shows)
		}
	}
	return p.err
}
