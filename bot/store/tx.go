package store

import (
	"context"
	"database/sql"
	"time"
)

// Tx is one write transaction. While it is open nobody else can write: work out
// what to write first.
type Tx struct {
	s     *Store
	tx    *sql.Tx
	taken int64
	put   int64
}

// Update runs do in one transaction. doing words the error.
func (s *Store) Update(ctx context.Context, doing string, do func(*Tx) error) error {
	t := &Tx{s: s}
	err := s.inTx(ctx, doing, func(tx *sql.Tx) error {
		t.tx = tx
		return do(t)
	})
	if err != nil {
		return err
	}
	s.waiting.Add(t.put - t.taken)
	if t.put > 0 {
		s.signal()
	}
	return nil
}

func (t *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := t.tx.ExecContext(ctx, rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Take removes worked rows from the inbox.
func (t *Tx) Take(ctx context.Context, ids ...int64) error {
	for _, id := range ids {
		n, err := t.exec(ctx, "DELETE FROM inbox WHERE id = ?", id)
		if err != nil {
			return err
		}
		t.taken += n
	}
	return nil
}

// Put appends to the inbox in this transaction.
func (t *Tx) Put(ctx context.Context, it Item) error {
	t.put++
	return insertItem(ctx, t.tx, it)
}

// Seen remembers an id and reports whether it was known before.
func (t *Tx) Seen(ctx context.Context, id string, now time.Time) (bool, error) {
	n, err := t.exec(ctx, "INSERT INTO seen (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", id, now.UnixMilli())
	return n == 0, err
}

// Known reports whether an id was taken before.
func (s *Store) Known(ctx context.Context, id string) (bool, error) {
	var n int
	err := s.read.QueryRowContext(ctx, rebind("SELECT count(*) FROM seen WHERE id = ?"), id).Scan(&n)
	return n > 0, typed("reading taken ids", err)
}

// Incident is a stored state.
type Incident struct {
	ID      string
	Cluster string
	Phase   string
	Opened  time.Time
	Changed time.Time
	Body    []byte
}

// SaveIncident inserts or replaces.
func (t *Tx) SaveIncident(ctx context.Context, i Incident) error {
	_, err := t.exec(ctx, `INSERT INTO incident (id, cluster, phase, opened, changed, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, changed = excluded.changed, body = excluded.body`,
		i.ID, i.Cluster, i.Phase, i.Opened.UnixMilli(), i.Changed.UnixMilli(), i.Body)
	return err
}

// Occurrence is one firing of an incident, for later questions.
type Occurrence struct {
	Incident string
	Number   int
	Started  time.Time
	Ended    time.Time
	Class    string
}

// SaveOccurrence inserts or replaces.
func (t *Tx) SaveOccurrence(ctx context.Context, o Occurrence) error {
	_, err := t.exec(ctx, `INSERT INTO occurrence (incident, number, started, ended, class) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (incident, number) DO UPDATE SET ended = excluded.ended, class = excluded.class`,
		o.Incident, o.Number, toMilli(o.Started), toMilli(o.Ended), o.Class)
	return err
}

const incidentColumns = "SELECT id, cluster, phase, opened, changed, body FROM incident WHERE "

// Incidents returns the stored states that are not in the given phase, oldest
// first.
func (s *Store) Incidents(ctx context.Context, notPhase string) ([]Incident, error) {
	return all(ctx, s, "reading incidents", scanIncident, incidentColumns+"phase <> ? ORDER BY opened, id", notPhase)
}

// Incident returns one stored state; ok is false when there is none.
func (s *Store) Incident(ctx context.Context, id string) (Incident, bool, error) {
	return first(ctx, s, "reading an incident", scanIncident, incidentColumns+"id = ?", id)
}

func scanIncident(scan func(...any) error) (Incident, error) {
	var i Incident
	var opened, changed int64
	err := scan(&i.ID, &i.Cluster, &i.Phase, &opened, &changed, &i.Body)
	i.Opened, i.Changed = fromMilli(opened), fromMilli(changed)
	return i, err
}
