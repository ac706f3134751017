package slackdouble

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// responseLink is one response URL.
type responseLink struct {
	channel, user string
	// source is the ts of the message whose button was pressed, empty for a
	// command; sourceOnlyFor is set if that message was ephemeral.
	source        string
	sourceOnlyFor string
	uses          int
	born, last    time.Time
	// lastTS is the last private message that came through it.
	lastTS string
}

// link makes a response URL on the host that the client knows.
func (d *Double) link(host string, l responseLink) string {
	id := d.id("resp")
	l.born = d.opts.Now()
	d.links[id] = &l
	return "http://" + host + "/response/" + id
}

// responseBody is what a response URL takes.
type responseBody struct {
	Text     string          `json:"text"`
	Blocks   json.RawMessage `json:"blocks"`
	Type     string          `json:"response_type"`
	Replace  bool            `json:"replace_original"`
	Delete   bool            `json:"delete_original"`
	ThreadTS string          `json:"thread_ts"`
	Links    *bool           `json:"unfurl_links"`
	Media    *bool           `json:"unfurl_media"`
	Markdown *bool           `json:"mrkdwn"`
}

func (d *Double) serveResponse(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	f := d.takeFault("response_url")
	if f != nil && f.before(d, &call{method: "response_url"}, w, r) {
		return
	}
	status, word, wait := d.respond(r.PathValue("id"), raw)
	d.note(Entry{Kind: Called, Detail: "response_url " + word})
	d.mu.Unlock()
	if f != nil && f.after(w, r) {
		return
	}
	if wait > 0 {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, word)
}

// respond does what a response URL does; d.mu is held.
func (d *Double) respond(id string, raw []byte) (status int, word string, wait time.Duration) {
	l, now := d.links[id], d.opts.Now()
	switch {
	case l == nil:
		return http.StatusNotFound, "no_url", 0
	case now.Sub(l.born) > d.lim.ResponseLife:
		return http.StatusNotFound, "expired_url", 0
	case l.uses >= d.lim.ResponseUses:
		return http.StatusNotFound, "used_url", 0
	}
	if left := d.lim.ResponseEvery - now.Sub(l.last); left > 0 && !l.last.IsZero() {
		return http.StatusTooManyRequests, "429", left
	}
	l.last = now
	var b responseBody
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return http.StatusBadRequest, "invalid_payload", 0
	}
	l.uses++
	if word := d.applyResponse(l, b); word != "ok" {
		return http.StatusOK, word, 0
	}
	return http.StatusOK, "ok", 0
}

func (d *Double) applyResponse(l *responseLink, b responseBody) string {
	ch := d.channels[l.channel]
	if b.Delete {
		if m := ch.visible(l.target(), l.onlyFor()); m != nil {
			d.remove(ch, m)
		}
		return "ok"
	}
	if b.Type != "" && b.Type != "ephemeral" && b.Type != "in_channel" {
		return "invalid_response_type"
	}
	text, blocks, _, refused := d.content(&call{method: "response_url", args: map[string]string{"text": b.Text, "blocks": blocksArg(b.Blocks)}})
	if refused != nil {
		word, _ := refused["error"].(string)
		return word
	}
	if b.Links == nil || b.Media == nil || *b.Links || *b.Media {
		d.violation("response_url: unfurl_links and unfurl_media were not both false")
	}
	if m := ch.visible(l.target(), l.onlyFor()); b.Replace && m != nil && (b.Type == "in_channel") == (m.OnlyFor == "") {
		m.Text, m.Blocks = text, blocks
		m.Edits++
		d.note(Entry{Kind: Edited, Message: m})
		return "ok"
	}
	m := &Message{Channel: ch.ID, User: botUser, Bot: true, Text: text, Blocks: blocks, ThreadTS: b.ThreadTS}
	if b.Type != "in_channel" {
		m.OnlyFor = l.user
	}
	d.add(ch, m)
	if m.OnlyFor != "" {
		l.lastTS = m.TS
	}
	return "ok"
}

func blocksArg(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// target is the message that replace_original and delete_original mean: the one
// with the button, or what the command was answered with.
func (l *responseLink) target() string {
	if l.source != "" {
		return l.source
	}
	return l.lastTS
}

func (l *responseLink) onlyFor() string {
	if l.source != "" {
		return l.sourceOnlyFor
	}
	return l.user
}

// visible finds a message or, for its one reader, an ephemeral one.
func (ch *channel) visible(ts, onlyFor string) *Message {
	for _, m := range ch.messages {
		if m.TS == ts && m.OnlyFor == onlyFor {
			return m
		}
	}
	return nil
}
