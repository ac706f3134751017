package slack

import (
	"fmt"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// rich sets a line as mrkdwn within limit. Spans are cut first and escaped then;
// what does not fit ends in an ellipsis.
func rich(r playbooks.Rich, limit int) string {
	var b strings.Builder
	room := limit - 1
	for i, s := range r {
		out := span(s, room-1)
		if strings.HasSuffix(b.String(), "`") && strings.HasPrefix(out, "`") {
			out = " " + out // two code spans that touch would be none
		}
		b.WriteString(out)
		room -= size(out)
		if room < minSpan && i < len(r)-1 {
			return strings.TrimRight(strings.TrimSpace(b.String()), "…") + "…"
		}
	}
	return strings.TrimSpace(b.String())
}

// minSpan is the least room in which starting another span makes sense.
const minSpan = 2

// span sets one span within limit. A span whose marks alone do not fit becomes
// plain text; so does one that its style cannot hold.
func span(s playbooks.Span, limit int) string {
	if !s.Time.IsZero() {
		return moment(s, limit)
	}
	text := sanitizeInner(strings.ReplaceAll(s.Text, "`", "'"))
	lead, core, tail := split(text)
	if core == "" {
		return text
	}
	before, after := marks(s, core)
	inner := limit - size(before) - size(after) - len(lead) - len(tail)
	if inner < minSpan {
		return escape(cut(text, limit, cost))
	}
	return lead + before + escape(cut(core, inner, cost)) + after + tail
}

// marks are what stands around the text of a span. Bold ends at the first
// asterisk, so text that has one stays plain.
func marks(s playbooks.Span, core string) (before, after string) {
	switch {
	case s.Style == playbooks.Bold && !strings.Contains(core, "*"):
		before, after = "*", "*"
	case s.Style == playbooks.Code:
		before, after = "`", "`"
	}
	if u, ok := link(s.URL); ok {
		before, after = before+"<"+u+"|", ">"+after
	}
	return before, after
}

// split parts the blanks at both ends from the text, because marks must touch it.
func split(s string) (lead, core, tail string) {
	core = strings.TrimSpace(s)
	if core == "" {
		return "", "", ""
	}
	i := strings.Index(s, core)
	return s[:i], core, s[i+len(core):]
}

// moment sets a time in the reader's own time zone, as precisely as its
// fall-back says it: with the date if that has one, with seconds if that has
// them. The fall-back is for clients that do not know the form, in UTC.
func moment(s playbooks.Span, limit int) string {
	text := strings.NewReplacer("`", "'", "|", "/", "^", "").Replace(sanitize(s.Text))
	if text == "" {
		text = s.Time.UTC().Format(time.DateTime)
	}
	if !strings.Contains(text, "UTC") {
		text += " UTC"
	}
	text = cut(text, maxFallback, cost)
	lead, _, tail := split(sanitizeInner(s.Text))
	out := lead + fmt.Sprintf("<!date^%d^%s|%s>", s.Time.Unix(), dateForm(text), escape(text)) + tail
	if size(out) > limit {
		return escape(cut(text, limit, cost))
	}
	return out
}

// maxFallback bounds the fall-back of a time.
const maxFallback = 60

func dateForm(fallback string) string {
	form := "{time}"
	if strings.Count(fallback, ":") > 1 {
		form = "{time_secs}"
	}
	if strings.Contains(fallback, "-") {
		form = "{date_short_pretty} " + form
	}
	return form
}

// plain sets a line for a plain_text object within limit: no marks, and no
// escaping, because nothing in it is read as markup.
func plain(r playbooks.Rich, limit int) string {
	return cut(entityOpeners.Replace(sanitize(r.String())), limit, cost)
}

// entityOpeners breaks what would be a mention if some client did read plain
// text as markup.
var entityOpeners = strings.NewReplacer("<!", "‹!", "<@", "‹@", "<#", "‹#")
