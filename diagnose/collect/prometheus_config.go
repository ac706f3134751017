package collect

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// DefaultMaxBodyBytes bounds one answer of Prometheus. A cluster of 100 brokers
// scraped every 15 s gives about 10 MB for 20 minutes.
const DefaultMaxBodyBytes = 64 << 20

// PrometheusConfig says where a cluster's metrics are and how to tell its
// series from those of other clusters.
type PrometheusConfig struct {
	// URL is the Prometheus API's base, with path prefix if there is one.
	URL string `yaml:"url"`
	// ExternalURL is the base for links that people open; empty = no links.
	ExternalURL string `yaml:"external_url"`
	// HTTP is Prometheus' standard client block: basic_auth, authorization,
	// oauth2, tls_config, proxy, http_headers, each secret also as a file.
	HTTP HTTPClient `yaml:"http_client"`
	// Selector holds the PromQL matchers of this cluster's series, for example
	// {cluster="kafka-prod"}. Mandatory as soon as two clusters answer.
	Selector string `yaml:"selector"`
	// BrokerID says how to read the broker id off a series; optional.
	BrokerID BrokerIDConfig `yaml:"broker_id"`
	// Dialect names the exporter configuration, for a cluster where it is not
	// recognised or where two are in use; empty = found by itself. The names are
	// those that a verdict gives: jmx-none, jmx-examples, strimzi, confluent, …
	Dialect string `yaml:"dialect"`
	// Overrides replaces the dialect's selector of a signal by another one,
	// without the cluster's matchers, which are added. Each override costs one
	// query more.
	Overrides map[diagnose.Signal]string `yaml:"overrides"`
	// MaxBodyBytes bounds one answer, in bytes; 0 = DefaultMaxBodyBytes.
	MaxBodyBytes int64 `yaml:"max_body_bytes"`
	// ClientSelector holds matchers for consumers' own metrics, which usually
	// carry other labels than the brokers'; empty = none.
	ClientSelector string `yaml:"client_selector"`
	// GroupSelector holds matchers for group exporters (kminion, kafka_exporter);
	// empty = those of Selector.
	GroupSelector string `yaml:"group_selector"`
	// PodSelector holds matchers for kube-state-metrics and cAdvisor; needed
	// where one Prometheus sees several Kubernetes clusters; empty = none.
	PodSelector string `yaml:"pod_selector"`
}

// BrokerIDConfig reads broker ids off a label that this site uses for it.
type BrokerIDConfig struct {
	// Label is the label to look at, for example "instance".
	Label string `yaml:"label"`
	// Pattern is a regular expression whose first group is the broker id, for
	// example `^kafka-(\d+)\.`; empty = the whole label is the id.
	Pattern string `yaml:"pattern"`
}

// HTTPClient is [config.HTTPClientConfig] with a decoder that goccy/go-yaml can
// use in strict mode: left to itself, goccy stops at an inlined map inside that
// type.
type HTTPClient struct {
	config.HTTPClientConfig
}

// UnmarshalYAML reads the block with the decoder it was written for. Unknown
// fields are errors; their line numbers count from the block's first line.
func (h *HTTPClient) UnmarshalYAML(b []byte) error {
	c, err := config.LoadHTTPConfig(string(b))
	if err != nil {
		return fmt.Errorf("http_client: %w", err)
	}
	h.HTTPClientConfig = *c
	return nil
}

// SetDirectory makes relative file names in the HTTP block relative to dir, the
// configuration file's folder.
func (c *PrometheusConfig) SetDirectory(dir string) { c.HTTP.SetDirectory(dir) }

// settings is a checked PrometheusConfig.
type settings struct {
	base, external  *url.URL
	cluster, client selector
	groups, pods    selector
	idLabel         string
	idPattern       *regexp.Regexp
	overrides       map[diagnose.Signal]selector
	maxBody         int64
	dialect         *dialect // nil = to be found
	http            config.HTTPClientConfig
}

// check reports everything that is wrong with the configuration, each error
// with the key it belongs to.
func (c PrometheusConfig) check() (settings, error) {
	s := settings{maxBody: c.MaxBodyBytes, http: c.HTTP.HTTPClientConfig, idLabel: c.BrokerID.Label}
	var errs [10]error
	s.base, errs[0] = checkURL("url", c.URL, true)
	s.external, errs[1] = checkURL("external_url", c.ExternalURL, false)
	s.cluster, errs[2] = checkMatchers("selector", c.Selector)
	s.client, errs[3] = checkMatchers("client_selector", c.ClientSelector)
	s.idPattern, errs[4] = c.BrokerID.check()
	s.overrides, errs[5] = checkOverrides(c.Overrides)
	if c.MaxBodyBytes < 0 {
		errs[6] = errors.New("max_body_bytes: must not be negative")
	}
	s.dialect, errs[7] = checkDialect(c.Dialect)
	s.groups, errs[8] = checkMatchers("group_selector", c.GroupSelector)
	s.pods, errs[9] = checkMatchers("pod_selector", c.PodSelector)
	if s.maxBody == 0 {
		s.maxBody = DefaultMaxBodyBytes
	}
	if err := errors.Join(errs[:]...); err != nil {
		return settings{}, err
	}
	if s.http.String() == (config.HTTPClientConfig{}).String() {
		s.http = config.DefaultHTTPClientConfig
	}
	return s, nil
}

func checkDialect(name string) (*dialect, error) {
	if name == "" {
		return nil, nil
	}
	var names []string
	for _, d := range dialects() {
		if d.name == name {
			return &d, nil
		}
		names = append(names, d.name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("dialect: there is no %q; leave it out to have it found, or write one of %s", clip(name), strings.Join(names, ", "))
}

func checkURL(key, text string, mandatory bool) (*url.URL, error) {
	if text == "" {
		if mandatory {
			return nil, fmt.Errorf("%s: missing; give the address of the Prometheus API, for example http://prometheus:9090", key)
		}
		return nil, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: not a URL", key) // err repeats the text, which may hold a password
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%s: must start with http:// or https:// and name a host", key)
	case u.User != nil:
		return nil, fmt.Errorf("%s: must not contain a user or password; use http_client.basic_auth", key)
	}
	return u, nil
}

func checkMatchers(key, text string) (selector, error) {
	s, err := parseSelector(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w; write matchers in braces, for example {cluster=\"kafka-prod\"}", key, err)
	}
	if s.name() != nil {
		return s, fmt.Errorf("%s: must not name a metric; write only matchers, for example {cluster=\"kafka-prod\"}", key)
	}
	return s, nil
}

func (b BrokerIDConfig) check() (*regexp.Regexp, error) {
	if b.Pattern == "" {
		return nil, nil
	}
	if b.Label == "" {
		return nil, errors.New("broker_id.label: missing; broker_id.pattern needs the label it is applied to, for example instance")
	}
	re, err := regexp.Compile(b.Pattern)
	if err != nil {
		return nil, fmt.Errorf("broker_id.pattern: %w", err)
	}
	if re.NumSubexp() < 1 {
		return nil, errors.New(`broker_id.pattern: needs a group around the id, as in ^kafka-(\d+)`)
	}
	return re, nil
}

func checkOverrides(in map[diagnose.Signal]string) (map[diagnose.Signal]selector, error) {
	out := map[diagnose.Signal]selector{}
	var errs []error
	for _, sig := range sortedSignals(in) {
		s, err := parseSelector(in[sig])
		switch n := s.name(); {
		case err != nil:
			errs = append(errs, fmt.Errorf("overrides.%s: %w", sig, err))
		case !slices.Contains(diagnose.BrokerSignals(), sig):
			errs = append(errs, fmt.Errorf("overrides.%s: no such broker signal", sig))
		case n == nil || n.Type != labels.MatchEqual:
			errs = append(errs, fmt.Errorf("overrides.%s: must name one metric, for example kafka_server_replicamanager_leadercount", sig))
		default:
			out[sig] = s
		}
	}
	return out, errors.Join(errs...)
}

func sortedSignals[V any](m map[diagnose.Signal]V) []diagnose.Signal {
	out := make([]diagnose.Signal, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}
