package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var t0 = time.UnixMilli(1_700_000_000_000).UTC()

func update(t *testing.T, s *Store, do func(*Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), "testing", do); err != nil {
		t.Fatal(err)
	}
}

func enqueue(t *testing.T, s *Store, lane, thread, kind string, due time.Time) int64 {
	t.Helper()
	var seq int64
	update(t, s, func(tx *Tx) (err error) {
		seq, err = tx.Enqueue(t.Context(), Out{Lane: lane, Thread: thread, Kind: kind, Body: []byte(kind), Created: t0, Due: due})
		return err
	})
	return seq
}

// next lists what each lane would send now, in lane order.
func next(t *testing.T, s *Store, now time.Time) string {
	t.Helper()
	lanes, err := s.Lanes(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range lanes {
		o, ok, err := s.Next(t.Context(), l, now)
		if err != nil || !ok {
			t.Fatalf("lane %s is announced and empty: %v", l, err)
		}
		out = append(out, l+"="+o.Thread+"/"+o.Kind)
	}
	return strings.Join(out, " ")
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestOutboxOrder(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	update(t, s, func(tx *Tx) error { return tx.SaveThread(t.Context(), Thread{ID: "a", Lane: "C"}) })
	update(t, s, func(tx *Tx) error { return tx.SaveThread(t.Context(), Thread{ID: "b", Lane: "C"}) })
	rootA := enqueue(t, s, "C", "a", KindRoot, t0.Add(5*time.Second))
	enqueue(t, s, "C", "a", KindReply, t0)
	enqueue(t, s, "C/e", "a", KindEdit, t0)
	want(t, next(t, s, t0), "")
	rootB := enqueue(t, s, "C", "b", KindRoot, t0)
	want(t, next(t, s, t0), "C=b/root")

	update(t, s, func(tx *Tx) error { return tx.Drop(t.Context(), rootB) })
	due, ok, err := s.NextDue(t.Context(), t0)
	if err != nil || !ok || !due.Equal(t0.Add(5*time.Second)) {
		t.Fatalf("next due %v %v %v", due, ok, err)
	}
	update(t, s, func(tx *Tx) error { return tx.Hasten(t.Context(), "a", t0) })
	want(t, next(t, s, t0), "C=a/root")

	update(t, s, func(tx *Tx) error {
		if err := tx.Drop(t.Context(), rootA); err != nil {
			return err
		}
		return tx.SaveThread(t.Context(), Thread{ID: "a", Lane: "C", Channel: "C1", RootTS: "1.0"})
	})
	want(t, next(t, s, t0), "C=a/reply C/e=a/edit")
	enqueue(t, s, "C/e", "a", KindEditDetails, t0)
	want(t, next(t, s, t0), "C=a/reply C/e=a/edit")

	// The root was deleted: a new one goes before everything that waits.
	update(t, s, func(tx *Tx) error { return tx.SaveThread(t.Context(), Thread{ID: "a", Lane: "C"}) })
	enqueue(t, s, "C", "a", KindRoot, t0)
	want(t, next(t, s, t0), "C=a/root")
}

func TestMergeReplacesOnlyWhatIsSafe(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	ctx := t.Context()
	update(t, s, func(tx *Tx) error { return tx.SaveThread(ctx, Thread{ID: "a", Lane: "C", RootTS: "1.0"}) })
	merge := func(kind, body string) bool {
		var ok bool
		update(t, s, func(tx *Tx) (err error) { ok, err = tx.Merge(ctx, "a", kind, []byte(body)); return err })
		return ok
	}
	edit := enqueue(t, s, "C/e", "a", KindEdit, t0)
	if !merge(KindEdit, "second") {
		t.Fatal("a waiting edit was not merged")
	}
	var o Out
	update(t, s, func(tx *Tx) (err error) { o, _, err = tx.Intend(ctx, edit, t0); return err })
	want(t, string(o.Body), "second")
	if !o.Maybe || o.Attempt != 1 || !o.Intent.Equal(t0) {
		t.Errorf("the intent was not written: %+v", o)
	}
	// Replaced while it is under way: it stays for another attempt.
	merge(KindEdit, "third")
	update(t, s, func(tx *Tx) error { return tx.Sent(ctx, o) })
	again, ok, err := s.Next(ctx, "C/e", t0)
	if err != nil || !ok || string(again.Body) != "third" || again.Maybe {
		t.Fatalf("%+v %v %v", again, ok, err)
	}
	update(t, s, func(tx *Tx) error { return tx.Sent(ctx, again) })
	want(t, next(t, s, t0), "")

	root := enqueue(t, s, "C", "a", KindRoot, t0)
	if !merge(KindRoot, "with the verdict") {
		t.Fatal("a waiting root was not merged")
	}
	update(t, s, func(tx *Tx) (err error) { _, _, err = tx.Intend(ctx, root, t0); return err })
	if merge(KindRoot, "too late") {
		t.Fatal("a root under way was changed")
	}
}

func packed(t *testing.T, e Evidence) Packed {
	t.Helper()
	p, err := Pack(e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEvidenceIsBoundedAndKeepsTheFirst(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	for i := range 10 {
		update(t, s, func(tx *Tx) error {
			return tx.AddEvidence(t.Context(), packed(t, Evidence{
				ID: string(rune('a' + i)), Incident: "i", Taken: t0.Add(time.Duration(i) * time.Minute),
				Diagnosis: []byte("{}"), Body: []byte(strings.Repeat("x", 1000)),
			}), 3)
		})
	}
	got, err := s.EvidenceOf(t.Context(), "i")
	if err != nil || len(got) != 3 || got[0].ID != "a" || got[1].ID != "i" || got[2].ID != "j" || len(got[2].Body) != 1000 {
		t.Fatalf("%v %v", got, err)
	}
}

func TestCleanKeepsOpenIncidents(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	ctx := t.Context()
	update(t, s, func(tx *Tx) error {
		for _, i := range []Incident{{ID: "old", Phase: "closed", Changed: t0, Body: []byte("{}")}, {ID: "open", Phase: "firing", Changed: t0, Body: []byte("{}")},
			{ID: "new", Phase: "closed", Changed: t0.Add(time.Hour), Body: []byte("{}")}} {
			if err := tx.SaveIncident(ctx, i); err != nil {
				return err
			}
			if err := tx.AddEvidence(ctx, packed(t, Evidence{ID: i.ID, Incident: i.ID, Taken: t0, Diagnosis: []byte("{}")}), 5); err != nil {
				return err
			}
		}
		_, err := tx.Seen(ctx, "click", t0)
		return err
	})
	if err := s.Clean(ctx, "closed", t0.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"old": false, "open": true, "new": true} {
		_, ok, err := s.Incident(ctx, id)
		ev, _ := s.EvidenceOf(ctx, id)
		if err != nil || ok != want || (len(ev) == 1) != want {
			t.Errorf("%s: there %v, evidence %d, %v", id, ok, len(ev), err)
		}
	}
	update(t, s, func(tx *Tx) error {
		seen, err := tx.Seen(ctx, "click", t0)
		if seen {
			t.Error("an old id is still known")
		}
		return err
	})
}
