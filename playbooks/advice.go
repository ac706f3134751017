package playbooks

import "github.com/kafka-oncall/kafka-oncall/diagnose"

// adviceID is the id of the step of a finding that brings its own.
const adviceID = "from-the-log"

// adviceStep is the one step of a finding that rests on log text alone: the
// values that the class's playbook computes with are not in a log.
func adviceStep(c diagnose.Class, a diagnose.Advice) Step {
	s := Step{Playbook: c, ID: adviceID, Safety: adviceSafety(a.Safety), Title: Clean(a.Title, maxLine), Text: Clean(a.Text, adviceMax)}
	s.View = StepView{Number: 1, Of: 1, Title: s.Title, Safety: s.Safety, Text: Rich{{Text: s.Text}}}
	if a.Avoid != "" {
		s.View.Avoid = Rich{{Text: Clean(a.Avoid+" "+a.Why, adviceMax)}}
	}
	return s
}

// adviceSafety is the safety of an advice; one that names none only looks.
func adviceSafety(s diagnose.Safety) Safety {
	if s == "" {
		return Look
	}
	return Safety(s)
}

// adviceMax bounds the text of such a step.
const adviceMax = 900
