package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/properties"
)

const strimzi = "apiVersion: kafka.strimzi.io/v1beta2\nkind: "

// What is found in YAML, and where: "line:column severity check" of each
// finding, "part (kind)" of each part.
func TestYAML(t *testing.T) {
	for _, c := range []struct {
		name, text string
		parts      []string
		want       []string
	}{
		{
			"Spring, nested and in brackets",
			"spring:\n  kafka:\n    consumer:\n      max-poll-records: 0\n      properties:\n        \"[max.poll.intervall.ms]\": 5\n        session:\n          timeout.ms: 3000\n",
			[]string{"document in line 1 spring.kafka (spring)"},
			[]string{"4:7 error bad-value", "6:9 warning unknown-key", "8:11 error session-bounds"},
		},
		{
			"Spring in half dotted keys, once",
			"spring.kafka.consumer:\n  properties:\n    session.timeout.ms: 30000\n    heartbeat.interval.ms: 15000\nspring.cloud.stream.kafka.binder.configuration:\n  max.poll.records: 0\n",
			[]string{"document in line 1 spring.kafka (spring)", "document in line 1 spring.cloud.stream.kafka.binder.configuration (java)"},
			[]string{"4:5 warning heartbeat-ratio", "6:3 error bad-value"},
		},
		{
			"an anchor that takes its name anew",
			"a: &a {c: &a {max.poll.records: 0}, d: *a}\n",
			[]string{"document in line 1 a.c (java)", "document in line 1 a.d (java)"},
			[]string{"1:15 error bad-value", "1:15 error bad-value"},
		},
		{
			"an empty file in a ConfigMap",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n  a.properties: |\n    # nothing\n    # more\n  b.properties: |\n    max.poll.records=0\n    group.id=g\n",
			[]string{"ConfigMap app data.a.properties: " + ErrEmpty.Error(), "ConfigMap app data.b.properties (java)"},
			[]string{"9:5 error bad-value"},
		},
		{
			"Spring in dotted keys, in JSON",
			"{\n  \"spring.kafka.consumer.max-poll-records\": 0\n}\n",
			[]string{"document in line 2 spring.kafka (spring)"},
			[]string{"2:3 error bad-value"},
		},
		{
			"a profile stands on what holds for all",
			"spring.kafka.consumer.properties.session.timeout.ms: 30000\n---\nspring:\n  config.activate.on-profile: prod\n  kafka.consumer.properties:\n    heartbeat.interval.ms: 15000\n---\nspring:\n  profiles: slow\n  kafka.consumer.properties:\n    session.timeout.ms: 9000\n",
			[]string{"document in line 1 spring.kafka (spring)", "document in line 3 spring.kafka, profile prod (spring)", "document in line 8 spring.kafka, profile slow (spring)"},
			[]string{"6:5 warning heartbeat-ratio", "11:5 advice session-length"},
		},
		{
			"Strimzi's Kafka, with its version",
			strimzi + "Kafka\nmetadata: {name: é}\nspec:\n  kafka:\n    version: 3.7.1\n    config:\n      max.incremental.fetch.session.cache.slots: 7\n      min.incremental.fetch.session.eviction.ms: 1\n      group.initial.rebalance.delay.ms: 3_000\n",
			[]string{"Kafka é spec.kafka.config (broker)"},
			[]string{"8:7 warning fetch-slots", "9:7 error invented-key"},
		},
		{
			"Strimzi's Connect, MirrorMaker 2 and a connector",
			strimzi + "KafkaConnect\nmetadata: {name: c}\nspec:\n  config:\n    session.timeout.ms: 30000\n    heartbeat.interval.ms: 15000\n---\n" +
				strimzi + "KafkaMirrorMaker2\nmetadata: {name: m}\nspec:\n  clusters:\n    - alias: a\n    - config:\n        consumer.heartbeat.interval.ms: 45000\n  mirrors:\n    - sourceConnector:\n        config:\n          replication.factor: 1\n          source.consumer.max.poll.recordz: 5\n---\n" +
				strimzi + "KafkaConnector\nmetadata: {name: s}\nspec:\n  config:\n    topics: a\n",
			[]string{"KafkaConnect c spec.config (connect)", "KafkaMirrorMaker2 m spec.clusters[1].config (connect)", "KafkaMirrorMaker2 m spec.mirrors[0].sourceConnector.config (connect)", "KafkaConnector s spec.config: a connector's own settings are not checked, only those of its clients (consumer.override.…)"},
			[]string{"7:5 warning heartbeat-ratio", "16:9 error heartbeat-ratio", "21:11 warning unknown-key"},
		},
		{
			"Confluent for Kubernetes",
			"apiVersion: platform.confluent.io/v1beta1\nkind: Kafka\nmetadata: {name: k}\nspec:\n  configOverrides:\n    server:\n      - num.partitions=3\n      - min.incremental.fetch.session.eviction.ms=1\n",
			[]string{"Kafka k spec.configOverrides.server (broker)"},
			[]string{"8:9 error invented-key"},
		},
		{
			"files in a ConfigMap",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n  kafka.properties: |\n    group.id=g\n\n      session.timeout.ms=45s\n  application.yml: |2-\n     spring.kafka.consumer:\n       max-poll-records: 0\n  escaped: \"group.id=g\\nmax.poll.records=0\\n\"\n  crlf.conf: |\r\n    group.id=g\r\n    max.poll.records=0\r\n  note: |\n    nothing\n    here\n",
			[]string{"ConfigMap app data.kafka.properties (java)", "ConfigMap app data.application.yml, document in line 1 spring.kafka (spring)", "ConfigMap app data.escaped (java)", "ConfigMap app data.crlf.conf (java)"},
			[]string{"8:7 error bad-value", "11:8 error bad-value", "12:12 error bad-value", "15:5 error bad-value"},
		},
		{
			"Helm values, with an anchor",
			"a:\n  config: &c\n    bootstrap.servers: a:1\n    session.timeout.ms: 30000\n    heartbeat.interval.ms: 15000\nb:\n  config:\n    <<: *c\n    heartbeat.interval.ms: 1000\n  list:\n    - {max.poll.records: 0, name: x}\nextra: |\n  max.incremental.fetch.session.cache.slots=7\n",
			[]string{"document in line 1 a.config (java)", "document in line 1 b.config (java)", "document in line 1 b.list[0] (java)", "document in line 1 extra (broker)"},
			[]string{"5:5 warning heartbeat-ratio", "11:8 error bad-value", "13:3 error fetch-slots"},
		},
		{
			"a block that is there for others",
			"x-kafka: &k\n  session.timeout.ms: 30000\n  heartbeat.interval.ms: 15000\norders:\n  <<: *k\n  group.id: orders\nbilling:\n  <<: [*k]\n  group.id: billing\n  heartbeat.interval.ms: 1000\n",
			[]string{"document in line 1 x-kafka: a block for others: it is checked where they take it over", "document in line 1 orders (java)", "document in line 1 billing (java)"},
			[]string{"3:3 warning heartbeat-ratio"},
		},
		{
			"Kafka's keys beside Spring's",
			"spring:\n  kafka.consumer.group-id: g\nmax.poll.records: 0\nsession:\n  timeout.ms: 5\nother:\n  max.poll.records: 0\n",
			[]string{"document in line 1 spring.kafka (spring)", "document in line 1 other (java)"},
			[]string{"3:1 warning unknown-key", "5:3 warning unknown-key", "7:3 error bad-value"},
		},
		{
			"a list from kubectl, with what is not read",
			"apiVersion: v1\nkind: List\nitems:\n  - apiVersion: kafka.strimzi.io/v1\n    kind: KafkaTopic\n    metadata: {name: t}\n  - apiVersion: v1\n    kind: Secret\n    metadata: {name: s}\n    data: {a.properties: Zm9v}\n  - apiVersion: kafka.strimzi.io/v1\n    kind: Kafka\n    metadata: {name: k}\n    spec: {kafka: {config: {num.partitions: x}}}\n  - apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: d}\n",
			[]string{"KafkaTopic t: a KafkaTopic has no settings of clients or brokers", "Secret s: what a Secret holds is encoded, and not read", "Kafka k spec.kafka.config (broker)", "Deployment d: no Kafka settings in it"},
			[]string{"14:29 error bad-value"},
		},
		{
			"twice, and as text",
			"config:\n  session.timeout.ms: '9000'\n  session.timeout.ms: \"45000\"\n  max.poll.records: ${N}\n  acks: all\n",
			[]string{"document in line 1 config (java)"},
			[]string{"3:3 warning duplicate-key"},
		},
	} {
		docs, err := ParseAll("f.yaml", []byte(c.text), "")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var parts, got []string
		for _, d := range docs {
			if d.Skipped != "" {
				parts = append(parts, d.Part+": "+d.Skipped)
				continue
			}
			parts = append(parts, fmt.Sprintf("%s (%s)", d.Part, d.Kind))
			for _, f := range Check(d, Options{}) {
				got = append(got, fmt.Sprintf("%d:%d %s %s", f.Line, f.Column, f.Severity, f.Check))
			}
		}
		if !slices.Equal(parts, c.parts) {
			t.Errorf("%s:\n%q, want\n%q", c.name, parts, c.parts)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// What cannot be read says why and where, and what would be.
func TestYAMLThatCannotBeRead(t *testing.T) {
	bomb := "a: &a {max.poll.records: 1}\n"
	for i := range 12 {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", 'b'+i, 'b'+i, strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9), 'a'+i)
	}
	for _, c := range []struct {
		name, text, want string
		line, col        int
	}{
		{"nothing of Kafka's", "name: x\nlist: [1, 2]\n", "holds no Kafka settings that are read (document in line 1: no Kafka settings in it). Read are spring.kafka.…", 0, 0},
		{"another resource", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n", "(Deployment d: no Kafka settings in it)", 0, 0},
		{"empty", "", "holds no Kafka settings that are read", 0, 0},
		{"Strimzi without config", strimzi + "Kafka\nmetadata: {name: k}\n", "nothing in spec.kafka.config, spec.configOverrides.server", 0, 0},
		{"no YAML", "a: b\n c: d\n", "is no valid YAML", 1, 4},
		{"a chart's template", "a: b\nc: {{ .Values.x }}\n", "helm template CHART", 2, 5},
		{"not text", "a: \xff\n", "is not UTF-8", 1, 4},
		{"broken properties inside", "data:\n  k.properties: |\n    group.id=g\n    a=\\u00z\n", `data.k.properties: \u wants four`, 4, 7},
		{"aliases that unfold", bomb, "aliases followed", 0, 0},
		{"an alias of itself", "a: &a\n  b: *a\n", "*a stands inside &a of line 1", 2, 6},
		{"an alias of what is around it, among settings", "x: 1\na: &a {b: &b [*a, *b], group.id: x}\n", "*a stands inside &a of line 2", 2, 15},
		{"brackets", strings.Repeat("[", 5000), "nests more than", 1, 1},
		{"lists in lists", strings.Repeat("- ", 30000) + "a", "nests more than", 1, 1},
		{"files in files", "data:\n  a.yaml: |\n    data:\n      b.yaml: |\n        data:\n          c.yaml: |\n            config: {max.poll.records: 0}\n", "a file in a file in a file is not read", 0, 0},
	} {
		_, err := ParseAll("f.yaml", []byte(c.text), "")
		var at *properties.Error
		if !errors.As(err, &at) || !strings.Contains(at.Message, c.want) || at.Line != c.line || at.Column != c.col {
			t.Errorf("%s: %v, want %d:%d %s", c.name, err, c.line, c.col, c.want)
		}
	}
}

// A file's name tells the format, from standard input its first lines do.
func TestYAMLIsTold(t *testing.T) {
	for text, want := range map[string]bool{
		"a.yml\n": true, "a.JSON\n": true, "values.yaml\n": true, "a.properties\n---\n": false, "a\n---\na: b": true, "stdin\n# c\napiVersion: v1": true,
		"stdin\nspring:\n  kafka:": true, "stdin\n{\n": true, "stdin\nsession.timeout.ms: 5\n": false, "stdin\n[default]\na=b": false, "stdin\nspring.kafka.x=1": false,
	} {
		name, data, _ := strings.Cut(text, "\n")
		if got := isYAML(name, []byte(data)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Whatever a YAML file holds, it is read within bounds, and every finding has a
// place in it.
func FuzzYAML(f *testing.F) {
	f.Add([]byte("spring:\n  kafka:\n    consumer: &a\n      properties: {\"[session.timeout.ms]\": 1}\n    producer: *a\n---\n<<: [*a]\n"), "f.yaml")
	f.Add([]byte(strimzi+"Kafka\nspec: {kafka: {config: {num.partitions: 0x1, a.b: ~}}}"), "f.yaml")
	f.Add([]byte("kind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n    a.properties: |2-\n       max.poll.records=0\n    b.yaml: >\n      config: {acks: 1, retries: 2}\n"), "-")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		docs, err := ParseAll(name, data, "")
		lines := strings.Count(strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n"), "\n") + 1
		var at *properties.Error
		if errors.As(err, &at) && (at.Line > lines || at.Line > 0 && at.Column < 1) {
			t.Fatalf("%v in %d lines", err, lines)
		}
		for _, d := range docs {
			for _, x := range Check(d, Options{PerRecord: 50 * time.Millisecond}) {
				if x.Message == "" || x.Check == "" || x.Line < 0 || x.Line > lines || x.Line > 0 && x.Column < 1 {
					t.Fatalf("%+v in %d lines", x, lines)
				}
			}
		}
	})
}

// What is said of a part without a key of its own stands where the part begins.
func TestAdviceHasALine(t *testing.T) {
	docs, err := ParseAll("f.yaml", []byte("a:\n  config:\n    bootstrap.servers: a:1\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	got := Check(docs[0], Options{PerRecord: 50 * time.Millisecond})
	if len(got) != 1 || got[0].Line != 3 || got[0].Column != 1 {
		t.Errorf("%+v", got)
	}
}
