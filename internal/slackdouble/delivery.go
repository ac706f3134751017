package slackdouble

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Delivery is one thing sent to the client over a socket, and what became of it.
type Delivery struct {
	kind    string // slash_commands, interactive, events_api
	what    string
	payload func(l *link) object
	body    object // the payload, once made
	id      string

	link     *link
	sent     time.Time
	attempts int
	timer    *time.Timer
	onTheWay bool // written to its connection
	acked    bool
	failed   string
	done     chan struct{} // closed when acknowledged or given up
	ack      time.Duration
}

// Done is closed when the delivery was acknowledged or given up.
func (v *Delivery) Done() <-chan struct{} { return v.done }

// Outcome is "acknowledged" with the time it took, or what the user would see.
// It is to be asked after Done.
func (v *Delivery) Outcome() (string, time.Duration) {
	if v.failed != "" {
		return v.failed, 0
	}
	return "acknowledged", v.ack
}

// Event retries: at once, after a minute, after five.
var retryAfter = []time.Duration{0, time.Minute, 5 * time.Minute}

// dispatch sends a delivery on some connection. A command or a click without a
// connection fails at once, as a user would see; an event waits.
func (d *Double) dispatch(v *Delivery) {
	d.mu.Lock()
	if v.id == "" || v.kind != "events_api" {
		v.id = d.id("env")
	}
	d.sock.pending[v.id] = v
	l := d.pick()
	if l == nil {
		v.link = nil
		if v.kind != "events_api" {
			d.giveUp(v, "dispatch_failed: no connection")
		}
		d.mu.Unlock()
		return
	}
	if v.body == nil {
		v.body = v.payload(l)
	}
	v.link, v.sent, v.onTheWay = l, time.Now(), false
	v.attempts++
	v.timer = time.AfterFunc(d.lim.AckWithin, func() { d.overdue(v) })
	frame := object{"envelope_id": v.id, "type": v.kind, "payload": v.body, "accepts_response_payload": v.kind == "slash_commands"}
	if v.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = v.attempts-1, ""
		if v.attempts > 1 {
			frame["retry_reason"] = "timeout"
		}
	}
	frozen := l.isIced
	d.mu.Unlock()
	switch {
	case frozen:
		d.written(v, l)
	case l.send(frame):
		d.written(v, l)
	default:
		d.elsewhere(v, l)
	}
}

// written notes that a delivery is on its way. If its connection ended in that
// very moment, it is lost.
func (d *Double) written(v *Delivery, l *link) {
	d.mu.Lock()
	v.onTheWay = true
	open := v.acked || v.failed != ""
	d.mu.Unlock()
	select {
	case <-l.done:
		if !open {
			d.lost(v, l)
		}
	default:
	}
}

// elsewhere sends a delivery on another connection, because the one that was
// chosen ended before it was sent.
func (d *Double) elsewhere(v *Delivery, l *link) {
	d.mu.Lock()
	l.dead = true
	mine := v.link == l && !v.acked && v.failed == ""
	if mine {
		v.timer.Stop()
		v.attempts--
	}
	d.mu.Unlock()
	if mine {
		d.dispatch(v)
	}
}

// ack takes in what the client sent on a connection.
func (d *Double) ack(l *link, data []byte) {
	var a struct {
		ID      string          `json:"envelope_id"`
		Payload json.RawMessage `json:"payload"`
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(data) >= d.lim.AckBytes {
		d.violation("an acknowledgement of %d bytes was ignored", len(data))
		return
	}
	if json.Unmarshal(data, &a) != nil || a.ID == "" {
		d.violation("a frame that is no acknowledgement: %.60q", data)
		return
	}
	v := d.sock.pending[a.ID]
	switch {
	case v == nil:
		d.violation("an acknowledgement for an unknown envelope")
		return
	case v.acked:
		d.violation("%s was acknowledged twice", v.what)
		return
	case v.link != l:
		d.violation("%s was acknowledged on another connection", v.what)
	}
	v.timer.Stop()
	v.acked, v.ack = true, time.Since(v.sent)
	if v.failed != "" {
		d.violation("%s was acknowledged too late", v.what)
		return
	}
	close(v.done)
	d.note(Entry{Kind: Acked, Detail: v.what})
	d.inlineAnswer(v, a.Payload)
}

// inlineAnswer posts what a command was answered with in its acknowledgement.
func (d *Double) inlineAnswer(v *Delivery, payload json.RawMessage) {
	if v.kind != "slash_commands" || len(payload) == 0 || string(payload) == "null" || string(payload) == "{}" {
		return
	}
	channel, _ := v.body["channel_id"].(string)
	user, _ := v.body["user_id"].(string)
	l := &responseLink{channel: channel, user: user}
	var text string
	if json.Unmarshal(payload, &text) == nil {
		_ = d.applyResponse(l, responseBody{Text: text, Links: new(bool), Media: new(bool)})
		return
	}
	var b responseBody
	if json.Unmarshal(payload, &b) == nil && b.Text != "" {
		_ = d.applyResponse(l, b)
	}
}

// overdue is called when Slack's patience is at its end.
func (d *Double) overdue(v *Delivery) {
	d.mu.Lock()
	if v.acked || v.failed != "" {
		d.mu.Unlock()
		return
	}
	iced := v.link.isIced
	if !iced {
		d.violation("%s was not acknowledged within %s", v.what, d.lim.AckWithin)
	}
	if v.kind != "events_api" || v.attempts > len(retryAfter) {
		d.giveUp(v, "operation_timeout")
		d.mu.Unlock()
		return
	}
	wait := retryAfter[v.attempts-1]
	d.mu.Unlock()
	time.AfterFunc(wait, func() { d.dispatch(v) })
}

func (d *Double) giveUp(v *Delivery, why string) {
	v.failed = why
	close(v.done)
	d.note(Entry{Kind: Acked, Detail: v.what + " failed: " + why})
}

// orphans are deliveries that a connection took with it; d.mu is held.
func (d *Double) orphans(l *link) []*Delivery {
	var out []*Delivery
	for _, id := range slices.Sorted(maps.Keys(d.sock.pending)) {
		if v := d.sock.pending[id]; v.link == l && v.onTheWay && !v.acked && v.failed == "" {
			out = append(out, v)
		}
	}
	return out
}

// lost handles a delivery whose connection ended unacknowledged: events come
// again, commands and clicks are gone.
func (d *Double) lost(v *Delivery, l *link) {
	d.mu.Lock()
	if v.acked || v.failed != "" || v.link != l || !v.onTheWay {
		d.mu.Unlock()
		return
	}
	v.timer.Stop()
	v.onTheWay = false
	if v.kind == "events_api" {
		d.mu.Unlock()
		d.dispatch(v)
		return
	}
	d.violation("%s was lost with connection %d", v.what, l.id)
	d.giveUp(v, "lost with its connection")
	d.mu.Unlock()
}

// undelivered are events that wait for a connection; d.mu is held.
func (d *Double) undelivered() []*Delivery {
	var out []*Delivery
	for _, id := range slices.Sorted(maps.Keys(d.sock.pending)) {
		v := d.sock.pending[id]
		if v.kind == "events_api" && !v.acked && v.failed == "" && (v.link == nil || v.link.dead) {
			out = append(out, v)
		}
	}
	return out
}

// newDelivery names a delivery for journal and audit.
func newDelivery(kind, what string, payload func(*link) object) *Delivery {
	return &Delivery{kind: kind, what: what, payload: payload, done: make(chan struct{})}
}

// Redeliver sends a delivery again, as Slack may do at any time, and waits for
// nothing. The envelope has a new id; what it holds is the same.
func (d *Double) Redeliver(v *Delivery) *Delivery {
	again := newDelivery(v.kind, v.what+" again", v.payload)
	d.mu.Lock()
	again.body = v.body
	d.mu.Unlock()
	d.dispatch(again)
	return again
}

func (v *Delivery) String() string { return fmt.Sprintf("%s (%s)", v.what, v.kind) }
