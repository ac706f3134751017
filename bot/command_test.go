package bot

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func get(r *rig, path string) (int, string) {
	w := httptest.NewRecorder()
	r.server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// metric sums the samples of a metric.
func metric(t *testing.T, r *rig, name string) float64 {
	t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func (r *rig) command(id, text string) {
	r.server.OnCommand(r.t.Context(), slack.Command{ID: id, ChannelID: "C1", UserID: "U1", UserName: "ana", Text: text, ResponseURL: "url-" + id})
}

func (r *rig) click(id string, a playbooks.Action, value string) {
	r.server.OnClick(r.t.Context(), slack.Click{ID: id, Action: a, Value: value, ChannelID: "C1", UserID: "U1", UserName: "ana", ResponseURL: "url-" + id})
}

// answers prints the answers: who got what.
func (r *rig) answers() string {
	r.slack.mu.Lock()
	defer r.slack.mu.Unlock()
	var b strings.Builder
	for _, a := range r.slack.answers {
		if a.options.InChannel {
			b.WriteString("in channel ")
		}
		b.WriteString(a.url + ": " + title(a.message) + "\n")
	}
	return b.String()
}

func (r *rig) wantAnswers(want string) {
	r.t.Helper()
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	if got := r.answers(); got != want {
		r.t.Fatalf("answers are\n%s\nwant\n%s\nlog:\n%s", got, want, r.log.String())
	}
}

func TestCommandIsAnsweredInPrivateAndShared(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.command("c1", "group orders since 30m")
		pass(time.Second)
		r.wantAnswers("url-c1: Restart burst — probably harmless\n")
		q := r.oracle.requests()[0]
		if q.Target.Group != "orders" || q.Window != 30*time.Minute {
			t.Errorf("%+v", q)
		}
		buttons := r.slack.answers[0].message.Buttons
		if len(buttons) != 1 || buttons[0].Action != playbooks.ActionShare {
			t.Fatalf("%+v", buttons)
		}
		// Request 43: a button works after a restart.
		r.stop()
		r.start()
		r.click("k1", playbooks.ActionShare, buttons[0].Value)
		r.click("k1", playbooks.ActionShare, buttons[0].Value)
		r.click("k2", playbooks.ActionShare, buttons[0].Value)
		pass(time.Second)
		r.wantAnswers("url-c1: Restart burst — probably harmless\nin channel url-k1: Restart burst — probably harmless\n")
		if b := r.slack.answers[1].message; len(b.Buttons) != 0 || !strings.Contains(text1(&message{post: slack.Post{Message: b}}), "shared by ana") {
			t.Errorf("%+v", b)
		}
		if r.slack.thread() != "" {
			t.Errorf("a question alone posted into a channel:\n%s", r.slack.thread())
		}
	})
}

// Requests 44, 45: delivered three times, and typed again, it runs once.
func TestRepeatedCommandRunsOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.after(5*time.Second, diagnose.Quiet, diagnose.Confirmed)
		r.start()
		defer r.stop()
		for range 3 {
			r.command("c1", "broker 3")
		}
		pass(time.Second)
		r.command("c2", "broker  3")
		pass(6 * time.Second)
		r.command("c3", "broker 3")
		pass(time.Second)
		r.wantAnswers(`
			url-c2: I am already looking at that; the answer comes in a moment.
			url-c1: Nothing wrong found
			url-c3: Nothing wrong found
		`)
		if n := len(r.oracle.requests()); n != 1 {
			t.Errorf("%d diagnoses", n)
		}
		pass(20 * time.Second)
		r.command("c4", "broker 3")
		pass(6 * time.Second)
		if n := len(r.oracle.requests()); n != 2 {
			t.Errorf("%d diagnoses after the time to join was over", n)
		}
	})
}

// A question about a subject with an open incident joins it.
func TestCommandJoinsOpenIncident(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.command("c1", "broker 3 cluster kafka-prod")
		pass(2 * time.Second)
		r.wantAnswers("url-c1: Restart burst — probably harmless\n")
		m := &message{post: slack.Post{Message: r.slack.answers[0].message}}
		if got := text1(m); !strings.Contains(got, "https://acme.slack.com/archives/C-kafka/p") {
			t.Errorf("no link to the thread: %s", got)
		}
		if n := len(r.slack.roots()); n != 1 {
			t.Errorf("%d roots", n)
		}
	})
}

// A killed process answers after its restart.
func TestCommandSurvivesAKill(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.after(5*time.Second, diagnose.Quiet, diagnose.Confirmed)
		r.start()
		r.command("c1", "broker 3")
		pass(2 * time.Second)
		r.kill()
		r.start()
		defer r.stop()
		pass(7 * time.Second)
		r.wantAnswers("url-c1: Nothing wrong found\n")
	})
}

func TestSmallCommands(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.command("c0", "list")
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		for i, text := range []string{"help", "list", "status", "playbook cache-thrash", "playbook nonsense", "group"} {
			r.command("c"+string(rune('1'+i)), text)
			pass(time.Second)
		}
		got := r.answers()
		for _, want := range []string{
			"url-c0: No open incident.", "url-c1: What I can do", "url-c2: Open incidents: 1", "url-c3: I am up",
			"url-c4: Sustained thrashing cache-thrash", "url-c5: There is no playbook of that name. There are: ", "url-c6: “group” needs a value",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
	})
}

// Request 47: a channel means a cluster.
func TestClusters(t *testing.T) {
	s := &Server{cfg: Config{Clusters: []Cluster{{Name: "a", Channels: []string{"C1"}}, {Name: "b"}}}}
	for _, c := range []struct{ named, channel, want, problem string }{
		{"", "C1", "a", ""},
		{"", "C2", "", "Which cluster?"},
		{"b", "C1", "b", ""},
		{"a", "C2", "", "own channel only"},
		{"x", "C1", "", "I do not know"},
	} {
		got, problem := s.clusterFor(c.named, c.channel)
		if got != c.want || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%+v: got %q, %q", c, got, problem)
		}
	}
}

func TestButtons(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.set(diagnose.ProcessGone, diagnose.Confirmed)
		r.start()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		root := r.slack.roots()[0]
		if got := buttonNames(root); got != "step_done look_again acknowledge" {
			t.Fatalf("buttons %q", got)
		}
		done := root.post.Message.Buttons[0].Value
		first := root.post.Message.Step.Title
		r.stop()
		r.start()
		defer r.stop()
		r.click("k1", playbooks.ActionDone, done)
		r.click("k1", playbooks.ActionDone, done)
		pass(time.Second)
		r.click("k2", playbooks.ActionDone, done)
		r.click("k3", playbooks.ActionAcknowledge, done)
		r.click("k4", playbooks.ActionAcknowledge, done)
		pass(2 * time.Second)
		if step := root.post.Message.Step; step == nil || step.Title == first || step.Number != 2 {
			t.Errorf("the next step is not shown: %+v", step)
		}
		if got := text1(root); !strings.Contains(got, "acknowledged by ana") || !strings.Contains(got, "ana did: "+first) {
			t.Error(got)
		}
		r.wantAnswers(`
			url-k2: That step was marked already; the card shows the next one.
			url-k4: Already acknowledged by ana.
		`)
		looks := len(r.oracle.requests())
		r.click("k5", playbooks.ActionLookAgain, "inc1.1")
		r.click("k6", playbooks.ActionLookAgain, "nothing.0")
		pass(time.Second)
		if n := len(r.oracle.requests()); n != looks+1 {
			t.Errorf("%d looks, want one more than %d", n, looks)
		}
		if got := r.answers(); !strings.Contains(got, "url-k6: That incident is closed.") {
			t.Error(got)
		}
	})
}

// Share works after its URL is used up, as a message.
func TestShareWithUsedURL(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.command("c1", "broker 3")
		pass(time.Second)
		value := r.slack.answers[0].message.Buttons[0].Value
		r.server.OnClick(t.Context(), slack.Click{ID: "k", Action: playbooks.ActionShare, Value: value, ChannelID: "C1", UserName: "ana", ResponseURL: "used"})
		pass(2 * time.Second)
		r.wantThread("Restart burst — probably harmless\n")
	})
}

// Every metric has the product's prefix, help, and closed labels.
func TestMetricsAreWellFormed(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.post(webhook(burst("3")))
		r.command("c1", "broker 3")
		pass(2 * time.Second)
		problems, err := testutil.GatherAndLint(r.reg)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
		code, text := get(r, "/metrics")
		for _, want := range []string{`kafka_oncall_alerts_total{decision="opened",reason="new_subject"} 1`, "kafka_oncall_inbox_rows 0", `kafka_oncall_incidents{phase="firing"} 1`} {
			if code != 200 || !strings.Contains(text, want) {
				t.Errorf("%q is not on /metrics", want)
			}
		}
	})
}

func TestHealth(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		if code, text := get(r, "/-/ready"); code != 503 || !strings.Contains(text, "worker: has not started") {
			t.Errorf("%d %s", code, text)
		}
		r.begin()
		pass(time.Second)
		if code, text := get(r, "/-/ready"); code != 200 {
			t.Errorf("%d %s", code, text)
		}
		if code, _ := get(r, "/-/healthy"); code != 200 {
			t.Error("not healthy")
		}
		r.stop()
		r.stop()
	})
}
