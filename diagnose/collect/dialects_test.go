package collect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

// expectation is one line of resolve.tsv.
type expectation struct {
	signal diagnose.Signal
	absent bool
	series int
	sum    float64
	// uncounted says that the sum was not recorded.
	uncounted bool
}

func expectations(t *testing.T) map[string][]expectation {
	t.Helper()
	f, err := os.Open("testdata/dialects/resolve.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]expectation{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		c := strings.Split(sc.Text(), "\t")
		if c[0] == "sample" {
			continue
		}
		e := expectation{signal: diagnose.Signal(c[1]), absent: c[2] == "absent"}
		e.series, _ = strconv.Atoi(c[2])
		e.sum, _ = strconv.ParseFloat(c[3], 64)
		e.uncounted = c[3] == "" && e.series > 0
		out[c[0]] = append(out[c[0]], e)
	}
	if len(out) == 0 {
		t.Fatal("resolve.tsv is empty")
	}
	return out
}

// recorded loads a sample and returns the moment a second after its scrape.
func recorded(t *testing.T, sample string, extra ...labels.Label) (*promstore.Store, time.Time) {
	t.Helper()
	st := promstore.New()
	loaded, err := st.Load(bytes.NewReader(unzipped(t, sample)), extra...)
	if err != nil {
		t.Fatal(err)
	}
	return st, loaded.Last.Add(time.Second)
}

func unzipped(t *testing.T, sample string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/dialects", sample+".samples.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDialectsResolveRecordedScrapes(t *testing.T) {
	for sample, lines := range expectations(t) {
		name := dialectOf(sample)
		if name == "" {
			continue
		}
		t.Run(sample, func(t *testing.T) {
			st, at := recorded(t, sample, labels.Label{Name: "instance", Value: "10.0.0.7:7071"}, labels.Label{Name: "cluster", Value: "lab"})
			p := prom(t, st, PrometheusConfig{Selector: `{cluster="lab"}`})
			res := p.Brokers(t.Context(), at, lookBack, brokers(1))
			if first := p.Stats().Requests; first > 7 {
				t.Errorf("%d queries for the first look, want at most 7", first)
			}
			if !res.Source.OK() || res.Source.Dialect != name {
				t.Fatalf("source %+v, want dialect %s", res.Source, name)
			}
			b := byID(t, res, 1)
			if !b.Identity.OK() {
				t.Errorf("identity %+v", b.Identity)
			}
			for _, e := range lines {
				checkLine(t, p, b, e)
			}
			p.Brokers(t.Context(), at, lookBack, brokers(1))
			if all := p.Stats().Requests; all > 13 {
				t.Errorf("%d queries for two looks, want at most 13", all)
			}
		})
	}
}

func TestEveryDialectIsRecorded(t *testing.T) {
	seen := map[string]bool{}
	for sample := range expectations(t) {
		seen[dialectOf(sample)] = true
	}
	for _, d := range dialects() {
		if !seen[d.name] {
			t.Errorf("no recorded scrape of %s", d.name)
		}
	}
}

// dialectOf tells the dialect from a sample's name; "" for samples that are not
// of a broker.
func dialectOf(sample string) string {
	for _, way := range [][2]string{
		{"msk-", "jmx-none"}, {"jmxexample-", "jmx-examples"}, {"strimzi-metrics-reporter-", "strimzi-metrics-reporter"}, {"strimzi-", "strimzi"},
		{"confluent-", "confluent"}, {"grafana-", "grafana"}, {"bitnami-", "bitnami"},
	} {
		if strings.HasPrefix(sample, way[0]) {
			return way[1]
		}
	}
	return ""
}

// foreign renames the series of a scrape, as rules that nobody knows would, and
// serves their HELP texts as Prometheus' metadata does. rename changes label
// names.
func foreign(t *testing.T, sample string, rename *strings.Replacer) (http.Handler, time.Time) {
	t.Helper()
	acme := func(name string) string {
		if strings.HasPrefix(name, "kafka_") {
			return "acme_" + strings.ToLower(name)
		}
		return name
	}
	st := promstore.New()
	sc := bufio.NewScanner(bytes.NewReader(unzipped(t, sample)))
	var text strings.Builder
	for sc.Scan() {
		head, rest, _ := strings.Cut(sc.Text(), "{")
		name, tail, bare := strings.Cut(head, " ")
		switch {
		case bare:
			text.WriteString(acme(name) + " " + tail + "\n")
		default:
			text.WriteString(acme(name) + "{" + rename.Replace(rest) + "\n")
		}
	}
	loaded, err := st.Load(strings.NewReader(text.String()), labels.Label{Name: "instance", Value: "10.0.0.7:7071"})
	if err != nil {
		t.Fatal(err)
	}
	help, err := os.ReadFile(filepath.Join("testdata/dialects", sample+".help.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string][]map[string]string{}
	for line := range strings.Lines(string(help)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		meta[acme(name)] = []map[string]string{{"type": "unknown", "help": text, "unit": ""}}
	}
	at := loaded.Last.Add(time.Second)
	mux := http.NewServeMux()
	mux.Handle("/", promstore.NewServer(st, func() time.Time { return at }))
	mux.HandleFunc("/api/v1/metadata", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") == "" {
			t.Error("metadata was asked for without a limit")
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": meta}); err != nil {
			t.Error(err)
		}
	})
	return mux, at
}

func TestUnknownDialectByHelp(t *testing.T) {
	same := strings.NewReplacer()
	other := strings.NewReplacer(`request="`, `api="`, `error="`, `code="`)
	for sample, tc := range map[string]struct {
		rename *strings.Replacer
	}{
		"confluent-4.4.0":        {same},
		"grafana-agent020-4.4.0": {other},
		"strimzi-4.4.0":          {same},
		"bitnami-4.4.0":          {same},
		"msk-4.4.0":              {same},
	} {
		t.Run(sample, func(t *testing.T) {
			h, at := foreign(t, sample, tc.rename)
			p := promAt(t, h, PrometheusConfig{})
			res := p.Brokers(t.Context(), at, lookBack, brokers(1))
			if !res.Source.OK() || res.Source.Dialect != helpName {
				t.Fatalf("source %+v", res.Source)
			}
			b := byID(t, res, 1)
			for _, e := range expectations(t)[sample] {
				checkLine(t, p, b, e)
			}
			before := p.Stats().Requests
			p.Brokers(t.Context(), at, lookBack, brokers(1))
			if n := p.Stats().Requests - before; n > 8 {
				t.Errorf("%d queries for a second look", n)
			}
		})
	}
}

// A configured dialect is read without a look for others, even where another one
// has more series.
func TestConfiguredDialect(t *testing.T) {
	st, at := recorded(t, "strimzi-4.4.0")
	p := prom(t, st, PrometheusConfig{Dialect: "jmx-examples"})
	res := p.Brokers(t.Context(), at, lookBack, brokers(1))
	if !res.Source.OK() || res.Source.Dialect != "jmx-examples" || p.Stats().Requests > 6 {
		t.Errorf("%+v after %d queries", res.Source, p.Stats().Requests)
	}
}

// The labels that Bitnami's rules and jmx_exporter's kraft example fuse come
// out as with everybody else, and internal listeners are left out.
func TestFusedLabels(t *testing.T) {
	for sample, want := range map[string]struct {
		signal diagnose.Signal
		labels map[string]string
	}{
		"bitnami-4.4.0":          {diagnose.SignalFetchRequests, map[string]string{"request": "FetchConsumer", "version": "18", "instance": "b1"}},
		"jmxexample-kraft-4.4.0": {diagnose.SignalConnectionsMade, map[string]string{"listener": "plaintext", "networkProcessor": "0", "instance": "b1"}},
		"msk-4.4.0":              {diagnose.SignalConnectionsMade, map[string]string{"listener": "PLAINTEXT", "networkProcessor": "0", "instance": "b1"}},
	} {
		st, at := recorded(t, sample, labels.Label{Name: "instance", Value: "b1"})
		res := prom(t, st, PrometheusConfig{}).Brokers(t.Context(), at, lookBack, brokers(1))
		m := byID(t, res, 1).Signals[want.signal]
		if len(m.Series) == 0 || !maps.Equal(m.Series[0].Labels, want.labels) {
			t.Errorf("%s: %+v, want labels %v first", sample, m, want.labels)
		}
	}
}

func TestParseHelp(t *testing.T) {
	for text, want := range map[string]mbean{
		"Attribute exposed for management kafka.network:name=ErrorsPerSec,type=RequestMetrics,attribute=Count":                {"kafka.network", "ErrorsPerSec", "RequestMetrics", "Count"},
		"java.lang:name=null,type=Runtime,attribute=StartTime":                                                                {"java.lang", "null", "Runtime", "StartTime"},
		"The total, of new connections kafka.server:name=null,type=socket-server-metrics,attribute=connection-creation-total": {"kafka.server", "null", "socket-server-metrics", "connection-creation-total"},
		"Use kafka_server_replicamanager_leadercount in allowlist":                                                            {},
		"kafka.server:name=A,type=B": {},
		"":                           {},
	} {
		if got, ok := parseHelp(text); got != want || ok != (want != mbean{}) {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
}

func checkLine(t *testing.T, p *Prometheus, b diagnose.Broker, e expectation) {
	t.Helper()
	switch {
	case e.signal == "census:kgo":
		checkCensus(t, b, e)
		return
	case strings.HasPrefix(string(e.signal), "aux."):
		return // TestTableSelectors
	}
	m := b.Signals[e.signal]
	n, total := sum(m)
	switch {
	case e.absent:
		if m.Status != diagnose.StatusNotExported || m.Hint == "" || n > 0 {
			t.Errorf("%s: %+v, want not exported with a hint", e.signal, m)
		}
	case e.series == 0:
		if m.Status != diagnose.StatusEmpty || n > 0 {
			t.Errorf("%s: %+v, want empty: born with its first use", e.signal, m)
		}
	case e.signal == diagnose.SignalErrorsAny:
		if !m.OK() || n != 1 {
			t.Errorf("%s: %d series, status %s, want one witness", e.signal, n, m.Status)
		}
	case !m.OK() || n != e.series || !e.uncounted && math.Abs(total-e.sum) > 1e-6*math.Abs(e.sum):
		t.Errorf("%s: %d series, sum %v, status %s; want %d, %v", e.signal, n, total, m.Status, e.series, e.sum)
	}
}

func checkCensus(t *testing.T, b diagnose.Broker, e expectation) {
	t.Helper()
	if e.absent {
		return // TestCensus
	}
	got := 0
	for _, s := range b.Software {
		if s.Name == "kgo" {
			got += s.Connections
		}
	}
	if !b.SoftwareReading.OK() || !e.uncounted && got != int(e.sum) {
		t.Errorf("census: %d kgo connections, %+v; want %v", got, b.SoftwareReading, e.sum)
	}
}

// TestTableSelectors runs the table's own selectors against the scrapes: what
// the batched queries do must be what the table says.
func TestTableSelectors(t *testing.T) {
	for sample, lines := range expectations(t) {
		if dialectOf(sample) == "" {
			continue
		}
		st, at := recorded(t, sample)
		p := prom(t, st, PrometheusConfig{})
		d, _, failed := p.resolveDialect(t.Context(), look{at: at, rng: lookBack})
		if failed != nil {
			t.Fatalf("%s: %+v", sample, failed)
		}
		for _, e := range lines {
			sels := d.signals[e.signal]
			if len(sels) == 0 || e.absent || e.series == 0 {
				if len(sels) == 0 && !e.absent && e.signal != "census:kgo" {
					t.Errorf("%s: no selector for %s", sample, e.signal)
				}
				continue
			}
			var got model.Vector
			for _, sel := range sels {
				if got = slices.DeleteFunc(p.ask(t.Context(), sel, at).vector, func(s *model.Sample) bool {
					return e.signal == diagnose.SignalConnectionsMade && !clientListener(s.Metric)
				}); len(got) > 0 {
					break
				}
			}
			total := 0.0
			for _, s := range got {
				total += float64(s.Value)
			}
			if f := d.scale[sels[0]]; f != 0 {
				total *= f
			}
			if len(got) != e.series || !e.uncounted && math.Abs(total-e.sum) > 1e-6*math.Abs(e.sum) {
				t.Errorf("%s %s: %s gives %d series, sum %v; want %d, %v", sample, e.signal, sels[0], len(got), total, e.series, e.sum)
			}
		}
	}
}

func TestCensus(t *testing.T) {
	for sample, want := range map[string]struct {
		status diagnose.Status
		conns  int
	}{
		"msk-4.4.0":                       {diagnose.StatusOK, 13},
		"strimzi-3.9.2":                   {diagnose.StatusOK, 13},
		"jmxexample-kraft-4.4.0":          {diagnose.StatusOK, 13},
		"jmxexample-kraft-agent020-4.4.0": {diagnose.StatusOK, 13},
		"jmxexample-2_0_0-4.4.0":          {diagnose.StatusNotExported, 0},
		"confluent-3.9.2":                 {diagnose.StatusOK, 4},
		"grafana-4.4.0":                   {diagnose.StatusOK, 13},
		"bitnami-4.4.0":                   {diagnose.StatusNotExported, 0},
		"strimzi-metrics-reporter-3.9.2":  {diagnose.StatusOK, 14},
	} {
		st, at := recorded(t, sample)
		res := prom(t, st, PrometheusConfig{}).Brokers(t.Context(), at, lookBack, brokers(1))
		b := byID(t, res, 1)
		n, known := res.Connections[1]
		if b.SoftwareReading.Status != want.status || n != want.conns || known != (want.status == diagnose.StatusOK) {
			t.Errorf("%s: %d connections, known %v, %+v", sample, n, known, b.SoftwareReading)
		}
		if want.status == diagnose.StatusOK {
			if len(b.Software) != 1 || b.Software[0].Name != "kgo" || b.Software[0].Version != "v1.22.3" {
				t.Errorf("%s: software %+v, want kgo only: the controller's listener is no client", sample, b.Software)
			}
			if src := b.SoftwareReading.Source; !strings.Contains(strings.ToUpper(src), "LISTENERS COUNTED: PLAINTEXT; LEFT OUT: CONTROLLER") {
				t.Errorf("%s: source %q does not say what was counted", sample, src)
			}
		}
	}
}

// TestCensusRemembersWhoLeft: a library whose last connection was closed ten minutes
// ago has no series any more. It is told apart from those that are connected, also
// where the exporter fuses its name into the series'.
func TestCensusRemembersWhoLeft(t *testing.T) {
	for sample, series := range map[string]map[string]string{
		"msk-4.4.0": {
			model.MetricNameLabel: "kafka_server_socket_server_metrics_connections", "listener": "PLAINTEXT", "networkProcessor": "2",
			"clientSoftwareName": "exporter", "clientSoftwareVersion": "0.9",
		},
		"jmxexample-kraft-4.4.0": {
			model.MetricNameLabel: "kafka_server_socket_server_metrics_clientsoftwarename_exporter_clientsoftwareversion_0_9_listener_plaintext_networkprocessor_2_connections",
		},
	} {
		st, at := recorded(t, sample)
		st.Append(labels.FromMap(series), at.Add(-10*time.Minute), 2)
		b := byID(t, prom(t, st, PrometheusConfig{}).Brokers(t.Context(), at, lookBack, brokers(1)), 1)
		if len(b.Software) != 1 || b.Software[0].Name != "kgo" {
			t.Errorf("%s: connected %+v", sample, b.Software)
		}
		if want := []diagnose.Software{{Name: "exporter", Version: "0.9", Connections: 2}}; !b.SoftwareGoneReading.OK() || !slices.Equal(b.SoftwareGone, want) {
			t.Errorf("%s: gone %+v, %+v", sample, b.SoftwareGone, b.SoftwareGoneReading)
		}
	}
}

func TestInternalListeners(t *testing.T) {
	for name, want := range map[string]bool{
		"CONTROLLER": true, "CONTROLPLANE-9090": true, "REPLICATION-9091": true, "REPLICATION_SECURE": true, "INTERBROKER": true, "INTER_BROKER": true,
		"PLAINTEXT": false, "CLIENT_SECURE": false, "EXTERNAL-9094": false, "INTERNAL": false, "REPLICA": false, "": false,
	} {
		if got := internalListener.MatchString(name); got != want {
			t.Errorf("%q: internal %v, want %v", name, got, want)
		}
	}
}

// TestTableIsComplete keeps a new dialect from forgetting a signal silently.
func TestTableIsComplete(t *testing.T) {
	mean := []diagnose.Signal{diagnose.SignalFetchBytesMean}
	missing := map[string][]diagnose.Signal{
		"jmx-none": nil, "jmx-examples": mean, "strimzi": mean, "confluent": mean, "grafana": mean, "strimzi-metrics-reporter": mean,
		"bitnami": {diagnose.SignalConnectionsMade, diagnose.SignalFetchBytesMean, diagnose.SignalFetchBytesP50, diagnose.SignalFetchBytesP99, diagnose.SignalHeartbeatP99},
	}
	for _, d := range dialects() {
		var lacks []diagnose.Signal
		for _, s := range diagnose.BrokerSignals() {
			if len(d.signals[s]) == 0 {
				lacks = append(lacks, s)
			}
			if d.hint(s) == "" {
				t.Errorf("%s: no hint for %s", d.name, s)
			}
		}
		if !slices.Equal(lacks, missing[d.name]) {
			t.Errorf("%s lacks %v, want %v", d.name, lacks, missing[d.name])
		}
		batches, err := plan(d, nil)
		if err != nil || len(batches) > 4 {
			t.Errorf("%s: %d batches, error %v; want at most 4", d.name, len(batches), err)
		}
		for _, b := range batches {
			for _, l := range b.lookups {
				for _, m := range append(slices.Clone(l.sel.match), l.fetch.match...) {
					if m.Type != labels.MatchEqual && m.Type != labels.MatchRegexp {
						t.Errorf("%s %s: %s cannot be merged", d.name, l.signal, m)
					}
				}
			}
		}
	}
}

func TestClientsFromRecordedScrapes(t *testing.T) {
	for sample, lines := range expectations(t) {
		if !strings.HasPrefix(sample, "client-") && !strings.HasPrefix(sample, "micrometer-") {
			continue
		}
		st, at := recorded(t, sample, labels.Label{Name: "instance", Value: "app-1:9404"})
		p := prom(t, st, PrometheusConfig{})
		ids := []string{"lab-java-classic", "lab-java-consumer", "no-such-client"}
		r, clients := p.Clients(t.Context(), at, lookBack, ids)
		if !r.OK() || len(clients) != 1 || clients[0].Instance != "app-1:9404" || p.Stats().Requests != 2 {
			t.Fatalf("%s: %+v, %+v after %d queries", sample, r, clients, p.Stats().Requests)
		}
		for _, e := range lines {
			m := clients[0].Signals[e.signal]
			n, total := sum(m)
			switch {
			case e.absent:
				if m.Status != diagnose.StatusNotExported || !strings.Contains(m.Hint, "connect rules") {
					t.Errorf("%s %s: %+v", sample, e.signal, m)
				}
			case !m.OK() || n != e.series || total != e.sum || !strings.Contains(m.Source, clients[0].ClientID):
				t.Errorf("%s %s: %d series, sum %v, %+v; want %d, %v", sample, e.signal, n, total, m.Reading, e.series, e.sum)
			}
		}
	}
}
