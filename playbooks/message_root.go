package playbooks

import (
	"fmt"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// evidenceInRoot is how many observations a root shows; the rest is in the
// thread.
const evidenceInRoot = 3

// Root builds the card of an incident: the verdict, what it means, the three
// strongest observations, the one next step and the state line. Without a
// diagnosis it says that it is looking, or why it cannot.
func Root(v View) Message {
	if v.Diagnosis == nil || len(v.Diagnosis.Findings) == 0 {
		return Looking(v)
	}
	f := v.Diagnosis.Primary()
	m := Message{
		Title:    title(v, f),
		Subject:  subject(v, f),
		Summary:  summary(*v.Diagnosis),
		Evidence: evidence(f.Citations, evidenceInRoot),
		Step:     shownStep(v),
		Footer:   footer(v, f),
		Buttons:  buttons(v),
	}
	m.Text = oneLine(v, f)
	return m
}

// Looking is the card before the first verdict, or when there can be none.
func Looking(v View) Message {
	m := Message{Subject: subject(v, diagnose.Finding{}), Buttons: buttons(v)}
	if v.Trouble != "" {
		m.Title = bold("No diagnosis")
		m.Summary = Rich{{Text: Clean(v.Trouble, maxSummary)}, {Text: " The alert itself stands; I try again at the next look."}}
	} else {
		m.Title = bold("Looking")
		m.Summary = T("An alert came in. I am reading metrics and group state; the verdict replaces this message.")
	}
	m.Footer = footer(v, diagnose.Finding{})
	m.Text = Clean(m.Title.String()+": "+commas(m.Subject)+". "+m.Summary.String(), maxOneLine)
	return m
}

func bold(s string) Rich { return Rich{{Text: s, Style: Bold}} }

// title is the headline with its confidence, or what it was before.
func title(v View, f diagnose.Finding) Rich {
	head, words := verdict(f, v.Phase)
	if v.Was != nil && v.Was.Class != f.Class && v.Phase != PhaseResolved {
		return Rich{
			{Text: changeWord(v.Was.Class, f.Class) + ": " + lowerFirst(head), Style: Bold},
			{Text: " (was: " + wasWords(*v.Was) + ")"},
		}
	}
	r := bold(head)
	if words != "" {
		r = append(r, Span{Text: " — " + words})
	}
	return r
}

func wasWords(p Previous) string {
	if !p.Class.Decides() {
		return lowerFirst(headline(p.Class))
	}
	return lowerFirst(headline(p.Class)) + ", " + string(p.Confidence)
}

// changeWord names the direction of a change of verdict.
func changeWord(was, now diagnose.Class) string {
	a, _ := diagnose.Lookup(was)
	b, _ := diagnose.Lookup(now)
	switch {
	case now == diagnose.Undecided:
		return "Withdrawn"
	case was == diagnose.Undecided || was == diagnose.Quiet:
		return "Found"
	case b.Severity > a.Severity:
		return "Upgraded"
	case harmless(now):
		return "Cleared"
	default:
		return "Changed"
	}
}

func subject(v View, f diagnose.Finding) Rich {
	var parts []string
	if v.Target.Cluster != "" {
		parts = append(parts, Clean(v.Target.Cluster, maxName))
	}
	switch {
	case f.Subject != "":
		parts = append(parts, Clean(f.Subject, maxName))
	case v.Target.Group != "":
		parts = append(parts, "group "+Clean(v.Target.Group, maxName))
	case v.Target.Broker != nil:
		parts = append(parts, fmt.Sprintf("broker %d", *v.Target.Broker))
	case v.Target.Topic != "":
		parts = append(parts, "topic "+Clean(v.Target.Topic, maxName))
	}
	if v.Occurrence > 1 {
		parts = append(parts, fmt.Sprintf("occurrence %d", v.Occurrence))
	}
	return T(strings.Join(parts, " · "))
}

// commas writes a line of parts for a sentence.
func commas(r Rich) string { return strings.ReplaceAll(r.String(), " · ", ", ") }

// summary is the finding's sentence, what else it could be, and what else holds.
func summary(d diagnose.Diagnosis) Rich {
	f := d.Primary()
	r := Rich{}
	if f.Summary != "" {
		r = append(r, Span{Text: Clean(f.Summary, maxSummary)})
	}
	if len(f.Alternatives) > 0 {
		r = append(r, Span{Text: space(r) + alternativesLabel(f) + ": "})
		for i, a := range f.Alternatives {
			if i > 0 {
				r = append(r, Span{Text: ", "})
			}
			r = append(r, Span{Text: lowerFirst(headline(a.Class)), Style: Bold})
		}
		r = append(r, Span{Text: "."})
	}
	// The first step of an undecided case is to get what decides, and a
	// confirmed one has nothing left to decide.
	if f.Decides != "" && f.Class != diagnose.Undecided && f.Confidence != diagnose.Confirmed {
		r = append(r, Span{Text: space(r) + decidesLabel(f) + ": " + lowerFirst(Clean(sentence(f.Decides), maxLine))})
	}
	if n := len(d.Findings) - 1; n > 0 {
		also := d.Findings[1]
		text := space(r) + "Also found: " + lowerFirst(Clean(also.Headline, maxName)) + " on " + Clean(also.Subject, maxName)
		if n > 1 {
			text += fmt.Sprintf(", and %d more", n-1)
		}
		r = append(r, Span{Text: text + "."})
	}
	return r
}

func alternativesLabel(f diagnose.Finding) string {
	if f.Class == diagnose.Undecided {
		return "It could be"
	}
	return "It could also be"
}

// decidesLabel says whether an observation or time has to tell.
func decidesLabel(f diagnose.Finding) string {
	if len(f.Alternatives) == 0 && f.Class != diagnose.Undecided {
		return "What time has to show"
	}
	return "What decides"
}

func space(r Rich) string {
	if len(r) == 0 {
		return ""
	}
	return " "
}

// sentence ends a text with a dot.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") {
		return s
	}
	return s + "."
}

// evidence turns citations into lines; most is the most there may be, 0 = all.
func evidence(cs []diagnose.Citation, most int) []Rich {
	var out []Rich
	for i, c := range cs {
		if most > 0 && i == most {
			break
		}
		out = append(out, citation(c))
	}
	return out
}

func citation(c diagnose.Citation) Rich {
	r := T(Clean(c.Value, maxLine))
	return append(r, link(c.Link, " ▸")...)
}

// link is a mark that leads to url, or nothing when url is not one of the web.
func link(url, mark string) Rich {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return nil
	}
	if text, ok := strings.CutPrefix(mark, " "); ok {
		return Rich{{Text: " "}, {Text: text, URL: url}}
	}
	return Rich{{Text: mark, URL: url}}
}

// shownStep is the step to put under the verdict. After the alert has ended
// only steps that change something are still worth a person's time.
func shownStep(v View) *StepView {
	if v.Step == nil || v.Diagnosis == nil || v.Phase == PhaseResolved && v.Step.Safety == Look {
		return nil
	}
	view := v.Step.View
	return &view
}

// footer is the state line, and a second one with counts and marks.
func footer(v View, f diagnose.Finding) []Rich {
	first := dots{}
	if f.Confidence != "" {
		first.text(string(f.Confidence))
	}
	switch {
	case v.Phase == PhaseResolved && !v.EndedAt.IsZero():
		first.moment("resolved", v.EndedAt)
	case !v.Since.IsZero():
		first.moment(phaseWords(v.Phase)+" since", v.Since)
	}
	first.moment("last look", v.LastLook)
	if v.Phase != PhaseResolved {
		first.moment("next look", v.NextLook)
	}
	second := dots{}
	second.text(counts(v))
	if n := len(v.StepsDone); n > 0 {
		second.text(Clean(v.StepsDone[n-1], maxName))
	}
	if v.AckedBy != "" {
		second.text("acknowledged by " + Clean(v.AckedBy, maxName))
	}
	if v.Took > 0 {
		second.text("verdict in " + seconds(v.Took.Seconds()))
	}
	if l := link(runbook(v.Alerts), "runbook ▸"); l != nil {
		second.between()
		second.r = append(second.r, l...)
	}
	var out []Rich
	for _, d := range []dots{first, second} {
		if len(d.r) > 0 {
			out = append(out, d.r)
		}
	}
	return out
}

func phaseWords(p Phase) string {
	if p == "" || p == PhaseLooking || p == PhaseUnknown {
		return string(PhaseFiring)
	}
	return string(p)
}

// counts says how many alerts fire; nothing for a single firing one.
func counts(v View) string {
	var parts []string
	if v.Firing+v.Resolved > 1 {
		parts = append(parts, fmt.Sprintf("%s firing", grouped(fmt.Sprint(v.Firing))))
		if v.Resolved > 0 {
			parts = append(parts, fmt.Sprintf("%s resolved", grouped(fmt.Sprint(v.Resolved))))
		}
	}
	if v.Truncated > 0 {
		parts = append(parts, fmt.Sprintf("%s more cut by Alertmanager", grouped(fmt.Sprint(v.Truncated))))
	}
	return strings.Join(parts, ", ")
}

func runbook(alerts []AlertLine) string {
	for _, a := range alerts {
		if a.RunbookURL != "" {
			return a.RunbookURL
		}
	}
	return ""
}

// dots joins parts of a state line.
type dots struct{ r Rich }

func (d *dots) between() {
	if len(d.r) > 0 {
		d.r = append(d.r, Span{Text: " · "})
	}
}

func (d *dots) text(s string) {
	if s != "" {
		d.between()
		d.r = append(d.r, Span{Text: s})
	}
}

func (d *dots) moment(label string, t time.Time) {
	if !t.IsZero() {
		d.between()
		d.r = append(d.r, Span{Text: label + " "}, Span{Text: clock(t), Time: t.UTC()})
	}
}

// buttons follow the state: a button that would do nothing is not shown.
func buttons(v View) []Button {
	if v.IncidentID == "" {
		return nil
	}
	var out []Button
	// A step that only says to wait has no "done".
	if s := shownStep(v); s != nil && !harmless(primary(v).Class) {
		out = append(out, Button{
			Action: ActionDone, Label: "Done → next step", Value: v.IncidentID, Primary: true,
			Describe: Clean(fmt.Sprintf("Mark step %d, %s, as done and show the next one", s.Number, s.Title), 75),
		})
	}
	if v.Phase != PhaseLooking || v.Trouble != "" {
		out = append(out, Button{Action: ActionLookAgain, Label: "Look again", Value: v.IncidentID, Describe: "Read the evidence again now"})
	}
	if v.AckedBy == "" && v.Phase != PhaseResolved {
		out = append(out, Button{Action: ActionAcknowledge, Label: "Acknowledge", Value: v.IncidentID, Describe: "Say that you are on it"})
	}
	return out
}

// oneLine is the message for notifications and screen readers, verdict first.
func oneLine(v View, f diagnose.Finding) string {
	t := title(v, f).String()
	t = strings.Replace(t, " — ", ", ", 1)
	parts := []string{t + ": " + commas(subject(v, f)) + "."}
	if f.Summary != "" {
		parts = append(parts, Clean(sentence(f.Summary), maxSummary))
	}
	if s := shownStep(v); s != nil {
		parts = append(parts, "Next: "+sentence(s.Title))
	}
	return Clean(strings.Join(parts, " "), maxOneLine)
}
