package readkafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options are for tests and for the demo, never from a configuration file.
type Options struct {
	// Dialer replaces the network.
	Dialer func(ctx context.Context, network, host string) (net.Conn, error)
	// Hooks see every request, for counting.
	Hooks []kgo.Hook
}

// Client reads from one Kafka cluster. It is safe for concurrent use.
type Client struct {
	cl      *kgo.Client
	timeout time.Duration
	log     *slog.Logger

	mu       sync.Mutex
	versions map[int32]brokerVersions
}

// brokerVersions is what a broker said about its API versions, and when.
type brokerVersions struct {
	at  time.Time
	max map[int16]int16
}

// ErrTimeout is the cause when a broker did not answer in time.
var ErrTimeout = errors.New("no answer in time")

// ErrNotAllowed is returned for a request that is not a read.
var ErrNotAllowed = errors.New("not a read request")

// readOnly lists the API keys that may be sent. Fetch is among them, sessions
// and groups are not.
var readOnly = map[int16]bool{
	kmsg.Fetch.Int16():                 true,
	kmsg.ListOffsets.Int16():           true,
	kmsg.Metadata.Int16():              true,
	kmsg.OffsetFetch.Int16():           true,
	kmsg.DescribeGroups.Int16():        true,
	kmsg.ListGroups.Int16():            true,
	kmsg.ApiVersions.Int16():           true,
	kmsg.DescribeConfigs.Int16():       true,
	kmsg.DescribeQuorum.Int16():        true,
	kmsg.ConsumerGroupDescribe.Int16(): true,
}

// New checks the configuration and prepares the client. It does not connect.
func New(cfg Config, log *slog.Logger, o Options) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("kafka configuration: %w", err)
	}
	cfg = cfg.withDefaults()
	opts, err := options(cfg, log, o)
	if err != nil {
		return nil, fmt.Errorf("kafka configuration: %w", err)
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	return &Client{cl: cl, timeout: cfg.RequestTimeout, log: log, versions: map[int32]brokerVersions{}}, nil
}

func options(cfg Config, log *slog.Logger, o Options) ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(cfg.BootstrapServers...),
		kgo.ClientID(cfg.ClientID),
		kgo.SoftwareNameAndVersion(softwareName, "1"),
		kgo.DialTimeout(cfg.DialTimeout),
		// The connection is given up a little after the request, so that a
		// request that was too slow says so, and not "connection lost".
		kgo.RequestTimeoutOverhead(cfg.RequestTimeout + time.Second),
		kgo.RetryTimeout(cfg.RequestTimeout),
		// One retry covers a connection that the broker closed while idle;
		// anything more is the caller's decision at its next look.
		kgo.RequestRetries(1),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.DisableFetchSessions(),
		kgo.DisableClientMetrics(),
		kgo.WithLogger(kgoLog{log}),
		kgo.WithHooks(o.Hooks...),
	}
	switch {
	case o.Dialer != nil:
		opts = append(opts, kgo.Dialer(o.Dialer))
	case cfg.TLS.Enabled:
		var tc *tls.Config
		tc, err := cfg.TLS.build()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(tc))
	}
	if cfg.SASL.Mechanism != "" {
		m, err := cfg.SASL.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

// Close ends all connections.
func (c *Client) Close() { c.cl.Close() }

// softwareName is how brokers count the bot in their census of clients.
const softwareName = "kafka-oncall"

// anyBroker sends to whichever broker answers first.
const anyBroker int32 = -1

// send asks one broker, or any, within the request timeout.
func (c *Client) send(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if !readOnly[req.Key()] {
		return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), ErrNotAllowed)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	var resp kmsg.Response
	var err error
	if broker == anyBroker {
		resp, err = c.cl.Request(ctx, req)
	} else {
		resp, err = c.cl.Broker(int(broker)).RetriableRequest(ctx, req)
	}
	if err == nil {
		return resp, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)
}

// ask is send with the answer's type.
func ask[R kmsg.Response](ctx context.Context, c *Client, broker int32, req kmsg.Request) (R, error) {
	var zero R
	resp, err := c.send(ctx, broker, req)
	if err != nil {
		return zero, err
	}
	typed, ok := resp.(R)
	if !ok {
		return zero, fmt.Errorf("%s: unexpected answer %T", kmsg.NameForKey(req.Key()), resp)
	}
	return typed, nil
}

// kgoLog passes the client's warnings on at debug level: each of them also
// comes back as an error of a request.
type kgoLog struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (l kgoLog) Level() kgo.LogLevel {
	if l.log == nil {
		return kgo.LogLevelNone
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (l kgoLog) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	l.log.Debug("kafka client", append([]any{"detail", msg}, keyvals...)...)
}
