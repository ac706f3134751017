package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
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

// writeCard prints a diagnosis for a person at a terminal: verdict, next step with
// its arithmetic, then the evidence and what else there is to know. Colours are
// dropped by themselves where NO_COLOR is set or the output is no terminal.
func (a *app) writeCard(d diagnose.Diagnosis, m playbooks.Message) error {
	p := &printer{w: colorprofile.NewWriter(a.stdout, a.env), width: widthOf(a.stdout)}
	links := linker{live: isTerminal(a.stdout) && hyperlinks(a.env)}
	head := lipgloss.NewStyle().Bold(true).Foreground(colour(d)).Render(m.Title.String())
	p.line("%s", strings.TrimRight(head+"   "+m.Subject.String(), " "))
	p.wrapped("", plain(m.Summary))
	if m.Step != nil {
		p.line("")
		stepCard(p, *m.Step)
	}
	evidenceCard(p, d, &links)
	blindCard(p, d)
	for _, x := range m.Details {
		if x.Title == "Evidence" || x.Title == "Not visible" {
			continue // shown above
		}
		p.line("")
		p.line("%s", strong(x.Title))
		for _, l := range x.Lines {
			p.wrapped("  • ", plain(l))
		}
	}
	links.write(p)
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

// evidenceCard lists what was read: what it says, then where it stands and where
// it came from. Text runs over the whole width: a log line takes two or three rows.
func evidenceCard(p *printer, d diagnose.Diagnosis, links *linker) {
	seen := map[diagnose.Citation]bool{}
	for i, f := range d.Findings {
		for _, c := range f.Citations {
			if seen[c] {
				continue
			}
			if len(seen) == 0 {
				p.line("")
				p.line("%s", strong("Evidence"))
			}
			seen[c] = true
			p.wrapped("  • ", cell(c.Value))
			p.wrapped("    ", cell(c.Path)+" ("+cell(c.Source)+")"+links.mark(c, i == 0))
		}
	}
}

// blindCard lists what could not be read, and what that leaves open.
func blindCard(p *printer, d diagnose.Diagnosis) {
	for i, b := range d.BlindSpots {
		if i == 0 {
			p.line("")
			p.line("%s", strong("Not visible"))
		}
		text := playbooks.ReadingWords(b) + ": " + playbooks.BlindWords(b)
		if b.Detail != "" {
			text += " (" + cell(b.Detail) + ")"
		}
		p.wrapped("  • ", text+"; "+playbooks.OpenWords(b))
	}
}

func cell(s string) string { return playbooks.Clean(s, 400) }

// maxLinks bounds the addresses that are printed in full.
const maxLinks = 3

// linker shows the queries of observations: as a word that leads there where the
// terminal can do that, else as plain addresses of the strongest, once at the end.
type linker struct {
	live  bool
	later []diagnose.Citation
}

// mark is what stands behind an observation. first says that it belongs to the
// primary finding.
func (l *linker) mark(c diagnose.Citation, first bool) string {
	switch {
	case !strings.HasPrefix(c.Link, "http://") && !strings.HasPrefix(c.Link, "https://"):
		return ""
	case l.live:
		return " " + lipgloss.NewStyle().Underline(true).Hyperlink(playbooks.Clean(c.Link, 2000)).Render("graph")
	case first && len(l.later) < maxLinks:
		l.later = append(l.later, c)
	}
	return ""
}

func (l *linker) write(p *printer) {
	for i, c := range l.later {
		if i == 0 {
			p.line("")
			p.line("%s", strong("Queries"))
		}
		p.line("  %s\n    %s", cell(c.Path), playbooks.Clean(c.Link, 2000))
	}
}

// hyperlinks says that the environment is that of a terminal known to show links
// (OSC 8). Others may show the address's bytes, so doubt means no.
func hyperlinks(env []string) bool {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case value == "":
		case name == "KITTY_WINDOW_ID", name == "WT_SESSION", name == "KONSOLE_VERSION", name == "WEZTERM_PANE":
			return true
		case name == "VTE_VERSION":
			n, err := strconv.Atoi(value)
			if err == nil && n >= 5000 {
				return true
			}
		case name == "TERM_PROGRAM" && slices.Contains([]string{"iTerm.app", "vscode", "ghostty", "WezTerm", "Hyper", "rio"}, value):
			return true
		case name == "TERM" && slices.Contains([]string{"xterm-kitty", "xterm-ghostty", "alacritty", "foot"}, value):
			return true
		}
	}
	return false
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
