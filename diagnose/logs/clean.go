package logs

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	ansi = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)
	// secretValue finds values that must not be repeated.
	secretValue = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|credentials?|authorization|signature)[\w.-]*["']?\s*[=:]\s*(?:(?:bearer|basic)\s+)?)("[^"]*"?|'[^']*'?|[^\s,;&)}\]]+)`)
	userInfo    = regexp.MustCompile(`(\w+://)[^\s/@]+@`)
	bearer      = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}`)
	jaas        = regexp.MustCompile(`(?i)((?:Plain|Scram|OAuthBearer|Krb5)LoginModule\s+\w+).*`)
)

// cleaned is a line as it may be shown: no colours, no control characters, valid
// UTF-8, no frame of a terminal table.
func cleaned(line []byte) string {
	s := string(line)
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = ansi.ReplaceAllString(s, "")
	}
	s = strings.Map(plainRune, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// plainRune turns control and invisible characters into blanks or nothing, and
// box-drawing frames into blanks.
func plainRune(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return -1
	case r >= 0x2500 && r <= 0x259f, r == 0x2028, r == 0x2029:
		return ' '
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
		return -1
	default:
		return r
	}
}

// discreet blanks what must not be repeated.
func discreet(s string) string {
	s = jaas.ReplaceAllString(s, "$1 ***")
	s = userInfo.ReplaceAllString(s, "$1***@")
	s = bearer.ReplaceAllString(s, "$1 ***")
	return secretValue.ReplaceAllString(s, "$1***")
}

// cut bounds a text to n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
