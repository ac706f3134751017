package playbooks

import (
	"regexp"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Playbooks name client settings and callbacks as Java's client does. Where the
// library of the client is known, the texts say them in its own words: a wording
// replaces the names, and a step may have texts of its own for a library in which
// the thing is different (see [Variant]). Checked against librdkafka 2.12's
// CONFIGURATION.md, franz-go 1.22's kgo options, Sarama's config.go, kafka-go's
// ReaderConfig, kafka-python 3.0, aiokafka 0.14 and kafkajs 2.2.

// wording is what one library calls things.
type wording struct {
	// terms are the names of Java's settings and callbacks in this library; what is
	// not in it has the same name or none.
	terms map[string]string
	// before and after stand around a value in milliseconds that is given to a
	// setting, for libraries that do not write name=value.
	before, after string
	// always says that it holds for a text that speaks of Java as well.
	always bool
}

// batchOf500 are the libraries whose poll returns at most 500 records unless it is
// set: Java and kafka-python. aiokafka's getmany() has no limit by default;
// librdkafka's poll() gives one message, and consume() as many as it is asked for.
var batchOf500 = map[diagnose.Library]bool{
	"": true, diagnose.LibraryJava: true, diagnose.LibraryKafkaPython: true,
}

var wordings = map[diagnose.Library]wording{
	diagnose.LibraryLibrdkafka: {terms: map[string]string{
		"onPartitionsRevoked": "the rebalance callback", "CooperativeStickyAssignor": "cooperative-sticky",
	}},
	diagnose.LibraryFranzGo: {before: "(", after: " * time.Millisecond)", terms: map[string]string{
		"session.timeout.ms": "kgo.SessionTimeout", "heartbeat.interval.ms": "kgo.HeartbeatInterval",
		"group.instance.id": "kgo.InstanceID", "partition.assignment.strategy": "kgo.Balancers",
		"onPartitionsRevoked": "kgo.OnPartitionsRevoked", "CooperativeStickyAssignor": "kgo.CooperativeStickyBalancer",
	}},
	diagnose.LibrarySarama: {before: " = ", after: " * time.Millisecond", terms: map[string]string{
		"session.timeout.ms": "Consumer.Group.Session.Timeout", "heartbeat.interval.ms": "Consumer.Group.Heartbeat.Interval",
		"group.instance.id": "Consumer.Group.InstanceId", "partition.assignment.strategy": "Consumer.Group.Rebalance.GroupStrategies",
		"onPartitionsRevoked": "Cleanup()",
	}},
	diagnose.LibraryKafkaGo: {before: ": ", after: " * time.Millisecond", terms: map[string]string{
		"session.timeout.ms": "ReaderConfig.SessionTimeout", "heartbeat.interval.ms": "ReaderConfig.HeartbeatInterval",
		"partition.assignment.strategy": "ReaderConfig.GroupBalancers",
	}},
	diagnose.LibraryKafkaPython: {terms: pythonTerms(map[string]string{"CooperativeStickyAssignor": "CooperativeStickyAssignor (from 3.0 on)"})},
	diagnose.LibraryAiokafka:    {terms: pythonTerms(nil)},
	diagnose.LibraryKafkaJS: {before: ": ", terms: map[string]string{
		"session.timeout.ms": "sessionTimeout", "heartbeat.interval.ms": "heartbeatInterval",
		"partition.assignment.strategy": "partitionAssigners",
	}},
}

// pythonTerms are the settings of the Python libraries: Java's, with underscores.
func pythonTerms(more map[string]string) map[string]string {
	terms := map[string]string{"onPartitionsRevoked": "on_partitions_revoked"}
	for _, name := range []string{
		"session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records",
		"group.instance.id", "partition.assignment.strategy",
	} {
		terms[name] = strings.ReplaceAll(name, ".", "_")
	}
	for name, term := range more {
		terms[name] = term
	}
	return terms
}

// term is a word that may be a name of Java's.
var term = regexp.MustCompile(`[A-Za-z]+(?:\.[A-Za-z]+)*`)

// in says a template in the words of a library. Values are put in later, so that
// nothing from outside is ever taken for a name.
func (w wording) in(t template) template {
	if len(w.terms) == 0 || t.saysJava() && !w.always {
		return t
	}
	var out template
	for i, s := range t {
		if s.name != "" {
			out = append(out, s)
			continue
		}
		text, given := s.text, ""
		if i+1 < len(t) && t[i+1].name != "" {
			text, given = w.assigned(text)
		}
		s.text = term.ReplaceAllStringFunc(text, func(word string) string {
			if own, ok := w.terms[word]; ok {
				return own
			}
			return word
		}) + given
		out = append(out, s)
		if given != "" && w.after != "" {
			out = append(out, t[i+1], segment{text: w.after, style: s.style})
			return append(out, w.in(t[i+2:])...)
		}
	}
	return out
}

// saysJava says that a text names its names as Java's.
func (t template) saysJava() bool {
	for _, s := range t {
		if s.name == "" && strings.Contains(s.text, "Java") {
			return true
		}
	}
	return false
}

// assigned takes the = of a setting that a value follows off the end of a text, and
// returns what this library writes there instead.
func (w wording) assigned(text string) (rest, given string) {
	name, ok := strings.CutSuffix(text, "=")
	if !ok || w.before == "" {
		return text, ""
	}
	words := term.FindAllString(name, -1)
	if len(words) == 0 || !strings.HasSuffix(name, words[len(words)-1]) || w.terms[words[len(words)-1]] == "" {
		return text, ""
	}
	return name, w.before
}

// ofGroup are the names of settings that a KIP-848 group has in place of its clients:
// a client with group.protocol=consumer refuses to start with the classic ones (Java
// since 4.0) or ignores them. It is a wording of its own, which a text that names
// Java's settings is said in as well.
var ofGroup = wording{always: true, terms: map[string]string{
	"session.timeout.ms": "consumer.session.timeout.ms", "heartbeat.interval.ms": "consumer.heartbeat.interval.ms",
}}

// in is a step in the words of a library and a protocol: a variant of its own where it
// has one, and their names.
func (st step) in(lib diagnose.Library, kip848 bool) step {
	if v := st.variant(lib); v != nil {
		st.title, st.text, st.command, st.avoid, st.why = v.title, v.text, v.command, v.avoid, v.why
	}
	if kip848 {
		st = st.said(ofGroup).inGroup()
	}
	return st.said(wordings[lib])
}

// inGroup puts what a step says of KIP-848 groups over what it says of the library.
func (st step) inGroup() step {
	v := st.kip848
	if v == nil {
		return st
	}
	st.command = v.command
	if v.def.Safety != "" {
		st.safety = v.def.Safety
	}
	if v.def.Title != "" {
		st.title = v.title
	}
	if v.def.Text != "" {
		st.text = v.text
	}
	if v.def.Avoid != nil {
		st.avoid, st.why = v.avoid, v.why
	}
	return st
}

// said is the step in one wording.
func (st step) said(w wording) step {
	for _, t := range []*template{&st.title, &st.text, &st.command, &st.avoid, &st.why, &st.read, &st.shows} {
		*t = w.in(*t)
	}
	st.compute = append([]computed(nil), st.compute...)
	for i := range st.compute {
		st.compute[i].show, st.compute[i].otherwise = w.in(st.compute[i].show), w.in(st.compute[i].otherwise)
	}
	return st
}

// kip848 says that the group of a diagnosis runs by the new protocol.
func (v values) kip848() bool { return v["protocol"].text == "consumer" }

// libraryOf is the library of the client that a diagnosis is about, as far as it is
// known to the rules.
func libraryOf(v values) diagnose.Library { return diagnose.Library(v["library"].text) }

// rebalanceSettings are what sets the rebalance timeout of a member, the longest that
// a rebalance waits for it.
var rebalanceSettings = map[diagnose.Library]string{
	"":                          "max.poll.interval.ms in Java and librdkafka",
	diagnose.LibraryJava:        "max.poll.interval.ms",
	diagnose.LibraryLibrdkafka:  "max.poll.interval.ms",
	diagnose.LibraryFranzGo:     "kgo.RebalanceTimeout",
	diagnose.LibrarySarama:      "Consumer.Group.Rebalance.Timeout",
	diagnose.LibraryKafkaGo:     "ReaderConfig.RebalanceTimeout",
	diagnose.LibraryKafkaPython: "max_poll_interval_ms",
	diagnose.LibraryAiokafka:    "rebalance_timeout_ms",
	diagnose.LibraryKafkaJS:     "rebalanceTimeout",
}

// addLibrary puts in the facts that follow from the library.
func (v values) addLibrary() {
	lib := libraryOf(v)
	v["rebalance_setting"] = value{unit: unit(diagnose.UnitText), text: rebalanceSettings[lib]}
	if batchOf500[lib] {
		v["batch_default"] = number(diagnose.UnitCount, 500)
	}
}
