package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// story is one incident with a root, edits, replies and details: fire, upgrade,
// resolve.
func story(t *testing.T, r *rig) {
	t.Helper()
	a := burst("3")
	r.oracle.set(diagnose.RestartBurst, diagnose.Provisional)
	r.deliver(webhook(a))
	pass(15 * time.Second)
	r.oracle.set(diagnose.CacheThrash, diagnose.Confirmed)
	pass(35 * time.Second)
	r.deliver(webhook(a.over()))
	pass(15 * time.Second)
}

// deliver sends until it is taken, as Alertmanager does.
func (r *rig) deliver(body string) {
	for r.post(body) != 200 {
		pass(5 * time.Second)
	}
}

const storyThread = `
	Sustained thrashing — over
	  Evidence and steps
	  ! Upgraded: sustained thrashing (was: restart burst, provisional)
	  Over
`

// cutter kills the server at the n-th call of the poster, before or after the
// call took effect at Slack, and starts a new one over the same file.
type cutter struct {
	r      *rig
	n      int
	after  bool
	calls  int
	reborn chan struct{}
}

func (c *cutter) hook(after bool) func(slack.Post) error {
	return func(slack.Post) error {
		if after != c.after {
			return nil
		}
		if c.calls++; c.calls != c.n {
			return nil
		}
		// From here on the process does nothing more.
		c.r.server.cancelOps()
		go func() {
			defer close(c.reborn)
			c.r.kill()
			c.r.start()
		}()
		return errCut
	}
}

// Request 14, 56: killed between intent and call, or between Slack's acceptance
// and our commit, at every message of the story: nothing is lost and nothing is
// doubled.
func TestKilledAtEveryMessage(t *testing.T) {
	for _, after := range []bool{false, true} {
		most := cutAt(t, 0, after)
		if most < 6 {
			t.Fatalf("the story has %d messages only", most)
		}
		for n := 1; n <= most; n++ {
			t.Run(fmt.Sprintf("message %d after=%v", n, after), func(t *testing.T) {
				t.Parallel()
				cutAt(t, n, after)
			})
		}
	}
}

// cutAt plays the story with a cut at the n-th message and returns the number
// of messages.
func cutAt(t *testing.T, n int, after bool) (calls int) {
	t.Helper()
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Incident.Looks = []time.Duration{20 * time.Second}
		c := &cutter{r: r, n: n, after: after, reborn: make(chan struct{})}
		r.slack.before, r.slack.after = c.hook(false), c.hook(true)
		r.start()
		defer func() { r.stop() }()
		story(t, r)
		if n > 0 {
			<-c.reborn
		}
		pass(30 * time.Second)
		r.wantThread(storyThread)
		calls = c.calls
	})
	return calls
}

// The same without a kill: Slack accepted it, and the answer was a 5xx.
func TestLostAnswersAreSearchedFor(t *testing.T) {
	for n := 1; n <= 6; n++ {
		t.Run(fmt.Sprint("message ", n), func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg.Incident.Looks = []time.Duration{20 * time.Second}
				calls := 0
				r.slack.after = func(slack.Post) error {
					if calls++; calls == n {
						return &slack.RetryError{After: time.Second, Ambiguous: true, Err: errCut}
					}
					return nil
				}
				r.start()
				defer r.stop()
				story(t, r)
				r.wantThread(storyThread)
			})
		})
	}
}

// Without the history scope: wait 10 s, send again, count it.
func TestBlindResendIsCounted(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.slack.history = slack.ErrNoHistory
		failed := false
		r.slack.before = func(slack.Post) error {
			if !failed {
				failed = true
				return &slack.RetryError{After: time.Second, Ambiguous: true, Err: errCut}
			}
			return nil
		}
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(9 * time.Second)
		r.wantThread("")
		pass(3 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
		if got := metric(t, r, "kafka_oncall_possible_duplicates_total"); got != 1 {
			t.Errorf("possible duplicates %v, want 1", got)
		}
	})
}

// Requests 24, 25: a 429 is waited for, the order stays, others go on.
func TestRateLimitHoldsOneChannelOnly(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Routes = []Route{{Match: map[string]string{"broker_id": "9"}, Channel: "#slow"}}
		limited := 0
		r.slack.before = func(p slack.Post) error {
			if p.Channel == "#slow" && limited < 1 {
				limited++
				return &slack.RetryError{After: 40 * time.Second, Err: errCut}
			}
			return nil
		}
		r.start()
		defer r.stop()
		r.post(webhook(one{name: "Slow", labels: map[string]string{"broker_id": "9"}, starts: time.Now()}))
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
		pass(42 * time.Second)
		r.wantThread(`
			Restart burst — probably harmless
			  Evidence and steps
			Restart burst — probably harmless
			  Evidence and steps
		`)
		if got := text1(r.slack.roots()[1]); !strings.Contains(got, "40s late") {
			t.Errorf("request 26: the delay is not in the message: %s", got)
		}
	})
}

// Requests 11, 12: a deleted root is noticed by the edit or by a reply that
// went astray, and posted again once, with a link; nothing is left in the
// channel.
func TestDeletedRootIsPostedAgainOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		a := burst("3")
		r.post(webhook(a))
		pass(2 * time.Second)
		old := r.slack.roots()[0]
		r.slack.set(func(s *tinySlack) {
			for _, m := range s.messages {
				m.deleted = true
			}
		})
		r.post(webhook(a.over()))
		pass(10 * time.Second)
		r.wantThread(`
			Restart burst — over
			  Over
			  Evidence and steps
		`)
		link := "https://acme.slack.com/archives/C-kafka/p" + strings.ReplaceAll(old.ts, ".", "")
		if got := text1(r.slack.roots()[0]); !strings.Contains(got, link) {
			t.Errorf("no link to %s: %s", link, got)
		}
		pass(2 * time.Minute)
		if got := metric(t, r, "kafka_oncall_roots_recreated_total"); got != 1 {
			t.Errorf("recreated %v times", got)
		}
	})
}

// Request 51: a channel that cannot be posted to, at first or later.
func TestFallbackChannel(t *testing.T) {
	for _, from := range []string{"root", "reply"} {
		t.Run(from, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := newRig(t)
				archived := from == "root"
				r.slack.before = func(p slack.Post) error {
					if archived && id(p.Channel) == "C-kafka" {
						return slack.ErrChannel
					}
					return nil
				}
				r.start()
				defer r.stop()
				a := burst("3")
				r.post(webhook(a))
				pass(2 * time.Second)
				r.slack.set(func(*tinySlack) { archived = true })
				r.post(webhook(a.over()))
				pass(10 * time.Second)
				root := r.slack.roots()[len(r.slack.roots())-1]
				if root.channel != "C-fallback" || !strings.Contains(text1(root), "This belongs into #kafka") || !strings.Contains(text1(root), "over") {
					t.Errorf("%s: %s", root.channel, text1(root))
				}
				if got := r.slack.thread(); strings.Count(got, "  Over\n") != 1 || strings.Count(got, "  Evidence and steps\n") > 2 {
					t.Error(got)
				}
				if got := metric(t, r, "kafka_oncall_fallback_total"); got != 1 {
					t.Errorf("fallbacks %v", got)
				}
			})
		})
	}
}

// A refused token: messages wait, readiness says so, and they go out once it is
// mended.
func TestRefusedTokenWaits(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		bad := true
		r.slack.before = func(slack.Post) error {
			if bad {
				return slack.ErrAuth
			}
			return nil
		}
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		if code, text := get(r, "/-/ready"); code != 503 || !strings.Contains(text, "slack token") {
			t.Errorf("%d %s", code, text)
		}
		r.slack.set(func(*tinySlack) { bad = false })
		pass(35 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
		if code, text := get(r, "/-/ready"); code != 200 {
			t.Errorf("%d %s", code, text)
		}
	})
}

// A payload that Slack refuses goes out as its one line.
func TestRefusedPayloadGoesOutShort(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.slack.before = func(p slack.Post) error {
			if len(p.Message.Title) > 0 {
				return slack.ErrRefused
			}
			return nil
		}
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		if got := r.slack.thread(); !strings.HasPrefix(got, "Restart burst, probably harmless: kafka-prod, broker 3.") {
			t.Error(got)
		}
	})
}
