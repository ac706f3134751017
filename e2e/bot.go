//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

const webhookToken = "e2e-webhook-token"

// bot is the built binary under test, with its configuration.
type bot struct {
	t      testing.TB
	binary string
	config string
	addr   string
	log    string

	mu  sync.Mutex
	cmd *exec.Cmd
}

// site is one cluster the bot serves.
type site struct {
	lab    *lab.Cluster
	window time.Duration
}

// newBot builds the binary and writes a configuration for the sites.
func newBot(t testing.TB, dir string, slack *slackdouble.Server, sites ...site) *bot {
	t.Helper()
	b := &bot{t: t, binary: filepath.Join(dir, "kafka-oncall"), config: filepath.Join(dir, "config.yaml"), log: filepath.Join(dir, "bot.log")}
	build := exec.Command("go", "build", "-o", b.binary, "../cmd/kafka-oncall")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the bot: %v\n%s", err, out)
	}
	b.addr = freeAddr(t)
	write(t, filepath.Join(dir, "webhook.token"), webhookToken)
	write(t, filepath.Join(dir, "bot.token"), slackdouble.DefaultBotToken)
	write(t, filepath.Join(dir, "app.token"), slackdouble.DefaultAppToken)
	write(t, b.config, configFile(b.addr, slack.URL, dir, sites))
	t.Cleanup(func() { b.stop(syscall.SIGTERM) })
	return b
}

func configFile(addr, slackURL, dir string, sites []site) string {
	var c strings.Builder
	fmt.Fprintf(&c, `listen: %s
log: {level: debug, format: text}
webhook: {bearer_token_files: [webhook.token]}
slack: {bot_token_file: bot.token, app_token_file: app.token, api_url: %s/api/}
channel: %s
store: %s/bot.db
incident: {looks: [10s, 20s, 40s, 60s], every: 30s, confirm: 10m}
clusters:
`, addr, slackURL, slackdouble.DefaultChannel, dir)
	for _, s := range sites {
		i := s.lab.Info()
		fmt.Fprintf(&c, `  - name: %s
    window: %s
    kafka: {bootstrap_servers: [%s]}
    prometheus: {url: %q, selector: '{cluster=%q}'}
    watch: {interval: 1s, full: 2s}
`, i.Name, s.window, quoted(i.Bootstrap), i.Prometheus, i.Name)
	}
	return c.String()
}

// quoted makes a YAML list of a comma-separated one.
func quoted(list string) string { return `"` + strings.ReplaceAll(list, ",", `", "`) + `"` }

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// start runs `serve` and waits until it is ready.
func (b *bot) start(ctx context.Context) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	log, err := os.OpenFile(b.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(b.binary, "serve", "--config", b.config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.cmd = cmd
	if err := b.waitReady(ctx); err != nil {
		b.t.Fatalf("the bot did not become ready: %v\n%s", err, b.tail())
	}
}

func (b *bot) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.addr+"/-/ready", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// stop ends the process with a signal and waits for it.
func (b *bot) stop(sig syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Signal(sig)
	_ = b.cmd.Wait() // ended by a signal: the error says so
	b.cmd = nil
}

// tail is the end of the bot's log.
func (b *bot) tail() string {
	text, err := os.ReadFile(b.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-8000):])
}

// report is the part of the JSON contract that is asserted.
type report struct {
	Schema   int `json:"schema"`
	Findings []struct {
		Class        string `json:"class"`
		Confidence   string `json:"confidence"`
		Subject      string `json:"subject"`
		Alternatives []struct {
			Class string `json:"class"`
		} `json:"alternatives"`
	} `json:"findings"`
	NextStep *struct {
		Playbook string `json:"playbook"`
		Step     string `json:"step"`
		Title    string `json:"title"`
	} `json:"next_step"`
}

// diagnose runs the command as a person would and decodes its JSON. The
// evidence is kept beside the log, for the corpus and for whoever reads a
// failure.
func (b *bot) diagnose(ctx context.Context, evidence string, args ...string) (report, int, error) {
	full := append([]string{"diagnose", "--config", b.config, "-o", "json", "--record", evidence}, args...)
	cmd := exec.CommandContext(ctx, b.binary, full...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return report{}, -1, fmt.Errorf("running diagnose: %w", err)
	}
	code := cmd.ProcessState.ExitCode()
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, code, fmt.Errorf("diagnose said (exit %d): %s%s", code, out.String(), errs.String())
	}
	return r, code, nil
}
