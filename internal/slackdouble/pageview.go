package slackdouble

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"
)

// What the template shows.
type (
	pageView struct {
		Channels []pageChannel
		Log      []pageLine
	}
	pageChannel struct {
		ID, Name string
		Roots    []pageThread
	}
	pageThread struct {
		Root    pageMessage
		Replies []pageMessage
	}
	pageMessage struct {
		ID, Rev, Name, Initial, At, Clock string
		Bot, Private, Broadcast           bool
		Edits                             int
		HTML                              template.HTML
	}
	pageLine struct{ Kind, At, Clock, Text string }
)

// shownLog is how many lines of the journal the page shows.
const shownLog = 60

func (d *Double) pageView() pageView {
	d.mu.Lock()
	defer d.mu.Unlock()
	var v pageView
	for _, id := range slices.Sorted(maps.Keys(d.channels)) {
		ch := d.channels[id]
		c := pageChannel{ID: ch.ID, Name: ch.Name}
		for _, m := range ch.messages {
			if m.ThreadTS == "" && (m.OnlyFor == "" || m.OnlyFor == d.opts.Users[0].ID) {
				c.Roots = append(c.Roots, d.pageThread(ch, m))
			}
		}
		v.Channels = append(v.Channels, c)
	}
	for i := len(d.journal) - 1; i >= 0 && len(v.Log) < shownLog; i-- {
		if line := d.journal[i].line(); line != "" {
			e := d.journal[i]
			v.Log = append(v.Log, pageLine{Kind: string(e.Kind), At: e.At.UTC().Format(time.RFC3339), Clock: e.At.UTC().Format(time.TimeOnly), Text: line})
		}
	}
	return v
}

func (d *Double) pageThread(ch *channel, root *Message) pageThread {
	t := pageThread{Root: d.pageMessage(root)}
	for _, m := range ch.messages {
		if m.ThreadTS == root.TS {
			t.Replies = append(t.Replies, d.pageMessage(m))
		}
	}
	return t
}

func (d *Double) pageMessage(m *Message) pageMessage {
	at := m.at()
	p := pageMessage{
		ID: strings.ReplaceAll(m.TS, ".", "-"), Rev: fmt.Sprint(m.Edits), Name: botName, Initial: "K",
		At: at.Format(time.RFC3339), Clock: at.Format("15:04"), Bot: m.Bot, Private: m.OnlyFor != "",
		Broadcast: m.Broadcast, Edits: m.Edits, HTML: messageHTML(m),
	}
	if u, known := d.users[m.User]; known && !m.Bot {
		p.Name, p.Initial = u.Name, strings.ToUpper(u.Name[:1])
	}
	return p
}

// at is the time in a ts.
func (m *Message) at() time.Time {
	var sec int64
	_, _ = fmt.Sscanf(m.TS, "%d.", &sec)
	return time.Unix(sec, 0).UTC()
}

// line is a journal entry in a few words.
func (e Entry) line() string {
	switch e.Kind {
	case Posted:
		if !e.Message.Bot {
			return "somebody writes"
		}
		if e.Message.ThreadTS != "" {
			return "reply: " + plainText(e.Message.Text)
		}
		return "new: " + plainText(e.Message.Text)
	case Edited:
		return "edit: " + plainText(e.Message.Text)
	case Private:
		return "private answer: " + plainText(e.Message.Text)
	case Deleted:
		return "a message is deleted"
	case Commanded:
		return e.Detail
	case Clicked:
		return "pressed: " + e.Detail
	case Mentioned, Called, Linked, Acked:
	}
	return ""
}

// messageHTML renders a message; all text is escaped here.
func messageHTML(m *Message) template.HTML {
	var b strings.Builder
	if len(m.Blocks) == 0 {
		b.WriteString("<p>" + mrkdwnHTML(m.Text) + "</p>")
	}
	for _, block := range m.Blocks {
		blockHTML(&b, m, block)
	}
	return template.HTML(b.String()) //nolint:gosec // every part is escaped by mrkdwnHTML and html.EscapeString
}

func blockHTML(b *strings.Builder, m *Message, block object) {
	switch block["type"] {
	case "header":
		b.WriteString("<h3>" + html.EscapeString(textOf(block["text"])) + "</h3>")
	case "section":
		b.WriteString("<p>" + objectHTML(block["text"]) + "</p>")
	case "context":
		elements, _ := block["elements"].([]any)
		b.WriteString(`<p class="context">`)
		for _, e := range elements {
			b.WriteString(objectHTML(e) + " ")
		}
		b.WriteString("</p>")
	case "divider":
		b.WriteString("<hr>")
	case "actions":
		b.WriteString(`<div class="actions">`)
		for _, btn := range (&Message{Blocks: []object{block}}).Buttons() {
			fmt.Fprintf(b, `<button class="%s" data-channel="%s" data-ts="%s" data-action="%s">%s</button>`,
				html.EscapeString(btn.Style), html.EscapeString(m.Channel), html.EscapeString(m.TS), html.EscapeString(btn.ActionID), html.EscapeString(btn.Label))
		}
		b.WriteString("</div>")
	default:
		b.WriteString("<p>" + html.EscapeString(strings.Join(blockLines(block), " ")) + "</p>")
	}
}

func objectHTML(v any) string {
	o, _ := v.(object)
	s, _ := o["text"].(string)
	if o["type"] == "mrkdwn" {
		return mrkdwnHTML(s)
	}
	return html.EscapeString(s)
}

func mrkdwnHTML(s string) string {
	var b strings.Builder
	for _, r := range parseMrkdwn(s) {
		b.WriteString(r.html())
	}
	return b.String()
}

func (r run) html() string {
	text := html.EscapeString(r.text)
	switch {
	case r.pre:
		return "<pre>" + text + "</pre>"
	case !r.at.IsZero():
		text = fmt.Sprintf(`<time datetime="%s" data-form="%s">%s</time>`, r.at.Format(time.RFC3339), html.EscapeString(r.dateForm), text)
	default:
		text = strings.ReplaceAll(text, "\n", "<br>")
	}
	if r.code {
		text = "<code>" + text + "</code>"
	}
	if r.url != "" {
		text = fmt.Sprintf(`<a href="%s" rel="noreferrer" target="_blank">%s</a>`, html.EscapeString(r.url), text)
	}
	if r.bold {
		text = "<b>" + text + "</b>"
	}
	if r.italic {
		text = "<i>" + text + "</i>"
	}
	return text
}
