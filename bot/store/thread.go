package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Thread is where an incident's messages are.
type Thread struct {
	ID string
	// Lane is the channel as configured; Channel is what Slack calls it.
	Lane      string
	Channel   string
	RootTS    string
	DetailsTS string
	// Roots counts the roots that were posted: more than one means that one
	// was deleted.
	Roots int
	// Previous is the ts of the root before, "" if there was none.
	Previous string
	// Reason says why the thread is not in the channel it was meant for.
	Reason string
}

// SaveThread inserts or replaces.
func (t *Tx) SaveThread(ctx context.Context, h Thread) error {
	_, err := t.exec(ctx, `INSERT INTO thread (id, lane, channel, root_ts, details_ts, roots, previous, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET lane = excluded.lane, channel = excluded.channel, root_ts = excluded.root_ts,
details_ts = excluded.details_ts, roots = excluded.roots, previous = excluded.previous, reason = excluded.reason`,
		h.ID, h.Lane, h.Channel, h.RootTS, h.DetailsTS, h.Roots, h.Previous, h.Reason)
	return err
}

const threadColumns = "SELECT id, lane, channel, root_ts, details_ts, roots, previous, reason FROM thread WHERE id = ?"

func scanThread(scan func(...any) error) (Thread, error) {
	var h Thread
	err := scan(&h.ID, &h.Lane, &h.Channel, &h.RootTS, &h.DetailsTS, &h.Roots, &h.Previous, &h.Reason)
	return h, err
}

// Thread returns a thread inside the transaction.
func (t *Tx) Thread(ctx context.Context, id string) (Thread, bool, error) {
	h, err := scanThread(t.tx.QueryRowContext(ctx, rebind(threadColumns), id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return h, false, nil
	}
	return h, err == nil, err
}

// Thread returns a thread; ok is false when there is none.
func (s *Store) Thread(ctx context.Context, id string) (Thread, bool, error) {
	return first(ctx, s, "reading a thread", scanThread, threadColumns, id)
}

// MoveLane puts a thread's waiting rows into other lanes, by their old lane.
func (t *Tx) MoveLane(ctx context.Context, thread, from, to string) error {
	_, err := t.exec(ctx, "UPDATE outbox SET lane = ? WHERE thread = ? AND lane = ?", to, thread, from)
	return err
}

// DropKind removes a thread's waiting rows of a kind.
func (t *Tx) DropKind(ctx context.Context, thread, kind string) error {
	_, err := t.exec(ctx, "DELETE FROM outbox WHERE thread = ? AND kind = ?", thread, kind)
	return err
}

// Clean removes what is older than before: closed incidents with all that
// belongs to them, questions, and ids of Slack deliveries.
func (s *Store) Clean(ctx context.Context, closedPhase string, before time.Time) error {
	at := before.UnixMilli()
	const old = "(SELECT id FROM incident WHERE phase = ? AND changed < ?)"
	return s.Update(ctx, "cleaning up", func(t *Tx) error {
		for _, q := range []string{
			"DELETE FROM evidence WHERE incident IN " + old,
			"DELETE FROM occurrence WHERE incident IN " + old,
			"DELETE FROM incident WHERE phase = ? AND changed < ?",
		} {
			if _, err := t.exec(ctx, q, closedPhase, at); err != nil {
				return err
			}
		}
		const orphans = "DELETE FROM thread WHERE id NOT IN (SELECT id FROM incident) AND id NOT IN (SELECT thread FROM outbox)"
		if _, err := t.exec(ctx, orphans); err != nil {
			return err
		}
		for _, q := range []string{
			"DELETE FROM ask WHERE created < ?", "DELETE FROM seen WHERE at < ?",
			"DELETE FROM evidence WHERE taken < ? AND incident NOT IN (SELECT id FROM incident)",
		} {
			if _, err := t.exec(ctx, q, at); err != nil {
				return err
			}
		}
		return nil
	})
}
