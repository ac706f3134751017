package lint

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/properties"
)

// run lints a text. want is "severity check" of each finding, in order.
func run(t *testing.T, kind Kind, o Options, lines ...string) []Finding {
	t.Helper()
	d, err := Parse("f", []byte(strings.Join(lines, "\n")), kind)
	if err != nil {
		t.Fatalf("%q: %v", lines, err)
	}
	return Check(d, o)
}

func brief(fs []Finding) []string {
	out := []string{}
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%d %s %s", f.Line, f.Severity, f.Check))
	}
	return out
}

func TestChecks(t *testing.T) {
	v := func(major, minor int) Options { return Options{Version: Version{major, minor}} }
	found := map[string]bool{}
	per := func(d time.Duration) Options { return Options{PerRecord: d} }
	for _, c := range []struct {
		name  string
		kind  Kind
		o     Options
		lines string
		want  []string
		// says must stand in the first finding's message or fix.
		says []string
	}{
		// Keys.
		{name: "nothing wrong", kind: Java, lines: "bootstrap.servers=a:1\ngroup.id=g\nsession.timeout.ms=45000\nheartbeat.interval.ms=3000"},
		{"mistyped", Java, Options{}, "max.poll.record=1", []string{"1 warning unknown-key"}, []string{"max.poll.records"}},
		{"unit left out", Java, Options{}, "max.poll.interval=1", []string{"1 warning unknown-key"}, []string{"max.poll.interval.ms"}},
		{"a word off", Broker, Options{}, "group.initial.rebalancing.delay.ms=3000", []string{"1 warning unknown-key"}, []string{"group.initial.rebalance.delay.ms"}},
		{"Spring does not look there", Spring, Options{}, "spring.kafka.consumer.auto.commit.interval.ms=1000", []string{"1 warning unknown-key"}, []string{"spring.kafka.consumer.properties.auto.commit.interval.ms"}},
		{"Spring's own keys", Spring, Options{}, "spring.kafka.listener.ack-mode=manual\nspring.kafka.consumer.properties.spring.json.trusted.packages=*\nspring.kafka.ssl.trust-store-location=x", nil, nil},
		{"underscores", Java, Options{}, "group_id=1", []string{"1 warning unknown-key"}, []string{"group.id"}},
		{"mythical", Broker, Options{}, "min.incremental.fetch.session.eviction.ms=1", []string{"1 error invented-key"}, []string{"constant of 120 s", "delete the line"}},
		{"mythical in a client", Java, Options{}, "min.incremental.fetch.session.eviction.ms=1", []string{"1 error invented-key"}, nil},
		{"broker's key in a client", Java, Options{}, "num.replica.fetchers=1", []string{"1 warning unknown-key"}, []string{"setting of a broker"}},
		{"librdkafka's key in Java", Java, Options{}, "fetch.wait.max.ms=1", []string{"1 warning unknown-key"}, []string{"fetch.max.wait.ms"}},
		{"Java's key in librdkafka", Librdkafka, Options{}, "fetch.max.wait.ms=1", []string{"1 error unknown-key"}, []string{"refuses to start", "fetch.wait.max.ms"}},
		{"a serializer's keys", Java, Options{}, "schema.registry.url=x\nspecific.avro.reader=true", nil, nil},
		{"own keys", Java, Options{Allow: []string{"my.*", "its"}}, "my.key=1\nits=2\nother=3", []string{"3 warning unknown-key"}, []string{"--allow 'other'"}},
		{"twice", Java, Options{}, "group.id=a\ngroup.id=b", []string{"2 warning duplicate-key"}, []string{"line 1", `"a"`}},
		{"twice, secret", Java, Options{}, "ssl.key.password=hunter2\nssl.key.password=x", []string{"2 warning duplicate-key"}, []string{"***"}},
		{"removed", Broker, v(4, 0), "zookeeper.connect=x", []string{"1 warning removed-key"}, []string{"3.9"}},
		{"to be removed", Broker, Options{}, "zookeeper.connect=x", []string{"1 advice removed-key"}, []string{"4.0 and newer"}},
		{"still there", Broker, v(3, 9), "zookeeper.connect=x", nil, nil},
		{"deprecated", Librdkafka, Options{}, "offset.store.path=x", []string{"1 advice deprecated-key"}, nil},
		{"too new", Java, v(3, 3), "group.protocol=classic", []string{"1 warning newer-key"}, []string{"3.6 has no such key"}},
		{"version not examined", Java, v(3, 5), "enable.metrics.push=true", []string{"1 warning newer-key"}, nil},
		{"listener's prefix", Broker, Options{}, "listener.name.in.ssl.keystore.location=x\nlistener.name.in.scram-sha-256.sasl.jaas.config=x\nlistener.name.in.nope=x", []string{"3 warning unknown-key"}, nil},

		// Values.
		{"unit in a number", Java, Options{}, "session.timeout.ms=45s", []string{"1 error bad-value"}, []string{"milliseconds"}},
		{"comment behind", Java, Options{}, "max.poll.records=10 # few", []string{"1 error bad-value"}, []string{"line of its own"}},
		{"comment behind a word", Java, Options{}, "group.id=orders # mine", []string{"1 warning bad-value"}, nil},
		{"librdkafka's strtol", Librdkafka, Options{}, "session.timeout.ms=45s", []string{"1 error bad-value", "1 error session-bounds"}, []string{"as 45 and says nothing"}},
		{"librdkafka's octal", Librdkafka, Options{}, "max.poll.interval.ms=0600000", []string{"1 error bad-value"}, []string{"196608"}},
		{"too large", Java, Options{}, "max.poll.records=99999999999999999999", []string{"1 error bad-value"}, []string{"too large"}},
		{"beyond an int", Java, Options{}, "max.poll.records=2147483648", []string{"1 error bad-value"}, []string{"2147483648"}},
		{"below its bounds", Java, Options{}, "max.poll.records=0", []string{"1 error bad-value"}, []string{"at least 1"}},
		{"not a word of the list", Java, Options{}, "isolation.level=committed", []string{"1 error bad-value"}, []string{"read_committed"}},
		{"an old word", Java, Options{}, "auto.offset.reset=smallest", []string{"1 error bad-value"}, []string{"earliest, latest, none"}},
		{"by duration since 4.0", Java, Options{}, "auto.offset.reset=by_duration:PT1H", nil, nil},
		{"not before", Java, v(3, 9), "auto.offset.reset=by_duration:PT1H", []string{"1 error bad-value"}, nil},
		{"librdkafka knows it", Librdkafka, Options{}, "auto.offset.reset=smallest", nil, nil},
		{"librdkafka ignores case", Librdkafka, Options{}, "isolation.level=READ_COMMITTED\nenable.auto.commit=1", nil, nil},
		{"no boolean", Java, Options{}, "enable.auto.commit=yes", []string{"1 error bad-value"}, nil},
		{"filled in later", Java, per(time.Second), "session.timeout.ms=${SESSION}\nmax.poll.records={{ n }}\nheartbeat.interval.ms=@beat@", nil, nil},

		// Timeouts.
		{"heartbeat above a third", Java, Options{}, "session.timeout.ms=30000\nheartbeat.interval.ms=10001", []string{"2 warning heartbeat-ratio"}, []string{"30 s ÷ 3 = 10 s, and heartbeat.interval.ms is 10001 ms", "heartbeat.interval.ms=10000"}},
		{"a third", Java, Options{}, "session.timeout.ms=30000\nheartbeat.interval.ms=10000", nil, nil},
		{"heartbeat as long as the session", Java, Options{}, "heartbeat.interval.ms=45000", []string{"1 error heartbeat-ratio"}, []string{"refuses to start"}},
		{"the same in librdkafka", Librdkafka, Options{}, "heartbeat.interval.ms=45000", []string{"1 error heartbeat-ratio"}, []string{"again and again"}},
		{"the default session of 2.8 is 10 s", Java, v(2, 8), "heartbeat.interval.ms=4000", []string{"1 warning heartbeat-ratio"}, []string{"10 s ÷ 3"}},
		{"negative heartbeat", Java, Options{}, "heartbeat.interval.ms=-1", []string{"1 error heartbeat-ratio"}, []string{"not negative"}},
		{"below the broker's minimum", Java, Options{}, "session.timeout.ms=45\nheartbeat.interval.ms=3", []string{"1 error session-bounds"}, []string{"45 ms is below", "it is in milliseconds"}},
		{"above the broker's maximum", Java, Options{}, "session.timeout.ms=1800001\nmax.poll.interval.ms=9000000", []string{"1 error session-bounds", "1 advice session-length"}, []string{"1800001 ms is above", "30 min (Kafka's defaults)"}},
		{"the broker's file counts", Java, Options{Bounds: Bounds{MinMS: 60000, MaxMS: 90000, From: "b"}}, "session.timeout.ms=45000", []string{"1 error session-bounds"}, []string{"1 min (b)"}},
		{"short session", Java, Options{}, "session.timeout.ms=9000\nheartbeat.interval.ms=3000", []string{"1 advice session-length"}, []string{"9 s − 3 s = 6 s"}},
		{"session above poll limit", Java, Options{}, "max.poll.interval.ms=30000", []string{"1 warning session-poll"}, nil},
		{"librdkafka refuses that", Librdkafka, Options{}, "max.poll.interval.ms=30000", []string{"1 error session-poll"}, []string{"refuses to start"}},
		{"fetch longer than a request", Java, Options{}, "group.id=g\nfetch.max.wait.ms=30000", []string{"2 error request-timeout"}, []string{"fetch.max.wait.ms=500"}},
		{"delivery too short", Java, v(4, 0), "acks=all\ndelivery.timeout.ms=30000", []string{"2 error request-timeout"}, []string{"delivery.timeout.ms=30005"}},
		{"just long enough before 4.0", Java, v(3, 9), "acks=all\ndelivery.timeout.ms=30000", nil, nil},
		{"KIP-848 with client timeouts", Java, Options{}, "group.protocol=consumer\nsession.timeout.ms=45000\nheartbeat.interval.ms=90000", []string{"2 error group-protocol", "3 error group-protocol"}, []string{"the broker decides"}},
		{"KIP-848, ignored", Java, v(3, 9), "group.protocol=consumer\nsession.timeout.ms=45000", []string{"2 error group-protocol"}, []string{"a client of 3.9 ignores it: the broker"}},
		{"KIP-848, refused", Java, v(4, 0), "group.protocol=consumer\nsession.timeout.ms=45000", []string{"2 error group-protocol"}, []string{"a client of 4.0 refuses to start: the broker"}},
		{"KIP-848, librdkafka", Librdkafka, v(3, 9), "group.protocol=consumer\nsession.timeout.ms=45000", []string{"2 error group-protocol"}, []string{"consumer librdkafka refuses to start: the broker"}},
		{"KIP-848 too early", Java, v(3, 6), "group.protocol=CONSUMER", []string{"1 warning newer-key", "1 error group-protocol"}, nil},
		{"static member", Java, Options{}, "group.instance.id=a", []string{"1 advice static-member", "1 advice static-member"}, nil},
		{"static member of the pod", Java, Options{}, "group.instance.id=${POD}", []string{"1 advice static-member"}, []string{"5 min + 45 s = 5 min 45 s"}},

		// Poll budget.
		{"fits", Java, per(50 * time.Millisecond), "group.id=g", []string{"1 advice poll-budget"}, []string{"500 records × 50 ms = 25 s, 8 % of max.poll.interval.ms = 5 min", "3,000 records"}},
		{"no line to point at", Java, per(50 * time.Millisecond), "client.id=c", []string{"0 advice poll-budget"}, nil},
		{"negative records", Java, per(50 * time.Millisecond), "max.poll.records=-1", []string{"1 error bad-value"}, nil},
		{"an hour a record", Java, per(time.Hour), "group.id=g", []string{"1 error poll-budget"}, []string{"max.poll.records=1 and max.poll.interval.ms=7200000 or more (1 h × 2)"}},
		{"a record at a time already", Java, per(time.Hour), "max.poll.records=1", []string{"1 error poll-budget"}, []string{"off the thread"}},
		{"a microsecond", Java, per(time.Microsecond), "group.id=g", []string{"1 advice poll-budget"}, []string{"500 records × 1 µs = 500 µs, less than 1 %"}},
		{"no whole millisecond", Java, per(1500 * time.Microsecond), "group.id=g", []string{"1 advice poll-budget"}, []string{"500 records × 1.5 ms = 750 ms"}},
		{"more than half", Java, per(400 * time.Millisecond), "group.id=g", []string{"1 warning poll-budget"}, []string{"3 min 20 s", "max.poll.records=370"}},
		{"too much", Java, per(50 * time.Millisecond), "max.poll.records=10000", []string{"1 error poll-budget"}, []string{"10,000 records × 50 ms = 8 min 20 s, 167 %", "max.poll.records=3000"}},
		{"not one record fits", Java, per(10 * time.Minute), "group.id=g", []string{"1 error poll-budget"}, []string{"off the thread"}},
		{"librdkafka hands out one", Librdkafka, per(50 * time.Millisecond), "group.id=g", []string{"1 advice poll-budget"}, []string{"1 message a call"}},
		{"Streams polls 1,000", Streams, per(50 * time.Millisecond), "application.id=a", []string{"1 advice poll-budget"}, []string{"1,000 records"}},
		{"Streams' prefix", Streams, per(50 * time.Millisecond), "application.id=a\nmain.consumer.max.poll.records=9000", []string{"2 error poll-budget"}, nil},
		{"absurd", Java, per(24 * time.Hour), "max.poll.records=2147483647", []string{"1 error poll-budget"}, nil},

		// Connect, Spring.
		{"a worker's session is 10 s", Connect, Options{}, "group.id=c\nheartbeat.interval.ms=4000", []string{"2 warning heartbeat-ratio"}, []string{"10 s ÷ 3"}},
		{"its sink tasks have their own", Connect, Options{}, "group.id=c\nconsumer.heartbeat.interval.ms=16000", []string{"2 warning heartbeat-ratio"}, []string{"45 s ÷ 3"}},
		{"Spring", Spring, per(time.Second), "server.port=1\nspring.kafka.consumer.max-poll-records=400\nspring.kafka.consumer.heartbeatInterval=20s\nspring.kafka.properties[session.timeout.ms]=45000\nspring.kafka.consumer.properties.nope.x=1", []string{"2 error poll-budget", "3 warning heartbeat-ratio", "5 warning unknown-key"}, nil},

		{"Spring is told Spring's keys", Spring, per(500 * time.Millisecond), "spring.kafka.consumer.group-id=g", []string{"1 warning poll-budget"}, []string{"spring.kafka.consumer.max-poll-records=300:"}},
		{"in the file's own spelling", Spring, per(time.Second), "spring.kafka.properties[max.poll.records]=900", []string{"1 error poll-budget"}, []string{"spring.kafka.properties[max.poll.records]=150:"}},
		{"keys that Spring has no name for", Spring, Options{}, "spring.kafka.consumer.group-id=g\nspring.kafka.consumer.properties.session.timeout.ms=45", []string{"2 error session-bounds"}, []string{"spring.kafka.consumer.properties.session.timeout.ms=45000 or more"}},
		{"of both, one set", Spring, per(time.Hour), "spring.kafka.consumer.max-poll-records=2", []string{"1 error poll-budget"}, []string{"spring.kafka.consumer.max-poll-records=1 and spring.kafka.consumer.properties.max.poll.interval.ms=7200000"}},
		{"a producer's", Spring, v(3, 9), "spring.kafka.producer.properties[delivery.timeout.ms]=3", []string{"1 error request-timeout"}, []string{"spring.kafka.producer.properties[delivery.timeout.ms]=30000 or more"}},
		{"bare in Spring's file", Spring, Options{}, "spring.kafka.consumer.group-id=g\nmax.poll.records=600\nlinger.ms=5\nsecurity.protocol=SSL\nserver.port=1", []string{"2 warning unknown-key", "3 warning unknown-key", "4 warning unknown-key"}, []string{"does nothing here", "spring.kafka.consumer.max-poll-records=…", "spring.kafka.producer.properties.linger.ms=…", "spring.kafka.properties.security.protocol=…", "--allow 'max.poll.records'"}},
		{"bare, and read by own code", Spring, Options{Allow: []string{"max.poll.records"}}, "spring.kafka.consumer.group-id=g\nmax.poll.records=0", nil, nil},

		// Brokers.
		{"slots below the default, and a rest", Broker, Options{}, "max.incremental.fetch.session.cache.slots=10", []string{"1 warning fetch-slots"}, []string{"10 is below the default of 1,000, and from Kafka 3.8 on, holds 8 sessions", "delete the line"}},
		{"slots below 8", Broker, Options{}, "max.incremental.fetch.session.cache.slots=7", []string{"1 error fetch-slots"}, []string{"7 ÷ 8 shards = 0"}},
		{"slots below 8 before shards", Broker, v(3, 7), "max.incremental.fetch.session.cache.slots=7", []string{"1 warning fetch-slots"}, []string{"below the default"}},
		{"no slots", Broker, Options{}, "max.incremental.fetch.session.cache.slots=0", []string{"1 warning fetch-slots"}, []string{"off"}},
		{"a rest is lost", Broker, v(3, 8), "max.incremental.fetch.session.cache.slots=2001", []string{"1 warning fetch-slots", "1 advice fetch-slots"}, []string{"2001 slots hold 2000", "=2008"}},
		{"no rest before shards", Broker, v(3, 7), "max.incremental.fetch.session.cache.slots=2001", []string{"1 advice fetch-slots"}, []string{"rolling restart"}},
		{"many slots", Broker, Options{}, "max.incremental.fetch.session.cache.slots=16000", []string{"1 advice fetch-slots"}, []string{"81.9 MB", "Aiven"}},
		{"beyond any heap", Broker, Options{}, "max.incremental.fetch.session.cache.slots=2147483647", []string{"1 warning fetch-slots"}, []string{"11 TB of heap", "OutOfMemoryError"}},
		{"in the largest heap", Broker, Options{}, "max.incremental.fetch.session.cache.slots=6240000", []string{"1 advice fetch-slots"}, nil},
		{"negative slots", Broker, Options{}, "max.incremental.fetch.session.cache.slots=-1", []string{"1 error bad-value"}, nil},
		{"nobody can join", Broker, Options{}, "group.min.session.timeout.ms=9000\ngroup.max.session.timeout.ms=8000", []string{"1 error broker-bounds"}, []string{"no classic consumer can join"}},
		{"the default session is refused", Broker, Options{}, "group.max.session.timeout.ms=30000", []string{"1 error broker-bounds"}, []string{"45 s cannot join"}},
		{"old clients are refused", Broker, Options{}, "group.min.session.timeout.ms=20000", []string{"1 warning broker-bounds"}, []string{"10 s"}},
		{"the broker refuses to start", Broker, Options{}, "replica.lag.time.max.ms=100", []string{"1 error broker-bounds"}, nil},
		{"KIP-848 bounds", Broker, Options{}, "group.consumer.session.timeout.ms=30000", []string{"1 error broker-bounds"}, []string{"45 s"}},
		{"KIP-848 ratio", Broker, v(4, 0), "group.consumer.min.session.timeout.ms=9000\ngroup.consumer.session.timeout.ms=9000", []string{"2 warning heartbeat-ratio"}, []string{"9 s ÷ 3 = 3 s"}},
	} {
		got := run(t, c.kind, c.o, strings.Split(c.lines, "\n")...)
		if b := brief(got); !slices.Equal(b, slices.Concat([]string{}, c.want)) {
			t.Errorf("%s: %q, want %q\n%+v", c.name, b, c.want, got)
			continue
		}
		all := ""
		for _, f := range got {
			found[f.Check] = true
			all += f.Message + " " + f.Fix + "\n"
		}
		for _, s := range c.says {
			if !strings.Contains(all, s) {
				t.Errorf("%s: %q lacks %q", c.name, all, s)
			}
		}
	}
	for _, c := range Checks() {
		if !found[c.Name] {
			t.Errorf("no case finds %s", c.Name)
		}
		delete(found, c.Name)
	}
	if len(found) > 0 {
		t.Errorf("checks that are not listed: %v", found)
	}
}

// A broker's file beside a client's adds findings and takes none away.
func TestCompanyTakesNothingAway(t *testing.T) {
	for lines, want := range map[string]string{
		"session.timeout.ms=45000\nheartbeat.interval.ms=20000": "heartbeat.interval.ms=10000 or less",
		"session.timeout.ms=45000\nheartbeat.interval.ms=45000": "refuses to start",
		"session.timeout.ms=9000\nheartbeat.interval.ms=4000":   "heartbeat.interval.ms=3000 or less",
		"session.timeout.ms=9000\nheartbeat.interval.ms=3000":   "can cost the membership",
	} {
		alone := run(t, Java, Options{}, strings.Split(lines, "\n")...)
		for _, b := range []Bounds{{6000, 30000, "b"}, {60000, 1800000, "b"}} {
			both := run(t, Java, Options{Bounds: b}, strings.Split(lines, "\n")...)
			for _, f := range alone {
				if !slices.ContainsFunc(both, func(x Finding) bool { return x.Check == f.Check && x.Line == f.Line && x.Severity == f.Severity }) {
					t.Errorf("%q beside %+v: no %s", lines, b, f.Check)
				}
			}
			if b.MaxMS == 30000 && !strings.Contains(fmt.Sprint(both), want) {
				t.Errorf("%q beside %+v: %+v, want %s", lines, b, both, want)
			}
		}
	}
	bounds, ratio := false, false
	for _, f := range run(t, Java, Options{Bounds: Bounds{6000, 30000, "b"}}, "session.timeout.ms=45000", "heartbeat.interval.ms=20000") {
		bounds, ratio = bounds || f.Check == "session-bounds", ratio || f.Check == "heartbeat-ratio"
	}
	if !bounds || !ratio {
		t.Errorf("bounds %v, ratio %v; want both", bounds, ratio)
	}
}

// Files as people have them, with keys of many parts of Kafka: nothing to
// mend, and of the kind that their name says.
func TestCleanFilesStayClean(t *testing.T) {
	for name, kind := range map[string]Kind{"server.properties": Broker, "connect.properties": Connect, "librdkafka.conf": Librdkafka, "consumer.properties": Java} {
		data, err := os.ReadFile("testdata/clean/" + name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(name, data, "")
		if err != nil || d.Kind != kind {
			t.Errorf("%s: %+v %v", name, d, err)
			continue
		}
		for _, o := range []Options{{}, {Version: newest}} {
			for _, f := range Check(d, o) {
				if f.Severity != Advice {
					t.Errorf("%+v", f)
				}
			}
		}
	}
}

// Every check is listed for people, and docs/lint.md has each with its reason.
func TestChecksAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Checks() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.What, c.Why); !strings.Contains(string(page), row) {
			t.Errorf("docs/lint.md lacks the row %s", row)
		}
	}
}

func TestKindIsToldFromTheKeys(t *testing.T) {
	for text, want := range map[string]Kind{
		"bootstrap.servers=a\ngroup.id=b":                        Java,
		"bootstrap.servers=a\nkey.deserializer=x":                Java,
		"metadata.broker.list=a\ngroup.id=b":                     Librdkafka,
		"[default]\nbootstrap.servers=a\n[consumer]\ngroup.id=b": Librdkafka,
		"bootstrap.servers=a\nsecurity.protocol=SASL_SSL\nsasl.mechanisms=PLAIN\nsasl.username=u\nsasl.password=p": Librdkafka,
		"node.id=1\nlisteners=x\nlog.dirs=/d":                                      Broker,
		"broker.id=1\nzookeeper.connect=x":                                         Broker,
		"max.incremental.fetch.session.cache.slots=1":                              Broker,
		"min.incremental.fetch.session.eviction.ms=1":                              Broker,
		"application.id=a\nbootstrap.servers=b\nnum.stream.threads=2":              Streams,
		"bootstrap.servers=b\ngroup.id=c\nconfig.storage.topic=x\nkey.converter=k": Connect,
		"spring.kafka.bootstrap-servers=a\nserver.port=1":                          Spring,
	} {
		d, err := Parse("f", []byte(text), "")
		if err != nil || d.Kind != want {
			t.Errorf("%q: %+v %v, want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"a=1\nb=2", "hello world"} {
		if _, err := Parse("f", []byte(text), ""); !errors.Is(err, ErrKind) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "# nothing\n# more\n", "\n\n"} {
		for _, kind := range []Kind{"", Java, Broker, Librdkafka} {
			if _, err := Parse("f", []byte(text), kind); !errors.Is(err, ErrEmpty) {
				t.Errorf("%q as %q: %v", text, kind, err)
			}
		}
	}
	for text, want := range map[string]string{
		"name=x\nconnector.class=y\nkey.converter=z":                                   "connector's file",
		"clusters=A,B\nA.bootstrap.servers=a\nA->B.enabled=true\nreplication.factor=1": "MirrorMaker",
	} {
		if _, err := Parse("f", []byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	var at *properties.Error
	if _, err := Parse("f", []byte("a=\x00"), ""); !errors.As(err, &at) || at.Line != 1 {
		t.Errorf("no text: %v", err)
	}
}

func TestSessionBoundsOfABroker(t *testing.T) {
	d, err := Parse("server.properties", []byte("node.id=1\nlisteners=x\ngroup.min.session.timeout.ms=7000"), "")
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := d.SessionBounds(); !ok || b != (Bounds{7000, 1800000, "server.properties"}) {
		t.Errorf("%+v %v", b, ok)
	}
}

// The table holds what the checks rest on; a regenerated one must too.
func TestKeyTable(t *testing.T) {
	for _, c := range []struct{ role, name, value string }{
		{"consumer", session, "45000"}, {"consumer", heartbeat, "3000"}, {"consumer", interval, "300000"}, {"consumer", records, "500"},
		{"consumer", "fetch.max.wait.ms", "500"}, {"consumer", request, "30000"}, {"connect", session, "10000"},
		{"librdkafka", session, "45000"}, {"librdkafka", interval, "300000"}, {"librdkafka", "socket.timeout.ms", "60000"},
		{"broker", slotsKey, "1000"}, {"broker", "group.min.session.timeout.ms", "6000"}, {"broker", "group.max.session.timeout.ms", "1800000"},
		{"broker", "group.consumer.min.session.timeout.ms", "45000"}, {"producer", "linger.ms", "5"},
	} {
		if k, ok := find([]string{c.role}, c.name); !ok || k.value != c.value {
			t.Errorf("%s %s: %+v, want %s", c.role, c.name, k, c.value)
		}
	}
	for _, role := range []string{"consumer", "producer", "admin", "streams", "connect", "broker", "librdkafka"} {
		if n := len(keyTable()[role]); n < 50 {
			t.Errorf("%s: %d keys", role, n)
		}
	}
	for role, keys := range keyTable() {
		for _, k := range keys {
			if role != "librdkafka" && (!slices.Contains(examined, k.first) || !slices.Contains(examined, k.last)) {
				t.Errorf("%s %s: versions %v to %v were not examined", role, k.name, k.first, k.last)
			}
		}
	}
	if _, ok := find([]string{"broker"}, inventedKey); ok {
		t.Error("the invented key is in the table")
	}
}

// A hostile file costs a bounded time: the search for the nearest key ends.
func TestManyUnknownKeys(t *testing.T) {
	var b strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&b, "max.poll.recordz.of.a.long.name.%d=1\n", i)
	}
	b.WriteString(strings.Repeat("k", 60<<10) + "=1\n")
	if got := run(t, Java, Options{}, b.String()); len(got) != 9001 || len(got[9000].Key) > 1000 {
		t.Errorf("%d findings", len(got))
	}
}

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]Version{"3.9": {3, 9}, "v4.0.1": {4, 0}, "2.4.1.3": {2, 4}} {
		if v, err := ParseVersion(s); err != nil || v != want {
			t.Errorf("%s: %v %v", s, v, err)
		}
	}
	for _, s := range []string{"", "4", "a.b", "-1.2", "3.9-SNAPSHOT", "1.2.3.4.5", "9999.1"} {
		if v, err := ParseVersion(s); err == nil {
			t.Errorf("%q: %v", s, v)
		}
	}
}

// Whatever a file holds, every finding has a place in it and says something.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("group.id=x\nsession.timeout.ms=1\nmax.poll.records=9"), 0)
	f.Add([]byte("max.incremental.fetch.session.cache.slots=7\nlistener.name.=x"), 5)
	f.Add([]byte("spring.kafka.consumer.properties[=1\nspring.kafka.[x]=2"), 1)
	f.Add([]byte("session.timeout.ms=0x\nheartbeat.interval.ms=-08"), 4)
	f.Fuzz(func(t *testing.T, data []byte, kind int) {
		kinds := append([]Kind{""}, Kinds()...)
		k := kinds[uint(kind)%uint(len(kinds))]
		d, err := Parse("f", data, k)
		if err != nil {
			return
		}
		for _, x := range Check(d, Options{PerRecord: 50 * time.Millisecond, Version: Version{kind & 7, kind & 15}}) {
			if x.Message == "" || x.Check == "" || x.Line < 0 || x.Line > 0 && x.Column < 1 {
				t.Fatalf("%+v", x)
			}
		}
	})
}
