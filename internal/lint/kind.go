package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/internal/properties"
)

// Kind is what reads a file.
type Kind string

// The kinds.
const (
	Java       Kind = "java"
	Spring     Kind = "spring"
	Streams    Kind = "streams"
	Connect    Kind = "connect"
	Librdkafka Kind = "librdkafka"
	Broker     Kind = "broker"
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Java, Spring, Streams, Connect, Librdkafka, Broker} }

// Words names a kind for people.
func (k Kind) Words() string {
	return map[Kind]string{
		Java: "Java client", Spring: "Spring", Streams: "Kafka Streams", Connect: "Connect worker",
		Librdkafka: "librdkafka client", Broker: "broker",
	}[k]
}

// roles are the tables that a kind's keys stand in, the first first.
func (k Kind) roles() []string {
	clients := []string{"consumer", "producer", "admin"}
	switch k {
	case Librdkafka, Broker:
		return []string{string(k)}
	case Streams, Connect:
		return append([]string{string(k)}, clients...)
	default:
		return clients
	}
}

// Doc is a file that was read.
type Doc struct {
	Name string
	Kind Kind
	// Part says where in a YAML file the settings stand; empty for other files.
	Part string
	// Line is where that is.
	Line int
	// Skipped says why a part of a YAML file is not checked.
	Skipped  string
	settings []*setting
	yaml     bool
	// version is what the file itself names, for example Strimzi's spec.kafka.version.
	version Version
}

// Parse reads a file. An empty kind is told from the keys. The error is a
// *properties.Error, [ErrEmpty], or says that the kind cannot be told.
func Parse(name string, data []byte, kind Kind) (*Doc, error) {
	if kind != "" && !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("the kind %q is not known", kind)
	}
	var err error
	if kind == "" {
		if kind, err = tell(data); err != nil {
			return nil, err
		}
	}
	parse := properties.ParseJava
	if kind == Librdkafka {
		parse = properties.ParsePlain
	}
	entries, err := parse(data)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, ErrEmpty
	}
	d := &Doc{Name: name, Kind: kind}
	for _, e := range entries {
		d.settings = append(d.settings, newSetting(kind, e))
	}
	return d, nil
}

// ErrKind says that no key of a file belongs to Kafka.
var ErrKind = errors.New("no key of Kafka or librdkafka stands in it, so its kind cannot be told: check the name, or say --kind")

// ErrEmpty says that a file has no setting at all, so that nothing was checked.
var ErrEmpty = errors.New("holds no setting: it is empty, or all of it is comments. Check the name, or the command that writes it")

// tell names the kind by keys that only one of them has.
func tell(data []byte) (Kind, error) {
	// Plain first: its rules are looser where a value holds backslashes.
	entries, err := properties.ParsePlain(data)
	if java, jerr := properties.ParseJava(data); jerr == nil {
		entries, err = java, nil
	}
	if err != nil {
		return "", err
	}
	return tellEntries(entries)
}

func tellEntries(entries []properties.Entry) (Kind, error) {
	score := map[Kind]int{}
	for _, e := range entries {
		switch {
		case e.Key == "connector.class":
			return "", errors.New("it is a connector's file; of Connect the worker's is read")
		case strings.Contains(e.Key, "->"):
			return "", errors.New("it looks like MirrorMaker 2's, which is not read")
		}
		for k, n := range votes(e.Key) {
			score[k] += n
		}
	}
	best, most := Java, 0
	for _, k := range []Kind{Spring, Java, Streams, Connect, Librdkafka, Broker} {
		if score[k] > most {
			best, most = k, score[k]
		}
	}
	switch {
	case most > 0:
		return best, nil
	case len(entries) == 0:
		return "", ErrEmpty
	default:
		return "", ErrKind
	}
}

// votes weighs one key: keys that all have count little.
func votes(name string) map[Kind]int {
	out := map[Kind]int{}
	switch {
	case strings.HasPrefix(name, "spring.kafka."):
		return map[Kind]int{Spring: 100}
	case strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]"):
		return map[Kind]int{Librdkafka: 20} // a section, as the tools around librdkafka have them
	}
	have := map[Kind]bool{
		Java: known([]string{"consumer", "producer", "admin"}, name), Librdkafka: known([]string{"librdkafka"}, name),
		Broker: known([]string{"broker"}, name), Streams: known([]string{"streams"}, name), Connect: known([]string{"connect"}, name),
	}
	sharers := 0
	for _, h := range have {
		if h {
			sharers++
		}
	}
	for k, h := range have {
		if !h {
			continue
		}
		out[k] = 1
		if sharers == 1 {
			out[k] = 10
		}
	}
	// Client keys may stand in all files of Java's; they speak for a client.
	if have[Java] {
		out[Java]++
	}
	if name == "application.id" || name == inventedKey {
		out[map[string]Kind{"application.id": Streams, inventedKey: Broker}[name]] += 20
	}
	return out
}

func known(roles []string, name string) bool {
	_, ok := find(roles, name)
	return ok
}

// SessionBounds are a broker file's limits for session.timeout.ms; ok is false
// for other files.
func (d *Doc) SessionBounds() (b Bounds, ok bool) {
	if d.Kind != Broker {
		return Bounds{}, false
	}
	s := d.base()
	b = Bounds{MinMS: s.number("group.min.session.timeout.ms", Version{}), MaxMS: s.number("group.max.session.timeout.ms", Version{}), From: d.Name}
	return b, true
}
