package collect

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

// lookAt is the moment of all looks in these tests.
var lookAt = time.Date(2026, 11, 30, 2, 16, 0, 0, time.UTC)

const lookBack = 20 * time.Minute

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// prom starts a Prometheus over the store and a collector for it.
func prom(t *testing.T, st *promstore.Store, cfg PrometheusConfig) *Prometheus {
	t.Helper()
	return promAt(t, promstore.NewServer(st, func() time.Time { return lookAt }), cfg)
}

func promAt(t *testing.T, h http.Handler, cfg PrometheusConfig) *Prometheus {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg.URL = srv.URL
	p, err := NewPrometheus(cfg, discard())
	if err != nil {
		t.Fatal(err)
	}
	p.transport.pause = time.Millisecond
	return p
}

// lab is a synthetic cluster under the rules of jmx_exporter's examples.
type lab struct {
	t  *testing.T
	st *promstore.Store
}

func newLab(t *testing.T) lab { return lab{t: t, st: promstore.New()} }

// put adds a series with a value every 15 s from `from` to `to`, both counted
// back from the look.
func (l lab) put(series string, from, to time.Duration, v float64) {
	l.t.Helper()
	sel, err := parseSelector(series)
	if err != nil {
		l.t.Fatal(err)
	}
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, m := range sel.match {
		b.Set(m.Name, m.Value)
	}
	for ago := from; ago >= to; ago -= 15 * time.Second {
		l.st.Append(b.Labels(), lookAt.Add(-ago), v)
	}
}

// broker adds a broker's gauges and one error counter. target are its scrape
// labels, for example instance="b1".
func (l lab) broker(target string, from, to time.Duration, leaders, partitions float64) {
	l.t.Helper()
	l.put(`kafka_server_replicamanager_leadercount{`+target+`}`, from, to, leaders)
	l.put(`kafka_server_replicamanager_partitioncount{`+target+`}`, from, to, partitions)
	l.put(`kafka_network_requestmetrics_errors_total{request="ApiVersions",error="NONE",`+target+`}`, from, to, 5)
	l.put(`kafka_network_requestmetrics_requests_total{request="ApiVersions",version="4",`+target+`}`, from, to, 5)
}

func brokers(n int32) []BrokerInfo {
	var out []BrokerInfo
	for id := int32(1); id <= n; id++ {
		out = append(out, BrokerInfo{ID: id})
	}
	return out
}

func sum(m diagnose.Metric) (n int, total float64) {
	for _, s := range m.Series {
		total += s.Samples[len(s.Samples)-1].V
	}
	return len(m.Series), total
}

func byID(t *testing.T, res PrometheusResult, id int32) diagnose.Broker {
	t.Helper()
	for _, b := range res.Brokers {
		if b.ID == id {
			return b
		}
	}
	t.Fatalf("no broker %d in %+v", id, res.Brokers)
	return diagnose.Broker{}
}
