package main

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
)

// textWidth is the width of wrapped text where the terminal's is not known.
const textWidth = 100

// printer writes lines and keeps the first error.
type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) field(label, text string) {
	if strings.TrimSpace(text) != "" {
		p.line("   %s %s", label, strings.TrimSpace(text))
	}
}

// wrapped writes a text in lines of the width, each after the first indented as
// far as the prefix. The marks of code are left out: a terminal shows them raw.
func (p *printer) wrapped(prefix, text string) {
	width := p.width
	if width == 0 {
		width = textWidth
	}
	indent := strings.Repeat(" ", len([]rune(prefix)))
	line, start := prefix, true
	for _, word := range strings.Fields(strings.ReplaceAll(text, "`", "")) {
		if !start && lipgloss.Width(line)+1+lipgloss.Width(word) > width {
			p.line("%s", line)
			line, start = indent, true
		}
		if !start {
			line += " "
		}
		line += word
		start = false
	}
	if !start {
		p.line("%s", line)
	}
}
