package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// writeMarkdown prints a message for a ticket or a postmortem. Everything from
// outside is escaped.
func writeMarkdown(w io.Writer, m playbooks.Message) error {
	p := &printer{w: w}
	p.line("## %s\n\n%s\n\n%s", markdown(plainStyle(m.Title)), markdown(m.Subject), markdown(m.Summary))
	if len(m.Evidence) > 0 {
		p.line("")
		for _, e := range m.Evidence {
			p.line("- %s", markdown(e))
		}
	}
	if s := m.Step; s != nil {
		stepMarkdown(p, *s)
	}
	for _, d := range m.Details {
		p.line("\n### %s\n", d.Title)
		for _, l := range d.Lines {
			p.line("- %s", markdown(l))
		}
	}
	for _, f := range m.Footer {
		p.line("\n*%s*", markdown(f))
	}
	return p.err
}

func stepMarkdown(p *printer, s playbooks.StepView) {
	title := "Next"
	if s.Of > 1 {
		title = fmt.Sprintf("Step %d of %d", s.Number, s.Of)
	}
	p.line("\n### %s: %s (%s)\n\n%s", title, escapeMarkdown(s.Title), s.Safety.Words(), markdown(s.Text))
	if len(s.Arithmetic) > 0 {
		p.line("\n> %s", markdown(s.Arithmetic))
	}
	if s.Command != "" {
		fence := "```"
		for strings.Contains(s.Command, fence) {
			fence += "`"
		}
		p.line("\n%s\n%s\n%s", fence, s.Command, fence)
	}
	if len(s.Avoid) > 0 {
		p.line("\n**What not to do.** %s", markdown(s.Avoid))
	}
	if len(s.Verify) > 0 {
		p.line("\n**How to see that it worked.** %s", markdown(s.Verify))
	}
}

// plainStyle drops the styles of a heading.
func plainStyle(r playbooks.Rich) playbooks.Rich { return playbooks.T(r.String()) }

func markdown(r playbooks.Rich) string {
	var b strings.Builder
	for _, s := range r {
		text := escapeMarkdown(s.Text)
		switch s.Style {
		case playbooks.Code:
			text = codeSpan(s.Text)
		case playbooks.Bold:
			text = "**" + text + "**"
		case playbooks.Plain:
		}
		if strings.HasPrefix(s.URL, "https://") || strings.HasPrefix(s.URL, "http://") {
			text = "[" + text + "](" + escapeURL(s.URL) + ")"
		}
		b.WriteString(text)
	}
	return b.String()
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`, "#", `\#`, "~", `\~`, "@", "&#64;",
)

func escapeMarkdown(s string) string { return markdownEscapes.Replace(s) }

// codeSpan fences a text with more backticks than it has in a row.
func codeSpan(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func escapeURL(s string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E").Replace(playbooks.Clean(s, 4000))
}
