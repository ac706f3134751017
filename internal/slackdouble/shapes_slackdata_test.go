//go:build slackdata

package slackdouble

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Answers hold nothing that Slack's recorded answers do not, and of the same
// JSON types.
func TestAnswersFollowTheRecordedShapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{Manifest: []byte("oauth_config:\n  scopes:\n    bot: [chat:write, channels:history, channels:join, channels:read]\nsettings:\n  socket_mode_enabled: true\n")})
		meta := `{"event_type":"m","event_payload":{"seq":1}}`
		root := p.post("text", "a", "blocks", card, "metadata", meta)
		ts, _ := root["ts"].(string)
		answers := map[string]object{"chat.postMessage": root}
		reply := p.post("text", "b", "thread_ts", ts)
		compare(t, "chat.postMessage", reply)
		at := []string{"channel", DefaultChannel}
		for method, args := range map[string][]string{
			"auth.test": nil, "chat.update": append(at, "ts", ts, "text", "b", "blocks", card),
			"chat.postEphemeral": append(at, "user", DefaultUser, "text", "x"), "chat.getPermalink": append(at, "message_ts", ts),
			"conversations.history": append(at, "include_all_metadata", "1"), "conversations.replies": append(at, "ts", ts),
			"conversations.join": at, "conversations.info": at,
		} {
			answers[method] = p.call(method, args...)
		}
		answers["apps.connections.open"] = p.callAs(DefaultAppToken, "apps.connections.open").body
		time.Sleep(time.Second)
		answers["chat.delete"] = p.call("chat.delete", append(at, "ts", ts)...)
		for method, o := range answers {
			if o["ok"] != true {
				t.Errorf("%s: %v", method, o)
			}
			compare(t, method, o)
		}
		compare(t, "chat.postMessage", p.call("chat.postMessage", "channel", "C0NO", "text", "x"))
		compare(t, "chat.update", p.call("chat.update", append(at, "ts", "1.2", "text", "x", "bad", "x")...))
	})
}

// waived are known differences: what the app chooses itself, and remarks on
// refused arguments, which others have seen and the recorder has not.
var waived = []string{".metadata.event_payload", "chat.update.errors"}

func compare(t *testing.T, method string, o object) {
	t.Helper()
	var shape any
	slackData(t, "java-samples/shapes/"+method+".shape.json", &shape)
	compareShape(t, method, o, shape)
}

func compareShape(t *testing.T, path string, v, shape any) {
	t.Helper()
	if slices.ContainsFunc(waived, func(w string) bool { return strings.HasSuffix(path, w) }) {
		return
	}
	switch x := v.(type) {
	case object:
		s, ok := shape.(object)
		if !ok {
			t.Errorf("%s: an object, the recordings have %v", path, shape)
			return
		}
		for k, e := range x {
			if _, there := s[k]; !there && !slices.Contains(waived, path+"."+k) {
				t.Errorf("%s.%s: in no recording", path, k)
				continue
			}
			compareShape(t, path+"."+k, e, s[k])
		}
	case []any:
		s, ok := shape.([]any)
		if !ok {
			t.Errorf("%s: a list, the recordings have %v", path, shape)
			return
		}
		for _, e := range x {
			if len(s) > 0 {
				compareShape(t, path+"[]", e, s[0])
			}
		}
	default:
		kind := map[bool]string{true: "string"}[isString(v)]
		if _, ok := v.(float64); ok {
			kind = "number"
		}
		if _, ok := v.(bool); ok {
			kind = "boolean"
		}
		if raw, _ := json.Marshal(shape); !strings.Contains(string(raw), kind) {
			t.Errorf("%s: a %s, the recordings have %s", path, kind, raw)
		}
	}
}

func isString(v any) bool { _, ok := v.(string); return ok }

// Frames and payloads have every key that Slack's own tests have in theirs.
func TestFramesFollowSlacksOwn(t *testing.T) {
	var frames []object
	slackData(t, "socket-mode/slack_java_sdk_test_frames.json", &frames)
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws := p.dial()
		defer ws.Close()
		got := map[string]object{"hello": frameOf(t, ws)}
		next := func() {
			e := frameOf(t, ws)
			kind, _ := e["type"].(string)
			got[kind] = e
			_ = ws.WriteJSON(object{"envelope_id": e["envelope_id"]})
		}
		ts, _ := p.post("text", "a", "blocks", card)["ts"].(string)
		_, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose help")
		next()
		if _, err := p.Click(DefaultUser, DefaultChannel, ts, "look_again"); err != nil {
			t.Fatal(err)
		}
		next()
		_, _ = p.Mention(DefaultUser, DefaultChannel, ts, "hi")
		next()
		for _, want := range frames {
			kind, _ := want["type"].(string)
			superset(t, kind, got[kind], want)
		}
	})
}

func superset(t *testing.T, path string, got, want any) {
	t.Helper()
	w, ok := want.(object)
	if !ok {
		if l, isList := want.([]any); isList && len(l) > 0 {
			g, _ := got.([]any)
			if len(g) == 0 {
				t.Errorf("%s: no list", path)
				return
			}
			superset(t, path+"[]", g[0], l[0])
		}
		return
	}
	g, _ := got.(object)
	for k, e := range w {
		// What people's clients write into a message differs from what we do.
		if strings.HasSuffix(path, ".event") && k == "blocks" || strings.HasSuffix(path, ".message") && k == "blocks" {
			continue
		}
		if _, there := g[k]; !there {
			t.Errorf("%s.%s is missing", path, k)
			continue
		}
		superset(t, path+"."+k, g[k], e)
	}
}
