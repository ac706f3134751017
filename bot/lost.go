package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
)

// gone: the message to edit, or the root to reply to, was deleted.
func (s *Server) gone(ctx context.Context, o store.Out, th store.Thread) error {
	switch o.Kind {
	case store.KindRoot:
		return s.later(ctx, o, pause(o.Attempt), false)
	case store.KindEditDetails:
		return s.detailsGone(ctx, o, th)
	}
	return s.rootGone(ctx, o, th, o.Kind != store.KindEdit)
}

// detailsGone posts the evidence anew. If the whole thread is gone, that post
// will tell.
func (s *Server) detailsGone(ctx context.Context, o store.Out, th store.Thread) error {
	return s.store.Update(ctx, "replacing deleted details", func(tx *store.Tx) error {
		now, ok, err := tx.Thread(ctx, th.ID)
		if err != nil || !ok {
			return err
		}
		if now.DetailsTS == th.DetailsTS {
			now.DetailsTS = ""
			if err := tx.SaveThread(ctx, now); err != nil {
				return err
			}
			if _, err := tx.Enqueue(ctx, store.Out{
				Lane: postLane(now.Lane), Thread: o.Thread, Kind: store.KindDetails, Body: o.Body, Created: s.deps.Now(), Due: s.deps.Now(),
			}); err != nil {
				return err
			}
		}
		return tx.Drop(ctx, o.Seq)
	})
}

// rootGone has the root posted anew, once per deleted root. keep says whether
// the row is to follow into the new thread.
func (s *Server) rootGone(ctx context.Context, o store.Out, th store.Thread, keep bool) error {
	return s.store.Update(ctx, "replacing a deleted root", func(tx *store.Tx) error {
		now, ok, err := tx.Thread(ctx, th.ID)
		if err != nil || !ok {
			return err
		}
		if now.RootTS == th.RootTS && now.RootTS != "" {
			if now.Roots >= maxRoots {
				s.deps.Log.Error("the root was deleted again and again and is not posted any more", "incident_id", th.ID)
				return tx.Drop(ctx, o.Seq)
			}
			s.metrics.recreated.Inc()
			s.deps.Log.Warn("the root is gone and is posted again", "incident_id", th.ID)
			if err := s.anew(ctx, tx, now, now.RootTS); err != nil {
				return err
			}
		}
		if keep {
			return tx.Later(ctx, o.Seq, s.deps.Now(), false)
		}
		return tx.Drop(ctx, o.Seq)
	})
}

// anew forgets a thread's messages and asks the worker to post them again: it
// alone knows the state.
func (s *Server) anew(ctx context.Context, tx *store.Tx, th store.Thread, previous string) error {
	th.Previous, th.RootTS, th.DetailsTS = previous, "", ""
	if err := tx.SaveThread(ctx, th); err != nil {
		return err
	}
	for _, kind := range []string{store.KindEdit, store.KindEditDetails, store.KindDetails} {
		if err := tx.DropKind(ctx, th.ID, kind); err != nil {
			return err
		}
	}
	it, err := s.item(itemRepost, repostEvent{th.ID})
	if err != nil {
		return err
	}
	return tx.Put(ctx, it)
}

// stray: a reply landed in the channel, because its root is gone. It is taken
// away if the poster can, and then follows into the new thread; otherwise it
// stays where everybody can read it. It is never sent to the same place again.
func (s *Server) stray(ctx context.Context, o store.Out, th store.Thread, posted slack.Posted) error {
	s.count(o, "stray")
	removed := false
	if d, ok := s.deps.Poster.(Deleter); ok {
		call, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		err := d.Delete(call, posted.Channel, posted.TS)
		if removed = err == nil; err != nil {
			s.deps.Log.Warn("a stray reply could not be removed", "incident_id", o.Thread, "error", err)
		}
	}
	return s.rootGone(ctx, o, th, removed && o.Kind == store.KindReply)
}

// fallback moves a thread to the fallback channel, with the reason. Without
// one, or when that refuses too, messages wait.
func (s *Server) fallback(ctx context.Context, o store.Out, th store.Thread, cause error) error {
	s.deps.Log.Error("a channel does not take messages", "incident_id", o.Thread, "channel", th.Lane, "error", cause)
	if s.cfg.Fallback == "" || th.Lane == s.cfg.Fallback {
		return s.later(ctx, o, max(time.Minute, pause(o.Attempt)), false)
	}
	return s.store.Update(ctx, "moving to the fallback channel", func(tx *store.Tx) error {
		now, ok, err := tx.Thread(ctx, th.ID)
		if err != nil || !ok {
			return err
		}
		// Posts and edits of one thread may find out at the same time.
		if now.Lane == th.Lane {
			s.metrics.fallbacks.Inc()
			if err := s.move(ctx, tx, now); err != nil {
				return err
			}
		}
		if o.Kind == store.KindEdit || o.Kind == store.KindEditDetails || o.Kind == store.KindDetails {
			return tx.Drop(ctx, o.Seq)
		}
		return tx.Later(ctx, o.Seq, s.deps.Now(), false)
	})
}

func (s *Server) move(ctx context.Context, tx *store.Tx, th store.Thread) error {
	from := th.Lane
	th.Reason = fmt.Sprintf("This belongs into %s, which does not take messages (unknown, archived, or the bot is not in it).", from)
	th.Lane = s.cfg.Fallback
	rooted := th.RootTS != ""
	th.Channel = ""
	for _, lane := range []func(string) string{postLane, editLane} {
		if err := tx.MoveLane(ctx, th.ID, lane(from), lane(th.Lane)); err != nil {
			return err
		}
	}
	if rooted {
		return s.anew(ctx, tx, th, "")
	}
	return tx.SaveThread(ctx, th)
}

// respond answers a person. A URL that is used up is replaced by a message in
// the channel where the body names one.
func (s *Server) respond(ctx context.Context, o store.Out) error {
	var body outgoing
	if err := json.Unmarshal(o.Body, &body); err != nil {
		return s.drop(ctx, o, "unreadable", err)
	}
	call, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := s.deps.Responder.Respond(call, body.URL, body.Message, body.Options)
	if ctx.Err() != nil && err != nil {
		return nil
	}
	var retry *slack.RetryError
	switch {
	case err == nil:
		s.count(o, "ok")
		return s.store.Update(ctx, "booking an answer", func(tx *store.Tx) error { return tx.Sent(ctx, o) })
	case errors.As(err, &retry) && s.deps.Now().Sub(o.Created) < answerLife:
		s.count(o, "retry")
		return s.later(ctx, o, max(retry.After, pause(o.Attempt)), retry.Ambiguous)
	case body.Channel != "":
		s.count(o, "rerouted")
		return s.intoChannel(ctx, o, body)
	}
	return s.drop(ctx, o, "answer_url", err)
}

// intoChannel posts an answer that was meant for everybody as a message.
func (s *Server) intoChannel(ctx context.Context, o store.Out, body outgoing) error {
	raw, err := json.Marshal(outgoing{Message: body.Message})
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return s.store.Update(ctx, "posting an answer", func(tx *store.Tx) error {
		id := fmt.Sprintf("answer-%d", o.Seq)
		if err := tx.SaveThread(ctx, store.Thread{ID: id, Lane: body.Channel}); err != nil {
			return err
		}
		if _, err := tx.Enqueue(ctx, store.Out{
			Lane: postLane(body.Channel), Thread: id, Kind: store.KindRoot, Body: raw, Created: s.deps.Now(), Due: s.deps.Now(),
		}); err != nil {
			return err
		}
		return tx.Drop(ctx, o.Seq)
	})
}
