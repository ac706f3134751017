package playbooks

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/sizing"
)

// unit adds questions to diagnose.Unit.
type unit diagnose.Unit

func (u unit) isText() bool {
	return u == unit(diagnose.UnitText) || u == unit(diagnose.UnitTime)
}

// value is one fact ready to be shown or computed with.
type value struct {
	unit   unit
	number float64
	// exact is the number before rounding; equal to number for facts.
	exact float64
	text  string
}

// values are the facts of one finding by name.
type values map[string]value

// CommonFacts are the facts every playbook may use besides those of its rule.
func CommonFacts() []diagnose.FactSpec {
	return []diagnose.FactSpec{
		{Name: "cluster", Unit: diagnose.UnitText, Meaning: "the cluster's name"},
		{Name: "subject", Unit: diagnose.UnitText, Meaning: "what the finding is about, for example broker 3"},
		{Name: "confidence", Unit: diagnose.UnitText, Meaning: "confirmed, likely, provisional or open"},
		{Name: "next_look_seconds", Unit: diagnose.UnitSeconds, Meaning: "time until the evidence can tell more; the bot may look sooner"},
		{Name: "broker", Unit: diagnose.UnitNone, Meaning: "the broker's id, when the subject is one", Optional: true},
		{Name: "group", Unit: diagnose.UnitText, Meaning: "the group, when the subject is one", Optional: true},
		{Name: "topic", Unit: diagnose.UnitText, Meaning: "the topic, when the subject is one", Optional: true},
		{Name: "decides", Unit: diagnose.UnitText, Meaning: "the observation that would tell the alternatives apart", Optional: true},
		{Name: "rebalance_setting", Unit: diagnose.UnitText, Meaning: "what sets the rebalance timeout in the client's library"},
		{Name: "batch_default", Unit: diagnose.UnitCount, Meaning: "records that a poll returns at most in the client's library, unless it is set; Java's where the library is not known", Optional: true},
		{Name: "alternatives", Unit: diagnose.UnitText, Meaning: "the other causes that could be it, as a list", Optional: true},
	}
}

// factsOf collects the facts of the primary finding of d.
func factsOf(d diagnose.Diagnosis) values {
	f := d.Primary()
	v := values{}
	text := func(name, s string) {
		if s != "" {
			v[name] = value{unit: unit(diagnose.UnitText), text: Clean(s, maxLine)}
		}
	}
	text("cluster", d.Target.Cluster)
	text("subject", f.Subject)
	text("confidence", string(f.Confidence))
	text("decides", strings.TrimRight(strings.TrimSpace(f.Decides), "."))
	text("alternatives", alternatives(f))
	v["next_look_seconds"] = number(diagnose.UnitSeconds, float64(d.NextLookSeconds))
	kind, id, _ := strings.Cut(f.Subject, " ")
	switch kind {
	case "group", "topic":
		text(kind, id)
	case "broker":
		if n, err := strconv.Atoi(id); err == nil {
			v["broker"] = number(diagnose.UnitNone, float64(n))
		}
	}
	for _, x := range f.Facts {
		v[x.Name] = value{unit: unit(x.Unit), number: x.Number, exact: x.Number, text: Clean(x.Text, maxLine)}
	}
	v.addLibrary()
	return v
}

func number(u diagnose.Unit, n float64) value {
	return value{unit: unit(u), number: n, exact: n}
}

func alternatives(f diagnose.Finding) string {
	var names []string
	for _, a := range f.Alternatives {
		names = append(names, headline(a.Class))
	}
	return strings.Join(names, ", ")
}

// env is the environment of expressions. Facts that are missing are not in it.
func (v values) env() map[string]any {
	env := sizing.Functions()
	env["has"] = func(name string) bool { _, ok := v[name]; return ok }
	for name, x := range v {
		if x.unit.isText() {
			env[name] = x.text
		} else {
			env[name] = x.number
		}
	}
	return env
}

// span shows a value: plain digits inside code, for reading elsewhere.
func (x value) span(style Style, exact bool) Span {
	s := Span{Style: style, Text: x.human(exact)}
	if style == Code {
		s.Text = x.raw()
	}
	if x.unit == unit(diagnose.UnitTime) {
		if t, err := time.Parse(time.RFC3339Nano, x.text); err == nil {
			s.Time, s.Text = t, clock(t)
		}
	}
	return s
}

// raw writes a number as one types it into a configuration.
func (x value) raw() string {
	if x.unit.isText() {
		return x.text
	}
	return strconv.FormatFloat(x.number, 'f', -1, 64)
}

func (x value) human(exact bool) string {
	n := x.number
	if exact {
		n = x.exact
	}
	switch diagnose.Unit(x.unit) {
	case diagnose.UnitText, diagnose.UnitTime:
		return x.text
	case diagnose.UnitSeconds:
		return seconds(n)
	case diagnose.UnitMillis:
		return seconds(n / 1000)
	case diagnose.UnitBytes:
		return bytesText(n)
	case diagnose.UnitPercent:
		return digits(n) + " %"
	default:
		return digits(n)
	}
}

// digits writes a number for reading: 1,310, 42.5, 0.64.
func digits(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return "unknown"
	}
	places := 2
	switch a := math.Abs(n); {
	case a >= 100:
		places = 0
	case a >= 10:
		places = 1
	}
	s := strconv.FormatFloat(n, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return grouped(s)
}

// Count writes "1 group" or "1,310 groups".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(strconv.Itoa(n)) + " " + noun + "s"
}

// grouped puts a comma between thousands.
func grouped(s string) string {
	whole, frac, dot := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		return sign + whole + "." + frac
	}
	return sign + whole
}

// Seconds writes a duration the way one says it: 640 ms, 8.1 s, 2 min 10 s, 3 h 5 min.
func Seconds(n float64) string { return seconds(n) }

func seconds(n float64) string {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return "unknown"
	case n < 0:
		return "-" + seconds(-n)
	case n == 0:
		return "0 s"
	case n < 1:
		return digits(n*1000) + " ms"
	case n < 59.95:
		return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + " s"
	}
	t := int64(math.Round(n))
	switch {
	case t < 3600:
		return pair(t/60, "min", t%60, "s")
	case t < 48*3600:
		return pair(t/3600, "h", t%3600/60, "min")
	default:
		return pair(t/86400, "d", t%86400/3600, "h")
	}
}

func pair(a int64, au string, b int64, bu string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, au)
	}
	return fmt.Sprintf("%d %s %d %s", a, au, b, bu)
}

func bytesText(n float64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	i := 0
	for math.Abs(n) >= 1000 && i < len(units)-1 {
		n /= 1000
		i++
	}
	return digits(n) + " " + units[i]
}

// clock writes a moment for a reader whose time zone is not known.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }

// Bytes writes an amount of memory the way one says it: 51.2 MB.
func Bytes(n float64) string { return bytesText(n) }
