package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
)

// Server takes alerts, commands and clicks, and keeps one thread per incident.
type Server struct {
	cfg     Config
	deps    Deps
	store   *store.Store
	mapping alertmanager.Mapping
	metrics *metrics
	handler http.Handler

	// book, asking and dirty belong to the worker. dirty says that memory is
	// ahead of the file, because a commit failed.
	book   *incident.Book
	asking waiting
	dirty  bool

	quit      chan struct{}
	wakeOut   chan struct{}
	wakeLooks chan struct{}
	loops     sync.WaitGroup
	ops       context.Context
	cancelOps context.CancelFunc

	addr     atomic.Pointer[net.TCPAddr]
	authBad  atomic.Bool
	alive    atomic.Int64
	started  time.Time
	cleanups *cleanups
	shown    *shown
	stopOnce sync.Once
	stopErr  error
}

// New checks the configuration, opens the store and registers metrics. Nothing
// runs yet. When it fails nothing is left open.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("checking the configuration: %w", err)
	}
	deps = deps.withDefaults()
	if deps.Diagnoser == nil || deps.Poster == nil || deps.Responder == nil || deps.Playbooks == nil {
		return nil, errors.New("a diagnoser, a poster, a responder and playbooks are needed")
	}
	s := &Server{
		cfg: cfg, deps: deps, quit: make(chan struct{}), started: deps.Now(),
		wakeOut: make(chan struct{}, 1), wakeLooks: make(chan struct{}, 1),
		cleanups: &cleanups{log: deps.Log}, shown: newShown(),
	}
	var err error
	if s.mapping, err = cfg.Labels.Compile(deps.BrokerOf); err != nil {
		return nil, fmt.Errorf("checking labels.broker_pod: %w", err)
	}
	s.ops, s.cancelOps = context.WithCancel(context.Background())
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.cleanups.run(context.Background()))
	}
	return s, nil
}

func (s *Server) open() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var err error
	s.store, err = store.Open(ctx, store.Options{
		Path: s.cfg.Store, MaxInbox: s.cfg.MaxInbox, MaxPages: s.cfg.MaxStoreBytes / store.PageBytes, Log: s.deps.Log,
	})
	if err != nil {
		return fmt.Errorf("opening the store %s: %w", s.cfg.Store, err)
	}
	s.cleanups.add("store", func(context.Context) error { return s.store.Close() })
	s.metrics = newMetrics(s.deps.Registry, s)
	s.handler = s.routes()
	return s.load(ctx)
}

// load fills the book from the store: at the start, and after a batch failed
// half-way.
func (s *Server) load(ctx context.Context) error {
	rows, err := s.store.Incidents(ctx, string(incident.Closed))
	if err != nil {
		return err
	}
	book := incident.NewBook(s.cfg.Incident)
	for _, r := range rows {
		var st incident.State
		if err := json.Unmarshal(r.Body, &st); err != nil {
			return fmt.Errorf("reading incident %s: %w", r.ID, err)
		}
		book.Put(st)
	}
	s.book = book
	s.metrics.incidents(book)
	return s.loadAsks(ctx)
}

// Start begins to listen and to work. The context only bounds the start.
func (s *Server) Start(ctx context.Context) error {
	open := len(s.book.All()) // the worker's from here on
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.Stop(ctx))
	}
	s.deps.Log.Info("started", "listen", s.Addr(), "open_incidents", open, "inbox", s.store.Waiting())
	return nil
}

func (s *Server) start(ctx context.Context) error {
	ln, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.cleanups.add("loops", s.stopLoops)
	s.loop(s.work)
	s.loop(s.runLooks)
	s.loop(s.drain)
	if err := s.store.StartTimers(ctx, s.onTimer, s.clean); err != nil {
		return err
	}
	s.cleanups.add("timers", s.store.StopTimers)
	if ln != nil {
		s.serve(ln)
	}
	return nil
}

// listen binds the address; without one there is only Handler.
func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	if s.cfg.Listen == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", s.cfg.Listen, err)
	}
	s.cleanups.add("listener", func(context.Context) error { return ignoreClosed(ln.Close()) })
	if a, ok := ln.Addr().(*net.TCPAddr); ok {
		s.addr.Store(a)
	}
	return ln, nil
}

func (s *Server) loop(do func(context.Context)) {
	s.loops.Go(func() { do(s.ops) })
}

// stopLoops lets what is under way finish, and cuts it off when the time is up.
// What is cut off is found again at the next start.
func (s *Server) stopLoops(ctx context.Context) error {
	close(s.quit)
	done := make(chan struct{})
	go func() { s.loops.Wait(); close(done) }()
	grace, cancel := context.WithTimeout(ctx, s.cfg.StopTimeout/2)
	defer cancel()
	select {
	case <-done:
	case <-grace.Done():
	}
	s.cancelOps()
	<-done
	return nil
}

func (s *Server) serve(ln net.Listener) {
	srv := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	s.loops.Go(func() {
		if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.deps.Log.Error("the HTTP server ended", "error", err)
		}
	})
	s.cleanups.add("http", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.StopTimeout/3)
		defer cancel()
		return errors.Join(srv.Shutdown(ctx), srv.Close())
	})
}

// Stop ends everything within Config.StopTimeout, or sooner when the context
// ends. A second call returns what the first one did.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.StopTimeout)
		defer cancel()
		s.stopErr = s.cleanups.run(ctx)
		s.cancelOps()
		s.deps.Log.Info("stopped", "error", s.stopErr)
	})
	return s.stopErr
}

// Addr is where the server listens, nil before Start.
func (s *Server) Addr() *net.TCPAddr { return s.addr.Load() }

// Handler is the HTTP side, for tests without a network.
func (s *Server) Handler() http.Handler { return s.handler }

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
