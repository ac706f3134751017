package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// outgoing is the body of an outbox row.
type outgoing struct {
	Message   playbooks.Message `json:"message"`
	Broadcast bool              `json:"broadcast,omitempty"`
	// URL and Options are for answers. The URL is a credential for 30 minutes.
	URL     string                `json:"url,omitempty"`
	Options slack.ResponseOptions `json:"options,omitzero"`
	// Channel is where an answer goes when its URL is used up, "" = nowhere.
	Channel string `json:"channel,omitempty"`
	// Received is when the webhook came, for the time to the root.
	Received time.Time `json:"received,omitzero"`
}

// Lanes: posts and edits of a channel do not wait for each other, because Slack
// limits them apart; answers wait for nobody.
func postLane(channel string) string  { return "post " + channel }
func editLane(channel string) string  { return "edit " + channel }
func answerLane(person string) string { return "answer " + person }
func kindLane(kind, ch string) string {
	if kind == store.KindEdit || kind == store.KindEditDetails {
		return editLane(ch)
	}
	return postLane(ch)
}

// write is the transaction: events out of the inbox, everything that follows in.
func (b *batch) write(ctx context.Context, tx *store.Tx) error {
	if err := tx.Take(ctx, b.ids...); err != nil {
		return err
	}
	for _, w := range b.first {
		if err := w(ctx, tx); err != nil {
			return err
		}
	}
	for _, id := range b.order {
		if err := b.save(ctx, tx, b.state[id]); err != nil {
			return fmt.Errorf("incident %s: %w", id, err)
		}
	}
	return b.saveAsks(ctx, tx)
}

// committed says and counts what has happened.
func (b *batch) committed() {
	for _, f := range b.after {
		f()
	}
	if len(b.order) > 0 {
		b.s.metrics.incidents(b.s.book)
	}
	wake(b.s.wakeOut)
	wake(b.s.wakeLooks)
}

func (b *batch) save(ctx context.Context, tx *store.Tx, t *touched) error {
	body, err := json.Marshal(t.st)
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	err = tx.SaveIncident(ctx, store.Incident{
		ID: t.st.ID, Cluster: t.st.Cluster, Phase: string(t.st.Phase), Opened: t.st.Opened, Changed: b.now, Body: body,
	})
	if err != nil {
		return err
	}
	o := store.Occurrence{Incident: t.st.ID, Number: t.st.Occurrence, Started: t.st.Since, Ended: t.st.Ended}
	if t.st.Diagnosis != nil {
		o.Class = string(t.st.Diagnosis.Primary().Class)
	}
	if err := tx.SaveOccurrence(ctx, o); err != nil {
		return err
	}
	return b.messages(ctx, tx, t)
}

// messages puts an incident's messages into the outbox. A root that was not
// sent yet is changed instead of edited.
func (b *batch) messages(ctx context.Context, tx *store.Tx, t *touched) error {
	if t.absorbed {
		return tx.Forget(ctx, t.st.ID)
	}
	if t.open {
		if err := tx.SaveThread(ctx, store.Thread{ID: t.st.ID, Lane: t.channel}); err != nil {
			return err
		}
	}
	th, ok, err := tx.Thread(ctx, t.st.ID)
	if err != nil || !ok {
		return err
	}
	waiting, err := b.root(ctx, tx, t, th)
	if err != nil {
		return err
	}
	for _, s := range t.says {
		if s.late && waiting {
			continue
		}
		body, err := encode(outgoing{Message: s.message, Broadcast: s.broadcast})
		if err != nil {
			return err
		}
		if err := b.post(ctx, tx, th, store.KindReply, body); err != nil {
			return err
		}
	}
	if t.details {
		return b.details(ctx, tx, t, th)
	}
	return nil
}

// root shows the state in the root; waiting is true when the root was not
// attempted yet.
func (b *batch) root(ctx context.Context, tx *store.Tx, t *touched, th store.Thread) (waiting bool, err error) {
	fresh := t.open || t.repost
	if !fresh && !t.edit && th.RootTS != "" {
		return false, nil // it is posted, and nothing in it has changed
	}
	body, err := encode(outgoing{Message: b.s.rootMessage(t.st), Received: t.st.Opened})
	if err != nil {
		return false, err
	}
	if fresh {
		if there, err := tx.Merge(ctx, t.st.ID, store.KindRoot, body); err != nil || there {
			return true, err
		}
		if under, err := tx.Has(ctx, t.st.ID, store.KindRoot); err != nil || under {
			return false, err
		}
		_, err := tx.Enqueue(ctx, store.Out{
			Lane: postLane(th.Lane), Thread: t.st.ID, Kind: store.KindRoot, Body: body, Created: b.now, Due: b.rootDue(t),
		})
		return true, err
	}
	if th.RootTS == "" {
		there, err := tx.Merge(ctx, t.st.ID, store.KindRoot, body)
		if err != nil {
			return false, err
		}
		if there {
			return true, tx.Hasten(ctx, t.st.ID, b.rootDue(t))
		}
	}
	if !t.edit {
		return false, nil
	}
	return false, b.merge(ctx, tx, th, store.KindEdit, body)
}

// rootDue: a root waits for the first verdict, but not for long.
func (b *batch) rootDue(t *touched) time.Time {
	if t.repost || t.st.Diagnosis != nil || t.st.Trouble != "" || t.st.Phase != incident.Firing {
		return b.now
	}
	return t.st.Opened.Add(b.s.cfg.FirstVerdict)
}

// details posts the evidence once and edits it from then on: a line nobody
// asked for must not notify everybody in the thread.
func (b *batch) details(ctx context.Context, tx *store.Tx, t *touched, th store.Thread) error {
	body, err := encode(outgoing{Message: b.s.detailsMessage(t.st)})
	if err != nil {
		return err
	}
	if th.DetailsTS == "" {
		there, err := tx.Merge(ctx, t.st.ID, store.KindDetails, body)
		if err != nil || there {
			return err
		}
		under, err := tx.Has(ctx, t.st.ID, store.KindDetails)
		if err != nil {
			return err
		}
		if !under {
			return b.post(ctx, tx, th, store.KindDetails, body)
		}
	}
	return b.merge(ctx, tx, th, store.KindEditDetails, body)
}

// merge changes the row of this kind that waits, or puts a new one.
func (b *batch) merge(ctx context.Context, tx *store.Tx, th store.Thread, kind string, body []byte) error {
	there, err := tx.Merge(ctx, th.ID, kind, body)
	if err != nil || there {
		return err
	}
	return b.post(ctx, tx, th, kind, body)
}

func (b *batch) post(ctx context.Context, tx *store.Tx, th store.Thread, kind string, body []byte) error {
	_, err := tx.Enqueue(ctx, store.Out{
		Lane: kindLane(kind, th.Lane), Thread: th.ID, Kind: kind, Body: body, Created: b.now, Due: b.now,
	})
	return err
}

func encode(out outgoing) ([]byte, error) {
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding a message: %w", err)
	}
	return body, nil
}

// answer puts an answer to a person into the outbox.
func (b *batch) answer(id string, out outgoing) {
	now := b.now
	b.first = append(b.first, func(ctx context.Context, tx *store.Tx) error {
		body, err := encode(out)
		if err != nil {
			return err
		}
		_, err = tx.Enqueue(ctx, store.Out{Lane: answerLane(id), Thread: "answer " + id, Kind: store.KindRespond, Body: body, Created: now, Due: now})
		return err
	})
}
