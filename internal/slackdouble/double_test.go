package slackdouble

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// peer is a client that knows nothing but HTTP and WebSocket.
type peer struct {
	t *testing.T
	*Server
	http *http.Client
}

func newPeer(t *testing.T, o Options) *peer {
	t.Helper()
	s, err := StartInMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &peer{t: t, Server: s, http: &http.Client{Transport: &http.Transport{DialContext: s.Dial()}, Timeout: 20 * time.Second}}
}

// call calls a method with form arguments and the bot's token.
func (p *peer) call(method string, args ...string) object {
	p.t.Helper()
	_, o := p.callAs(DefaultBotToken, method, args...)
	return o
}

func (p *peer) callAs(token, method string, args ...string) (*http.Response, object) {
	p.t.Helper()
	form := url.Values{}
	for i := 0; i < len(args); i += 2 {
		form.Set(args[i], args[i+1])
	}
	req, _ := http.NewRequest(http.MethodPost, p.APIURL()+method, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var o object
	_ = json.NewDecoder(resp.Body).Decode(&o)
	return resp, o
}

// post posts a text and gives Slack's second a rest before it.
func (p *peer) post(args ...string) object {
	p.t.Helper()
	time.Sleep(time.Second)
	return p.call("chat.postMessage", append([]string{"channel", DefaultChannel, "unfurl_links", "false", "unfurl_media", "false"}, args...)...)
}

// dial opens a socket and reads its hello.
func (p *peer) dial() *websocket.Conn {
	p.t.Helper()
	_, o := p.callAs(DefaultAppToken, "apps.connections.open")
	to, _ := o["url"].(string)
	ws, _, err := (&websocket.Dialer{NetDialContext: p.Dial()}).Dial(to, nil)
	if err != nil {
		p.t.Fatalf("dialing %v: %v", o, err)
	}
	return ws
}

func frameOf(t *testing.T, ws *websocket.Conn) object {
	t.Helper()
	var o object
	if err := ws.ReadJSON(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (p *peer) expectAudit(want ...string) {
	p.t.Helper()
	got := p.Audit()
	for _, w := range want {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, w) }) {
			p.t.Errorf("the audit does not say %q: %q", w, got)
		}
	}
	if len(want) == 0 && len(got) > 0 {
		p.t.Errorf("audit: %q", got)
	}
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ts, _ := p.post("text", "root")["ts"].(string)
		reply, _ := p.post("text", "reply", "thread_ts", ts)["ts"].(string)
		for _, tc := range []struct {
			want, method string
			args         []string
		}{
			{"unknown_method", "chat.shout", nil},
			{"invalid_arguments", "chat.update", []string{"channel", DefaultChannel, "ts", ts, "text", "x", "colour", "red"}},
			{"no_text", "chat.update", []string{"channel", DefaultChannel, "ts", ts, "blocks", `[{"type":"divider"}]`}},
			{"message_not_found", "chat.update", []string{"channel", DefaultChannel, "ts", "1.2", "text", "x"}},
			{"msg_too_long", "chat.update", []string{"channel", DefaultChannel, "ts", ts, "text", strings.Repeat("é", 2001)}},
			{"invalid_blocks", "chat.update", []string{"channel", DefaultChannel, "ts", ts, "text", "x", "blocks", `[{"type":"alert"}]`}},
			{"invalid_blocks_format", "chat.update", []string{"channel", DefaultChannel, "ts", ts, "text", "x", "blocks", `{`}},
			{"channel_not_found", "conversations.history", []string{"channel", "C0NO"}},
			{"invalid_limit", "conversations.history", []string{"channel", DefaultChannel, "limit", "1000"}},
			{"invalid_cursor", "conversations.history", []string{"channel", DefaultChannel, "cursor", "x"}},
			{"thread_not_found", "conversations.replies", []string{"channel", DefaultChannel, "ts", "1.2"}},
			{"missing_scope", "conversations.info", []string{"channel", DefaultChannel}},
			{"not_allowed_token_type", "apps.connections.open", nil},
			{"user_not_in_channel", "chat.postEphemeral", []string{"channel", DefaultChannel, "user", "U0NO", "text", "x"}},
		} {
			if got := p.call(tc.method, tc.args...); got["error"] != tc.want || got["ok"] != false {
				t.Errorf("%s %.60v: %v, want %s", tc.method, tc.args, got, tc.want)
			}
		}
		for want, token := range map[string]string{"not_authed": "", "invalid_auth": "xoxb-other", "not_allowed_token_type": DefaultAppToken} {
			if _, got := p.callAs(token, "auth.test"); got["error"] != want {
				t.Errorf("token %q: %v, want %s", token, got, want)
			}
		}
		if got := p.post("text", "x", "thread_ts", reply); got["error"] != "cannot_reply_to_message" {
			t.Errorf("reply to a reply: %v", got)
		}
		if got := p.post("text", "x", "thread_ts", "1000000000.000000"); got["error"] != "thread_not_found" {
			t.Errorf("reply to nothing: %v", got)
		}
		p.expectAudit("names a reply")
	})
}

func TestAuditNotesWhatSlackWouldTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		p.call("chat.postMessage", "channel", DefaultChannel, "text", "hello <!channel>")
		p.post("text", "x", "metadata", `{"event_type":"with blank","event_payload":{}}`)
		p.post("text", "x", "blocks", `[{"type":"section","text":{"type":"mrkdwn","text":"<@U0ANNA0001>"}}]`)
		p.expectAudit("unfurl_links", "<!channel>", "invalid_metadata_schema", "<@U0ANNA0001>")
	})
}

func TestEditRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		meta := `{"event_type":"m","event_payload":{"seq":1}}`
		ts, _ := p.post("text", "a", "blocks", `[{"type":"divider"}]`, "metadata", meta)["ts"].(string)
		if m := p.Messages(DefaultChannel)[0]; len(m.Blocks) != 1 || m.Blocks[0]["block_id"] == nil {
			t.Errorf("blocks get ids: %v", m.Blocks)
		}
		p.call("chat.update", "channel", DefaultChannel, "ts", ts, "text", "b")
		m := p.Messages(DefaultChannel)[0]
		if m.Text != "b" || m.Blocks != nil || m.Edits != 1 || m.Metadata["event_type"] != "m" {
			t.Errorf("text alone removes the blocks and keeps the metadata: %+v", m)
		}
		other, err := p.Write(DefaultUser, DefaultChannel, "", "mine")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.call("chat.update", "channel", DefaultChannel, "ts", other, "text", "b"); got["error"] != "cant_update_message" {
			t.Errorf("another's message: %v", got)
		}
		if got := p.call("chat.delete", "channel", DefaultChannel, "ts", ts); got["ok"] != true {
			t.Errorf("delete: %v", got)
		}
		if got := p.post("text", "late", "thread_ts", ts); got["ok"] != true || got["message"].(object)["thread_ts"] != nil {
			t.Errorf("a reply to a deleted root lands in the channel: %v", got)
		}
	})
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		post := func() *http.Response {
			r, _ := p.callAs(DefaultBotToken, "chat.postMessage", "channel", DefaultChannel, "text", "x", "unfurl_links", "false", "unfurl_media", "false")
			return r
		}
		ts := ""
		if r := post(); r.StatusCode != 200 {
			t.Fatal(r.Status)
		}
		time.Sleep(990 * time.Millisecond)
		if r := post(); r.StatusCode != 429 || r.Header.Get("Retry-After") != "1" {
			t.Errorf("a post after 990 ms: %s, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
		}
		p.expectAudit() // being limited is no fault, not to heed it is
		if r := post(); r.StatusCode != 429 {
			t.Errorf("a post during Retry-After: %s", r.Status)
		}
		p.expectAudit("before its Retry-After was over")
		time.Sleep(time.Second)
		if r := post(); r.StatusCode != 200 {
			t.Errorf("a post after Retry-After: %s", r.Status)
		}
		ts = p.Messages(DefaultChannel)[0].TS
		for i := range 50 {
			if got := p.call("chat.update", "channel", DefaultChannel, "ts", ts, "text", fmt.Sprint(i)); got["ok"] != true {
				t.Fatalf("edit %d: %v", i, got)
			}
		}
		r, _ := p.callAs(DefaultBotToken, "chat.update", "channel", DefaultChannel, "ts", ts, "text", "x")
		if r.StatusCode != 429 || r.Header.Get("Retry-After") != "60" {
			t.Errorf("the 51st edit of a minute: %s, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
		}
	})
}

func TestButtonsAsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws := p.dial()
		defer ws.Close()
		frameOf(t, ws)
		const blocks = `[{"type":"actions","elements":[{"type":"button","action_id":"go","value":"v","text":{"type":"plain_text","text":"Go"}}]}]`
		ts, _ := p.post("text", "a", "blocks", blocks)["ts"].(string)
		for _, name := range []string{"go", "Go"} {
			v, err := p.Click(DefaultUser, DefaultChannel, ts, name)
			if err != nil {
				t.Fatal(err)
			}
			e := frameOf(t, ws)
			action := e["payload"].(object)["actions"].([]any)[0].(object)
			if e["type"] != "interactive" || action["value"] != "v" || action["block_id"] == "" {
				t.Errorf("envelope: %v", e)
			}
			_ = ws.WriteJSON(object{"envelope_id": e["envelope_id"]})
			<-v.Done()
		}
		p.call("chat.update", "channel", DefaultChannel, "ts", ts, "text", "b")
		if _, err := p.Click(DefaultUser, DefaultChannel, ts, "go"); err == nil {
			t.Error("a button that an edit removed can still be pressed")
		}
		if _, err := p.Command(DefaultUser, DefaultChannel, "/unknown"); err == nil {
			t.Error("a command that the app does not have can be typed")
		}
		p.expectAudit()
	})
}

func TestAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws, other := p.dial(), p.dial()
		defer ws.Close()
		defer other.Close()
		frameOf(t, ws)
		frameOf(t, other)
		read := map[*websocket.Conn]chan object{ws: make(chan object, 10), other: make(chan object, 10)}
		for c, ch := range read {
			go func() {
				for {
					var o object
					if c.ReadJSON(&o) != nil {
						return
					}
					ch <- o
				}
			}()
		}
		next := func() (*websocket.Conn, object) {
			select {
			case o := <-read[ws]:
				return ws, o
			case o := <-read[other]:
				return other, o
			}
		}
		// Too late: the user sees a failure.
		v, _ := p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose late")
		c, e := next()
		<-v.Done()
		if what, _ := v.Outcome(); what != "operation_timeout" {
			t.Errorf("late: %s", what)
		}
		_ = c.WriteJSON(object{"envelope_id": e["envelope_id"]})
		// Twice, and a frame that is none.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose twice")
		c, e = next()
		for range 2 {
			_ = c.WriteJSON(object{"envelope_id": e["envelope_id"]})
		}
		_ = c.WriteJSON(object{"hello": 1})
		<-v.Done()
		// On the wrong connection.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose crossed")
		c, e = next()
		wrong := ws
		if c == ws {
			wrong = other
		}
		_ = wrong.WriteJSON(object{"envelope_id": e["envelope_id"]})
		<-v.Done()
		// Too large: ignored.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose large")
		c, e = next()
		_ = c.WriteJSON(object{"envelope_id": e["envelope_id"], "payload": object{"text": strings.Repeat("x", 21<<10)}})
		<-v.Done()
		// An event without an answer comes again, marked.
		m, err := p.Mention(DefaultUser, DefaultChannel, "", "hi")
		if err != nil {
			t.Fatal(err)
		}
		next()
		c, e = next()
		if e["retry_attempt"] != 1.0 || e["retry_reason"] != "timeout" {
			t.Errorf("redelivery: %v", e)
		}
		_ = c.WriteJSON(object{"envelope_id": e["envelope_id"]})
		<-m.Done()
		p.expectAudit("not acknowledged within 3s", "acknowledged too late", "acknowledged twice", "no acknowledgement", "on another connection", "was ignored")
	})
}

func TestInlineAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws := p.dial()
		defer ws.Close()
		frameOf(t, ws)
		v, _ := p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose help")
		e := frameOf(t, ws)
		_ = ws.WriteJSON(object{"envelope_id": e["envelope_id"], "payload": object{"text": "here"}})
		<-v.Done()
		synctest.Wait()
		if m := p.PrivateTo(DefaultUser, DefaultChannel); len(m) != 1 || m[0].Text != "here" {
			t.Errorf("private: %v", m)
		}
	})
}

func TestConnectionRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := DefaultLimits()
		lim.PerMinute[Tier1] = 100
		p := newPeer(t, Options{Limits: &lim})
		v, _ := p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose nobody listens")
		<-v.Done()
		if what, _ := v.Outcome(); !strings.HasPrefix(what, "dispatch_failed") {
			t.Errorf("without a connection: %s", what)
		}
		var all []*websocket.Conn
		for i := range 10 {
			ws := p.dial()
			defer ws.Close()
			if h := frameOf(t, ws); h["type"] != "hello" || h["num_connections"] != float64(i+1) {
				t.Errorf("hello: %v", h)
			}
			all = append(all, ws)
		}
		extra := p.dial()
		defer extra.Close()
		if h := frameOf(t, extra); h["reason"] != "too_many_websockets" {
			t.Errorf("the eleventh: %v", h)
		}
		_, o := p.callAs(DefaultAppToken, "apps.connections.open")
		once, _ := o["url"].(string)
		d := websocket.Dialer{NetDialContext: p.Dial()}
		_ = all[0].Close()
		synctest.Wait()
		first, _, err := d.Dial(once, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		if _, _, err := d.Dial(once, nil); err == nil {
			t.Error("a ticket works twice")
		}
		p.expectAudit("one more was opened")
	})
}

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

// The default app is the one that the repository's manifest describes.
func TestDefaultAppIsTheManifest(t *testing.T) {
	data, err := os.ReadFile("../../deploy/slack/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := parseApp(data)
	if err != nil || !reflect.DeepEqual(a, defaultApp()) {
		t.Errorf("manifest: %+v, %v; default: %+v", a, err, defaultApp())
	}
}

func TestTimestampsNeverRepeat(t *testing.T) {
	var s stamps
	at := time.Unix(1796004849, 0)
	last := ""
	for i := range 1000 {
		if i == 500 {
			at = at.Add(-time.Hour)
		}
		ts := s.next(at)
		if ts <= last || utf8.RuneCountInString(ts) != 17 {
			t.Fatalf("%s after %s", ts, last)
		}
		last = ts
	}
}

func TestHistoryPagesAndMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		root, _ := p.post("text", "root", "metadata", `{"event_type":"m","event_payload":{"seq":7}}`)["ts"].(string)
		p.post("text", "in thread", "thread_ts", root)
		p.post("text", "shown", "thread_ts", root, "reply_broadcast", "true")
		first := p.call("conversations.history", "channel", DefaultChannel, "limit", "1", "include_all_metadata", "1")
		messages := first["messages"].([]any)
		if len(messages) != 1 || messages[0].(object)["subtype"] != "thread_broadcast" || first["has_more"] != true {
			t.Fatalf("first page: %v", first)
		}
		next := first["response_metadata"].(object)["next_cursor"].(string)
		second := p.call("conversations.history", "channel", DefaultChannel, "limit", "1", "cursor", next, "include_all_metadata", "1")
		m := second["messages"].([]any)[0].(object)
		if m["ts"] != root || m["reply_count"] != 2.0 || m["metadata"] == nil || second["has_more"] != false {
			t.Errorf("second page: %v", second)
		}
		plain := p.call("conversations.replies", "channel", DefaultChannel, "ts", root)
		list := plain["messages"].([]any)
		if len(list) != 3 || list[0].(object)["metadata"] != nil || list[0].(object)["ts"] != root {
			t.Errorf("replies: %v", plain)
		}
		var link bytes.Buffer
		_ = json.NewEncoder(&link).Encode(p.call("chat.getPermalink", "channel", DefaultChannel, "message_ts", root))
		if !strings.Contains(link.String(), "/archives/"+DefaultChannel+"/p") {
			t.Errorf("permalink: %s", link.String())
		}
	})
}
