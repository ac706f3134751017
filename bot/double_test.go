package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// real is a server with the real Slack packages against the strict double.
type real struct {
	*rig
	double *slackdouble.Server
	socket context.CancelFunc
}

func newReal(t *testing.T) *real {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join("..", "deploy", "slack", "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := slackdouble.StartInMemory(slackdouble.Options{Manifest: manifest})
	if err != nil {
		t.Fatal(err)
	}
	r := &real{rig: newRig(t), double: d}
	r.cfg.Channel, r.cfg.Fallback = slackdouble.DefaultChannel, ""
	return r
}

// up starts the server and its socket, as cmd does.
func (r *real) up() {
	r.t.Helper()
	set, err := playbooks.Default()
	if err != nil {
		r.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&locked{w: r.log}, nil))
	cfg := slack.Config{
		BotToken: slackdouble.DefaultBotToken, AppToken: slackdouble.DefaultAppToken, DefaultChannel: r.cfg.Channel,
		APIURL: r.double.APIURL(), Dial: r.double.Dial(), Connections: 1, Timeout: 10 * time.Second,
	}
	var socket *slack.Socket
	r.server, err = New(r.cfg, Deps{
		Diagnoser: r.oracle, Poster: slack.NewSender(cfg, log, nil), Responder: slack.NewResponder(cfg, log, nil), Playbooks: set, Log: log,
		Connected: func() bool { return socket.Ready() },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	socket = slack.NewSocket(cfg, r.server, log, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = socket.Run(ctx) }()
	r.socket = func() { cancel(); <-ended }
	r.begin()
}

func (r *real) down() {
	r.socket()
	r.stop()
}

// close ends everything and asks the double what it thinks.
func (r *real) close() {
	r.down()
	r.double.Close()
	for _, v := range r.double.Audit() {
		r.t.Errorf("the double complains: %s", v)
	}
	for _, m := range r.double.UnusedFaults() {
		r.t.Errorf("a fault of %s was never met", m)
	}
}

// shown prints the channel: roots by their text, replies indented.
func (r *real) shown() string {
	var b strings.Builder
	for _, m := range r.double.Messages(slackdouble.DefaultChannel) {
		if m.ThreadTS != "" {
			continue
		}
		b.WriteString(firstWords(m) + "\n")
		for _, reply := range r.double.Thread(m.Channel, m.TS)[1:] {
			b.WriteString("  ")
			if reply.Broadcast {
				b.WriteString("! ")
			}
			b.WriteString(firstWords(reply) + "\n")
		}
	}
	return b.String()
}

func firstWords(m *slackdouble.Message) string {
	text, _, _ := strings.Cut(m.Text, ":")
	return text
}

func (r *real) wantShown(want string) {
	r.t.Helper()
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	if got := r.shown(); got != want {
		r.t.Fatalf("the channel shows\n%s\nwant\n%s\nlog:\n%s", got, want, r.log)
	}
}

func blocksText(m *slackdouble.Message) string {
	b, _ := json.Marshal(m.Blocks)
	return string(b)
}

// Alert JSON → HTTP handler → SQLite → diagnosis → Slack's protocols: one
// thread, changed by the verdict, a button, a restart and the end.
func TestEndToEnd(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newReal(t)
		r.oracle.set(diagnose.ProcessGone, diagnose.Likely)
		r.up()
		defer r.close()
		a := burst("3")
		r.post(webhook(a))
		pass(4 * time.Second)
		r.wantShown(`
			Eviction trigger
			  Evidence and steps for eviction trigger
		`)
		root := r.double.Messages(slackdouble.DefaultChannel)[0]
		if code, text := get(r.rig, "/-/ready"); code != 200 {
			t.Errorf("not ready: %s", text)
		}

		for _, button := range []string{"Done → next step", "Acknowledge"} {
			if _, err := r.double.Click(slackdouble.DefaultUser, root.Channel, root.TS, button); err != nil {
				t.Fatalf("%s: %v", button, err)
			}
			pass(3 * time.Second)
		}
		root = r.double.Messages(slackdouble.DefaultChannel)[0]
		if got := blocksText(root); !strings.Contains(got, "acknowledged by anna") || !strings.Contains(got, "anna did: ") {
			t.Errorf("the card does not show what was pressed: %s", got)
		}

		r.down()
		r.up()
		r.oracle.set(diagnose.CoordinatorTrouble, diagnose.Confirmed)
		pass(80 * time.Second)
		r.post(webhook(a.over()))
		pass(5 * time.Second)
		r.wantShown(`
			Coordinator trouble, over
			  Evidence and steps for coordinator trouble
			  ! Upgraded
			  Over
		`)
	})
}

// A command over the socket: acknowledged, answered in private, shared.
func TestEndToEndCommand(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newReal(t)
		r.oracle.after(4*time.Second, diagnose.SessionTimeout, diagnose.Likely)
		r.up()
		defer r.close()
		pass(time.Second)
		v, err := r.double.Command(slackdouble.DefaultUser, slackdouble.DefaultChannel, "/kafka-diagnose group orders since 30m")
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if outcome, took := v.Outcome(); outcome != "ok" && outcome != "acknowledged" || took > time.Second {
			t.Errorf("acknowledgement: %s after %s", outcome, took)
		}
		pass(4 * time.Second)
		private := r.double.PrivateTo(slackdouble.DefaultUser, slackdouble.DefaultChannel)
		if len(private) != 1 || len(r.double.Messages(slackdouble.DefaultChannel)) != 0 {
			t.Fatalf("%d private answers, channel:\n%s", len(private), r.shown())
		}
		if _, err := r.double.Click(slackdouble.DefaultUser, private[0].Channel, private[0].TS, "Share"); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		if got := r.shown(); !strings.HasPrefix(got, "Eviction trigger") {
			t.Errorf("shared:\n%s", got)
		}
	})
}

// What the double can do to us at once: an accepted post whose answer is lost,
// a 429, a deleted root. One root, nothing lost, no complaint.
func TestEndToEndFaults(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newReal(t)
		r.double.Inject(slackdouble.Fault{Method: "chat.postMessage", Cut: true, Accept: true})
		r.double.Inject(slackdouble.Fault{Method: "chat.update", RetryAfter: 20 * time.Second})
		r.up()
		defer r.close()
		a := burst("3")
		r.post(webhook(a))
		pass(15 * time.Second)
		r.wantShown(`
			Restart burst, probably harmless
			  Evidence and steps for restart burst
		`)
		r.post(webhook(a.over()))
		pass(50 * time.Second)
		r.wantShown(`
			Restart burst, over
			  Evidence and steps for restart burst
			  Over
		`)
		root := r.double.Messages(slackdouble.DefaultChannel)[0]
		if err := r.double.DeleteMessage(root.Channel, root.TS); err != nil {
			t.Fatal(err)
		}
		r.post(webhook(a.again()))
		pass(30 * time.Second)
		r.wantShown(`
			Restart burst, probably harmless
			  Firing again
			  Evidence and steps for restart burst
		`)
	})
}
