package playbooks

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// template is text with its markup and placeholders taken apart. Values are
// put in after parsing, so nothing inside a value is ever markup.
type template []segment

// segment is literal text, or a placeholder when name is set.
type segment struct {
	text  string
	name  string
	exact bool
	style Style
}

// parseTemplate reads `code`, **bold**, {fact} and {fact.exact}; {{ stands for
// a brace.
func parseTemplate(s string) (template, error) {
	var t template
	var lit strings.Builder
	style := Plain
	flush := func() {
		if lit.Len() > 0 {
			t = append(t, segment{text: lit.String(), style: style})
			lit.Reset()
		}
	}
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "{{"):
			lit.WriteByte('{')
			i += 2
		case rest[0] == '{':
			seg, n, err := placeholder(rest)
			if err != nil {
				return nil, err
			}
			flush()
			seg.style = style
			t = append(t, seg)
			i += n
		case rest[0] == '`' && style != Bold:
			flush()
			style = toggle(style, Code)
			i++
		case strings.HasPrefix(rest, "**") && style != Code:
			flush()
			style = toggle(style, Bold)
			i += 2
		default:
			lit.WriteByte(rest[0])
			i++
		}
	}
	flush()
	if style != Plain {
		return nil, fmt.Errorf("a %s mark is opened and not closed", style)
	}
	return t, nil
}

func toggle(now, mark Style) Style {
	if now == mark {
		return Plain
	}
	return mark
}

func placeholder(s string) (segment, int, error) {
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return segment{}, 0, fmt.Errorf("a { is not closed; write {{ for a brace")
	}
	name, exact := strings.CutSuffix(s[1:end], ".exact")
	if !isName(name) {
		return segment{}, 0, fmt.Errorf("{%s} is not a name of a fact; write {{ for a brace", s[1:end])
	}
	return segment{name: name, exact: exact}, end + 1, nil
}

func isName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// Unfilled writes a playbook's text as a person reads it without an incident: code
// as code, and ‹words› where a value from the evidence would stand.
func Unfilled(text string) Rich {
	t, err := parseTemplate(text)
	if err != nil {
		return T(text)
	}
	var r Rich
	for _, s := range t {
		if s.name != "" {
			s.text = "‹" + strings.ReplaceAll(s.name, "_", " ") + "›"
		}
		r = r.with(Span{Text: s.text, Style: s.style})
	}
	return r
}

// names lists the facts a template needs, in order, once each.
func (t template) names() []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range t {
		if s.name != "" && !seen[s.name] {
			seen[s.name] = true
			out = append(out, s.name)
		}
	}
	return out
}

// fill puts values in. The first missing fact is the error.
func (t template) fill(v values) (Rich, error) {
	var r Rich
	one := false
	for _, s := range t {
		if s.name == "" {
			r = r.with(Span{Text: afterCount(s.text, one), Style: s.style})
			one = false
			continue
		}
		x, ok := v[s.name]
		if !ok {
			return nil, fmt.Errorf("the fact %s is missing", s.name)
		}
		span := x.span(s.style, s.exact)
		one = x.unit == unit(diagnose.UnitCount) && span.Text == "1"
		r = r.with(span)
	}
	return r, nil
}

// countedNoun is what playbooks count, right behind the number.
var countedNoun = regexp.MustCompile(`^ (member|rebalance|partition|client|consumer|session|record|error|eviction|group|connection|slot|request)s\b`)

// afterCount is the text behind a number: 1 member, 2 members.
func afterCount(text string, one bool) string {
	if !one {
		return text
	}
	return countedNoun.ReplaceAllString(text, " $1")
}

// with appends a span, and joins it to the last one of the same style: two code
// spans side by side are not one on every screen.
func (r Rich) with(s Span) Rich {
	if n := len(r) - 1; n >= 0 && r[n].Style == s.Style && r[n].URL+s.URL == "" && r[n].Time.IsZero() && s.Time.IsZero() {
		r[n].Text += s.Text
		return r
	}
	return append(r, s)
}

// fillCommand puts values into a command to be pasted into a shell: numbers
// plain, texts quoted.
func (t template) fillCommand(v values) (string, error) {
	var b strings.Builder
	for _, s := range t {
		if s.name == "" {
			b.WriteString(s.text)
			continue
		}
		x, ok := v[s.name]
		if !ok {
			return "", fmt.Errorf("the fact %s is missing", s.name)
		}
		if x.unit.isText() {
			b.WriteString(shellQuote(x.text))
		} else {
			b.WriteString(x.raw())
		}
	}
	return b.String(), nil
}

// shellQuote makes a text from outside one inert word of a POSIX shell. Control
// characters are dropped: a pasted line break would run what stands before it.
func shellQuote(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, s)
	plain := s != ""
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/@", r) {
			plain = false
		}
	}
	if plain && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
