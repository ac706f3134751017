package diagnose

import (
	"fmt"
	"slices"
	"strings"
)

func undecidedRule() Rule {
	return Rule{
		Class: Undecided,
		Conditions: []string{
			"causes of different families are left, or an observation fits no class that is judged yet, or the sources were blind",
		},
		Source: "docs/adr/0002: honest doubt names the candidates and the observation that decides",
		Provides: []FactSpec{
			{Name: "absent", Unit: UnitText, Meaning: "yes when what was asked about is not there", Optional: true},
			{Name: "down", Unit: UnitText, Meaning: "yes when it is a broker to which partitions are assigned", Optional: true},
			{Name: "candidates", Unit: UnitText, Meaning: "the classes that are left, by code, with commas", Optional: true},
			{Name: "blind", Unit: UnitText, Meaning: "yes when nothing odd was seen and too little could be read, else no"},
			{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was checked"},
		},
	}
}

// undecidedFindings turns what no finding accounts for into findings, one a
// subject. A candidate that a rule has excluded is not offered.
func undecidedFindings(f *facts, odd []symptom, t tally) []Finding {
	var out []Finding
	for i, s := range odd {
		if slices.ContainsFunc(odd[:i], func(p symptom) bool { return p.Subject == s.Subject }) {
			continue
		}
		o := Outcome{Answer: Unknown, Subject: s.Subject}
		var texts, decides []string
		for _, x := range odd[i:] {
			if x.Subject != s.Subject {
				continue
			}
			texts = append(texts, x.Text)
			if x.Decides != "" && !slices.Contains(decides, x.Decides) {
				decides = append(decides, x.Decides)
			}
			o.Citations = append(o.Citations, x.Citations...)
			o.Alternatives = addCandidates(o.Alternatives, x, t)
		}
		o.Decides = strings.Join(decides, "; ")
		o.Summary = capital(strings.Join(texts, "; ")) + ". " + doubt(o.Alternatives)
		o.Facts = undecidedFacts(f, o.Alternatives, false)
		out = append(out, finding(Undecided, o, nil))
	}
	return out
}

// addCandidates adds a symptom's candidates that are not excluded yet.
func addCandidates(to []Alternative, s symptom, t tally) []Alternative {
	for _, c := range s.Candidates {
		known := slices.ContainsFunc(to, func(a Alternative) bool { return a.Class == c.Class })
		if known || t.says(c.Class, s.Subject, No) {
			continue
		}
		to = append(to, c)
	}
	return to
}

// says reports whether a class was answered so for a subject.
func (t tally) says(c Class, subject string, a Answer) bool {
	return slices.ContainsFunc(t, func(v verdict) bool {
		return v.rule.Class == c && v.Subject == subject && v.Answer == a
	})
}

func doubt(alternatives []Alternative) string {
	switch len(alternatives) {
	case 0:
		return "This fits no cause known here."
	case 1:
		return "One cause fits, and what could be read does not prove it: " + string(alternatives[0].Class) + "."
	default:
		return fmt.Sprintf("%d causes are left, and what could be read does not separate them.", len(alternatives))
	}
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func undecidedFacts(f *facts, alternatives []Alternative, blind bool) []Fact {
	var codes []string
	for _, a := range alternatives {
		codes = append(codes, string(a.Class))
	}
	out := []Fact{factSeconds("window_seconds", f.window()), factYes("blind", blind)}
	if len(codes) > 0 {
		out = append(out, factText("candidates", strings.Join(codes, ", ")))
	}
	return out
}

// noSubject answers a question about something that is not there. No rule runs:
// nothing wrong with a name nobody uses is no good news.
func noSubject(f *facts) (Outcome, bool) {
	r := f.e.TargetReading
	if r.Status != StatusEmpty && r.Status != StatusUnreachable && r.Status != StatusForbidden {
		return Outcome{}, false
	}
	o := Outcome{
		Answer: Unknown, Subject: targetSubject(f), Summary: capital(r.Error) + ". Nothing was judged.",
		Facts: append(undecidedFacts(f, nil, false), factYes("absent", true), factYes("down", r.Status == StatusUnreachable)),
	}
	o.Decides = "the name as the cluster has it"
	if r.Status == StatusUnreachable {
		o.Decides = "why the broker is down: its process, its host, its log"
	}
	if r.Hint != "" {
		o.Decides += "; the bot " + r.Hint
	}
	return o, true
}

// maxOpen bounds the open classes that a blind answer names.
const maxOpen = 6

// blindUndecided is the answer when nothing was found and too little could be
// read to call it quiet.
func blindUndecided(f *facts, t tally, notQuiet Outcome) Outcome {
	o := Outcome{Answer: Unknown, Subject: targetSubject(f)}
	if fl := f.e.Cluster.Flavour; f.foreign() && len(f.groups()) == 0 {
		o.Summary = "Not applicable: this cluster is " + fl + ", and the classes of fetch sessions are about Apache Kafka."
		o.Facts = undecidedFacts(f, nil, false)
		return o
	}
	blind := f.blindWords(notQuiet)
	for _, v := range t {
		if v.Answer != Unknown {
			continue
		}
		blind = append(blind, f.blindWords(v.Outcome)...)
		if len(o.Alternatives) < maxOpen && !slices.ContainsFunc(o.Alternatives, func(a Alternative) bool { return a.Class == v.rule.Class }) {
			o.Alternatives = append(o.Alternatives, Alternative{Class: v.rule.Class, Because: v.Because})
		}
	}
	blind = unique(blind)
	o.Facts = undecidedFacts(f, o.Alternatives, true)
	if len(blind) == 0 {
		o.Summary = "There was nothing to look at: no broker and no group of this question could be read."
		o.Decides = "a question that names a group or a broker, and sources that answer"
		return o
	}
	o.Summary = "Nothing wrong was seen, but too little could be read to say that all is well. Missing: " + strings.Join(blind, "; ") + "."
	if said, cites := f.checked(); len(said) > 0 {
		o.Citations = cites
		o.Summary = "Nothing wrong was seen in what could be read. " + quietWords(said) + " That does not say that all is well." + stillOpen(o.Alternatives) + " Missing: " + strings.Join(blind, "; ") + "."
	}
	o.Decides = "what could not be read: " + strings.Join(blind, "; ")
	return o
}

// stillOpen names the classes that nothing has excluded.
func stillOpen(alternatives []Alternative) string {
	var codes []string
	for _, a := range alternatives {
		codes = append(codes, string(a.Class))
	}
	if len(codes) == 0 {
		return ""
	}
	return " Still possible: " + strings.Join(codes, ", ") + "."
}

// checked describes the groups asked about of which nobody was seen to come or go:
// what can be said of them although something else is missing.
func (f *facts) checked() (said []string, cites []Citation) {
	for _, g := range f.groups() {
		if _, ok := g.state(); !ok || f.stability(g).changed || f.sideShow(subjectGroup(g.ID)) {
			continue
		}
		words, by := f.groupNormal(g)
		said, cites = append(said, words), append(cites, by...)
	}
	return said, cites
}

// blindWords says what an answer could not read: "slots (forbidden)", or what
// was not in a source that was read.
func (f *facts) blindWords(o Outcome) []string {
	var out []string
	for _, n := range o.Blind {
		r := f.needReading(n, o.Subject)
		words := n.Words() + " (" + r.Known().Words() + ")"
		if r.OK() && o.Because != "" {
			words = o.Because
		}
		out = append(out, words)
	}
	return out
}

// targetSubject names what was asked about.
func targetSubject(f *facts) string {
	t := f.e.Target
	switch {
	case t.Group != "":
		return subjectGroup(t.Group)
	case t.Broker != nil:
		return subjectBroker(*t.Broker)
	case t.Topic != "":
		return "topic " + t.Topic
	case t.Cluster != "":
		return "cluster " + t.Cluster
	default:
		return "cluster"
	}
}
