package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
)

const (
	// sendTimeout bounds one call, the wait for Slack's rate limit included.
	sendTimeout = 90 * time.Second
	// searchBack is how far before the intent a lost message is searched for:
	// our clock and Slack's differ.
	searchBack = 60 * time.Second
	// blindWait is how long a message that may have arrived is left alone when
	// the history may not be read.
	blindWait = 10 * time.Second
	// answerLife is how long a response URL works.
	answerLife = 30 * time.Minute
	// maxRoots bounds how often a deleted root is posted again.
	maxRoots = 5
	minPause = time.Second
	maxPause = 5 * time.Minute
)

// post builds what is sent; ok is false when the row has nowhere to go any more.
func (s *Server) post(ctx context.Context, o store.Out) (p slack.Post, th store.Thread, ok bool, err error) {
	var body outgoing
	if err := json.Unmarshal(o.Body, &body); err != nil {
		s.deps.Log.Error("a message could not be read and was dropped", "seq", o.Seq, "error", err)
		return p, th, false, nil
	}
	th, ok, err = s.store.Thread(ctx, o.Thread)
	if err != nil || !ok {
		return p, th, false, err
	}
	p = slack.Post{Channel: th.Channel, Message: body.Message, IncidentID: o.Thread, Seq: o.Seq, Broadcast: body.Broadcast}
	if p.Channel == "" {
		p.Channel = th.Lane
	}
	switch o.Kind {
	case store.KindReply, store.KindDetails:
		p.ThreadTS = th.RootTS
	case store.KindEdit:
		p.UpdateTS = th.RootTS
	case store.KindEditDetails:
		p.ThreadTS, p.UpdateTS = th.RootTS, th.DetailsTS
	}
	if o.Kind == store.KindRoot || o.Kind == store.KindEdit {
		p.Message = s.decorate(p.Message, th, s.late(o))
	}
	return p, th, true, nil
}

// late is how long a root has been due; edits are not news.
func (s *Server) late(o store.Out) time.Duration {
	if o.Kind != store.KindRoot {
		return 0
	}
	return s.deps.Now().Sub(o.Wanted)
}

// lookForLost searches for a message whose answer was lost before it is sent
// again. done is true when there is nothing more to do now.
func (s *Server) lookForLost(ctx context.Context, o store.Out) (done bool, err error) {
	if o.Kind == store.KindRespond {
		s.metrics.duplicates.Inc()
		return false, nil
	}
	p, th, ok, err := s.post(ctx, o)
	if err != nil || !ok {
		return false, err
	}
	find, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	posted, found, findErr := s.deps.Poster.Find(find, p, o.Intent.Add(-searchBack))
	if ctx.Err() != nil {
		return true, nil
	}
	var retry *slack.RetryError
	switch {
	case found && findErr == nil:
		s.count(o, "found")
		s.deps.Log.Info("a message whose answer was lost was found", "incident_id", o.Thread, "seq", o.Seq, "kind", o.Kind)
		return true, s.sent(ctx, o, th, posted)
	case findErr == nil:
		return false, nil
	case errors.As(findErr, &retry):
		return true, s.later(ctx, o, retry.After, true)
	case errors.Is(findErr, slack.ErrAuth) && !errors.Is(findErr, slack.ErrNoHistory):
		return true, s.later(ctx, o, pause(o.Attempt), true)
	}
	if wait := o.Intent.Add(blindWait).Sub(s.deps.Now()); wait > 0 {
		return true, s.later(ctx, o, wait, true)
	}
	s.metrics.duplicates.Inc()
	s.deps.Log.Warn("a message is sent again although it may have arrived", "incident_id", o.Thread, "seq", o.Seq, "kind", o.Kind, "error", findErr)
	return false, nil
}

func (s *Server) send(ctx context.Context, o store.Out) error {
	p, th, ok, err := s.post(ctx, o)
	if err != nil {
		return err
	}
	if !ok {
		return s.drop(ctx, o, "no_thread", nil)
	}
	if s.shown.same(p) {
		s.count(o, "same")
		return s.sent(ctx, o, th, slack.Posted{Channel: p.Channel, TS: p.UpdateTS})
	}
	call, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	posted, err := s.deps.Poster.Send(call, p)
	if ctx.Err() != nil && err != nil {
		return nil // stopping: the intent stands, the next start searches
	}
	if err == nil {
		s.authBad.Store(false)
		s.count(o, "ok")
		s.shown.put(p)
		s.metrics.postDelay.WithLabelValues(o.Kind).Observe(max(0, s.deps.Now().Sub(o.Wanted).Seconds()))
		return s.sent(ctx, o, th, posted)
	}
	return s.refused(ctx, o, th, err)
}

// sent books a message that arrived.
func (s *Server) sent(ctx context.Context, o store.Out, th store.Thread, posted slack.Posted) error {
	reply := o.Kind == store.KindReply || o.Kind == store.KindDetails
	if reply && !posted.Threaded {
		return s.stray(ctx, o, th, posted)
	}
	return s.store.Update(ctx, "booking a message", func(tx *store.Tx) error {
		now, ok, err := tx.Thread(ctx, th.ID)
		if err != nil {
			return err
		}
		if ok && now.RootTS == th.RootTS {
			switch o.Kind {
			case store.KindRoot:
				now.RootTS, now.Channel, now.Roots = posted.TS, posted.Channel, now.Roots+1
			case store.KindDetails:
				now.DetailsTS = posted.TS
			}
			if err := tx.SaveThread(ctx, now); err != nil {
				return err
			}
		}
		s.rooted(o)
		return tx.Sent(ctx, o)
	})
}

// rooted measures webhook → root.
func (s *Server) rooted(o store.Out) {
	var body outgoing
	if o.Kind == store.KindRoot && json.Unmarshal(o.Body, &body) == nil && !body.Received.IsZero() {
		s.metrics.rootSeconds.Observe(s.deps.Now().Sub(body.Received).Seconds())
		s.deps.Log.Info("root posted", "incident_id", o.Thread, "after_ms", s.deps.Now().Sub(body.Received).Milliseconds())
	}
}

// refused decides what an error means for a row.
func (s *Server) refused(ctx context.Context, o store.Out, th store.Thread, err error) error {
	var retry *slack.RetryError
	switch {
	case errors.As(err, &retry):
		s.count(o, "retry")
		return s.later(ctx, o, max(retry.After, pause(o.Attempt)), retry.Ambiguous)
	case errors.Is(err, slack.ErrGone):
		s.count(o, "gone")
		return s.gone(ctx, o, th)
	case errors.Is(err, slack.ErrChannel):
		s.count(o, "channel")
		return s.fallback(ctx, o, th, err)
	case errors.Is(err, slack.ErrAuth):
		s.count(o, "auth")
		s.authBad.Store(true)
		s.deps.Log.Error("slack refuses the token; messages wait", "incident_id", o.Thread, "seq", o.Seq, "error", err)
		return s.later(ctx, o, max(30*time.Second, pause(o.Attempt)), false)
	case errors.Is(err, slack.ErrRefused):
		s.count(o, "refused")
		return s.unspeakable(ctx, o, err)
	}
	s.count(o, "unknown")
	s.deps.Log.Error("a message was not sent, trying again", "incident_id", o.Thread, "seq", o.Seq, "kind", o.Kind, "error", err)
	return s.later(ctx, o, pause(o.Attempt), true)
}

// unspeakable: Slack refuses the payload. The text alone goes out once; after
// that the row is dropped, loudly.
func (s *Server) unspeakable(ctx context.Context, o store.Out, err error) error {
	var body outgoing
	if o.Attempt > 1 || json.Unmarshal(o.Body, &body) != nil {
		return s.drop(ctx, o, "refused", err)
	}
	s.deps.Log.Error("slack refuses a message, its text alone is sent", "incident_id", o.Thread, "seq", o.Seq, "kind", o.Kind, "error", err)
	body.Message.Title, body.Message.Subject, body.Message.Summary = nil, nil, nil
	body.Message.Evidence, body.Message.Step, body.Message.Details = nil, nil, nil
	plain, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return s.store.Update(ctx, "shortening a message", func(tx *store.Tx) error {
		if err := tx.Rewrite(ctx, o.Seq, plain); err != nil {
			return err
		}
		return tx.Later(ctx, o.Seq, s.deps.Now(), false)
	})
}

func (s *Server) drop(ctx context.Context, o store.Out, why string, err error) error {
	s.count(o, "dropped")
	s.deps.Log.Error("a message was dropped", "incident_id", o.Thread, "seq", o.Seq, "kind", o.Kind, "reason", why, "error", err)
	return s.store.Update(ctx, "dropping a message", func(tx *store.Tx) error { return tx.Drop(ctx, o.Seq) })
}

func (s *Server) later(ctx context.Context, o store.Out, wait time.Duration, maybe bool) error {
	due := s.deps.Now().Add(max(wait, minPause))
	return s.store.Update(ctx, "putting a message off", func(tx *store.Tx) error { return tx.Later(ctx, o.Seq, due, maybe) })
}

// pause doubles with each attempt.
func pause(attempt int) time.Duration {
	return min(maxPause, minPause<<min(max(attempt-1, 0), 10))
}

func (s *Server) count(o store.Out, result string) {
	s.metrics.posts.WithLabelValues(o.Kind, result).Inc()
}

// permalink leads to a message, "" when the workspace is not configured.
func (s *Server) permalink(channel, ts string) string {
	if s.cfg.WorkspaceURL == "" || channel == "" || ts == "" {
		return ""
	}
	return strings.TrimRight(s.cfg.WorkspaceURL, "/") + "/archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", "")
}
