package lint

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

// inventedKey is what a widely read article calls the eviction age of fetch
// sessions. KIP-227 lists it under constants.
const inventedKey = "min.incremental.fetch.session.eviction.ms"

// counterparts are keys that one client library has under another name than
// the other, Java's first.
var counterparts = [][2]string{
	{"fetch.max.wait.ms", "fetch.wait.max.ms"}, {"request.timeout.ms", "socket.timeout.ms"}, {"sasl.jaas.config", "sasl.username"},
	{"sasl.jaas.config", "sasl.password"}, {"ssl.truststore.location", "ssl.ca.location"}, {"sasl.mechanism", "sasl.mechanisms"},
	{"buffer.memory", "queue.buffering.max.kbytes"}, {"batch.size", "batch.num.messages"}, {"bootstrap.servers", "metadata.broker.list"},
	{"delivery.timeout.ms", "message.timeout.ms"}, {"send.buffer.bytes", "socket.send.buffer.bytes"},
	{"receive.buffer.bytes", "socket.receive.buffer.bytes"}, {"key.deserializer", ""}, {"value.deserializer", ""},
	{"key.serializer", ""}, {"value.serializer", ""}, {"default.api.timeout.ms", ""}, {"max.block.ms", ""}, {"buffer.memory", ""},
}

// pluginPrefixes start keys that serializers, interceptors, callback handlers
// and platforms read from the same file. Kafka hands them on.
var pluginPrefixes = []string{
	"schema.registry.", "basic.auth.", "bearer.auth.", "confluent.", "apicurio.", "spring.", "json.", "avro.", "specific.avro",
	"auto.register.schemas", "use.latest.version", "use.latest.with.metadata", "key.subject.name.strategy", "value.subject.name.strategy",
	"latest.compatibility.strict", "specific.protobuf", "derive.type", "rules.", "rule.executors", "aws.", "glue.", "metrics.", "kafka.metrics.",
	"cruise.control.", "authorizer.", "ranger.", "strimzi.", "oauth.", "opentelemetry.", "rsm.", "rlmm.", "key.converter.", "value.converter.",
	"header.converter.", "plugin.", "config.providers.", "topic.", "principal.builder.", "super.users", "allow.everyone.if.no.acl.found",
}

// pluginRoles are the files whose keys are passed on to code of the user's.
func (c *checker) passesOn() bool { return c.doc.Kind != Librdkafka }

// keys looks at every line by itself.
func (c *checker) keys() {
	seen := map[string]*setting{}
	for _, s := range c.doc.settings {
		if s.foreign || s.inherited || c.allowed(s.Key) {
			continue
		}
		id := s.Section + "\x00" + s.Key
		if first := seen[id]; first != nil {
			counts := "this later line counts"
			if c.doc.yaml {
				counts = "some readers of YAML refuse that, for others this later line counts"
			}
			c.add(Warning, s, note{check: "duplicate-key", message: fmt.Sprintf(
				"stands here twice, first in line %d with %q; %s", first.Line, c.shown(first), counts),
				fix: "keep one of them"})
		}
		seen[id] = s
		k, ok := find(c.doc.Kind.roles(), s.name)
		if !ok || s.misplaced {
			c.unknown(s)
			continue
		}
		c.age(s, k)
		c.value(s, k)
	}
}

var secret = regexp.MustCompile(`password|secret|jaas|credential|token|passphrase|private\.key|\.pem$|keystore\.key`)

// shown is a value as it may be printed.
func (c *checker) shown(s *setting) string {
	if secret.MatchString(strings.ToLower(s.Key)) {
		return "***"
	}
	if r := []rune(s.Value); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s.Value
}

func (c *checker) allowed(name string) bool {
	return slices.ContainsFunc(c.o.Allow, func(a string) bool {
		if start, ok := strings.CutSuffix(a, "*"); ok {
			return strings.HasPrefix(name, start)
		}
		return name == a
	})
}

// unknown says what becomes of a key that is not in the table.
func (c *checker) unknown(s *setting) {
	if s.name == inventedKey {
		c.add(Error, s, note{check: "invented-key",
			message: "no such setting exists. It is a constant of 120 s in the broker; Kafka ignores the key, so it looks set and does nothing",
			fix:     "delete the line; if sessions are thrown out, raise max.incremental.fetch.session.cache.slots",
			source:  "KIP-227 lists it under constants; class FetchSessionCache"})
		return
	}
	sev, effect := Warning, "Kafka does not know this key and ignores it"
	if c.doc.Kind == Librdkafka {
		sev, effect = Error, "librdkafka does not know this key and refuses to start"
	}
	if c.passesOn() && slices.ContainsFunc(pluginPrefixes, func(p string) bool { return strings.HasPrefix(s.name, p) }) {
		return
	}
	n := note{check: "unknown-key", message: effect}
	if s.bare {
		n.message = "it does nothing here: of Kafka's keys Spring reads only those under spring.kafka"
		n.fix = fmt.Sprintf("%s=…; if code of yours reads it, say --allow '%s'", springPath(springLabel(s.name), s.name), s.Key)
		c.add(sev, s, n)
		return
	}
	if s.misplaced {
		n.message, n.fix = "Spring has no such key and ignores it", "did you mean spring.kafka."+strings.TrimPrefix(s.scope+".", ".")+"properties."+s.name+"?"
		c.add(sev, s, n)
		return
	}
	switch near, elsewhere := c.near(s.name), c.elsewhere(s.name); {
	case elsewhere != "":
		n.message += ": " + elsewhere
	case near != "":
		n.fix = fmt.Sprintf("did you mean %s?", near)
	case c.passesOn():
		n.fix = fmt.Sprintf("if code of yours reads it, say --allow '%s'", s.Key)
	}
	c.add(sev, s, n)
}

// elsewhere names the software that a key belongs to.
func (c *checker) elsewhere(name string) string {
	for _, p := range counterparts {
		switch {
		case c.doc.Kind == Librdkafka && name == p[0] && p[1] != "":
			return fmt.Sprintf("it is Java's; librdkafka has %s", p[1])
		case c.doc.Kind == Librdkafka && name == p[0]:
			return "it is Java's; librdkafka has nothing like it"
		case c.doc.Kind != Librdkafka && c.doc.Kind != Broker && name == p[1] && name != "":
			return fmt.Sprintf("it is librdkafka's; Java has %s", p[0])
		}
	}
	for _, k := range []Kind{Java, Broker, Librdkafka, Streams, Connect} {
		own := k.roles()
		if k != Java {
			own = own[:1]
		}
		if k != c.doc.Kind && known(own, name) {
			return fmt.Sprintf("it is a setting of a %s", k.Words())
		}
	}
	return ""
}

// What is looked at for a mistyped key: files are outside text, and comparing
// words is slow.
const (
	maxTypos   = 200
	maxTypoLen = 80
)

// near finds the key that a mistyped one was meant to be.
func (c *checker) near(name string) string {
	if c.typos++; c.typos > maxTypos || len(name) > maxTypoLen {
		return ""
	}
	all := names(c.doc.Kind.roles())
	plain := strings.NewReplacer("_", ".", "-", ".").Replace(strings.ToLower(strings.TrimSpace(name)))
	for _, try := range []string{plain, plain + ".ms", plain + ".bytes", strings.TrimSuffix(plain, ".ms"), plain + ".millis"} {
		if try != name && slices.Contains(all, try) {
			return try
		}
	}
	close := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return len(n)-len(plain) > 2 || len(plain)-len(n) > 2 })
	if best := strictyaml.Nearest(plain, close); best != "" {
		return best
	}
	i := slices.IndexFunc(all, func(n string) bool { return oneWordOff(plain, n) })
	if i < 0 {
		return ""
	}
	return all[i]
}

// oneWordOff says that two keys differ in one word that begins alike:
// group.initial.rebalancing.delay.ms is meant to be …rebalance….
func oneWordOff(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	if len(x) != len(y) || len(x) < 3 {
		return false
	}
	off := 0
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if off++; len(x[i]) < 4 || len(y[i]) < 4 || x[i][:4] != y[i][:4] {
			return false
		}
	}
	return off == 1
}

// age compares the versions that have a key with the one that reads the file.
func (c *checker) age(s *setting, k key) {
	v := c.o.Version
	if c.doc.Kind == Librdkafka {
		if k.mark == "deprecated" {
			c.add(Advice, s, note{check: "deprecated-key", message: "librdkafka marks it as deprecated", source: "librdkafka 2.16, table of properties"})
		}
		return
	}
	switch {
	case v.Known() && v.compare(k.last) > 0 && k.last != newest:
		c.add(Warning, s, note{check: "removed-key", message: fmt.Sprintf("Kafka %s does not know this key: %s was the last that did, as far as examined", v, k.last), fix: "delete the line", source: "ConfigDef of Kafka " + k.last.String() + " and " + after(k.last).String()})
	case v.Known() && v.compare(k.first) < 0 && k.first != oldest && v.compare(before(k.first)) <= 0:
		c.add(Warning, s, note{check: "newer-key", message: fmt.Sprintf("Kafka %s does not know this key yet: %s has no such key, %s does", v, before(k.first), k.first), source: "ConfigDef of these versions"})
	case !v.Known() && k.last != newest:
		c.add(Advice, s, note{check: "removed-key", message: fmt.Sprintf("Kafka %s and newer do not know this key; %s still did", after(k.last), k.last), fix: "delete it before the upgrade; say --kafka-version to check for one version", source: "ConfigDef of these versions"})
	case k.mark == "deprecated":
		c.add(Advice, s, note{check: "deprecated-key", message: "Kafka marks it as deprecated", source: "ConfigDef of Kafka " + k.last.String()})
	}
}

// before is the examined version before v.
func before(v Version) Version {
	if i := slices.Index(examined, v); i > 0 {
		return examined[i-1]
	}
	return oldest
}

// value checks type and bounds the way the software's own parser does.
func (c *checker) value(s *setting, k key) {
	if s.filledLater() {
		return
	}
	v := strings.TrimSpace(s.Value)
	switch k.kind {
	case "int", "long", "short", "integer":
		c.wholeNumber(s, k, v)
	case "double", "float":
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			c.bad(s, fmt.Sprintf("%q is not a number", c.shown(s)))
		}
	case "boolean":
		c.boolean(s, v)
	case "string", "list", "enum value":
		c.word(s, k, v)
	}
}

func (c *checker) bad(s *setting, message string) {
	c.add(Error, s, note{check: "bad-value", message: message, source: map[bool]string{true: "librdkafka 2.16 (measured)", false: "Kafka's ConfigDef"}[c.doc.Kind == Librdkafka]})
}

var decimal = regexp.MustCompile(`^[+-]?[0-9]+$`)

func (c *checker) wholeNumber(s *setting, k key, v string) {
	n, ok := s.whole(c.doc.Kind)
	switch {
	case !ok && decimal.MatchString(v):
		c.bad(s, fmt.Sprintf("%s is too large for any setting", c.shown(s)))
		return
	case !ok:
		c.bad(s, fmt.Sprintf("%q is not a whole number%s", c.shown(s), behind(k.name, v)))
		return
	case c.doc.Kind == Librdkafka && (!decimal.MatchString(v) || strconv.FormatInt(n, 10) != strings.TrimPrefix(v, "+")):
		c.add(Error, s, note{check: "bad-value", message: fmt.Sprintf("librdkafka reads %q as %d and says nothing%s", c.shown(s), n, behind(k.name, v)), source: "librdkafka 2.16 (measured): strtol, which stops at the first character that is no digit and takes a leading 0 for octal"})
	}
	low, high := limits(k)
	if n < low || n > high {
		c.bad(s, fmt.Sprintf("%d is outside %s", n, rangeWords(low, high)))
	}
}

// behind explains a value that people write and Kafka does not read.
func behind(name, v string) string {
	switch {
	case strings.Contains(v, "#") || strings.Contains(v, "//"):
		return ": a comment behind a value is part of it; give it a line of its own"
	case strings.HasSuffix(name, ".ms"):
		return ": write milliseconds, without a unit"
	case strings.HasSuffix(name, ".bytes"):
		return ": write bytes, without a unit"
	default:
		return ""
	}
}

// limits are the bounds of a number, by its own range and its type.
func limits(k key) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	switch k.kind {
	case "int", "integer":
		low, high = math.MinInt32, math.MaxInt32
	case "short":
		low, high = math.MinInt16, math.MaxInt16
	}
	from, to, ok := strings.Cut(k.bounds, "..")
	if !ok {
		return low, high
	}
	if n, err := strconv.ParseInt(from, 10, 64); err == nil {
		low = n
	}
	if n, err := strconv.ParseInt(to, 10, 64); err == nil {
		high = n
	}
	return low, high
}

func rangeWords(low, high int64) string {
	if high >= math.MaxInt32 {
		if low > math.MinInt32 {
			return fmt.Sprintf("its bounds: at least %d, and at most %d", low, high)
		}
		return fmt.Sprintf("what fits the setting: at most %d", high)
	}
	return fmt.Sprintf("its bounds: %d to %d", low, high)
}

func (c *checker) boolean(s *setting, v string) {
	words := []string{"true", "false"}
	if c.doc.Kind == Librdkafka {
		words = append(words, "t", "f", "1", "0")
	}
	if !slices.Contains(words, strings.ToLower(v)) {
		c.bad(s, fmt.Sprintf("%q is neither true nor false", c.shown(s)))
	}
}

// word checks values of a closed list, and comments behind a value.
func (c *checker) word(s *setting, k key, v string) {
	if k.role == "consumer" && k.name == "auto.offset.reset" {
		// A validator of its own since 4.0, so not in the table (KIP-1106).
		if k.bounds = "earliest,latest,none"; strings.HasPrefix(v, "by_duration:") && !c.o.Version.Before(4, 0) {
			return
		}
	}
	if k.bounds != "" && !strings.Contains(k.bounds, "..") {
		options := strings.Split(k.bounds, ",")
		items := []string{v}
		if k.kind == "list" {
			items = strings.Split(v, ",")
		}
		for _, item := range items {
			item = strings.TrimSpace(item)
			same := func(o string) bool { return item == o || c.doc.Kind == Librdkafka && strings.EqualFold(item, o) }
			if item != "" && !slices.ContainsFunc(options, same) {
				c.bad(s, fmt.Sprintf("%q is not one of %s", item, strings.Join(options, ", ")))
			}
		}
		return
	}
	if strings.Contains(v, " #") && !secret.MatchString(s.Key) {
		c.add(Warning, s, note{check: "bad-value", message: "a comment behind a value is part of it", fix: "give the comment a line of its own", source: "java.util.Properties"})
	}
}
