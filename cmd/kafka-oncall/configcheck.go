package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// configCheck collects what is wrong with a configuration that decoded well.
type configCheck struct {
	doc      *strictyaml.Document
	problems []playbooks.Problem
}

func (k *configCheck) add(field, format string, args ...any) {
	k.problems = append(k.problems, k.doc.At("$."+field, fmt.Sprintf(format, args...)))
}

// errs takes a component's joined errors, each "key: what is wrong", and finds
// the key's place below field.
func (k *configCheck) errs(field string, err error) {
	if err == nil {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		line = strings.TrimSpace(line)
		key, text, ok := strings.Cut(line, ": ")
		if !ok || !configKey.MatchString(key) {
			k.add(field, "%s", line)
			continue
		}
		k.add(strings.TrimPrefix(field+"."+key, "."), "%s", text)
	}
}

var (
	configKey   = regexp.MustCompile(`^[a-z_]+(\[\d+\])?(\.[a-z_]+(\[\d+\])?)*$`)
	clusterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)
)

// checkConfig reports what every command needs to be right.
func (a *app) checkConfig(c config) []playbooks.Problem {
	k := &configCheck{doc: c.doc}
	if len(c.Clusters) == 0 {
		k.add("clusters", "is empty: name at least one cluster")
	}
	names, urls := map[string]bool{}, map[string]int{}
	for i, cl := range c.Clusters {
		k.cluster(fmt.Sprintf("clusters[%d]", i), cl)
		if names[cl.Name] {
			k.add(fmt.Sprintf("clusters[%d].name", i), "the name %q stands here twice", cl.Name)
		}
		names[cl.Name] = true
		urls[cl.Prometheus.URL]++
	}
	for i, cl := range c.Clusters {
		if cl.Prometheus.URL != "" && urls[cl.Prometheus.URL] > 1 && cl.Prometheus.Selector == "" {
			k.add(fmt.Sprintf("clusters[%d].prometheus", i),
				"selector is missing: several clusters share this Prometheus, for example selector: '{cluster=%q}'", cl.Name)
		}
	}
	k.limits(c.Limits)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		k.add("log.level", "%q is not debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"json", "text"}, c.Log.Format) {
		k.add("log.format", "%q is not json or text", c.Log.Format)
	}
	k.playbooks(c.PlaybooksDir)
	strictyaml.Sort(k.problems)
	return k.problems
}

func (k *configCheck) cluster(field string, c clusterConfig) {
	if !clusterName.MatchString(c.Name) {
		k.add(field+".name", "wants 1 to 100 letters, digits and . _ : / -, the name that alerts use for the cluster")
	}
	if c.Window < time.Minute || c.Window > 24*time.Hour {
		k.add(field+".window", "must be 1m to 24h; fetch sessions are always judged over at least 6m, three waves of eviction")
	}
	if c.Budget < time.Second || c.Budget > time.Minute {
		k.add(field+".budget", "must be 1s to 1m")
	}
	before := len(k.problems)
	k.errs(field+".kafka", c.Kafka.Validate())
	if len(k.problems) == before {
		k.kafka(field+".kafka", c.Kafka)
	}
	if c.Loki.URL != "" || len(c.Loki.Queries) > 0 {
		_, err := collect.NewLoki(c.Loki)
		k.errs(field+".loki", err)
	}
	if c.Prometheus.URL == "" {
		k.add(field+".prometheus", "url is missing: without metrics no verdict about fetch sessions is possible")
		return
	}
	_, err := collect.NewPrometheus(c.Prometheus, slog.New(slog.DiscardHandler))
	k.errs(field+".prometheus", err)
}

// kafka builds the client without connecting, which reads secrets and
// certificates.
func (k *configCheck) kafka(field string, c collect.KafkaConfig) {
	client, err := collect.NewKafka(c, slog.New(slog.DiscardHandler))
	if err != nil {
		k.errs(field, err)
		return
	}
	client.Close()
}

func (k *configCheck) limits(l diagnose.Limits) {
	for _, x := range []struct {
		key   string
		share float64
	}{{"full_share", l.FullShare}, {"demand_share", l.DemandShare}, {"near_share", l.NearShare}, {"live_ratio", l.LiveRatio}} {
		if x.share <= 0 || x.share > 1 {
			k.add("limits."+x.key, "must be above 0 and at most 1")
		}
	}
	for _, x := range []struct {
		key   string
		value int64
	}{
		{"wave_seconds", int64(l.WaveSeconds)}, {"restart_grace_seconds", int64(l.RestartGraceSeconds)},
		{"poll_gap_seconds", int64(l.PollGapSeconds)}, {"same_moment_ms", int64(l.SameMomentMS)},
		{"lag_growth_records", l.LagGrowthRecords}, {"storm_rebalances", int64(l.StormRebalances)},
		{"deploy_baseline_seconds", int64(l.DeployBaselineSeconds)},
	} {
		if x.value <= 0 {
			k.add("limits."+x.key, "must be above 0")
		}
	}
	if l.MinWindowSeconds < 3*l.WaveSeconds {
		k.add("limits.min_window_seconds", "must be at least three times wave_seconds, or a window can fall into a silence")
	}
}

// playbooks lints the overlay; its problems keep their own file and line.
func (k *configCheck) playbooks(dir string) {
	if dir == "" {
		return
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		k.add("playbooks_dir", "is not a folder that can be read")
		return
	}
	k.problems = append(k.problems, lintPlaybooks(dir)...)
}

// checkServe reports what only the server needs: Slack, the webhook, the store.
func (a *app) checkServe(c config) []playbooks.Problem {
	k := &configCheck{doc: c.doc}
	if _, port, err := net.SplitHostPort(c.Server.Listen); err != nil || port == "" {
		k.add("listen", "%q is not an address such as :8080", c.Server.Listen)
	}
	k.errs("", c.Server.Validate())
	if _, err := c.Server.Labels.Compile(nil); err != nil {
		k.add("labels.broker_pod", "is not a regular expression: %v", err)
	}
	k.channels(c)
	if u, err := url.Parse(c.ExternalURL); c.ExternalURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		k.add("external_url", "must start with http:// or https:// and name a host")
	}
	for i, f := range c.Webhook.BearerTokenFiles {
		if b, err := readBounded(f, maxTokenFile); err != nil {
			k.add(fmt.Sprintf("webhook.bearer_token_files[%d]", i), "cannot be read: %v", reason(err))
		} else if strings.TrimSpace(string(b)) == "" {
			k.add(fmt.Sprintf("webhook.bearer_token_files[%d]", i), "is empty")
		}
	}
	resolved, err := c.Slack.Resolve(a.getenv)
	if err == nil {
		err = resolved.Validate()
	}
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			k.errs("slack", errors.New(strings.TrimPrefix(line, "slack: ")))
		}
	}
	strictyaml.Sort(k.problems)
	return k.problems
}

// channels checks that every channel is named by its id.
func (k *configCheck) channels(c config) {
	check := func(field, channel string) {
		if channel == "" {
			return
		}
		if err := slack.CheckChannel(channel); err != nil {
			k.add(field, "%v", err)
		}
	}
	if c.Server.Channel != c.Slack.DefaultChannel {
		check("channel", c.Server.Channel)
	}
	check("fallback_channel", c.Server.Fallback)
	for i, r := range c.Server.Routes {
		check(fmt.Sprintf("routes[%d].channel", i), r.Channel)
	}
	for i, cl := range c.Clusters {
		for j, ch := range cl.Channels {
			check(fmt.Sprintf("clusters[%d].channels[%d]", i, j), ch)
		}
	}
}

func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
