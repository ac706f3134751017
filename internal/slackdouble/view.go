package slackdouble

import (
	"fmt"
	"strings"
	"unicode"
)

// Terminal shows a message as lines of a terminal.
func (m *Message) Terminal() string { return strings.Join(m.lines(), "\n") }

func (m *Message) lines() []string {
	out := strings.Split(plainText(m.Text), "\n")
	if len(m.Blocks) > 0 {
		out = nil
	}
	for _, b := range m.Blocks {
		out = append(out, blockLines(b)...)
	}
	for i := range out {
		out[i] = strings.Map(printable, out[i])
	}
	return out
}

// printable keeps a terminal from obeying what a message holds.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

func blockLines(b object) []string {
	switch b["type"] {
	case "divider":
		return []string{strings.Repeat("─", 40)}
	case "header":
		title := textOf(b["text"])
		return []string{title, strings.Repeat("═", min(len([]rune(title)), 60))}
	case "section":
		lines := strings.Split(textOf(b["text"]), "\n")
		fields, _ := b["fields"].([]any)
		for _, f := range fields {
			lines = append(lines, strings.Split(textOf(f), "\n")...)
		}
		return lines
	case "context":
		return []string{"· " + strings.Join(texts(b), " · ")}
	case "actions":
		var labels []string
		for _, e := range (&Message{Blocks: []object{b}}).Buttons() {
			labels = append(labels, "[ "+e.Label+" ]")
		}
		return []string{strings.Join(labels, " ")}
	case "markdown":
		s, _ := b["text"].(string)
		return strings.Split(s, "\n")
	}
	return nil
}

func texts(b object) []string {
	var out []string
	elements, _ := b["elements"].([]any)
	for _, e := range elements {
		out = append(out, textOf(e))
	}
	return out
}

// textOf is a text object as plain text.
func textOf(v any) string {
	o, _ := v.(object)
	s, _ := o["text"].(string)
	if o["type"] == "mrkdwn" {
		return plainText(s)
	}
	return s
}

// Teller tells the journal on a terminal. It remembers every message, so that an
// edit shows what changed and not the whole card again.
type Teller struct {
	width int
	last  map[string][]string
}

// NewTeller makes a teller for a terminal of that width.
func NewTeller(width int) *Teller { return &Teller{width: width, last: map[string][]string{}} }

// Tell renders an entry: who did what, and the message as it stands then. It is
// empty for entries that a reader of the channel would not see.
func (t *Teller) Tell(e Entry) string {
	at := e.At.UTC().Format("15:04:05")
	switch e.Kind {
	case Commanded:
		return fmt.Sprintf("%s  > %s", at, e.Detail)
	case Clicked:
		return fmt.Sprintf("%s  > presses [ %s ]", at, e.Detail)
	case Posted, Edited, Private:
		key := e.Message.Channel + e.Message.TS
		lines := e.Message.lines()
		shown := lines
		if before, known := t.last[key]; known {
			shown = changedLines(before, lines)
		}
		t.last[key] = lines
		return fmt.Sprintf("%s  %s\n%s", at, caption(e), frame(shown, e.Message.ThreadTS != "", t.width))
	case Deleted:
		return at + "  a message is deleted"
	case Mentioned, Called, Linked, Acked:
	}
	return ""
}

// caption says what happened to a message.
func caption(e Entry) string {
	m := e.Message
	what := map[Kind]string{Posted: "new message", Edited: "message edited", Private: "answer, only visible to you"}[e.Kind]
	if e.Kind == Edited && m.OnlyFor != "" {
		what = "private answer edited"
	}
	if m.ThreadTS != "" {
		what += ", in the thread"
	}
	if m.Broadcast {
		what += ", also sent to the channel"
	}
	if !m.Bot {
		return "somebody · " + what
	}
	return botName + " · " + what
}

// changedLines keeps the headline and the lines that were not there before, and
// marks where the same lines as before were left out.
func changedLines(before, now []string) []string {
	old := map[string]bool{}
	for _, l := range before {
		old[l] = true
	}
	var out []string
	for i, l := range now {
		switch {
		case i == 0 || !old[l]:
			out = append(out, l)
		case out[len(out)-1] != unchanged:
			out = append(out, unchanged)
		}
	}
	return out
}

const unchanged = "  …"

// frame sets lines beside a bar, indented for a reply.
func frame(lines []string, reply bool, width int) string {
	indent := "          "
	if reply {
		indent += "    "
	}
	var b strings.Builder
	for _, line := range lines {
		for _, part := range wrap(line, max(width-len(indent)-2, 20)) {
			b.WriteString(strings.TrimRight(indent+"│ "+part, " ") + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// wrap breaks a line at blanks; list items hang.
func wrap(line string, width int) []string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return []string{""}
	}
	hang := ""
	switch {
	case strings.HasPrefix(line, "• "):
		hang = "  "
	case strings.HasPrefix(line, "  "):
		return []string{line}
	}
	out := []string{words[0]}
	for _, w := range words[1:] {
		last := out[len(out)-1]
		if len([]rune(last))+1+len([]rune(w)) > width {
			out = append(out, hang+w)
			continue
		}
		out[len(out)-1] = last + " " + w
	}
	return out
}
