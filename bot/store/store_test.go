package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func item(body string) Item {
	return Item{Kind: "k", Body: []byte(body), Received: time.UnixMilli(1_700_000_000_000)}
}

func TestAppendIsThereAfterReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if err := s.Append(t.Context(), item(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.Waiting() != 200 {
		t.Errorf("waiting %d, want 200", s.Waiting())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	rows, err := s.Inbox(t.Context(), 500)
	if err != nil || len(rows) != 200 || s.Waiting() != 200 {
		t.Fatalf("%d rows, waiting %d, %v", len(rows), s.Waiting(), err)
	}
	err = s.Update(t.Context(), "taking", func(tx *Tx) error {
		if err := tx.Take(t.Context(), rows[0].ID, rows[1].ID); err != nil {
			return err
		}
		return tx.Put(t.Context(), item("new"))
	})
	if err != nil || s.Waiting() != 199 {
		t.Fatalf("waiting %d, want 199: %v", s.Waiting(), err)
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v, want ErrInUse", err)
	}
	_ = s.Close()
	open(t, path)
}

func TestFullStorageIsTypedAndHeals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	_ = s.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	full, err := Open(t.Context(), Options{Path: path, MaxPages: info.Size()/4096 + 4})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	big := Item{Kind: "k", Body: make([]byte, 8192), Received: time.Now()}
	for range 50 {
		if err = full.Append(t.Context(), big); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("got %v, want ErrFull", err)
	}
	rows, _ := full.Inbox(t.Context(), 50)
	if int64(len(rows)) != full.Waiting() {
		t.Errorf("%d rows on disk, %d counted", len(rows), full.Waiting())
	}
	err = full.Update(t.Context(), "freeing", func(tx *Tx) error { return tx.Take(t.Context(), rows[0].ID) })
	if err != nil {
		t.Fatal(err)
	}
	if err := full.Append(t.Context(), item("small again")); err != nil {
		t.Fatalf("after room was made: %v", err)
	}
}

func TestInboxBound(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "db"), MaxInbox: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 4 {
		err = s.Append(t.Context(), item("x"))
		if want := i == 3; errors.Is(err, ErrQueueFull) != want {
			t.Fatalf("append %d: %v", i, err)
		}
	}
}

func TestDamagedAndUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	if err := os.WriteFile(path, []byte("this is not a database, whatever its name says, and it is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: got %v, want ErrCorrupt", err)
	}
	if _, err := Open(t.Context(), Options{Path: filepath.Join(dir, "none", "db")}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("no folder: got %v, want ErrReadOnly", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	if _, err := s.write.Exec("INSERT INTO schema_version (version) VALUES (99)"); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := Open(t.Context(), Options{Path: path}); err == nil {
		t.Fatal("a newer schema was opened")
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	_ = s.Close()
	if err := s.Append(t.Context(), item("x")); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v, want ErrClosed", err)
	}
}

func TestTimersFireAndSurvive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	set := func(key string, at time.Time) {
		err := s.Update(t.Context(), "setting", func(tx *Tx) error {
			return tx.SetTimer(t.Context(), Timer{Kind: "look", Key: key, Seq: 7, At: at})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set("a", time.Now())
	set("later", time.Now().Add(time.Hour))
	_ = s.Close()

	s = open(t, path)
	got := make(chan Timer, 4)
	on := func(_ context.Context, tm Timer) error { got <- tm; return nil }
	if err := s.StartTimers(t.Context(), on, nil); err != nil {
		t.Fatal(err)
	}
	tm := <-got
	if tm.Kind != "look" || tm.Key != "a" || tm.Seq != 7 {
		t.Errorf("got %+v", tm)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.StopTimers(ctx); err != nil {
		t.Error(err)
	}
	if len(got) != 0 {
		t.Errorf("a timer fired too early: %+v", <-got)
	}
}

func TestRolledBackUpdateChangesNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	boom := errors.New("boom")
	err := s.Update(t.Context(), "trying", func(tx *Tx) error {
		if err := tx.Put(t.Context(), item("x")); err != nil {
			return err
		}
		if err := tx.SetTimer(t.Context(), Timer{Kind: "look", At: time.Now()}); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) || s.Waiting() != 0 {
		t.Fatalf("%v, waiting %d", err, s.Waiting())
	}
	var n int
	if err := s.write.QueryRow("SELECT count(*) FROM river_job").Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d timers after a rollback, %v", n, err)
	}
}
