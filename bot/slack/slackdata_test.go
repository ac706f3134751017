//go:build slackdata

package slack

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dlclark/regexp2"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// These tests compare us with data that others published: Block Kit limits, the
// JSON Schema of Slack's own types, the schema of app manifests. The data is
// not part of the repository; SLACK_DATA names its folder.

func slackData(t *testing.T, path string) []byte {
	t.Helper()
	dir := os.Getenv("SLACK_DATA")
	if dir == "" {
		t.Fatal("SLACK_DATA names no folder")
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ecma is a regular expression as JSON Schema means it, with look-ahead.
type ecma struct{ *regexp2.Regexp }

func (e ecma) MatchString(s string) bool {
	ok, err := e.Regexp.MatchString(s)
	return err == nil && ok
}

func compileEcma(s string) (jsonschema.Regexp, error) {
	r, err := regexp2.Compile(s, regexp2.ECMAScript)
	return ecma{r}, err
}

// schema compiles a schema of the data; at points into it.
func schema(t *testing.T, path, at string) *jsonschema.Schema {
	t.Helper()
	var doc any
	if err := json.Unmarshal(slackData(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(compileEcma)
	if err := c.AddResource("https://slack.test/schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://slack.test/schema.json" + at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// generic turns a value into what a validator takes.
func generic(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every block that we render is one that Slack's types know: the goldens, and
// messages of any size made of hostile parts.
func TestBlocksFollowSlacksTypes(t *testing.T) {
	block := schema(t, "types/slack-payloads.schema.json", "#/definitions/KnownBlock")
	check := func(name string, r rendered) {
		for i, b := range r.blocks {
			if err := block.Validate(generic(t, b)); err != nil {
				t.Errorf("%s, block %d: %v", name, i, err)
			}
		}
	}
	for name, m := range goldens() {
		check(name, render(m))
	}
	for seed := range uint64(30) {
		check("random", render(generator{rand.New(rand.NewPCG(seed, 1))}.message()))
	}
	meta := schema(t, "types/slack-payloads.schema.json", "#/definitions/MessageMetadata")
	if err := meta.Validate(map[string]any{"event_type": metadataType, "event_payload": map[string]any{"incident_id": "i", "seq": 7}}); err != nil {
		t.Errorf("metadata: %v", err)
	}
}

func TestLimitsFollowTheData(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(slackData(t, "blockkit/limits.json"), &doc); err != nil {
		t.Fatal(err)
	}
	number := func(path ...string) int {
		var v any = doc
		for _, p := range path {
			o, _ := v.(map[string]any)
			v = o[p]
		}
		n, ok := v.(float64)
		if !ok {
			t.Fatalf("limits.json has no %v", path)
		}
		return int(n)
	}
	for name, l := range map[string]struct{ ours, theirs int }{
		"header":              {MaxHeader, number("header", "text", "max_length")},
		"section":             {MaxSection, number("section", "text", "max_length")},
		"context elements":    {MaxContextElements, number("context", "elements", "max_items")},
		"action elements":     {MaxActionElements, number("actions", "elements", "max_items")},
		"button text":         {MaxButtonText, number("button", "text", "max_length")},
		"button value":        {MaxButtonValue, number("button", "value", "max_length")},
		"accessibility label": {MaxAccessibilityLabel, number("button", "accessibility_label", "max_length")},
		"url":                 {MaxURL, number("button", "url", "max_length")},
		"action_id":           {MaxActionID, number("action_id", "max_length")},
		"blocks":              {MaxBlocks, number("message", "blocks", "max_items")},
	} {
		if l.ours != l.theirs {
			t.Errorf("%s: ours is %d, the data's %d", name, l.ours, l.theirs)
		}
	}
}

func TestManifestFollowsTheSchema(t *testing.T) {
	data, err := os.ReadFile("../../deploy/slack/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.0.0", "2.0.0"} {
		s := schema(t, "manifest/manifest.schema."+version+".json", "")
		if err := s.Validate(generic(t, m)); err != nil {
			t.Errorf("schema %s: %v", version, err)
		}
		bad := generic(t, m).(map[string]any)
		bad["display_information"].(map[string]any)["name"] = "a name that is much longer than thirty-five characters"
		if s.Validate(bad) == nil {
			t.Errorf("schema %s takes a name that is too long, so it checks nothing", version)
		}
	}
}
