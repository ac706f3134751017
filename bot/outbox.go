package bot

import (
	"context"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/store"
)

// drain sends what is due: one goroutine per lane that has something, so that a
// channel that Slack holds up holds up nobody else.
func (s *Server) drain(ctx context.Context) {
	busy := map[string]bool{}
	ended := make(chan string)
	for {
		for _, lane := range s.dueLanes(ctx) {
			if busy[lane] {
				continue
			}
			busy[lane] = true
			go func() { s.drainLane(ctx, lane); ended <- lane }()
		}
		select {
		case lane := <-ended:
			delete(busy, lane)
		case <-s.wakeOut:
		case <-time.After(s.untilDue(ctx)):
		case <-s.quit:
			for range busy {
				<-ended
			}
			return
		}
	}
}

func (s *Server) dueLanes(ctx context.Context) []string {
	lanes, err := s.store.Lanes(ctx, s.deps.Now())
	if err != nil {
		s.metrics.storeError(err)
		s.deps.Log.Error("the outbox could not be read", "error", err)
	}
	return lanes
}

// untilDue is how long nothing becomes due, at most a second.
func (s *Server) untilDue(ctx context.Context) time.Duration {
	now := s.deps.Now()
	due, ok, err := s.store.NextDue(ctx, now)
	if err != nil || !ok {
		return time.Second
	}
	return min(max(due.Sub(now), time.Millisecond), time.Second)
}

func (s *Server) drainLane(ctx context.Context, lane string) {
	for !s.stopping(ctx) {
		o, ok, err := s.store.Next(ctx, lane, s.deps.Now())
		if err != nil {
			s.metrics.storeError(err)
			s.deps.Log.Error("the outbox could not be read", "error", err)
			return
		}
		if !ok {
			return
		}
		if err := s.deliver(ctx, o); err != nil {
			s.metrics.storeError(err)
			s.deps.Log.Error("a message could not be booked", "seq", o.Seq, "reason", storeReason(err), "error", err)
			s.sleep(ctx, time.Second, nil)
			return
		}
	}
}

// deliver sends one row. The error is the store's only: what Slack says is
// booked in the row.
func (s *Server) deliver(ctx context.Context, o store.Out) error {
	if o.Maybe && o.Kind != store.KindEdit && o.Kind != store.KindEditDetails {
		done, err := s.lookForLost(ctx, o)
		if err != nil || done {
			return err
		}
	}
	out, ok, err := s.intend(ctx, o)
	if err != nil || !ok {
		return err
	}
	if out.Kind == store.KindRespond {
		return s.respond(ctx, out)
	}
	return s.send(ctx, out)
}

// intend writes down that a row is about to be sent. After that commit, and
// before the answer, a crash leaves a row that may have arrived.
func (s *Server) intend(ctx context.Context, o store.Out) (out store.Out, ok bool, err error) {
	err = s.store.Update(ctx, "writing an intent", func(tx *store.Tx) (err error) {
		out, ok, err = tx.Intend(ctx, o.Seq, s.deps.Now())
		return err
	})
	return out, ok, err
}
