package bot

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// Diagnoser looks at a cluster. An error with a method Safe() string has text
// that may be shown; all others are only logged.
type Diagnoser interface {
	Diagnose(ctx context.Context, r diagnose.Request) (diagnose.Evidence, diagnose.Diagnosis, error)
}

// Poster posts, edits and finds messages. Errors are those of package slack.
type Poster interface {
	Send(ctx context.Context, p slack.Post) (slack.Posted, error)
	Find(ctx context.Context, p slack.Post, since time.Time) (slack.Posted, bool, error)
}

// Deleter is what a Poster may also be: it removes a message of the bot.
type Deleter interface {
	Delete(ctx context.Context, channel, ts string) error
}

// Responder answers commands and clicks.
type Responder interface {
	Respond(ctx context.Context, responseURL string, m playbooks.Message, o slack.ResponseOptions) error
}

// Asker tells which alerts still fire. known is false when nobody could say.
type Asker interface {
	StillFiring(ctx context.Context, fingerprints []string) (firing []string, known bool, err error)
}

// Check is one more condition of readiness; the error is shown on /-/ready and
// must be safe.
type Check struct {
	Name string
	Do   func(ctx context.Context) error
}

// Deps are the server's neighbours. Diagnoser, Poster, Responder and Playbooks
// must be there.
type Deps struct {
	Diagnoser Diagnoser
	Poster    Poster
	Responder Responder
	Playbooks *playbooks.Set
	// Asker may be nil: then silence ends in "unknown".
	Asker Asker
	// BrokerOf resolves a scrape instance to a broker id; may be nil.
	BrokerOf func(cluster, instance string) (int32, bool)
	// Connected reports whether commands and clicks arrive; nil = yes.
	Connected func() bool
	Ready     []Check
	Log       *slog.Logger
	// Registry gets the metrics and is served on /metrics; nil = a new one.
	Registry *prometheus.Registry
	// Now and NewID are replaced in tests.
	Now   func() time.Time
	NewID func() string
	// After calls f once d has passed on the clock of Now. nil = it does so up to
	// a minute ahead; the store's timers are punctual enough for what is later.
	// The demo plays faster than the clock on the wall.
	After func(d time.Duration, f func())
}

func (d Deps) withDefaults() Deps {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Registry == nil {
		d.Registry = prometheus.NewRegistry()
	}
	if d.Now == nil {
		d.Now = func() time.Time { return time.Now().UTC() }
	}
	if d.NewID == nil {
		d.NewID = newID
	}
	if d.After == nil {
		d.After = func(wait time.Duration, do func()) {
			if wait <= time.Minute {
				time.AfterFunc(wait, do)
			}
		}
	}
	if d.Connected == nil {
		d.Connected = func() bool { return true }
	}
	return d
}
