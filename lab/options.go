package lab

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Versions are the Kafka versions the lab can start: those whose jars resolve
// from Maven Central and for which a logging set-up is known.
var Versions = []string{"3.7.2", "3.9.2", "4.4.0"}

// Setting is one line of server.properties. Broker 0 means every broker.
type Setting struct {
	Broker     int
	Key, Value string
}

// ParseSetting reads "key=value" or "ID:key=value" (one broker only).
func ParseSetting(s string) (Setting, error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return Setting{}, fmt.Errorf("setting %q: want key=value or ID:key=value", s)
	}
	set := Setting{Key: key, Value: value}
	if id, rest, ok := strings.Cut(key, ":"); ok {
		n, err := strconv.Atoi(id)
		if err != nil || n < 1 || rest == "" {
			return Setting{}, fmt.Errorf("setting %q: %q is not a broker id", s, id)
		}
		set.Broker, set.Key = n, rest
	}
	return set, nil
}

// Options say what Up starts. The zero value plus a Version is one broker.
type Options struct {
	// Version is a Kafka version out of Versions.
	Version string
	// Brokers is the number of nodes, 1 to 9. With three or more, the
	// internal topics have replication factor 3.
	Brokers int
	// Name tells labs in one Dir apart and is the value of the `cluster` label.
	Name string
	// Dir holds run state and logs; Cache holds jars (default: $KAFKA_LAB_CACHE, else Dir).
	Dir, Cache string
	// Slots is max.incremental.fetch.session.cache.slots; 0 leaves Kafka's default (1000).
	Slots int
	// OffsetsPartitions is offsets.topic.num.partitions.
	OffsetsPartitions int
	// LeaderImbalanceCheck is leader.imbalance.check.interval.seconds; 0 leaves the default (300 s).
	LeaderImbalanceCheck time.Duration
	// Set holds further server.properties lines; they win over the lab's own.
	Set []Setting
	// RulesFile replaces the lab's alert rules. AlertWindow is the look-back of
	// the lab's own rules; alerts resolve that long after the last sign.
	RulesFile   string
	AlertWindow time.Duration
	// WebhookURL and WebhookToken are where Alertmanager posts; see also SetWebhook.
	WebhookURL, WebhookToken string
	// ScrapeInterval of Prometheus, also its evaluation interval.
	ScrapeInterval time.Duration
	// HeapMB is each broker's heap.
	HeapMB int
	// Replace ends a lab of the same name that still runs, as a test does
	// whose predecessor was killed.
	Replace bool
	// Progress gets one line per thing that happened; nil means silence.
	Progress func(line string)
}

var nameShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// withDefaults fills the gaps and makes the paths absolute.
func (o Options) withDefaults() (Options, error) {
	o.Name = orString(o.Name, "klab")
	o.Dir = orString(o.Dir, ".klab")
	if o.Cache == "" {
		o.Cache = orString(os.Getenv("KAFKA_LAB_CACHE"), o.Dir)
	}
	o.Brokers = orInt(o.Brokers, 1)
	o.OffsetsPartitions = orInt(o.OffsetsPartitions, 8)
	o.HeapMB = orInt(o.HeapMB, 512)
	o.AlertWindow = orDuration(o.AlertWindow, time.Minute)
	o.ScrapeInterval = orDuration(o.ScrapeInterval, time.Second)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	for _, p := range []*string{&o.Dir, &o.Cache, &o.RulesFile} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return o, fmt.Errorf("resolving %s: %w", *p, err)
		}
		*p = abs
	}
	return o, o.check()
}

func (o Options) check() error {
	switch {
	case !slices.Contains(Versions, o.Version):
		return fmt.Errorf("version %q: the lab knows %s", o.Version, strings.Join(Versions, ", "))
	case o.Brokers < 1 || o.Brokers > 9:
		return fmt.Errorf("brokers %d: want 1 to 9", o.Brokers)
	case !nameShape.MatchString(o.Name):
		return fmt.Errorf("name %q: want lower-case letters, digits and '-', at most 40", o.Name)
	case o.ScrapeInterval < time.Second:
		return fmt.Errorf("scrape interval %s: want 1s or more", o.ScrapeInterval)
	case o.Slots < 0:
		return fmt.Errorf("slots %d: want 0 or more", o.Slots)
	}
	return checkWebhook(o.WebhookURL)
}

func checkWebhook(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("webhook URL: want http://HOST:PORT/PATH")
	}
	return nil
}

// capacity is the effective size of one broker's fetch session cache:
// 8·⌊slots/8⌋ from 3.8 on (FetchSessionCacheShard), the plain number before.
func capacity(version string, slots int) int {
	if slots == 0 {
		slots = 1000
	}
	if strings.HasPrefix(version, "3.7.") {
		return slots
	}
	return slots / 8 * 8
}

func orString(v, def string) string {
	if v == "" {
		return def
	}
	return v
}

func orInt(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

func orDuration(v, def time.Duration) time.Duration {
	if v == 0 {
		return def
	}
	return v
}
