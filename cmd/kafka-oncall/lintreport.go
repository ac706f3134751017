package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kafka-oncall/kafka-oncall/internal/lint"
	"github.com/kafka-oncall/kafka-oncall/internal/properties"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

const outputGitHub = "github"

// lintReport is the JSON contract of lint. Names stay; new ones may come.
type lintReport struct {
	Schema   int              `json:"schema"`
	Files    []lintReportFile `json:"files"`
	Findings []lint.Finding   `json:"findings"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Advice   int              `json:"advice"`

	unreadable int
}

// lintReportFile is one file: its kind, or why it could not be read.
type lintReportFile struct {
	File   string    `json:"file"`
	Kind   lint.Kind `json:"kind,omitempty"`
	Error  string    `json:"error,omitempty"`
	Line   int       `json:"line,omitempty"`
	Column int       `json:"column,omitempty"`
}

// take adds what there is to say about a file.
func (r *lintReport) take(x lintedFile, o lint.Options) {
	if x.err != nil {
		f := lintReportFile{File: x.name, Error: x.err.Error()}
		var at *properties.Error
		if errors.As(x.err, &at) {
			f.Error, f.Line, f.Column = at.Message, at.Line, at.Column
		}
		r.Files = append(r.Files, f)
		r.unreadable++
		return
	}
	r.Files = append(r.Files, lintReportFile{File: x.name, Kind: x.doc.Kind})
	for _, f := range lint.Check(x.doc, o) {
		r.Findings = append(r.Findings, f)
		switch f.Severity {
		case lint.Error:
			r.Errors++
		case lint.Warning:
			r.Warnings++
		case lint.Advice:
			r.Advice++
		}
	}
}

func (a *app) writeLint(output string, r lintReport) error {
	switch output {
	case outputJSON:
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	case outputGitHub:
		return a.writeLintGitHub(r)
	default:
		return a.writeLintText(r)
	}
}

// writeLintText prints one line a finding in the form that editors follow, the
// fix below it, and the sum.
func (a *app) writeLintText(r lintReport) error {
	p := &printer{w: colorprofile.NewWriter(a.stdout, a.env), width: widthOf(a.stdout)}
	for _, f := range r.Files {
		if f.Error != "" {
			_, _ = fmt.Fprintf(a.stderr, "kafka-oncall: %s: %s\n", place(f.File, f.Line, f.Column), playbooks.Clean(f.Error, 500))
		}
	}
	file := ""
	for _, f := range r.Findings {
		if f.File != file {
			file = f.File
			p.line("%s (%s)", strong(place(file, 0, 0)), r.kind(file).Words())
		}
		key := f.Key
		if key != "" {
			key += ": "
		}
		p.line("%s: %s: %s%s [%s]", place(f.File, f.Line, f.Column), severityWord(f.Severity), key, f.Message, f.Check)
		if f.Fix != "" {
			p.wrapped("    → ", f.Fix)
		}
	}
	for _, f := range r.Files {
		if f.Error == "" && !r.mentions(f.File) {
			p.line("%s: fine (%s)", place(f.File, 0, 0), f.Kind.Words())
		}
	}
	if len(r.Findings) > 0 {
		p.line("%s, %s, %d advice in %s", playbooks.Count(r.Errors, "error"), playbooks.Count(r.Warnings, "warning"), r.Advice, playbooks.Count(len(r.Files)-r.unreadable, "file"))
	}
	return p.err
}

// kind is what a file was read as.
func (r lintReport) kind(file string) lint.Kind {
	for _, f := range r.Files {
		if f.File == file {
			return f.Kind
		}
	}
	return ""
}

func (r lintReport) mentions(file string) bool {
	for _, f := range r.Findings {
		if f.File == file {
			return true
		}
	}
	return false
}

func severityWord(s lint.Severity) string {
	colour := map[lint.Severity]lipgloss.ANSIColor{lint.Error: 1, lint.Warning: 3, lint.Advice: 6}[s]
	return lipgloss.NewStyle().Bold(true).Foreground(colour).Render(string(s))
}

// writeLintGitHub prints workflow commands, which show in the pull request's
// diff. Everything from the file is escaped, so that it cannot be a command.
func (a *app) writeLintGitHub(r lintReport) error {
	p := &printer{w: a.stdout}
	level := map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Advice: "notice"}
	for _, f := range r.Files {
		if f.Error != "" {
			p.line("%s", annotation("error", lint.Finding{File: f.File, Line: f.Line, Column: f.Column, Check: "unreadable", Message: f.Error}))
		}
	}
	for _, f := range r.Findings {
		p.line("%s", annotation(level[f.Severity], f))
	}
	return p.err
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotation(level string, f lint.Finding) string {
	place := "file=" + escapeProperty.Replace(f.File)
	if f.Line > 0 {
		place += fmt.Sprintf(",line=%d,col=%d", f.Line, f.Column)
	}
	text := f.Message
	if f.Key != "" {
		text = f.Key + ": " + text
	}
	if f.Fix != "" {
		text += "\n→ " + f.Fix
	}
	return fmt.Sprintf("::%s %s,title=%s::%s", level, place, escapeProperty.Replace("kafka-oncall "+f.Check), escapeData.Replace(text))
}
