package diagnose

import (
	"cmp"
	"slices"
	"strings"
)

// Classify names the causes. Same evidence and limits, same diagnosis.
//
// All rules run, since an incident may have two causes. What holds becomes a
// finding; symptoms that a finding explains are absorbed; the rest is ranked
// (severity, then independent citations, then code, then subject). What was
// excluded is listed with the observation, what could not be read with the
// classes it leaves open. With no finding left the answer is quiet, if what was
// needed was read and normal, else undecided.
func Classify(e Evidence, l Limits) Diagnosis {
	e = e.Sorted()
	if e.logsOnly() {
		return classifyLogs(e)
	}
	f := newFacts(&e, l)
	if o, absent := noSubject(f); absent {
		return Diagnosis{
			Schema: SchemaVersion, At: e.At, Target: e.Target, Findings: []Finding{finding(Undecided, o, nil)},
			RuledOut: []RuledOut{}, BlindSpots: []BlindSpot{}, NotJudged: []Class{}, NextLookSeconds: defaultNextLook,
		}
	}
	rules := Rules()
	t := judgeAll(f, rules)
	findings := rank(absorb(f, rules, t.findings()))
	odd := unexplained(symptoms(f), findings)
	findings = append(findings, undecidedFindings(f, odd, t)...)
	if len(findings) == 0 {
		findings = []Finding{closing(f, t)}
	}
	return Diagnosis{
		Schema: SchemaVersion, At: e.At, Target: e.Target,
		Findings: findings, RuledOut: t.ruledOut(findings), BlindSpots: t.blindSpots(f, findings),
		NotJudged: []Class{}, Blast: blast(f, findings[0]),
		NextLookSeconds: nextLook(findings, t),
	}
}

// verdict is one rule's answer for one subject.
type verdict struct {
	rule Rule
	Outcome
}

// tally is every answer, in the order of the rules and their subjects.
type tally []verdict

func judgeAll(f *facts, rules []Rule) tally {
	var t tally
	for _, r := range rules {
		if r.Judge == nil {
			continue
		}
		for _, o := range r.Judge(f) {
			t = append(t, verdict{r, o})
		}
	}
	return t
}

// findings are the answers that hold.
func (t tally) findings() []Finding {
	var out []Finding
	for _, v := range t {
		if v.Answer == Yes {
			out = append(out, finding(v.rule.Class, v.Outcome, v.rule.Explains))
		}
	}
	return out
}

func finding(c Class, o Outcome, explains []Class) Finding {
	entry, _ := Lookup(c)
	return Finding{
		Class: c, Family: entry.Family, Headline: entry.Headline, Confidence: o.confidence(),
		Subject: o.Subject, Summary: asFar(c, o), Decides: o.Decides,
		Citations:    append([]Citation{}, o.Citations...),
		Alternatives: append([]Alternative{}, o.Alternatives...),
		Missing:      o.Missing, Explains: explains, Facts: o.Facts,
	}
}

// asFar says a summary as far as the evidence goes: where other causes are open, the
// first one is what it looks like and not what happened.
func asFar(c Class, o Outcome) string {
	if len(o.Alternatives) == 0 || o.Summary == "" || saysItself(c, o.Summary, o.Alternatives) {
		return o.Summary
	}
	head, rest, more := strings.Cut(o.Summary, ". ")
	if !more {
		return "It looks as if " + begun(head)
	}
	return "It looks as if " + begun(head) + ". If so: " + begun(rest)
}

// saysItself names the summaries that are observations and name what is open: a full
// cache, a question, a drop, and a silence whose kinds are listed.
func saysItself(c Class, summary string, open []Alternative) bool {
	switch c {
	case CacheNearLimit, Quiet, Undecided:
		return true
	case SessionTimeout:
		kinds := []Class{ClientUnreachable, ProcessGone, ProcessReplaced, CoordinatorTrouble}
		return !strings.Contains(summary, "was silent for") || !slices.ContainsFunc(open, func(a Alternative) bool { return !slices.Contains(kinds, a.Class) })
	default:
		return false
	}
}

// begun writes the beginning of a sentence as it stands within one: member, not
// Member; GC stays.
func begun(s string) string {
	if len(s) > 1 && (s[1] == ' ' || s[1] >= 'a' && s[1] <= 'z') {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// absorb drops the findings that another one explains.
func absorb(f *facts, rules []Rule, all []Finding) []Finding {
	var out []Finding
	for i, s := range all {
		explained := slices.ContainsFunc(all, func(c Finding) bool {
			return explains(f, rules, c, s)
		})
		if !explained {
			out = append(out, all[i])
		}
	}
	return out
}

func explains(f *facts, rules []Rule, cause, symptom Finding) bool {
	if cause.Class == symptom.Class || !slices.Contains(cause.Explains, symptom.Class) {
		return false
	}
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Class == cause.Class })
	if covers := rules[i].Covers; covers != nil {
		return covers(f, cause, symptom)
	}
	return cause.Subject == symptom.Subject
}

// rank orders findings so that ties are stable.
func rank(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int {
		ea, _ := Lookup(a.Class)
		eb, _ := Lookup(b.Class)
		return cmp.Or(
			cmp.Compare(eb.Severity, ea.Severity),
			cmp.Compare(independent(b), independent(a)),
			cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Subject, b.Subject),
		)
	})
	return all
}

// independent counts the places in the evidence that a finding rests on.
func independent(f Finding) int {
	seen := map[string]bool{}
	for _, c := range f.Citations {
		seen[c.Path] = true
	}
	return len(seen)
}

// closing is the answer when nothing holds and nothing is odd.
func closing(f *facts, t tally) Finding {
	o := quiet(f, t)
	if o.Answer == Yes {
		return finding(Quiet, o, nil)
	}
	return finding(Undecided, blindUndecided(f, t, o), nil)
}

// nextLook is the soonest moment at which one of the findings can have changed.
func nextLook(findings []Finding, t tally) int {
	if findings[0].Class == Quiet {
		return 0
	}
	next := defaultNextLook
	for _, v := range t {
		if v.Answer == Yes && v.NextLookSeconds > 0 && v.rule.Class == findings[0].Class && v.Subject == findings[0].Subject {
			next = v.NextLookSeconds
		}
	}
	return next
}

// defaultNextLook is the first step of the bot's re-look schedule, in seconds.
const defaultNextLook = 60
