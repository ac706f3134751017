package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// ask is a question from Slack. It is kept so that the answer survives a
// restart, and for Share.
type ask struct {
	ID      string          `json:"id"`
	Key     string          `json:"key"`
	User    string          `json:"user"`
	Target  diagnose.Target `json:"target"`
	Channel string          `json:"channel"`
	// URL answers in private.
	URL     string    `json:"url"`
	Created time.Time `json:"created"`
	// Incident is the open incident on the same subject, "" if there is none.
	Incident string `json:"incident,omitempty"`
	// Look is the id of the own diagnosis; empty when it waits for that of the
	// incident.
	Look string `json:"look,omitempty"`
	// Done: the answer is out. Diagnosis and Trouble are what it said.
	Done      bool                `json:"done,omitempty"`
	Diagnosis *diagnose.Diagnosis `json:"diagnosis,omitempty"`
	Trouble   string              `json:"trouble,omitempty"`
	Shared    bool                `json:"shared,omitempty"`
}

// waiting holds the questions without an answer, by id.
type waiting map[string]*ask

// loadAsks reads the questions that still wait, after a restart.
func (s *Server) loadAsks(ctx context.Context) error {
	rows, err := s.store.AsksSince(ctx, s.deps.Now().Add(-answerLife))
	if err != nil {
		return err
	}
	s.asking = waiting{}
	for _, r := range rows {
		var a ask
		if err := json.Unmarshal(r.Body, &a); err != nil {
			return fmt.Errorf("reading question %s: %w", r.ID, err)
		}
		if !a.Done {
			s.asking[a.ID] = &a
		}
	}
	return nil
}

// ask returns a question as the batch left it.
func (b *batch) ask(ctx context.Context, id string) (*ask, bool) {
	if a, ok := b.asks[id]; ok {
		return a, true
	}
	row, ok, err := b.s.store.AskByID(ctx, id)
	if err != nil || !ok {
		return nil, false
	}
	return decodeAsk(row)
}

func decodeAsk(row store.Ask) (*ask, bool) {
	var a ask
	if json.Unmarshal(row.Body, &a) != nil {
		return nil, false
	}
	return &a, true
}

// recent returns the same question of the same person within
// Config.JoinCommands.
func (b *batch) recent(ctx context.Context, key string) (*ask, bool) {
	since := b.now.Add(-b.s.cfg.JoinCommands)
	for _, a := range b.asks {
		if a.Key == key && !a.Created.Before(since) {
			return a, true
		}
	}
	row, ok, err := b.s.store.AskByKey(ctx, key, since)
	if err != nil || !ok {
		return nil, false
	}
	return decodeAsk(row)
}

func (b *batch) saveAsks(ctx context.Context, tx *store.Tx) error {
	for id, a := range b.asks {
		body, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("encoding a question: %w", err)
		}
		if err := tx.SaveAsk(ctx, store.Ask{ID: id, Key: a.Key, Created: a.Created, Body: body}); err != nil {
			return err
		}
	}
	return nil
}

// answerAsks answers those who waited for a diagnosis.
func (b *batch) answerAsks(v verdictEvent) {
	var ids []string
	for id, a := range b.s.asking {
		own := a.Look == v.Job.ID
		joined := a.Look == "" && a.Incident != "" && a.Incident == v.Job.Incident
		if own || joined {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		a := *b.s.asking[id]
		a.Done, a.Diagnosis, a.Trouble = true, v.Diagnosis, v.Trouble
		delete(b.s.asking, id)
		b.asks[id] = &a
		b.answer(id, outgoing{URL: a.URL, Message: b.answerMessage(a)})
	}
}

// answerMessage is the private answer, with Share.
func (b *batch) answerMessage(a ask) playbooks.Message {
	target := a.Target
	if a.Diagnosis != nil && a.Diagnosis.Target.Cluster != "" {
		target = a.Diagnosis.Target
	}
	v := b.s.deps.Playbooks.Fill(playbooks.View{
		Target: target, Diagnosis: a.Diagnosis, Trouble: a.Trouble, LastLook: b.now, AnswerID: a.ID,
	}, nil)
	m := playbooks.Answer(v)
	if a.Incident != "" {
		m.Footer = append(m.Footer, b.openIncident(a.Incident))
	}
	return m
}

// openIncident is the line that leads to the incident's thread.
func (b *batch) openIncident(id string) playbooks.Rich {
	line := playbooks.Rich{{Text: "There is an open incident on this"}}
	th, ok, err := b.s.store.Thread(context.Background(), id)
	if err == nil && ok {
		if link := b.s.permalink(th.Channel, th.RootTS); link != "" {
			return append(line, playbooks.Span{Text: ": "}, playbooks.Span{Text: "its thread", URL: link})
		}
	}
	return append(line, playbooks.Span{Text: " (" + id + ")."})
}

// share shows an answer to everybody in the channel, once.
func (b *batch) share(ctx context.Context, c slack.Click) string {
	a, ok := b.ask(ctx, c.Value)
	switch {
	case !ok:
		b.tell(c.ID, c.ResponseURL, "That answer is not kept any more. Please ask again.")
		return "unknown"
	case a.Shared:
		return "repeated"
	case !a.Done:
		return "ignored"
	}
	shared := *a
	shared.Shared = true
	b.asks[a.ID] = &shared
	m := b.answerMessage(shared)
	m.Buttons = nil
	m.Footer = append(m.Footer, playbooks.T("asked and shared by "+who(c.UserName, c.UserID)))
	b.answer("share "+a.ID, outgoing{URL: c.ResponseURL, Message: m, Options: slack.ResponseOptions{InChannel: true}, Channel: c.ChannelID})
	return "ok"
}

// tell answers a person with one sentence.
func (b *batch) tell(id, url, sentence string) {
	if url != "" {
		b.answer(id, outgoing{URL: url, Message: playbooks.Message{Text: sentence, Summary: playbooks.T(sentence)}})
	}
}

func who(name, id string) string {
	if name != "" {
		return name
	}
	return id
}

// about is the open incident on a target.
func (b *batch) about(t diagnose.Target) (incident.State, bool) {
	sub := incident.Subject{Kind: incident.SubjectCluster}
	switch {
	case t.Group != "":
		sub = incident.Subject{Kind: incident.SubjectGroup, Name: t.Group}
	case t.Broker != nil:
		sub = incident.Broker(*t.Broker)
	case t.Topic != "":
		sub = incident.Subject{Kind: incident.SubjectTopic, Name: t.Topic}
	}
	st, ok := b.s.book.About(t.Cluster, sub)
	return st, ok && st.Phase != incident.Resolved
}
