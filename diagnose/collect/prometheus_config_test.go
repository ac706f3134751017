package collect

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

func TestConfigErrorsNameTheKey(t *testing.T) {
	for want, cfg := range map[string]PrometheusConfig{
		"url: missing":                         {},
		"url: must start with http":            {URL: "prometheus:9090"},
		"url: not a URL":                       {URL: "http://[::1"},
		"url: must not contain a user":         {URL: "http://me:secret@prom:9090"},
		"external_url: must start with":        {URL: "http://p", ExternalURL: "p"},
		"selector: read PromQL":                {URL: "http://p", Selector: `cluster=prod`},
		"selector: must not name a metric":     {URL: "http://p", Selector: `up{cluster="prod"}`},
		"client_selector: read PromQL":         {URL: "http://p", ClientSelector: `{`},
		"broker_id.pattern: needs a group":     {URL: "http://p", BrokerID: BrokerIDConfig{Label: "instance", Pattern: `b\d`}},
		"broker_id.pattern: error parsing":     {URL: "http://p", BrokerID: BrokerIDConfig{Label: "instance", Pattern: `(`}},
		"broker_id.label: missing":             {URL: "http://p", BrokerID: BrokerIDConfig{Pattern: `(\d)`}},
		"overrides.sesions: no such":           {URL: "http://p", Overrides: map[diagnose.Signal]string{"sesions": "x"}},
		"overrides.sessions: must name one":    {URL: "http://p", Overrides: map[diagnose.Signal]string{"sessions": `{a="b"}`}},
		"overrides.sessions: read PromQL":      {URL: "http://p", Overrides: map[diagnose.Signal]string{"sessions": `sum(x)`}},
		`dialect: there is no "jmx"; leave it`: {URL: "http://p", Dialect: "jmx"},
		"max_body_bytes: must not be negative": {URL: "http://p", MaxBodyBytes: -1},
	} {
		_, err := NewPrometheus(cfg, discard())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}
}

func TestConfigReportsAllFaults(t *testing.T) {
	_, err := NewPrometheus(PrometheusConfig{Selector: "{", BrokerID: BrokerIDConfig{Pattern: "x"}}, discard())
	for _, want := range []string{"url:", "selector:", "broker_id.label:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// The standard HTTP block, decoded by the strict YAML decoder the configuration
// uses, with a secret in a file relative to the configuration.
func TestConfigFromYAML(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
url: http://set-below
selector: '{cluster="prod"}'
http_client:
  authorization:
    credentials_file: token
  http_headers:
    X-Scope-OrgID: {values: [kafka]}
overrides:
  sessions: my_sessions
broker_id: {label: instance, pattern: '^b(\d+)$'}
`
	var cfg PrometheusConfig
	if err := yaml.UnmarshalWithOptions([]byte(text), &cfg, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	cfg.SetDirectory(dir)
	srv := promstore.NewServer(healthy(t).st, func() time.Time { return lookAt })
	var got http.Header
	p := promAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got = r.Header.Clone(); got.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		srv.ServeHTTP(w, r)
	}), cfg)
	if r := p.Brokers(t.Context(), lookAt, lookBack, brokers(2)).Source; r.Status != diagnose.StatusEmpty {
		t.Errorf("%+v, want an answer without series of cluster prod", r.Reading)
	}
	if got.Get("X-Scope-OrgID") != "kafka" {
		t.Errorf("headers %v", got)
	}
}

func TestConfigRefusesUnknownKeys(t *testing.T) {
	for _, text := range []string{"url: http://p\nselektor: x\n", "url: http://p\nhttp_client:\n  basic_aut: {}\n"} {
		var cfg PrometheusConfig
		err := yaml.UnmarshalWithOptions([]byte(text), &cfg, yaml.Strict())
		if err == nil || !strings.Contains(err.Error(), "selektor") && !strings.Contains(err.Error(), "basic_aut") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMissingSecretFileIsReported(t *testing.T) {
	var cfg PrometheusConfig
	if err := yaml.Unmarshal([]byte("http_client: {authorization: {credentials_file: /nonexistent/token}}"), &cfg); err != nil {
		t.Fatal(err)
	}
	p := promAt(t, http.NotFoundHandler(), cfg)
	r := p.Brokers(t.Context(), lookAt, lookBack, brokers(1)).Source
	if r.Usable() || r.Error == "" || strings.Contains(r.Error, "/nonexistent") {
		t.Errorf("%+v", r.Reading)
	}
}
