package store

import (
	"context"
	"database/sql"
	"errors"
)

// scanner makes a value of one row's columns.
type scanner[T any] func(scan func(...any) error) (T, error)

// all reads every row that a query finds. doing words the error.
func all[T any](ctx context.Context, s *Store, doing string, one scanner[T], query string, args ...any) ([]T, error) {
	rows, err := s.read.QueryContext(ctx, rebind(query), args...)
	if err != nil {
		return nil, typed(doing, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := one(rows.Scan)
		if err != nil {
			return nil, typed(doing, err)
		}
		out = append(out, v)
	}
	return out, typed(doing, rows.Err())
}

// first reads the first row that a query finds; ok is false when there is none.
func first[T any](ctx context.Context, s *Store, doing string, one scanner[T], query string, args ...any) (v T, ok bool, err error) {
	v, err = one(s.read.QueryRowContext(ctx, rebind(query), args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	return v, err == nil, typed(doing, err)
}
