package slackdouble

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Kind is what happened.
type Kind string

// The kinds of entries.
const (
	Posted    Kind = "post"
	Edited    Kind = "edit"
	Deleted   Kind = "delete"
	Private   Kind = "private"
	Commanded Kind = "command"
	Clicked   Kind = "click"
	Mentioned Kind = "mention"
	Called    Kind = "call"
	Linked    Kind = "socket"
	Acked     Kind = "ack"
)

// Entry is one thing that happened, in order.
type Entry struct {
	Seq  int
	At   time.Time
	Kind Kind
	// Message is the message after what happened, if it is about one.
	Message *Message
	// User is who did it, for commands, clicks and mentions.
	User string
	// Detail is a method and its outcome, a command line, a button's label.
	Detail string
}

// note adds to the journal and wakes who waits. d.mu is held.
func (d *Double) note(e Entry) {
	e.Seq, e.At = len(d.journal)+1, d.opts.Stamp()
	if e.Message != nil {
		e.Message = e.Message.clone()
	}
	d.journal = append(d.journal, e)
	close(d.changed)
	d.changed = make(chan struct{})
}

// Journal returns everything after the entry with number since; 0 is all.
func (d *Double) Journal(since int) []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if since >= len(d.journal) {
		return nil
	}
	return slices.Clone(d.journal[max(since, 0):])
}

// Changed is closed at the next entry of the journal.
func (d *Double) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Wait blocks until cond holds, asking again after every entry of the journal.
func (d *Double) Wait(ctx context.Context, what string, cond func() bool) error {
	for {
		changed := d.Changed()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("slackdouble: waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// Calls counts the calls of a method with the given outcome ("ok", an error word,
// or a status such as "429"); an empty outcome counts all.
func (d *Double) Calls(method, outcome string) int {
	n := 0
	for _, e := range d.Journal(0) {
		if e.Kind != Called {
			continue
		}
		if e.Detail == method+" "+outcome || (outcome == "" && len(e.Detail) > len(method) && e.Detail[:len(method)+1] == method+" ") {
			n++
		}
	}
	return n
}
