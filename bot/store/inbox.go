package store

import (
	"context"
	"database/sql"
	"time"
)

// Item is one row of the inbox.
type Item struct {
	ID       int64
	Kind     string
	Body     []byte
	Received time.Time
}

type appending struct {
	items  []Item
	result chan error
}

// maxGroup is the number of appends that share one commit.
const maxGroup = 64

// Append stores items and returns when they will survive a crash. It does not
// wait when the writer is behind: ErrQueueFull.
func (s *Store) Append(ctx context.Context, items ...Item) error {
	if s.waiting.Load() >= s.maxInbox {
		return ErrQueueFull
	}
	a := appending{items: items, result: make(chan error, 1)}
	select {
	case <-s.stop:
		return ErrClosed
	case s.appends <- a:
	default:
		return ErrQueueFull
	}
	select {
	case err := <-a.result:
		return err
	case <-s.done:
		return s.lastWord(a)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastWord prefers the writer's answer when both are there.
func (s *Store) lastWord(a appending) error {
	select {
	case err := <-a.result:
		return err
	default:
		return ErrClosed
	}
}

// writeInbox commits whatever is waiting, at most maxGroup appends at a time.
// It never waits for more: while one commit runs (about 0.3 ms here) the next
// group gathers, so a lone append is not delayed and a crowd shares.
func (s *Store) writeInbox() {
	defer close(s.done)
	for {
		select {
		case a := <-s.appends:
			s.commit(s.gather(a))
		case <-s.stop:
			s.drain()
			return
		}
	}
}

// drain commits what was accepted before the stop.
func (s *Store) drain() {
	for {
		select {
		case a := <-s.appends:
			s.commit(s.gather(a))
		default:
			return
		}
	}
}

func (s *Store) gather(first appending) []appending {
	group := []appending{first}
	for len(group) < maxGroup {
		select {
		case a := <-s.appends:
			group = append(group, a)
		default:
			return group
		}
	}
	return group
}

func (s *Store) commit(group []appending) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n := int64(0)
	err := s.inTx(ctx, "storing in the inbox", func(tx *sql.Tx) error {
		for _, a := range group {
			for _, it := range a.items {
				n++
				if err := insertItem(ctx, tx, it); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		s.waiting.Add(n)
		s.signal()
	}
	for _, a := range group {
		a.result <- err
	}
}

func insertItem(ctx context.Context, tx *sql.Tx, it Item) error {
	_, err := tx.ExecContext(ctx, rebind("INSERT INTO inbox (kind, body, received) VALUES (?, ?, ?)"),
		it.Kind, it.Body, it.Received.UnixMilli())
	return err
}

func (s *Store) signal() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// Arrived receives a value after something was put into the inbox.
func (s *Store) Arrived() <-chan struct{} { return s.arrived }

// Waiting is the number of rows in the inbox.
func (s *Store) Waiting() int64 { return s.waiting.Load() }

// Inbox returns the oldest n rows.
func (s *Store) Inbox(ctx context.Context, n int) ([]Item, error) {
	return all(ctx, s, "reading the inbox", scanItem, "SELECT id, kind, body, received FROM inbox ORDER BY id LIMIT ?", n)
}

func scanItem(scan func(...any) error) (Item, error) {
	var it Item
	var at int64
	err := scan(&it.ID, &it.Kind, &it.Body, &at)
	it.Received = fromMilli(at)
	return it, err
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func toMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
