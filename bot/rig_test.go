package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// oracle answers diagnoses.
type oracle struct {
	mu    sync.Mutex
	say   func(ctx context.Context, r diagnose.Request) (diagnose.Diagnosis, error)
	asked []diagnose.Request
}

// Diagnose answers as told.
func (o *oracle) Diagnose(ctx context.Context, r diagnose.Request) (diagnose.Evidence, diagnose.Diagnosis, error) {
	o.mu.Lock()
	o.asked = append(o.asked, r)
	say := o.say
	o.mu.Unlock()
	d, err := say(ctx, r)
	d.Target = r.Target
	if name := targetName(r.Target); name != "cluster" && len(d.Findings) > 0 {
		d.Findings[0].Subject = name
	}
	return diagnose.Evidence{Schema: 1, At: time.Now().UTC(), Target: r.Target}, d, err
}

func (o *oracle) set(class diagnose.Class, c diagnose.Confidence) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.say = func(context.Context, diagnose.Request) (diagnose.Diagnosis, error) { return finding(class, c), nil }
}

func (o *oracle) after(d time.Duration, class diagnose.Class, c diagnose.Confidence) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.say = func(ctx context.Context, _ diagnose.Request) (diagnose.Diagnosis, error) {
		select {
		case <-time.After(d):
			return finding(class, c), nil
		case <-ctx.Done():
			return diagnose.Diagnosis{}, ctx.Err()
		}
	}
}

func (o *oracle) requests() []diagnose.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}

func finding(class diagnose.Class, c diagnose.Confidence) diagnose.Diagnosis {
	e, _ := diagnose.Lookup(class)
	return diagnose.Diagnosis{Schema: 1, Findings: []diagnose.Finding{{
		Class: class, Family: e.Family, Headline: e.Headline, Confidence: c, Subject: "broker 3", Summary: "A sentence about " + string(class) + ".",
		Citations: []diagnose.Citation{{Path: "brokers[3]", Value: "an observation", Source: "test"}},
	}}}
}

// rig is a server over a file that outlives it.
type rig struct {
	t      *testing.T
	cfg    Config
	slack  *tinySlack
	oracle *oracle
	mu     sync.Mutex
	server *Server
	log    *strings.Builder
	asker  Asker
	ids    int
	reg    *prometheus.Registry
}

// template is a database with its schema: making one takes River 8 migrations.
var template []byte

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bot")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "template.db")
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		panic(err)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
	if template, err = os.ReadFile(path); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Listen, cfg.Channel, cfg.Fallback = "", "#kafka", "#fallback"
	cfg.Store = filepath.Join(t.TempDir(), "bot.db")
	if err := os.WriteFile(cfg.Store, template, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.WorkspaceURL = "https://acme.slack.com"
	r := &rig{t: t, cfg: cfg, slack: &tinySlack{}, oracle: &oracle{}, log: &strings.Builder{}}
	r.oracle.set(diagnose.RestartBurst, diagnose.Provisional)
	return r
}

func (r *rig) start() *rig {
	r.t.Helper()
	r.open()
	r.begin()
	return r
}

func (r *rig) begin() {
	r.t.Helper()
	if err := r.server.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) open() {
	r.t.Helper()
	set, err := playbooks.Default()
	if err != nil {
		r.t.Fatal(err)
	}
	r.reg = prometheus.NewRegistry()
	server, err := New(r.cfg, Deps{
		Diagnoser: r.oracle, Poster: r.slack, Responder: r.slack, Playbooks: set, Asker: r.asker, Registry: r.reg,
		Log:   slog.New(slog.NewTextHandler(&locked{w: r.log}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		NewID: func() string { r.ids++; return fmt.Sprintf("inc%d", r.ids) },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = server
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.server.Stop(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// kill ends the server without letting anything finish: what it was doing is
// cancelled, nothing more is written.
func (r *rig) kill() {
	r.server.cancelOps()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_ = r.server.Stop(ctx)
}

type locked struct {
	mu sync.Mutex
	w  *strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// post sends a webhook and returns the code.
func (r *rig) post(body string) int {
	w := httptest.NewRecorder()
	r.mu.Lock()
	server := r.server
	r.mu.Unlock()
	server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/webhook/alertmanager", strings.NewReader(body)))
	return w.Code
}

func (r *rig) sample(name string) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join("alertmanager", "testdata", name))
	if err != nil {
		r.t.Fatal(err)
	}
	if code := r.post(string(b)); code != http.StatusOK {
		r.t.Fatalf("%s: %d", name, code)
	}
}

// one is a member of a delivery.
type one struct {
	name   string
	labels map[string]string
	starts time.Time
	ends   time.Time
	note   string
}

func webhook(members ...one) string {
	type wire struct {
		Status      string            `json:"status"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		StartsAt    time.Time         `json:"startsAt"`
		EndsAt      time.Time         `json:"endsAt"`
	}
	var alerts []wire
	key := ""
	for _, m := range members {
		w := wire{Status: "firing", Labels: map[string]string{"alertname": m.name, "cluster": "kafka-prod", "severity": "warning"},
			Annotations: map[string]string{"summary": m.note, "runbook_url": "https://runbooks.example.org/x"}, StartsAt: m.starts, EndsAt: m.ends}
		for k, v := range m.labels {
			w.Labels[k] = v
		}
		if !m.ends.IsZero() {
			w.Status = "resolved"
		}
		alerts = append(alerts, w)
		key = `{}:{alertname="` + m.name + `"}`
	}
	b, _ := json.Marshal(map[string]any{"version": "4", "groupKey": key, "receiver": "bot", "status": "firing", "alerts": alerts})
	return string(b)
}

func burst(broker string) one {
	return one{name: "KafkaFetchSessionErrors", labels: map[string]string{"broker_id": broker}, starts: time.Now().Add(-30 * time.Second), note: "20 errors"}
}

func (o one) over() one { o.ends = time.Now(); return o }

func (o one) again() one { o.starts, o.ends = time.Now(), time.Time{}; return o }

// in runs a test on fake time.
func in(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, do)
}

// pass lets time go by and everything settle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) wantThread(want string) {
	r.t.Helper()
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	if got := r.slack.thread(); got != want {
		r.t.Fatalf("the thread is\n%s\nwant\n%s\nlog:\n%s", got, want, r.log.String())
	}
}

var errCut = errors.New("the process was cut here")

type ctxT = context.Context
