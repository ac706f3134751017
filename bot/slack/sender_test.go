package slack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func TestSendPostsRepliesAndEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		posted := mustSend(t, s, root(1))
		if posted.Threaded || posted.Channel != channel {
			t.Errorf("root: %+v", posted)
		}
		answer := mustSend(t, s, reply(posted.TS, 2))
		if !answer.Threaded {
			t.Errorf("the reply is not threaded: %+v", answer)
		}
		edit := root(3)
		edit.UpdateTS = posted.TS
		edit.Message.Title = playbooks.T("Restart burst — over")
		if got := mustSend(t, s, edit); got.TS != posted.TS {
			t.Errorf("edit went to %s, want %s", got.TS, posted.TS)
		}
		thread := r.Thread(channel, posted.TS)
		if len(thread) != 2 || thread[0].Edits != 1 || !strings.Contains(thread[0].Terminal(), "Restart burst — over") {
			t.Errorf("thread: %d messages, %s", len(thread), thread[0].Terminal())
		}
		if got := len(r.Messages(channel)); got != 1 {
			t.Errorf("%d messages at channel level, want 1", got)
		}
		r.clean(t)
	})
}

func TestBroadcastShowsReplyInChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		posted := mustSend(t, s, root(1))
		p := reply(posted.TS, 2)
		p.Broadcast = true
		if got := mustSend(t, s, p); !got.Threaded {
			t.Errorf("a broadcast reply is in its thread, too: %+v", got)
		}
		if m := r.Messages(channel); len(m) != 2 || !m[1].Broadcast {
			t.Errorf("channel shows %d messages", len(m))
		}
		r.clean(t)
	})
}

// Posts of 20 goroutines into two channels keep the pace of one a second and
// channel, and the channels do not wait for each other.
func TestPostsKeepTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{Channels: []slackdouble.Channel{{ID: channel, Name: "a"}, {ID: "C0OTHER", Name: "b"}}})
		s := r.sender()
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				p := root(int64(i))
				if i%2 == 1 {
					p.Channel = "C0OTHER"
				}
				if _, err := s.Send(context.Background(), p); err != nil {
					t.Errorf("post %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("10 posts in each of two channels took %s, want 9 s", took)
		}
		if n := r.Calls("chat.postMessage", "429"); n != 0 {
			t.Errorf("%d answers 429", n)
		}
		r.clean(t)
	})
}

func TestEditsKeepTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		edit := root(1)
		edit.UpdateTS = mustSend(t, s, root(1)).TS
		start := time.Now()
		for range 100 {
			mustSend(t, s, edit)
		}
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("100 edits took %s", took)
		}
		if n := r.Calls("chat.update", "429"); n != 0 {
			t.Errorf("%d answers 429", n)
		}
		r.clean(t)
	})
}

func TestRateLimitPausesTheMethodEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{Channels: []slackdouble.Channel{{ID: channel, Name: "a"}, {ID: "C0OTHER", Name: "b"}}})
		s := r.sender()
		ts := mustSend(t, s, root(1)).TS
		r.Inject(slackdouble.Fault{Method: "chat.postMessage", RetryAfter: 30 * time.Second})
		time.Sleep(time.Second)
		var retry *RetryError
		if _, err := s.Send(context.Background(), root(2)); !errors.As(err, &retry) || retry.Ambiguous || retry.After != 30*time.Second {
			t.Fatalf("first post: %v", err)
		}
		time.Sleep(10 * time.Second)
		other := root(3)
		other.Channel = "C0OTHER"
		if _, err := s.Send(context.Background(), other); !errors.As(err, &retry) || retry.After > 20*time.Second || retry.Ambiguous {
			t.Fatalf("post into another channel during the pause: %v", err)
		}
		edit := root(4)
		edit.UpdateTS = ts
		mustSend(t, s, edit) // another method goes on
		time.Sleep(20 * time.Second)
		mustSend(t, s, other)
		if n := r.Calls("chat.postMessage", ""); n != 3 {
			t.Errorf("%d calls, want 3: none during the pause", n)
		}
		r.clean(t)
	})
}

// faults are what can happen to a post: which error it must give, whether the
// message is there all the same, and whether Find says so.
var faults = []struct {
	name      string
	fault     slackdouble.Fault
	want      error // nil for a RetryError
	ambiguous bool
	there     bool
}{
	{"429", slackdouble.Fault{RetryAfter: 3 * time.Second}, nil, false, false},
	{"503", slackdouble.Fault{Status: 503}, nil, true, false},
	{"accepted, then 500", slackdouble.Fault{Status: 500, Accept: true}, nil, true, true},
	{"accepted, then no answer", slackdouble.Fault{Hang: true, Accept: true}, nil, true, true},
	{"accepted, then cut", slackdouble.Fault{Cut: true, Accept: true}, nil, true, true},
	{"no answer", slackdouble.Fault{Hang: true}, nil, true, false},
	{"internal_error", slackdouble.Fault{Word: "internal_error"}, nil, true, false},
	{"fatal_error", slackdouble.Fault{Word: "fatal_error"}, nil, true, false},
	{"ratelimited in a 200", slackdouble.Fault{Word: "ratelimited"}, nil, false, false},
	{"token revoked", slackdouble.Fault{Word: "token_revoked"}, ErrAuth, false, false},
	{"read-only channel", slackdouble.Fault{Word: "restricted_action_read_only_channel"}, ErrChannel, false, false},
	{"message gone", slackdouble.Fault{Word: "message_not_found"}, ErrGone, false, false},
	{"unknown word", slackdouble.Fault{Word: "no_such_word_yet"}, ErrRefused, false, false},
}

func TestSendFaults(t *testing.T) {
	for _, thread := range []bool{false, true} {
		for _, tc := range faults {
			name := tc.name
			if thread {
				name += " in a thread"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, slackdouble.Options{})
					s := r.sender()
					p := root(2)
					if thread {
						p.ThreadTS = mustSend(t, s, root(1)).TS
					}
					tc.fault.Method = "chat.postMessage"
					since := time.Now()
					r.Inject(tc.fault)
					_, err := s.Send(context.Background(), p)
					checkFault(t, err, tc.want, tc.ambiguous)
					posted, found, err := s.Find(context.Background(), p, since.Add(-time.Minute))
					if err != nil || found != tc.there {
						t.Fatalf("Find = %v, %v, %v; want found %v", posted, found, err, tc.there)
					}
					if found && (posted.TS == "" || posted.Threaded != thread) {
						t.Errorf("found %+v", posted)
					}
					r.clean(t)
				})
			})
		}
	}
}

func checkFault(t *testing.T, err, want error, ambiguous bool) {
	t.Helper()
	var retry *RetryError
	if want == nil {
		if !errors.As(err, &retry) || retry.Ambiguous != ambiguous || retry.After <= 0 {
			t.Fatalf("error is %#v (%v), want a RetryError with Ambiguous %v", err, err, ambiguous)
		}
		return
	}
	if !errors.Is(err, want) || errors.As(err, &retry) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

func TestNobodyListensIsNotAmbiguous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		r.Close()
		_, err := s.Send(context.Background(), root(1))
		checkFault(t, err, nil, false)
		if strings.Contains(err.Error(), "slack.double") {
			t.Errorf("the error names a host: %v", err)
		}
	})
}

func TestReplyToADeletedRootIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		posted := mustSend(t, s, root(1))
		if err := r.DeleteMessage(channel, posted.TS); err != nil {
			t.Fatal(err)
		}
		stray := mustSend(t, s, reply(posted.TS, 2))
		if stray.Threaded {
			t.Errorf("a reply without a root counts as threaded: %+v", stray)
		}
		found, ok, err := s.Find(context.Background(), reply(posted.TS, 2), time.Now().Add(-time.Minute))
		if err != nil || !ok || found.TS != stray.TS || found.Threaded {
			t.Errorf("Find = %+v, %v, %v; want the stray", found, ok, err)
		}
		edit := root(3)
		edit.UpdateTS = posted.TS
		if _, err := s.Send(context.Background(), edit); !errors.Is(err, ErrGone) {
			t.Errorf("edit of a deleted root: %v, want ErrGone", err)
		}
		never := reply("1000000000.000100", 4)
		if _, err := s.Send(context.Background(), never); !errors.Is(err, ErrGone) {
			t.Errorf("reply to a root that never was: %v, want ErrGone", err)
		}
		r.clean(t)
	})
}

func TestChannelTroubles(t *testing.T) {
	channels := []slackdouble.Channel{
		{ID: channel, Name: "a"}, {ID: "C0PUBLIC", Name: "p", BotAbsent: true},
		{ID: "C0PRIVATE", Name: "q", Private: true, BotAbsent: true},
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{Channels: channels})
		s := r.sender()
		for _, id := range []string{"C0PRIVATE", "C0NOWHERE"} {
			p := root(1)
			p.Channel = id
			if _, err := s.Send(context.Background(), p); !errors.Is(err, ErrChannel) {
				t.Errorf("%s: %v, want ErrChannel", id, err)
			}
		}
		public := root(2)
		public.Channel = "C0PUBLIC"
		mustSend(t, s, public) // joins
		if n := r.Calls("conversations.join", "ok"); n != 1 {
			t.Errorf("joined %d times", n)
		}
		ts := mustSend(t, s, root(3)).TS
		r.Archive(channel)
		edit := root(4)
		edit.UpdateTS = ts
		for _, p := range []Post{root(5), edit} {
			if _, err := s.Send(context.Background(), p); !errors.Is(err, ErrChannel) {
				t.Errorf("archived channel: %v, want ErrChannel", err)
			}
		}
		r.Kick("C0PUBLIC")
		r.Revoke("channels:join")
		if _, err := s.Send(context.Background(), public); !errors.Is(err, ErrChannel) || !strings.Contains(err.Error(), "/invite") {
			t.Errorf("without a way to join: %v, want ErrChannel and what to do", err)
		}
		r.clean(t)
	})
}

func TestScopeTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		posted := mustSend(t, s, root(1))
		r.Revoke("channels:history")
		for _, p := range []Post{root(1), reply(posted.TS, 2)} {
			if _, _, err := s.Find(context.Background(), p, time.Now().Add(-time.Minute)); !errors.Is(err, ErrNoHistory) {
				t.Errorf("Find without the scope: %v, want ErrNoHistory", err)
			}
		}
		r.Revoke("chat:write")
		time.Sleep(time.Second)
		if _, err := s.Send(context.Background(), root(2)); !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "chat:write") {
			t.Errorf("Send without the scope: %v, want ErrAuth that names chat:write", err)
		}
		time.Sleep(time.Second)
		bad := r.cfg
		bad.BotToken = "xoxb-wrong"
		if _, err := NewSender(bad, r.log, nil).Send(context.Background(), root(3)); !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "xoxb") {
			t.Errorf("wrong token: %v, want ErrAuth without the token", err)
		}
		id, err := s.Check(context.Background())
		if err != nil || id.BotID == "" || id.Workspace == "" {
			t.Errorf("Check = %+v, %v", id, err)
		}
		r.clean(t)
	})
}

// What Slack refuses in the blocks is sent as text: worse to read, not lost.
func TestRefusedBlocksGoOutAsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		for _, word := range []string{"invalid_blocks", "msg_blocks_too_long"} {
			r.Inject(slackdouble.Fault{Method: "chat.postMessage", Word: word})
			mustSend(t, s, root(1))
		}
		for _, m := range r.Messages(channel) {
			if m.Blocks != nil || !strings.Contains(m.Text, "Restart burst") || !strings.Contains(m.Text, "20 of 20") {
				t.Errorf("text fallback: %q with %d blocks", m.Text, len(m.Blocks))
			}
		}
		r.clean(t)
	})
}

func TestSendGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		mustSend(t, s, root(1))
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_, err := s.Send(ctx, root(2))
		checkFault(t, err, nil, false) // it was still waiting for its turn
		time.Sleep(time.Second)
		if n := len(r.Messages(channel)); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
		r.clean(t)
	})
}
