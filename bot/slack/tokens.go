package slack

import (
	"regexp"
	"strings"
	"unicode"
)

// autoLink is how Slack writes what it took for a link, a channel or a person:
// <url|as typed>, <#C1|name>, <@U1|name>.
var autoLink = regexp.MustCompile(`<([^<>|]*)(?:\|([^<>]*))?>`)

// unescape undoes what Slack does to typed text: entities, and links made of
// names that look like host names.
func unescape(text string) string {
	text = autoLink.ReplaceAllStringFunc(text, func(m string) string {
		parts := autoLink.FindStringSubmatch(m)
		target, label := parts[1], parts[2]
		if label != "" {
			return label
		}
		return strings.TrimPrefix(strings.TrimPrefix(target, "https://"), "http://")
	})
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// closers are quotes and what ends them; phones and Macs type curly ones, and
// people put names in backticks.
var closers = map[rune]string{
	'"': `"“”`, '“': `”“"`, '”': `”"`, '„': `“”`, '\'': `'’`, '‘': `’'`, '’': `’'`, '`': "`", '«': "»",
}

// tokens splits text at blanks; quotes keep a name with blanks together.
func tokens(text string) ([]string, error) {
	var out []string
	rest := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for {
		for len(rest) > 0 && unicode.IsSpace(rest[0]) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return out, nil
		}
		word, n := nextToken(rest)
		if n == 0 {
			return nil, usage("A quotation mark is never closed.", `/kafka-diagnose group "my group"`)
		}
		out, rest = append(out, word), rest[n:]
	}
}

// nextToken returns the first word and how many runes it took; 0 for an open
// quote. A quote inside a word (group="my group") counts, too.
func nextToken(in []rune) (string, int) {
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		r := in[i]
		if unicode.IsSpace(r) {
			return b.String(), i
		}
		ends, quote := closers[r]
		if !quote || (i > 0 && in[i-1] != '=') {
			b.WriteRune(r)
			continue
		}
		end := indexAny(in[i+1:], ends)
		if end < 0 {
			return "", 0
		}
		b.WriteString(string(in[i+1 : i+1+end]))
		i += end + 1
	}
	return b.String(), len(in)
}

func indexAny(in []rune, set string) int {
	for i, r := range in {
		if strings.ContainsRune(set, r) {
			return i
		}
	}
	return -1
}
