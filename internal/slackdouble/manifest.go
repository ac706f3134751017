package slackdouble

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
)

// app is what the manifest grants.
type app struct {
	scopes   []string
	commands []string
	events   []string
	socket   bool
	clicks   bool
}

// defaultApp is what the bot needs, for a double without a manifest.
func defaultApp() app {
	return app{
		scopes: []string{
			"app_mentions:read", "channels:history", "channels:join", "chat:write", "commands", "groups:history",
		},
		commands: []string{"/kafka-diagnose"},
		events:   []string{"app_mention"},
		socket:   true, clicks: true,
	}
}

// manifest is the part of an app manifest that the double heeds.
type manifest struct {
	Features struct {
		Commands []struct {
			Command string `yaml:"command"`
		} `yaml:"slash_commands"`
	} `yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `yaml:"bot"`
		} `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Socket        bool `yaml:"socket_mode_enabled"`
		Interactivity struct {
			Enabled bool `yaml:"is_enabled"`
		} `yaml:"interactivity"`
		Events struct {
			Bot []string `yaml:"bot_events"`
		} `yaml:"event_subscriptions"`
	} `yaml:"settings"`
}

func parseApp(data []byte) (app, error) {
	if len(data) == 0 {
		return defaultApp(), nil
	}
	var m manifest
	if err := yaml.Unmarshal(data, &m); err != nil {
		return app{}, fmt.Errorf("slackdouble: reading the manifest: %w", err)
	}
	a := app{
		scopes: m.OAuth.Scopes.Bot, events: m.Settings.Events.Bot,
		socket: m.Settings.Socket, clicks: m.Settings.Interactivity.Enabled,
	}
	for _, c := range m.Features.Commands {
		a.commands = append(a.commands, c.Command)
	}
	return a, nil
}

func (a app) has(scope string) bool { return scope == "" || slices.Contains(a.scopes, scope) }
