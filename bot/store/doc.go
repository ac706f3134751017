// Package store keeps what must survive a crash in one SQLite file.
//
// The inbox takes deliveries, commands, clicks, verdicts and timers through
// one group-commit writer ([Store.Append] returns after the commit). Everything
// that follows from them changes in one transaction ([Store.Update]): incident
// states, the outbox, diagnoses to make and timers. Timers are River jobs in
// the same file and the same transaction.
//
// Connections: one for writing, which River shares, and two for reading. SQLite
// allows one writer at a time; with one connection the wait for it is a queue
// in database/sql and not a poll on a lock. Nobody may ask the store for
// anything else while holding a [Tx]: that would wait for itself.
//
// One process owns a file. A second one that opens it gets [ErrInUse]; the lock
// is SQLite's own on FILE.lock, so it goes away with the process.
//
// The statements are portable SQL (no upsert dialects beyond ON CONFLICT, no
// stored times); what is SQLite's own is in open.go and errors.go, and [rebind]
// is the seam for another database's placeholders.
//
// Errors: [ErrFull], [ErrCorrupt], [ErrReadOnly], [ErrQueueFull], [ErrInUse]
// and [ErrClosed]; all others are unexpected.
package store
