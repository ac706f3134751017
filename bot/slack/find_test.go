package slack

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

func TestFindInBusyChannel(t *testing.T) {
	for _, small := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, slackdouble.Options{SmallHistory: small})
			s := r.sender()
			since := time.Now()
			posted := mustSend(t, s, root(7))
			for range 14 {
				if _, err := r.Write(anna, channel, "", "what is going on?"); err != nil {
					t.Fatal(err)
				}
			}
			got, found, err := s.Find(context.Background(), root(7), since)
			if err != nil || !found || got.TS != posted.TS {
				t.Errorf("small %v: Find = %+v, %v, %v", small, got, found, err)
			}
			for _, p := range []Post{root(8), {Channel: channel, IncidentID: "inc-2", Seq: 7}} {
				if small {
					time.Sleep(time.Minute)
				}
				if _, found, err := s.Find(context.Background(), p, since); err != nil || found {
					t.Errorf("small %v: Find(%s/%d) = %v, %v; want not found", small, p.IncidentID, p.Seq, found, err)
				}
			}
			r.clean(t)
		})
	}
}

func TestFindReadsAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		since := time.Now()
		posted := mustSend(t, s, root(7))
		for range 450 {
			if _, err := r.Write(anna, channel, "", "noise"); err != nil {
				t.Fatal(err)
			}
		}
		got, found, err := s.Find(context.Background(), root(7), since)
		if err != nil || !found || got.TS != posted.TS {
			t.Errorf("Find = %+v, %v, %v", got, found, err)
		}
		if n := r.Calls("conversations.history", "ok"); n != 3 {
			t.Errorf("%d pages read, want 3", n)
		}
	})
}

func TestFindEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s := r.sender()
		edit := root(2)
		edit.UpdateTS = mustSend(t, s, root(1)).TS
		if _, found, err := s.Find(context.Background(), edit, time.Now()); err != nil || found {
			t.Errorf("before the edit: %v, %v", found, err)
		}
		r.Inject(slackdouble.Fault{Method: "chat.update", Status: 502, Accept: true})
		_, err := s.Send(context.Background(), edit)
		checkFault(t, err, nil, true)
		if got, found, err := s.Find(context.Background(), edit, time.Now()); err != nil || !found || got.TS != edit.UpdateTS {
			t.Errorf("after the edit: %+v, %v, %v", got, found, err)
		}
		r.clean(t)
	})
}
