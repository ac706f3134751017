package bot

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// message is one message in the tiny Slack.
type message struct {
	channel, ts, thread string
	broadcast, deleted  bool
	post                slack.Post
	edits               int
}

// tinySlack keeps messages and can be told to fail. It outlives servers, as
// Slack does.
type tinySlack struct {
	mu       sync.Mutex
	n        int
	messages []*message
	answers  []answered
	// before is asked before each call takes effect, after once it has.
	before, after func(p slack.Post) error
	history       error
	calls         []string
}

type answered struct {
	url     string
	message playbooks.Message
	options slack.ResponseOptions
}

// Send takes a message the way the contract says.
func (s *tinySlack) Send(ctx context.Context, p slack.Post) (slack.Posted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, kindOfPost(p))
	if s.before != nil {
		if err := s.before(p); err != nil {
			return slack.Posted{}, err
		}
	}
	posted, err := s.apply(p)
	if err == nil && s.after != nil {
		err = s.after(p)
	}
	if err == nil {
		err = ctx.Err()
	}
	return posted, err
}

func kindOfPost(p slack.Post) string {
	switch {
	case p.UpdateTS != "":
		return "edit"
	case p.ThreadTS != "":
		return "reply"
	}
	return "root"
}

func (s *tinySlack) apply(p slack.Post) (slack.Posted, error) {
	if p.UpdateTS != "" {
		m := s.find(p.UpdateTS)
		if m == nil || m.deleted || m.channel != p.Channel {
			return slack.Posted{}, slack.ErrGone
		}
		m.post.Message, m.post.Seq = p.Message, p.Seq
		m.edits++
		return slack.Posted{Channel: m.channel, TS: m.ts, Threaded: m.thread != ""}, nil
	}
	s.n++
	m := &message{channel: id(p.Channel), ts: fmt.Sprintf("%d.%06d", time.Now().Unix(), s.n), broadcast: p.Broadcast, post: p}
	if root := s.find(p.ThreadTS); root != nil && !root.deleted {
		m.thread = p.ThreadTS
	}
	s.messages = append(s.messages, m)
	return slack.Posted{Channel: m.channel, TS: m.ts, Threaded: m.thread != ""}, nil
}

// id: Slack answers with ids where names went in (request 15).
func id(channel string) string { return strings.Replace(channel, "#", "C-", 1) }

func (s *tinySlack) find(ts string) *message {
	for _, m := range s.messages {
		if m.ts == ts && ts != "" {
			return m
		}
	}
	return nil
}

// Find searches by metadata.
func (s *tinySlack) Find(_ context.Context, p slack.Post, since time.Time) (slack.Posted, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, "find")
	if s.history != nil {
		return slack.Posted{}, false, s.history
	}
	for _, m := range s.messages {
		var sec int64
		_, _ = fmt.Sscanf(m.ts, "%d.", &sec)
		if m.post.IncidentID == p.IncidentID && m.post.Seq == p.Seq && sec >= since.Unix() {
			return slack.Posted{Channel: m.channel, TS: m.ts, Threaded: m.thread != ""}, true, nil
		}
	}
	return slack.Posted{}, false, nil
}

// Delete removes a message.
func (s *tinySlack) Delete(_ context.Context, _, ts string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(ts)
	if m == nil {
		return slack.ErrGone
	}
	m.deleted = true
	return nil
}

// Respond keeps an answer.
func (s *tinySlack) Respond(_ context.Context, url string, m playbooks.Message, o slack.ResponseOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(url, "used") {
		return slack.ErrGone
	}
	s.answers = append(s.answers, answered{url, m, o})
	return nil
}

// thread prints the messages that are there: roots, and their replies indented.
func (s *tinySlack) thread() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, m := range s.messages {
		if m.deleted {
			continue
		}
		if m.thread != "" {
			b.WriteString("  ")
			if m.broadcast {
				b.WriteString("! ")
			}
		}
		b.WriteString(title(m.post.Message))
		b.WriteString("\n")
	}
	return b.String()
}

func title(m playbooks.Message) string {
	if len(m.Title) == 0 {
		return m.Text
	}
	return m.Title.String()
}

func (s *tinySlack) roots() []*message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*message
	for _, m := range s.messages {
		if m.thread == "" && !m.deleted {
			out = append(out, m)
		}
	}
	return out
}

func (s *tinySlack) set(do func(*tinySlack)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s)
}
