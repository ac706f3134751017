package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// A response URL works five times within 30 minutes, and like a webhook once a
// second.
const (
	responseUses  = 5
	responseLife  = 30 * time.Minute
	responseEvery = time.Second
)

// ResponseOptions say where an answer shows. The zero value is a new private
// answer.
type ResponseOptions struct {
	// InChannel makes the answer visible to everyone in the channel.
	InChannel bool
	// ReplaceOriginal replaces the message that the command or button belongs
	// to; DeleteOriginal removes it and says nothing.
	ReplaceOriginal bool
	DeleteOriginal  bool
}

// Responder answers commands and clicks through their response URL. It works in
// channels that the bot is not in. It is safe for concurrent use.
type Responder struct {
	client  *http.Client
	host    string
	log     *slog.Logger
	metrics *Metrics

	mu   sync.Mutex
	urls map[string]*responseURL
}

// responseURL is what is known of one URL.
type responseURL struct {
	*gate
	uses  int
	first time.Time
}

// NewResponder makes a responder; metrics may be nil.
func NewResponder(cfg Config, log *slog.Logger, metrics *Metrics) *Responder {
	if metrics == nil {
		metrics = NewMetrics(nil)
	}
	host := ""
	if u, err := url.Parse(cfg.APIURL); err == nil {
		host = u.Host
	}
	return &Responder{client: cfg.httpClient(), host: host, log: log, metrics: metrics, urls: map[string]*responseURL{}}
}

// Respond sends m to the URL. ErrGone says that the URL is used up (five uses,
// 30 minutes); the caller then has the Web API. Errors never hold the URL, which
// is a credential.
func (r *Responder) Respond(ctx context.Context, to string, m playbooks.Message, o ResponseOptions) error {
	if err := r.trusted(to); err != nil {
		return err
	}
	state := r.state(to)
	start := time.Now()
	err := state.enter(ctx)
	r.metrics.wait(methodRespond, time.Since(start))
	if err != nil {
		return notSent("waiting to answer", err)
	}
	defer state.leave()
	if state.uses >= responseUses || time.Since(state.first) > responseLife {
		return fmt.Errorf("answering through the response URL: it is used up: %w", ErrGone)
	}
	err = r.send(ctx, to, render(m), o)
	state.free = time.Now().Add(responseEvery)
	state.uses++
	r.metrics.call(methodRespond, err)
	return err
}

// trusted lets an answer go to Slack only (or to the server that stands in for
// it): the URL comes in over the socket, and the message must not go elsewhere.
func (r *Responder) trusted(to string) error {
	u, err := url.Parse(to)
	if err == nil && r.host != "" && u.Host == r.host {
		return nil
	}
	if err == nil && r.host == "" && u.Scheme == "https" && (u.Host == "hooks.slack.com" || u.Host == "hooks.slack-gov.com") {
		return nil
	}
	return fmt.Errorf("answering through the response URL: it does not lead to Slack: %w", ErrRefused)
}

// state returns what is known of a URL and forgets URLs that are too old to work.
func (r *Responder) state(to string) *responseURL {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for u, s := range r.urls {
		if now.Sub(s.first) > 2*responseLife {
			delete(r.urls, u)
		}
	}
	s := r.urls[to]
	if s == nil {
		s = &responseURL{gate: newGate(), first: now}
		r.urls[to] = s
	}
	return s
}

// responseBody is what a response URL takes.
type responseBody struct {
	Type    string           `json:"response_type,omitempty"`
	Replace bool             `json:"replace_original"`
	Delete  bool             `json:"delete_original,omitempty"`
	Text    string           `json:"text,omitempty"`
	Blocks  []slackapi.Block `json:"blocks,omitempty"`
	Links   *bool            `json:"unfurl_links,omitempty"`
	Media   *bool            `json:"unfurl_media,omitempty"`
}

func body(m rendered, o ResponseOptions) responseBody {
	if o.DeleteOriginal {
		return responseBody{Delete: true}
	}
	no := false
	b := responseBody{Type: "ephemeral", Replace: o.ReplaceOriginal, Text: m.text, Blocks: m.blocks, Links: &no, Media: &no}
	if o.InChannel {
		b.Type = "in_channel"
	}
	return b
}

func (r *Responder) send(ctx context.Context, to string, m rendered, o ResponseOptions) error {
	payload, err := json.Marshal(body(m, o))
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("answering through the response URL: it is no URL: %w", ErrRefused)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := r.client.Do(req)
	if err != nil {
		return classifyNetwork("answering through the response URL", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	return r.answer(resp, string(text))
}

// answer reads what came back: "ok" or {"ok":true}, or an error word with any
// status.
func (r *Responder) answer(resp *http.Response, text string) error {
	const doing = "answering through the response URL"
	word := text
	var parsed struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(text), &parsed) == nil {
		word = parsed.Error
	}
	switch {
	case resp.StatusCode == http.StatusOK && (parsed.OK || word == "ok" || word == ""):
		return nil
	case resp.StatusCode == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		r.metrics.rateLimited.WithLabelValues(methodRespond).Inc()
		return classify(doing, &slackapi.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second})
	case word == "used_url" || word == "expired_url" || resp.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %s: %w", doing, clip(sanitize(word), 60), ErrGone)
	case resp.StatusCode == http.StatusOK:
		return classifyWord(doing, slackapi.SlackErrorResponse{Err: word})
	}
	return classifyStatus(doing, resp.StatusCode)
}
