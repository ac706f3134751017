package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// batch works some events: it steps incidents in memory and collects what is to
// be written. Nothing is written before write, nothing is said before
// committed.
type batch struct {
	s     *Server
	now   time.Time
	ids   []int64
	state map[string]*touched
	order []string
	// first are writes that do not depend on incidents' messages.
	first []func(context.Context, *store.Tx) error
	after []func()
	seen  map[string]bool
	asks  map[string]*ask
}

// touched is an incident that the batch changed.
type touched struct {
	st      incident.State
	channel string
	// open, edit and details say which messages have to show the new state.
	open, edit, details bool
	// repost: the messages have to be posted anew.
	repost bool
	// absorbed: it became part of another incident and is not shown.
	absorbed bool
	says     []saying
}

// saying is a line for the thread.
type saying struct {
	message   playbooks.Message
	broadcast bool
	// late: only if the root was posted already.
	late bool
}

func newBatch(s *Server) *batch {
	return &batch{s: s, state: map[string]*touched{}, seen: map[string]bool{}, asks: map[string]*ask{}}
}

// take works one event. One that cannot be worked is logged and dropped: it
// must not stop those behind it.
func (b *batch) take(ctx context.Context, it store.Item) {
	b.ids = append(b.ids, it.ID)
	b.now = it.Received
	defer func() {
		if r := recover(); r != nil {
			b.s.deps.Log.Error("an event broke the worker and was dropped", "kind", it.Kind, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	if err := b.dispatch(ctx, it); err != nil {
		b.s.deps.Log.Error("an event was dropped", "kind", it.Kind, "error", err)
	}
}

func (b *batch) dispatch(ctx context.Context, it store.Item) error {
	switch it.Kind {
	case itemAlerts:
		return decode(it.Body, b.alerts)
	case itemVerdict:
		return decode(it.Body, func(v verdictEvent) { b.verdict(ctx, v) })
	case itemAsked:
		return decode(it.Body, b.asked)
	case itemTimer:
		return decode(it.Body, b.timer)
	case itemCommand:
		return decode(it.Body, func(c slack.Command) { b.command(ctx, c) })
	case itemClick:
		return decode(it.Body, func(c slack.Click) { b.click(ctx, c) })
	case itemRepost:
		return decode(it.Body, b.repost)
	}
	return fmt.Errorf("nobody knows events of kind %q", it.Kind)
}

func decode[T any](body []byte, do func(T)) error {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return fmt.Errorf("decoding an event: %w", err)
	}
	do(v)
	return nil
}

// step applies an event to an incident.
func (b *batch) step(st incident.State, e incident.Event) *touched {
	next, effects := b.s.cfg.Incident.Step(st, e, b.now)
	t := b.touch(next)
	b.s.book.Put(next)
	for _, f := range effects {
		b.effect(t, f)
	}
	return t
}

func (b *batch) touch(st incident.State) *touched {
	t, ok := b.state[st.ID]
	if !ok {
		t = &touched{}
		b.state[st.ID] = t
		b.order = append(b.order, st.ID)
	}
	t.st = st
	return t
}

// incident returns an incident as the batch left it.
func (b *batch) incident(id string) (incident.State, bool) {
	if t, ok := b.state[id]; ok {
		return t.st, true
	}
	return b.s.book.Get(id)
}

func (b *batch) effect(t *touched, f incident.Effect) {
	switch f := f.(type) {
	case incident.OpenRoot:
		t.open = true
	case incident.EditRoot:
		t.edit = true
	case incident.ShowDetails:
		t.details = true
	case incident.Say:
		t.says = append(t.says, b.s.line(t.st, f))
	case incident.Look:
		b.addLook(lookJob{
			ID: fmt.Sprintf("%s/%d", t.st.ID, f.Seq), Incident: t.st.ID, Seq: f.Seq, Request: f.Request, Purpose: purpose(f.First),
		})
	case incident.AskSender:
		b.addLook(lookJob{ID: fmt.Sprintf("%s/ask/%d", t.st.ID, b.now.UnixMilli()), Incident: t.st.ID, Ask: f.Fingerprints, Purpose: purposeAsk})
	case incident.SetTimer:
		b.setTimer(store.Timer{Kind: string(f.Timer), Key: t.st.ID, Seq: f.Seq, At: f.At})
	case incident.Decided:
		b.decided(t.st, f)
	}
}

func (b *batch) setTimer(t store.Timer) {
	b.first = append(b.first, func(ctx context.Context, tx *store.Tx) error { return tx.SetTimer(ctx, t) })
	b.after = append(b.after, func() { b.s.alarm(t) })
}

func (b *batch) timer(t store.Timer) {
	if st, ok := b.incident(t.Key); ok {
		b.step(st, incident.TimerDue{Timer: incident.TimerKind(t.Kind), Seq: t.Seq})
	}
}

// decided is the one line that says what became of an alert.
func (b *batch) decided(st incident.State, d incident.Decided) {
	cluster, id := st.Cluster, st.ID
	b.after = append(b.after, func() {
		b.s.metrics.alerts.WithLabelValues(string(d.Decision), string(d.Reason)).Inc()
		b.s.deps.Log.Info("alert decided", "decision", string(d.Decision), "reason", string(d.Reason),
			"alert", d.Name, "fingerprint", d.Fingerprint, "cluster", cluster, "incident_id", id)
	})
}

// repost shows an incident again after its messages were lost.
func (b *batch) repost(r repostEvent) {
	st, ok := b.incident(r.Incident)
	if !ok {
		b.s.deps.Log.Warn("a closed incident's message is gone and stays so", "incident_id", r.Incident)
		return
	}
	t := b.touch(st)
	t.repost, t.edit, t.details = true, true, st.Diagnosis != nil
}

type repostEvent struct {
	Incident string `json:"incident"`
}

// once reports whether a command or click is new, and remembers it.
func (b *batch) once(ctx context.Context, id string) bool {
	known, err := b.s.store.Known(ctx, id)
	if err != nil {
		b.s.deps.Log.Error("it could not be seen whether this was taken before", "id", id, "error", err)
	}
	if known || b.seen[id] {
		return false
	}
	b.seen[id] = true
	now := b.now
	b.first = append(b.first, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Seen(ctx, id, now)
		return err
	})
	return true
}
