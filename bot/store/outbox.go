package store

import (
	"context"
	"time"
)

// The kinds of outgoing rows. A thread's root goes first; replies keep their
// order; edits wait for what they edit and are merged while they wait.
const (
	KindRoot        = "root"
	KindReply       = "reply"
	KindDetails     = "details"
	KindEdit        = "edit"
	KindEditDetails = "edit_details"
	KindRespond     = "respond"
)

// Out is one outgoing row.
type Out struct {
	// Seq names the row for ever; it goes into the message's metadata.
	Seq int64
	// Lane is what is sent one after the other. Lanes do not wait for each other.
	Lane   string
	Thread string
	Kind   string
	Body   []byte
	// Rev changes when a waiting edit is replaced.
	Rev     int64
	Created time.Time
	Due     time.Time
	// Wanted is when it was due at first, before anything was put off.
	Wanted  time.Time
	Attempt int
	// Intent is when the last attempt was about to be made.
	Intent time.Time
	// Maybe is true when that attempt may have reached Slack.
	Maybe bool
}

// Enqueue adds a row and returns its number.
func (t *Tx) Enqueue(ctx context.Context, o Out) (int64, error) {
	r, err := t.tx.ExecContext(ctx, rebind("INSERT INTO outbox (lane, thread, kind, body, created, due, wanted) VALUES (?, ?, ?, ?, ?, ?, ?)"),
		o.Lane, o.Thread, o.Kind, o.Body, o.Created.UnixMilli(), o.Due.UnixMilli(), o.Due.UnixMilli())
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// Merge replaces the body of a waiting row of a thread and reports whether
// there was one. An edit may be replaced at any time; everything else only
// before its first attempt.
func (t *Tx) Merge(ctx context.Context, thread, kind string, body []byte) (bool, error) {
	n, err := t.exec(ctx, `UPDATE outbox SET body = ?, rev = rev + 1
WHERE thread = ? AND kind = ? AND (attempt = 0 OR kind IN ('edit', 'edit_details'))`, body, thread, kind)
	return n > 0, err
}

// Hasten moves a waiting root that was not attempted forward.
func (t *Tx) Hasten(ctx context.Context, thread string, due time.Time) error {
	_, err := t.exec(ctx, "UPDATE outbox SET due = ?, wanted = ? WHERE thread = ? AND kind = 'root' AND attempt = 0 AND due > ?",
		due.UnixMilli(), due.UnixMilli(), thread, due.UnixMilli())
	return err
}

// Withhold puts a root off that was not attempted yet and reports whether there
// is one. Withholding twice is the same as once.
func (s *Store) Withhold(ctx context.Context, thread string, until time.Time) (held bool, err error) {
	err = s.Update(ctx, "withholding a root", func(t *Tx) error {
		n, err := t.exec(ctx, "UPDATE outbox SET due = ? WHERE thread = ? AND kind = 'root' AND attempt = 0", until.UnixMilli(), thread)
		held = n > 0
		return err
	})
	return held && err == nil, err
}

// Forget removes a thread that was never posted, and its rows.
func (t *Tx) Forget(ctx context.Context, thread string) error {
	if _, err := t.exec(ctx, "DELETE FROM outbox WHERE thread = ?", thread); err != nil {
		return err
	}
	_, err := t.exec(ctx, "DELETE FROM thread WHERE id = ?", thread)
	return err
}

// eligible are the rows that may go as soon as they are due.
const eligible = ` FROM outbox o LEFT JOIN thread t ON t.id = o.thread
WHERE (o.kind IN ('root', 'respond') OR t.root_ts <> '')
AND (o.kind <> 'edit_details' OR t.details_ts <> '')
AND (o.kind = 'root' OR NOT EXISTS
  (SELECT 1 FROM outbox p WHERE p.thread = o.thread AND p.lane = o.lane AND p.seq < o.seq))`

const outColumns = "o.seq, o.lane, o.thread, o.kind, o.body, o.rev, o.created, o.due, o.wanted, o.attempt, o.intent, o.maybe"

// Lanes returns the lanes with a row that may go now, sorted.
func (s *Store) Lanes(ctx context.Context, now time.Time) ([]string, error) {
	return all(ctx, s, "reading the outbox", scanLane, "SELECT DISTINCT o.lane"+eligible+" AND o.due <= ? ORDER BY o.lane", now.UnixMilli())
}

func scanLane(scan func(...any) error) (string, error) {
	var lane string
	err := scan(&lane)
	return lane, err
}

// NextDue returns when the next row may go; ok is false when none waits for
// time alone.
func (s *Store) NextDue(ctx context.Context, after time.Time) (time.Time, bool, error) {
	var due *int64
	err := s.read.QueryRowContext(ctx, rebind("SELECT min(o.due)"+eligible+" AND o.due > ?"), after.UnixMilli()).Scan(&due)
	if err != nil || due == nil {
		return time.Time{}, false, typed("reading the outbox", err)
	}
	return fromMilli(*due), true, nil
}

// Next returns a lane's first row that may go now.
func (s *Store) Next(ctx context.Context, lane string, now time.Time) (Out, bool, error) {
	return first(ctx, s, "reading the outbox", scanOut, "SELECT "+outColumns+eligible+
		" AND o.lane = ? AND o.due <= ? ORDER BY o.kind <> 'root', o.seq LIMIT 1", lane, now.UnixMilli())
}

func scanOut(scan func(...any) error) (Out, error) {
	var o Out
	var created, due, wanted, intent int64
	err := scan(&o.Seq, &o.Lane, &o.Thread, &o.Kind, &o.Body, &o.Rev, &created, &due, &wanted, &o.Attempt, &intent, &o.Maybe)
	o.Created, o.Due, o.Wanted, o.Intent = fromMilli(created), fromMilli(due), fromMilli(wanted), fromMilli(intent)
	return o, err
}

// Intend writes down that a row is about to be sent, and returns the row as it
// is to be sent; ok is false when it is no longer there.
func (t *Tx) Intend(ctx context.Context, seq int64, now time.Time) (Out, bool, error) {
	n, err := t.exec(ctx, "UPDATE outbox SET attempt = attempt + 1, intent = ?, maybe = 1 WHERE seq = ?", now.UnixMilli(), seq)
	if err != nil || n == 0 {
		return Out{}, false, err
	}
	o, err := scanOut(t.tx.QueryRowContext(ctx, rebind("SELECT "+outColumns+" FROM outbox o WHERE o.seq = ?"), seq).Scan)
	return o, err == nil, err
}

// Sent removes a row that arrived. When an edit was replaced meanwhile it stays
// for another attempt.
func (t *Tx) Sent(ctx context.Context, o Out) error {
	n, err := t.exec(ctx, "DELETE FROM outbox WHERE seq = ? AND rev = ?", o.Seq, o.Rev)
	if err != nil || n > 0 {
		return err
	}
	return t.Later(ctx, o.Seq, o.Intent, false)
}

// Rewrite replaces the body of a row.
func (t *Tx) Rewrite(ctx context.Context, seq int64, body []byte) error {
	_, err := t.exec(ctx, "UPDATE outbox SET body = ?, rev = rev + 1 WHERE seq = ?", body, seq)
	return err
}

// Drop removes a row that will never be sent.
func (t *Tx) Drop(ctx context.Context, seq int64) error {
	_, err := t.exec(ctx, "DELETE FROM outbox WHERE seq = ?", seq)
	return err
}

// Later puts a row off. maybe says that the last attempt may have arrived.
func (t *Tx) Later(ctx context.Context, seq int64, due time.Time, maybe bool) error {
	_, err := t.exec(ctx, "UPDATE outbox SET due = ?, maybe = ? WHERE seq = ?", due.UnixMilli(), maybe, seq)
	return err
}

// OutboxState is the outbox in numbers.
type OutboxState struct {
	Rows   int64
	Oldest time.Time
}

// Outbox counts what waits and is due.
func (s *Store) Outbox(ctx context.Context, now time.Time) (OutboxState, error) {
	var st OutboxState
	var oldest *int64
	err := s.read.QueryRowContext(ctx, rebind("SELECT count(*), min(due) FROM outbox WHERE due <= ?"), now.UnixMilli()).Scan(&st.Rows, &oldest)
	if oldest != nil {
		st.Oldest = fromMilli(*oldest)
	}
	return st, typed("reading the outbox", err)
}

// Has reports whether a row of a kind waits for a thread.
func (t *Tx) Has(ctx context.Context, thread, kind string) (bool, error) {
	var n int
	err := t.tx.QueryRowContext(ctx, rebind("SELECT count(*) FROM outbox WHERE thread = ? AND kind = ?"), thread, kind).Scan(&n)
	return n > 0, err
}
