package lab

import (
	"strings"
	"testing"
	"time"
)

func TestParseSetting(t *testing.T) {
	for in, want := range map[string]Setting{
		"a.b=c":       {Key: "a.b", Value: "c"},
		"a.b=c=d":     {Key: "a.b", Value: "c=d"},
		"2:a.b=c":     {Broker: 2, Key: "a.b", Value: "c"},
		"a=h:1":       {Key: "a", Value: "h:1"},
		"a.b=":        {Key: "a.b"},
		"10:a=1:2=10": {Broker: 10, Key: "a", Value: "1:2=10"},
	} {
		if got, err := ParseSetting(in); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "a", "=b", "x:a=b", "0:a=b", "3:=b"} {
		if _, err := ParseSetting(in); err == nil {
			t.Errorf("%q: want an error", in)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Options{
		"version": {Version: "1.0.0"},
		"brokers": {Version: "4.4.0", Brokers: 10},
		"name":    {Version: "4.4.0", Name: "../x"},
		"scrape":  {Version: "4.4.0", ScrapeInterval: time.Millisecond},
		"slots":   {Version: "4.4.0", Slots: -1},
		"webhook": {Version: "4.4.0", WebhookURL: "localhost:80"},
	} {
		if _, err := o.withDefaults(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Kafka 3.8 split the cache into 8 shards and lost the remainder.
func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		version     string
		slots, want int
	}{{"3.7.2", 7, 7}, {"3.9.2", 7, 0}, {"4.4.0", 64, 64}, {"4.4.0", 23, 16}, {"4.4.0", 0, 1000}, {"3.7.2", 0, 1000}} {
		if got := capacity(c.version, c.slots); got != c.want {
			t.Errorf("%s with %d slots: %d, want %d", c.version, c.slots, got, c.want)
		}
	}
}
