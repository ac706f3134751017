package slackdouble

import (
	"fmt"
	"slices"
	"strings"
)

// element checks an element or, in a context block, a text object.
func (c *blockCheck) element(path string, v any, allowed string) {
	o, ok := v.(object)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	kind, _ := o["type"].(string)
	if !slices.Contains(strings.Fields(allowed), kind) {
		c.fail(path+"/type", "unsupported type: %v", o["type"])
		return
	}
	if id, there := o["action_id"]; there {
		c.str(path+"/action_id", id, 1, c.lim.ActionID)
	}
	if confirm, there := o["confirm"]; there {
		c.confirm(path+"/confirm", confirm)
	}
	switch kind {
	case "mrkdwn", "plain_text":
		c.text(path, o, "", 1, c.lim.TextObject)
	case "image":
		c.image(path, o, "")
	case "button":
		c.button(path, o)
	case "static_select":
		c.choice(path, o)
	case "overflow":
		c.keys(path, o, "options", "action_id confirm")
		c.options(path+"/options", o["options"], 1, c.lim.OverflowOptions, true)
	case "checkboxes", "radio_buttons":
		c.keys(path, o, "options", "action_id confirm initial_option initial_options focus_on_load")
		c.options(path+"/options", o["options"], 1, c.lim.ChoiceOptions, false)
	}
}

func (c *blockCheck) button(path string, o object) {
	c.keys(path, o, "text", "action_id value url style confirm accessibility_label")
	c.text(path+"/text", o["text"], "plain_text", 1, c.lim.ButtonText)
	if v, there := o["value"]; there {
		c.str(path+"/value", v, 0, c.lim.ButtonValue)
	}
	if v, there := o["url"]; there {
		c.str(path+"/url", v, 1, c.lim.ButtonURL)
	}
	if v, there := o["accessibility_label"]; there {
		c.str(path+"/accessibility_label", v, 1, c.lim.Accessibility)
	}
	if v, there := o["style"]; there && v != "primary" && v != "danger" {
		c.fail(path+"/style", "must be primary or danger")
	}
}

func (c *blockCheck) confirm(path string, v any) {
	o, ok := v.(object)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	c.keys(path, o, "title text confirm deny", "style")
	c.text(path+"/title", o["title"], "plain_text", 1, c.lim.ConfirmTitle)
	c.text(path+"/text", o["text"], "", 1, c.lim.ConfirmText)
	c.text(path+"/confirm", o["confirm"], "plain_text", 1, c.lim.ConfirmButton)
	c.text(path+"/deny", o["deny"], "plain_text", 1, c.lim.ConfirmButton)
}

func (c *blockCheck) choice(path string, o object) {
	c.keys(path, o, "", "placeholder action_id options option_groups initial_option confirm focus_on_load")
	if p, there := o["placeholder"]; there {
		c.text(path+"/placeholder", p, "plain_text", 1, c.lim.Placeholder)
	}
	options, hasOptions := o["options"]
	groups, hasGroups := o["option_groups"]
	if hasOptions == hasGroups {
		c.fail(path, "exactly one of options and option_groups is required")
		return
	}
	if hasOptions {
		c.options(path+"/options", options, 1, c.lim.SelectOptions, false)
		return
	}
	for i, g := range c.list(path+"/option_groups", groups, 1, c.lim.SelectGroups) {
		c.group(fmt.Sprintf("%s/option_groups/%d", path, i), g)
	}
}

func (c *blockCheck) group(path string, v any) {
	o, ok := v.(object)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	c.keys(path, o, "label options", "")
	c.text(path+"/label", o["label"], "plain_text", 1, c.lim.GroupLabel)
	c.options(path+"/options", o["options"], 1, c.lim.SelectOptions, false)
}

// options checks the options of a list; only overflow menus may link.
func (c *blockCheck) options(path string, v any, least, most int, links bool) {
	optional := "description"
	if links {
		optional += " url"
	}
	for i, item := range c.list(path, v, least, most) {
		at := fmt.Sprintf("%s/%d", path, i)
		o, ok := item.(object)
		if !ok {
			c.fail(at, "must be an object")
			continue
		}
		c.keys(at, o, "text value", optional)
		c.text(at+"/text", o["text"], "", 1, c.lim.OptionText)
		c.str(at+"/value", o["value"], 1, c.lim.OptionValue)
		if note, there := o["description"]; there {
			c.text(at+"/description", note, "", 1, c.lim.OptionNote)
		}
		if link, there := o["url"]; there && links {
			c.str(at+"/url", link, 0, c.lim.OptionURL)
		}
	}
}
