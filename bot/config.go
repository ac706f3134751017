package bot

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
)

// Config is the server's part of the configuration file.
type Config struct {
	// Listen is the address of the HTTP server; "" = none (see Server.Handler).
	Listen string `yaml:"listen"`
	// Store is the database file.
	Store string `yaml:"store"`
	// Channel gets what no route names; Fallback gets what its channel refuses.
	Channel  string `yaml:"channel"`
	Fallback string `yaml:"fallback_channel"`
	// Routes are tried in order.
	Routes []Route `yaml:"routes"`
	// Clusters are the configured clusters, for commands; the caller sets them
	// from its own list of clusters.
	Clusters []Cluster `yaml:"-"`
	// WorkspaceURL makes links to messages, for example https://acme.slack.com.
	WorkspaceURL string `yaml:"workspace_url"`
	// Links rewrites the beginning of links in alerts: Prometheus often gives
	// itself a name that only its own host knows.
	Links map[string]string `yaml:"links"`
	// WebhookTokens are the bearer tokens that may post alerts; none = open.
	WebhookTokens []slack.Secret      `yaml:"-"`
	Bounds        alertmanager.Bounds `yaml:"bounds"`
	// Labels is the mapping from alert labels to subjects.
	Labels alertmanager.Mapping `yaml:"labels"`
	// Incident holds the times of an incident's life.
	Incident incident.Policy `yaml:"incident"`
	// FirstVerdict is how long a root waits for the first verdict.
	FirstVerdict time.Duration `yaml:"first_verdict"`
	// LookTimeout bounds one diagnosis; Parallel is how many run at once.
	LookTimeout time.Duration `yaml:"look_timeout"`
	Parallel    int           `yaml:"parallel"`
	// JoinCommands is how long the same command of the same person joins the
	// one under way.
	JoinCommands time.Duration `yaml:"join_commands"`
	// KeepEvidence is the number of evidence files kept per incident; Retention
	// is how long closed incidents are kept.
	KeepEvidence int           `yaml:"keep_evidence"`
	Retention    time.Duration `yaml:"retention"`
	// MaxInbox is how many deliveries may wait; beyond it the webhook answers 503.
	MaxInbox int64 `yaml:"max_inbox"`
	// MaxStoreBytes bounds the database file, 0 = the disk. When it is full the
	// webhook answers 503 until the clean-up has made room.
	MaxStoreBytes int64 `yaml:"max_store_bytes"`
	// LateAfter is the delay from which a message says that it is late.
	LateAfter time.Duration `yaml:"late_after"`
	// StopTimeout bounds a graceful stop.
	StopTimeout time.Duration `yaml:"stop_timeout"`
}

// Route sends alerts with these labels to a channel. Values are compared as
// they are; "cluster", "group" and "topic" also match what the mapping found.
type Route struct {
	Match   map[string]string `yaml:"match"`
	Channel string            `yaml:"channel"`
}

// Cluster is a cluster that commands may name. With channels given, commands
// about it are taken there only, and a command there means this cluster.
type Cluster struct {
	Name     string   `yaml:"name"`
	Channels []string `yaml:"channels"`
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Listen: ":8080", Store: "kafka-oncall.db",
		Bounds: alertmanager.DefaultBounds(), Labels: alertmanager.DefaultMapping(),
		Incident: incident.DefaultPolicy(), FirstVerdict: 5 * time.Second,
		LookTimeout: 15 * time.Second, Parallel: 4, JoinCommands: 15 * time.Second,
		KeepEvidence: 20, Retention: 30 * 24 * time.Hour, MaxInbox: 50_000,
		LateAfter: 30 * time.Second, StopTimeout: 10 * time.Second,
	}
}

// Validate says what is missing or cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Channel == "" {
		errs = append(errs, errors.New("channel: name the Slack channel for alerts"))
	}
	if c.Store == "" {
		errs = append(errs, errors.New("store: name the database file"))
	}
	if c.Parallel < 1 {
		errs = append(errs, fmt.Errorf("parallel: %d diagnoses at once is not enough, use at least 1", c.Parallel))
	}
	if c.LookTimeout <= 0 {
		errs = append(errs, errors.New("look_timeout: must be above 0, for example 15s"))
	}
	for i, r := range c.Routes {
		if r.Channel == "" || len(r.Match) == 0 {
			errs = append(errs, fmt.Errorf("routes[%d]: needs match and channel", i))
		}
	}
	for i, cl := range c.Clusters {
		if cl.Name == "" {
			errs = append(errs, fmt.Errorf("clusters[%d]: needs a name", i))
		}
	}
	if len(c.Incident.Looks) > 0 && !slices.IsSorted(c.Incident.Looks) {
		errs = append(errs, errors.New("incident.looks: must be in rising order"))
	}
	return errors.Join(errs...)
}

// channelFor picks the channel of an incident by its first alert.
func (c Config) channelFor(cluster string, a incident.Alert) string {
	found := map[string]string{"cluster": cluster}
	switch a.Subject.Kind {
	case incident.SubjectGroup:
		found["group"] = a.Subject.Name
	case incident.SubjectTopic:
		found["topic"] = a.Subject.Name
	case incident.SubjectBroker, incident.SubjectInstance, incident.SubjectCluster:
	}
	for _, r := range c.Routes {
		if r.matches(a.Labels, found) {
			return r.Channel
		}
	}
	return c.Channel
}

func (r Route) matches(labels, found map[string]string) bool {
	for k, want := range r.Match {
		if labels[k] != want && found[k] != want {
			return false
		}
	}
	return true
}

// newID makes an incident id: 50 random bits in ten lower-case characters.
func newID() string {
	var b [7]byte
	_, _ = rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))[:10]
}
