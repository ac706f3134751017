package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// lookJob is a diagnosis to make, or a question to the sender's API. It is
// stored until its result is in the inbox, so a crash repeats it.
type lookJob struct {
	ID       string           `json:"id"`
	Purpose  string           `json:"purpose"`
	Incident string           `json:"incident,omitempty"`
	Seq      int64            `json:"seq,omitempty"`
	Request  diagnose.Request `json:"request"`
	// Ask are the fingerprints of a question.
	Ask []string `json:"ask,omitempty"`
}

// The purposes, most urgent first.
const (
	purposeFirst   = "first"
	purposeCommand = "command"
	purposeAsk     = "still_firing"
	purposeAgain   = "again"
)

func purpose(first bool) string {
	if first {
		return purposeFirst
	}
	return purposeAgain
}

func priority(purpose string) int {
	for i, p := range []string{purposeFirst, purposeCommand, purposeAsk} {
		if p == purpose {
			return i
		}
	}
	return 3
}

// verdictEvent is the result of a lookJob, as it stands in the inbox.
type verdictEvent struct {
	Job       lookJob             `json:"job"`
	Diagnosis *diagnose.Diagnosis `json:"diagnosis,omitempty"`
	Trouble   string              `json:"trouble,omitempty"`
}

type askedEvent struct {
	Incident string   `json:"incident"`
	Known    bool     `json:"known"`
	Firing   []string `json:"firing,omitempty"`
}

func (b *batch) addLook(j lookJob) {
	now := b.now
	b.first = append(b.first, func(ctx context.Context, tx *store.Tx) error {
		body, err := json.Marshal(j)
		if err != nil {
			return fmt.Errorf("encoding a diagnosis to make: %w", err)
		}
		return tx.AddLook(ctx, store.Look{ID: j.ID, Priority: priority(j.Purpose), Due: now, Body: body})
	})
}

// runLooks makes diagnoses, some at a time, until the server stops.
func (s *Server) runLooks(ctx context.Context) {
	running := map[string]bool{}
	ended := make(chan string, s.cfg.Parallel)
	for {
		s.startLooks(ctx, running, ended)
		select {
		case id := <-ended:
			delete(running, id)
		case <-s.wakeLooks:
		case <-time.After(time.Second):
		case <-s.quit:
			for range running {
				<-ended
			}
			return
		}
	}
}

// startLooks fills the free places. What runs is still in the store, so as many
// rows as may run, plus those that run, hold every candidate.
func (s *Server) startLooks(ctx context.Context, running map[string]bool, ended chan<- string) {
	if len(running) >= s.cfg.Parallel || s.stopping(ctx) {
		return
	}
	rows, err := s.store.Looks(ctx, s.cfg.Parallel+len(running))
	if err != nil {
		s.metrics.storeError(err)
		s.deps.Log.Error("diagnoses to make could not be read", "error", err)
		return
	}
	for _, r := range rows {
		if running[r.ID] || len(running) >= s.cfg.Parallel {
			continue
		}
		running[r.ID] = true
		go func() {
			defer func() { ended <- r.ID }()
			s.runLook(ctx, r)
		}()
	}
}

func (s *Server) runLook(ctx context.Context, r store.Look) {
	var j lookJob
	if err := json.Unmarshal(r.Body, &j); err != nil {
		s.deps.Log.Error("a diagnosis to make could not be read and was dropped", "error", err)
		s.finish(ctx, func(tx *store.Tx) error { _, err := tx.DropLook(ctx, r.ID); return err })
		return
	}
	if j.Purpose == purposeAsk {
		s.askSender(ctx, j)
		return
	}
	s.diagnose(ctx, j)
}

func (s *Server) diagnose(ctx context.Context, j lookJob) {
	start := time.Now()
	look, cancel := context.WithTimeout(ctx, s.cfg.LookTimeout)
	defer cancel()
	evidence, d, err := s.safely(look, j)
	if ctx.Err() != nil {
		return // stopping: the row stays, the next start looks again
	}
	s.metrics.lookSeconds.Observe(time.Since(start).Seconds())
	var packed store.Packed
	if err == nil {
		packed, err = s.pack(j, evidence, d)
	}
	v := verdictEvent{Job: j}
	result := "ok"
	if err != nil {
		result = "failed"
		v.Trouble = trouble(err, s.cfg.LookTimeout)
		s.deps.Log.Error("no diagnosis", "incident_id", j.Incident, "purpose", j.Purpose, "error", err, "took_ms", time.Since(start).Milliseconds())
	} else {
		v.Diagnosis = &d
		s.metrics.verdicts.WithLabelValues(string(d.Primary().Class), string(d.Primary().Confidence)).Inc()
		s.deps.Log.Info("diagnosed", "incident_id", j.Incident, "purpose", j.Purpose, "class", string(d.Primary().Class),
			"confidence", string(d.Primary().Confidence), "subject", d.Primary().Subject, "took_ms", time.Since(start).Milliseconds())
	}
	s.metrics.looks.WithLabelValues(j.Purpose, result).Inc()
	s.finish(ctx, func(tx *store.Tx) error { return s.storeVerdict(ctx, tx, v, packed) })
}

// safely turns a panic in a rule or collector into an error.
func (s *Server) safely(ctx context.Context, j lookJob) (e diagnose.Evidence, d diagnose.Diagnosis, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.deps.Log.Error("a diagnosis broke", "incident_id", j.Incident, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = errors.New("the diagnosis broke")
		}
	}()
	e, d, err = s.deps.Diagnoser.Diagnose(ctx, j.Request)
	if err == nil && len(d.Findings) == 0 {
		err = errors.New("the diagnosis has no finding")
	}
	return e, d, err
}

// pack writes evidence down. It is done before the transaction: nobody else can
// write while that is open, not even the webhook.
func (s *Server) pack(j lookJob, e diagnose.Evidence, d diagnose.Diagnosis) (store.Packed, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return store.Packed{}, fmt.Errorf("encoding evidence: %w", err)
	}
	verdict, err := json.Marshal(d)
	if err != nil {
		return store.Packed{}, fmt.Errorf("encoding a diagnosis: %w", err)
	}
	owner := j.Incident
	if owner == "" {
		owner = j.ID
	}
	return store.Pack(store.Evidence{ID: j.ID, Incident: owner, Taken: s.deps.Now(), Diagnosis: verdict, Body: body})
}

// storeVerdict: evidence, and the event, and no more row, at once.
func (s *Server) storeVerdict(ctx context.Context, tx *store.Tx, v verdictEvent, evidence store.Packed) error {
	there, err := tx.DropLook(ctx, v.Job.ID)
	if err != nil || !there {
		return err
	}
	it, err := s.item(itemVerdict, v)
	if err != nil {
		return err
	}
	if err := tx.Put(ctx, it); err != nil || v.Diagnosis == nil {
		return err
	}
	return tx.AddEvidence(ctx, evidence, s.cfg.KeepEvidence)
}

// finish commits a result, however long it takes: the work was done.
func (s *Server) finish(ctx context.Context, do func(*store.Tx) error) {
	for {
		err := s.store.Update(ctx, "storing a result", do)
		if err == nil || s.stopping(ctx) {
			return
		}
		s.metrics.storeError(err)
		s.deps.Log.Error("a result was not kept, trying again", "reason", storeReason(err), "error", err)
		s.sleep(ctx, time.Second, nil)
	}
}

func (s *Server) askSender(ctx context.Context, j lookJob) {
	e := askedEvent{Incident: j.Incident}
	if s.deps.Asker != nil {
		ask, cancel := context.WithTimeout(ctx, s.cfg.LookTimeout)
		defer cancel()
		firing, known, err := s.deps.Asker.StillFiring(ask, j.Ask)
		if err != nil {
			s.deps.Log.Warn("nobody could say whether it still fires", "incident_id", j.Incident, "error", err)
		}
		e.Known, e.Firing = known && err == nil, firing
	}
	if ctx.Err() != nil {
		return
	}
	s.finish(ctx, func(tx *store.Tx) error {
		there, err := tx.DropLook(ctx, j.ID)
		if err != nil || !there {
			return err
		}
		it, err := s.item(itemAsked, e)
		if err != nil {
			return err
		}
		return tx.Put(ctx, it)
	})
}

// trouble is a sentence that may be shown.
func trouble(err error, budget time.Duration) string {
	var safe interface{ Safe() string }
	switch {
	case errors.As(err, &safe):
		return safe.Safe()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("The sources gave no answer within %s.", budget)
	}
	return "The diagnosis could not be made; the bot's log has the reason."
}

// verdict takes a result in: for the incident, and for those who asked.
func (b *batch) verdict(ctx context.Context, v verdictEvent) {
	if st, ok := b.incident(v.Job.Incident); ok {
		first := st.FirstAt.IsZero()
		var e incident.Event = incident.LookFailed{Seq: v.Job.Seq, Trouble: v.Trouble}
		if v.Diagnosis != nil {
			e = incident.Diagnosed{Seq: v.Job.Seq, Diagnosis: *v.Diagnosis}
		}
		t := b.step(st, e)
		if first && !t.st.FirstAt.IsZero() {
			took := t.st.FirstAt.Sub(t.st.Opened)
			b.after = append(b.after, func() { b.s.metrics.verdictSeconds.Observe(took.Seconds()) })
		}
		b.absorb(ctx, t.st)
	}
	b.answerAsks(v)
}

func (b *batch) asked(e askedEvent) {
	if st, ok := b.incident(e.Incident); ok {
		b.step(st, incident.Asked{Known: e.Known, Firing: e.Firing})
	}
}
