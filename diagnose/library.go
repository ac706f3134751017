package diagnose

import (
	"fmt"
	"regexp"
	"strings"
)

// Library is a family of Kafka clients whose settings have names of their own.
type Library string

// The libraries that evidence can name.
const (
	LibraryJava        Library = "java" // Apache Kafka's own, with Spring, Streams and Connect
	LibraryLibrdkafka  Library = "librdkafka"
	LibraryFranzGo     Library = "franz-go"
	LibrarySarama      Library = "sarama"
	LibraryKafkaGo     Library = "kafka-go" // segmentio/kafka-go
	LibraryKafkaPython Library = "kafka-python"
	LibraryAiokafka    Library = "aiokafka"
	LibraryKafkaJS     Library = "kafkajs"
)

// Libraries lists them, the commonest first.
func Libraries() []Library {
	return []Library{
		LibraryJava, LibraryLibrdkafka, LibraryFranzGo, LibrarySarama, LibraryKafkaGo,
		LibraryKafkaPython, LibraryAiokafka, LibraryKafkaJS,
	}
}

// Library is the family that a census entry belongs to, empty when it is not known.
func (s Software) Library() Library {
	n := strings.ToLower(s.Name)
	switch {
	case n == javaSoftware:
		return LibraryJava
	case n == "kgo":
		return LibraryFranzGo
	case strings.HasPrefix(n, "sarama"):
		return LibrarySarama
	case n == "kafka-python":
		return LibraryKafkaPython
	}
	for _, prefix := range rdkafkaSoftware {
		if strings.HasPrefix(n, prefix) {
			return LibraryLibrdkafka
		}
	}
	return ""
}

// rdkafkaSoftware begins the census names of librdkafka and its bindings.
var rdkafkaSoftware = [...]string{"librdkafka", "confluent-kafka-", "rdkafka", "node-rdkafka"}

// witness is one source's word on the library of a member.
type witness struct {
	library Library
	// by says what shows it, for people.
	by string
}

// library is the client library of the lost member, empty when no source shows it or
// two contradict each other.
func (l *loss) library() (Library, string) {
	heard := append(l.libraryHeard(), l.s.libraryShown(l.m)...)
	return agreed(heard)
}

// libraryWords names the library and what shows it: franz-go, by its client id.
func (l *loss) libraryWords() string {
	lib, by := l.library()
	return string(lib) + ", by " + by
}

// agreed is what all witnesses say, in the words of the first.
func agreed(heard []witness) (Library, string) {
	if len(heard) == 0 {
		return "", ""
	}
	for _, w := range heard[1:] {
		if w.library != heard[0].library {
			return "", ""
		}
	}
	return heard[0].library, heard[0].by
}

// libraryHeard is what the client itself says: its log, and metrics that only Java's
// clients have.
func (l *loss) libraryHeard() []witness {
	var out []witness
	if l.client.known {
		out = append(out, witness{LibraryJava, "its metrics"})
	}
	e := l.s.f.e
	if !e.Logs.Usable() {
		return out
	}
	for _, f := range e.LogText.Findings {
		if lib := f.library(l.m.ClientID); lib != "" && l.concerns(f) {
			return append(out, witness{lib, "its log"})
		}
	}
	return out
}

// library is the family that wrote a line. The lines of aiokafka are those of
// kafka-python; its default client id tells.
func (f LogFinding) library(clientID string) Library {
	for _, lib := range Libraries() {
		if f.By != string(lib) {
			continue
		}
		if lib == LibraryKafkaPython && strings.HasPrefix(clientID, "aiokafka-") {
			return LibraryAiokafka
		}
		return lib
	}
	return ""
}

// libraryShown is what the broker shows of a member's library.
func (s *groupStory) libraryShown(m RecordMember) []witness {
	var out []witness
	if lib := clientIDLibrary(m.ClientID, s.g.ID); lib != "" {
		out = append(out, witness{lib, "its client id"})
	}
	if lib := memberIDLibrary(m.ID); lib != "" && !s.classic() {
		out = append(out, witness{lib, "the form of its member id"})
	}
	if lib := assignorLibrary(s.assignor()); lib != "" {
		out = append(out, witness{lib, "the group's assignor " + s.assignor()})
	}
	if b := s.coordinator(); b != nil {
		if lib := b.onlyLibrary(); lib != "" {
			out = append(out, witness{lib, fmt.Sprintf("every connection at broker %d", b.ID)})
		}
	}
	return out
}

// defaultClientIDs are the client ids that libraries take when they are given none.
var defaultClientIDs = map[string]Library{
	"rdkafka": LibraryLibrdkafka, "kgo": LibraryFranzGo, "sarama": LibrarySarama, "kafkajs": LibraryKafkaJS,
}

// versionedID is a default client id of the Python libraries: their name and version.
var versionedID = regexp.MustCompile(`^(kafka-python|aiokafka)-\d+\.\d+`)

// javaID is a client id that Java's consumer makes up without a group in it.
var javaID = regexp.MustCompile(`^(consumer-\d+|connector-consumer-.+-\d+|.+-StreamThread-\d+-consumer)$`)

// clientIDLibrary recognises the client ids that a library makes up. Java's is
// consumer-GROUP-N since 2.4 and consumer-N before, Connect's connector-consumer-NAME-N,
// Streams' APPLICATION-StreamThread-N-consumer.
func clientIDLibrary(id, group string) Library {
	if lib, ok := defaultClientIDs[id]; ok {
		return lib
	}
	if m := versionedID.FindStringSubmatch(id); m != nil {
		return Library(m[1])
	}
	if strings.HasSuffix(id, "(github.com/segmentio/kafka-go)") {
		return LibraryKafkaGo
	}
	if n, ok := strings.CutPrefix(id, "consumer-"+group+"-"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
		return LibraryJava
	}
	if javaID.MatchString(id) {
		return LibraryJava
	}
	return ""
}

// memberIDLibrary recognises KIP-848 member ids, which the client makes: 16 random
// bytes in base64. librdkafka uses the alphabet with + and / (in the recorded runs 15 of
// its 28 ids have one, and none of Java's), franz-go the one of URLs with its padding.
// An id without such a sign tells nothing.
func memberIDLibrary(id string) Library {
	switch {
	case len(id) == 22 && strings.ContainsAny(id, "+/") && !strings.ContainsAny(id, "-_ ."):
		return LibraryLibrdkafka
	case len(id) == 24 && strings.HasSuffix(id, "==") && !strings.ContainsAny(id, "+/ ."):
		return LibraryFranzGo
	default:
		return ""
	}
}

// assignorLibrary recognises assignors that only one library has.
func assignorLibrary(name string) Library {
	switch name {
	case "RoundRobinAssigner":
		return LibraryKafkaJS
	case "stream", "streams":
		return LibraryJava
	default:
		return ""
	}
}

// onlyLibrary is the one library that all connections of a broker come from, apart
// from the bot's. One connection that names no library, or another, leaves it open.
func (b *brokerFacts) onlyLibrary() Library {
	if !b.SoftwareReading.Usable() {
		return ""
	}
	var only Library
	for _, s := range b.Software {
		if s.Name == BotSoftware {
			continue
		}
		lib := s.Library()
		if lib == "" || only != "" && lib != only {
			return ""
		}
		only = lib
	}
	return only
}

// library is the one library of all members listed now, empty when one of them is of
// another or not known.
func (s *groupStory) library() (Library, string) {
	if len(s.seen) == 0 {
		return "", ""
	}
	last := s.seen[len(s.seen)-1]
	var only Library
	var how string
	for _, id := range last.ids {
		lib, by := agreed(s.libraryShown(last.members[id]))
		if lib == "" || only != "" && lib != only {
			return "", ""
		}
		only, how = lib, by
	}
	return only, how
}

// hasPollLimit says whether the library takes a member out that does not poll in time;
// where the library is not known it may.
func (lib Library) hasPollLimit() bool {
	switch lib {
	case LibraryFranzGo, LibrarySarama, LibraryKafkaGo, LibraryKafkaJS:
		return false
	default:
		return true
	}
}
