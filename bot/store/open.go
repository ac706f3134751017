package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// PageBytes is SQLite's page size.
const PageBytes = 4096

// Options say where the file is and how much may wait.
type Options struct {
	// Path is the database file. Its folder must exist.
	Path string
	// MaxInbox is the number of rows that may wait in the inbox; beyond it
	// Append answers ErrQueueFull. 0 = 50,000.
	MaxInbox int64
	// MaxPages bounds the file in pages of PageBytes, 0 = the disk's size.
	MaxPages int64
	Log      *slog.Logger
}

// Store is the open file.
type Store struct {
	write *sql.DB
	read  *sql.DB
	lock  *sql.DB
	log   *slog.Logger

	maxInbox int64
	waiting  atomic.Int64
	appends  chan appending
	done     chan struct{}
	stop     chan struct{}
	stopOnce sync.Once
	arrived  chan struct{}

	timers *timers
}

// Open opens or creates the file, brings its schema up to date and starts the
// writer of the inbox.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		log: o.Log, maxInbox: o.MaxInbox,
		appends: make(chan appending, 1024),
		done:    make(chan struct{}), stop: make(chan struct{}),
		arrived: make(chan struct{}, 1),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.maxInbox == 0 {
		s.maxInbox = 50_000
	}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	go s.writeInbox()
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	if err := s.takeLock(ctx, o.Path); err != nil {
		return err
	}
	if err := private(o.Path); err != nil {
		return err
	}
	var err error
	if s.write, err = sql.Open("sqlite", dsn(o.Path, o.MaxPages, false)); err != nil {
		return typed("opening the database", err)
	}
	s.write.SetMaxOpenConns(1)
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", dsn(o.Path, 0, true)); err != nil {
		return typed("opening the database for reading", err)
	}
	s.read.SetMaxOpenConns(2)
	var n int64
	if err := s.write.QueryRowContext(ctx, "SELECT count(*) FROM inbox").Scan(&n); err != nil {
		return typed("counting the inbox", err)
	}
	s.waiting.Store(n)
	return s.openTimers(ctx)
}

// private makes the file before SQLite does: it holds names of groups and hosts,
// and SQLite would let everybody read it.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	return f.Close()
}

// takeLock holds an exclusive transaction on a file beside the database for as
// long as the process lives.
func (s *Store) takeLock(ctx context.Context, file string) error {
	if err := private(file + ".lock"); err != nil {
		s.log.Debug("the lock file was not made beforehand; SQLite says why", "error", err)
	}
	var err error
	s.lock, err = sql.Open("sqlite", "file:"+escaped(file)+".lock?_pragma=busy_timeout(0)")
	if err != nil {
		return typed("locking the database", err)
	}
	s.lock.SetMaxOpenConns(1)
	if _, err := s.lock.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		if kindOf(err) == nil {
			return fmt.Errorf("locking the database: %w", ErrInUse)
		}
		return typed("locking the database", err)
	}
	return nil
}

func dsn(file string, maxPages int64, readOnly bool) string {
	v := url.Values{"_pragma": {
		"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(5000)", "foreign_keys(1)",
	}}
	if maxPages > 0 {
		v.Add("_pragma", "max_page_count("+strconv.FormatInt(maxPages, 10)+")")
	}
	if readOnly {
		v.Add("_pragma", "query_only(1)")
	} else {
		v.Set("_txlock", "immediate")
	}
	return "file:" + escaped(file) + "?" + v.Encode()
}

func escaped(file string) string { return (&url.URL{Path: file}).EscapedPath() }

// migrate applies the numbered files that the database has not seen yet, each
// in a transaction of its own.
func (s *Store) migrate(ctx context.Context) error {
	const table = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)"
	if _, err := s.write.ExecContext(ctx, table); err != nil {
		return typed("reading the schema version", err)
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	sort.Strings(names)
	for _, name := range names {
		if err := s.migrateTo(ctx, name); err != nil {
			return err
		}
	}
	return s.checkNotNewer(ctx, len(names))
}

func (s *Store) migrateTo(ctx context.Context, name string) error {
	number, _, _ := strings.Cut(path.Base(name), "_")
	version, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("migration %s has no number: %w", name, err)
	}
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	return s.inTx(ctx, "updating the schema", func(tx *sql.Tx) error {
		var n int
		err := tx.QueryRowContext(ctx, rebind("SELECT count(*) FROM schema_version WHERE version = ?"), version).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, rebind("INSERT INTO schema_version (version) VALUES (?)"), version)
		return err
	})
}

func (s *Store) checkNotNewer(ctx context.Context, known int) error {
	var newest int
	if err := s.write.QueryRowContext(ctx, "SELECT max(version) FROM schema_version").Scan(&newest); err != nil {
		return typed("reading the schema version", err)
	}
	if newest > known {
		return fmt.Errorf("the database has schema %d and this program knows %d: use a newer program or another file", newest, known)
	}
	return nil
}

// rebind is where another database's placeholders would be put in.
func rebind(query string) string { return query }

func (s *Store) inTx(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return typed(doing, err)
	}
	if err := do(tx); err != nil {
		return errors.Join(typed(doing, err), ignoreDone(tx.Rollback()))
	}
	return typed(doing, tx.Commit())
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Close stops the writer after what it holds, and closes the file. Timers must
// have been stopped before.
func (s *Store) Close() error {
	s.stopOnce.Do(func() { close(s.stop) })
	<-s.done
	return s.closeFiles()
}

func (s *Store) closeFiles() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write, s.lock} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Ping proves that the file can be written.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, rebind(
		"INSERT INTO lease (name, holder, expires) VALUES ('probe', '', 0) ON CONFLICT (name) DO UPDATE SET expires = expires + 1"))
	return typed("writing a probe", err)
}
