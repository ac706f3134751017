package playbooks

import (
	"fmt"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// ChangeReply is the reply in the thread when the verdict changed: from what to
// what, and which observations made the difference. Slack does not notify on
// edits, so this is what people see.
func ChangeReply(was, now diagnose.Diagnosis) Message {
	a, b := was.Primary(), now.Primary()
	v := View{Target: now.Target, Diagnosis: &now, Phase: PhaseFiring}
	var m Message
	switch {
	case apart(a, b):
		m.Title = bold("Now: " + lowerFirst(headline(b.Class)))
	case a.Class == b.Class:
		head, words := verdict(b, PhaseFiring)
		m.Title = bold(strings.ToUpper(string(b.Confidence[:min(1, len(b.Confidence))])) + string(b.Confidence[min(1, len(b.Confidence)):]) + ": " + lowerFirst(head))
		note := fmt.Sprintf(" (was: %s)", a.Confidence)
		if words != "" && !strings.EqualFold(words, string(b.Confidence)) {
			note = " — " + words + note
		}
		m.Title = append(m.Title, Span{Text: note})
	default:
		v.Was = &Previous{Class: a.Class, Confidence: a.Confidence}
		m.Title = title(v, b)
	}
	m.Subject = subject(v, b)
	if b.Summary != "" {
		m.Summary = T(Clean(b.Summary, maxSummary))
	}
	if lines := difference(a, b); len(lines) > 0 && !apart(a, b) {
		m.Details = []Detail{{Title: "What changed in the evidence", Lines: lines}}
	}
	m.Text = Clean(fmt.Sprintf("%s: %s. %s", m.Title, commas(m.Subject), m.Summary), maxOneLine)
	return m
}

// apart says that two verdicts are about different subjects: the second does not
// replace the first.
func apart(a, b diagnose.Finding) bool {
	return a.Subject != b.Subject && a.Class.Decides() && b.Class.Decides()
}

// changesShown bounds a reply that is meant to be short.
const changesShown = 4

// difference lists observations that are new or read differently now, and what
// is no longer seen.
func difference(a, b diagnose.Finding) []Rich {
	before := map[string]string{}
	for _, c := range a.Citations {
		before[c.Path] = c.Value
	}
	var out []Rich
	now := map[string]bool{}
	for _, c := range b.Citations {
		now[c.Path] = true
		old, seen := before[c.Path]
		if seen && old == c.Value {
			continue
		}
		line := citation(c)
		if seen {
			line = append(line, Span{Text: " (was: " + Clean(old, maxLine) + ")"})
		}
		out = append(out, line)
	}
	for _, c := range a.Citations {
		if a.Class != b.Class && !now[c.Path] {
			out = append(out, T("before: "+Clean(c.Value, maxLine)))
		}
	}
	if len(out) > changesShown {
		out = append(out[:changesShown:changesShown], T(fmt.Sprintf("+%d more in the evidence", len(out)-changesShown)))
	}
	return out
}

// EndReply is the one short reply when an incident ends, or when nobody can
// tell whether it has.
func EndReply(v View) Message {
	f := primary(v)
	var m Message
	if v.Phase == PhaseUnknown {
		m.Title = bold("No news")
		m.Summary = T("No word from Alertmanager for longer than expected. It may be over or not: I cannot tell.")
	} else {
		m.Title = bold("Over")
		m.Summary = T(endSentence(v, f))
	}
	m.Subject = subject(v, f)
	m.Text = Clean(fmt.Sprintf("%s: %s. %s", m.Title, commas(m.Subject), m.Summary), maxOneLine)
	return m
}

func endSentence(v View, f diagnose.Finding) string {
	var b strings.Builder
	b.WriteString("The alert has ended")
	if !v.Since.IsZero() && v.EndedAt.After(v.Since) {
		b.WriteString(" after " + seconds(v.EndedAt.Sub(v.Since).Seconds()))
	}
	b.WriteString(".")
	if f.Class == "" {
		return b.String() + " It was never diagnosed."
	}
	if f.Class == diagnose.Undecided {
		return b.String() + " The cause was not decided."
	}
	if !harmless(f.Class) || f.Confidence == diagnose.Provisional {
		fmt.Fprintf(&b, " Last verdict: %s, %s.", lowerFirst(Clean(f.Headline, maxName)), f.Confidence)
	}
	if s := shownStep(v); s != nil && !harmless(f.Class) {
		fmt.Fprintf(&b, " The cause is not gone with the alert. Open: step %d of %d, %s", s.Number, s.Of, sentence(lowerFirst(s.Title)))
		return b.String()
	}
	if harmless(f.Class) && f.Confidence != diagnose.Provisional {
		b.WriteString(" Nothing to do.")
	}
	return b.String()
}

// VerifiedReply says that a step was seen to have worked, or that it does not
// show yet. seen is the observation in words; it may be empty.
func VerifiedReply(s Step, worked bool, seen string) Message {
	m := Message{}
	if worked {
		m.Title = bold(fmt.Sprintf("Step %d of %d worked", s.View.Number, s.View.Of))
	} else {
		m.Title = bold(fmt.Sprintf("Step %d of %d does not show yet", s.View.Number, s.View.Of))
	}
	m.Title = append(m.Title, Span{Text: ": " + s.Title})
	if seen != "" {
		m.Summary = T(Clean(seen, maxSummary))
	} else if !worked {
		m.Summary = s.View.Verify
	}
	m.Text = Clean(fmt.Sprintf("%s. %s", m.Title, m.Summary), maxOneLine)
	return m
}
