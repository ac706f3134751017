package slackdouble

import (
	"fmt"
	"slices"
	"strings"
)

// Command types a slash command: line is the whole line, such as
// "/kafka-diagnose group orders". It fails for a command that the app does not
// have, as Slack does.
func (d *Double) Command(user, channel, line string) (*Delivery, error) {
	name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	d.mu.Lock()
	if !slices.Contains(d.app.commands, name) {
		d.mu.Unlock()
		return nil, fmt.Errorf("slackdouble: %s is not a valid command", name)
	}
	u, ch, err := d.who(user, channel)
	if err != nil {
		d.mu.Unlock()
		return nil, err
	}
	d.note(Entry{Kind: Commanded, User: u.ID, Detail: line, Message: &Message{Channel: ch.ID}})
	trigger := d.id("trigger")
	d.mu.Unlock()
	v := newDelivery("slash_commands", "command "+line, func(l *link) object {
		return object{
			"token": "fixed", "team_id": teamID, "team_domain": "double", "channel_id": ch.ID, "channel_name": ch.Name,
			"user_id": u.ID, "user_name": u.Name, "command": name, "text": escapeTyped(text), "api_app_id": appID,
			"is_enterprise_install": "false", "trigger_id": trigger,
			"response_url": d.link(l.host, responseLink{channel: ch.ID, user: u.ID}),
		}
	})
	d.dispatch(v)
	return v, nil
}

// escapeTyped is what Slack does to typed text on the way to an app.
func escapeTyped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func (d *Double) who(user, channel string) (User, *channel, error) {
	u, known := d.users[user]
	ch := d.channels[channel]
	if !known || ch == nil {
		return User{}, nil, fmt.Errorf("slackdouble: no user %s or no channel %s", user, channel)
	}
	return u, ch, nil
}

// Click presses a button that the message shows now, named by its action or its
// label. A button that is not there cannot be pressed.
func (d *Double) Click(user, channel, ts, button string) (*Delivery, error) {
	d.mu.Lock()
	if !d.app.clicks {
		d.mu.Unlock()
		return nil, fmt.Errorf("slackdouble: interactivity is turned off for the app")
	}
	u, ch, err := d.who(user, channel)
	if err != nil {
		d.mu.Unlock()
		return nil, err
	}
	m := ch.visible(ts, "")
	if m == nil {
		m = ch.visible(ts, user)
	}
	b, err := shown(m, button)
	if err != nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("slackdouble: message %s: %w", ts, err)
	}
	d.note(Entry{Kind: Clicked, User: u.ID, Detail: b.Label, Message: m})
	payload := d.clickPayload(u, ch, m.clone(), b)
	d.mu.Unlock()
	v := newDelivery("interactive", "click on "+b.Label, payload)
	d.dispatch(v)
	return v, nil
}

func shown(m *Message, button string) (Button, error) {
	if m == nil {
		return Button{}, fmt.Errorf("is not there")
	}
	var labels []string
	for _, b := range m.Buttons() {
		if b.ActionID == button || b.Label == button {
			return b, nil
		}
		labels = append(labels, b.Label)
	}
	return Button{}, fmt.Errorf("shows no button %q, only %q", button, labels)
}

// clickPayload makes a block_actions payload; d.mu is held now, and when the
// payload is made.
func (d *Double) clickPayload(u User, ch *channel, m *Message, b Button) func(*link) object {
	trigger, action := d.id("trigger"), d.clock.next(d.opts.Stamp())
	return func(l *link) object {
		container := object{"type": "message", "message_ts": m.TS, "channel_id": ch.ID, "is_ephemeral": m.OnlyFor != ""}
		if m.ThreadTS != "" {
			container["thread_ts"] = m.ThreadTS
		}
		o := object{
			"type": "block_actions", "team": object{"id": teamID, "domain": "double"}, "api_app_id": appID, "token": "fixed",
			"user":    object{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": teamID},
			"channel": object{"id": ch.ID, "name": ch.Name}, "container": container, "trigger_id": trigger,
			"state":   object{"values": object{}},
			"actions": []any{clickedAction(b, action)},
			"response_url": d.link(l.host, responseLink{
				channel: ch.ID, user: u.ID, source: m.TS, sourceOnlyFor: m.OnlyFor,
			}),
		}
		if m.OnlyFor == "" {
			o["message"] = m.wire(true)
		}
		return o
	}
}

func clickedAction(b Button, at string) object {
	a := object{
		"type": "button", "action_id": b.ActionID, "block_id": b.BlockID, "value": b.Value, "action_ts": at,
		"text": object{"type": "plain_text", "text": b.Label, "emoji": true},
	}
	if b.Style != "" {
		a["style"] = b.Style
	}
	return a
}

// Mention writes "@kafka-oncall text" into a channel or a thread. If the app does
// not listen to mentions, or the bot is not there, it is just a message.
func (d *Double) Mention(user, channel, threadTS, text string) (*Delivery, error) {
	d.mu.Lock()
	u, ch, err := d.who(user, channel)
	if err != nil {
		d.mu.Unlock()
		return nil, err
	}
	m := &Message{Channel: ch.ID, User: u.ID, Text: "<@" + botUser + "> " + escapeTyped(text), ThreadTS: threadTS}
	d.add(ch, m)
	d.note(Entry{Kind: Mentioned, User: u.ID, Detail: text, Message: m})
	heard := slices.Contains(d.app.events, "app_mention") && d.app.has("app_mentions:read") && !ch.BotAbsent
	event := d.mentionEvent(m)
	d.mu.Unlock()
	if !heard {
		return nil, fmt.Errorf("slackdouble: the app does not hear mentions in %s", ch.Name)
	}
	v := newDelivery("events_api", "mention "+text, func(*link) object { return event })
	d.dispatch(v)
	return v, nil
}

func (d *Double) mentionEvent(m *Message) object {
	inner := object{
		"type": "app_mention", "user": m.User, "text": m.Text, "ts": m.TS, "channel": m.Channel, "event_ts": m.TS, "team": teamID,
		"client_msg_id": d.id("msg"),
	}
	if m.ThreadTS != "" {
		inner["thread_ts"] = m.ThreadTS
	}
	return d.event(inner)
}

func (d *Double) event(inner object) object {
	return object{
		"type": "event_callback", "token": "fixed", "team_id": teamID, "api_app_id": appID, "event": inner,
		"event_id": d.id("Ev"), "event_time": d.opts.Stamp().Unix(), "is_ext_shared_channel": false, "event_context": "double",
		"authorizations": []any{object{"enterprise_id": nil, "team_id": teamID, "user_id": botUser, "is_bot": true, "is_enterprise_install": false}},
	}
}

// Event delivers an event of any type, known to the client or not.
func (d *Double) Event(inner map[string]any) *Delivery {
	d.mu.Lock()
	event := d.event(inner)
	d.mu.Unlock()
	v := newDelivery("events_api", fmt.Sprintf("event %v", inner["type"]), func(*link) object { return event })
	d.dispatch(v)
	return v
}

// Envelope delivers an envelope of any type with any payload.
func (d *Double) Envelope(kind string, payload map[string]any) *Delivery {
	v := newDelivery(kind, "envelope "+kind, func(*link) object { return payload })
	d.dispatch(v)
	return v
}

// Messages are the messages of a channel that everyone sees outside of threads,
// oldest first.
func (d *Double) Messages(channel string) []*Message {
	return d.collect(channel, func(m *Message) bool { return m.OnlyFor == "" && (m.ThreadTS == "" || m.Broadcast) })
}

// Thread is a root and its replies, oldest first; nil if the root is not there.
func (d *Double) Thread(channel, rootTS string) []*Message {
	return d.collect(channel, func(m *Message) bool { return m.OnlyFor == "" && (m.TS == rootTS || m.ThreadTS == rootTS) })
}

// PrivateTo are the ephemeral messages that one user sees in a channel.
func (d *Double) PrivateTo(user, channel string) []*Message {
	return d.collect(channel, func(m *Message) bool { return m.OnlyFor == user && user != "" })
}

func (d *Double) collect(channel string, want func(*Message) bool) []*Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := d.channels[channel]
	if ch == nil {
		return nil
	}
	var out []*Message
	for _, m := range ch.messages {
		if want(m) {
			out = append(out, m.clone())
		}
	}
	return out
}

// Write is a person's message; it returns its ts.
func (d *Double) Write(user, channel, threadTS, text string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u, ch, err := d.who(user, channel)
	if err != nil {
		return "", err
	}
	m := &Message{Channel: ch.ID, User: u.ID, Text: escapeTyped(text), ThreadTS: threadTS}
	d.add(ch, m)
	return m.TS, nil
}

// DeleteMessage removes a message, and with a root its thread.
func (d *Double) DeleteMessage(channel, ts string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := d.channels[channel]
	if ch == nil || ch.find(ts) == nil {
		return fmt.Errorf("slackdouble: no message %s in %s", ts, channel)
	}
	d.remove(ch, ch.find(ts))
	return nil
}

// Archive archives a channel.
func (d *Double) Archive(channel string) {
	d.change(channel, func(c *Channel) { c.Archived = true })
}

// Kick takes the bot out of a channel.
func (d *Double) Kick(channel string) {
	d.change(channel, func(c *Channel) { c.BotAbsent = true })
}

func (d *Double) change(channel string, f func(*Channel)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ch := d.channels[channel]; ch != nil {
		f(&ch.Channel)
	}
}

// Revoke takes a scope from the app.
func (d *Double) Revoke(scope string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.app.scopes = slices.DeleteFunc(slices.Clone(d.app.scopes), func(s string) bool { return s == scope })
}
