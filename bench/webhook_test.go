package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/internal/stage"
)

// onStage puts the recorded restart burst on stage, 8 s after its effect.
func onStage(b *testing.B) (*stage.Stage, string) {
	rec, err := stage.Embedded("restart-burst")
	if err != nil {
		b.Fatal(err)
	}
	st, err := stage.Open(b.Context(), rec, rec.Truth.Effect.Add(8*time.Second), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(st.Close)
	return st, rec.Truth.Cluster
}

// slowProm stands in front of a Prometheus and takes its time.
type slowProm struct {
	url    string
	within atomic.Int64 // queries that wait now
}

func slow(b *testing.B, upstream string, delay time.Duration) *slowProm {
	u, err := url.Parse(upstream)
	if err != nil {
		b.Fatal(err)
	}
	var s slowProm
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.within.Add(1)
		defer s.within.Add(-1)
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(srv.Close)
	s.url = srv.URL
	return &s
}

// payload is Alertmanager's post about one broker. The note differs in each, so
// that no two bodies are the same.
func payload(b *testing.B, cluster, broker, key, note string) []byte {
	labels := map[string]string{"alertname": "KafkaFetchSessionErrors", "cluster": cluster, "broker_id": broker}
	body, err := json.Marshal(map[string]any{"version": "4", "groupKey": "{}:{n=" + key + "}", "status": "firing", "receiver": "r",
		"groupLabels": labels, "commonLabels": labels, "commonAnnotations": map[string]string{}, "externalURL": "http://localhost:9093",
		"alerts": []any{map[string]any{"status": "firing", "labels": labels, "annotations": map[string]string{"note": note},
			"startsAt": time.Now().UTC().Format(time.RFC3339Nano), "endsAt": "0001-01-01T00:00:00Z", "fingerprint": fmt.Sprintf("%016s", key)}}})
	if err != nil {
		b.Fatal(err)
	}
	return body
}

// webhookAck posts at a fixed rate, whatever the answers do, while diagnoses
// wait for a Prometheus that takes 1 s. The peers get the same bodies at the
// same rate just before: one appends each to a file and syncs it, one only
// decodes it.
func webhookAck(b *testing.B, bin string, t *table) {
	st, cluster := onStage(b)
	prom := slow(b, st.PrometheusURL(), time.Second)
	p := serve(b, bin, cluster, st.Bootstrap(), prom.url)
	ctx, cancel := context.WithCancel(b.Context())
	var asking sync.WaitGroup
	asking.Go(func() { keepAsking(ctx, p.slack) })
	b.Cleanup(func() { cancel(); asking.Wait() })
	await(b, "a diagnosis", func() bool { return prom.within.Load() > 0 })
	fsync, decode := httptest.NewServer(appendAndSync(b)), httptest.NewServer(http.HandlerFunc(decodeOnly))
	b.Cleanup(fsync.Close)
	b.Cleanup(decode.Close)
	b.ResetTimer()
	for _, rate := range []int{100, 500} {
		load := func(u string) ([]time.Duration, float64) { return post(b, u, cluster, rate, &prom.within) }
		plain, _ := load(decode.URL)
		synced, _ := load(fsync.URL)
		ours, busy := load("http://" + p.addr + "/webhook/alertmanager")
		if busy < 0.5 {
			b.Errorf("a diagnosis ran during %.0f%% of the posts only: the figure is not what it says", busy*100)
		}
		b.ReportMetric(ms(quantile(ours, 99)), fmt.Sprintf("p99-ms-at-%d", rate))
		what := fmt.Sprintf("webhook acknowledged, %d posts/s (a diagnosis running %.0f%% of the time)", rate, busy*100)
		t.add(what, spread(ours), "append + fsync "+spread(synced), ratio(quantile(ours, 99), quantile(synced, 99)), "p99 ≤ 10 ms")
		t.add("", "", "decode only "+spread(plain), ratio(quantile(ours, 99), quantile(plain, 99)), "")
	}
}

// keepAsking keeps a diagnosis running until the context ends. Each command is
// about a new group: the bot answers a question that was just asked from memory.
func keepAsking(ctx context.Context, s *slackdouble.Server) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		// A command that is not taken shows in the share of busy posts.
		_, _ = s.Command(slackdouble.DefaultUser, slackdouble.DefaultChannel, fmt.Sprintf("/kafka-diagnose group busy-%d", n))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// post sends for five seconds. It returns how long each acknowledgement took,
// and the share of posts that were sent while a diagnosis waited.
func post(b *testing.B, to, cluster string, rate int, within *atomic.Int64) ([]time.Duration, float64) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	count := 5 * rate
	bodies := make([][]byte, count)
	for n := range bodies {
		bodies[n] = payload(b, cluster, fmt.Sprint(n%3+1), fmt.Sprint(n%20), fmt.Sprint(rate, "-", n))
	}
	took, busy := make([]time.Duration, count), 0
	var wg sync.WaitGroup
	began := time.Now()
	for n, body := range bodies {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		if within.Load() > 0 {
			busy++
		}
		wg.Go(func() {
			start := time.Now()
			if err := send(client, to, body); err != nil {
				b.Error(err)
			}
			took[n] = time.Since(start)
		})
	}
	wg.Wait()
	return took, float64(busy) / float64(count)
}

func send(client *http.Client, to string, body []byte) error {
	resp, err := client.Post(to, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the webhook answered %d", resp.StatusCode)
	}
	return nil
}

// appendAndSync is the least that "200 means on disk" can cost without batches.
func appendAndSync(b *testing.B) http.HandlerFunc {
	f, err := os.Create(filepath.Join(b.TempDir(), "peer"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			if _, err = f.Write(append(body, '\n')); err == nil {
				err = f.Sync()
			}
		}
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

func decodeOnly(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
}

// webhookToRoot is the time from Alertmanager's post to a root with the verdict
// in it. Each of five runs has a new bot, so that nothing is warm and Slack's
// limit of one post a second plays no part. The peer posts one message.
func webhookToRoot(b *testing.B, bin string, t *table) {
	st, cluster := onStage(b)
	var ours, peer []time.Duration
	for n := range 5 {
		p := serve(b, bin, cluster, st.Bootstrap(), st.PrometheusURL())
		body := payload(b, cluster, "3", fmt.Sprint(n), "root")
		start := time.Now()
		if err := send(http.DefaultClient, "http://"+p.addr+"/webhook/alertmanager", body); err != nil {
			b.Fatal(err)
		}
		await(b, "a root with the verdict", func() bool {
			roots := p.slack.Messages(slackdouble.DefaultChannel)
			return len(roots) > 0 && strings.Contains(strings.ToLower(roots[0].Text), "restart burst")
		})
		ours = append(ours, time.Since(start))
		stop(p.cmd)
		peer = append(peer, barePost(b))
	}
	b.ReportMetric(ms(quantile(ours, 50)), "p50-ms")
	t.add("webhook → root with the verdict in it (new bot each)", middle(ours), "one bare chat.postMessage "+middle(peer), ratio(quantile(ours, 50), quantile(peer, 50)), "≤ 5 s")
}

// middle is the median and the worst as text, for a handful of values.
func middle(ds []time.Duration) string {
	return fmt.Sprintf("p50 %.1f ms, worst %.1f ms (n=%d)", ms(quantile(ds, 50)), ms(quantile(ds, 100)), len(ds))
}

func barePost(b *testing.B) time.Duration {
	s, err := slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body, err := json.Marshal(map[string]string{"channel": slackdouble.DefaultChannel, "text": "Restart burst"})
	if err != nil {
		b.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.APIURL()+"chat.postMessage", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+slackdouble.DefaultBotToken)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
	took := time.Since(start)
	if n := len(s.Messages(slackdouble.DefaultChannel)); n != 1 {
		b.Fatalf("the peer's post left %d messages", n)
	}
	return took
}
