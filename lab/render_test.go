package lab

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs (run with -update and look at the diff):\n%s", name, got)
	}
}

// fixedState is a lab of three brokers on ports that are never opened.
func fixedState(t *testing.T, o Options) (Options, *State) {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &State{Info: Info{Name: o.Name, Dir: "/lab/run/" + o.Name, Prometheus: "http://127.0.0.1:1001", Alertmanager: "http://127.0.0.1:1002"}, Controller: "127.0.0.1:1003"}
	for id := 1; id <= o.Brokers; id++ {
		s.Brokers = append(s.Brokers, Broker{ID: id, Kafka: loopback(2000 + id), Metrics: loopback(3000 + id)})
	}
	return o, s
}

func TestServerProperties(t *testing.T) {
	o, s := fixedState(t, Options{Version: "4.4.0", Brokers: 3, Slots: 64, LeaderImbalanceCheck: 10 * time.Second,
		Set: []Setting{{Key: "num.replica.fetchers", Value: "2"}, {Broker: 2, Key: "log.retention.hours", Value: "1"}}})
	for id, name := range map[int]string{1: "server-4.4.0-1.properties", 2: "server-4.4.0-2.properties"} {
		b, err := renderServer(o, s, id)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, b)
	}
	o, s = fixedState(t, Options{Version: "3.9.2"})
	b, err := renderServer(o, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "server-3.9.2.properties", b)
}

func TestMonitoringConfig(t *testing.T) {
	o, s := fixedState(t, Options{Version: "4.4.0", Brokers: 3, Slots: 64, Name: "fetch"})
	prom, err := renderPrometheus(o, s)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "prometheus.yml", prom)
	rules, err := renderRules(o)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rules.yml", rules)
	am, err := renderAlertmanager("http://127.0.0.1:9999/webhook/alertmanager", "/lab/run/fetch/webhook.token")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "alertmanager.yml", am)
	silent, err := renderAlertmanager("", "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(silent), "webhook_configs") {
		t.Errorf("without a URL Alertmanager must post nowhere:\n%s", silent)
	}
}

func TestPom(t *testing.T) {
	old, err := renderPom("3.9.2", agentVersion)
	if err != nil {
		t.Fatal(err)
	}
	recent, err := renderPom("4.4.0", agentVersion)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(old), "log4j-slf4j-impl") || !strings.Contains(string(recent), "log4j-slf4j-impl") {
		t.Error("log4j 2's binding belongs to 4.x only: 3.x brings its own")
	}
}

func TestRulesFileReplacesTheLabsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("groups: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := renderRules(Options{RulesFile: path})
	if err != nil || string(b) != "groups: []\n" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := renderRules(Options{RulesFile: path + ".missing"}); err == nil {
		t.Error("a missing rule file must be an error")
	}
}
