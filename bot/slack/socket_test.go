package slack

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// inbox is a handler that remembers what it was given, and blocks on block if
// that is set.
type inbox struct {
	mu       sync.Mutex
	commands []Command
	clicks   []Click
	block    chan struct{}
}

func (b *inbox) OnCommand(ctx context.Context, c Command) {
	b.mu.Lock()
	b.commands = append(b.commands, c)
	b.mu.Unlock()
	b.wait(ctx)
}

func (b *inbox) OnClick(ctx context.Context, c Click) {
	b.mu.Lock()
	b.clicks = append(b.clicks, c)
	b.mu.Unlock()
	b.wait(ctx)
}

func (b *inbox) wait(ctx context.Context) {
	if b.block == nil {
		return
	}
	select {
	case <-b.block:
	case <-ctx.Done():
	}
}

func (b *inbox) got() []Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Command(nil), b.commands...)
}

func (b *inbox) clicked() []Click {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Click(nil), b.clicks...)
}

// listen runs a socket until the returned function is called, which gives what
// Run returned.
func (r *rig) listen(t *testing.T, b *inbox) (*Socket, func() error) {
	t.Helper()
	s := NewSocket(r.cfg, b, r.log, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	if !s.Ready() {
		t.Fatal("not ready")
	}
	return s, func() error {
		cancel()
		return <-ended
	}
}

func (r *rig) command(t *testing.T, line string) *slackdouble.Delivery {
	t.Helper()
	v, err := r.Command(anna, channel, line)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// acked waits for a delivery and checks that it was acknowledged within a second.
func acked(t *testing.T, v *slackdouble.Delivery) {
	t.Helper()
	<-v.Done()
	if what, took := v.Outcome(); what != "acknowledged" || took > time.Second {
		t.Errorf("%s: %s after %s", v, what, took)
	}
}

func TestSocketDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		_, stop := r.listen(t, b)
		posted := mustSend(t, r.sender(), root(1))
		acked(t, r.command(t, "/kafka-diagnose group a<b & c since 30m"))
		click, err := r.Click(anna, channel, posted.TS, "Acknowledge")
		if err != nil {
			t.Fatal(err)
		}
		acked(t, click)
		mention, err := r.Mention(anna, channel, posted.TS, "group orders")
		if err != nil {
			t.Fatal(err)
		}
		acked(t, mention)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		commands, clicks := b.got(), b.clicked()
		if len(commands) != 2 || len(clicks) != 1 {
			t.Fatalf("%d commands, %d clicks", len(commands), len(clicks))
		}
		c := commands[0]
		if c.Text != "group a&lt;b &amp; c since 30m" || c.UserID != anna || c.UserName != "anna" || c.ChannelID != channel || c.ResponseURL == "" || c.ThreadTS != "" {
			t.Errorf("command: %+v", c)
		}
		if m := commands[1]; m.Text != "group orders" || m.ThreadTS != posted.TS || m.ChannelID != channel || m.UserID != anna {
			t.Errorf("mention: %+v", m)
		}
		k := clicks[0]
		if k.Action != playbooks.ActionAcknowledge || k.Value != "inc-1" || k.MessageTS != posted.TS || k.ChannelID != channel || k.UserID != anna || k.ResponseURL == "" {
			t.Errorf("click: %+v", k)
		}
		r.clean(t)
	})
}

// While Slack replaces the only connection, in every way it may, a command is
// typed every 50 ms. None is lost, none is handled twice.
func TestRefreshLosesNoCommand(t *testing.T) {
	ways := map[string]func(r *rig){
		"warning, then the end": func(r *rig) { r.Refresh(10 * time.Second) },
		"warning, end at once":  func(r *rig) { r.Refresh(200 * time.Millisecond) },
		"refresh_requested":     func(r *rig) { r.Disconnect("refresh_requested") },
		"warning twice":         func(r *rig) { r.Disconnect("warning", "warning") },
	}
	for name, refresh := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, slackdouble.Options{})
				b := &inbox{}
				_, stop := r.listen(t, b)
				var sent []*slackdouble.Delivery
				for i := range 600 { // 30 s
					if i == 20 {
						refresh(r)
					}
					sent = append(sent, r.command(t, fmt.Sprintf("/kafka-diagnose group g%d", i)))
					time.Sleep(50 * time.Millisecond)
				}
				for _, v := range sent {
					acked(t, v)
				}
				time.Sleep(drainTime + closeTime)
				if n := r.Connections(); n != 1 {
					t.Errorf("%d connections are left, want 1", n)
				}
				if n := r.Calls("apps.connections.open", "ok"); n != 2 {
					t.Errorf("%d connections were opened, want 2", n)
				}
				_ = stop()
				if n := len(b.got()); n != len(sent) {
					t.Errorf("%d commands handled of %d", n, len(sent))
				}
				r.clean(t)
			})
		})
	}
}

func TestOneEffectPerDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		_, stop := r.listen(t, b)
		posted := mustSend(t, r.sender(), root(1))
		v := r.command(t, "/kafka-diagnose list")
		click, err := r.Click(anna, channel, posted.TS, "look_again")
		if err != nil {
			t.Fatal(err)
		}
		mention, err := r.Mention(anna, channel, "", "status")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, d := range []*slackdouble.Delivery{v, click, mention} {
				acked(t, r.Redeliver(d))
			}
		}
		again := r.command(t, "/kafka-diagnose list") // typed twice is meant twice
		acked(t, again)
		_ = stop()
		if c, k := len(b.got()), len(b.clicked()); c != 3 || k != 1 {
			t.Errorf("%d commands and %d clicks handled, want 3 and 1", c, k)
		}
		r.clean(t)
	})
}

// A connection that looks alive and is not is noticed within a minute; readiness
// goes down and comes back with the next.
func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		s, stop := r.listen(t, b)
		time.Sleep(10 * time.Minute) // quiet, but pinged: it stays
		if n := r.Calls("apps.connections.open", ""); n != 1 || !s.Ready() {
			t.Fatalf("%d connections opened in a quiet time, ready %v", n, s.Ready())
		}
		r.Freeze()
		r.Inject(slackdouble.Fault{Method: "apps.connections.open", Status: 503})
		time.Sleep(pingTimeout + 100*time.Millisecond)
		if s.Ready() {
			t.Error("still ready without a living connection")
		}
		time.Sleep(5 * time.Second)
		if !s.Ready() {
			t.Error("not ready again")
		}
		acked(t, r.command(t, "/kafka-diagnose list"))
		_ = stop()
		r.clean(t)
	})
}

func TestHandlersDoNotDelayAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{block: make(chan struct{})}
		_, stop := r.listen(t, b)
		for i := range maxHandlers + 10 {
			acked(t, r.command(t, fmt.Sprintf("/kafka-diagnose group g%d", i)))
		}
		synctest.Wait()
		if n := len(b.got()); n != maxHandlers {
			t.Errorf("%d handlers run at once, want %d", n, maxHandlers)
		}
		close(b.block)
		synctest.Wait()
		if n := len(b.got()); n != maxHandlers+10 {
			t.Errorf("%d handled in the end", n)
		}
		_ = stop()
		r.clean(t)
	})
}

// What cannot be served is not acknowledged, so that the person sees it.
func TestOverloadIsNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{block: make(chan struct{})}
		_, stop := r.listen(t, b)
		for i := range maxWaiting {
			acked(t, r.command(t, fmt.Sprintf("/kafka-diagnose group g%d", i)))
		}
		v := r.command(t, "/kafka-diagnose group one-too-many")
		<-v.Done()
		if what, _ := v.Outcome(); what != "operation_timeout" {
			t.Errorf("the user sees %q", what)
		}
		close(b.block)
		synctest.Wait()
		acked(t, r.command(t, "/kafka-diagnose group after"))
		_ = stop()
		if n := len(b.got()); n != maxWaiting+1 {
			t.Errorf("%d handled, want %d", n, maxWaiting+1)
		}
	})
}

func TestUnknownDeliveriesAreAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{}
		_, stop := r.listen(t, b)
		for _, v := range []*slackdouble.Delivery{
			r.Event(map[string]any{"type": "an_event_of_next_year", "payload": []int{1}}),
			r.Event(map[string]any{"type": "app_mention", "bot_id": "B1", "user": "U1", "text": "echo"}),
			r.Envelope("events_api", map[string]any{"type": "app_rate_limited", "minute_rate_limited": 1}),
			r.Envelope("interactive", map[string]any{"type": "view_submission"}),
			r.Envelope("interactive", map[string]any{"type": "block_actions", "actions": []any{}}),
			r.Envelope("slash_commands", map[string]any{}),
			r.Envelope("a_type_of_next_year", map[string]any{"x": 1}),
		} {
			acked(t, v)
		}
		_ = stop()
		if c, k := len(b.got()), len(b.clicked()); c != 0 || k != 0 {
			t.Errorf("%d commands and %d clicks made of nothing", c, k)
		}
		r.clean(t)
	})
}

func TestBrokenConnectionsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		r.cfg.Connections = 2
		b := &inbox{}
		s, stop := r.listen(t, b)
		time.Sleep(time.Minute)
		r.Drop()
		mention, err := r.Mention(anna, channel, "", "status") // waits for a connection
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		acked(t, mention)
		if n := r.Connections(); n != 2 || !s.Ready() {
			t.Errorf("%d connections, ready %v", n, s.Ready())
		}
		_ = stop()
		r.clean(t)
	})
}

// Trouble with opening is waited out with growing pauses, and as long as Slack
// asks for.
func TestOpeningBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		r.Inject(slackdouble.Fault{Method: "apps.connections.open", Status: 500, Times: 2})
		r.Inject(slackdouble.Fault{Method: "apps.connections.open", RetryAfter: 40 * time.Second})
		r.Inject(slackdouble.Fault{Method: "apps.connections.open", Hang: true})
		s := NewSocket(r.cfg, &inbox{}, r.log, nil)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		start := time.Now()
		go func() { ended <- s.Run(ctx) }()
		if err := r.Wait(ctx, "a connection", func() bool { return r.Connections() == 1 }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 45*time.Second || took > 2*time.Minute {
			t.Errorf("connected after %s", took)
		}
		synctest.Wait()
		if !s.Ready() {
			t.Error("not ready")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		r.clean(t)
	})
}
