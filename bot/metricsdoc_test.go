package bot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

const metricsIntro = `# Metrics

What the bot says about itself on ` + "`/metrics`" + `. Written by a test from the registered
metrics (` + "`go test ./bot -run MetricsPage -update`" + `), so it cannot fall behind. Every label has
a closed set of values; nothing from outside is ever a label here.

Worth an alert: ` + "`kafka_oncall_outbox_oldest_seconds`" + ` above 60, any increase of
` + "`kafka_oncall_store_errors_total`" + ` or ` + "`kafka_oncall_fallback_total`" + `, and any
` + "`kafka_oncall_posts_total{result=\"dropped\"}`" + `.

| metric | type | labels | meaning |
|---|---|---|---|
`

// The page lists every metric that New registers.
func TestMetricsPage(t *testing.T) {
	r := newRig(t)
	r.open()
	defer r.stop()
	got := metricsIntro + strings.Join(rows(t, r.server.metrics), "")
	path := filepath.Join("..", "docs", "metrics.md")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/metrics.md is behind: run with -update")
	}
}

// rows describes the metrics in their order in the code. A vector without
// children is not gathered, so descriptions are read instead.
func rows(t *testing.T, m *metrics) []string {
	t.Helper()
	var out []string
	for _, c := range append(m.all(), m.s.gauges()...) {
		ch := make(chan *prometheus.Desc, 4)
		c.Describe(ch)
		d := (<-ch).String()
		out = append(out, fmt.Sprintf("| `%s` | %s | %s | %s |\n", between(d, `fqName: "`, `"`), typeOf(c), labelsOf(d), between(d, `help: "`, `", `)))
	}
	return out
}

func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	in, _, _ := strings.Cut(rest, to)
	return in
}

func labelsOf(desc string) string {
	names := strings.FieldsFunc(between(desc, "variableLabels: {", "}"), func(r rune) bool { return r == ',' || r == ' ' })
	for i, n := range names {
		names[i] = "`" + n + "`"
	}
	return strings.Join(names, ", ")
}

// typeOf asks for what only one type can do; gauge functions can do nothing.
func typeOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	case prometheus.Gauge, *prometheus.GaugeVec:
		return "gauge"
	case prometheus.Counter:
		return "counter"
	}
	return "gauge"
}
