package main

import (
	"context"
	"fmt"

	promconfig "github.com/prometheus/common/config"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
)

// alertmanagerConfig is where to ask when an alert is not heard of any more.
type alertmanagerConfig struct {
	// URL is the base, for example http://alertmanager:9093; empty = the end of
	// such an incident stays "unknown".
	URL  string             `yaml:"url"`
	HTTP collect.HTTPClient `yaml:"http_client"`
}

// asker implements bot.Asker over Alertmanager's API.
type asker struct{ client *alertmanager.Client }

func newAsker(c alertmanagerConfig) (*asker, error) {
	client, err := promconfig.NewClientFromConfig(c.HTTP.HTTPClientConfig, "alertmanager")
	if err != nil {
		return nil, fmt.Errorf("set up Alertmanager: %w", err)
	}
	return &asker{alertmanager.NewClient(c.URL, client)}, nil
}

// StillFiring implements bot.Asker. A silenced alert still fires.
func (a *asker) StillFiring(ctx context.Context, fingerprints []string) ([]string, bool, error) {
	active, err := a.client.Alerts(ctx)
	if err != nil {
		return nil, false, err
	}
	held := map[string]bool{}
	for _, x := range active {
		held[x.Fingerprint] = true
	}
	var firing []string
	for _, f := range fingerprints {
		if held[f] {
			firing = append(firing, f)
		}
	}
	return firing, true, nil
}
