package readkafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Config says how to reach one Kafka cluster. Secrets come from files or
// environment variables, never from the configuration itself.
type Config struct {
	// BootstrapServers are host:port of any brokers.
	BootstrapServers []string `yaml:"bootstrap_servers"`
	// ClientID is shown in the brokers' request logs and quotas; default
	// "kafka-oncall".
	ClientID string     `yaml:"client_id"`
	TLS      TLSConfig  `yaml:"tls"`
	SASL     SASLConfig `yaml:"sasl"`
	// DialTimeout bounds one connection attempt; default 2 s.
	DialTimeout time.Duration `yaml:"dial_timeout"`
	// RequestTimeout bounds one request with its retry; default 4 s.
	RequestTimeout time.Duration `yaml:"request_timeout"`
	// Version overrides the release guessed from ApiVersions, for example
	// "3.9". For managed services whose answers mislead.
	Version string `yaml:"version"`
	// Flavour names a Kafka-like system ("redpanda") to which the fetch
	// session classes do not apply; empty = told from the cluster id and the hosts,
	// "apache" where they say nothing.
	Flavour string `yaml:"flavour"`
}

// TLSConfig turns TLS on. The files are PEM.
type TLSConfig struct {
	Enabled bool `yaml:"enabled"`
	// CAFile replaces the system's roots.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the client certificate, for mutual TLS.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName overrides the name that certificates are checked for.
	ServerName string `yaml:"server_name"`
	// InsecureSkipVerify accepts any certificate. For a first try only.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify"`
}

// SASLConfig turns SASL on.
type SASLConfig struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; empty =
	// no SASL.
	Mechanism string `yaml:"mechanism"`
	Username  string `yaml:"username"`
	// Password is for programs; configuration files use PasswordFile or
	// PasswordEnv.
	Password     Secret `yaml:"-"`
	PasswordFile string `yaml:"password_file"`
	// PasswordEnv names an environment variable.
	PasswordEnv string      `yaml:"password_env"`
	OAuth       OAuthConfig `yaml:"oauth"`
}

// OAuthConfig feeds OAUTHBEARER: either a token that somebody else keeps fresh
// in a file, or the client-credentials grant at a token endpoint.
type OAuthConfig struct {
	TokenFile string `yaml:"token_file"`
	// TokenURL is the token endpoint, https.
	TokenURL string `yaml:"token_url"`
	// CAFile holds the roots for the token endpoint; empty = the system's.
	CAFile           string   `yaml:"ca_file"`
	ClientID         string   `yaml:"client_id"`
	ClientSecret     Secret   `yaml:"-"`
	ClientSecretFile string   `yaml:"client_secret_file"`
	ClientSecretEnv  string   `yaml:"client_secret_env"`
	Scopes           []string `yaml:"scopes"`
	// Extensions are SASL extensions, for example logicalCluster.
	Extensions map[string]string `yaml:"extensions"`
}

// The mechanisms.
const (
	mechPlain  = "PLAIN"
	mechScram2 = "SCRAM-SHA-256"
	mechScram5 = "SCRAM-SHA-512"
	mechOAuth  = "OAUTHBEARER"
)

// withDefaults fills what was left empty.
func (c Config) withDefaults() Config {
	if c.ClientID == "" {
		c.ClientID = "kafka-oncall"
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = 2 * time.Second
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = 4 * time.Second
	}
	c.SASL.Mechanism = strings.ToUpper(strings.TrimSpace(c.SASL.Mechanism))
	return c
}

// Validate reports every problem at once, each with the name of its field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if len(c.BootstrapServers) == 0 {
		errs = append(errs, errors.New("bootstrap_servers is empty: give at least one host:port"))
	}
	for i, s := range c.BootstrapServers {
		if err := checkHostPort(s); err != nil {
			errs = append(errs, fmt.Errorf("bootstrap_servers[%d]: %w", i, err))
		}
	}
	errs = append(errs, c.TLS.check()...)
	errs = append(errs, c.SASL.check()...)
	return errors.Join(errs...)
}

func checkHostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not host:port", s)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q: the port must be 1 to 65535", s)
	}
	return nil
}

func (t TLSConfig) check() []error {
	var errs []error
	if !t.Enabled && (t.CAFile != "" || t.CertFile != "" || t.KeyFile != "") {
		errs = append(errs, errors.New("tls: files are given but enabled is false"))
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		errs = append(errs, errors.New("tls: cert_file and key_file belong together"))
	}
	return errs
}

func (s SASLConfig) check() []error {
	switch s.Mechanism {
	case "":
		return nil
	case mechPlain, mechScram2, mechScram5:
		var errs []error
		if s.Username == "" {
			errs = append(errs, errors.New("sasl: username is missing"))
		}
		if err := s.password().check(); err != nil {
			errs = append(errs, fmt.Errorf("sasl: %w", err))
		}
		return errs
	case mechOAuth:
		return s.OAuth.check()
	}
	return []error{fmt.Errorf("sasl: mechanism %q is not known: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", s.Mechanism)}
}

func (s SASLConfig) password() source {
	return source{field: "password", file: s.PasswordFile, env: s.PasswordEnv, given: s.Password}
}

func (o OAuthConfig) check() []error {
	if (o.TokenFile == "") == (o.TokenURL == "") {
		return []error{errors.New("sasl.oauth: give either token_file or token_url")}
	}
	if o.TokenFile != "" {
		return nil
	}
	var errs []error
	if !strings.HasPrefix(o.TokenURL, "https://") && !strings.HasPrefix(o.TokenURL, "http://127.0.0.1") && !strings.HasPrefix(o.TokenURL, "http://localhost") {
		errs = append(errs, errors.New("sasl.oauth: token_url must be https"))
	}
	if o.ClientID == "" {
		errs = append(errs, errors.New("sasl.oauth: client_id is missing"))
	}
	if err := o.secret().check(); err != nil {
		errs = append(errs, fmt.Errorf("sasl.oauth: %w", err))
	}
	return errs
}

func (o OAuthConfig) secret() source {
	return source{field: "client_secret", file: o.ClientSecretFile, env: o.ClientSecretEnv, given: o.ClientSecret}
}

// build loads the files.
func (t TLSConfig) build() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	if t.CAFile != "" {
		pool, err := loadRoots(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls: ca_file: %w", err)
		}
		cfg.RootCAs = pool
	}
	if t.CertFile != "" {
		// Loaded at each handshake, so that a renewed certificate is picked up.
		load := func() (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			return &cert, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("tls: cert_file and key_file: %w", err)
		}
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return cfg, nil
}

func loadRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no PEM certificate")
	}
	return pool, nil
}
