package slack

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// decode returns what is to be done about an envelope and the id that every
// delivery of it shares; nil for what does not concern us. It never fails: what
// cannot be read is acknowledged and ignored, or Slack would send it for ever.
func (s *Socket) decode(e envelope) (job func(context.Context), id string) {
	switch e.Type {
	case typeCommand:
		if c, ok := decodeCommand(e); ok {
			return func(ctx context.Context) { s.handler.OnCommand(ctx, c) }, c.ID
		}
	case typeInteractive:
		if c, ok := decodeClick(e); ok {
			return func(ctx context.Context) { s.handler.OnClick(ctx, c) }, c.ID
		}
	case typeEvent:
		if c, ok := decodeMention(e); ok {
			return func(ctx context.Context) { s.handler.OnCommand(ctx, c) }, c.ID
		}
	}
	return nil, ""
}

func decodeCommand(e envelope) (Command, bool) {
	var p slackapi.SlashCommand
	if json.Unmarshal(e.Payload, &p) != nil || p.Command == "" || p.UserID == "" {
		return Command{}, false
	}
	id := p.TriggerID
	if id == "" {
		id = e.ID
	}
	return Command{
		ID: "command:" + id, ChannelID: p.ChannelID, UserID: p.UserID, UserName: clip(sanitize(p.UserName), 80),
		Text: p.Text, ResponseURL: p.ResponseURL,
	}, true
}

// decodeClick reads a pressed button. A click that Slack's client sends twice
// has the same time and user.
func decodeClick(e envelope) (Click, bool) {
	var p slackapi.InteractionCallback
	if json.Unmarshal(e.Payload, &p) != nil || p.Type != slackapi.InteractionTypeBlockActions || len(p.ActionCallback.BlockActions) == 0 {
		return Click{}, false
	}
	a := p.ActionCallback.BlockActions[0]
	c := Click{
		Action: playbooks.Action(a.ActionID), Value: a.Value, ChannelID: p.Channel.ID, MessageTS: p.Message.Timestamp,
		UserID: p.User.ID, UserName: clip(sanitize(p.User.Name), 80), ResponseURL: p.ResponseURL,
	}
	if c.MessageTS == "" {
		c.MessageTS = p.Container.MessageTs
	}
	if c.ChannelID == "" {
		c.ChannelID = p.Container.ChannelID
	}
	c.ID = strings.Join([]string{"click", c.ChannelID, c.MessageTS, a.ActionTs, c.UserID, a.ActionID}, ":")
	return c, a.ActionID != "" && c.UserID != ""
}

// mentioned is the bot's name at the start of a mention.
var mentioned = regexp.MustCompile(`^\s*<@[A-Z0-9]+(\|[^>]*)?>\s*`)

// decodeMention reads an app_mention. Its thread is the one it was written in,
// or the one that an answer to it would open.
func decodeMention(e envelope) (Command, bool) {
	var outer struct {
		EventID string          `json:"event_id"`
		Event   json.RawMessage `json:"event"`
	}
	var m slackevents.AppMentionEvent
	if json.Unmarshal(e.Payload, &outer) != nil || json.Unmarshal(outer.Event, &m) != nil {
		return Command{}, false
	}
	if m.Type != string(slackevents.AppMention) || m.BotID != "" || m.User == "" {
		return Command{}, false
	}
	thread := m.ThreadTimeStamp
	if thread == "" {
		thread = m.TimeStamp
	}
	return Command{
		ID: "mention:" + outer.EventID, ChannelID: m.Channel, ThreadTS: thread, UserID: m.User,
		Text: mentioned.ReplaceAllString(m.Text, ""),
	}, outer.EventID != ""
}
