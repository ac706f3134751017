package logs

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Fields that many lines share, in the order in which they are tried. A
// pattern's own named group wins.
var (
	groupForms = forms(
		"groupId=", `groupId=([^,\]\s]+)`,
		"group", `\bgroup(?:_?id)?=["']?([^\s"',;)]+)`,
		"Group member (", `Group member \(([^,)]+),`,
		"[Group", `\[Group(?:Id)? ([^\]]+)\]`,
		`Group "`, `Group "([^"]+)"`,
		" group", `(?:to rebalance|Stabilized|removed dynamic members from|joins|has left|in|for|Joined|joined|synced|joining) group:? ['"]?([^\s'",;:()]+)`,
		"Group ", `Group (\S+) (?:with generation|removed|remove)`,
		"group: ", `\bgroup: ([^\s;,]+)`,
		"heartbeat-thread | ", `heartbeat-thread \| ([^\]\s"]+)`,
	)
	clientForms = forms(
		"ReplicaFetcher replicaId=", `(ReplicaFetcher replicaId=\d+, leaderId=\d+, fetcherId=\d+)`,
		"WorkerSinkTask{id=", `WorkerSinkTask\{id=([^}]+)\}`,
		"clientId=", `clientId=([^,\]\s]+)`,
		"#consumer-", `\|([^|\s]+#consumer-\d+)\|`,
		"#consumer-", `\bname=(\S+#consumer-\d+)`,
		"client", `client\.?_?id[=:] ?["']?([^\s"',;]+)`,
		"pod=", `\bpod=(\S+)`,
		"pod/", `\bpod/([\w.-]+)`,
	)
	memberForms = forms(
		"memberId=", `memberId=['"]?([^',"\s)]+)`,
		"member_id", `member_id[= ]["']?([^\s"',;)]+)`,
		"ember ", `(?:Pending member|Member|member) ([\w.+/=-]{4,}) (?:in group|fenced|left|has|sending|temporarily|joins|will|on LeaveGroup|on heartbeat)`,
		"new member", `(?:new member(?: id)?|Adding new member) ([^\s,;()]+)`,
	)
	instanceForms = forms(
		"groupInstanceId=", `groupInstanceId=(?:Some\()?([^,)\]\s]+)`,
		"instanceId=", `instanceId=([^,\]\s]+)`,
		"instance_id=", `instance_id=["']?([^\s"',;]+)`,
		"instance id", `instance id:? ([\w.-]+)`,
		"group instance id Optional[", `group instance id Optional\[([^\]]+)\]`,
	)
	// A broker's id stands alone: what follows "broker:" without a space is a port,
	// and 10 of "broker 10.0.0.7:9092" or "node 7-a" is part of an address or a name.
	nodeForms = forms(
		"ode ", `\b[nN]ode #?(\d+)`+alone, "node=", `\bnode=(\d+)`+alone,
		"roker", `\b[bB]roker(?:[:=]? #?|=)(\d+)`+alone,
		"Server id=", `(?:Broker|Kafka)Server id=(\d+)`+alone, "nodeId=", `nodeId=(\d+)`+alone,
	)
	levels  = regexp.MustCompile(`\b(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b`)
	sources = regexp.MustCompile(`\(([\w.$]+(?:Logging\.scala|\w):\d+)\)|\b([\w./]+\.go:\d+)|\b([A-Z]\w+:\d+) - `)
)

// alone follows a number that no letter, host or port goes on with.
const alone = `(?:[.:-]*[^\w.:-]|[.:-]*$)`

// form is a way to name something: the pattern is tried only where its word
// occurs, since most lines hold few of them.
type form struct {
	word string
	re   *regexp.Regexp
}

// forms takes pairs of a word and a pattern.
func forms(in ...string) []form {
	out := make([]form, 0, len(in)/2)
	for i := 0; i < len(in); i += 2 {
		out = append(out, form{in[i], regexp.MustCompile(in[i+1])})
	}
	return out
}

func first(all []form, text string) string {
	for _, f := range all {
		if !strings.Contains(text, f.word) {
			continue
		}
		if m := f.re.FindStringSubmatch(text); m != nil && !empty(m[1]) {
			return bounded(m[1])
		}
	}
	return ""
}

// empty says that a field holds no name.
func empty(s string) bool {
	if strings.ContainsRune(s, utf8.RuneError) {
		return true // a name with broken bytes would be another name
	}
	switch strings.Trim(s, "'\".") {
	case "", "None", "null", "Optional", "Optional.empty", "none", "nil",
		// Words of prose that stand where a name could.
		"id", "failed", "session", "has", "is", "was", "due", "because", "with", "coordinator", "timed", "management", "and", "the", "to", "member", "request", "in", "for":
		return true
	default:
		return false
	}
}

// maxName bounds names from a line; Kafka's own limit for them is 249.
const maxName = 249

func bounded(s string) string {
	s = strings.Trim(s, `'"`)
	if strings.ContainsAny(s, "=:@ ") {
		s = discreet(s)
	}
	return cut(knownTokens.ReplaceAllString(s, "***"), maxName)
}

// fill sets what the line says about who it concerns.
func fill(f *diagnose.LogFinding, p *pattern, text string) {
	named := map[string]string{}
	if p.re != nil {
		for i, v := range p.re.FindStringSubmatch(text) {
			if n := p.re.SubexpNames()[i]; n != "" && v != "" {
				named[n] = v
			}
		}
	}
	pick := func(name string, from []form) string {
		if v := named[name]; v != "" && !empty(v) {
			return bounded(v)
		}
		return first(from, text)
	}
	f.Group, f.Client = pick("group", groupForms), pick("client", clientForms)
	f.Member, f.Instance = pick("member", memberForms), pick("instance", instanceForms)
	f.Detail = cut(discreet(strings.TrimSpace(named["detail"])), 160)
	if len(f.Member) < 16 && !strings.ContainsAny(f.Member, "-0123456789") {
		f.Member = "" // a word, no id
	}
	if n, err := strconv.ParseInt(pick("node", nodeForms), 10, 32); err == nil && n >= 0 {
		id := int32(n)
		f.Node = &id
	}
	if n, err := strconv.ParseFloat(named["n"], 64); err == nil && n >= 0 && n < 1e15 {
		f.Low = int64(n)
		f.High = f.Low
	}
}

func levelOf(text string) string {
	m := levels.FindString(text[:min(len(text), 160)])
	if m == "WARNING" {
		return "WARN"
	}
	return m
}

func sourceOf(text string) string {
	for _, m := range sources.FindAllStringSubmatch(text, 2) {
		for _, s := range m[1:] {
			if s != "" {
				return cut(s, 120)
			}
		}
	}
	return ""
}
