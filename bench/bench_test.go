// Package bench measures the built program from outside, each figure beside a
// peer in the same run. `make bench` runs it; nothing here asserts a time.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/internal/stage"
)

// process is the built bot beside its neighbours.
type process struct {
	cmd   *exec.Cmd
	addr  string
	slack *slackdouble.Server
}

// serve builds the program and runs it against a Kafka and a Prometheus.
func serve(b *testing.B, cluster string, bootstrap []string, prometheus string) *process {
	b.Helper()
	dir := b.TempDir()
	bin := filepath.Join(dir, "kafka-oncall")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", bin, "../cmd/kafka-oncall").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	slack, err := slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(slack.Close)
	p := &process{slack: slack, addr: freeAddr(b)}
	config := fmt.Sprintf(`listen: %s
store: %s/bot.db
channel: %s
slack: {bot_token: %s, app_token: %s, api_url: %s/api/}
clusters:
  - name: %s
    kafka: {bootstrap_servers: ["%s"]}
    prometheus: {url: %q}
    watch: {interval: 2s}
`, p.addr, dir, slackdouble.DefaultChannel, slackdouble.DefaultBotToken, slackdouble.DefaultAppToken, slack.URL, cluster, strings.Join(bootstrap, `", "`), prometheus)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	p.cmd = exec.Command(bin, "serve", "--config", file)
	p.cmd.Stderr = os.Stderr
	if os.Getenv("KAFKA_ONCALL_BENCH_LOG") == "" {
		p.cmd.Stderr = nil
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
	})
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

// slow is a Prometheus that takes its time.
func slow(b *testing.B, st *promstore.Store, delay time.Duration) string {
	inner := promstore.NewServer(st, time.Now)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
		inner.ServeHTTP(w, r)
	}))
	b.Cleanup(srv.Close)
	return srv.URL
}

// BenchmarkWebhookToRoot is the time from Alertmanager's post to a root with
// the verdict in it (bar: 5 s). The stage has a recorded restart burst on it.
func BenchmarkWebhookToRoot(b *testing.B) {
	rec, err := stage.Embedded("restart-burst")
	if err != nil {
		b.Fatal(err)
	}
	st, err := stage.Open(b.Context(), rec, rec.Truth.Effect.Add(8*time.Second), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(st.Close)
	p := serve(b, rec.Truth.Cluster, st.Bootstrap(), st.PrometheusURL())
	b.ResetTimer()
	for n := range b.N {
		p.alert(b, rec.Truth.Cluster, n)
		await(b, "a root with a verdict", func() bool {
			ms := p.slack.Messages(slackdouble.DefaultChannel)
			return len(ms) > n && !strings.HasPrefix(ms[n].Text, "Looking")
		})
	}
}

// alert posts one alert on a broker of its own, so that each opens an incident.
func (p *process) alert(b *testing.B, cluster string, n int) {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	labels := map[string]string{"alertname": "KafkaFetchSessionErrors", "cluster": cluster, "broker_id": strconv.Itoa(3 - n%3)}
	body, err := json.Marshal(map[string]any{"version": "4", "groupKey": fmt.Sprintf("{}:{n=%d}", n), "status": "firing", "receiver": "r",
		"groupLabels": labels, "commonLabels": labels, "commonAnnotations": map[string]string{}, "externalURL": "http://localhost:9093",
		"alerts": []any{map[string]any{"status": "firing", "labels": labels, "annotations": map[string]string{}, "startsAt": now,
			"endsAt": "0001-01-01T00:00:00Z", "fingerprint": fmt.Sprintf("%016x", n)}}})
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.Post("http://"+p.addr+"/webhook/alertmanager", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.Fatalf("the webhook answered %d", resp.StatusCode)
	}
}

// BenchmarkCommandAck is the time until Slack has the acknowledgement of
// /kafka-diagnose while Prometheus takes 2 s (bar: 300 ms). The peer
// acknowledges and does nothing else.
func BenchmarkCommandAck(b *testing.B) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "t"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	p := serve(b, "c", c.ListenAddrs(), slow(b, promstore.New(), 2*time.Second))
	peer, err := slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(peer.Close)
	echo(b, peer)
	b.ResetTimer()
	var ours, bare []time.Duration
	for range b.N {
		for n := range 50 {
			ours = append(ours, ack(b, p.slack, fmt.Sprintf("/kafka-diagnose group g%d", n)))
			bare = append(bare, ack(b, peer, "/kafka-diagnose help"))
		}
	}
	slices.Sort(ours)
	slices.Sort(bare)
	b.ReportMetric(ms(ours[len(ours)*99/100]), "p99-ms")
	b.ReportMetric(ms(bare[len(bare)*99/100]), "peer-p99-ms")
	b.ReportMetric(float64(ours[len(ours)/2])/float64(bare[len(bare)/2]), "x-of-peer-p50")
}

func ack(b *testing.B, s *slackdouble.Server, line string) time.Duration {
	v, err := s.Command(slackdouble.DefaultUser, slackdouble.DefaultChannel, line)
	if err != nil {
		b.Fatal(err)
	}
	<-v.Done()
	what, took := v.Outcome()
	if what != "acknowledged" {
		b.Fatalf("the command ended as %q", what)
	}
	return took
}

// echo connects to a double and acknowledges everything at once.
func echo(b *testing.B, s *slackdouble.Server) {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.APIURL()+"apps.connections.open", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+slackdouble.DefaultAppToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	var open struct{ URL string }
	if err := json.NewDecoder(resp.Body).Decode(&open); err != nil {
		b.Fatal(err)
	}
	ws, hello, err := websocket.DefaultDialer.DialContext(b.Context(), open.URL, nil)
	if err != nil {
		b.Fatal(err)
	}
	_ = hello.Body.Close()
	b.Cleanup(func() { _ = ws.Close() })
	go func() {
		for {
			var e struct {
				ID string `json:"envelope_id"`
			}
			if ws.ReadJSON(&e) != nil {
				return
			}
			if e.ID != "" && ws.WriteJSON(map[string]string{"envelope_id": e.ID}) != nil {
				return
			}
		}
	}()
	await(b, "the peer's connection", func() bool { return s.Connections() > 0 })
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkWatch2000Groups is what watching 2,000 groups costs: resident memory
// of the whole bot (bar: 64 MB), the time of a sweep and its requests (bar: 5
// per broker + 2), against kadm.Lag on the same brokers in the same run.
func BenchmarkWatch2000Groups(b *testing.B) {
	const brokers, groups, partitions = 3, 2000, 12
	c, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, "t"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cl.Close)
	adm := kadm.NewClient(cl)
	for g := range groups {
		var os kadm.Offsets
		for p := range int32(partitions) {
			os.AddOffset("t", p, 0, -1)
		}
		if _, err := adm.CommitOffsets(b.Context(), fmt.Sprintf("group-%04d", g), os); err != nil {
			b.Fatal(err)
		}
	}
	srv := httptest.NewServer(promstore.NewServer(promstore.New(), time.Now))
	b.Cleanup(srv.Close)
	p := serve(b, "c", c.ListenAddrs(), srv.URL)
	sweeps := func() float64 { return p.metric(b, `kafka_oncall_watcher_sweep_duration_seconds_count\{[^}]*\}`) }
	await(b, "five sweeps", func() bool { return sweeps() >= 5 })
	b.ResetTimer()
	var peer time.Duration
	for range b.N {
		start := time.Now()
		if _, err := adm.Lag(b.Context()); err != nil {
			b.Fatal(err)
		}
		peer += time.Since(start)
	}
	sweep := p.metric(b, `kafka_oncall_watcher_sweep_duration_seconds_sum\{[^}]*\}`) / sweeps() * 1000
	lag := ms(peer) / float64(b.N)
	b.ReportMetric(p.rssMB(b), "rss-MB")
	b.ReportMetric(sweep, "sweep-ms")
	b.ReportMetric(lag, "peer-kadm-Lag-ms")
	b.ReportMetric(sweep/lag, "x-of-peer")
	b.ReportMetric(p.metric(b, `kafka_oncall_watcher_sweep_requests\{[^}]*\}`), "requests")
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
