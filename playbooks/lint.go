package playbooks

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/strictyaml"
)

// Limits of length, in characters before values are put in. A root card has to
// fit one phone screen, so a step is short.
const (
	maxTitle   = 110
	maxText    = 700
	maxAvoid   = 420
	maxVerify  = 360
	maxCommand = 500
	maxMeaning = 240
	maxImpact  = 300
	maxSteps   = 10
)

var stepID = regexp.MustCompile(`^[a-z][a-z0-9-]{1,39}$`)

// Lint reports what is wrong with a set beside the rules it serves: a judged
// class without a playbook, unknown facts, settings that do not exist, steps
// without verify, numbers without arithmetic, and texts that are too long. An
// empty answer means that every step can be shown for every finding.
func Lint(s *Set, rules []diagnose.Rule) []Problem {
	var ps []Problem
	provided := map[diagnose.Class][]diagnose.FactSpec{}
	for _, r := range rules {
		provided[r.Class] = r.Provides
		if _, ok := s.books[r.Class]; !ok {
			ps = append(ps, Problem{File: string(r.Class) + ".yaml", Message: fmt.Sprintf("the class %s is judged and has no playbook", r.Class)})
		}
	}
	for _, pb := range s.List() {
		l := linter{book: s.books[pb.Class], facts: map[string]diagnose.FactSpec{}}
		for _, f := range append(CommonFacts(), provided[pb.Class]...) {
			l.facts[f.Name] = f
		}
		l.lintBook()
		ps = append(ps, l.problems...)
	}
	strictyaml.Sort(ps)
	return ps
}

// linter looks at one playbook.
type linter struct {
	book     *book
	facts    map[string]diagnose.FactSpec
	problems []Problem
}

func (l *linter) add(field, format string, args ...any) {
	l.problems = append(l.problems, l.book.doc.At("$"+field, fmt.Sprintf(format, args...)))
}

func (l *linter) lintBook() {
	l.length(".meaning", l.book.Meaning, maxMeaning)
	l.length(".impact", l.book.Impact, maxImpact)
	if len(l.book.steps) == 0 || len(l.book.steps) > maxSteps {
		l.add(".steps", "a playbook has 1 to %d steps", maxSteps)
	}
	seen := map[string]bool{}
	for i, st := range l.book.steps {
		at := fmt.Sprintf(".steps[%d]", i)
		if !stepID.MatchString(st.def.ID) {
			l.add(at+".id", "an id is 2 to 40 small letters, digits and dashes")
		}
		if seen[st.def.ID] {
			l.add(at+".id", "the id %q stands here twice", st.def.ID)
		}
		seen[st.def.ID] = true
		l.lintStep(at, st)
	}
}

func (l *linter) lintStep(at string, st step) {
	d := st.def
	l.safety(at, d.Safety)
	l.length(at+".title", d.Title, maxTitle)
	l.length(at+".text", d.Text, maxText)
	if len(d.Command) > maxCommand {
		l.add(at+".command", "is longer than %d characters", maxCommand)
	}
	l.lintVerify(at, st)
	if d.Avoid != nil {
		l.length(at+".avoid", d.Avoid.Text+d.Avoid.Why, maxAvoid)
		if d.Avoid.Why == "" || d.Avoid.Text == "" {
			l.add(at+".avoid", "says what not to do (text) and the reason (why)")
		}
	}
	l.lintFacts(at, st)
	l.lintAdvice(at, textsOf(d))
	for i, v := range d.Libraries {
		l.lintVariant(fmt.Sprintf("%s.libraries[%d]", at, i), v)
	}
	if d.KIP848 != nil {
		l.safety(at+".kip848", cmp.Or(d.KIP848.Safety, d.Safety))
		l.lintVariant(at+".kip848", *d.KIP848)
	}
}

func (l *linter) safety(at string, s Safety) {
	if !slices.Contains([]Safety{Look, ChangeClient, ChangeBroker, Restart}, s) {
		l.add(at+".safety", "%q is not a safety level: look, change-client, change-broker or restart", s)
	}
}

func (l *linter) lintVariant(at string, v Variant) {
	if len([]rune(v.Title)) > maxTitle || len([]rune(v.Text)) > maxText || len(v.Command) > maxCommand {
		l.add(at, "its title, text or command is longer than the %d, %d or %d characters that fit the card", maxTitle, maxText, maxCommand)
	}
	if v.Title+v.Text == "" && v.Avoid == nil {
		l.add(at, "says nothing of its own")
	}
	if v.Avoid != nil {
		l.length(at+".avoid", v.Avoid.Text+v.Avoid.Why, maxAvoid)
	}
	l.lintAdvice(at, adviceTexts{v.Title, v.Text, v.Command, v.Avoid})
}

func (l *linter) lintVerify(at string, st step) {
	v := st.def.Verify
	if v == nil {
		l.add(at, "the step %q has no verify: how does one see that it worked?", st.def.ID)
		return
	}
	for _, x := range [][2]string{{".read", v.Read}, {".shows", v.Shows}, {".condition", v.Condition}} {
		if strings.TrimSpace(x[1]) == "" {
			l.add(at+".verify"+x[0], "is missing")
		}
	}
	if v.Wait <= 0 {
		l.add(at+".verify.wait", "is missing: how long after the step can it be seen, for example 5m")
	}
	l.length(at+".verify", v.Read+v.Shows, maxVerify)
}

func (l *linter) length(field, s string, most int) {
	switch n := len([]rune(s)); {
	case strings.TrimSpace(s) == "":
		l.add(field, "is missing")
	case n > most:
		l.add(field, "has %d characters; at most %d fit the card", n, most)
	}
}

// lintAdvice checks names and numbers of settings.
func (l *linter) lintAdvice(at string, t adviceTexts) {
	for _, x := range []struct {
		field, text string
		warns       bool
	}{
		{".title", t.title, false}, {".text", t.text, false}, {".command", t.command, false},
		{".avoid", avoidText(t.avoid), true},
	} {
		for _, name := range settingNames(stripPlaceholders(x.text)) {
			switch {
			case name == inventedSetting && !x.warns:
				l.add(at+x.field, "%s does not exist: it is a constant of 120 s inside the broker. It may only be named under avoid", name)
			case name == inventedSetting || knownSetting(name):
			default:
				l.add(at+x.field, "%s is not a Kafka setting that is known here", name)
			}
		}
		if m := settingNumber.FindStringSubmatch(stripPlaceholders(x.text)); m != nil && !x.warns {
			l.add(at+x.field, "a number for %s must be computed (compute, with show) or come from a fact", m[1])
		}
	}
}

// adviceTexts are the texts that name settings.
type adviceTexts struct {
	title, text, command string
	avoid                *Avoid
}

func textsOf(d *StepDef) adviceTexts { return adviceTexts{d.Title, d.Text, d.Command, d.Avoid} }

func avoidText(a *Avoid) string {
	if a == nil {
		return ""
	}
	return a.Text + " " + a.Why
}

var anyPlaceholder = regexp.MustCompile(`\{[a-z_0-9.]*\}`)

func stripPlaceholders(s string) string {
	return anyPlaceholder.ReplaceAllString(s, "…")
}
