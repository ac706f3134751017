package diagnose

import (
	"slices"
	"strings"
)

// maxReasons bounds the subjects named for one excluded class.
const maxReasons = 3

// ruledOut lists the classes that every subject's observation excludes, one
// entry a class. What a finding may be as well is not among them: it speaks of
// something that was not looked at.
func (t tally) ruledOut(found []Finding) []RuledOut {
	out := []RuledOut{}
	for _, c := range t.classes() {
		if slices.ContainsFunc(found, func(f Finding) bool { return f.mayBe(c) }) {
			continue
		}
		if because, ok := t.excluded(c); ok {
			out = append(out, RuledOut{Class: c, Because: because})
		}
	}
	return out
}

func (f Finding) mayBe(c Class) bool {
	return slices.ContainsFunc(f.Alternatives, func(a Alternative) bool { return a.Class == c })
}

// classes lists the classes that answered, in the order of the rules.
func (t tally) classes() []Class {
	var out []Class
	for _, v := range t {
		if !slices.Contains(out, v.rule.Class) {
			out = append(out, v.rule.Class)
		}
	}
	return out
}

func (t tally) excluded(c Class) (string, bool) {
	var subjects, reasons []string
	for _, v := range t {
		if v.rule.Class != c {
			continue
		}
		if v.Answer != No {
			return "", false
		}
		subjects = append(subjects, v.Subject)
		reasons = append(reasons, v.Because)
	}
	if len(reasons) == 1 {
		return reasons[0], true
	}
	more := len(reasons) - maxReasons
	var parts []string
	for i := range min(len(reasons), maxReasons) {
		parts = append(parts, subjects[i]+": "+reasons[i])
	}
	if more > 0 {
		parts = append(parts, plural(more, "more alike", "more alike"))
	}
	return strings.Join(parts, "; "), true
}
