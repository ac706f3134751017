package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/lab"
)

func TestReadPlan(t *testing.T) {
	items, err := readPlan(strings.NewReader(`
# a night
restart-burst --version 3.9.2 --kill
session-timeout --client librdkafka --session-timeout 10s --repeat 2   # twice
follower-churn --set num.replica.fetchers=4 --set 1:num.io.threads=2
`), lab.Params{Looker: lab.Binary("./kafka-oncall")})
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 4 || items[0].Version != "3.9.2" || !items[0].Play.Kill || items[2].Play.Session != 10*time.Second ||
		items[3].Version != "4.4.0" || len(items[3].Set) != 2 || items[3].Set[1].Broker != 1 || items[1].Play.Looker == nil {
		t.Errorf("%+v", items)
	}
	for text, want := range map[string]string{
		"quiet\nquiet --nonsense":   "line 2",
		"quiet lag":                 "one scenario a line",
		"quiet --record /tmp/x":     "give it to soak",
		"quiet --set nonsense":      "key=value",
		"quiet --session-timeout 6": "line 1",
	} {
		if _, err := readPlan(strings.NewReader(text), lab.Params{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
