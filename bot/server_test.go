package bot

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Over a real socket: it listens, answers, and stops with a diagnosis and a
// connection open.
func TestListenAndStop(t *testing.T) {
	r := newRig(t)
	r.cfg.Listen, r.cfg.StopTimeout = "127.0.0.1:0", 600*time.Millisecond
	looking := make(chan struct{}, 1)
	r.oracle.say = func(ctx ctxT, _ diagnose.Request) (diagnose.Diagnosis, error) {
		looking <- struct{}{}
		<-ctx.Done()
		return diagnose.Diagnosis{}, ctx.Err()
	}
	r.start()
	url := "http://" + r.server.Addr().String()
	resp, err := http.Post(url+"/webhook/alertmanager", "application/json", strings.NewReader(webhook(burst("3"))))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	<-looking
	idle, err := net.Dial("tcp", r.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	resp, err = http.Get(url + "/-/healthy")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(body) != "healthy\n" {
		t.Errorf("%q", body)
	}
	start := time.Now()
	_ = r.server.Stop(context.Background())
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if resp, err := http.Get(url + "/-/healthy"); err == nil {
		_ = resp.Body.Close()
		t.Error("it still answers")
	}
}

// A server that cannot start leaves nothing open.
func TestFailedStartCleansUp(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	r := newRig(t)
	r.cfg.Listen = busy.Addr().String()
	r.open()
	if err := r.server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "listening on") {
		t.Fatalf("started on a busy address: %v", err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: r.cfg.Store})
	if err != nil {
		t.Fatalf("the store was left open: %v", err)
	}
	_ = s.Close()
}

func TestTwoServersOverOneFile(t *testing.T) {
	r := newRig(t)
	r.open()
	defer r.stop()
	other := &rig{t: t, cfg: r.cfg, slack: r.slack, oracle: r.oracle, log: r.log}
	_, err := New(other.cfg, Deps{Diagnoser: r.oracle, Poster: r.slack, Responder: r.slack, Playbooks: r.server.deps.Playbooks})
	if !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
}

func TestConfigProblemsAreNamed(t *testing.T) {
	c := DefaultConfig()
	c.Parallel, c.LookTimeout, c.Store = 0, 0, ""
	c.Routes = []Route{{Channel: "#x"}}
	c.Clusters = []Cluster{{}}
	c.Incident.Looks = []time.Duration{time.Minute, time.Second}
	err := c.Validate()
	for _, want := range []string{"channel:", "store:", "parallel:", "look_timeout:", "routes[0]:", "clusters[0]:", "incident.looks:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in %v", want, err)
		}
	}
	if err := (DefaultConfig()).Validate(); err == nil {
		t.Error("a configuration without a channel passed")
	}
}

type asker func(fps []string) ([]string, bool, error)

// StillFiring asks the function.
func (a asker) StillFiring(_ context.Context, fps []string) ([]string, bool, error) { return a(fps) }

// An alert that was silenced sends no resolution: the sender's API is asked.
func TestSilenceIsAskedAbout(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Incident.News = 2 * time.Minute
		r.cfg.Incident.Looks, r.cfg.Incident.Every = nil, time.Hour
		asked := 0
		r.asker = asker(func(fps []string) ([]string, bool, error) {
			if asked++; asked == 1 {
				return fps, true, nil
			}
			return nil, true, nil
		})
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2*time.Minute + 10*time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
		pass(2*time.Minute + 10*time.Second)
		r.wantThread("Restart burst — over\n  Evidence and steps\n  Over\n")
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// A rule that breaks costs one look, not the process.
func TestBrokenDiagnosis(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		broken := true
		r.oracle.say = func(ctxT, diagnose.Request) (diagnose.Diagnosis, error) {
			if broken {
				broken = false
				panic("index out of range")
			}
			return finding(diagnose.Quiet, diagnose.Confirmed), nil
		}
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.wantThread("No diagnosis\n")
		pass(66 * time.Second)
		if got := r.slack.thread(); !strings.HasPrefix(got, "Nothing wrong found") {
			t.Error(got)
		}
	})
}

// An event that nobody can read is dropped, and those behind it are worked.
func TestUnreadableEventsAreDropped(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		for _, it := range []store.Item{{Kind: "nonsense", Body: []byte("{}")}, {Kind: itemAlerts, Body: []byte("no JSON")}} {
			it.Received = time.Now()
			if err := r.server.store.Append(t.Context(), it); err != nil {
				t.Fatal(err)
			}
		}
		r.begin()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
		if n := strings.Count(r.log.String(), "an event was dropped"); n != 2 {
			t.Errorf("%d dropped", n)
		}
	})
}
