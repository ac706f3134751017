package collect

import (
	"log/slog"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose/collect/internal/readkafka"
)

// KafkaConfig says how to reach one Kafka cluster.
type KafkaConfig = readkafka.Config

// TLSConfig turns TLS on for Kafka.
type TLSConfig = readkafka.TLSConfig

// SASLConfig turns SASL on for Kafka.
type SASLConfig = readkafka.SASLConfig

// OAuthConfig feeds SASL OAUTHBEARER.
type OAuthConfig = readkafka.OAuthConfig

// Secret is a text that prints as "***" however it is formatted.
type Secret = readkafka.Secret

// KafkaOptions replace the network or count requests; for tests and the demo.
type KafkaOptions = readkafka.Options

// Kafka reads one cluster. It has no way to write: see package readkafka.
type Kafka struct {
	c       *readkafka.Client
	version string
	flavour string
	// seeds are the bootstrap servers, host:port.
	seeds []string
}

// NewKafka checks the configuration and prepares the client; it does not
// connect. Close it when the watcher and the runner have ended.
func NewKafka(cfg KafkaConfig, log *slog.Logger) (*Kafka, error) {
	return NewKafkaWith(cfg, log, KafkaOptions{})
}

// NewKafkaWith is [NewKafka] with options.
func NewKafkaWith(cfg KafkaConfig, log *slog.Logger, o KafkaOptions) (*Kafka, error) {
	c, err := readkafka.New(cfg, log, o)
	if err != nil {
		return nil, err
	}
	return &Kafka{c: c, version: cfg.Version, flavour: strings.ToLower(cfg.Flavour), seeds: cfg.BootstrapServers}, nil
}

// Close ends all connections.
func (k *Kafka) Close() { k.c.Close() }
