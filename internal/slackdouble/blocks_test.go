package slackdouble

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every length of limits.go is accepted as it stands and refused one above.
func TestBlockLimits(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	plain := func(s string) object { return object{"type": "plain_text", "text": s} }
	button := func(change object) object {
		b := object{"type": "button", "action_id": "a", "text": plain("go")}
		for k, v := range change {
			b[k] = v
		}
		return b
	}
	actions := func(e ...any) object { return object{"type": "actions", "elements": e} }
	many := func(n int, f func(i int) any) []any {
		out := []any{}
		for i := range n {
			out = append(out, f(i))
		}
		return out
	}
	option := func(change object) object {
		o := object{"text": plain("o"), "value": "v"}
		for k, v := range change {
			o[k] = v
		}
		return o
	}
	menu := func(kind string, o ...any) object { return object{"type": kind, "options": o} }
	confirm := func(title, text, yes, no int) object {
		return object{"confirm": object{"title": plain(x(title)), "text": plain(x(text)), "confirm": plain(x(yes)), "deny": plain(x(no))}}
	}
	lim := DefaultLimits()
	for name, tc := range map[string]struct {
		max   int
		block func(n int) object
	}{
		"header":  {lim.Header, func(n int) object { return object{"type": "header", "text": plain(x(n))} }},
		"section": {lim.TextObject, func(n int) object { return object{"type": "section", "text": plain(x(n))} }},
		"fields": {lim.Fields, func(n int) object {
			return object{"type": "section", "fields": many(n, func(int) any { return plain("f") })}
		}},
		"field": {lim.Field, func(n int) object { return object{"type": "section", "fields": []any{plain(x(n))}} }},
		"context": {lim.ContextElements, func(n int) object {
			return object{"type": "context", "elements": many(n, func(int) any { return plain("f") })}
		}},
		"actions": {lim.ActionElements, func(n int) object {
			return actions(many(n, func(i int) any { return button(object{"action_id": fmt.Sprint(i)}) })...)
		}},
		"button text":   {lim.ButtonText, func(n int) object { return actions(button(object{"text": plain(x(n))})) }},
		"button value":  {lim.ButtonValue, func(n int) object { return actions(button(object{"value": x(n)})) }},
		"button url":    {lim.ButtonURL, func(n int) object { return actions(button(object{"url": x(n)})) }},
		"accessibility": {lim.Accessibility, func(n int) object { return actions(button(object{"accessibility_label": x(n)})) }},
		"action_id":     {lim.ActionID, func(n int) object { return actions(button(object{"action_id": x(n)})) }},
		"block_id":      {lim.BlockID, func(n int) object { return object{"type": "divider", "block_id": x(n)} }},
		"confirm title": {lim.ConfirmTitle, func(n int) object { return actions(button(confirm(n, 1, 1, 1))) }},
		"confirm text":  {lim.ConfirmText, func(n int) object { return actions(button(confirm(1, n, 1, 1))) }},
		"confirm yes":   {lim.ConfirmButton, func(n int) object { return actions(button(confirm(1, 1, n, 1))) }},
		"confirm no":    {lim.ConfirmButton, func(n int) object { return actions(button(confirm(1, 1, 1, n))) }},
		"overflow":      {lim.OverflowOptions, func(n int) object { return actions(menu("overflow", many(n, func(int) any { return option(nil) })...)) }},
		"checkboxes": {lim.ChoiceOptions, func(n int) object {
			return actions(menu("checkboxes", many(n, func(int) any { return option(nil) })...))
		}},
		"select": {lim.SelectOptions, func(n int) object {
			return actions(menu("static_select", many(n, func(int) any { return option(nil) })...))
		}},
		"option text":  {lim.OptionText, func(n int) object { return actions(menu("overflow", option(object{"text": plain(x(n))}))) }},
		"option value": {lim.OptionValue, func(n int) object { return actions(menu("overflow", option(object{"value": x(n)}))) }},
		"option note":  {lim.OptionNote, func(n int) object { return actions(menu("overflow", option(object{"description": plain(x(n))}))) }},
		"alt text":     {lim.AltText, func(n int) object { return object{"type": "image", "image_url": "u", "alt_text": x(n)} }},
		"image title": {lim.ImageTitle, func(n int) object {
			return object{"type": "image", "image_url": "u", "alt_text": "a", "title": plain(x(n))}
		}},
	} {
		if err := checkBlocks([]object{tc.block(tc.max)}, lim); err != nil {
			t.Errorf("%s of %d: %v", name, tc.max, err)
		}
		if err := checkBlocks([]object{tc.block(tc.max + 1)}, lim); err == nil {
			t.Errorf("%s of %d was accepted", name, tc.max+1)
		}
	}
	if err := checkBlocks(slices.Repeat([]object{{"type": "divider"}}, 51), lim); err == nil {
		t.Error("51 blocks were accepted")
	}
	text := object{"type": "section", "text": plain(x(3000))}
	if err := checkBlocks(slices.Repeat([]object{text}, 4), lim); err == nil || err.word != "msg_blocks_too_long" {
		t.Errorf("12,000 characters: %v", err)
	}
}

func TestBlockShapes(t *testing.T) {
	for name, raw := range map[string]string{
		"unknown block":      `{"type":"alert","text":"x"}`,
		"unknown key":        `{"type":"divider","colour":"red"}`,
		"no text":            `{"type":"section"}`,
		"empty text":         `{"type":"section","text":{"type":"mrkdwn","text":""}}`,
		"bare text":          `{"type":"section","text":"x"}`,
		"mrkdwn header":      `{"type":"header","text":{"type":"mrkdwn","text":"x"}}`,
		"mrkdwn with emoji":  `{"type":"section","text":{"type":"mrkdwn","text":"x","emoji":true}}`,
		"style":              `{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"x"},"style":"green"}]}`,
		"image without alt":  `{"type":"image","image_url":"u"}`,
		"two image sources":  `{"type":"image","image_url":"u","slack_file":{},"alt_text":"a"}`,
		"button in context":  `{"type":"context","elements":[{"type":"button","text":{"type":"plain_text","text":"x"}}]}`,
		"same action":        `{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"x"}},{"type":"button","action_id":"a","text":{"type":"plain_text","text":"x"}}]}`,
		"options and groups": `{"type":"actions","elements":[{"type":"static_select","options":[],"option_groups":[]}]}`,
		"elements":           `{"type":"actions","elements":[]}`,
	} {
		var b object
		if err := json.Unmarshal([]byte(raw), &b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := checkBlocks([]object{b}, DefaultLimits()); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	twice := []object{{"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}}
	if err := checkBlocks(twice, DefaultLimits()); err == nil {
		t.Error("the same block_id twice was accepted")
	}
}
