package diagnose

import "testing"

// The forms are the libraries' own defaults; a name that somebody chose tells nothing.
func TestLibraryByIDs(t *testing.T) {
	for _, tc := range []struct {
		client, member, protocol string
		want                     Library
	}{
		{"consumer-orders-1", "consumer-orders-1-0b1c", "classic", LibraryJava},
		{"consumer-12", "consumer-12-0b1c", "classic", LibraryJava}, // before Kafka 2.4
		{"billing-StreamThread-2-consumer", "x", "classic", LibraryJava},
		{"connector-consumer-sink-0", "x", "classic", LibraryJava},
		{"consumer-other-1", "x", "classic", ""}, // another group's name: chosen by hand
		{"consumer-orders-a", "x", "classic", ""},
		{"rdkafka", "rdkafka-0b1c", "classic", LibraryLibrdkafka},
		{"rdkafka-orders", "x", "classic", ""},
		{"kgo", "kgo-0b1c", "classic", LibraryFranzGo},
		{"sarama", "sarama-0b1c", "classic", LibrarySarama},
		{"orders@host-1 (github.com/segmentio/kafka-go)", "x", "classic", LibraryKafkaGo},
		{"kafka-python-2.0.2", "x", "classic", LibraryKafkaPython},
		{"aiokafka-0.14.0", "x", "classic", LibraryAiokafka},
		{"kafka-python-orders", "x", "classic", ""},
		{"kafkajs", "x", "classic", LibraryKafkaJS},
		{"orders", "orders-0b1c", "classic", ""},
		{"", "", "classic", ""},
		{"orders", "l2/oD3XpQqioVgQwYsBDow", "consumer", LibraryLibrdkafka},
		{"orders", "y8jDfzJzR4yzpowUIt0_pw", "consumer", ""}, // Java's own, or the broker's for a client of 3.9
		{"orders", "jswOPjZ_T2GlxDATS09YZQ==", "consumer", LibraryFranzGo},
		{"orders", "iVFJu43ySnGPyCpnKz3obA", "consumer", ""},
		{"orders", "l2/oD3XpQqioVgQwYsBDow", "classic", ""},  // the broker makes those
		{"sarama", "l2/oD3XpQqioVgQwYsBDow", "consumer", ""}, // they contradict each other
	} {
		s := &groupStory{f: &facts{e: &Evidence{}}, g: &Group{ID: "orders", Protocol: tc.protocol, Coordinator: -1}}
		if got, by := agreed(s.libraryShown(RecordMember{ID: tc.member, ClientID: tc.client})); got != tc.want || (by == "") != (got == "") {
			t.Errorf("%+v: %q (%s)", tc, got, by)
		}
	}
}

// A census decides only where every connection names one library.
func TestLibraryByCensus(t *testing.T) {
	bot, java, lab := Software{Name: BotSoftware, Version: "1"}, Software{Name: javaSoftware, Version: "4.1.0"}, Software{Name: "my-kafka"}
	for _, tc := range []struct {
		name   string
		census []Software
		read   Reading
		want   Library
	}{
		{"one library and the bot", []Software{bot, java, {Name: javaSoftware, Version: "3.9.2"}}, ok("jmx"), LibraryJava},
		{"bindings of librdkafka", []Software{{Name: "confluent-kafka-python", Version: "2.16.0-rdkafka-2.16.0"}, {Name: "librdkafka", Version: "2.16.0"}}, ok("jmx"), LibraryLibrdkafka},
		{"two libraries", []Software{java, {Name: "kgo"}}, ok("jmx"), ""},
		{"one that names none", []Software{java, {Name: "unknown", Version: "unknown"}}, ok("jmx"), ""},
		{"one that is not known here", []Software{java, lab}, ok("jmx"), ""},
		{"the bot alone", []Software{bot}, ok("jmx"), ""},
		{"not exported", []Software{java}, skipped, ""},
	} {
		b := &brokerFacts{Broker: &Broker{ID: 1, SoftwareReading: tc.read, Software: tc.census}}
		if got := b.onlyLibrary(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The client's own log and metrics tell, and a finding carries what was told.
func TestLibraryOfALoss(t *testing.T) {
	for _, tc := range []struct {
		name   string
		client string
		change func(*Evidence)
		want   string
	}{
		{"an id that was chosen", "orders-a", func(*Evidence) {}, ""},
		{"its default id", "rdkafka", func(*Evidence) {}, "librdkafka by its client id"},
		{"its log", "orders-a", func(e *Evidence) { e.LogText.Findings[0].By = "franz-go" }, "franz-go by its log"},
		{"the broker's log", "orders-a", func(e *Evidence) { e.LogText.Findings[0].By = "broker" }, ""},
		{"a log of another client", "orders-a", func(e *Evidence) { e.LogText.Findings[0].Client = "orders-b" }, ""},
		{"aiokafka writes kafka-python's lines", "aiokafka-0.14.0", func(e *Evidence) { e.LogText.Findings[0].By = "kafka-python" }, "aiokafka by its log"},
		{"its log and its id differ", "sarama", func(e *Evidence) { e.LogText.Findings[0].By = "java" }, ""},
	} {
		e := stalled().evidence()
		e.Clients, e.ClientsReading = nil, skipped
		for i := range e.Brokers {
			e.Brokers[i].Software = nil
		}
		id := storyOf(e).losses[0].m.ID
		rename(&e, id, tc.client)
		l := storyOf(e).losses[0]
		e.Logs = ok("file")
		e.LogText.Findings = []LogFinding{{Kind: LogHeartbeatUnknown, Client: tc.client, First: l.by, Last: l.by, Count: 1}}
		tc.change(&e)
		l = storyOf(e).losses[0]
		lib, by := l.library()
		if without := lib == LibraryFranzGo; l.noPollLimit() != without {
			t.Errorf("%s: no poll limit: %v", tc.name, l.noPollLimit())
		}
		got := ""
		if lib != "" {
			got = string(lib) + " by " + by
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// rename gives a member another client id wherever it is listed.
func rename(e *Evidence, id, client string) {
	for i := range e.Groups {
		g := &e.Groups[i]
		for j := range g.Snapshots {
			for k := range g.Snapshots[j].Members {
				if m := &g.Snapshots[j].Members[k]; m.ID == id {
					m.ClientID = client
				}
			}
		}
		for j := range g.History.Records {
			for k := range g.History.Records[j].Members {
				if m := &g.History.Records[j].Members[k]; m.ID == id {
					m.ClientID = client
				}
			}
		}
	}
}
