package store

import (
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that a caller can tell apart.
var (
	// ErrFull: the disk or the file's size limit is reached.
	ErrFull = errors.New("the storage is full")
	// ErrCorrupt: the file is damaged or not a database.
	ErrCorrupt = errors.New("the database file is damaged")
	// ErrReadOnly: the file or its folder cannot be written.
	ErrReadOnly = errors.New("the database file cannot be written")
	// ErrQueueFull: too much is waiting to be stored or worked.
	ErrQueueFull = errors.New("the inbox is full")
	// ErrInUse: another process owns the file.
	ErrInUse = errors.New("the database file is used by another process")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// typed wraps a driver error in one of the errors above and says what was
// being done.
func typed(doing string, err error) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil {
		return fmt.Errorf("%s: %w: %w", doing, kind, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func kindOf(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return ErrClosed
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return ErrFull
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrCorrupt
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return ErrReadOnly
	}
	return nil
}
