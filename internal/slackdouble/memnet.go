package slackdouble

import (
	"context"
	"net"
	"sync"
	"time"
)

// memNet is a network in memory: a listener and the function that dials it.
type memNet struct {
	accept chan net.Conn
	done   chan struct{}
	once   sync.Once
}

func newMemNet() *memNet {
	return &memNet{accept: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (n *memNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *memNet) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

// Addr implements net.Listener.
func (n *memNet) Addr() net.Addr { return memAddr{} }

type memAddr struct{}

func (memAddr) Network() string { return "memory" }
func (memAddr) String() string  { return "slack.double" }

func (n *memNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	client, server := newBuffered(a), newBuffered(b)
	err := net.ErrClosed
	select {
	case n.accept <- server:
		return client, nil
	case <-n.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = client.Close(), server.Close()
	return nil, &net.OpError{Op: "dial", Net: "memory", Err: err}
}

// buffered gives a pipe what a socket has and a pipe has not: writing does not
// wait for the other side to read. Without it two sides that write to each other
// before they read would stand still.
type buffered struct {
	net.Conn
	queue chan []byte
	stop  chan struct{}
	once  sync.Once
}

// queueLength is how many writes may wait.
const queueLength = 1024

func newBuffered(c net.Conn) *buffered {
	b := &buffered{Conn: c, queue: make(chan []byte, queueLength), stop: make(chan struct{})}
	go b.drain()
	return b
}

// Write queues a copy of p.
func (b *buffered) Write(p []byte) (int, error) {
	select {
	case <-b.stop:
		return 0, net.ErrClosed
	default:
	}
	select {
	case b.queue <- append([]byte(nil), p...):
		return len(p), nil
	case <-b.stop:
		return 0, net.ErrClosed
	}
}

// drain passes the queue on; what was written before Close still arrives.
func (b *buffered) drain() {
	defer func() { _ = b.Conn.Close() }()
	for {
		select {
		case p := <-b.queue:
			if _, err := b.Conn.Write(p); err != nil {
				return
			}
			continue
		default:
		}
		select {
		case p := <-b.queue:
			if _, err := b.Conn.Write(p); err != nil {
				return
			}
		case <-b.stop:
			return
		}
	}
}

// SetDeadline bounds reading only: a write never waits.
func (b *buffered) SetDeadline(t time.Time) error { return b.SetReadDeadline(t) }

// SetWriteDeadline does nothing, for the same reason.
func (b *buffered) SetWriteDeadline(time.Time) error { return nil }

// Close ends the connection once the queue is passed on, or after a second if
// the other side does not read.
func (b *buffered) Close() error {
	b.once.Do(func() {
		_ = b.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		close(b.stop)
	})
	return nil
}
