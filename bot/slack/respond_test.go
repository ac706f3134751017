package slack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// ask types a command and returns the response URL that came with it.
func (r *rig) ask(t *testing.T, b *inbox) string {
	t.Helper()
	acked(t, r.command(t, "/kafka-diagnose group orders"))
	synctest.Wait()
	got := b.got()
	return got[len(got)-1].ResponseURL
}

func TestPrivateAnswerAndShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		_, stop := r.listen(t, b)
		answer := NewResponder(r.cfg, r.log, nil)
		url := r.ask(t, b)
		m := card()
		m.Buttons = []playbooks.Button{{Action: playbooks.ActionShare, Label: "Share", Value: "answer-1"}}
		say := func(url string, m playbooks.Message, o ResponseOptions) {
			t.Helper()
			if err := answer.Respond(context.Background(), url, m, o); err != nil {
				t.Fatal(err)
			}
		}
		say(url, playbooks.Message{Text: "Looking…"}, ResponseOptions{})
		say(url, m, ResponseOptions{ReplaceOriginal: true})
		private := r.PrivateTo(anna, channel)
		if len(private) != 1 || !strings.Contains(private[0].Terminal(), "Restart burst") || len(r.Messages(channel)) != 0 {
			t.Fatalf("%d private messages, %d public", len(private), len(r.Messages(channel)))
		}
		click, err := r.Click(anna, channel, private[0].TS, "Share")
		if err != nil {
			t.Fatal(err)
		}
		acked(t, click)
		synctest.Wait()
		k := b.clicked()[0]
		if k.Action != playbooks.ActionShare || k.Value != "answer-1" || k.MessageTS != private[0].TS || k.ChannelID != channel {
			t.Errorf("click: %+v", k)
		}
		say(k.ResponseURL, card(), ResponseOptions{InChannel: true})
		say(k.ResponseURL, playbooks.Message{}, ResponseOptions{DeleteOriginal: true})
		if len(r.PrivateTo(anna, channel)) != 0 || len(r.Messages(channel)) != 1 {
			t.Errorf("after sharing: %d private, %d public", len(r.PrivateTo(anna, channel)), len(r.Messages(channel)))
		}
		_ = stop()
		r.clean(t)
	})
}

func TestResponseURLRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		_, stop := r.listen(t, b)
		say := func(a *Responder, url string) error {
			return a.Respond(context.Background(), url, card(), ResponseOptions{})
		}
		a := NewResponder(r.cfg, r.log, nil)
		url := r.ask(t, b)
		for i := range responseUses {
			if err := say(a, url); err != nil {
				t.Fatalf("use %d: %v", i+1, err)
			}
		}
		if err := say(a, url); !errors.Is(err, ErrGone) {
			t.Errorf("sixth use: %v, want ErrGone", err)
		}
		// A bot that was restarted does not know; Slack tells it.
		if err := say(NewResponder(r.cfg, r.log, nil), url); !errors.Is(err, ErrGone) {
			t.Errorf("sixth use after a restart: %v, want ErrGone", err)
		}
		old := r.ask(t, b)
		time.Sleep(31 * time.Minute)
		if err := say(NewResponder(r.cfg, r.log, nil), old); !errors.Is(err, ErrGone) || strings.Contains(err.Error(), "http") {
			t.Errorf("after 31 min: %v, want ErrGone without the URL", err)
		}
		_ = stop()
		r.clean(t)
	})
}

func TestResponderFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		_, stop := r.listen(t, b)
		a := NewResponder(r.cfg, r.log, nil)
		for _, tc := range []struct {
			fault     slackdouble.Fault
			ambiguous bool
		}{
			{slackdouble.Fault{RetryAfter: 7 * time.Second}, false},
			{slackdouble.Fault{Status: 502}, true},
			{slackdouble.Fault{Hang: true}, true},
			{slackdouble.Fault{Cut: true, Accept: true}, true},
		} {
			tc.fault.Method = "response_url"
			url := r.ask(t, b)
			r.Inject(tc.fault)
			err := a.Respond(context.Background(), url, card(), ResponseOptions{})
			checkFault(t, err, nil, tc.ambiguous)
			if strings.Contains(err.Error(), "slack.double") {
				t.Errorf("the error shows the URL: %v", err)
			}
		}
		_ = stop()
		r.clean(t)
	})
}

func TestResponderAnswersOnlySlack(t *testing.T) {
	for _, to := range []string{"", "http://hooks.slack.com/x", "https://evil.example/", "https://hooks.slack.com.evil.example/", "https://hooks.slack.com@evil.example/x", "file:///etc/passwd"} {
		err := NewResponder(Config{}, nil, nil).Respond(context.Background(), to, card(), ResponseOptions{})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v, want ErrRefused", to, err)
		}
	}
}
