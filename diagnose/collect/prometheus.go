package collect

import (
	"context"
	"log/slog"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// PrometheusResult is what Prometheus says about the brokers of one cluster.
type PrometheusResult struct {
	// Source says which dialect was read, and how well.
	Source diagnose.MetricsSource
	// Brokers holds one entry for each known broker, sorted by id, with ID,
	// Identity, Signals and Software filled.
	Brokers []diagnose.Broker
	// Connections is the number of client connections by broker id. A broker
	// that does not export it is not in the map.
	Connections map[int32]int
}

// Prometheus reads broker and client series of one cluster through the
// Prometheus HTTP API. It is safe for concurrent use.
type Prometheus struct{}

// NewPrometheus checks the configuration and prepares the client. It does not
// connect.
func NewPrometheus(cfg PrometheusConfig, log *slog.Logger) (*Prometheus, error) {
	return &Prometheus{}, nil
}

// Brokers reads all broker signals as raw samples ending at `at`, reaching back
// rng, and matches the series to the brokers the admin API knows.
func (p *Prometheus) Brokers(ctx context.Context, at time.Time, rng time.Duration, known []BrokerInfo) PrometheusResult {
	return PrometheusResult{}
}

// Clients reads client signals for the given client ids.
func (p *Prometheus) Clients(ctx context.Context, at time.Time, rng time.Duration, clientIDs []string) (diagnose.Reading, []diagnose.Client) {
	return diagnose.Reading{}, nil
}
