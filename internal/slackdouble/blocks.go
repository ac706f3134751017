package slackdouble

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// object is a JSON object as decoded.
type object = map[string]any

// blockCheck collects what is wrong with blocks, in Slack's form: a remark and a
// JSON pointer.
type blockCheck struct {
	lim      Limits
	errs     []string
	blockIDs map[string]bool
	markdown int
	total    int
}

// blockError is a refusal of blocks.
type blockError struct {
	word string
	errs []string
}

func (e *blockError) Error() string { return e.word + ": " + strings.Join(e.errs, "; ") }

// checkBlocks says what Slack would refuse about the blocks of a message.
func checkBlocks(blocks []object, lim Limits) *blockError {
	c := &blockCheck{lim: lim, blockIDs: map[string]bool{}}
	if len(blocks) > lim.Blocks {
		c.fail("/blocks", "no more than %d items allowed", lim.Blocks)
	}
	for i, b := range blocks {
		c.block(fmt.Sprintf("/blocks/%d", i), b)
	}
	if c.markdown > lim.Markdown {
		c.fail("/blocks", "no more than %d characters allowed in all markdown blocks", lim.Markdown)
	}
	if len(c.errs) > 0 {
		return &blockError{word: "invalid_blocks", errs: c.errs}
	}
	if c.total > lim.Total {
		return &blockError{word: "msg_blocks_too_long", errs: []string{fmt.Sprintf("%d characters in all blocks, allowed are %d", c.total, lim.Total)}}
	}
	return nil
}

func (c *blockCheck) fail(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Sprintf(format, args...)+" [json-pointer:"+path+"]")
}

// keys refuses keys that are not known and wants those that are required.
func (c *blockCheck) keys(path string, o object, required string, optional string) bool {
	known := map[string]bool{"type": true}
	for _, k := range strings.Fields(required + " " + optional) {
		known[k] = true
	}
	ok := true
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !known[k] {
			c.fail(path+"/"+k, "unknown key")
			ok = false
		}
	}
	for _, k := range strings.Fields(required) {
		if _, there := o[k]; !there {
			c.fail(path+"/"+k, "missing required field")
			ok = false
		}
	}
	return ok
}

// block checks one block of the kinds that messages may hold.
func (c *blockCheck) block(path string, b object) {
	if id, there := b["block_id"]; there {
		c.blockID(path, id)
	}
	switch b["type"] {
	case "divider":
		c.keys(path, b, "", "block_id")
	case "header":
		if c.keys(path, b, "text", "block_id level") {
			c.text(path+"/text", b["text"], "plain_text", 1, c.lim.Header)
		}
	case "section":
		c.section(path, b)
	case "context":
		c.keys(path, b, "elements", "block_id")
		c.elements(path, b, c.lim.ContextElements, "mrkdwn plain_text image")
	case "actions":
		c.keys(path, b, "elements", "block_id")
		c.elements(path, b, c.lim.ActionElements, "button static_select overflow checkboxes radio_buttons")
		c.uniqueActions(path, b)
	case "image":
		c.image(path, b, "title block_id")
	case "markdown":
		if c.keys(path, b, "text", "block_id") {
			c.markdown += c.str(path+"/text", b["text"], 1, c.lim.Markdown)
		}
	default:
		c.fail(path+"/type", "unsupported type: %v", b["type"])
	}
}

func (c *blockCheck) blockID(path string, id any) {
	c.str(path+"/block_id", id, 1, c.lim.BlockID)
	name, _ := id.(string)
	if c.blockIDs[name] {
		c.fail(path+"/block_id", "block_id %q already exists", name)
	}
	c.blockIDs[name] = true
}

func (c *blockCheck) section(path string, b object) {
	c.keys(path, b, "", "text fields accessory block_id expand")
	text, hasText := b["text"]
	fields, hasFields := b["fields"]
	if !hasText && !hasFields {
		c.fail(path, "one of text and fields is required")
	}
	if hasText {
		c.text(path+"/text", text, "", 1, c.lim.TextObject)
	}
	if hasFields {
		list := c.list(path+"/fields", fields, 1, c.lim.Fields)
		for i, f := range list {
			c.text(fmt.Sprintf("%s/fields/%d", path, i), f, "", 1, c.lim.Field)
		}
	}
	if accessory, there := b["accessory"]; there {
		c.element(path+"/accessory", accessory, "button static_select overflow checkboxes radio_buttons image")
	}
}

func (c *blockCheck) elements(path string, b object, limit int, allowed string) {
	for i, e := range c.list(path+"/elements", b["elements"], 1, limit) {
		c.element(fmt.Sprintf("%s/elements/%d", path, i), e, allowed)
	}
}

func (c *blockCheck) uniqueActions(path string, b object) {
	seen := map[string]bool{}
	list, _ := b["elements"].([]any)
	for i, e := range list {
		o, _ := e.(object)
		id, _ := o["action_id"].(string)
		if id != "" && seen[id] {
			c.fail(fmt.Sprintf("%s/elements/%d/action_id", path, i), "action_id %q already exists", id)
		}
		seen[id] = true
	}
}

func (c *blockCheck) image(path string, o object, optional string) {
	c.keys(path, o, "alt_text", "image_url slack_file "+optional)
	_, hasURL := o["image_url"]
	_, hasFile := o["slack_file"]
	if hasURL == hasFile {
		c.fail(path, "exactly one of image_url and slack_file is required")
	}
	if hasURL {
		c.str(path+"/image_url", o["image_url"], 1, c.lim.ImageURL)
	}
	c.str(path+"/alt_text", o["alt_text"], 1, c.lim.AltText)
	if title, there := o["title"]; there {
		c.text(path+"/title", title, "plain_text", 1, c.lim.ImageTitle)
	}
}

// text checks a text object; kind is empty if both kinds will do.
func (c *blockCheck) text(path string, v any, kind string, least, most int) {
	o, ok := v.(object)
	if !ok {
		c.fail(path, "must be a text object")
		return
	}
	c.keys(path, o, "text", "emoji verbatim")
	got, _ := o["type"].(string)
	if (got != "plain_text" && got != "mrkdwn") || (kind != "" && got != kind) {
		c.fail(path+"/type", "must be %s, is %q", orElse(kind, "plain_text or mrkdwn"), got)
	}
	if _, there := o["emoji"]; there && got == "mrkdwn" {
		c.fail(path+"/emoji", "not allowed with mrkdwn")
	}
	if _, there := o["verbatim"]; there && got == "plain_text" {
		c.fail(path+"/verbatim", "not allowed with plain_text")
	}
	c.str(path+"/text", o["text"], least, most)
}

// str checks a string's length and counts it.
func (c *blockCheck) str(path string, v any, least, most int) int {
	s, ok := v.(string)
	if !ok {
		c.fail(path, "must be a string")
		return 0
	}
	n := utf8.RuneCountInString(s)
	c.total += n
	if n > most {
		c.fail(path, "must be less than %d characters", most+1)
	}
	if n < least {
		c.fail(path, "must be more than %d characters", least-1)
	}
	return n
}

func (c *blockCheck) list(path string, v any, least, most int) []any {
	l, ok := v.([]any)
	if !ok {
		c.fail(path, "must be a list")
		return nil
	}
	if len(l) > most {
		c.fail(path, "no more than %d items allowed", most)
	}
	if len(l) < least {
		c.fail(path, "no fewer than %d items allowed", least)
	}
	return l
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// CheckMessage says what Slack would refuse about a message, with default
// limits: its text as an edit, and its blocks.
func CheckMessage(text string, blocks []map[string]any) []string {
	lim := DefaultLimits()
	var errs []string
	if text == "" || len(text) > lim.UpdateBytes {
		errs = append(errs, fmt.Sprintf("text has %d bytes", len(text)))
	}
	if err := checkBlocks(blocks, lim); err != nil {
		errs = append(errs, err.errs...)
	}
	return errs
}
