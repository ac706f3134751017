package main

import (
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

// newAsker makes the bot.Asker over Alertmanager's API.
func newAsker(c alertmanagerConfig) (*alertmanager.Client, error) {
	client, err := promconfig.NewClientFromConfig(c.HTTP.HTTPClientConfig, "alertmanager")
	if err != nil {
		return nil, fmt.Errorf("set up Alertmanager: %w", err)
	}
	return alertmanager.NewClient(c.URL, client), nil
}
