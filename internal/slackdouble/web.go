package slackdouble

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// method is one method of the Web API.
type method struct {
	args   string // names that it knows
	app    bool   // wants the app token, in the header
	scope  func(d *Double, c *call) string
	tier   Tier
	handle func(d *Double, c *call) object
}

// call is one call of a method, with d.mu held while it is handled.
type call struct {
	method   string
	args     map[string]string
	token    string
	inHeader bool
	host     string
}

func (c *call) flag(name string) bool {
	v := c.args[name]
	return v == "true" || v == "1"
}

func noScope(*Double, *call) string { return "" }

func scope(name string) func(*Double, *call) string {
	return func(*Double, *call) string { return name }
}

// historyScope depends on the kind of channel.
func historyScope(d *Double, c *call) string {
	if ch := d.channels[c.args["channel"]]; ch != nil && ch.Private {
		return "groups:history"
	}
	return "channels:history"
}

// methods is the part of the Web API that the double has.
func methods() map[string]method {
	const post = "channel text blocks thread_ts metadata mrkdwn parse link_names"
	return map[string]method{
		"auth.test":             {args: "", scope: noScope, tier: Special, handle: (*Double).authTest},
		"apps.connections.open": {args: "", app: true, scope: noScope, tier: Tier1, handle: (*Double).openConnection},
		"chat.postMessage":      {args: post + " reply_broadcast unfurl_links unfurl_media", scope: scope("chat:write"), tier: Special, handle: (*Double).postMessage},
		"chat.update":           {args: "channel ts text blocks metadata parse link_names as_user reply_broadcast", scope: scope("chat:write"), tier: Tier3, handle: (*Double).update},
		"chat.delete":           {args: "channel ts as_user", scope: scope("chat:write"), tier: Tier3, handle: (*Double).deleteMethod},
		"chat.postEphemeral":    {args: post + " user", scope: scope("chat:write"), tier: Tier4, handle: (*Double).postEphemeral},
		"chat.getPermalink":     {args: "channel message_ts", scope: noScope, tier: Special, handle: (*Double).permalink},
		"conversations.history": {args: "channel cursor inclusive latest limit oldest include_all_metadata", scope: historyScope, tier: Tier3, handle: (*Double).history},
		"conversations.replies": {args: "channel ts cursor inclusive latest limit oldest include_all_metadata", scope: historyScope, tier: Tier3, handle: (*Double).replies},
		"conversations.join":    {args: "channel", scope: scope("channels:join"), tier: Tier3, handle: (*Double).join},
		"conversations.info":    {args: "channel include_locale include_num_members", scope: scope("channels:read"), tier: Tier3, handle: (*Double).info},
	}
}

// maxBody bounds a request.
const maxBody = 1 << 20

func (d *Double) serveMethod(w http.ResponseWriter, r *http.Request) {
	c, err := parseCall(r)
	if err != nil {
		http.Error(w, "bad request: "+err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	f := d.takeFault(c.method)
	if f != nil && f.before(d, c, w, r) {
		return
	}
	status, body := d.answer(c)
	d.note(Entry{Kind: Called, Detail: c.method + " " + outcome(status, body)})
	d.mu.Unlock()
	if f != nil && f.after(w, r) {
		return
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(body["retry_after"].(int)))
		delete(body, "retry_after")
	}
	writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func outcome(status int, body object) string {
	if status != http.StatusOK {
		return strconv.Itoa(status)
	}
	if word, ok := body["error"].(string); ok {
		return word
	}
	return "ok"
}

// answer handles a call: rate, token, scope, arguments, then the method.
func (d *Double) answer(c *call) (int, object) {
	m, known := methods()[c.method]
	if !known {
		return http.StatusOK, fail("unknown_method")
	}
	if wait := d.tooFast(c, m); wait > 0 {
		seconds := int(math.Ceil(wait.Seconds()))
		return http.StatusTooManyRequests, object{"ok": false, "error": "ratelimited", "retry_after": max(seconds, 1)}
	}
	if refused := d.authorize(c, m); refused != nil {
		return http.StatusOK, refused
	}
	for _, name := range slices.Sorted(maps.Keys(c.args)) {
		if !strings.Contains(" "+m.args+" ", " "+name+" ") {
			return http.StatusOK, failWith("invalid_arguments", "[ERROR] unknown argument: "+name)
		}
	}
	return http.StatusOK, m.handle(d, c)
}

func (d *Double) authorize(c *call, m method) object {
	want, other := d.opts.BotToken, d.opts.AppToken
	if m.app {
		want, other = other, want
	}
	switch {
	case c.token == "":
		return fail("not_authed")
	case c.token == other:
		return fail("not_allowed_token_type")
	case c.token != want || (m.app && !c.inHeader):
		return fail("invalid_auth")
	}
	if s := m.scope(d, c); !d.app.has(s) {
		return object{"ok": false, "error": "missing_scope", "needed": s, "provided": strings.Join(d.app.scopes, ",")}
	}
	return nil
}

// tooFast books a call and says how long its method must rest, if it must.
func (d *Double) tooFast(c *call, m method) time.Duration {
	now := d.opts.Now()
	if left := d.paused[c.method].Sub(now); left > 0 {
		d.violation("%s was called before its Retry-After was over", c.method)
		return left
	}
	if c.method == "chat.postMessage" {
		ch := c.args["channel"]
		if left := d.lim.PostEvery - now.Sub(d.posts[ch]); left > 0 && !d.posts[ch].IsZero() {
			return d.pause(c.method, left)
		}
		d.posts[ch] = now
	}
	window, perMinute := time.Minute, d.lim.PerMinute[m.tier]
	if d.opts.SmallHistory && strings.HasPrefix(c.method, "conversations.") {
		perMinute = 1
	}
	kept := d.calls[c.method][:0]
	for _, t := range d.calls[c.method] {
		if now.Sub(t) < window {
			kept = append(kept, t)
		}
	}
	d.calls[c.method] = kept
	if len(kept) >= perMinute {
		return d.pause(c.method, window-now.Sub(kept[0]))
	}
	d.calls[c.method] = append(kept, now)
	return 0
}

// pause makes a method refuse for whole seconds, as Retry-After says it.
func (d *Double) pause(method string, left time.Duration) time.Duration {
	left = time.Duration(math.Ceil(left.Seconds())) * time.Second
	d.paused[method] = d.opts.Now().Add(left)
	return left
}

func fail(word string) object { return object{"ok": false, "error": word} }

// failWith gives remarks as Slack does, in two places.
func failWith(word string, remarks ...string) object {
	plain := make([]string, len(remarks))
	for i, r := range remarks {
		plain[i] = strings.TrimPrefix(r, "[ERROR] ")
	}
	return object{"ok": false, "error": word, "errors": plain, "response_metadata": object{"messages": remarks}}
}

// parseCall reads a call from a form, from JSON or from a query. A value that is
// no string comes as JSON.
func parseCall(r *http.Request) (*call, error) {
	c := &call{method: r.PathValue("method"), args: map[string]string{}, host: r.Host}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	for k, v := range r.URL.Query() {
		c.args[k] = v[0]
	}
	switch {
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		err = c.fromJSON(body)
	default:
		err = c.fromForm(string(body))
	}
	if err != nil {
		return nil, err
	}
	c.token = c.args["token"]
	delete(c.args, "token")
	if h, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c.token, c.inHeader = h, true
	}
	return c, nil
}

func (c *call) fromForm(body string) error {
	form, err := url.ParseQuery(body)
	for k, v := range form {
		c.args[k] = v[0]
	}
	return err
}

func (c *call) fromJSON(body []byte) error {
	if len(body) == 0 || string(body) == "null" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for k, v := range fields {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		c.args[k] = s
	}
	return nil
}
