package bot

import (
	"context"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
)

// batchRows bounds what one transaction works: enough for a storm, short enough
// that the webhook does not wait for the write connection.
const batchRows = 32

// batchPace is the least time from the start of one batch to the next, unless a
// full batch waits. A commit syncs the disk, and the webhook's commit waits for
// the worker's: working each row of a storm on its own would double the syncs.
// The first row after a pause is worked at once.
const batchPace = 20 * time.Millisecond

// work takes events out of the inbox until the server stops. It is the only
// goroutine that changes incidents.
func (s *Server) work(ctx context.Context) {
	for {
		start := time.Now()
		s.alive.Store(start.UnixMilli())
		n, err := s.workOnce(ctx)
		switch {
		case s.stopping(ctx):
			return
		case err != nil:
			s.metrics.storeError(err)
			s.deps.Log.Error("a batch was not kept, trying again", "reason", storeReason(err), "error", err)
			s.sleep(ctx, time.Second, nil)
		case n == 0:
			s.sleep(ctx, time.Second, s.store.Arrived())
		case n < batchRows:
			s.sleep(ctx, batchPace-time.Since(start), nil)
		}
	}
}

func (s *Server) stopping(ctx context.Context) bool {
	select {
	case <-s.quit:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

func (s *Server) sleep(ctx context.Context, d time.Duration, early <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-s.quit:
	case <-ctx.Done():
	}
}

// workOnce works one batch. When the commit fails nothing has happened: memory
// is read back from the file.
func (s *Server) workOnce(ctx context.Context) (int, error) {
	if s.dirty {
		if err := s.load(ctx); err != nil {
			return 0, err
		}
		s.dirty = false
	}
	items, err := s.store.Inbox(ctx, batchRows)
	if err != nil || len(items) == 0 {
		return 0, err
	}
	start := time.Now()
	b := newBatch(s)
	for _, it := range items {
		b.take(ctx, it)
	}
	if err := s.store.Update(ctx, "working events", func(tx *store.Tx) error { return b.write(ctx, tx) }); err != nil {
		s.dirty = true
		return 0, err
	}
	b.committed()
	s.metrics.batches.Observe(time.Since(start).Seconds())
	return len(items), nil
}

// clean is River's hourly call.
func (s *Server) clean(ctx context.Context) error {
	s.shown.forget()
	return s.store.Clean(ctx, string(incident.Closed), s.deps.Now().Add(-s.cfg.Retention))
}
