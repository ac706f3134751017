package slack

import (
	"fmt"
	"strings"

	slackapi "github.com/slack-go/slack"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// rendered is a message as Slack takes it: the text that notifications and
// screen readers use, already escaped, and the blocks.
type rendered struct {
	text   string
	blocks []slackapi.Block
}

// render turns a neutral message into Block Kit. It is pure, and whatever the
// message holds the result is inside every limit and inert. The order is that
// of reading on a phone: headline, what it means, evidence, the one next step,
// buttons, state. Details come after the step; if they are too much they are
// dropped from the end, and the message says so. Headline, step and buttons
// are never dropped.
func render(m playbooks.Message) rendered {
	text := messageText(m)
	l := newLayout(m, MaxTotal-omissions-size(text))
	l.header(m.Title)
	l.section(joinLines(rich(m.Subject, maxSubject), rich(m.Summary, maxSummary)))
	l.evidence(m.Evidence)
	l.step(m.Step)
	l.details(m.Details)
	l.actions(m.Buttons)
	l.footer(m.Footer)
	if len(l.blocks) == 0 {
		l.section(text)
	}
	return rendered{text: text, blocks: l.blocks}
}

// messageText is the required text. A message without one still says something.
func messageText(m playbooks.Message) string {
	text := sanitize(m.Text)
	if text == "" {
		text = sanitize(m.Title.String())
	}
	if text == "" {
		text = "kafka-oncall has an update"
	}
	return escape(cut(text, maxNotice, byteCost))
}

// textOnly is the message as text alone, for the case that Slack refuses the
// blocks: an alert in poor dress is better than none.
func textOnly(m playbooks.Message) string {
	parts := []string{bold(plain(m.Title, maxTitle)), rich(m.Subject, maxSubject), rich(m.Summary, maxSummary)}
	evidence, _ := bullets(m.Evidence, maxEvidence, 2*maxEvidence)
	parts = append(parts, evidence)
	if m.Step != nil {
		parts = append(parts, stepHeading(m.Step), rich(m.Step.Text, maxStepText))
	}
	text, used := "", 0
	for _, part := range parts {
		if used += len(part) + 1; used > MaxText {
			break
		}
		text = joinLines(text, part)
	}
	if text == "" {
		return messageText(m)
	}
	return text
}

// layout collects blocks and keeps account of the room left for text.
type layout struct {
	blocks []slackapi.Block
	// room is what may still be filled; what is never dropped and comes late
	// (step, buttons, footer) is put aside from the start.
	room int
}

// lateBlocks is how many blocks come after the details: buttons and footer.
const lateBlocks = 2

func newLayout(m playbooks.Message, room int) *layout {
	for _, b := range stepBlocks(m.Step) {
		room -= textSize(b)
	}
	for _, b := range buttons(m.Buttons) {
		room -= buttonSize(b)
	}
	return &layout{room: room - size(footerText(m.Footer))}
}

func (l *layout) header(title playbooks.Rich) {
	if text := plain(title, maxTitle); text != "" {
		no := false
		l.add(slackapi.NewHeaderBlock(&slackapi.TextBlockObject{Type: slackapi.PlainTextType, Text: text, Emoji: &no}))
		l.room -= size(text)
	}
}

func (l *layout) section(text string) {
	if text == "" {
		return
	}
	l.add(section(text))
	l.room -= size(text)
}

func (l *layout) add(b slackapi.Block) { l.blocks = append(l.blocks, b) }

// evidence sets the observations as one list, as many as a section holds.
func (l *layout) evidence(lines []playbooks.Rich) {
	text, left := bullets(lines, maxEvidence, min(MaxSection, l.room))
	if left > 0 {
		text = joinLines(text, fmt.Sprintf("_… %s left out_", playbooks.Count(left, "more observation")))
	}
	l.section(text)
}

// bullets sets lines as a list within limit; left is how many did not fit.
func bullets(lines []playbooks.Rich, perLine, limit int) (text string, left int) {
	var b strings.Builder
	used := 0
	for i, line := range lines {
		item := rich(line, perLine)
		if item == "" {
			continue
		}
		item = "• " + item + "\n"
		if used+size(item)+omission > limit {
			return strings.TrimSpace(b.String()), len(lines) - i
		}
		used += size(item)
		b.WriteString(item)
	}
	return strings.TrimSpace(b.String()), 0
}

// details sets the titled lists until the room is used up.
func (l *layout) details(details []playbooks.Detail) {
	for i, d := range details {
		if l.full() {
			l.section(fmt.Sprintf("_… %s left out, too long for Slack_", playbooks.Count(len(details)-i, "more list")))
			return
		}
		l.detail(bold(cut(oneLine(d.Title), maxDetail, cost)), d.Lines)
	}
}

// full says that no further list is to be begun: there is hardly room for text,
// or only blocks enough to say what is left out.
func (l *layout) full() bool {
	return l.room < 4*omission || len(l.blocks) >= MaxBlocks-lateBlocks-2
}

// detail sets one list, over several sections if need be, and says how many
// lines it had no room for.
func (l *layout) detail(heading string, lines []playbooks.Rich) {
	for {
		text, left := bullets(lines, maxLine, min(MaxSection, l.room)-size(heading))
		if left == len(lines) && left > 0 || left > 0 && l.full() {
			more := fmt.Sprintf("_… %s left out, too long for Slack_", playbooks.Count(left, "more line"))
			l.section(joinLines(heading, text, more))
			return
		}
		l.section(joinLines(heading, text))
		if left == 0 {
			return
		}
		heading, lines = "", lines[len(lines)-left:]
	}
}

// oneLine is sanitize for text that stands in mrkdwn outside a span.
func oneLine(s string) string { return sanitize(strings.ReplaceAll(s, "`", "'")) }

// bold sets s, which must be a single line; with an asterisk in it, it stays
// plain.
func bold(s string) string {
	if s == "" || strings.Contains(s, "*") {
		return escape(s)
	}
	return "*" + escape(s) + "*"
}

func (l *layout) footer(lines []playbooks.Rich) {
	if text := footerText(lines); text != "" {
		l.add(slackapi.NewContextBlock("", mrkdwn(text)))
	}
}

func footerText(lines []playbooks.Rich) string {
	var parts []string
	for _, line := range lines[:min(len(lines), maxFooters)] {
		if text := rich(line, maxFooter); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
}

func section(text string) slackapi.Block {
	return slackapi.NewSectionBlock(mrkdwn(text), nil, nil)
}

// mrkdwn makes a text object in which Slack links nothing on its own.
func mrkdwn(text string) *slackapi.TextBlockObject {
	return &slackapi.TextBlockObject{Type: slackapi.MarkdownType, Text: text, Verbatim: true}
}

func joinLines(lines ...string) string {
	var kept []string
	for _, line := range lines {
		if line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
