package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	slackapi "github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// ErrSocketOff says that Socket Mode is turned off for the app: opening a socket
// again would not help until somebody turns it on.
var ErrSocketOff = errors.New("slack: Socket Mode is turned off for this app; turn it on under Socket Mode in the app's settings")

// Times of the socket.
const (
	// pingTimeout is how long a connection may be silent. Slack pings about
	// every 10 s; a connection that looks alive and is not is noticed by this.
	pingTimeout = 30 * time.Second
	// helloTimeout bounds dialing and waiting for the first frame.
	helloTimeout = 15 * time.Second
	// drainTime is how long an old connection is read after its successor said
	// hello. Slack announces an end 10 s ahead and brings it about itself; only
	// if it does not, we do, when surely nothing is delivered there any more.
	drainTime = time.Minute
	// closeTime is how long we read on after our goodbye.
	closeTime = 5 * time.Second
	// stopGrace is what handlers get to finish after the end of Run's context.
	stopGrace = 5 * time.Second

	minBackoff = time.Second
	maxBackoff = time.Minute
	// apps.connections.open is Tier 1 (about once a minute, bursts tolerated).
	openBurst = 4
	openEvery = 20 * time.Second
)

// Handlers that run at once, and deliveries that may wait for one. Beyond that
// a delivery is not acknowledged: the person sees that it failed, and Slack sends
// events again, which is better than to take it and forget it.
const (
	maxHandlers = 32
	maxWaiting  = 256
)

// Socket receives commands and clicks over Socket Mode. It holds several
// connections, and when Slack announces the end of one it opens the next before
// it leaves the old, so that there is always one to deliver to. Everything is
// acknowledged first, on the connection it came on, and then handed to the
// handler, once per command or click.
type Socket struct {
	cfg     Config
	api     *slackapi.Client
	handler Handler
	log     *slog.Logger
	metrics *Metrics

	opens   *rate.Limiter
	seen    *seen
	slots   chan struct{}
	waiting atomic.Int64
	alive   atomic.Int64
	work    sync.WaitGroup
	conns   sync.WaitGroup
}

// NewSocket makes a socket; it connects in Run. metrics may be nil.
func NewSocket(cfg Config, handler Handler, log *slog.Logger, metrics *Metrics) *Socket {
	if metrics == nil {
		metrics = NewMetrics(nil)
	}
	if cfg.Connections == 0 {
		cfg.Connections = defaultConnections
	}
	return &Socket{
		cfg: cfg, api: cfg.client(), handler: handler, log: log, metrics: metrics,
		opens: rate.NewLimiter(rate.Every(openEvery), openBurst+cfg.Connections),
		seen:  newSeen(maxSeen), slots: make(chan struct{}, maxHandlers),
	}
}

// Ready says whether a connection is up that said hello and has not gone silent.
func (s *Socket) Ready() bool { return s.alive.Load() > 0 }

// Run connects and stays connected until ctx ends (then it returns nil after
// handlers had a few seconds to finish), until Slack refuses the app token
// (ErrAuth) or until Socket Mode is turned off (ErrSocketOff).
func (s *Socket) Run(ctx context.Context) error {
	handling, stopHandling := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHandling()
	g, gctx := errgroup.WithContext(ctx)
	for range s.cfg.Connections {
		g.Go(func() error { return s.lane(gctx, handling) })
	}
	err := g.Wait()
	s.conns.Wait()
	timer := time.AfterFunc(stopGrace, stopHandling)
	defer timer.Stop()
	s.work.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lane keeps one connection up, overlapping each with the next.
func (s *Socket) lane(ctx, handling context.Context) error {
	var old *conn
	backoff := minBackoff
	for ctx.Err() == nil {
		c, err := s.connect(ctx, handling)
		if err == nil {
			if old != nil {
				old.drain(drainTime)
			}
			old, backoff = c, minBackoff
			since := time.Now()
			err = c.awaitEnd(ctx)
			if err == nil || time.Since(since) > steady && !permanent(err) {
				continue
			}
			c.drain(drainTime)
		}
		if permanent(err) {
			return fmt.Errorf("receiving from Slack: %w", err)
		}
		if ctx.Err() == nil {
			backoff = s.pause(ctx, err, backoff)
		}
	}
	return nil
}

// steady is how long a connection must have lived for the next to be opened
// without a pause after it broke.
const steady = 20 * time.Second

// connect opens a connection, begins to read it and waits for its hello.
func (s *Socket) connect(ctx, handling context.Context) (*conn, error) {
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.serve(ctx, handling, c)
	return c, c.awaitHello(ctx)
}

// pause waits before the next try: as long as Slack asks for, else a random part
// of a time that doubles. It returns the next time.
func (s *Socket) pause(ctx context.Context, err error, backoff time.Duration) time.Duration {
	wait := backoff/2 + rand.N(backoff/2)
	var retry *RetryError
	if errors.As(err, &retry) && isLimited(err) {
		wait = max(wait, retry.After)
	}
	s.log.WarnContext(ctx, "slack socket is down, connecting again", "error", err, "wait_seconds", wait.Seconds(), "ready", s.Ready())
	_ = sleepUntil(ctx, time.Now().Add(wait))
	return min(2*backoff, maxBackoff)
}

// permanent says whether opening again would not help.
func permanent(err error) bool {
	return errors.Is(err, ErrSocketOff) || errors.Is(err, ErrAuth)
}

// open asks for a URL and dials it.
func (s *Socket) open(ctx context.Context) (*conn, error) {
	if err := s.opens.Wait(ctx); err != nil {
		return nil, notSent("waiting to open a socket", err)
	}
	callCtx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	_, url, err := s.api.StartSocketModeContext(callCtx)
	err = classify("asking Slack for a socket", err)
	s.metrics.call(methodOpen, err)
	if isLimited(err) {
		s.metrics.rateLimited.WithLabelValues(methodOpen).Inc()
	}
	if wordOf(err) == "socket_mode_not_enabled" || wordOf(err) == "forbidden_team" {
		return nil, ErrSocketOff
	}
	if err != nil {
		return nil, err
	}
	return dial(callCtx, s.cfg, url)
}

// serve reads a connection until it ends.
func (s *Socket) serve(ctx, handling context.Context, c *conn) {
	s.conns.Go(func() {
		stop := context.AfterFunc(ctx, func() { c.close() })
		defer stop()
		c.read(frames{
			hello: func() { s.count(1) },
			gone:  func() { s.count(-1) },
			deliver: func(e envelope) bool {
				return s.deliver(handling, c, e)
			},
		})
	})
}

func (s *Socket) count(n int64) { s.metrics.connections.Set(float64(s.alive.Add(n))) }

// deliver acknowledges an envelope and hands it on. It reports whether it did.
func (s *Socket) deliver(ctx context.Context, c *conn, e envelope) bool {
	job, id := s.decode(e)
	if job != nil && s.waiting.Add(1) > maxWaiting {
		s.waiting.Add(-1)
		s.book(e, "busy")
		s.log.ErrorContext(ctx, "too many slack commands are waiting; one was not taken", "type", e.Type, "waiting", maxWaiting)
		return false
	}
	if err := c.ack(e.ID); err != nil {
		// The person sees a failure, but the wish is known: it is served all
		// the same, and a second delivery will find it done.
		s.log.WarnContext(ctx, "slack envelope could not be acknowledged", "type", e.Type, "error", err)
	}
	switch {
	case job == nil:
		s.book(e, "ignored")
	case !s.seen.first(id):
		s.waiting.Add(-1)
		s.book(e, "duplicate")
	default:
		s.book(e, "taken")
		s.start(ctx, job)
	}
	return true
}

func (s *Socket) book(e envelope, outcome string) {
	kind := "other"
	switch e.Type {
	case typeCommand, typeInteractive, typeEvent:
		kind = e.Type
	}
	s.metrics.envelopes.WithLabelValues(kind, outcome).Inc()
}

// start runs a job when a slot is free.
func (s *Socket) start(ctx context.Context, job func(context.Context)) {
	s.work.Go(func() {
		defer s.waiting.Add(-1)
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		defer func() { <-s.slots }()
		job(ctx)
	})
}
