package bot

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// view is what a card shows of an incident.
func (s *Server) view(st incident.State) playbooks.View {
	target, _ := st.Target()
	firing, resolved := st.Counts()
	v := playbooks.View{
		IncidentID: st.ID, Target: target, Phase: phase(st), Diagnosis: st.Diagnosis, Trouble: st.Trouble,
		Since: st.Since, LastLook: st.LastLook, NextLook: st.NextLook, EndedAt: st.Ended, Occurrence: st.Occurrence,
		Firing: firing, Resolved: resolved, Truncated: st.Truncated, Alerts: alertLines(st), AckedBy: st.AckedBy,
	}
	if st.Was != nil {
		v.Was = &playbooks.Previous{Class: st.Was.Class, Confidence: st.Was.Confidence}
	}
	for _, d := range st.Done {
		v.StepsDone = append(v.StepsDone, d.By+" did: "+d.Title)
	}
	if !st.FirstAt.IsZero() && st.Occurrence == 1 {
		v.Took = st.FirstAt.Sub(st.Opened)
	}
	return s.deps.Playbooks.Fill(v, st.DoneSteps())
}

func phase(st incident.State) playbooks.Phase {
	switch {
	case st.Phase == incident.Resolved, st.Phase == incident.Closed && !st.Ended.IsZero():
		return playbooks.PhaseResolved
	case st.Phase == incident.Unknown, st.Phase == incident.Closed:
		return playbooks.PhaseUnknown
	case st.Diagnosis == nil:
		return playbooks.PhaseLooking
	case st.Phase == incident.Partly:
		return playbooks.PhasePartly
	}
	return playbooks.PhaseFiring
}

// rootMessage is the card, with buttons that carry an id and, for "done", the
// number of the step it was made for: an old button does not skip a step.
func (s *Server) rootMessage(st incident.State) playbooks.Message {
	m := playbooks.Root(s.view(st))
	if st.Phase == incident.Closed {
		m.Buttons = nil
	}
	for i := range m.Buttons {
		m.Buttons[i].Value = st.ID + "." + strconv.Itoa(len(st.DoneSteps()))
	}
	if names := joinedNames(st); names != "" {
		m.Footer = append(m.Footer, playbooks.T("also explains: "+names))
	}
	return m
}

func (s *Server) detailsMessage(st incident.State) playbooks.Message {
	m := playbooks.Thread(s.view(st))
	if len(st.History) > 1 {
		m.Details = append(m.Details, playbooks.Detail{Title: "Verdicts so far", Lines: history(st)})
	}
	return m
}

// historyShown bounds the list of earlier verdicts in the thread.
const historyShown = 10

func history(st incident.State) []playbooks.Rich {
	from := max(0, len(st.History)-historyShown)
	var out []playbooks.Rich
	for _, v := range st.History[from:] {
		line := fmt.Sprintf(" %s, %s", v.Headline, v.Confidence)
		if v.Observed != "" {
			line += ": " + v.Observed
		}
		out = append(out, playbooks.Rich{{Text: v.At.UTC().Format("15:04:05 UTC"), Time: v.At}, {Text: line}})
	}
	return out
}

func joinedNames(st incident.State) string {
	var names []string
	for _, a := range st.Alerts {
		if n := a.Name + " (" + a.Subject.String() + ")"; a.Joined && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("+%d more", more))
	}
	return strings.Join(names, ", ")
}

// alertsShown bounds the alerts that a card is given; it counts the others.
const alertsShown = 50

// alertLines lists firing alerts first, then those that ended in this
// occurrence.
func alertLines(st incident.State) []playbooks.AlertLine {
	var out []playbooks.AlertLine
	for _, firing := range []bool{true, false} {
		for _, a := range st.Alerts {
			if a.Firing != firing || a.Occurrence != st.Occurrence || len(out) >= alertsShown {
				continue
			}
			out = append(out, playbooks.AlertLine{
				Name: a.Name, Firing: a.Firing, Summary: values(a), Labels: labelText(a.Labels),
				RunbookURL: a.RunbookURL, SourceURL: a.SourceURL,
			})
		}
	}
	return out
}

// values keeps what the alert fired with beside what it says now.
func values(a incident.Alert) string {
	if a.First == "" || a.First == a.Summary {
		return a.Summary
	}
	return a.Summary + " (at first: " + a.First + ")"
}

// labelText is sorted k=v text without what the card shows anyway.
func labelText(labels map[string]string) string {
	var out []string
	for k, v := range labels {
		if k != "alertname" && k != "severity" {
			out = append(out, k+"="+v)
		}
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}
