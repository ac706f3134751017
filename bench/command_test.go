package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

// commandAck is the time until Slack has the acknowledgement of
// /kafka-diagnose while Prometheus takes 2 s for each query. The peer
// acknowledges on a bare websocket and does nothing else.
func commandAck(b *testing.B, bin string, t *table) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "t"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	prom := httptest.NewServer(promstore.NewServer(promstore.New(), time.Now))
	b.Cleanup(prom.Close)
	p := serve(b, bin, "c", c.ListenAddrs(), slow(b, prom.URL, 2*time.Second).url)
	peer, err := slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(peer.Close)
	echo(b, peer)
	b.ResetTimer()
	var ours, bare []time.Duration
	for n := range 200 {
		ours = append(ours, ack(b, p.slack, fmt.Sprintf("/kafka-diagnose group g%d", n%50)))
		bare = append(bare, ack(b, peer, "/kafka-diagnose help"))
	}
	b.ReportMetric(ms(quantile(ours, 99)), "p99-ms")
	t.add("slash command acknowledged, Prometheus takes 2 s", spread(ours), "bare websocket echo "+spread(bare), ratio(quantile(ours, 99), quantile(bare, 99)), "p99 ≤ 300 ms")
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
