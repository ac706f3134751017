package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// The kinds of inbox rows.
const (
	itemAlerts  = "alerts"
	itemCommand = "command"
	itemClick   = "click"
	itemVerdict = "verdict"
	itemAsked   = "asked"
	itemTimer   = "timer"
	itemRepost  = "repost"
)

// The server is the Slack handler.
var _ slack.Handler = (*Server)(nil)

func (s *Server) item(kind string, v any) (store.Item, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return store.Item{}, fmt.Errorf("encoding a row for the inbox: %w", err)
	}
	return store.Item{Kind: kind, Body: body, Received: s.deps.Now()}, nil
}

func (s *Server) append(ctx context.Context, kind string, v any) error {
	it, err := s.item(kind, v)
	if err != nil {
		return err
	}
	if err := s.store.Append(ctx, it); err != nil {
		s.metrics.storeError(err)
		return err
	}
	return nil
}

// sink is the webhook's way into the inbox.
type sink struct{ s *Server }

// Accept stores a delivery.
func (k sink) Accept(ctx context.Context, d alertmanager.Delivery) error {
	k.s.metrics.cut(d.Cut)
	return k.s.append(ctx, itemAlerts, d)
}

// OnCommand stores a command. When it cannot, the person is told at once.
func (s *Server) OnCommand(ctx context.Context, c slack.Command) {
	if err := s.append(ctx, itemCommand, c); err != nil {
		s.deps.Log.Error("command not kept", "command_id", c.ID, "error", err)
		s.metrics.commands.WithLabelValues("unknown", "not_kept").Inc()
		s.apologize(ctx, c.ResponseURL)
	}
}

// OnClick stores a click. When it cannot, the person is told at once.
func (s *Server) OnClick(ctx context.Context, c slack.Click) {
	if err := s.append(ctx, itemClick, c); err != nil {
		s.deps.Log.Error("click not kept", "click_id", c.ID, "error", err)
		s.metrics.clicks.WithLabelValues(closedAction(c.Action), "not_kept").Inc()
		s.apologize(ctx, c.ResponseURL)
	}
}

func (s *Server) apologize(ctx context.Context, url string) {
	if url == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	const text = "I could not store that. Please try again in a minute."
	err := s.deps.Responder.Respond(ctx, url, playbooks.Message{Text: text, Summary: playbooks.T(text)}, slack.ResponseOptions{})
	if err != nil {
		s.deps.Log.Warn("nor could the person be told", "error", err)
	}
}

// onTimer turns a timer into an event. A superseded timer changes nothing.
func (s *Server) onTimer(ctx context.Context, t store.Timer) error {
	return s.append(ctx, itemTimer, t)
}

// alarm makes timers punctual: River looks for scheduled jobs every 5 s. The
// same timer twice is one, so the alarm needs no memory.
func (s *Server) alarm(t store.Timer) {
	s.deps.After(max(t.At.Sub(s.deps.Now()), 0), func() {
		select {
		case <-s.quit:
		default:
			if err := s.onTimer(s.ops, t); err != nil {
				s.deps.Log.Debug("an alarm was not kept, its timer will", "error", err)
			}
		}
	})
}

// closedAction keeps outside words out of metric labels.
func closedAction(a playbooks.Action) string {
	switch a {
	case playbooks.ActionDone, playbooks.ActionLookAgain, playbooks.ActionAcknowledge, playbooks.ActionShare:
		return string(a)
	}
	return "unknown"
}
