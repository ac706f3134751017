package collect

import (
	"github.com/prometheus/common/config"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

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
	// Overrides replaces the dialect's selector of a signal by another one.
	Overrides map[diagnose.Signal]string `yaml:"overrides"`
	// MaxBodyBytes bounds one answer, in bytes; 0 = 64 MiB.
	MaxBodyBytes int64 `yaml:"max_body_bytes"`
	// ClientSelector holds matchers for consumers' own metrics, which usually
	// carry other labels than the brokers'; empty = none.
	ClientSelector string `yaml:"client_selector"`
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
// use in strict mode.
type HTTPClient struct {
	config.HTTPClientConfig
}
