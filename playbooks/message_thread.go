package playbooks

import (
	"fmt"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Bounds of lists in the thread.
const (
	maxAlerts = 15
	maxNames  = 20
)

// Thread builds the first reply under a root: everything the verdict rests on
// and everything it could not see, all alerts and all steps.
func Thread(v View) Message {
	m := Message{Title: bold("Evidence and steps"), Footer: nil}
	if v.Diagnosis != nil && len(v.Diagnosis.Findings) > 0 {
		m.Details = diagnosisDetails(v)
	}
	m.Details = append(m.Details, alertDetails(v)...)
	f := primary(v)
	what := "Evidence and steps"
	if f.Headline != "" {
		what += " for " + lowerFirst(Clean(f.Headline, maxName))
	}
	m.Text = Clean(fmt.Sprintf("%s: %s. %s", what, commas(subject(v, f)), sentence(f.Summary)), maxOneLine)
	return m
}

func primary(v View) diagnose.Finding {
	if v.Diagnosis == nil {
		return diagnose.Finding{}
	}
	return v.Diagnosis.Primary()
}

// Answer is the private answer to /kafka-diagnose and a mention: the root's
// content and the thread's in one message, with Share.
func Answer(v View) Message {
	m := Root(v)
	m.Buttons = nil
	if v.AnswerID != "" && v.Diagnosis != nil {
		m.Buttons = []Button{{Action: ActionShare, Label: "Share", Value: v.AnswerID, Describe: "Post this answer into the channel"}}
	}
	if v.Diagnosis == nil || len(v.Diagnosis.Findings) == 0 {
		return m
	}
	all := diagnosisDetails(v)
	for _, d := range all {
		// The root part shows the strongest lines and the next step already.
		if d.Title == titleEvidence && len(d.Lines) <= len(m.Evidence) || d.Title == titleSteps && len(d.Lines) < 2 {
			continue
		}
		m.Details = append(m.Details, d)
	}
	return m
}

// Titles of details.
const (
	titleEvidence = "Evidence"
	titleSteps    = "All steps"
)

// diagnosisDetails lists what a diagnosis holds beyond the root.
func diagnosisDetails(v View) []Detail {
	d, f := *v.Diagnosis, v.Diagnosis.Primary()
	var out []Detail
	add := func(title string, lines []Rich) {
		if len(lines) > 0 {
			out = append(out, Detail{Title: title, Lines: lines})
		}
	}
	add("What it means", meaning(v, f))
	add(titleEvidence, sourced(f.Citations))
	add("Also found", otherFindings(d))
	add(alternativesLabel(f), alternativeLines(f))
	add(decidesLabel(f), texts(some(f.Decides)))
	add("Not seen, so not certain", texts(f.Missing))
	add("Ruled out", ruledOut(d))
	add("Not visible", blindSpots(d))
	add("Also affected", blast(d.Blast))
	add(titleSteps, stepLines(v))
	return out
}

func meaning(v View, f diagnose.Finding) []Rich {
	var out []Rich
	if e, ok := diagnose.Lookup(f.Class); ok {
		out = append(out, Rich{{Text: string(f.Class), Style: Code}, {Text: ": " + sentence(e.Meaning)}})
	}
	if v.Impact != "" {
		out = append(out, T(v.Impact))
	}
	return out
}

// sourced is every citation with where it was read.
func sourced(cs []diagnose.Citation) []Rich {
	out := evidence(cs, 0)
	for i, c := range cs {
		if c.Source != "" {
			out[i] = append(out[i], Span{Text: " — "}, Span{Text: Clean(c.Source, maxLine), Style: Code})
		}
	}
	return out
}

func otherFindings(d diagnose.Diagnosis) []Rich {
	var out []Rich
	for _, f := range d.Findings[1:] {
		out = append(out, Rich{
			{Text: Clean(f.Headline, maxName), Style: Bold},
			{Text: fmt.Sprintf(" (%s, %s): %s", Clean(f.Subject, maxName), f.Confidence, Clean(sentence(f.Summary), maxLine))},
		})
	}
	return out
}

func alternativeLines(f diagnose.Finding) []Rich {
	var out []Rich
	for _, a := range f.Alternatives {
		out = append(out, Rich{{Text: headline(a.Class), Style: Bold}, {Text: ": " + Clean(sentence(a.Because), maxLine)}})
	}
	return out
}

func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func texts(in []string) []Rich {
	var out []Rich
	for _, s := range in {
		out = append(out, T(upperFirst(Clean(sentence(s), maxLine))))
	}
	return out
}

func ruledOut(d diagnose.Diagnosis) []Rich {
	var out []Rich
	for _, r := range d.RuledOut {
		out = append(out, Rich{{Text: headline(r.Class), Style: Bold}, {Text: ": " + Clean(sentence(r.Because), maxLine)}})
	}
	return out
}

func blindSpots(d diagnose.Diagnosis) []Rich {
	var out []Rich
	for _, b := range d.BlindSpots {
		r := Rich{{Text: ReadingWords(b), Style: Bold}, {Text: ": " + BlindWords(b)}}
		if len(b.LeavesOpen) > 0 {
			r = append(r, Span{Text: "; " + OpenWords(b)})
		}
		r = append(r, Span{Text: "."})
		if b.Detail != "" {
			r = append(r, Span{Text: " " + upperFirst(Clean(sentence(b.Detail), maxLine))})
		}
		out = append(out, r)
	}
	return out
}

func classList(cs []diagnose.Class) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

func blast(b diagnose.Blast) []Rich {
	var out []Rich
	if len(b.Groups) > 0 {
		out = append(out, T(Count(len(b.Groups), "group")+": "+names(b.Groups)))
	}
	if len(b.Topics) > 0 {
		out = append(out, T(Count(len(b.Topics), "topic")+": "+names(b.Topics)))
	}
	if len(b.Groups) > 0 && b.LagRecords >= 0 {
		out = append(out, T("lag of these groups: "+grouped(fmt.Sprint(b.LagRecords))+" records"))
	}
	if b.OtherGroups != "" {
		out = append(out, T(Clean(b.OtherGroups, maxLine)))
	}
	return out
}

// names lists names from outside, cut at maxNames.
func names(in []string) string {
	var out []string
	for i, s := range in {
		if i == maxNames {
			out = append(out, fmt.Sprintf("+%d more", len(in)-maxNames))
			break
		}
		out = append(out, Clean(s, maxName))
	}
	return strings.Join(out, ", ")
}

func stepLines(v View) []Rich {
	var out []Rich
	for _, s := range v.Steps {
		r := Rich{{Text: fmt.Sprintf("%d. ", s.View.Number)}}
		if v.Step != nil && v.Step.ID == s.ID {
			r = append(r, Span{Text: s.Title, Style: Bold}, Span{Text: " (next)"})
		} else {
			r = append(r, Span{Text: s.Title})
		}
		r = append(r, Span{Text: " — " + s.Safety.Words() + "."})
		if v.Step == nil || v.Step.ID != s.ID { // the root shows the next one whole
			r = append(append(r, Span{Text: " "}), s.View.Text...)
		}
		out = append(out, r)
	}
	for _, done := range v.StepsDone {
		out = append(out, T("✓ "+Clean(done, maxName)))
	}
	return out
}

// alertDetails lists alerts, those that fire apart from those that have ended.
func alertDetails(v View) []Detail {
	var firing, ended []Rich
	for _, a := range v.Alerts {
		if a.Firing {
			firing = append(firing, alertLine(a))
		} else {
			ended = append(ended, alertLine(a))
		}
	}
	var out []Detail
	if len(firing) > 0 {
		out = append(out, Detail{Title: fmt.Sprintf("Firing alerts (%d)", max(v.Firing, len(firing))), Lines: more(firing, v.Firing+v.Truncated)})
	}
	if len(ended) > 0 {
		out = append(out, Detail{Title: fmt.Sprintf("Resolved alerts (%d)", max(v.Resolved, len(ended))), Lines: more(ended, v.Resolved)})
	}
	return out
}

func alertLine(a AlertLine) Rich {
	r := Rich{{Text: Clean(a.Name, maxName), Style: Bold}}
	if a.Summary != "" {
		r = append(r, Span{Text: ": " + Clean(a.Summary, maxLine)})
	}
	if a.Labels != "" {
		r = append(r, Span{Text: " "}, Span{Text: Clean(a.Labels, maxLine), Style: Code})
	}
	r = append(r, link(a.SourceURL, " ▸")...)
	return append(r, link(a.RunbookURL, " runbook ▸")...)
}

// more cuts a list and says how many are not shown out of all.
func more(lines []Rich, all int) []Rich {
	shown := min(len(lines), maxAlerts)
	if left := max(all, len(lines)) - shown; left > 0 {
		return append(lines[:shown:shown], T(fmt.Sprintf("+%s more", grouped(fmt.Sprint(left)))))
	}
	return lines
}
