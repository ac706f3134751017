package slackdouble

import (
	"fmt"
	"strings"
)

// Terminal shows a message as lines of a terminal.
func (m *Message) Terminal() string { return strings.Join(m.lines(), "\n") }

func (m *Message) lines() []string {
	if len(m.Blocks) == 0 {
		return strings.Split(plainText(m.Text), "\n")
	}
	var out []string
	for _, b := range m.Blocks {
		out = append(out, blockLines(b)...)
	}
	return out
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

// Show renders an entry of the journal for a terminal: who did what, and the
// message as it stands then. It is empty for entries that a reader of the
// channel would not see.
func (e Entry) Show(width int) string {
	at := e.At.UTC().Format("15:04:05")
	switch e.Kind {
	case Commanded:
		return fmt.Sprintf("%s  > %s", at, e.Detail)
	case Clicked:
		return fmt.Sprintf("%s  > presses [ %s ]", at, e.Detail)
	case Posted, Edited, Private:
		what := map[Kind]string{Posted: "new message", Edited: "edited", Private: "answer, only visible to you"}[e.Kind]
		if e.Kind == Edited && e.Message.OnlyFor != "" {
			what = "private answer edited"
		}
		if e.Message.ThreadTS != "" {
			what += ", in the thread"
		}
		if e.Message.Broadcast {
			what += ", also sent to the channel"
		}
		who := botName
		if !e.Message.Bot {
			who = "a person"
		}
		return fmt.Sprintf("%s  %s · %s\n%s", at, who, what, frame(e.Message, width))
	}
	return ""
}

// frame sets a message beside a line, indented if it is a reply.
func frame(m *Message, width int) string {
	indent := "          "
	if m.ThreadTS != "" {
		indent += "    "
	}
	var b strings.Builder
	for _, line := range m.lines() {
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
	case strings.HasPrefix(line, "    "):
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

// ShowThread renders a thread as it stands now.
func ShowThread(messages []*Message, width int) string {
	var parts []string
	for _, m := range messages {
		parts = append(parts, frame(m, width))
	}
	return strings.Join(parts, "\n\n")
}
