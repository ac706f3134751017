package slackdouble

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const card = `[
{"type":"header","text":{"type":"plain_text","text":"Restart <burst>"}},
{"type":"section","text":{"type":"mrkdwn","text":"*kafka-prod* · broker 3\nat <!date^1796004849^{time_secs}|02:14:09 UTC> got ` + "`FETCH`" + ` <https://x.example/?a=1&amp;b=2|▸> &lt;script&gt;alert(1)&lt;/script&gt;"}},
{"type":"section","text":{"type":"mrkdwn","text":"` + "```\\nkafka-configs.sh &lt;broker&gt;\\n```" + `"}},
{"type":"actions","elements":[{"type":"button","action_id":"look_again","style":"primary","text":{"type":"plain_text","text":"Look again"}}]},
{"type":"context","elements":[{"type":"mrkdwn","text":"_provisional_"}]}]`

func filled(t *testing.T) *Double {
	t.Helper()
	d, err := New(Options{Now: func() time.Time { return time.Unix(1796004963, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.postMessage(&call{method: "chat.postMessage", args: map[string]string{
		"channel": DefaultChannel, "text": "Restart", "blocks": card, "unfurl_links": "false", "unfurl_media": "false",
	}})
	if out["ok"] != true {
		t.Fatal(out)
	}
	return d
}

func get(h http.Handler, host, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPageShowsMessagesInert(t *testing.T) {
	h := filled(t).Page()
	body := get(h, "127.0.0.1:8080", "/fragment").Body.String()
	for _, want := range []string{
		"Restart &lt;burst&gt;", "<b>kafka-prod</b>", `<time datetime="2026-11-30T02:14:09Z" data-form="{time_secs}">02:14:09 UTC</time>`,
		"<code>FETCH</code>", `href="https://x.example/?a=1&amp;b=2"`, "&lt;script&gt;", "<pre>kafka-configs.sh &lt;broker&gt;</pre>",
		`data-action="look_again"`, "<i>provisional</i>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "<script") {
		t.Error("outside text became markup")
	}
	for _, path := range []string{"/", "/page.css", "/page.js"} {
		if w := get(h, "localhost", path); w.Code != 200 || w.Body.Len() < 100 || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
}

func TestPageIsForThisMachineOnly(t *testing.T) {
	h := filled(t).Page()
	for _, host := range []string{"evil.example", "192.0.2.1:80", "localhost.evil.example"} {
		if w := get(h, host, "/fragment"); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", host, w.Code)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/do", strings.NewReader(`{"Kind":"say","Text":"x"}`))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("a form of another site was taken: %d", w.Code)
	}
}

func TestPageDoes(t *testing.T) {
	d := filled(t)
	for body, want := range map[string]int{
		`{"Kind":"say","Channel":"C0ALERTS1","Text":"/nope"}`:                   http.StatusConflict,
		`{"Kind":"say","Channel":"C0ALERTS1","Text":"/kafka-diagnose help"}`:    http.StatusGatewayTimeout, // no app is connected
		`{"Kind":"click","Channel":"C0ALERTS1","TS":"1","Button":"look_again"}`: http.StatusConflict,
		`{"Kind":"say","Channel":"C0ALERTS1","Text":"hello"}`:                   http.StatusOK,
		`{`: http.StatusBadRequest,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/do", strings.NewReader(body))
		r.Header.Set("X-Slack-Double", "1")
		w := httptest.NewRecorder()
		d.Page().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	if m := d.Messages(DefaultChannel); m[len(m)-1].Text != "hello" {
		t.Error("what was typed is not there")
	}
}

func TestTellerTellsChanges(t *testing.T) {
	d := filled(t)
	ts := d.Messages(DefaultChannel)[0].TS
	d.mu.Lock()
	d.update(&call{method: "chat.update", args: map[string]string{
		"channel": DefaultChannel, "ts": ts, "text": "Restart", "blocks": strings.Replace(card, "_provisional_", "confirmed", 1),
	}})
	d.mu.Unlock()
	teller := NewTeller(80)
	var told []string
	for _, e := range d.Journal(0) {
		if s := teller.Tell(e); s != "" {
			told = append(told, s)
		}
	}
	want := []string{`02:16:03  kafka-oncall · new message
          │ Restart <burst>
          │ ═══════════════
          │ kafka-prod · broker 3
          │ at 02:14:09 UTC got FETCH <script>alert(1)</script>
          │     kafka-configs.sh <broker>
          │ [ Look again ]
          │ · provisional`, `02:16:03  kafka-oncall · message edited
          │ Restart <burst>
          │   …
          │ · confirmed`}
	for i := range want {
		if i >= len(told) || told[i] != want[i] {
			t.Fatalf("told:\n%s\nwant:\n%s", strings.Join(told, "\n\n"), strings.Join(want, "\n\n"))
		}
	}
}
