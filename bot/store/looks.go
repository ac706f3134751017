package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"time"
)

// Look is a diagnosis that is to be made.
type Look struct {
	ID string
	// Priority: lower goes first.
	Priority int
	Due      time.Time
	Body     []byte
}

// AddLook stores a diagnosis to make. The same id twice is one.
func (t *Tx) AddLook(ctx context.Context, l Look) error {
	_, err := t.exec(ctx, "INSERT INTO look (id, priority, due, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		l.ID, l.Priority, l.Due.UnixMilli(), l.Body)
	return err
}

// DropLook removes a diagnosis and reports whether it was there.
func (t *Tx) DropLook(ctx context.Context, id string) (bool, error) {
	n, err := t.exec(ctx, "DELETE FROM look WHERE id = ?", id)
	return n > 0, err
}

// Looks returns the first n diagnoses to make, most urgent first.
func (s *Store) Looks(ctx context.Context, n int) ([]Look, error) {
	return all(ctx, s, "reading diagnoses to make", scanLook,
		"SELECT id, priority, due, body FROM look ORDER BY priority, due, id LIMIT ?", n)
}

func scanLook(scan func(...any) error) (Look, error) {
	var l Look
	var due int64
	err := scan(&l.ID, &l.Priority, &due, &l.Body)
	l.Due = fromMilli(due)
	return l, err
}

// Evidence is what one diagnosis rested on. Body and Diagnosis are JSON.
type Evidence struct {
	ID        string
	Incident  string
	Taken     time.Time
	Diagnosis []byte
	Body      []byte
}

// Packed is evidence that is ready to be stored.
type Packed struct {
	e    Evidence
	body []byte
}

// Pack compresses evidence. It takes milliseconds (9 ms for 0.3 MB), so it has
// its own step, before the transaction.
func Pack(e Evidence) (Packed, error) {
	body, err := compress(e.Body)
	return Packed{e, body}, err
}

// AddEvidence stores evidence and keeps the first and the newest keep-1 of the
// incident.
func (t *Tx) AddEvidence(ctx context.Context, p Packed, keep int) error {
	e := p.e
	if _, err := t.exec(ctx, `INSERT INTO evidence (id, incident, taken, diagnosis, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING`, e.ID, e.Incident, e.Taken.UnixMilli(), e.Diagnosis, p.body); err != nil {
		return err
	}
	_, err := t.exec(ctx, `DELETE FROM evidence WHERE incident = ?
AND id NOT IN (SELECT id FROM evidence WHERE incident = ? ORDER BY taken DESC, id DESC LIMIT ?)
AND id NOT IN (SELECT id FROM evidence WHERE incident = ? ORDER BY taken, id LIMIT 1)`,
		e.Incident, e.Incident, keep-1, e.Incident)
	return err
}

// EvidenceOf returns what is kept of an incident, oldest first.
func (s *Store) EvidenceOf(ctx context.Context, incident string) ([]Evidence, error) {
	return all(ctx, s, "reading evidence", scanEvidence,
		"SELECT id, incident, taken, diagnosis, body FROM evidence WHERE incident = ? ORDER BY taken, id", incident)
}

func scanEvidence(scan func(...any) error) (Evidence, error) {
	var e Evidence
	var at int64
	var packed []byte
	if err := scan(&e.ID, &e.Incident, &at, &e.Diagnosis, &packed); err != nil {
		return e, err
	}
	e.Taken = fromMilli(at)
	var err error
	e.Body, err = unpack(packed)
	return e, err
}

func compress(body []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		return nil, fmt.Errorf("packing evidence: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("packing evidence: %w", err)
	}
	return b.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking evidence: %w", err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("unpacking evidence: %w", err)
	}
	return body, nil
}

// Ask is a question from Slack. Key is the same for the same question of the
// same person.
type Ask struct {
	ID      string
	Key     string
	Created time.Time
	Body    []byte
}

// SaveAsk inserts or replaces.
func (t *Tx) SaveAsk(ctx context.Context, a Ask) error {
	_, err := t.exec(ctx, `INSERT INTO ask (id, "key", created, body) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET body = excluded.body`, a.ID, a.Key, a.Created.UnixMilli(), a.Body)
	return err
}

const askColumns = `SELECT id, "key", created, body FROM ask WHERE `

// AskByID returns one question; ok is false when there is none.
func (s *Store) AskByID(ctx context.Context, id string) (Ask, bool, error) {
	return first(ctx, s, "reading a question", scanAsk, askColumns+"id = ?", id)
}

// AskByKey returns the newest question with a key since a moment.
func (s *Store) AskByKey(ctx context.Context, key string, since time.Time) (Ask, bool, error) {
	return first(ctx, s, "reading a question", scanAsk,
		askColumns+`"key" = ? AND created >= ? ORDER BY created DESC, id LIMIT 1`, key, since.UnixMilli())
}

// AsksSince returns the questions since a moment, oldest first.
func (s *Store) AsksSince(ctx context.Context, since time.Time) ([]Ask, error) {
	return all(ctx, s, "reading questions", scanAsk, askColumns+"created >= ? ORDER BY created, id", since.UnixMilli())
}

func scanAsk(scan func(...any) error) (Ask, error) {
	var a Ask
	var at int64
	err := scan(&a.ID, &a.Key, &at, &a.Body)
	a.Created = fromMilli(at)
	return a, err
}
