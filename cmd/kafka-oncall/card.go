package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/colorprofile"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// writeJSON prints the public contract on one line.
func writeJSON(w io.Writer, d diagnose.Diagnosis, set *playbooks.Set) error {
	b, err := json.Marshal(playbooks.NewReport(d, set, nil))
	if err != nil {
		return fmt.Errorf("encode the diagnosis: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// writeCard prints a diagnosis for a person at a terminal: verdict, evidence
// table, next step with its arithmetic, and what else there is to know. Colours
// are dropped by themselves where NO_COLOR is set or the output is no terminal.
func (a *app) writeCard(d diagnose.Diagnosis, m playbooks.Message) error {
	p := &printer{w: colorprofile.NewWriter(a.stdout, a.env), width: widthOf(a.stdout)}
	head := lipgloss.NewStyle().Bold(true).Foreground(colour(d)).Render(m.Title.String())
	p.line("%s", strings.TrimRight(head+"   "+m.Subject.String(), " "))
	p.wrapped("", plain(m.Summary))
	p.line("")
	p.line("%s", evidenceTable(d, p.width))
	links(p, d)
	if m.Step != nil {
		p.line("")
		stepCard(p, *m.Step)
	}
	for _, x := range m.Details {
		if x.Title == "Evidence" || x.Title == "Not visible" {
			continue // in the table
		}
		p.line("")
		p.line("%s", strong(x.Title))
		for _, l := range x.Lines {
			p.wrapped("  • ", plain(l))
		}
	}
	p.line("")
	p.line("%s", state(d))
	return p.err
}

// colour only underlines what the words say.
func colour(d diagnose.Diagnosis) lipgloss.ANSIColor {
	switch d.Primary().Class {
	case diagnose.Quiet, diagnose.RollingDeploy:
		return lipgloss.ANSIColor(2)
	case diagnose.RestartBurst, diagnose.Undecided, diagnose.CacheNearLimit:
		return lipgloss.ANSIColor(3)
	default:
		return lipgloss.ANSIColor(1)
	}
}

func strong(s string) string { return lipgloss.NewStyle().Bold(true).Render(s) }

// state is the last line: how sure, as of when, and when to look again.
func state(d diagnose.Diagnosis) string {
	parts := []string{string(d.Primary().Confidence), "as of " + d.At.UTC().Format("2006-01-02 15:04:05 UTC")}
	if next := nextLookWords(d); next != "" {
		parts = append(parts, next)
	}
	return strings.Join(parts, " · ")
}

// evidenceTable shows what was read and what could not be.
func evidenceTable(d diagnose.Diagnosis, width int) string {
	t := table.New().Border(lipgloss.NormalBorder()).Width(width).Headers("what", "value", "where from", "status").
		StyleFunc(func(row, col int) lipgloss.Style {
			s := lipgloss.NewStyle().Padding(0, 1).Width(columns(width)[col])
			if row == table.HeaderRow {
				return s.Bold(true)
			}
			return s
		})
	for _, f := range d.Findings {
		for _, c := range f.Citations {
			t.Row(breakPath(cell(c.Path), columns(width)[0]-2), cell(c.Value), cell(c.Source), "read")
		}
	}
	for _, b := range d.BlindSpots {
		t.Row(playbooks.ReadingWords(b), playbooks.OpenWords(b), cell(b.Detail), playbooks.BlindWords(b))
	}
	return t.String()
}

// columns are the widths of the table's columns with their padding; five more
// are for the borders.
func columns(width int) [4]int {
	const what, status = 30, 13
	rest := max(width-5-what-status, 40)
	return [4]int{what, rest - rest/2, rest / 2, status}
}

// breakPath breaks a path at its dots so that names stay whole.
func breakPath(s string, width int) string {
	var lines []string
	line := ""
	for i, part := range strings.SplitAfter(s, ".") {
		if i > 0 && len([]rune(line))+len([]rune(part)) > width {
			lines = append(lines, line)
			line = ""
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}

func cell(s string) string { return playbooks.Clean(s, 240) }

// links prints the queries of the strongest observations as plain addresses,
// to be opened from any terminal.
func links(p *printer, d diagnose.Diagnosis) {
	for i, c := range d.Primary().Citations {
		if i == 3 {
			return
		}
		if strings.HasPrefix(c.Link, "http://") || strings.HasPrefix(c.Link, "https://") {
			p.line("%s %s", cell(c.Path), playbooks.Clean(c.Link, 2000))
		}
	}
}

func stepCard(p *printer, s playbooks.StepView) {
	title := "Next: " + s.Title
	if s.Of > 1 {
		title = fmt.Sprintf("Step %d of %d: %s", s.Number, s.Of, s.Title)
	}
	p.line("%s (%s)", strong(title), s.Safety.Words())
	p.wrapped("  ", plain(s.Text))
	if len(s.Arithmetic) > 0 {
		p.wrapped("  = ", plain(s.Arithmetic))
	}
	if s.Command != "" {
		p.line("  $ %s", s.Command)
	}
	if len(s.Avoid) > 0 {
		p.wrapped("  ! ", plain(s.Avoid))
	}
	if len(s.Verify) > 0 {
		p.wrapped("  ✓ ", plain(s.Verify))
	}
}

// plain writes a line for a terminal: code in backticks, links and styles left
// out.
func plain(r playbooks.Rich) string {
	var b strings.Builder
	for _, s := range r {
		switch {
		case s.Text == "▸" && s.URL != "":
		case s.Style == playbooks.Code:
			b.WriteString("`" + s.Text + "`")
		default:
			b.WriteString(s.Text)
		}
	}
	return b.String()
}
