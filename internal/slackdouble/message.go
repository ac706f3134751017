package slackdouble

import (
	"encoding/json"
	"maps"
	"slices"
)

// Message is a message as it stands now, or stood when it was journalled.
type Message struct {
	Channel  string
	TS       string
	ThreadTS string // of a reply
	// User is who wrote it; Bot is set if it was the app.
	User      string
	Bot       bool
	Text      string
	Blocks    []map[string]any
	Metadata  map[string]any
	Broadcast bool
	Edits     int
	// OnlyFor is the user that sees an ephemeral message; empty for others.
	OnlyFor string
	// Deleted is set in the journal's last word on a message.
	Deleted bool
}

func (m *Message) clone() *Message {
	c := *m
	c.Blocks = cloneBlocks(m.Blocks)
	c.Metadata = maps.Clone(m.Metadata)
	return &c
}

// cloneBlocks copies deeply, by way of JSON.
func cloneBlocks(blocks []object) []object {
	if blocks == nil {
		return nil
	}
	data, err := json.Marshal(blocks)
	if err != nil {
		return nil
	}
	var out []object
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

// Button is a button that a message shows.
type Button struct {
	BlockID, ActionID, Label, Value, Style, URL string
}

// Buttons are those that the message shows now.
func (m *Message) Buttons() []Button {
	var out []Button
	for _, b := range m.Blocks {
		elements, _ := b["elements"].([]any)
		if accessory, there := b["accessory"]; there {
			elements = append(slices.Clone(elements), accessory)
		}
		id, _ := b["block_id"].(string)
		for _, e := range elements {
			if o, ok := e.(object); ok && o["type"] == "button" {
				out = append(out, buttonOf(id, o))
			}
		}
	}
	return out
}

func buttonOf(block string, o object) Button {
	str := func(k string) string { s, _ := o[k].(string); return s }
	text, _ := o["text"].(object)
	label, _ := text["text"].(string)
	return Button{BlockID: block, ActionID: str("action_id"), Label: label, Value: str("value"), Style: str("style"), URL: str("url")}
}

// wire is the message as the Web API shows it.
func (m *Message) wire(metadata bool) object {
	o := object{"type": "message", "ts": m.TS, "text": m.Text, "team": teamID, "user": m.User}
	if m.Bot {
		o["user"], o["bot_id"], o["app_id"] = botUser, botID, appID
	}
	if m.ThreadTS != "" {
		o["thread_ts"] = m.ThreadTS
	}
	if m.Broadcast {
		o["subtype"] = "thread_broadcast"
	}
	if m.Blocks != nil {
		o["blocks"] = m.Blocks
	}
	if metadata && m.Metadata != nil {
		o["metadata"] = m.Metadata
	}
	if m.Edits > 0 {
		o["edited"] = object{"user": botUser, "ts": m.TS}
	}
	return o
}
