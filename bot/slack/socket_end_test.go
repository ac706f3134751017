package slack

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

func TestRunEndsWhenSlackSaysNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		s, _ := r.listen(t, &inbox{})
		_ = s
		r.Disconnect("link_disabled")
		synctest.Wait()
		if s.Ready() {
			t.Error("ready although Socket Mode is off")
		}
		r.cfg.AppToken = "xapp-wrong"
		if err := NewSocket(r.cfg, &inbox{}, r.log, nil).Run(context.Background()); !errors.Is(err, ErrAuth) {
			t.Errorf("wrong app token: %v, want ErrAuth", err)
		}
		r.Inject(slackdouble.Fault{Method: "apps.connections.open", Word: "socket_mode_not_enabled"})
		if err := NewSocket(r.cfg, &inbox{}, r.log, nil).Run(context.Background()); !errors.Is(err, ErrSocketOff) {
			t.Errorf("Socket Mode off: %v, want ErrSocketOff", err)
		}
		r.clean(t)
	})
}

func TestLinkDisabledEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		r.cfg.Connections = 2
		s := NewSocket(r.cfg, &inbox{}, r.log, nil)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(context.Background()) }()
		synctest.Wait()
		r.Disconnect("link_disabled")
		if err := <-ended; !errors.Is(err, ErrSocketOff) {
			t.Errorf("Run: %v, want ErrSocketOff", err)
		}
	})
}

// A stop lets handlers finish what was acknowledged.
func TestStopWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		b := &inbox{block: make(chan struct{})}
		_, stop := r.listen(t, b)
		acked(t, r.command(t, "/kafka-diagnose list"))
		time.AfterFunc(2*time.Second, func() { close(b.block) })
		start := time.Now()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the stop took %s, the handler needed 2 s", took)
		}
		r.clean(t)
	})
}

func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slackdouble.Options{})
		_, stop := r.listen(t, &inbox{block: make(chan struct{})})
		acked(t, r.command(t, "/kafka-diagnose list"))
		start := time.Now()
		_ = stop()
		if took := time.Since(start); took > stopGrace+time.Second {
			t.Errorf("the stop took %s", took)
		}
	})
}
