package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// config is the configuration file. Each component owns its own part; this
// file only puts them side by side. docs/config.reference.yaml shows every key.
type config struct {
	// Server is the bot's part: its keys stand at the top of the file.
	Server bot.Config `yaml:",inline"`
	// ExternalURL is where people reach this server; empty = no links to it.
	ExternalURL string          `yaml:"external_url"`
	Log         logConfig       `yaml:"log"`
	Webhook     webhookConfig   `yaml:"webhook"`
	Slack       slack.Config    `yaml:"slack"`
	Clusters    []clusterConfig `yaml:"clusters"`
	// Alertmanager is asked whether an alert that is not heard of still fires.
	Alertmanager alertmanagerConfig `yaml:"alertmanager"`
	// Limits are the thresholds of the rules.
	Limits diagnose.Limits `yaml:"limits"`
	// PlaybooksDir holds playbooks that replace or add to the built-in ones.
	PlaybooksDir string `yaml:"playbooks_dir"`

	doc *strictyaml.Document
	// file is the configuration's own name, for problems and relative paths.
	file string
}

type logConfig struct {
	// Level is debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is json or text.
	Format string `yaml:"format"`
}

type webhookConfig struct {
	// BearerTokenFiles hold one token each; any of them may post, so that one
	// can replace another. Empty = no token is asked for.
	BearerTokenFiles []string `yaml:"bearer_token_files"`
}

// clusterConfig is one Kafka cluster.
type clusterConfig struct {
	// Name is the cluster's name in alerts and messages.
	Name       string                   `yaml:"name"`
	Kafka      collect.KafkaConfig      `yaml:"kafka"`
	Prometheus collect.PrometheusConfig `yaml:"prometheus"`
	// Loki is where logs are; without a url they are not read.
	Loki collect.LokiConfig `yaml:"loki"`
	// Window is the span to judge, at least 1 min; fetch sessions are always
	// judged over at least 6 min.
	Window time.Duration `yaml:"window"`
	// Budget is the time for one diagnosis.
	Budget time.Duration `yaml:"budget"`
	// Channels are where commands about this cluster are taken; empty =
	// everywhere. A command there means this cluster.
	Channels []string `yaml:"channels"`
	// Watch sets the pace of the background watcher of groups.
	Watch watchConfig `yaml:"watch"`
}

// watchConfig is the pace of a watcher; 0 = its defaults.
type watchConfig struct {
	// Interval is the time between two lists of all groups.
	Interval time.Duration `yaml:"interval"`
	// Full is the longest time after which a group is described anew.
	Full time.Duration `yaml:"full"`
	// tick is the real time of an interval where the clock is not the real one.
	tick time.Duration
}

// Environment variables that replace keys of the file.
const (
	envConfig       = "KAFKA_ONCALL_CONFIG"
	envListen       = "KAFKA_ONCALL_LISTEN"
	envExternalURL  = "KAFKA_ONCALL_EXTERNAL_URL"
	envStore        = "KAFKA_ONCALL_STORE"
	envChannel      = "KAFKA_ONCALL_CHANNEL"
	envPlaybooksDir = "KAFKA_ONCALL_PLAYBOOKS_DIR"
	envLogLevel     = "KAFKA_ONCALL_LOG_LEVEL"
)

func defaultConfig() config {
	return config{Server: bot.DefaultConfig(), Log: logConfig{Level: "info", Format: "json"}, Limits: diagnose.DefaultLimits()}
}

// maxConfigFile bounds the configuration file.
const maxConfigFile = 1 << 20

// loadConfig reads a configuration file. The error holds every problem found,
// one a line, as file:line:column: key: what is wrong.
func (a *app) loadConfig(file string) (config, error) {
	data, err := readBounded(file, maxConfigFile)
	if err != nil {
		return config{}, fmt.Errorf("read the configuration: %w", err)
	}
	c := defaultConfig()
	c.file = file
	doc, ps := strictyaml.Decode(file, data, &c)
	if len(ps) > 0 {
		return c, playbooks.Problems(ps)
	}
	c.doc = doc
	a.override(&c)
	c.relativeTo(filepath.Dir(file))
	for i := range c.Clusters {
		c.Clusters[i].withDefaults()
		c.Server.Clusters = append(c.Server.Clusters, bot.Cluster{Name: c.Clusters[i].Name, Channels: c.Clusters[i].Channels})
	}
	if c.Server.Channel == "" {
		c.Server.Channel = c.Slack.DefaultChannel
	}
	if ps := a.checkConfig(c); len(ps) > 0 {
		return c, playbooks.Problems(ps)
	}
	return c, nil
}

// override puts the environment over the file.
func (a *app) override(c *config) {
	for key, target := range map[string]*string{
		envListen: &c.Server.Listen, envExternalURL: &c.ExternalURL, envStore: &c.Server.Store,
		envChannel: &c.Server.Channel, envPlaybooksDir: &c.PlaybooksDir, envLogLevel: &c.Log.Level,
	} {
		if v := a.getenv(key); v != "" {
			*target = v
		}
	}
}

// relativeTo makes the file names in the configuration relative to its folder,
// so that it works from wherever the program was started.
func (c *config) relativeTo(dir string) {
	join := func(p *string) {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	for i := range c.Webhook.BearerTokenFiles {
		join(&c.Webhook.BearerTokenFiles[i])
	}
	join(&c.PlaybooksDir)
	c.Alertmanager.HTTP.SetDirectory(dir)
	join(&c.Slack.BotTokenFile)
	join(&c.Slack.AppTokenFile)
	for i := range c.Clusters {
		c.Clusters[i].Prometheus.HTTP.SetDirectory(dir)
		c.Clusters[i].Loki.HTTP.SetDirectory(dir)
		k := &c.Clusters[i].Kafka
		for _, p := range []*string{
			&k.TLS.CAFile, &k.TLS.CertFile, &k.TLS.KeyFile, &k.SASL.PasswordFile,
			&k.SASL.OAuth.TokenFile, &k.SASL.OAuth.CAFile, &k.SASL.OAuth.ClientSecretFile,
		} {
			join(p)
		}
	}
}

// webhookTokens reads the tokens that may post alerts.
func (c config) webhookTokens() ([]slack.Secret, error) {
	var tokens []slack.Secret
	for _, f := range c.Webhook.BearerTokenFiles {
		b, err := readBounded(f, maxTokenFile)
		if err != nil {
			return nil, fmt.Errorf("read a webhook token: %w", err)
		}
		t := strings.TrimSpace(string(b))
		if t == "" {
			return nil, fmt.Errorf("read a webhook token: %s is empty", f)
		}
		tokens = append(tokens, slack.Secret(t))
	}
	return tokens, nil
}

// maxTokenFile bounds a file that holds one token.
const maxTokenFile = 64 << 10

func (c *clusterConfig) withDefaults() {
	if c.Window == 0 {
		c.Window = 10 * time.Minute
	}
	if c.Budget == 0 {
		c.Budget = 10 * time.Second
	}
}

// cluster picks a cluster by name; the only one needs none.
func (c config) cluster(name string) (clusterConfig, error) {
	var names []string
	for _, x := range c.Clusters {
		if x.Name == name || name == "" && len(c.Clusters) == 1 {
			return x, nil
		}
		names = append(names, x.Name)
	}
	if name == "" {
		return clusterConfig{}, fmt.Errorf("name a cluster with --cluster: %s", strings.Join(names, ", "))
	}
	return clusterConfig{}, fmt.Errorf("there is no cluster %q in %s; it has: %s", name, c.file, strings.Join(names, ", "))
}

func readBounded(file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", file)
	case info.Size() > most:
		return nil, fmt.Errorf("%s is larger than %d kB", file, most>>10)
	}
	return os.ReadFile(file)
}

// isProblems tells a faulty file from one that cannot be read.
func isProblems(err error) bool {
	var ps playbooks.Problems
	return errors.As(err, &ps)
}
