package slackdouble

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
)

//go:embed page/index.html page/page.css page/page.js
var pageFiles embed.FS

// Page is a web page that shows channels, threads and private answers as they
// change, with buttons that work and a box for commands. It is meant for one
// person on this machine: it answers only requests to a loopback host.
func (d *Double) Page() http.Handler {
	mux := http.NewServeMux()
	for path, kind := range map[string]string{"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"} {
		route := "GET /" + path
		if path == "index.html" {
			route = "GET /{$}"
		}
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) {
			data, err := pageFiles.ReadFile("page/" + path)
			if err != nil {
				http.Error(w, "missing", http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write(data)
		})
	}
	mux.HandleFunc("GET /fragment", d.serveFragment)
	mux.HandleFunc("GET /events", d.serveEvents)
	mux.HandleFunc("POST /do", d.serveDo)
	return guard(mux)
}

// guard keeps other sites from reading the page or pressing its buttons: no
// foreign host name, no foreign script, and a header that forms cannot send.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			http.Error(w, "only for this machine", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("X-Slack-Double") == "" {
			http.Error(w, "only from the page itself", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || (ip != nil && ip.IsLoopback())
}

// serveEvents tells the page that something changed.
func (d *Double) serveEvents(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "no streaming", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		changed := d.Changed()
		if _, err := fmt.Fprint(w, "data: changed\n\n"); err != nil {
			return
		}
		flusher.Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// serveDo does what a person does: a command, a mention, a click.
func (d *Double) serveDo(w http.ResponseWriter, r *http.Request) {
	var do struct{ Kind, Channel, TS, Text, Button string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&do); err != nil {
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	user := d.person()
	var err error
	var v *Delivery
	switch {
	case do.Kind == "click":
		v, err = d.Click(user, do.Channel, do.TS, do.Button)
	case strings.HasPrefix(do.Text, "/"):
		v, err = d.Command(user, do.Channel, do.Text)
	case strings.HasPrefix(do.Text, "@"+botName):
		v, err = d.Mention(user, do.Channel, do.TS, strings.TrimSpace(strings.TrimPrefix(do.Text, "@"+botName)))
	default:
		_, err = d.Write(user, do.Channel, do.TS, do.Text)
	}
	if err != nil {
		http.Error(w, strings.TrimPrefix(err.Error(), "slackdouble: "), http.StatusConflict)
		return
	}
	if v == nil {
		return
	}
	select {
	case <-v.Done():
	case <-r.Context().Done():
		return
	}
	if what, _ := v.Outcome(); what != "acknowledged" {
		http.Error(w, "the app did not answer: "+what, http.StatusGatewayTimeout)
	}
}

// person is the user at the page: the first of the workspace.
func (d *Double) person() string { return d.opts.Users[0].ID }

func (d *Double) serveFragment(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := fragment.Execute(w, d.pageView()); err != nil {
		http.Error(w, "could not be shown", http.StatusInternalServerError)
	}
}

// fragment is the part of the page that changes.
var fragment = template.Must(template.New("fragment").Parse(`
{{- define "message"}}<article class="message{{if .Private}} private{{end}}" id="m{{.ID}}" data-rev="{{.Rev}}">
<div class="avatar{{if .Bot}} bot{{end}}" aria-hidden="true">{{.Initial}}</div>
<div class="body"><div class="who"><b>{{.Name}}</b>{{if .Bot}} <span class="app">APP</span>{{end}} <time datetime="{{.At}}">{{.Clock}}</time>{{if .Edits}} <span class="edits">edited {{.Edits}}×</span>{{end}}{{if .Broadcast}} <span class="edits">also sent to the channel</span>{{end}}</div>
{{if .Private}}<div class="only">Only visible to you</div>{{end}}{{.HTML}}</div></article>{{end}}
<div class="channels">
{{- range .Channels}}<section class="channel" data-channel="{{.ID}}"><h1># {{.Name}}</h1><div class="list">
{{- if not .Roots}}<p class="nothing">No alert yet. Everything is quiet.</p>{{end}}
{{- range .Roots}}<div class="thread">{{template "message" .Root}}
{{- if .Replies}}<div class="replies" aria-label="Thread">{{range .Replies}}{{template "message" .}}{{end}}</div>{{end}}</div>{{end -}}
</div></section>{{end}}</div>
<aside id="log"><h2>What happened</h2><ol>{{range .Log}}<li class="log-{{.Kind}}"><time datetime="{{.At}}">{{.Clock}}</time> {{.Text}}</li>{{end}}</ol></aside>`))
