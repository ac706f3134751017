package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"
)

// Environment variables that hold the tokens when neither the config nor a
// file does.
const (
	EnvBotToken = "SLACK_BOT_TOKEN"
	EnvAppToken = "SLACK_APP_TOKEN"
)

// Config is what the package needs to know. The yaml names are part of the
// product's config file.
type Config struct {
	// BotToken (xoxb-…) posts, edits and reads. AppToken (xapp-…) opens the
	// socket; without it there are no commands and no buttons. They are for
	// programs; configuration files use the files or the environment.
	BotToken     Secret `yaml:"-"`
	BotTokenFile string `yaml:"bot_token_file"`
	AppToken     Secret `yaml:"-"`
	AppTokenFile string `yaml:"app_token_file"`
	// DefaultChannel is the id of the channel for alerts that no route names.
	DefaultChannel string `yaml:"default_channel"`
	// APIURL replaces https://slack.com/api/ in tests and in the demo.
	APIURL string `yaml:"api_url"`
	// Connections is how many sockets are held at once, 1 to 4, 2 if zero: when
	// one breaks without warning, the other still takes commands.
	Connections int `yaml:"connections"`
	// Timeout bounds one call of the Web API; 10 s if zero.
	Timeout time.Duration `yaml:"timeout"`
	// Dial replaces the network in tests; nil in production.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error) `yaml:"-" json:"-"`
}

const (
	defaultTimeout     = 10 * time.Second
	defaultConnections = 2
	maxConnections     = 4
	// maxTokenFile bounds a token file; a token has about 100 bytes.
	maxTokenFile = 4096
)

// Resolve returns the config with tokens read from their files or, if neither
// is given, from the environment (lookup is os.Getenv), and with defaults
// filled in. Errors name the field and the file, never the token.
func (c Config) Resolve(lookup func(string) string) (Config, error) {
	var err error
	if c.BotToken, err = token("bot_token", c.BotToken, c.BotTokenFile, lookup(EnvBotToken)); err != nil {
		return c, err
	}
	if c.AppToken, err = token("app_token", c.AppToken, c.AppTokenFile, lookup(EnvAppToken)); err != nil {
		return c, err
	}
	if c.Connections == 0 {
		c.Connections = defaultConnections
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return c, nil
}

func token(field string, given Secret, file, env string) (Secret, error) {
	switch {
	case given != "" && file != "":
		return "", fmt.Errorf("slack: both %s and %s_file are set; keep one", field, field)
	case given != "":
		return given, nil
	case file != "":
		return tokenFile(field, file)
	}
	return Secret(strings.TrimSpace(env)), nil
}

func tokenFile(field, file string) (Secret, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("slack: reading %s_file: %w", field, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("slack: reading %s_file: %w", field, err)
	}
	if len(b) > maxTokenFile {
		return "", fmt.Errorf("slack: %s_file %s is larger than %d bytes; it should hold nothing but the token", field, file, maxTokenFile)
	}
	return Secret(strings.TrimSpace(string(b))), nil
}

// channelID is how Slack writes ids of channels, private channels and direct
// messages.
var channelID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,30}$`)

// Validate reports every mistake in a resolved config, joined.
func (c Config) Validate() error {
	var errs []error
	if c.BotToken == "" {
		errs = append(errs, fmt.Errorf("slack: no bot token; set bot_token_file or %s (it starts with xoxb-)", EnvBotToken))
	} else if !strings.HasPrefix(c.BotToken.Reveal(), "xoxb-") {
		errs = append(errs, errors.New("slack: bot_token does not start with xoxb-; take “Bot User OAuth Token” from the app's page OAuth & Permissions"))
	}
	if c.AppToken != "" && !strings.HasPrefix(c.AppToken.Reveal(), "xapp-") {
		errs = append(errs, errors.New("slack: app_token does not start with xapp-; create an app-level token with connections:write on the app's page Basic Information"))
	}
	if err := CheckChannel(c.DefaultChannel); c.DefaultChannel != "" && err != nil {
		errs = append(errs, fmt.Errorf("slack: default_channel: %w", err))
	}
	if c.Connections < 0 || c.Connections > maxConnections {
		errs = append(errs, fmt.Errorf("slack: connections is %d; allowed are 1 to %d (Slack ends the eleventh of an app)", c.Connections, maxConnections))
	}
	return errors.Join(errs...)
}

// CheckChannel says whether s is a channel id. Names are refused: edits and
// history need the id, and a channel can be renamed.
func CheckChannel(s string) error {
	if channelID.MatchString(s) {
		return nil
	}
	return fmt.Errorf("%q is not a channel id like C0123ABCD; in Slack open the channel's details, the id is at the bottom", clip(s, 60))
}

// httpClient is one client per use, so that a hanging call of one cannot use up
// the connections of another.
func (c Config) httpClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 4
	if c.Dial != nil {
		t.DialContext, t.Proxy = c.Dial, nil
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	return &http.Client{Transport: t, Timeout: timeout, CheckRedirect: noRedirect}
}

// noRedirect keeps a token or a message from following a redirect elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (c Config) client() *slackapi.Client {
	opts := []slackapi.Option{
		slackapi.OptionHTTPClient(c.httpClient()),
		slackapi.OptionAppLevelToken(c.AppToken.Reveal()),
	}
	if c.APIURL != "" {
		opts = append(opts, slackapi.OptionAPIURL(strings.TrimSuffix(c.APIURL, "/")+"/"))
	}
	return slackapi.New(c.BotToken.Reveal(), opts...)
}
