package slackdouble

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"
)

func TestButtonsAsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws := p.dial()
		defer ws.Close()
		frameOf(t, ws)
		const blocks = `[{"type":"actions","elements":[{"type":"button","action_id":"go","value":"v","text":{"type":"plain_text","text":"Go"}}]}]`
		ts, _ := p.post("text", "a", "blocks", blocks)["ts"].(string)
		for _, name := range []string{"go", "Go"} {
			v, err := p.Click(DefaultUser, DefaultChannel, ts, name)
			if err != nil {
				t.Fatal(err)
			}
			e := frameOf(t, ws)
			action := e["payload"].(object)["actions"].([]any)[0].(object)
			if e["type"] != "interactive" || action["value"] != "v" || action["block_id"] == "" {
				t.Errorf("envelope: %v", e)
			}
			_ = ws.WriteJSON(object{"envelope_id": e["envelope_id"]})
			<-v.Done()
		}
		p.call("chat.update", "channel", DefaultChannel, "ts", ts, "text", "b")
		if _, err := p.Click(DefaultUser, DefaultChannel, ts, "go"); err == nil {
			t.Error("a button that an edit removed can still be pressed")
		}
		if _, err := p.Command(DefaultUser, DefaultChannel, "/unknown"); err == nil {
			t.Error("a command that the app does not have can be typed")
		}
		p.expectAudit()
	})
}

func TestAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws, other := p.dial(), p.dial()
		defer ws.Close()
		defer other.Close()
		frameOf(t, ws)
		frameOf(t, other)
		read := map[*websocket.Conn]chan object{ws: make(chan object, 10), other: make(chan object, 10)}
		for c, ch := range read {
			go func() {
				for {
					var o object
					if c.ReadJSON(&o) != nil {
						return
					}
					ch <- o
				}
			}()
		}
		next := func() (*websocket.Conn, object) {
			select {
			case o := <-read[ws]:
				return ws, o
			case o := <-read[other]:
				return other, o
			}
		}
		// Too late: the user sees a failure.
		v, _ := p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose late")
		c, e := next()
		<-v.Done()
		if what, _ := v.Outcome(); what != "operation_timeout" {
			t.Errorf("late: %s", what)
		}
		_ = c.WriteJSON(object{"envelope_id": e["envelope_id"]})
		// Twice, and a frame that is none.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose twice")
		c, e = next()
		for range 2 {
			_ = c.WriteJSON(object{"envelope_id": e["envelope_id"]})
		}
		_ = c.WriteJSON(object{"hello": 1})
		<-v.Done()
		// On the wrong connection.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose crossed")
		c, e = next()
		wrong := ws
		if c == ws {
			wrong = other
		}
		_ = wrong.WriteJSON(object{"envelope_id": e["envelope_id"]})
		<-v.Done()
		// Too large: ignored.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose large")
		c, e = next()
		_ = c.WriteJSON(object{"envelope_id": e["envelope_id"], "payload": object{"text": strings.Repeat("x", 21<<10)}})
		<-v.Done()
		// In parts.
		v, _ = p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose parts")
		c, e = next()
		parts, _ := c.NextWriter(websocket.TextMessage)
		_, _ = fmt.Fprintf(parts, `{"envelope_id":%q,"payload":{"text":"%s"}}`, e["envelope_id"], strings.Repeat("x", 9000))
		_ = parts.Close()
		<-v.Done()
		// An event without an answer comes again, marked.
		m, err := p.Mention(DefaultUser, DefaultChannel, "", "hi")
		if err != nil {
			t.Fatal(err)
		}
		next()
		c, e = next()
		if e["retry_attempt"] != 1.0 || e["retry_reason"] != "timeout" {
			t.Errorf("redelivery: %v", e)
		}
		_ = c.WriteJSON(object{"envelope_id": e["envelope_id"]})
		<-m.Done()
		p.expectAudit("not acknowledged within 3s", "acknowledged too late", "acknowledged twice", "no acknowledgement", "on another connection", "was ignored", "more than one frame")
	})
}

func TestInlineAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		ws := p.dial()
		defer ws.Close()
		frameOf(t, ws)
		v, _ := p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose help")
		e := frameOf(t, ws)
		_ = ws.WriteJSON(object{"envelope_id": e["envelope_id"], "payload": object{"text": "here"}})
		<-v.Done()
		synctest.Wait()
		if m := p.PrivateTo(DefaultUser, DefaultChannel); len(m) != 1 || m[0].Text != "here" {
			t.Errorf("private: %v", m)
		}
	})
}

func TestConnectionRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := DefaultLimits()
		lim.PerMinute[Tier1] = 100
		p := newPeer(t, Options{Limits: &lim})
		v, _ := p.Command(DefaultUser, DefaultChannel, "/kafka-diagnose nobody listens")
		<-v.Done()
		if what, _ := v.Outcome(); !strings.HasPrefix(what, "dispatch_failed") {
			t.Errorf("without a connection: %s", what)
		}
		var all []*websocket.Conn
		for i := range 10 {
			ws := p.dial()
			defer ws.Close()
			if h := frameOf(t, ws); h["type"] != "hello" || h["num_connections"] != float64(i+1) {
				t.Errorf("hello: %v", h)
			}
			all = append(all, ws)
		}
		extra := p.dial()
		defer extra.Close()
		if h := frameOf(t, extra); h["reason"] != "too_many_websockets" {
			t.Errorf("the eleventh: %v", h)
		}
		once := p.ticket()
		_ = all[0].Close()
		synctest.Wait()
		first, err := p.dialTo(once)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		if _, err := p.dialTo(once); err == nil {
			t.Error("a ticket works twice")
		}
		p.expectAudit("one more was opened")
	})
}
