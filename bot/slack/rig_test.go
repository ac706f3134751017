package slack

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// channel and anna are the double's channel and its one person.
const (
	channel = slackdouble.DefaultChannel
	anna    = slackdouble.DefaultUser
)

// rig is a double in memory and a config that leads to it.
type rig struct {
	*slackdouble.Server
	cfg Config
	log *slog.Logger
}

// newRig starts a double with the app that deploy/slack/manifest.yaml describes.
// It checks at the end that the double has nothing to complain about; a test
// that provokes complaints takes them with audit.
func newRig(t *testing.T, o slackdouble.Options) *rig {
	t.Helper()
	manifest, err := os.ReadFile("../../deploy/slack/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o.Manifest = manifest
	s, err := slackdouble.StartInMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := &rig{Server: s, log: slog.New(slog.DiscardHandler), cfg: Config{
		BotToken: slackdouble.DefaultBotToken, AppToken: slackdouble.DefaultAppToken,
		DefaultChannel: channel, APIURL: s.APIURL(), Dial: s.Dial(), Connections: 1, Timeout: defaultTimeout,
	}}
	return r
}

// clean fails the test if the double saw anything wrong, or if a fault was
// injected and never met.
func (r *rig) clean(t *testing.T) {
	t.Helper()
	for _, v := range r.Audit() {
		t.Errorf("the double complains: %s", v)
	}
	for _, m := range r.UnusedFaults() {
		t.Errorf("a fault of %s was never met", m)
	}
}

func (r *rig) sender() *Sender { return NewSender(r.cfg, r.log, nil) }

// root is a post of an incident's root, reply one into its thread.
func root(seq int64) Post {
	return Post{Channel: channel, IncidentID: "inc-1", Seq: seq, Message: card()}
}

func reply(ts string, seq int64) Post {
	return Post{Channel: channel, ThreadTS: ts, IncidentID: "inc-1", Seq: seq, Message: playbooks.Message{Text: "Over: no error for 10 min."}}
}

// card is a root as an incident shows it.
func card() playbooks.Message {
	return playbooks.Message{
		Text:    "Restart burst, probably harmless: broker 3 of kafka-prod. Next: wait.",
		Title:   playbooks.T("Restart burst — probably harmless"),
		Subject: playbooks.T("kafka-prod · broker 3"),
		Summary: playbooks.T("20 of 20 consumers each got one error and carried on."),
		Buttons: []playbooks.Button{
			{Action: playbooks.ActionLookAgain, Label: "Look again", Value: "inc-1"},
			{Action: playbooks.ActionAcknowledge, Label: "Acknowledge", Value: "inc-1"},
		},
	}
}

func mustSend(t *testing.T, s *Sender, p Post) Posted {
	t.Helper()
	posted, err := s.Send(context.Background(), p)
	if err != nil {
		t.Fatalf("Send: %v", err)
	}
	return posted
}
