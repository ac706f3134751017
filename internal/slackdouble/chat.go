package slackdouble

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func (d *Double) authTest(*call) object {
	return object{"ok": true, "url": "https://double.slack.com/", "team": "Double", "user": botName,
		"team_id": teamID, "user_id": botUser, "bot_id": botID, "is_enterprise_install": false}
}

// conversation finds a channel by id or, as chat.postMessage allows, by name.
func (d *Double) conversation(ref string) *channel {
	if ch := d.channels[ref]; ch != nil {
		return ch
	}
	for _, id := range slices.Sorted(maps.Keys(d.channels)) {
		if ch := d.channels[id]; ch.Name == strings.TrimPrefix(ref, "#") {
			return ch
		}
	}
	return nil
}

// writable finds the channel of a post and says why it cannot be posted to.
func (d *Double) writable(c *call) (*channel, object) {
	ch := d.conversation(c.args["channel"])
	switch {
	case ch == nil:
		return nil, fail("channel_not_found")
	case ch.Archived:
		return nil, fail("is_archived")
	case ch.BotAbsent && ch.Private:
		return nil, fail("channel_not_found")
	case ch.BotAbsent && !d.app.has("chat:write.public"):
		return nil, fail("not_in_channel")
	}
	return ch, nil
}

// content reads text, blocks and metadata and refuses what Slack refuses.
func (d *Double) content(c *call) (text string, blocks []object, metadata object, refused object) {
	text = c.args["text"]
	if raw := c.args["blocks"]; raw != "" {
		if json.Unmarshal([]byte(raw), &blocks) != nil {
			return "", nil, nil, failWith("invalid_blocks_format", "[ERROR] blocks is no list of objects")
		}
		if err := checkBlocks(blocks, d.lim); err != nil {
			remarks := make([]string, len(err.errs))
			for i, e := range err.errs {
				remarks[i] = "[ERROR] " + e
			}
			return "", nil, nil, failWith(err.word, remarks...)
		}
	}
	if text == "" {
		// With blocks Slack would take it, and notifications would be empty.
		return "", nil, nil, fail("no_text")
	}
	d.auditMentions(c.method, text, blocks)
	metadata, refused = d.metadata(c)
	return text, d.withIDs(blocks), metadata, refused
}

var eventType = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

// metadata drops what breaks the rules, with a violation, as Slack drops it with
// a warning.
func (d *Double) metadata(c *call) (metadata, refused object) {
	raw := c.args["metadata"]
	if raw == "" {
		return nil, nil
	}
	if json.Unmarshal([]byte(raw), &metadata) != nil {
		return nil, fail("invalid_metadata_format")
	}
	kind, _ := metadata["event_type"].(string)
	_, isObject := metadata["event_payload"].(object)
	if !eventType.MatchString(kind) || !isObject {
		d.violation("%s: metadata was dropped (invalid_metadata_schema)", c.method)
		return nil, nil
	}
	return metadata, nil
}

// withIDs gives every block an id, as Slack does.
func (d *Double) withIDs(blocks []object) []object {
	for _, b := range blocks {
		if _, there := b["block_id"]; !there {
			b["block_id"] = d.id("blk")
		}
	}
	return blocks
}

// mention is what notifies people or shows a name; the bot writes none.
var mention = regexp.MustCompile(`<(!(channel|here|everyone|subteam)|@|#)[^>]*>`)

func (d *Double) auditMentions(method, text string, blocks []object) {
	raw, _ := json.Marshal(blocks)
	var all strings.Builder
	all.WriteString(text)
	collectStrings(&all, raw)
	if m := mention.FindString(all.String()); m != "" {
		d.violation("%s: the text mentions %s", method, m)
	}
}

// collectStrings writes every string of a JSON value.
func collectStrings(out *strings.Builder, raw []byte) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			out.WriteString("\n" + x)
		case []any:
			for _, e := range x {
				walk(e)
			}
		case object:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				walk(x[k])
			}
		}
	}
	walk(v)
}

func (d *Double) postMessage(c *call) object {
	ch, refused := d.writable(c)
	if refused != nil {
		return refused
	}
	text, blocks, metadata, refused := d.content(c)
	if refused != nil {
		return refused
	}
	if utf8.RuneCountInString(text) > d.lim.PostText {
		return fail("msg_too_long")
	}
	if c.args["unfurl_links"] != "false" || c.args["unfurl_media"] != "false" {
		d.violation("chat.postMessage: unfurl_links and unfurl_media were not both false")
	}
	m := &Message{Channel: ch.ID, User: botUser, Bot: true, Text: text, Blocks: blocks, Metadata: metadata}
	if refused := d.thread(ch, m, c); refused != nil {
		return refused
	}
	d.add(ch, m)
	return object{"ok": true, "channel": ch.ID, "ts": m.TS, "message": m.wire(true)}
}

var tsForm = regexp.MustCompile(`^\d{10}\.\d{6}$`)

// thread puts a reply into its thread. A thread whose root was deleted takes no
// replies: Slack says ok and posts at channel level.
func (d *Double) thread(ch *channel, m *Message, c *call) object {
	ts := c.args["thread_ts"]
	if ts == "" {
		return nil
	}
	root := ch.find(ts)
	switch {
	case !tsForm.MatchString(ts):
		return fail("invalid_thread_ts")
	case ch.deleted[ts]:
		return nil
	case root == nil:
		return fail("thread_not_found")
	case root.ThreadTS != "":
		d.violation("chat.postMessage: thread_ts names a reply, not the root")
		return fail("cannot_reply_to_message")
	}
	m.ThreadTS, m.Broadcast = ts, c.flag("reply_broadcast")
	return nil
}

func (d *Double) add(ch *channel, m *Message) {
	m.TS = d.clock.next(d.opts.Stamp())
	ch.messages = append(ch.messages, m)
	kind := Posted
	if m.OnlyFor != "" {
		kind = Private
	}
	d.note(Entry{Kind: kind, Message: m})
}

// find returns a message by its ts, ephemeral ones excepted.
func (ch *channel) find(ts string) *Message {
	for _, m := range ch.messages {
		if m.TS == ts && m.OnlyFor == "" {
			return m
		}
	}
	return nil
}

// own finds a message that the bot may change.
func (d *Double) own(c *call) (*channel, *Message, object) {
	ch := d.channels[c.args["channel"]]
	if ch == nil {
		return nil, nil, fail("channel_not_found")
	}
	m := ch.find(c.args["ts"])
	switch {
	case ch.Archived:
		return nil, nil, fail("is_archived")
	case m == nil:
		return nil, nil, fail("message_not_found")
	case !m.Bot:
		return nil, nil, fail("cant_update_message")
	}
	return ch, m, nil
}

func (d *Double) update(c *call) object {
	ch, m, refused := d.own(c)
	if refused != nil {
		return refused
	}
	if len(c.args["text"]) > d.lim.UpdateBytes {
		return fail("msg_too_long")
	}
	text, blocks, metadata, refused := d.content(c)
	if refused != nil {
		return refused
	}
	// Text without blocks removes the old blocks.
	m.Text, m.Blocks = text, blocks
	if metadata != nil {
		m.Metadata = metadata
	}
	m.Edits++
	d.note(Entry{Kind: Edited, Message: m})
	shown := m.wire(true)
	delete(shown, "ts") // the answer has it outside only
	return object{"ok": true, "channel": ch.ID, "ts": m.TS, "text": text, "message": shown}
}

func (d *Double) deleteMethod(c *call) object {
	ch, m, refused := d.own(c)
	if refused != nil {
		if refused["error"] == "cant_update_message" {
			return fail("cant_delete_message")
		}
		return refused
	}
	d.remove(ch, m)
	return object{"ok": true, "channel": ch.ID, "ts": m.TS}
}

// remove deletes a message; a root's replies go with it.
func (d *Double) remove(ch *channel, m *Message) {
	kept := ch.messages[:0]
	for _, other := range ch.messages {
		if other != m && other.ThreadTS != m.TS {
			kept = append(kept, other)
		}
	}
	ch.messages = kept
	ch.deleted[m.TS] = true
	m.Deleted = true
	d.note(Entry{Kind: Deleted, Message: m})
}

func (d *Double) postEphemeral(c *call) object {
	ch, refused := d.writable(c)
	if refused != nil {
		return refused
	}
	if _, known := d.users[c.args["user"]]; !known {
		return fail("user_not_in_channel")
	}
	text, blocks, _, refused := d.content(c)
	if refused != nil {
		return refused
	}
	m := &Message{Channel: ch.ID, User: botUser, Bot: true, Text: text, Blocks: blocks, OnlyFor: c.args["user"], ThreadTS: c.args["thread_ts"]}
	d.add(ch, m)
	return object{"ok": true, "message_ts": m.TS}
}

func (d *Double) permalink(c *call) object {
	ch := d.channels[c.args["channel"]]
	if ch == nil {
		return fail("channel_not_found")
	}
	m := ch.find(c.args["message_ts"])
	if m == nil {
		return fail("message_not_found")
	}
	link := fmt.Sprintf("https://double.slack.com/archives/%s/p%s", ch.ID, strings.Replace(m.TS, ".", "", 1))
	if m.ThreadTS != "" {
		link += "?thread_ts=" + m.ThreadTS + "&cid=" + ch.ID
	}
	return object{"ok": true, "channel": ch.ID, "permalink": link}
}
