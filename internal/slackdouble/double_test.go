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
	return p.callAs(DefaultBotToken, method, args...).body
}

// reply is what a call was answered with.
type reply struct {
	status int
	after  string // Retry-After
	body   object
}

func (p *peer) callAs(token, method string, args ...string) reply {
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
	defer func() { _ = resp.Body.Close() }()
	r := reply{status: resp.StatusCode, after: resp.Header.Get("Retry-After")}
	_ = json.NewDecoder(resp.Body).Decode(&r.body)
	return r
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
	ws, err := p.dialTo(p.ticket())
	if err != nil {
		p.t.Fatal(err)
	}
	return ws
}

// ticket asks for the URL of a socket.
func (p *peer) ticket() string {
	to, _ := p.callAs(DefaultAppToken, "apps.connections.open").body["url"].(string)
	return to
}

func (p *peer) dialTo(to string) (*websocket.Conn, error) {
	ws, resp, err := (&websocket.Dialer{NetDialContext: p.Dial()}).Dial(to, nil)
	if resp != nil {
		_ = resp.Body.Close()
	}
	return ws, err
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
			if got := p.callAs(token, "auth.test").body; got["error"] != want {
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
		post := func() reply {
			return p.callAs(DefaultBotToken, "chat.postMessage", "channel", DefaultChannel, "text", "x", "unfurl_links", "false", "unfurl_media", "false")
		}
		ts := ""
		if r := post(); r.status != 200 {
			t.Fatal(r.status)
		}
		time.Sleep(990 * time.Millisecond)
		if r := post(); r.status != 429 || r.after != "1" {
			t.Errorf("a post after 990 ms: %d, Retry-After %q", r.status, r.after)
		}
		p.expectAudit() // being limited is no fault, not to heed it is
		if r := post(); r.status != 429 {
			t.Errorf("a post during Retry-After: %d", r.status)
		}
		p.expectAudit("before its Retry-After was over")
		time.Sleep(time.Second)
		if r := post(); r.status != 200 {
			t.Errorf("a post after Retry-After: %d", r.status)
		}
		ts = p.Messages(DefaultChannel)[0].TS
		for i := range 50 {
			if got := p.call("chat.update", "channel", DefaultChannel, "ts", ts, "text", fmt.Sprint(i)); got["ok"] != true {
				t.Fatalf("edit %d: %v", i, got)
			}
		}
		r := p.callAs(DefaultBotToken, "chat.update", "channel", DefaultChannel, "ts", ts, "text", "x")
		if r.status != 429 || r.after != "60" {
			t.Errorf("the 51st edit of a minute: %d, Retry-After %q", r.status, r.after)
		}
	})
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
