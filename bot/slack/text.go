package slack

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxMarks is how many combining marks may follow each other; more is a pile
// that covers the lines above.
const maxMarks = 3

// sanitize makes one line of s: control characters and line breaks become a
// space, characters that cannot be seen or that turn the direction of reading
// are removed. It does not escape.
func sanitize(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for _, r := range s {
		if unicode.Is(unicode.Mn, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case marks > maxMarks || invisible(r):
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// sanitizeInner is sanitize for a part of a line: spaces at its ends stay.
func sanitizeInner(s string) string {
	clean := sanitize(s)
	if clean == "" {
		if strings.TrimSpace(s) == "" && s != "" {
			return " "
		}
		return ""
	}
	if r, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		clean = " " + clean
	}
	if r, _ := utf8.DecodeLastRuneInString(s); unicode.IsSpace(r) {
		clean += " "
	}
	return clean
}

// invisible says whether r shows nothing or turns the direction of reading:
// zero-width and bidi characters, tags, soft hyphen, fillers.
func invisible(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u3164', '\uffa0', '\u2800':
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// cost is what r takes once escaped, in UTF-16 units.
func cost(r rune) int {
	switch r {
	case '&':
		return len("&amp;")
	case '<', '>':
		return len("&lt;")
	}
	return max(utf16.RuneLen(r), 1)
}

// byteCost is cost in bytes of UTF-8.
func byteCost(r rune) int {
	if c := cost(r); c > 2 {
		return c
	}
	return utf8.RuneLen(r)
}

// cut returns s, or its start and an ellipsis, so that the escaped form takes at
// most limit by the given measure. It never cuts inside a rune, so it never
// cuts inside an entity.
func cut(s string, limit int, measure func(rune) int) string {
	total, end := 0, 0
	const ellipsis = "…"
	room := limit - measure('…')
	for i, r := range s {
		if total <= room {
			end = i
		}
		if total += measure(r); total > limit {
			if room < 0 {
				return ""
			}
			return strings.TrimRight(s[:end], " ") + ellipsis
		}
	}
	return s
}

// clip is cut for logs and errors: unescaped, in code points.
func clip(s string, limit int) string {
	return cut(s, limit, func(rune) int { return 1 })
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape replaces exactly the three characters that mrkdwn and text treat as
// markup.
func escape(s string) string { return escaper.Replace(s) }

// size is the length of s in UTF-16 units, as sent.
func size(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// link returns u as it may stand in <u|label>, or false if it is no http(s)
// link that a reader could trust: no host, credentials in front of the host (they
// hide the target), or too long.
func link(u string) (string, bool) {
	if u == "" || len(u) > MaxURL || u != sanitize(u) {
		return "", false
	}
	p, err := url.Parse(u)
	if err != nil || (p.Scheme != "http" && p.Scheme != "https") || p.Host == "" || p.User != nil {
		return "", false
	}
	out := urlEscaper.Replace(p.String())
	return out, len(out) <= MaxURL
}

var urlEscaper = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C", " ", "%20", "`", "%60", "^", "%5E")
