package slack

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Verb is what a command asks for.
type Verb string

// The verbs. A command that names none is a diagnosis.
const (
	VerbDiagnose Verb = "diagnose"
	VerbHelp     Verb = "help"
	VerbList     Verb = "list"
	VerbStatus   Verb = "status"
	VerbPlaybook Verb = "playbook"
)

// Query is a parsed command. At most one of Group, Broker and Topic is set.
type Query struct {
	Verb    Verb
	Group   string
	Broker  *int
	Topic   string
	Cluster string
	// Since is how far to look back; 0 if not said.
	Since time.Duration
	// Class is the class code of `playbook CLASS`, as typed.
	Class string
}

// UsageError says what is wrong with a command and shows one that works. It is
// for the person who typed it.
type UsageError struct {
	Problem string
	Example string
}

func (e *UsageError) Error() string {
	return e.Problem + " Try: " + e.Example
}

// Bounds of a command. Group ids may be longer in Kafka, but nobody types them;
// topic names may have 249 characters.
const (
	maxCommandText = 2000
	maxName        = 255
	maxTopic       = 249
	maxBroker      = 1<<31 - 1
)

const exampleGroup = "/kafka-diagnose group orders since 30m"

// ParseCommand reads the text after /kafka-diagnose (or after a mention):
//
//	[group G | broker N | topic T] [cluster C] [since 30m]
//	help | list | status | playbook CLASS
//
// Names with blanks go in quotes. Errors are *UsageError.
func ParseCommand(text string) (Query, error) {
	if len(text) > maxCommandText {
		return Query{}, usage("That is too long for a command.", exampleGroup)
	}
	words, err := tokens(unescape(text))
	if err != nil {
		return Query{}, err
	}
	if len(words) == 0 {
		return Query{Verb: VerbDiagnose}, nil
	}
	switch verb := Verb(strings.ToLower(words[0])); verb {
	case VerbHelp, VerbList, VerbStatus:
		return alone(verb, words)
	case VerbPlaybook:
		return playbook(words)
	case VerbDiagnose:
		return diagnosis(words[1:])
	}
	return diagnosis(words)
}

func usage(problem, example string) *UsageError {
	return &UsageError{Problem: problem, Example: example}
}

func alone(verb Verb, words []string) (Query, error) {
	if len(words) > 1 {
		return Query{}, usage(fmt.Sprintf("“%s” stands alone; I do not know what to do with %s.", verb, quoted(words[1])), "/kafka-diagnose "+string(verb))
	}
	return Query{Verb: verb}, nil
}

func playbook(words []string) (Query, error) {
	const example = "/kafka-diagnose playbook cache-thrash"
	switch {
	case len(words) < 2:
		return Query{}, usage("Which playbook? Name a class.", example)
	case len(words) > 2:
		return Query{}, usage("One class at a time, please.", example)
	}
	if err := checkName("class", words[1], example); err != nil {
		return Query{}, err
	}
	return Query{Verb: VerbPlaybook, Class: strings.ToLower(words[1])}, nil
}

// keywords take one value each.
var keywords = map[string]func(*Query, string) error{
	"group":   setGroup,
	"broker":  setBroker,
	"topic":   setTopic,
	"cluster": setCluster,
	"since":   setSince,
}

func diagnosis(words []string) (Query, error) {
	q := Query{Verb: VerbDiagnose}
	seen := map[string]bool{}
	for i := 0; i < len(words); i++ {
		key, value, joined := strings.Cut(words[i], "=")
		key = strings.ToLower(key)
		set, known := keywords[key]
		if !known {
			return Query{}, unknownWord(words[i])
		}
		if !joined {
			if i++; i == len(words) {
				return Query{}, usage(fmt.Sprintf("“%s” needs a value after it.", key), example(key))
			}
			value = words[i]
		}
		if seen[key] {
			return Query{}, usage(fmt.Sprintf("“%s” is there twice.", key), example(key))
		}
		seen[key] = true
		if err := set(&q, value); err != nil {
			return Query{}, err
		}
	}
	if len(subjects(q)) > 1 {
		return Query{}, usage(fmt.Sprintf("I look at one thing at a time, not at %s together.", strings.Join(subjects(q), " and ")), exampleGroup)
	}
	return q, nil
}

func subjects(q Query) []string {
	var s []string
	if q.Group != "" {
		s = append(s, "a group")
	}
	if q.Broker != nil {
		s = append(s, "a broker")
	}
	if q.Topic != "" {
		s = append(s, "a topic")
	}
	return s
}

func unknownWord(word string) error {
	if checkName("name", word, exampleGroup) != nil {
		return usage(fmt.Sprintf("I do not understand %s.", quoted(word)), exampleGroup)
	}
	if _, err := strconv.Atoi(word); err == nil {
		return usage(fmt.Sprintf("I do not know what %s is.", quoted(word)), "/kafka-diagnose broker "+word)
	}
	return usage(fmt.Sprintf("I do not know what %s is.", quoted(word)), "/kafka-diagnose group "+requote(clip(word, 60)))
}

func example(key string) string {
	return map[string]string{
		"group":   "/kafka-diagnose group orders",
		"broker":  "/kafka-diagnose broker 3",
		"topic":   "/kafka-diagnose topic payments",
		"cluster": "/kafka-diagnose group orders cluster kafka-prod",
		"since":   exampleGroup,
	}[key]
}

func setGroup(q *Query, v string) error {
	q.Group = v
	return checkName("group", v, example("group"))
}

func setCluster(q *Query, v string) error {
	q.Cluster = v
	return checkName("cluster", v, example("cluster"))
}

func setBroker(q *Query, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > maxBroker {
		return usage(fmt.Sprintf("A broker is named by its id, a number; %s is none.", quoted(v)), example("broker"))
	}
	id := int(n)
	q.Broker = &id
	return nil
}

// topicName is what Kafka allows in topic names.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

func setTopic(q *Query, v string) error {
	if !topicName.MatchString(v) || len(v) > maxTopic || v == "." || v == ".." {
		return usage(fmt.Sprintf("%s is no topic name: those have letters, digits, dots, _ and -, at most %d.", quoted(v), maxTopic), example("topic"))
	}
	q.Topic = v
	return nil
}

func setSince(q *Query, v string) error {
	d, err := diagnose.ParseWindow(v)
	if err != nil {
		return usage(fmt.Sprintf("%s %v.", quoted(strings.ToLower(v)), err), example("since"))
	}
	q.Since = d
	return nil
}

func checkName(what, v, example string) error {
	switch {
	case strings.TrimSpace(v) == "":
		return usage(fmt.Sprintf("The %s is empty.", what), example)
	case len(v) > maxName:
		return usage(fmt.Sprintf("The %s is longer than %d bytes.", what, maxName), example)
	case strings.ContainsFunc(v, func(r rune) bool { return unicode.IsControl(r) || invisible(r) || r == unicode.ReplacementChar }):
		return usage(fmt.Sprintf("The %s has characters that cannot be seen; type it again by hand.", what), example)
	}
	return nil
}

func quoted(s string) string { return "“" + clip(sanitize(s), 60) + "”" }

func requote(s string) string {
	if strings.ContainsAny(s, " \t") {
		return `"` + s + `"`
	}
	return s
}
