package bot

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Request 10: no news is not green, and a restart in between loses nothing.
func TestNoNewsEndsInUnknown(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Incident.News = 3 * time.Minute
		r.cfg.Incident.Looks, r.cfg.Incident.Every = nil, time.Hour
		r.start()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.stop()
		r.start()
		defer r.stop()
		pass(3*time.Minute + 10*time.Second)
		r.wantThread(`
			Restart burst — no news from the alert
			  Evidence and steps
			  No news
		`)
	})
}

// Request 21, 10: a restart looks again when it was due, and posts nothing twice.
func TestRestartResumesLooks(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.stop()
		pass(2 * time.Minute)
		r.oracle.set(diagnose.RestartBurst, diagnose.Confirmed)
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(30 * time.Second)
		r.wantThread(`
			Restart burst — harmless, over
			  Evidence and steps
			  Confirmed: restart burst — harmless, over (was: provisional)
		`)
	})
}

// Request 56: answered 200 and killed at once.
func TestKilledRightAfterTheAnswer(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		if code := r.post(webhook(burst("3"))); code != 200 {
			t.Fatal(code)
		}
		r.kill()
		r.start()
		defer r.stop()
		pass(10 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
	})
}

// A full inbox answers 503, so that Alertmanager sends it again, and takes
// alerts again when there is room.
func TestFullInboxAnswers503(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.MaxInbox = 2
		r.open()
		for i, want := range []int{200, 200, 503} {
			if code := r.post(webhook(burst("3"))); code != want {
				t.Errorf("delivery %d answered %d, want %d", i, code, want)
			}
		}
		r.begin()
		defer r.stop()
		pass(2 * time.Second)
		if code := r.post(webhook(burst("3"))); code != 200 {
			t.Errorf("with room again: %d", code)
		}
		pass(2 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
	})
}

// A full file: 503 and not ready, never a 200 for what is not kept, and nothing
// that was kept is lost when there is room again.
func TestFullFile(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.MaxStoreBytes = int64(len(template)) + 8*4096
		r.open()
		kept, refused := 0, 0
		for i := range 60 {
			switch code := r.post(webhook(one{name: fmt.Sprint("A", i), labels: map[string]string{"broker_id": fmt.Sprint(i)}, starts: time.Now(), note: strings.Repeat("x", 900)})); code {
			case 200:
				kept++
			case 503:
				refused++
			default:
				t.Fatalf("answered %d", code)
			}
		}
		if kept == 0 || refused == 0 {
			t.Fatalf("%d kept, %d refused: the test did not fill the file", kept, refused)
		}
		if metric(t, r, "kafka_oncall_store_errors_total") == 0 {
			t.Error("no metric says so")
		}
		_ = r.server.Stop(t.Context())
		r.cfg.MaxStoreBytes = 0
		r.start()
		defer r.stop()
		pass(time.Minute)
		if n := len(r.slack.roots()); n != kept {
			t.Errorf("%d roots for %d kept alerts", n, kept)
		}
	})
}

// No secret in the log or in a message, whatever happens (request 52).
func TestSecretsStaySecret(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.WebhookTokens = []slack.Secret{"tok-s3cret"}
		r.start()
		defer r.stop()
		if code := r.post(webhook(burst("3"))); code != http.StatusUnauthorized {
			t.Errorf("without a token: %d", code)
		}
		r.server.OnCommand(t.Context(), slack.Command{ID: "c", Text: "broker 3", ResponseURL: "https://hooks.slack.com/commands/url-s3cret"})
		pass(2 * time.Second)
		if got := fmt.Sprintf("%+v", r.cfg) + r.log.String(); strings.Contains(got, "s3cret") {
			t.Error("a secret is shown")
		}
	})
}

// Routing: labels pick the channel.
func TestRoutes(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Routes = []Route{
			{Match: map[string]string{"severity": "critical"}, Channel: "#page"},
			{Match: map[string]string{"cluster": "kafka-prod", "group": "orders"}, Channel: "#orders"},
		}
		r.start()
		defer r.stop()
		r.post(webhook(one{name: "Lag", labels: map[string]string{"consumer_group": "orders"}, starts: time.Now()}))
		r.post(webhook(one{name: "Lag2", labels: map[string]string{"group": "mail", "severity": "critical"}, starts: time.Now()}))
		r.post(webhook(burst("1")))
		pass(2 * time.Second)
		var got []string
		for _, m := range r.slack.roots() {
			got = append(got, m.channel)
		}
		if len(got) != 3 || !strings.Contains(strings.Join(got, " "), "C-orders") || !strings.Contains(strings.Join(got, " "), "C-page") {
			t.Errorf("%v", got)
		}
	})
}

// Every decision and reason of the table is in a closed list, and each alert
// has one line.
func TestDecisionLines(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		a := burst("3")
		r.post(webhook(a, one{name: "Watchdog", starts: time.Now()}, burst("4").over()))
		pass(time.Second)
		r.post(webhook(a))
		r.post(webhook(a.over()))
		pass(time.Second)
		for _, want := range []string{
			"decision=opened reason=new_subject alert=KafkaFetchSessionErrors",
			"decision=ignored reason=configured alert=Watchdog",
			"decision=ignored reason=never_fired",
			"decision=duplicate reason=sent_again",
			"decision=resolved reason=known_fingerprint",
		} {
			if strings.Count(r.log.String(), want) != 1 {
				t.Errorf("%q is there %d times", want, strings.Count(r.log.String(), want))
			}
		}
	})
}

// Request 27, 28: too many members are cut and counted, and the message says so.
func TestHugeDelivery(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		var members []one
		for i := range 1500 {
			members = append(members, one{name: "Lag", labels: map[string]string{"consumergroup": fmt.Sprint("g", i)}, starts: time.Now()})
		}
		if code := r.post(webhook(members...)); code != 200 {
			t.Fatal(code)
		}
		pass(7 * time.Second)
		if n := len(r.slack.roots()); n != 1 {
			t.Fatalf("%d roots", n)
		}
		if got := text1(r.slack.roots()[0]); !strings.Contains(got, "1,000 firing") || !strings.Contains(got, "500 more cut") {
			t.Error(got)
		}
	})
}

// An error text of a source never reaches Slack.
func TestErrorsStayInTheLog(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.say = func() func(ctxT, diagnose.Request) (diagnose.Diagnosis, error) {
			return func(ctxT, diagnose.Request) (diagnose.Diagnosis, error) {
				return diagnose.Diagnosis{}, fmt.Errorf("dial tcp prometheus.internal:9090: password=hunter2")
			}
		}()
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(6 * time.Second)
		if got := text1(r.slack.roots()[0]) + r.slack.thread(); strings.Contains(got, "internal") || strings.Contains(got, "hunter2") {
			t.Error(got)
		}
	})
}

// What an open incident needs is in the file: policy constants and phases keep
// their names.
func TestStateKeepsLoading(t *testing.T) {
	path := filepath.Join("testdata", "state_v1.json")
	if *update {
		writeState(t, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var st incident.State
	if err := json.Unmarshal(b, &st); err != nil {
		t.Fatal(err)
	}
	if st.Phase != incident.Firing || len(st.Alerts) != 1 || st.Alerts[0].Subject != incident.Broker(3) || st.Timers.Look != 2 {
		t.Errorf("%+v", st)
	}
}

var update = flag.Bool("update", false, "rewrite goldens")

func writeState(t *testing.T, path string) {
	t.Helper()
	now := time.Date(2026, 11, 30, 2, 15, 0, 0, time.UTC)
	a := incident.Alert{Fingerprint: "f", Name: "A", Kind: incident.KindFetch, Firing: true, StartsAt: now, Subject: incident.Broker(3)}
	p := incident.DefaultPolicy()
	st, _ := p.Step(incident.New("i", "c", incident.KindFetch), incident.Delivered{Alerts: []incident.Placed{{Alert: a}}}, now)
	st, _ = p.Step(st, incident.Diagnosed{Seq: 1, Diagnosis: finding(diagnose.RestartBurst, diagnose.Provisional)}, now)
	b, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
