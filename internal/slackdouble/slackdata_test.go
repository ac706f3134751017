//go:build slackdata

package slackdouble

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests compare the double with data that others published. The data is
// not part of the repository; SLACK_DATA names its folder.

func slackData(t *testing.T, path string, into any) {
	t.Helper()
	dir := os.Getenv("SLACK_DATA")
	if dir == "" {
		t.Fatal("SLACK_DATA names no folder")
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestLimitsFollowTheData(t *testing.T) {
	var doc object
	slackData(t, "blockkit/limits.json", &doc)
	lim := DefaultLimits()
	for path, ours := range map[string]int{
		"text.max_length": lim.TextObject, "action_id.max_length": lim.ActionID, "block_id.max_length": lim.BlockID,
		"button.text.max_length": lim.ButtonText, "button.url.max_length": lim.ButtonURL, "button.value.max_length": lim.ButtonValue,
		"button.accessibility_label.max_length": lim.Accessibility, "confirmation.title.max_length": lim.ConfirmTitle,
		"confirmation.text.max_length": lim.ConfirmText, "confirmation.confirm.max_length": lim.ConfirmButton, "confirmation.deny.max_length": lim.ConfirmButton,
		"option.text.max_length": lim.OptionText, "option.value.max_length": lim.OptionValue, "option.description.max_length": lim.OptionNote,
		"option.url.max_length": lim.OptionURL, "option_group.label.max_length": lim.GroupLabel, "select.placeholder.max_length": lim.Placeholder,
		"select.options.max_items": lim.SelectOptions, "select.option_groups.max_items": lim.SelectGroups, "overflow.options.max_items": lim.OverflowOptions,
		"checkboxes.options.max_items": lim.ChoiceOptions, "radio_buttons.options.max_items": lim.ChoiceOptions,
		"actions.elements.max_items": lim.ActionElements, "context.elements.max_items": lim.ContextElements, "header.text.max_length": lim.Header,
		"image.image_url.max_length": lim.ImageURL, "image.alt_text.max_length": lim.AltText, "image.title.max_length": lim.ImageTitle,
		"markdown.total_text.max_length": lim.Markdown, "section.text.max_length": lim.TextObject, "section.fields.max_items": lim.Fields,
		"section.fields.item_max_length": lim.Field, "message.blocks.max_items": lim.Blocks,
	} {
		if got := leaf(doc, path); got != float64(ours) {
			t.Errorf("%s: ours is %d, the data's %v", path, ours, got)
		}
	}
}

func leaf(v any, path string) any {
	for _, p := range strings.Split(path, ".") {
		o, _ := v.(object)
		v = o[p]
	}
	return v
}

// known are the blocks and elements of messages that the double has; the others
// it refuses as unknown, valid or not.
var known = []string{"header", "section", "context", "actions", "divider", "image", "markdown"}

// Blocks that others hold for valid are accepted, if the double has them.
func TestValidFixturesAreAccepted(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("SLACK_DATA"), "blockkit", "fixtures", "valid", "blocks", "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	// The fixtures use elements that the double does not have (rich choices), or
	// an empty text that Slack's pages rule out.
	waived := []string{"section_block_empty_text_field_value.json"}
	accepted := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks, ok := fixture(data)
		if !ok {
			t.Errorf("%s: not understood", file)
			continue
		}
		if !slices.ContainsFunc(blocks, func(b object) bool { k, _ := b["type"].(string); return !slices.Contains(known, k) }) {
			if err := checkBlocks(blocks, DefaultLimits()); err != nil && !slices.Contains(waived, filepath.Base(file)) {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			accepted++
		} else if checkBlocks(blocks, DefaultLimits()) == nil {
			t.Errorf("%s: a block that the double does not know was accepted", filepath.Base(file))
		}
	}
	if accepted < 8 {
		t.Errorf("only %d fixtures are of blocks that the double has", accepted)
	}
}

func fixture(data []byte) ([]object, bool) {
	var one object
	if json.Unmarshal(data, &one) == nil {
		if list, there := one["blocks"]; there {
			raw, _ := json.Marshal(list)
			var out []object
			return out, json.Unmarshal(raw, &out) == nil
		}
		return []object{one}, true
	}
	var many []object
	return many, json.Unmarshal(data, &many) == nil
}

// Every case that others hold for invalid is refused.
func TestInvalidCasesAreRefused(t *testing.T) {
	var doc struct {
		Cases []struct{ ID, Constraint string }
	}
	slackData(t, "blockkit/fixtures/invalid_cases.spec-1.0.1.json", &doc)
	if len(doc.Cases) < 100 {
		t.Fatalf("%d cases", len(doc.Cases))
	}
	made := 0
	for _, c := range doc.Cases {
		blocks, ok := invalid(c.Constraint)
		if !ok {
			kind, _, _ := strings.Cut(c.Constraint, ".")
			blocks = []object{{"type": kind}} // a kind that the double does not have
			if slices.Contains(known, kind) {
				t.Errorf("%s: the double has %s, and no case is made for %s", c.ID, kind, c.Constraint)
			}
		} else {
			made++
		}
		if checkBlocks(blocks, DefaultLimits()) == nil {
			t.Errorf("%s (%s) was accepted", c.ID, c.Constraint)
		}
	}
	if made < 40 {
		t.Errorf("only %d cases are made of blocks that the double has", made)
	}
}

func txt(n int) object { return object{"type": "plain_text", "text": strings.Repeat("x", n)} }

func rep(n int, o object) []any {
	out := []any{}
	for i := range n {
		c := object{}
		for k, v := range o {
			c[k] = v
		}
		if c["type"] == "button" {
			c["action_id"] = fmt.Sprint(i)
		}
		out = append(out, c)
	}
	return out
}

// invalid makes blocks that break a constraint, one over or under the number.
func invalid(constraint string) ([]object, bool) {
	x := func(n int) string { return strings.Repeat("x", n) }
	act := func(o object) []object {
		e := object{"type": "button", "text": txt(1)}
		for k, v := range o {
			e[k] = v
		}
		return []object{{"type": "actions", "elements": []any{e}}}
	}
	opt := object{"text": txt(1), "value": "v"}
	menu := func(kind string, options ...any) []object {
		return []object{{"type": "actions", "elements": []any{object{"type": kind, "options": options}}}}
	}
	with := func(k string, v any) object { return object{"text": txt(1), "value": "v", k: v} }
	confirm := func(k string, n int) []object {
		c := object{"title": txt(1), "text": txt(1), "confirm": txt(1), "deny": txt(1)}
		c[k] = txt(n)
		return act(object{"confirm": c})
	}
	sel := func(o object) []object {
		o["type"] = "static_select"
		return []object{{"type": "actions", "elements": []any{o}}}
	}
	group := func(label, options int) object { return object{"label": txt(label), "options": rep(options, opt)} }
	one := func(o object) []object { return []object{o} }
	cases := map[string][]object{
		"text.min_length": one(object{"type": "section", "text": txt(0)}), "text.max_length": one(object{"type": "section", "text": txt(3001)}),
		"action_id.max_length": act(object{"action_id": x(256)}), "block_id.max_length": one(object{"type": "divider", "block_id": x(256)}),
		"button.text.max_length": act(object{"text": txt(76)}), "button.url.max_length": act(object{"url": x(3001)}),
		"button.value.max_length": act(object{"value": x(2001)}), "button.accessibility_label.max_length": act(object{"accessibility_label": x(76)}),
		"confirmation.title.max_length": confirm("title", 101), "confirmation.text.max_length": confirm("text", 301),
		"confirmation.confirm.max_length": confirm("confirm", 31), "confirmation.deny.max_length": confirm("deny", 31),
		"option.text.max_length": menu("overflow", with("text", txt(76))), "option.value.max_length": menu("overflow", with("value", x(151))),
		"option.url.max_length":          menu("overflow", with("url", strings.Repeat("🦀", 3001))),
		"option.description.max_length":  menu("overflow", with("description", txt(76))),
		"option_group.label.max_length":  sel(object{"option_groups": []any{group(76, 1)}}),
		"option_group.options.min_items": sel(object{"option_groups": []any{group(1, 0)}}),
		"option_group.options.max_items": sel(object{"option_groups": []any{group(1, 101)}}),
		"select.placeholder.max_length":  sel(object{"placeholder": txt(151), "options": rep(1, opt)}),
		"select.options.max_items":       menu("static_select", rep(101, opt)...),
		"select.option_groups.max_items": sel(object{"option_groups": rep(101, group(1, 1))}),
		"overflow.options.min_items":     menu("overflow"), "overflow.options.max_items": menu("overflow", rep(6, opt)...),
		"checkboxes.options.min_items": menu("checkboxes"), "checkboxes.options.max_items": menu("checkboxes", rep(11, opt)...),
		"radio_buttons.options.min_items": menu("radio_buttons"), "radio_buttons.options.max_items": menu("radio_buttons", rep(11, opt)...),
		"actions.elements.max_items": one(object{"type": "actions", "elements": rep(26, object{"type": "button", "text": txt(1)})}),
		"context.elements.max_items": one(object{"type": "context", "elements": rep(11, txt(1))}),
		"context.elements":           one(object{"type": "context", "elements": []any{object{"type": "button", "text": txt(1)}}}),
		"header.text.max_length":     one(object{"type": "header", "text": txt(151)}),
		"image.image_url.max_length": one(object{"type": "image", "image_url": x(3001), "alt_text": "a"}),
		"image.alt_text.max_length":  one(object{"type": "image", "image_url": "u", "alt_text": x(2001)}),
		"image.source":               one(object{"type": "image", "image_url": "u", "slack_file": object{}, "alt_text": "a"}),
		"markdown.text.min_length":   one(object{"type": "markdown", "text": ""}), "markdown.text.max_length": one(object{"type": "markdown", "text": x(12001)}),
		"section.text.max_length": one(object{"type": "section", "text": txt(3001)}), "section.fields.max_items": one(object{"type": "section", "fields": rep(11, txt(1))}),
		"section.fields.item_max_length": one(object{"type": "section", "fields": []any{txt(2001)}}), "section.content": one(object{"type": "section"}),
		"static_select.choice_source": sel(object{"options": rep(1, opt), "option_groups": []any{group(1, 1)}}),
	}
	b, ok := cases[constraint]
	return b, ok
}

func TestTiersFollowTheData(t *testing.T) {
	tiers := map[string]string{}
	slackData(t, "rate-limits/rate_limit_tiers.json", &tiers)
	for name, m := range methods() {
		want := tiers[name]
		if m.tier == Special {
			want = strings.SplitN(want, "_", 2)[0]
		}
		if got := map[Tier]string{Tier1: "Tier1", Tier2: "Tier2", Tier3: "Tier3", Tier4: "Tier4", Special: "SpecialTier"}[m.tier]; got != want {
			t.Errorf("%s: %s, the data says %s", name, got, want)
		}
	}
}
