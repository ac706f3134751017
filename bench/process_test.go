package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

// process is the built bot beside its neighbours.
type process struct {
	cmd   *exec.Cmd
	addr  string
	slack *slackdouble.Server
}

// serve runs the built program against a Kafka and a Prometheus.
func serve(b *testing.B, bin, cluster string, bootstrap []string, prometheus string) *process {
	b.Helper()
	dir := b.TempDir()
	slack, err := slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(slack.Close)
	p := &process{slack: slack, addr: freeAddr(b)}
	config := fmt.Sprintf(`listen: %s
store: %s/bot.db
channel: %s
slack: {api_url: %s/api/}
clusters:
  - name: %s
    kafka: {bootstrap_servers: ["%s"]}
    prometheus: {url: %q}
    watch: {interval: 2s}
`, p.addr, dir, slackdouble.DefaultChannel, slack.URL, cluster, strings.Join(bootstrap, `", "`), prometheus)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	p.cmd = exec.Command(bin, "serve", "--config", file)
	p.cmd.Env = append(os.Environ(), "SLACK_BOT_TOKEN="+slackdouble.DefaultBotToken, "SLACK_APP_TOKEN="+slackdouble.DefaultAppToken)
	p.cmd.Stderr = os.Stderr
	if os.Getenv("KAFKA_ONCALL_BENCH_LOG") == "" {
		p.cmd.Stderr = nil
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stop(p.cmd) })
	await(b, "readiness", func() bool {
		resp, err := http.Get("http://" + p.addr + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// stop asks a process to end, and ends it when it does not within ten seconds.
func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	kill.Stop()
}

// build makes the program once for all figures.
func build(b *testing.B) string {
	bin := filepath.Join(b.TempDir(), "kafka-oncall")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", bin, "../cmd/kafka-oncall").CombinedOutput(); err != nil {
		b.Fatalf("building the bot: %v\n%s", err, out)
	}
	return bin
}

func freeAddr(b *testing.B) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func await(b *testing.B, what string, cond func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			b.Fatalf("waited a minute for %s", what)
		case <-tick.C:
		}
	}
}

// metric reads one value from the bot's own metrics page; 0 if it is not there.
func (p *process) metric(b *testing.B, pattern string) float64 {
	resp, err := http.Get("http://" + p.addr + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	var page bytes.Buffer
	if _, err := page.ReadFrom(resp.Body); err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + pattern + ` (\S+)$`).FindStringSubmatch(page.String())
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (p *process) rssMB(b *testing.B) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(string(text))
	if m == nil {
		b.Fatal("the kernel gives no VmRSS")
	}
	kb, _ := strconv.ParseFloat(m[1], 64)
	return kb / 1024
}
