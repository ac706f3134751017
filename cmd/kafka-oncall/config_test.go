package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

const reference = "../../docs/config.reference.yaml"

func TestReferenceConfigIsFine(t *testing.T) {
	env := []string{"SLACK_BOT_TOKEN=xoxb-1", "SLACK_APP_TOKEN=xapp-1"}
	r := cli(t, nil, env, "check", "config", reference)
	if r.code != 0 || !strings.HasSuffix(r.stdout, ": fine, 1 cluster\n") {
		t.Errorf("%+v", r)
	}
}

// The reference shows every key that the program knows.
func TestReferenceConfigIsComplete(t *testing.T) {
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, field := range strictyaml.Fields(reflect.TypeFor[config]()) {
		if !has(doc, strings.Split(strings.ReplaceAll(field, "[]", ""), ".")) {
			t.Errorf("%s is not in the reference", field)
		}
	}
}

func has(v any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch x := v.(type) {
	case map[string]any:
		child, ok := x[path[0]]
		return ok && has(child, path[1:])
	case []any:
		return len(x) > 0 && has(x[0], path)
	}
	return false
}

// fine is a small configuration without faults.
const fine = `clusters:
  - name: kafka-prod
    kafka: {bootstrap_servers: ["localhost:9092"]}
    prometheus: {url: "http://localhost:9090"}
slack:
  bot_token_file: token
channel: C0123ABCD
`

func check(t *testing.T, text string, env ...string) result {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"c.yaml": text, "token": "xoxb-very-secret\n", "empty": " \n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := cli(t, nil, env, "check", "config", filepath.Join(dir, "c.yaml"))
	r.stdout = strings.ReplaceAll(r.stdout, dir+string(filepath.Separator), "")
	return r
}

func TestCheckConfigPointsAtEachProblem(t *testing.T) {
	if r := check(t, fine); r.code != 0 {
		t.Fatalf("the fine one: %+v", r)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", "slack:", "slak:", `c.yaml:5:1: slak: unknown key; did you mean "slack"?`},
		{"wrong type", "  bot_token_file: token", "  connections: many", "c.yaml:6:16: slack.connections: wants a whole number"},
		{"no clusters", fine[:strings.Index(fine, "slack:")], "clusters: []\n", "c.yaml:1:11: clusters: is empty"},
		{"bad broker address", "localhost:9092", "localhost", `c.yaml:3:33: clusters[0].kafka.bootstrap_servers[0]: "localhost" is not host:port`},
		{"no metrics", `    prometheus: {url: "http://localhost:9090"}` + "\n", "", "c.yaml:2:5: clusters[0].prometheus: url is missing"},
		{"no name", "name: kafka-prod", `name: ""`, "c.yaml:2:11: clusters[0].name: wants 1 to 100 letters"},
		{"window too short", "    kafka:", "    window: 30s\n    kafka:", "c.yaml:3:13: clusters[0].window: must be 1m to 24h"},
		{"not a duration", "    kafka:", "    window: 5\n    kafka:", "c.yaml:3:13: clusters[0].window"},
		{"bad level", "slack:", "log: {level: loud}\nslack:", `c.yaml:5:14: log.level: "loud" is not`},
		{"bad share", "slack:", "limits: {near_share: 80}\nslack:", "c.yaml:5:22: limits.near_share: must be above 0 and at most 1"},
		{"windows below three waves", "slack:", "limits: {min_window_seconds: 60}\nslack:", "limits.min_window_seconds: must be at least three times"},
		{"no playbooks there", "slack:", "playbooks_dir: nowhere\nslack:", "c.yaml:5:16: playbooks_dir: is not a folder"},
		{"bad listen address", "slack:", "listen: everywhere\nslack:", `c.yaml:5:9: listen: "everywhere" is not an address`},
		{"token file missing", "slack:", "webhook: {bearer_token_files: [nowhere]}\nslack:", "c.yaml:5:32: webhook.bearer_token_files[0]: cannot be read: no such file"},
		{"token file empty", "slack:", "webhook: {bearer_token_files: [empty]}\nslack:", "webhook.bearer_token_files[0]: is empty"},
		{"a token in the file", "  bot_token_file: token", "  bot_token: xoxb-1", `c.yaml:6:3: slack.bot_token: unknown key; known here: api_url, app_token_file, bot_token_file`},
		{"no slack token", "slack:\n  bot_token_file: token\n", "", "slack: no bot token; set bot_token_file or SLACK_BOT_TOKEN"},
		{"no channel", "channel: C0123ABCD\n", "", "channel: name the Slack channel for alerts"},
		{"looks out of order", "channel:", "incident: {looks: [5m, 1m]}\nchannel:", "c.yaml:7:19: incident.looks: must be in rising order"},
		{"route without a channel", "channel:", "routes: [{match: {cluster: x}}]\nchannel:", "routes[0]: needs match and channel"},
		{"channel of a route", "channel:", "routes: [{match: {cluster: x}, channel: ops}]\nchannel:", "c.yaml:7:41: routes[0].channel: \"ops\" is not a channel id"},
		{"channel by name", "  bot_token_file: token", "  bot_token_file: token\n  default_channel: '#ops'", `c.yaml:7:20: slack.default_channel: "#ops" is not a channel id`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(fine, c.old) {
				t.Fatalf("%q is not in the fine file", c.old)
			}
			r := check(t, strings.ReplaceAll(fine, c.old, c.new))
			if r.code != exitUsage || !strings.Contains(r.stdout, c.want) {
				t.Errorf("code %d: %s%s\nwant 2 and %q", r.code, r.stdout, r.stderr, c.want)
			}
		})
	}
}

func TestCheckConfigReportsAllAtOnce(t *testing.T) {
	r := check(t, "listn: x\nlog: {level: 1, formt: json}\nclusters: [{name: a, kafka: {bootstrap: x}}]\n")
	for _, want := range []string{"c.yaml:1:1: listn", "c.yaml:2:17: log.formt", "c.yaml:3:30: clusters[0].kafka.bootstrap"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing in:\n%s", want, r.stdout)
		}
	}
	two := strings.Replace(fine, "slack:", "  - name: kafka-prod\n    kafka: {bootstrap_servers: [\"x:1\"]}\n    prometheus: {url: \"http://localhost:9090\"}\nslack:", 1)
	r = check(t, two)
	for _, want := range []string{`clusters[1].name: the name "kafka-prod" stands here twice`, "clusters[0].prometheus: selector is missing", "clusters[1].prometheus: selector is missing"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing in:\n%s", want, r.stdout)
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	text := strings.Replace(fine, "channel:", "  default_channel: nope\n  app_token: xapp-very-secret\nlog: {level: loud}\nchannel:", 1)
	r := check(t, text, "SLACK_APP_TOKEN=xapp-very-secret")
	if strings.Contains(r.stdout+r.stderr, "very-secret") {
		t.Errorf("a secret is printed: %s%s", r.stdout, r.stderr)
	}
}

func TestEnvironmentReplacesKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(fine), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{env: []string{envListen + "=127.0.0.1:9", envStore + "=/data/x.db", envLogLevel + "=debug"}}
	c, err := a.loadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Listen != "127.0.0.1:9" || c.Server.Store != "/data/x.db" || c.Log.Level != "debug" {
		t.Errorf("got %q %q %q", c.Server.Listen, c.Server.Store, c.Log.Level)
	}
	if c.Slack.BotTokenFile != filepath.Join(filepath.Dir(file), "token") {
		t.Errorf("a relative file is not beside the configuration: %s", c.Slack.BotTokenFile)
	}
}

func TestConfigPicksTheCluster(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	two := strings.Replace(fine, "slack:", "  - name: other\n    kafka: {bootstrap_servers: [\"x:1\"]}\n    prometheus: {url: \"http://b:9090\"}\nslack:", 1)
	if err := os.WriteFile(file, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	src := &recorded{evidence: evidence(t, "quiet/broker")}
	r := cli(t, src, []string{envConfig + "=" + file}, "diagnose", "--cluster", "other")
	if r.code != 0 || src.asked[0].Target.Cluster != "other" {
		t.Errorf("%+v asked %+v", r, src.asked)
	}
	if r := cli(t, src, nil, "diagnose", "--config", file); r.code != exitUsage || !strings.Contains(r.stderr, "name a cluster with --cluster: kafka-prod, other") {
		t.Errorf("no cluster named: %+v", r)
	}
	if r := cli(t, src, nil, "diagnose", "--config", file, "--cluster", "x"); r.code != exitUsage || !strings.Contains(r.stderr, `there is no cluster "x"`) {
		t.Errorf("unknown cluster: %+v", r)
	}
	if r := cli(t, src, nil, "diagnose", "--config", filepath.Join(dir, "nowhere.yaml")); r.code != exitFailed {
		t.Errorf("missing file: %+v", r)
	}
}
