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
	// said are the findings so far, apart from their part: parts of a YAML file can
	// share settings through an alias.
	said map[lint.Finding]bool
}

// lintReportFile is one file, or one part of a YAML file: its kind, or why it
// could not be read.
type lintReportFile struct {
	File string `json:"file"`
	// Part and Line say where in a YAML file it stands, Skipped why it is not
	// checked.
	Part    string    `json:"part,omitempty"`
	Kind    lint.Kind `json:"kind,omitempty"`
	Skipped string    `json:"skipped,omitempty"`
	Error   string    `json:"error,omitempty"`
	Line    int       `json:"line,omitempty"`
	Column  int       `json:"column,omitempty"`
}

// title is "orders.yaml: Kafka orders spec.kafka.config".
func (f lintReportFile) title() string {
	if f.Part == "" {
		return place(f.File, 0, 0)
	}
	return place(f.File, 0, 0) + ": " + playbooks.Clean(f.Part, 200)
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
	for _, d := range x.docs {
		r.check(d, o)
	}
}

func (r *lintReport) check(d *lint.Doc, o lint.Options) {
	f := lintReportFile{File: d.Name, Part: playbooks.Clean(d.Part, 200), Kind: d.Kind, Skipped: d.Skipped}
	if d.Part != "" {
		f.Line = d.Line
	}
	r.Files = append(r.Files, f)
	for _, f := range lint.Check(d, o) {
		same := f
		same.Part = ""
		if d.Part != "" && r.said[same] {
			continue // through another alias
		}
		r.said[same] = true
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
	var last lintReportFile
	for _, f := range r.Findings {
		if f.File != last.File || f.Part != last.Part {
			last = r.file(f)
			p.line("%s (%s)", strong(last.title()), last.Kind.Words())
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
	read := map[string]bool{}
	for _, f := range r.Files {
		switch {
		case f.Error != "":
			continue
		case f.Skipped != "":
			p.line("%s: not checked: %s", f.title(), playbooks.Clean(f.Skipped, 300))
		case !r.mentions(f):
			p.line("%s: fine (%s)", f.title(), f.Kind.Words())
		}
		read[f.File] = true
	}
	if len(r.Findings) > 0 {
		p.line("%s, %s, %d advice in %s", playbooks.Count(r.Errors, "error"), playbooks.Count(r.Warnings, "warning"), r.Advice, playbooks.Count(len(read), "file"))
	}
	return p.err
}

// file is the file, or the part of it, that a finding is about.
func (r lintReport) file(x lint.Finding) lintReportFile {
	for _, f := range r.Files {
		if f.File == x.File && f.Part == x.Part {
			return f
		}
	}
	return lintReportFile{File: x.File, Part: x.Part}
}

func (r lintReport) mentions(f lintReportFile) bool {
	for _, x := range r.Findings {
		if x.File == f.File && x.Part == f.Part {
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
