package lint

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/properties"
)

// setting is an entry with the Kafka key it means.
type setting struct {
	properties.Entry
	// name is the key without prefixes, in Kafka's spelling.
	name string
	// scope is the client that a prefix speaks of: consumer, producer, …; empty
	// for all.
	scope string
	// foreign says that the key is not Kafka's at all (other keys of Spring).
	foreign bool
	// misplaced says that it is Kafka's key where Spring does not look for it, bare
	// that nothing of Spring's stands before it.
	misplaced, bare bool
	// inherited says that it stands in another document of the file, where it is
	// checked.
	inherited bool
	// duration says that the value is a Spring duration.
	duration bool
}

// prefixes by kind, the longest first (StreamsConfig, WorkerConfig).
var prefixes = map[Kind][][2]string{
	Streams: {
		{"main.consumer.", "consumer"}, {"restore.consumer.", "restore"}, {"global.consumer.", "global"}, {"consumer.", "consumer"},
		{"producer.", "producer"}, {"admin.", "admin"},
	},
	Connect: {{"consumer.override.", "consumer"}, {"producer.override.", "producer"}, {"consumer.", "consumer"}, {"producer.", "producer"}, {"admin.", "admin"}},
}

// springNames are Spring Boot's own names (KafkaProperties.Consumer) of keys
// that are looked at here.
var springNames = map[string]string{
	"bootstrapservers": "bootstrap.servers", "groupid": "group.id", "clientid": "client.id", "autooffsetreset": "auto.offset.reset",
	"enableautocommit": "enable.auto.commit", "autocommitinterval": "auto.commit.interval.ms", "fetchmaxwait": "fetch.max.wait.ms",
	"heartbeatinterval": "heartbeat.interval.ms", "maxpollrecords": "max.poll.records", "maxpollinterval": "max.poll.interval.ms",
}

var springKey = regexp.MustCompile(`^spring\.kafka\.(?:(consumer|producer|admin|streams)\.)?(?:properties(?:\.|\[)([^\]]+)\]?|([A-Za-z-]+))$`)

// springDotted are Kafka's own keys without properties before them.
var springDotted = regexp.MustCompile(`^spring\.kafka\.(?:(consumer|producer|admin|streams)\.)?([a-z]+(?:\.[a-z]+)+)$`)

func newSetting(kind Kind, e properties.Entry) *setting {
	s := &setting{Entry: e, name: e.Key}
	switch kind {
	case Spring:
		s.spring()
	case Broker:
		if rest, ok := strings.CutPrefix(s.name, "listener.name."); ok {
			s.listener(rest)
		}
	default:
		for _, p := range prefixes[kind] {
			if rest, ok := strings.CutPrefix(s.name, p[0]); ok && !known(kind.roles()[:1], s.name) {
				s.name, s.scope = rest, p[1]
				break
			}
		}
	}
	return s
}

// spring reads spring.kafka.… in its kebab, camel and [bracket] spellings.
func (s *setting) spring() {
	m := springKey.FindStringSubmatch(s.Key)
	if m == nil {
		s.foreign = true
		if m := springDotted.FindStringSubmatch(s.Key); m != nil && known(Spring.roles(), m[2]) {
			s.scope, s.name, s.foreign, s.misplaced = m[1], m[2], false, true
		}
		if bareKey(s.Key) {
			s.foreign, s.misplaced, s.bare = false, true, true
		}
		return
	}
	s.scope = m[1]
	if m[2] != "" {
		s.name = m[2]
		return
	}
	name, ok := springNames[strings.ToLower(strings.ReplaceAll(m[3], "-", ""))]
	s.name, s.foreign, s.duration = name, !ok, strings.HasSuffix(name, ".ms")
}

// bareKey says that a key is Kafka's own, as a .properties file of a client has it.
func bareKey(name string) bool { return strings.Contains(name, ".") && known(Spring.roles(), name) }

// springOwn are the keys that Spring Boot has long had names for, in its spelling.
var springOwn = map[string]string{
	"auto.offset.reset": "auto-offset-reset", "enable.auto.commit": "enable-auto-commit", "auto.commit.interval.ms": "auto-commit-interval",
	"fetch.max.wait.ms": "fetch-max-wait", "heartbeat.interval.ms": "heartbeat-interval", "max.poll.records": "max-poll-records",
	"group.id": "group-id", "client.id": "client-id",
}

// springPath is where Spring looks for Kafka's key of a consumer or producer; of
// either when label is empty.
func springPath(label, name string) string {
	at := strings.TrimSuffix("spring.kafka."+label, ".")
	if own, ok := springOwn[name]; ok && label == "consumer" {
		return at + "." + own
	}
	return at + ".properties." + name
}

// springLabel is the client that a key is of, empty when several have it.
func springLabel(name string) string {
	consumer, producer, admin := known([]string{"consumer"}, name), known([]string{"producer"}, name), known([]string{"admin"}, name)
	switch {
	case consumer && !producer && !admin:
		return "consumer"
	case producer && !consumer && !admin:
		return "producer"
	default:
		return ""
	}
}

// assigned is a key that a text says to set.
var assigned = regexp.MustCompile(`[a-z]+(?:\.[a-z]+)+=`)

// inSpring names the keys that a fix sets as the file does, or where Spring looks
// for them: Kafka's own would do nothing.
func (s scope) inSpring(fix string) string {
	return assigned.ReplaceAllStringFunc(fix, func(m string) string {
		name := strings.TrimSuffix(m, "=")
		switch x := s.set[name]; {
		case x != nil:
			return x.Key + "="
		case known(Spring.roles(), name):
			return springPath(s.label, name) + "="
		default:
			return m
		}
	})
}

// listener drops listener.name.NAME. and a SASL mechanism behind it.
func (s *setting) listener(rest string) {
	_, name, ok := strings.Cut(rest, ".")
	if !ok {
		return
	}
	if known([]string{"broker"}, name) {
		s.name, s.scope = name, "listener"
		return
	}
	if _, inner, ok := strings.Cut(name, "."); ok && known([]string{"broker"}, inner) {
		s.name, s.scope = inner, "listener"
	}
}

// placeholder matches values that a deployment fills in later.
var placeholder = regexp.MustCompile(`\$\{|\{\{|\$\(|^\$[A-Za-z_]|^@[\w.]+@$|^%\w+%$|^<.*>$|__[A-Z_]+__`)

func (s *setting) filledLater() bool { return placeholder.MatchString(s.Value) }

// whole reads the value as the kind's software does.
func (s *setting) whole(kind Kind) (int64, bool) {
	v := strings.TrimSpace(s.Value)
	if s.duration {
		if d, err := time.ParseDuration(v); err == nil {
			return d.Milliseconds(), true
		}
	}
	if kind == Librdkafka {
		return strtol(v)
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}

var strtolForm = regexp.MustCompile(`^\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)`)

// strtol reads what librdkafka reads: the leading digits, octal after a 0
// (measured on 2.16: "45s" is 45, "010000" is 4096).
func strtol(v string) (int64, bool) {
	m := strings.TrimSpace(strtolForm.FindString(v))
	if m == "" {
		return 0, false
	}
	digits := strings.TrimLeft(m, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] != 'x' && digits[1] != 'X' {
		end := strings.IndexAny(digits, "89")
		if end > 0 {
			m = m[:len(m)-len(digits)+end]
		}
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(m, "+"), 0, 64)
	return n, err == nil
}

// scope is one client that the file configures: the settings for all with its
// own over them.
type scope struct {
	kind  Kind
	label string
	roles []string
	set   map[string]*setting
}

// base is what the file says without a prefix.
func (d *Doc) base() scope { return d.scopeOf("", d.Kind.roles()) }

func (d *Doc) scopeOf(label string, roles []string) scope {
	s := scope{kind: d.Kind, label: label, roles: roles, set: map[string]*setting{}}
	inherit := d.Kind != Connect || label == ""
	for _, own := range []bool{false, true} {
		for _, x := range d.settings {
			if !x.foreign && !x.misplaced && (own && label != "" && x.scope == label || !own && x.scope == "" && inherit) {
				s.set[x.name] = x
			}
		}
	}
	return s
}

// scopes lists the clients in a file.
func (d *Doc) scopes() []scope {
	clients := []string{"consumer", "producer", "admin"}
	switch d.Kind {
	case Broker:
		return nil
	case Streams, Spring:
		return []scope{d.scopeOf("consumer", append([]string{"streams"}, clients...)), d.scopeOf("producer", clients)}
	case Connect:
		return []scope{d.base(), d.scopeOf("consumer", clients), d.scopeOf("producer", clients)}
	default:
		return []scope{d.base()}
	}
}

// number is the value that counts: the file's, or the default. A file's value
// that is no number counts as the default.
func (s scope) number(name string, v Version) int64 {
	if x, ok := s.set[name]; ok && !x.filledLater() {
		if n, ok := x.whole(s.kind); ok {
			return n
		}
	}
	return s.fallback(name, v)
}

// fallback is the default of a key.
func (s scope) fallback(name string, v Version) int64 {
	switch {
	case s.kind == Streams && name == "max.poll.records":
		return 1000 // StreamsConfig.CONSUMER_DEFAULT_OVERRIDES
	case name == "session.timeout.ms" && v.Before(3, 0) && s.roles[0] != "connect" && s.kind != Librdkafka:
		return 10000 // KIP-735
	}
	k, _ := find(s.roles, name)
	n, _ := strconv.ParseInt(k.value, 10, 64)
	return n
}

// text is a value as text, the default where the file is silent.
func (s scope) text(name string) string {
	if x, ok := s.set[name]; ok {
		return strings.TrimSpace(x.Value)
	}
	k, _ := find(s.roles, name)
	return k.value
}

// first returns the first of the keys that the file sets, one of this document
// before one that it inherits: what is wrong with both belongs there.
func (s scope) first(names ...string) *setting {
	var out *setting
	for _, n := range names {
		if x := s.set[n]; x != nil && (out == nil || out.inherited && !x.inherited) {
			out = x
		}
	}
	return out
}

// unsure says that one of the keys is filled in later, so that nothing can be
// said about it.
func (s scope) unsure(names ...string) bool {
	for _, n := range names {
		if x := s.set[n]; x != nil && x.filledLater() {
			return true
		}
	}
	return false
}
