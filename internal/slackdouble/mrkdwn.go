package slackdouble

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// run is a piece of text in one style, as Slack would show it.
type run struct {
	text               string
	bold, italic, code bool
	pre                bool
	url                string
	at                 time.Time
	dateForm           string
}

// entity is what Slack writes in angle brackets.
var entity = regexp.MustCompile(`<([^<>|]+)(?:\|([^<>]*))?>`)

// date is a time that Slack shows in the reader's zone.
var date = regexp.MustCompile(`^!date\^(\d+)\^([^^|]+)`)

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// parseMrkdwn reads mrkdwn the way Slack does, as far as the bot writes it:
// bold, italic, code, blocks of code, links and times.
func parseMrkdwn(s string) []run {
	var out []run
	for i, part := range strings.Split(s, "```") {
		if i%2 == 1 {
			out = append(out, run{text: entities.Replace(strings.Trim(part, "\n")), pre: true})
			continue
		}
		out = append(out, parseCode(part)...)
	}
	return out
}

func parseCode(s string) []run {
	var out []run
	parts := strings.Split(s, "`")
	for i, part := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			out = append(out, withEntities(part, run{code: true})...)
			continue
		}
		out = append(out, parseStyles(part)...)
	}
	return out
}

// styled finds *bold* and _italic_ that stand at word boundaries.
var styled = regexp.MustCompile(`(^|[\s(•·])([*_])([^*_\n]+|[^*\n]+?|[^_\n]+?)([*_])($|[\s,.;:!?)·—])`)

func parseStyles(s string) []run {
	m := styled.FindStringSubmatchIndex(s)
	if m == nil || s[m[4]:m[5]] != s[m[8]:m[9]] {
		return withEntities(s, run{})
	}
	mark, core := s[m[4]:m[5]], s[m[6]:m[7]]
	out := withEntities(s[:m[4]], run{})
	out = append(out, withEntities(core, run{bold: mark == "*", italic: mark == "_"})...)
	return append(out, parseStyles(s[m[9]:])...)
}

func withEntities(s string, like run) []run {
	var out []run
	plain := func(t string) {
		if t != "" {
			r := like
			r.text = entities.Replace(t)
			out = append(out, r)
		}
	}
	last := 0
	for _, m := range entity.FindAllStringSubmatchIndex(s, -1) {
		plain(s[last:m[0]])
		last = m[1]
		r := like
		target, label := s[m[2]:m[3]], ""
		if m[4] >= 0 {
			label = s[m[4]:m[5]]
		}
		r.text = entities.Replace(orElse(label, target))
		if d := date.FindStringSubmatch(target); d != nil {
			unix, _ := strconv.ParseInt(d[1], 10, 64)
			r.at, r.dateForm = time.Unix(unix, 0).UTC(), d[2]
		} else if strings.HasPrefix(target, "http") {
			r.url = entities.Replace(target)
		}
		out = append(out, r)
	}
	plain(s[last:])
	return out
}

// linkMark is the label of a link to where a value comes from.
const linkMark = "▸"

// plainText is mrkdwn without its marks.
func plainText(s string) string {
	var b strings.Builder
	for _, r := range parseMrkdwn(s) {
		switch {
		case r.pre:
			b.WriteString("\n    " + strings.ReplaceAll(r.text, "\n", "\n    ") + "\n")
		case r.url != "" && r.text == linkMark:
			// A mark that only carries a link says nothing on a terminal.
		case r.url != "" && r.text != r.url:
			b.WriteString(r.text + " (" + r.url + ")")
		default:
			b.WriteString(r.text)
		}
	}
	return strings.Trim(b.String(), "\n")
}
