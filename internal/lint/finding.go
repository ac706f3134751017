package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// Severity says what a finding means for a build.
type Severity string

// The severities. Errors and warnings fail a build; advice does not.
const (
	// Error: Kafka or the client refuses the file, or it cannot do what it says.
	Error Severity = "error"
	// Warning: it runs and will cost somebody a night.
	Warning Severity = "warning"
	// Advice: worth knowing; may be right as it is.
	Advice Severity = "advice"
)

// Finding is one thing to know about one key.
type Finding struct {
	File string `json:"file"`
	// Part is where in a YAML file the settings stand.
	Part     string   `json:"part,omitempty"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	// Check is the check's stable name, for example heartbeat-ratio.
	Check   string `json:"check"`
	Key     string `json:"key"`
	Message string `json:"message"`
	// Fix is what to do; empty when the message says it.
	Fix string `json:"fix,omitempty"`
	// Source says why: Kafka class, KIP or measurement.
	Source string `json:"source,omitempty"`
}

// Options are what the caller knows beside the file.
type Options struct {
	// Version is the Kafka that reads the file; zero = any from 2.4 on.
	Version Version
	// PerRecord is the time that one record takes to process; 0 = not known.
	PerRecord time.Duration
	// Bounds are the broker's limits for session.timeout.ms.
	Bounds Bounds
	// Allow are keys, or starts of keys that end in *, of the user's own.
	Allow []string
}

// Bounds are group.min.session.timeout.ms and group.max.session.timeout.ms of
// the brokers; the zero value means Kafka's defaults.
type Bounds struct {
	MinMS, MaxMS int64
	// From names the file they stand in; empty for the defaults.
	From string
}

// Version is a Kafka version, 3.9.
type Version struct{ Major, Minor int }

// ParseVersion reads 3.9 or 3.9.2.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	bad := fmt.Errorf("%q is not a Kafka version such as 3.9", s)
	if len(parts) < 2 || len(parts) > 4 {
		return Version{}, bad
	}
	var n [4]int
	for i, p := range parts {
		var err error
		if n[i], err = strconv.Atoi(p); err != nil || n[i] < 0 || n[i] > 1000 {
			return Version{}, bad
		}
	}
	return Version{n[0], n[1]}, nil
}

// Known says that a version was given.
func (v Version) Known() bool { return v != Version{} }

// Before reports whether v is older than major.minor; false when not known.
func (v Version) Before(major, minor int) bool {
	return v.Known() && v.compare(Version{major, minor}) < 0
}

func (v Version) compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// String writes 3.9.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Check reports what is wrong with a file, in the order of its lines.
func Check(d *Doc, o Options) []Finding {
	if d.Skipped != "" {
		return nil
	}
	if !o.Version.Known() {
		o.Version = d.version
	}
	if o.Bounds == (Bounds{}) {
		o.Bounds = Bounds{MinMS: 6000, MaxMS: 1800000}
	}
	c := &checker{doc: d, o: o, out: []Finding{}}
	c.keys()
	if d.Kind == Broker {
		c.broker()
	}
	for _, s := range d.scopes() {
		c.scope = s
		if s.label != "producer" {
			c.consumer(s)
		}
		if s.label != "consumer" {
			c.producer(s)
		}
	}
	slices.SortStableFunc(c.out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return c.out
}

// checker collects the findings of one file.
type checker struct {
	doc *Doc
	o   Options
	out []Finding
	// scope is the client that is looked at.
	scope scope
	// typos counts the keys that a near one was looked for.
	typos int
}

// note is what a check says.
type note struct{ check, message, fix, source string }

func (c *checker) add(sev Severity, s *setting, n note) {
	if s != nil && s.inherited {
		return
	}
	if c.doc.Kind == Spring && c.scope.label != "" {
		n.fix = c.scope.inSpring(n.fix)
	}
	f := Finding{
		File: c.doc.Name, Part: playbooks.Clean(c.doc.Part, 200), Severity: sev, Check: n.check, Message: playbooks.Clean(n.message, 700),
		Fix: playbooks.Clean(n.fix, 400), Source: n.source,
	}
	if c.doc.Line > 0 {
		f.Line, f.Column = c.doc.Line, 1 // the part, where no key is meant
	}
	if s != nil {
		f.Line, f.Column, f.Key = s.Line, s.Column, playbooks.Clean(s.Key, 200)
	}
	c.out = append(c.out, f)
}

// millis writes a time in milliseconds the way one says it, where that is the same
// number: 1800001 ms is not "30 min".
func millis(n int64) string {
	unit := int64(100) // what Seconds rounds to
	switch abs := max(n, -n); {
	case abs < 1000:
		unit = 1
	case abs >= 48*3600_000:
		unit = 3600_000
	case abs >= 3600_000:
		unit = 60_000
	case abs >= 59_950:
		unit = 1000
	}
	if n%unit != 0 {
		return fmt.Sprintf("%d ms", n)
	}
	return playbooks.Seconds(float64(n) / 1000)
}
