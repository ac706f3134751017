package diagnose

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// thrashing and leaking are evidence of the two classes at broker 3, which a case
// may add to.
func thrashing(change func(b *Broker)) Evidence {
	e := world(stable(1), stable(2), small(alike(waves(64, every120(30*time.Second, 10)...)))).evidence()
	change(&e.Brokers[2])
	return e
}

func leaking(change func(b *Broker)) Evidence {
	b := stable(3)
	b.sessions, b.made = climbing(100, 700), 0.02
	e := world(stable(1), stable(2), b).evidence()
	change(&e.Brokers[2])
	return e
}

func connected(sw ...Software) func(b *Broker) {
	return func(b *Broker) { b.SoftwareReading, b.Software = ok("prometheus: connections"), sw }
}

// TestLikelyClientsOfThrash: groups, families of client ids and hosts by demand, and
// libraries that may hold sessions; what is not known is said, never guessed.
func TestLikelyClientsOfThrash(t *testing.T) {
	for name, c := range map[string]struct {
		change         func(b *Broker)
		who, libraries string
	}{
		"groups only": {func(*Broker) {},
			"groups clickstream (60 consumers) and billing (21 consumers)",
			"not known, as the connections by client library were not read (not asked for)"},
		"census": {connected(Software{"apache-kafka-java", "3.7.2", 90}, Software{"librdkafka", "2.3.0", 40}, Software{"my-kafka", "0.1", 30}, Software{"kafka-oncall", "1", 2}, Software{"unknown", "unknown", 2}),
			"groups clickstream (60 consumers) and billing (21 consumers)",
			"apache-kafka-java 3.7.2 (90 connections) and my-kafka 0.1 (30 connections); not librdkafka 2.3.0: no sessions there"},
		"only libraries without sessions": {connected(Software{"confluent-kafka-python", "2.3.0-rdkafka", 40}),
			"groups clickstream (60 consumers) and billing (21 consumers)",
			"none of those connected; not confluent-kafka-python 2.3.0-rdkafka: no sessions there"},
		"clients without a name besides replica fetchers": {connected(Software{"unknown", "unknown", 9}),
			"groups clickstream (60 consumers) and billing (21 consumers)",
			"clients that give no name (7 connections)"},
		"not exported": {func(b *Broker) { b.SoftwareReading = Reading{Status: StatusNotExported} },
			"groups clickstream (60 consumers) and billing (21 consumers)",
			"not known, as the connections by client library were not read (not exported)"},
		"many groups of one application on one host": {
			func(b *Broker) {
				b.Demand.ByGroup = nil
				for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
					b.Demand.ByGroup = append(b.Demand.ByGroup, GroupDemand{"notifier-" + n, 1})
				}
				b.Demand.ByClient = []NamedDemand{{"notifier-*", 70, 70}, {"orders-*", 11, 1}}
				b.Demand.ByHost = []NamedDemand{{"/10.2.7.31", 70, 70}, {"/10.2.7.32", 11, 1}}
			},
			"groups notifier-a (1 consumer), notifier-b (1 consumer), notifier-c (1 consumer) and others; client id notifier-* (70 in 70 groups); host 10.2.7.31 (70)",
			"not known, as the connections by client library were not read (not asked for)"},
	} {
		f := Classify(thrashing(c.change), DefaultLimits()).Primary()
		if f.Class != CacheThrash {
			t.Fatalf("%s: %s", name, f.Class)
		}
		if got := textOf(f, "likely_clients"); got != c.who {
			t.Errorf("%s: %q", name, got)
		}
		if got := textOf(f, "likely_libraries"); got != c.libraries {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLikelyClientsWithoutGroups(t *testing.T) {
	f := newFacts(&Evidence{Brokers: []Broker{{ID: 1, Demand: Demand{Reading: Reading{Status: StatusForbidden}, Connections: -1}}}}, DefaultLimits())
	if got := f.br[0].neediest(); got != "nobody that can be named, as the groups' members were not counted (access denied)" {
		t.Error(got)
	}
}

// TestLikelyClientsOfALeak: what groups can do without and is not known to reuse a
// session comes first; the library of the groups' consumers is no suspect beside it.
func TestLikelyClientsOfALeak(t *testing.T) {
	const left = ", or a client that has left since"
	for name, c := range map[string]struct {
		change func(b *Broker)
		want   string
	}{
		"not read": {func(*Broker) {}, ""},
		"known for it": {connected(Software{"apache-kafka-java", "3.9.2", 20}, Software{"exporter", "0.9", 1}, Software{"sarama", "1.26.1", 3}),
			"sarama 1.26.1 (3 connections)"},
		"a tool beside the groups' own library": {connected(Software{"house-consumer", "1", 40}, Software{"exporter", "0.9", 1}, Software{"kafka-oncall", "1", 1}),
			"exporter 0.9 (1 connection)" + left},
		"two versions of the groups' library": {connected(Software{"house-consumer", "1", 19}, Software{"house-consumer", "2", 19}, Software{"exporter", "0.9", 1}),
			"exporter 0.9 (1 connection)" + left},
		"only the groups' own library": {connected(Software{"house-consumer", "1", 40}), "house-consumer 1 (40 connections)" + left},
		"Sarama before 1.30 gives no name": {connected(Software{"apache-kafka-java", "3.9.2", 40}, Software{"unknown", "unknown", 6}),
			"clients that give no name (4 connections)" + left},
		"hand-written, without a name, known to reuse": {connected(Software{"apache-kafka-java", "3.9.2", 40}, Software{"kgo", "v1.22.3", 2}, Software{"unknown", "unknown", 6}, Software{"exporter", "0.9", 9}),
			"exporter 0.9 (9 connections), clients that give no name (4 connections) and kgo v1.22.3 (2 connections)" + left},
		"replica fetchers give no name": {connected(Software{"apache-kafka-java", "3.9.2", 40}, Software{"unknown", "unknown", 2}),
			""},
		"gone, and that was read": {func(b *Broker) {
			connected(Software{"apache-kafka-java", "3.9.2", 40}, Software{"kafka-oncall", "1", 1})(b)
			b.SoftwareGoneReading, b.SoftwareGone = ok("prometheus: last_over_time"), []Software{{"exporter", "0.9", 1}, {"apache-kafka-java", "3.7.2", 9}}
		}, "exporter 0.9 (connected earlier, gone now)"},
	} {
		d := Classify(leaking(c.change), DefaultLimits())
		f := d.Primary()
		if f.Class != LeakingClient {
			t.Fatalf("%s: %s", name, f.Class)
		}
		if got := textOf(f, "likely_clients"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if _, certain := f.Fact("suspect"); certain != (name == "known for it") || certain != (f.Confidence == Confirmed) {
			t.Errorf("%s: a suspect by name and %s", name, f.Confidence)
		}
	}
}

// TestLikelyClientsOfRecordedRuns: the lab's leaking client gives the name exporter
// 0.9 and is in no group; the lab's admin client is the only other one like that.
// The consumers that suffer are never named.
func TestLikelyClientsOfRecordedRuns(t *testing.T) {
	leaks, thrashes := 0, 0
	dirs, err := filepath.Glob(filepath.Join("testdata", "corpus", "*", "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		c := loadMeta(t, dir)
		if c.Set == "held-out" || c.class != LeakingClient && c.class != CacheThrash {
			continue
		}
		f := Classify(withEvidence(t, c).ev, DefaultLimits()).Primary()
		who := textOf(f, "likely_clients")
		switch {
		case f.Class == LeakingClient:
			leaks++
			if strings.Contains(c.name, "-during") != strings.HasPrefix(who, "exporter 0.9 (1 connection)") || strings.Contains(who, "kafka-lab-consumer") {
				t.Errorf("%s: %s", c.name, who)
			}
			if !strings.Contains(who, "has left since") {
				t.Errorf("%s does not say that only the present was read: %s", c.name, who)
			}
		case f.Class == CacheThrash:
			thrashes++
			if libraries := textOf(f, "likely_libraries"); strings.Contains(who, "groups reports1") && !strings.HasPrefix(libraries, "kafka-lab-consumer 1 (") {
				t.Errorf("%s: %s; %s", c.name, who, libraries)
			}
		}
	}
	if leaks < 4 || thrashes < 4 {
		t.Errorf("%d leaks and %d cases of thrashing were looked at", leaks, thrashes)
	}
}

// TestLikelyClientsAreBounded: names from outside cannot push the rest out.
func TestLikelyClientsAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	var sw []Software
	for range 50 {
		sw = append(sw, Software{long, long, 3})
	}
	e := thrashing(func(b *Broker) {
		connected(sw...)(b)
		b.Demand.ByGroup = []GroupDemand{{long, 9}, {long + "b", 8}, {long + "c", 7}, {long + "d", 6}}
		b.Demand.ByClient, b.Demand.ByHost = []NamedDemand{{long, 40, 2}}, []NamedDemand{{long, 40, 2}}
	})
	f := Classify(e, DefaultLimits()).Primary()
	for _, name := range []string{"likely_clients", "likely_libraries"} {
		if n := utf8.RuneCountInString(textOf(f, name)); n == 0 || n > 400 {
			t.Errorf("%s has %d characters", name, n)
		}
	}
}

func textOf(f Finding, name string) string {
	x, _ := f.Fact(name)
	return x.Text
}
