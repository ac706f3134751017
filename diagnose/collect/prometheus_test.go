package collect

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

func TestRawSamples(t *testing.T) {
	l := newLab(t)
	target := `instance="h1",cluster="prod"`
	l.broker(target, 30*time.Minute, 0, 10, 30)
	l.put(`kafka_network_requestmetrics_errors_total{request="Fetch",error="FETCH_SESSION_ID_NOT_FOUND",`+target+`}`, 105*time.Second, 0, 20)
	l.put(`kafka_network_requestmetrics_requests_total{request="FetchConsumer",version="13",`+target+`}`, 10*time.Minute, 0, 500)
	l.put(`kafka_network_requestmetrics_requests_total{request="FetchConsumer",version="18",`+target+`}`, 5*time.Minute, 0, 70)
	p := prom(t, l.st, PrometheusConfig{Selector: `{cluster="prod"}`, ExternalURL: "https://prom.example.org/prometheus/"})
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(1))
	b := byID(t, res, 1)

	e70 := b.Signals[diagnose.SignalErrors70]
	want := []diagnose.Sample{}
	for ago := 105 * time.Second; ago >= 0; ago -= 15 * time.Second {
		want = append(want, diagnose.Sample{T: lookAt.Add(-ago), V: 20})
	}
	if !e70.OK() || len(e70.Series) != 1 || !reflect.DeepEqual(e70.Series[0].Samples, want) {
		t.Errorf("a new-born counter must come with the times of its scrapes: %+v", e70)
	}
	wantSource := `prometheus: kafka_network_requestmetrics_errors_total{cluster="prod",error="FETCH_SESSION_ID_NOT_FOUND",request="Fetch"}[20m]`
	if e70.Source != wantSource || !e70.AsOf.Equal(lookAt) {
		t.Errorf("source %q as of %s", e70.Source, e70.AsOf)
	}
	u, err := url.Parse(e70.Link)
	if err != nil || u.Host != "prom.example.org" || u.Path != "/prometheus/graph" || u.Query().Get("g0.range_input") != "20m" ||
		u.Query().Get("g0.end_input") != "2026-11-30 02:16:00" || "prometheus: "+u.Query().Get("g0.expr")+"[20m]" != wantSource {
		t.Errorf("link %q", e70.Link)
	}

	fetches := b.Signals[diagnose.SignalFetchRequests].Series
	if len(fetches) != 2 || !reflect.DeepEqual(fetches[0].Labels, map[string]string{"version": "13", "instance": "h1"}) || fetches[1].Labels["version"] != "18" {
		t.Errorf("series of two versions: %+v", fetches)
	}
	if n := len(b.Signals[diagnose.SignalLeaders].Series[0].Samples); n != 80 {
		t.Errorf("%d samples of 20 minutes at 15 s, want 80: the range is open on the left", n)
	}
	if s := res.Source; s.RangeSeconds != 1200 || s.ScrapeSeconds != 15 || s.Selector != `{cluster="prod"}` {
		t.Errorf("source %+v", s)
	}
}

func TestNoLinkWithoutExternalURL(t *testing.T) {
	res := prom(t, healthy(t).st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(2))
	for s, m := range byID(t, res, 1).Signals {
		if m.Link != "" {
			t.Errorf("%s: link %q", s, m.Link)
		}
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	l := newLab(t)
	// Broker 1 counts errors, broker 2 has only gauges (its error rule is gone).
	l.broker(`broker_id="1"`, 10*time.Minute, 0, 10, 30)
	l.put(`kafka_network_requestmetrics_errors_total{request="Fetch",error="INVALID_FETCH_SESSION_EPOCH",broker_id="1"}`, 10*time.Minute, 0, 4)
	l.put(`kafka_server_replicamanager_leadercount{broker_id="2"}`, 10*time.Minute, 0, 10)
	l.put(`kafka_server_kafkaserver_brokerstate{broker_id="2"}`, 10*time.Minute, 0, 3)
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(2))
	for _, tc := range []struct {
		id     int32
		signal diagnose.Signal
		want   diagnose.Status
	}{
		{1, diagnose.SignalErrors70, diagnose.StatusEmpty},
		{2, diagnose.SignalErrors70, diagnose.StatusNotExported},
		{2, diagnose.SignalErrors71, diagnose.StatusNotExported}, // though broker 1 has it
		{1, diagnose.SignalLeaveRequests, diagnose.StatusEmpty},
		{2, diagnose.SignalLeaveRequests, diagnose.StatusNotExported},
		{2, diagnose.SignalErrorsAny, diagnose.StatusEmpty}, // another broker shows it
		{1, diagnose.SignalEvictions, diagnose.StatusNotExported},
		{1, diagnose.SignalBrokerState, diagnose.StatusEmpty},
		{1, diagnose.SignalFetchBytesMean, diagnose.StatusNotExported},
	} {
		m := byID(t, res, tc.id).Signals[tc.signal]
		if m.Status != tc.want || len(m.Series) != 0 || m.Status == diagnose.StatusNotExported && m.Hint == "" {
			t.Errorf("broker %d %s: %+v, want %s", tc.id, tc.signal, m, tc.want)
		}
	}
}

func TestSilentBrokerIsPartial(t *testing.T) {
	l := newLab(t)
	l.broker(`broker_id="1"`, 10*time.Minute, 3*time.Minute, 10, 30)
	l.broker(`broker_id="2"`, 10*time.Minute, 0, 10, 30)
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(2))
	b := byID(t, res, 1)
	for _, s := range []diagnose.Signal{diagnose.SignalLeaders, diagnose.SignalErrors70} {
		if m := b.Signals[s]; m.Status != diagnose.StatusPartial || m.Error != "The broker's metrics end 180 s before this look" {
			t.Errorf("%s: %+v: what happened since the last scrape is unknown", s, m.Reading)
		}
	}
	if m := byID(t, res, 2).Signals[diagnose.SignalErrors70]; m.Status != diagnose.StatusEmpty {
		t.Errorf("the other broker suffers: %+v", m.Reading)
	}
}

func TestNaNIsNoSample(t *testing.T) {
	l := newLab(t)
	l.broker(`broker_id="1"`, 10*time.Minute, 0, 10, 30)
	p99 := `kafka_network_requestmetrics_totaltimems{request="Heartbeat",quantile="0.99",broker_id="1"}`
	l.put(p99, 10*time.Minute, 5*time.Minute, math.NaN())
	l.put(p99, 4*time.Minute, 0, 7)
	l.put(`kafka_network_requestmetrics_requestbytes{request="FetchConsumer",quantile="0.99",broker_id="1"}`, 10*time.Minute, 0, math.Inf(1))
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(1))
	b := byID(t, res, 1)
	if s := b.Signals[diagnose.SignalHeartbeatP99].Series; len(s) != 1 || len(s[0].Samples) != 17 {
		t.Errorf("%+v", s)
	}
	if m := b.Signals[diagnose.SignalFetchBytesP99]; len(m.Series) != 0 {
		t.Errorf("%+v", m)
	}
	if _, err := json.Marshal(b); err != nil {
		t.Errorf("evidence does not encode: %v", err)
	}
}

func TestOverride(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="h1",broker_id="1",cluster="prod"`, 10*time.Minute, 0, 10, 30)
	l.put(`kafka:sessions:max{broker_id="1",cluster="prod",kind="fetch"}`, 10*time.Minute, 0, 77)
	l.put(`kafka:sessions:max{broker_id="1",cluster="test",kind="fetch"}`, 10*time.Minute, 0, 78)
	l.put(`kafka_server_fetchsessioncache_numincrementalfetchsessions{instance="h1",broker_id="1",cluster="prod"}`, 10*time.Minute, 0, 1)
	p := prom(t, l.st, PrometheusConfig{
		Selector:  `{cluster="prod"}`,
		Overrides: map[diagnose.Signal]string{diagnose.SignalSessions: `kafka:sessions:max{kind=~"f.*"}`},
	})
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(1))
	m := byID(t, res, 1).Signals[diagnose.SignalSessions]
	if n, v := sum(m); !m.OK() || n != 1 || v != 77 || m.Source != `prometheus: kafka:sessions:max{cluster="prod",kind=~"f.*"}[20m]` {
		t.Errorf("%+v", m)
	}
	if n := p.Stats().Requests; n != 8 {
		t.Errorf("%d queries, want 7 and one for the override", n)
	}
}

func TestOverridesReadAnUnknownExporter(t *testing.T) {
	l := newLab(t)
	for i := 1; i <= 2; i++ {
		l.put(fmt.Sprintf(`acme_sessions{broker_id="%d"}`, i), 10*time.Minute, 0, float64(i))
		l.put(fmt.Sprintf(`acme_errors{broker_id="%d",code="70"}`, i), 10*time.Minute, 0, float64(10*i))
	}
	p := prom(t, l.st, PrometheusConfig{Overrides: map[diagnose.Signal]string{
		diagnose.SignalSessions: "acme_sessions", diagnose.SignalErrors70: `acme_errors{code="70"}`,
	}})
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
	b := byID(t, res, 2)
	_, sessions := sum(b.Signals[diagnose.SignalSessions])
	_, errs := sum(b.Signals[diagnose.SignalErrors70])
	if !res.Source.OK() || res.Source.Dialect != "custom" || sessions != 2 || errs != 20 {
		t.Errorf("source %+v, sessions %v, errors %v", res.Source, sessions, errs)
	}
	if m := b.Signals[diagnose.SignalLeaders]; m.Status != diagnose.StatusNotExported || m.Hint == "" {
		t.Errorf("%+v", m)
	}
}

func TestDialectIsRememberedAndFoundAgain(t *testing.T) {
	old, renewed := healthy(t), newLab(t)
	d := `{name="LeaderCount",instance="h1",broker_id="1"}`
	renewed.put(`kafka_server_ReplicaManager_Value`+d, 10*time.Minute, 0, 10)
	renewed.put(`kafka_network_RequestMetrics_Count{name="ErrorsPerSec",request="Fetch",error="NONE",instance="h1",broker_id="1"}`, 10*time.Minute, 0, 10)
	server := promstore.NewServer(old.st, func() time.Time { return lookAt })
	first := make(chan string, 1)
	p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case first <- r.FormValue("query"):
		default:
		}
		server.ServeHTTP(w, r)
	}), PrometheusConfig{})
	p.look(t, "jmx-examples", 7)
	p.look(t, "jmx-examples", 6)
	server = promstore.NewServer(renewed.st, func() time.Time { return lookAt })
	p.look(t, "jmx-none", 13)
	p.look(t, "jmx-none", 6)
	server = promstore.NewServer(promstore.New(), func() time.Time { return lookAt })
	before := p.Stats().Requests
	if s := p.Brokers(t.Context(), lookAt, lookBack, brokers(1)).Source; s.Status != diagnose.StatusEmpty || p.Stats().Requests-before != 8 {
		t.Errorf("%+v after %d queries", s.Reading, p.Stats().Requests-before)
	}
	if q := <-first; !strings.HasPrefix(q, "count by (__name__, cluster, ") {
		t.Errorf("first query %q", q)
	}
}

func (p *Prometheus) look(t *testing.T, dialect string, queries uint64) {
	t.Helper()
	before := p.Stats().Requests
	res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
	if got := p.Stats().Requests - before; res.Source.Dialect != dialect || got != queries {
		t.Errorf("dialect %q after %d queries, want %q after %d", res.Source.Dialect, got, dialect, queries)
	}
}

func TestMixedExportersTakeTheMajority(t *testing.T) {
	ds := dialects()
	for _, tc := range []struct {
		counts map[string]float64
		want   string
	}{
		{map[string]float64{"kafka_network_requestmetrics_errors_total": 20}, "jmx-examples"},
		{map[string]float64{"kafka_network_requestmetrics_errors_total": 20, "kafka_server_raftmetrics_current_state": 1}, "strimzi"},
		{map[string]float64{"kafka_network_requestmetrics_errors_total": 20, "kafka_network_RequestMetrics_Count": 900}, "jmx-none"},
		{map[string]float64{"kafka_server_raftmetrics_current_state": 1}, ""},
		{nil, ""},
	} {
		if d, ok := pick(ds, tc.counts); d.name != tc.want || ok != (tc.want != "") {
			t.Errorf("%v: %q, want %q", tc.counts, d.name, tc.want)
		}
	}
}

// During a change of exporters, a configured cluster is read as far as it goes.
func TestTwoExportersInOneCluster(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="h1",broker_id="1",cluster="prod"`, 10*time.Minute, 0, 10, 30)
	l.broker(`instance="h2",broker_id="2",cluster="prod"`, 10*time.Minute, 0, 10, 30)
	l.put(`kafka_network_RequestMetrics_Count{name="ErrorsPerSec",instance="h3",broker_id="3",cluster="prod"}`, 10*time.Minute, 0, 1)
	res := prom(t, l.st, PrometheusConfig{Selector: `{cluster="prod"}`}).Brokers(t.Context(), lookAt, lookBack, brokers(3))
	if res.Source.Status != diagnose.StatusPartial || !strings.Contains(res.Source.Error, "more than one exporter") || res.Source.Dialect != "jmx-examples" {
		t.Errorf("%+v", res.Source)
	}
	if !byID(t, res, 1).Identity.OK() || byID(t, res, 3).Identity.OK() {
		t.Errorf("%+v", res.Brokers)
	}
}

// The same input gives the same queries and the same answer, byte for byte.
func TestDeterministic(t *testing.T) {
	run := func() (string, []string) {
		l := healthy(t)
		server := promstore.NewServer(l.st, func() time.Time { return lookAt })
		queries := make(chan string, 50)
		p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			queries <- r.FormValue("query")
			server.ServeHTTP(w, r)
		}), PrometheusConfig{})
		res := p.Brokers(t.Context(), lookAt, lookBack, brokers(2))
		close(queries)
		var qs []string
		for q := range queries {
			qs = append(qs, q)
		}
		slices.Sort(qs)
		res.Source.DurationMS = 0
		for i := range res.Brokers {
			res.Brokers[i].SoftwareReading.DurationMS = 0
			res.Brokers[i].SoftwareGoneReading.DurationMS = 0
			for s, m := range res.Brokers[i].Signals {
				m.DurationMS = 0
				res.Brokers[i].Signals[s] = m
			}
		}
		raw, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw), qs
	}
	answer, queries := run()
	for range 5 {
		if a, q := run(); a != answer || !slices.Equal(q, queries) {
			t.Fatalf("differs:\n%s\n%s\n%v\n%v", a, answer, q, queries)
		}
	}
}

func TestClientSpellings(t *testing.T) {
	l := newLab(t)
	for i, label := range []string{"client_id", "clientId", "clientid"} {
		l.put(fmt.Sprintf(`kafka_consumer_last_poll_seconds_ago{%s="app.%d",instance="i%d"}`, label, i, i), 10*time.Minute, 0, float64(i))
		l.put(fmt.Sprintf(`kafka_consumer_last_poll_seconds_ago{%s="appx%d",instance="i%d"}`, label, i, i), 10*time.Minute, 0, 99)
	}
	p := prom(t, l.st, PrometheusConfig{})
	r, clients := p.Clients(t.Context(), lookAt, lookBack, []string{"app.2", "app.0", "app.1", "app.0", ""})
	if !r.OK() || len(clients) != 3 || p.Stats().Requests != 2 {
		t.Fatalf("%+v %+v", r, clients)
	}
	for i, c := range clients {
		m := c.Signals[diagnose.SignalLastPoll]
		if _, v := sum(m); c.ClientID != fmt.Sprintf("app.%d", i) || c.Instance != fmt.Sprintf("i%d", i) || v != float64(i) {
			t.Errorf("%+v", c)
		}
	}
	if s := clients[1].Signals[diagnose.SignalLastPoll].Source; s != `prometheus: kafka_consumer_last_poll_seconds_ago{clientId="app.1"}[20m]` {
		t.Errorf("source %q", s)
	}
}

func TestClientCases(t *testing.T) {
	poll, beat := "kafka_consumer_consumer_metrics_time_between_poll_max", "kafka_consumer_consumer_coordinator_metrics_last_heartbeat_seconds_ago"
	tests := []struct {
		name string
		cfg  PrometheusConfig
		fill func(lab)
		ids  []string
		want diagnose.Status
		n    int
		text string
	}{
		{"two processes with one client id", PrometheusConfig{}, func(l lab) {
			l.put(beat+`{client_id="consumer-a-1",instance="x"}`, 5*time.Minute, 0, 1)
			l.put(beat+`{client_id="consumer-a-1",instance="y"}`, 5*time.Minute, 0, 1)
		}, []string{"consumer-a-1"}, diagnose.StatusOK, 2, ""},
		{"the same id in two clusters", PrometheusConfig{}, func(l lab) {
			l.put(beat+`{client_id="consumer-a-1",kafka_cluster="prod"}`, 5*time.Minute, 0, 1)
			l.put(beat+`{client_id="consumer-a-1",kafka_cluster="test"}`, 5*time.Minute, 0, 1)
		}, []string{"consumer-a-1"}, diagnose.StatusFailed, 0, `{kafka_cluster="prod"}`},
		{"a selector tells them apart", PrometheusConfig{ClientSelector: `{kafka_cluster="test"}`}, func(l lab) {
			l.put(beat+`{client_id="consumer-a-1",kafka_cluster="prod"}`, 5*time.Minute, 0, 1)
			l.put(beat+`{client_id="consumer-a-1",kafka_cluster="test"}`, 5*time.Minute, 0, 1)
		}, []string{"consumer-a-1"}, diagnose.StatusOK, 1, ""},
		{"an id with regular expression in it", PrometheusConfig{}, func(l lab) {
			l.put(beat+`{client_id="a.*|b"}`, 5*time.Minute, 0, 1)
			l.put(beat+`{client_id="abc"}`, 5*time.Minute, 0, 1)
			l.put(beat+`{client_id="b"}`, 5*time.Minute, 0, 1)
		}, []string{"a.*|b"}, diagnose.StatusOK, 1, ""},
		{"an id with quotes and braces", PrometheusConfig{}, func(l lab) {
			l.put(beat+`{client_id="x\"}[1m] or up{a=\"\\"}`, 5*time.Minute, 0, 1)
		}, []string{`x"}[1m] or up{a="\`}, diagnose.StatusOK, 1, ""},
		{"nobody asked", PrometheusConfig{}, func(lab) {}, nil, diagnose.StatusSkipped, 0, ""},
		{"no client exports", PrometheusConfig{}, func(lab) {}, []string{"a"}, diagnose.StatusNotExported, 0, "JMX exporter"},
		{"how idle its polls are", PrometheusConfig{}, func(l lab) {
			l.put(`kafka_consumer_poll_idle_ratio_avg{client_id="a",kafka_version="4.4.0"}`, 5*time.Minute, 0, 0.04)
		}, []string{"a"}, diagnose.StatusOK, 1, ""},
		{"void poll metric", PrometheusConfig{}, func(l lab) {
			l.put(beat+`{client_id="a"}`, 5*time.Minute, 0, 1)
			l.put(poll+`{client_id="a"}`, 5*time.Minute, 0, math.NaN())
		}, []string{"a"}, diagnose.StatusOK, 1, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			tc.fill(l)
			r, clients := prom(t, l.st, tc.cfg).Clients(t.Context(), lookAt, lookBack, tc.ids)
			if r.Status != tc.want || len(clients) != tc.n || !strings.Contains(r.Hint, tc.text) {
				t.Errorf("%+v, %d clients %+v", r, len(clients), clients)
			}
			if tc.name == "how idle its polls are" {
				if _, v := sum(clients[0].Signals[diagnose.SignalPollIdle]); v != 0.04 {
					t.Errorf("%+v", clients[0])
				}
			}
			if tc.name == "void poll metric" && clients[0].Signals[diagnose.SignalPollMax].Status != diagnose.StatusEmpty {
				t.Errorf("%+v: the series is there, it holds no value", clients[0].Signals[diagnose.SignalPollMax].Reading)
			}
		})
	}
}

func TestManyClientIDs(t *testing.T) {
	l := newLab(t)
	var ids []string
	for i := range maxAskedClients + 50 {
		ids = append(ids, fmt.Sprintf("c-%04d", i))
	}
	l.put(`kafka_consumer_last_poll_seconds_ago{client_id="c-0000"}`, time.Minute, 0, 1)
	r, clients := prom(t, l.st, PrometheusConfig{}).Clients(t.Context(), lookAt, lookBack, ids)
	if r.Status != diagnose.StatusPartial || r.Error != "Asked for 200 of 250 client ids" || len(clients) != 1 {
		t.Errorf("%+v, %d", r, len(clients))
	}
}
