package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"database/sql"
)

// Timer is a moment in an incident's life. Seq tells a superseded timer from
// the current one, so timers are never taken back.
type Timer struct {
	Kind string    `json:"timer"`
	Key  string    `json:"key"`
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
}

// OnTimer is called when a timer is due. An error makes River try again.
type OnTimer func(ctx context.Context, t Timer) error

type timers struct {
	client *river.Client[*sql.Tx]
	mu     sync.Mutex
	on     OnTimer
	clean  func(ctx context.Context) error
}

type timerArgs struct{ Timer }

func (timerArgs) Kind() string { return "kafka_oncall_timer" }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "kafka_oncall_clean" }

type timerWorker struct {
	river.WorkerDefaults[timerArgs]
	t *timers
}

// Work hands the timer over.
func (w *timerWorker) Work(ctx context.Context, job *river.Job[timerArgs]) error {
	w.t.mu.Lock()
	on := w.t.on
	w.t.mu.Unlock()
	if on == nil {
		return errors.New("nobody takes timers yet")
	}
	return on(ctx, job.Args.Timer)
}

type cleanWorker struct {
	river.WorkerDefaults[cleanArgs]
	t *timers
}

// Work cleans up.
func (w *cleanWorker) Work(ctx context.Context, _ *river.Job[cleanArgs]) error {
	w.t.mu.Lock()
	clean := w.t.clean
	w.t.mu.Unlock()
	if clean == nil {
		return nil
	}
	return clean(ctx)
}

// openTimers brings River's tables up to date and makes a client that can
// insert. Working starts with StartTimers.
func (s *Store) openTimers(ctx context.Context) error {
	quiet := slog.New(levelFloor{s.log.Handler(), slog.LevelWarn})
	driver := riversqlite.New(s.write)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return fmt.Errorf("preparing timers: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return typed("updating the timers' schema", err)
	}
	t := &timers{}
	workers := river.NewWorkers()
	river.AddWorker(workers, &timerWorker{t: t})
	river.AddWorker(workers, &cleanWorker{t: t})
	t.client, err = river.NewClient(driver, timerConfig(workers, quiet))
	if err != nil {
		return fmt.Errorf("preparing timers: %w", err)
	}
	s.timers = t
	return nil
}

// timerConfig: a job is one insert into the inbox, so whatever runs longer than
// a minute died with its process; River's own default is an hour. PollOnly,
// because listening on SQLite asks the database every 50 ms.
func timerConfig(workers *river.Workers, log *slog.Logger) *river.Config {
	hourly := river.NewPeriodicJob(river.PeriodicInterval(time.Hour),
		func() (river.JobArgs, *river.InsertOpts) { return cleanArgs{}, nil }, nil)
	return &river.Config{
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		Workers:                     workers,
		Logger:                      log,
		PollOnly:                    true,
		FetchPollInterval:           2 * time.Second,
		FetchCooldown:               100 * time.Millisecond,
		JobTimeout:                  20 * time.Second,
		RescueStuckJobsAfter:        time.Minute,
		CompletedJobRetentionPeriod: time.Hour,
		PeriodicJobs:                []*river.PeriodicJob{hourly},
		SoftStopTimeout:             3 * time.Second,
	}
}

// SetTimer stores a timer in this transaction.
func (t *Tx) SetTimer(ctx context.Context, timer Timer) error {
	_, err := t.s.timers.client.InsertTx(ctx, t.tx, timerArgs{timer}, &river.InsertOpts{ScheduledAt: timer.At})
	return err
}

// StartTimers begins to work timers and the hourly clean-up. River looks for
// scheduled jobs every 5 s, so a timer may be that late.
func (s *Store) StartTimers(ctx context.Context, on OnTimer, clean func(ctx context.Context) error) error {
	s.timers.mu.Lock()
	s.timers.on, s.timers.clean = on, clean
	s.timers.mu.Unlock()
	if err := s.timers.client.Start(context.WithoutCancel(ctx)); err != nil {
		return typed("starting timers", err)
	}
	return nil
}

// StopTimers waits for running jobs until the context ends.
func (s *Store) StopTimers(ctx context.Context) error {
	if err := s.timers.client.Stop(ctx); err != nil {
		return fmt.Errorf("stopping timers: %w", err)
	}
	return nil
}

// levelFloor passes records of a level and above: River is chatty.
type levelFloor struct {
	slog.Handler
	min slog.Level
}

// Enabled reports whether a level passes.
func (h levelFloor) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.min && h.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the floor.
func (h levelFloor) WithAttrs(a []slog.Attr) slog.Handler {
	return levelFloor{h.Handler.WithAttrs(a), h.min}
}

// WithGroup keeps the floor.
func (h levelFloor) WithGroup(name string) slog.Handler {
	return levelFloor{h.Handler.WithGroup(name), h.min}
}
