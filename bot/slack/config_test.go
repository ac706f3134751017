package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

const token1 = "xoxb-1234-very-secret"

func TestSecretIsNeverShown(t *testing.T) {
	cfg := Config{BotToken: token1, AppToken: "xapp-very-secret"}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("config", "config", cfg, "token", cfg.BotToken)
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{logged.String(), string(asJSON), cfg.BotToken.String(), errors.New(cfg.AppToken.String()).Error()}
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, cfg.BotToken), fmt.Sprintf(verb, &cfg), fmt.Sprintf(verb, cfg))
	}
	for _, s := range shown {
		if strings.Contains(s, "secret") || strings.Contains(s, fmt.Sprintf("%x", "secret")) {
			t.Errorf("shows the token: %s", s)
		}
	}
}

func TestResolve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token1+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(k string) string { return map[string]string{EnvBotToken: " xoxb-env ", EnvAppToken: "xapp-env"}[k] }
	none := func(string) string { return "" }
	for name, tc := range map[string]struct {
		cfg    Config
		lookup func(string) string
		want   Secret
		err    string
	}{
		"given":        {Config{BotToken: token1}, env, token1, ""},
		"file":         {Config{BotTokenFile: file}, env, token1, ""},
		"environment":  {Config{}, env, "xoxb-env", ""},
		"nothing":      {Config{}, none, "", ""},
		"both":         {Config{BotToken: token1, BotTokenFile: file}, none, "", "bot_token and bot_token_file"},
		"missing file": {Config{BotTokenFile: file + "x"}, none, "", "bot_token_file"},
	} {
		got, err := tc.cfg.Resolve(tc.lookup)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "very-secret") {
				t.Errorf("%s: error %v, want %q", name, err, tc.err)
			}
			continue
		}
		if err != nil || got.BotToken != tc.want || got.Connections != 2 || got.Timeout == 0 {
			t.Errorf("%s: %q, %v", name, got.BotToken.Reveal(), err)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Config{BotToken: token1, AppToken: "xapp-1", DefaultChannel: "C0123ABCD"}
	if err := good.Validate(); err != nil {
		t.Errorf("a good config: %v", err)
	}
	for want, cfg := range map[string]Config{
		"no bot token":                      {},
		"bot_token does not start":          {BotToken: "xapp-very-secret"},
		"app_token does not start":          {BotToken: token1, AppToken: "xoxb-very-secret"},
		`"#kafka" is not a channel id`:      {BotToken: token1, DefaultChannel: "#kafka"},
		"connections is 9":                  {BotToken: token1, Connections: 9},
		`default_channel: "general" is not`: {BotToken: token1, DefaultChannel: "general"},
	} {
		err := cfg.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestMetricsRegister(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	m.call(methodPost, &RetryError{Ambiguous: true})
	m.call(methodPost, fmt.Errorf("x: %w", ErrGone))
	m.call(methodPost, nil)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
		if f.GetName() == "kafka_oncall_slack_calls_total" && len(f.GetMetric()) != 3 {
			t.Errorf("calls: %v", f)
		}
	}
	if len(names) < 3 {
		t.Errorf("families: %v", names)
	}
}
