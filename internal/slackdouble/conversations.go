package slackdouble

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// readable finds a channel whose history the bot may read.
func (d *Double) readable(c *call) (*channel, object) {
	ch := d.channels[c.args["channel"]]
	switch {
	case ch == nil || (ch.Private && ch.BotAbsent):
		return nil, fail("channel_not_found")
	case ch.BotAbsent:
		return nil, fail("not_in_channel")
	}
	return ch, nil
}

func (d *Double) history(c *call) object {
	ch, refused := d.readable(c)
	if refused != nil {
		return refused
	}
	var found []*Message
	for _, m := range ch.messages {
		if m.OnlyFor == "" && (m.ThreadTS == "" || m.Broadcast) && inRange(m.TS, c) {
			found = append(found, m)
		}
	}
	slices.Reverse(found)
	return d.page(c, ch, found)
}

func (d *Double) replies(c *call) object {
	ch, refused := d.readable(c)
	if refused != nil {
		return refused
	}
	root := ch.find(c.args["ts"])
	if root == nil {
		return fail("thread_not_found")
	}
	found := []*Message{root}
	for _, m := range ch.messages {
		if m.OnlyFor == "" && m.ThreadTS == root.TS && inRange(m.TS, c) {
			found = append(found, m)
		}
	}
	return d.page(c, ch, found)
}

// inRange compares timestamps as text, which works since all are equally long.
func inRange(ts string, c *call) bool {
	oldest, latest, inclusive := c.args["oldest"], c.args["latest"], c.flag("inclusive")
	if oldest != "" && (ts < oldest || (ts == oldest && !inclusive)) {
		return false
	}
	return latest == "" || ts < latest || (ts == latest && inclusive)
}

const (
	defaultPage = 100
	maxPage     = 999
	smallPage   = 15
)

// page cuts out one page and says where the next begins.
func (d *Double) page(c *call, ch *channel, found []*Message) object {
	limit := defaultPage
	if raw := c.args["limit"]; raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 1 || n > maxPage {
			return fail("invalid_limit")
		}
		limit = n
	}
	if d.opts.SmallHistory {
		limit = min(limit, smallPage)
	}
	start, ok := cursorAt(c.args["cursor"])
	if !ok || start > len(found) {
		return fail("invalid_cursor")
	}
	end := min(start+limit, len(found))
	out := object{"ok": true, "has_more": end < len(found)}
	messages := []object{}
	for _, m := range found[start:end] {
		messages = append(messages, ch.rooted(m, m.wire(c.flag("include_all_metadata"))))
	}
	out["messages"] = messages
	if end < len(found) {
		next := base64.StdEncoding.EncodeToString([]byte("at:" + strconv.Itoa(end)))
		out["response_metadata"] = object{"next_cursor": next}
	}
	return out
}

func cursorAt(cursor string) (int, bool) {
	if cursor == "" {
		return 0, true
	}
	raw, err := base64.StdEncoding.DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(string(raw), "at:"))
	return n, err == nil && n >= 0
}

// rooted adds what Slack says about a thread to its root.
func (ch *channel) rooted(m *Message, o object) object {
	replies, last := 0, ""
	for _, other := range ch.messages {
		if other.OnlyFor == "" && other.ThreadTS == m.TS {
			replies, last = replies+1, other.TS
		}
	}
	if replies > 0 {
		o["thread_ts"], o["reply_count"], o["latest_reply"] = m.TS, replies, last
	}
	return o
}

func (d *Double) join(c *call) object {
	ch := d.channels[c.args["channel"]]
	switch {
	case ch == nil:
		return fail("channel_not_found")
	case ch.Private:
		return fail("method_not_supported_for_channel_type")
	case ch.Archived:
		return fail("is_archived")
	}
	out := object{"ok": true, "channel": ch.wire()}
	if !ch.BotAbsent {
		out["warning"] = "already_in_channel"
		out["response_metadata"] = object{"warnings": []string{"already_in_channel"}}
	}
	ch.BotAbsent = false
	return out
}

func (d *Double) info(c *call) object {
	ch := d.channels[c.args["channel"]]
	if ch == nil || (ch.Private && ch.BotAbsent) {
		return fail("channel_not_found")
	}
	return object{"ok": true, "channel": ch.wire()}
}

func (ch *channel) wire() object {
	return object{
		"id": ch.ID, "name": ch.Name, "name_normalized": ch.Name, "is_channel": !ch.Private, "is_group": ch.Private,
		"is_im": false, "is_mpim": false, "is_private": ch.Private, "is_archived": ch.Archived, "is_member": !ch.BotAbsent,
	}
}
