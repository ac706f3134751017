package playbooks

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// in words a template for a library, with 45000 and 45 s as values.
func inWords(t *testing.T, lib diagnose.Library, text string) string {
	t.Helper()
	tpl, err := parseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := wordings[lib].in(tpl).fill(values{
		"ms":   number(diagnose.UnitMillis, 45000),
		"who":  {unit: unit(diagnose.UnitText), text: "session.timeout.ms=1"},
		"many": number(diagnose.UnitCount, 230),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.String()
}

func TestWordings(t *testing.T) {
	for _, tc := range []struct {
		lib      diagnose.Library
		in, want string
	}{
		{diagnose.LibraryJava, "`session.timeout.ms={ms}`", "session.timeout.ms=45000"},
		{diagnose.LibraryLibrdkafka, "`session.timeout.ms={ms}`", "session.timeout.ms=45000"},
		{diagnose.LibraryFranzGo, "Set `session.timeout.ms={ms}`.", "Set kgo.SessionTimeout(45000 * time.Millisecond)."},
		{diagnose.LibraryFranzGo, "`session.timeout.ms={ms}`, then `heartbeat.interval.ms={ms}`", "kgo.SessionTimeout(45000 * time.Millisecond), then kgo.HeartbeatInterval(45000 * time.Millisecond)"},
		{diagnose.LibrarySarama, "session.timeout.ms={ms}", "Consumer.Group.Session.Timeout = 45 s * time.Millisecond"},
		{diagnose.LibrarySarama, "`session.timeout.ms={ms}`", "Consumer.Group.Session.Timeout = 45000 * time.Millisecond"},
		{diagnose.LibraryKafkaPython, "`max.poll.records={many}`", "max_poll_records=230"},
		{diagnose.LibraryKafkaJS, "`session.timeout.ms={ms}`", "sessionTimeout: 45000"},
		{diagnose.LibraryFranzGo, "Leave session.timeout.ms. It is fine.", "Leave kgo.SessionTimeout. It is fine."},
		{diagnose.LibraryFranzGo, "`consumer.session.timeout.ms={ms}` of the group", "consumer.session.timeout.ms=45000 of the group"},
		{diagnose.LibraryFranzGo, "Java's `session.timeout.ms`", "Java's session.timeout.ms"},
		{diagnose.LibraryFranzGo, "{who} was set", "session.timeout.ms=1 was set"}, // a value is never a name
		{diagnose.LibraryAiokafka, "onPartitionsRevoked blocks", "on_partitions_revoked blocks"},
	} {
		if got := strings.ReplaceAll(inWords(t, tc.lib, tc.in), "`", ""); got != tc.want {
			t.Errorf("%s: %q = %q, want %q", tc.lib, tc.in, got, tc.want)
		}
	}
}

// withLibrary gives a diagnosis the fact that the rules provide.
func withLibrary(d diagnose.Diagnosis, lib diagnose.Library) diagnose.Diagnosis {
	d.Findings = slices.Clone(d.Findings)
	f := &d.Findings[0]
	f.Facts = slices.DeleteFunc(slices.Clone(f.Facts), func(x diagnose.Fact) bool { return strings.HasPrefix(x.Name, "library") })
	if lib != "" {
		f.Facts = append(f.Facts, txt("library", string(lib)), txt("library_by", "its client id"))
	}
	return d
}

// The batch of a poll is a setting in two libraries and what the code takes in the
// others; where the library is not known, the name is said to be Java's.
func TestBatchInEachLibrary(t *testing.T) {
	for lib, want := range map[diagnose.Library]string{
		"":                          "Let one poll bring at most 230 records|max.poll.records=230|The line is for Java",
		diagnose.LibraryJava:        "Set max.poll.records=230|max.poll.records=230|stay within half",
		diagnose.LibraryKafkaPython: "Set max_poll_records=230|max_poll_records=230|stay within half",
		diagnose.LibraryLibrdkafka:  "Take at most 230 messages before you poll again||librdkafka (shown by its client id) has no setting for a batch",
		diagnose.LibraryAiokafka:    "Set max_poll_records=230|max_poll_records=230|getmany() returns all it has unless",
	} {
		s, ok := defaultSet(t).Next(withLibrary(pollBreach(), lib), nil)
		if !ok {
			t.Fatalf("%s: no step", lib)
		}
		w := strings.Split(want, "|")
		if strings.ReplaceAll(s.Title, "`", "") != w[0] || s.View.Command != w[1] || !strings.Contains(s.Text, w[2]) {
			t.Errorf("%s: %q, command %q, %s", lib, s.Title, s.View.Command, s.Text)
		}
	}
}

// foreignNames are names that a library does not have.
var foreignNames = map[diagnose.Library]*regexp.Regexp{
	diagnose.LibraryLibrdkafka: regexp.MustCompile(`\bmax\.poll\.records\b|onPartitions|time-between-poll`),
}

// javaNames are names of Java's that are none in Go, Python or JavaScript.
var javaNames = regexp.MustCompile(`(^|[^.\w])(session\.timeout\.ms|heartbeat\.interval\.ms|max\.poll\.(records|interval\.ms)|group\.instance\.id|onPartitionsRevoked)\b`)

// Every step of every verdict of the corpus, said for each library: no name that it
// does not have, unless the text says that it is Java's.
func TestStepsSpeakTheLibrarysWords(t *testing.T) {
	set, seen := defaultSet(t), map[string]bool{}
	for name, d := range corpus(t) {
		c := d.Primary().Class
		if d.Primary().Advice != nil || !providesLibrary(c) || seen[string(c)+factNames(d)] {
			continue
		}
		seen[string(c)+factNames(d)] = true
		for _, lib := range diagnose.Libraries()[1:] {
			if poll := c == diagnose.PollInterval || c == diagnose.PollIntervalStatic; poll && slices.Contains(withoutPollLimit, lib) {
				continue // the rules exclude it
			}
			if p, _ := d.Primary().Fact("protocol"); p.Text == "consumer" && !slices.Contains(speakKIP848, lib) {
				continue // it has no such clients
			}
			foreign := foreignNames[lib]
			if foreign == nil {
				foreign = javaNames
			}
			for _, s := range set.Steps(withLibrary(d, lib)) {
				for _, text := range []string{s.Title, s.Text, s.View.Command, s.View.Avoid.String(), s.View.Arithmetic.String()} {
					if bad := foreign.FindString(text); bad != "" && !strings.Contains(text, "Java") {
						t.Errorf("%s (%s), %s for %s names %s: %s", name, c, s.ID, lib, bad, text)
					}
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d kinds of verdicts were looked at", len(seen))
	}
}

// withoutPollLimit are the libraries whose members are never lost for a slow batch alone.
var withoutPollLimit = []diagnose.Library{diagnose.LibraryFranzGo, diagnose.LibrarySarama, diagnose.LibraryKafkaGo, diagnose.LibraryKafkaJS}

func providesLibrary(c diagnose.Class) bool {
	for _, r := range diagnose.Rules() {
		if r.Class == c {
			return slices.ContainsFunc(r.Provides, func(f diagnose.FactSpec) bool { return f.Name == "library" })
		}
	}
	return false
}

func factNames(d diagnose.Diagnosis) string {
	var names []string
	for _, f := range d.Primary().Facts {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

// classicOnly are what clients of group.protocol=consumer refuse or ignore, in the
// words of every library that speaks KIP-848.
var classicOnly = regexp.MustCompile(`(^|[^.\w])(session\.timeout\.ms|heartbeat\.interval\.ms|partition\.assignment\.strategy)|kgo\.(SessionTimeout|HeartbeatInterval|Balancers)|[Cc]ooperative`)

// speakKIP848 are the libraries that have clients of the new protocol.
var speakKIP848 = []diagnose.Library{diagnose.LibraryJava, diagnose.LibraryLibrdkafka, diagnose.LibraryFranzGo}

// No step for a KIP-848 group, whatever its library, sets what its clients refuse; only
// a warning may name it.
func TestStepsForKIP848Groups(t *testing.T) {
	set, steps, settings := defaultSet(t), 0, 0
	diagnoses := corpus(t)
	all, _ := classified()
	for name, groups := range all.kip848 {
		d := diagnoses[name]
		if !ofKIP848(d, groups) {
			continue
		}
		for _, lib := range append([]diagnose.Library{""}, speakKIP848...) {
			if providesLibrary(d.Primary().Class) {
				d = withLibrary(d, lib)
			}
			for _, s := range set.Steps(d) {
				steps++
				if strings.Contains(s.View.Command, "--add-config consumer.session.timeout.ms=") {
					settings++
				}
				for _, text := range []string{s.Title, s.Text, s.View.Command, s.View.Arithmetic.String()} {
					if bad := classicOnly.FindString(text); bad != "" {
						t.Errorf("%s (%s), step %s for library %q sets %s: %s", name, d.Primary().Class, s.ID, lib, bad, text)
					}
				}
			}
		}
	}
	if steps < 500 || settings < 40 {
		t.Errorf("only %d steps were looked at, %d that set the session of a group", steps, settings)
	}
}

// ofKIP848 says that a diagnosis is about one of these groups, or about a broker and
// these groups only.
func ofKIP848(d diagnose.Diagnosis, groups []string) bool {
	if id, ok := strings.CutPrefix(d.Primary().Subject, "group "); ok {
		return slices.Contains(groups, id)
	}
	f, ok := d.Primary().Fact("groups")
	for id := range strings.SplitSeq(f.Text, ", ") {
		ok = ok && slices.Contains(groups, id)
	}
	return ok
}

// A step of a KIP-848 group sets the group, within what its broker allows; that of a
// classic group its clients.
func TestSessionIsSetByProtocol(t *testing.T) {
	for _, tc := range []struct {
		protocol string
		most     float64
		want     string
	}{
		{"classic", 1800, "session.timeout.ms=45000"},
		{"", 1800, "session.timeout.ms=45000"},
		{"consumer", 60, `kafka-configs.sh --bootstrap-server "$BOOTSTRAP" --alter --entity-type groups --entity-name payments --add-config consumer.session.timeout.ms=45000`},
		{"consumer", 20, `kafka-configs.sh --bootstrap-server "$BOOTSTRAP" --alter --entity-type groups --entity-name payments --add-config consumer.session.timeout.ms=20000`},
		{"consumer", 5, ""}, // the broker takes no longer one
	} {
		d := sessionDoubt()
		f := &d.Findings[0]
		for i := range f.Facts {
			if f.Facts[i].Name == "session_timeout_seconds" {
				f.Facts[i].Number = 6
			}
		}
		f.Facts = append(f.Facts, num("session_max_seconds", diagnose.UnitSeconds, tc.most))
		if tc.protocol != "" {
			f.Facts = append(f.Facts, txt("protocol", tc.protocol))
		}
		got := ""
		for _, s := range defaultSet(t).Steps(d) {
			if s.ID == "default-session" {
				got = s.View.Command
			}
		}
		if got != tc.want {
			t.Errorf("%s, at most %v s: command %q, want %q", tc.protocol, tc.most, got, tc.want)
		}
	}
}

// Nobody whose process was frozen or killed is told that it ran and that the network
// is to blame: only metrics that cover the drop can say so.
func TestFrozenProcessesDidNotKeepPolling(t *testing.T) {
	set, n := defaultSet(t), 0
	for name, d := range corpus(t) {
		if !strings.HasPrefix(name, "session-timeout/run-") && !strings.HasPrefix(name, "process-gone/run-") {
			continue
		}
		n++
		for _, s := range set.Steps(d) {
			if strings.Contains(s.Text, "so it did not stand still") {
				t.Errorf("%s, step %s: %s", name, s.ID, s.Text)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d recorded runs", n)
	}
}
