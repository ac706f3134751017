package slack

import (
	"fmt"
	"regexp"
	"strings"

	slackapi "github.com/slack-go/slack"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func (l *layout) step(s *playbooks.StepView) {
	for _, b := range stepBlocks(s) {
		l.add(b)
	}
}

// stepBlocks set the one next step: what to do and how it was worked out, the
// command to copy, then what not to do and how one sees that it worked.
func stepBlocks(s *playbooks.StepView) []slackapi.Block {
	if s == nil {
		return nil
	}
	do := joinLines(stepHeading(s), rich(s.Text, maxStepText), rich(s.Arithmetic, maxArithmetic))
	advice := joinLines(avoid(s.Avoid), labelled("Check:", s.Verify))
	var blocks []slackapi.Block
	for _, text := range []string{do, command(s.Command), advice} {
		if text != "" {
			blocks = append(blocks, section(text))
		}
	}
	return blocks
}

func stepHeading(s *playbooks.StepView) string {
	heading := "Next: "
	if s.Of > 1 {
		heading = fmt.Sprintf("Step %d of %d: ", s.Number, s.Of)
	}
	heading = bold(heading + cut(sanitize(strings.ReplaceAll(s.Title, "`", "")), maxStepTitle, cost))
	if s.Safety != playbooks.Look && s.Safety != "" {
		heading += " — " + escape(cut(oneLine(s.Safety.Words()), maxSafety, cost))
	}
	return heading
}

// avoid sets what not to do. It must never read as advice to do it, so text
// that does not say "not" itself gets a label.
func avoid(r playbooks.Rich) string {
	start := strings.ToLower(sanitize(r.String()))
	for _, word := range []string{"do not ", "don't ", "never "} {
		if strings.HasPrefix(start, word) {
			return rich(r, maxAdvice)
		}
	}
	return labelled("Do not do this:", r)
}

func labelled(label string, r playbooks.Rich) string {
	text := rich(r, maxAdvice)
	if text == "" {
		return ""
	}
	return "*" + label + "* " + text
}

// command sets something to copy. A cut command would be a wrong command, so
// one that is too long is named and not shown; so is one with backticks, which
// would end the block.
func command(c string) string {
	lines := strings.Split(strings.ReplaceAll(c, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = sanitizeCode(line)
	}
	clean := strings.Trim(strings.Join(lines, "\n"), "\n")
	if strings.TrimSpace(clean) == "" {
		return ""
	}
	if escaped := escape(clean); size(escaped) <= maxCommand && !strings.Contains(clean, "```") {
		return "```\n" + escaped + "\n```"
	}
	return "_The command is too long to show here; `/kafka-diagnose playbook` and the command line show it whole._"
}

// sanitizeCode is sanitize without folding blanks.
func sanitizeCode(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\t':
			b.WriteString("  ")
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case !invisible(r):
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (l *layout) actions(list []playbooks.Button) {
	var elements []slackapi.BlockElement
	for _, b := range buttons(list) {
		elements = append(elements, b)
	}
	if len(elements) > 0 {
		l.add(slackapi.NewActionBlock("", elements...))
	}
}

// opaque is what action names and button values look like: ids, no text.
var opaque = regexp.MustCompile(`^[A-Za-z0-9._:=+/@-]*$`)

// buttons sets the buttons that Slack can hold: each action once, at most one
// primary, and none whose name or value would have to be cut or escaped,
// because a changed id names something else.
func buttons(list []playbooks.Button) []*slackapi.ButtonBlockElement {
	var out []*slackapi.ButtonBlockElement
	seen := map[string]bool{}
	primary, total := false, 0
	for _, b := range list {
		id := string(b.Action)
		if id == "" || seen[id] || len(id) > MaxActionID || len(b.Value) > MaxButtonValue || !opaque.MatchString(id) || !opaque.MatchString(b.Value) {
			continue
		}
		e := button(id, b)
		if total += buttonSize(e); total > maxButtonText || len(out) == maxButtons {
			break
		}
		seen[id] = true
		if b.Primary && !primary {
			e.Style, primary = slackapi.StylePrimary, true
		}
		out = append(out, e)
	}
	return out
}

func button(id string, b playbooks.Button) *slackapi.ButtonBlockElement {
	label := plain(playbooks.T(b.Label), MaxButtonText)
	if label == "" {
		label = plain(playbooks.T(strings.ReplaceAll(id, "_", " ")), MaxButtonText)
	}
	no := false
	e := slackapi.NewButtonBlockElement(id, b.Value, &slackapi.TextBlockObject{Type: slackapi.PlainTextType, Text: label, Emoji: &no})
	e.AccessibilityLabel = plain(playbooks.T(b.Describe), MaxAccessibilityLabel)
	return e
}

// textSize and buttonSize are the text of a block as counted against MaxTotal.
func textSize(b slackapi.Block) int {
	if s, ok := b.(*slackapi.SectionBlock); ok && s.Text != nil {
		return size(s.Text.Text)
	}
	return 0
}

func buttonSize(e *slackapi.ButtonBlockElement) int {
	return size(e.Text.Text) + size(e.Value) + size(e.ActionID) + size(e.AccessibilityLabel)
}
