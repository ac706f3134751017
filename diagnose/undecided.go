package diagnose

func undecidedRule() Rule {
	return Rule{
		Class: Undecided,
		Conditions: []string{
			"causes of different families are left, or an observation fits no class that is judged yet, or the sources were blind",
		},
		Source: "DESIGN: honest doubt names the candidates and the observation that decides",
		Provides: []FactSpec{
			{Name: "candidates", Unit: UnitText, Meaning: "the classes that are left, by code, with commas", Optional: true},
			{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was checked"},
		},
	}
}

// undecidedFindings turns what no finding accounts for into findings, one a
// subject.
func undecidedFindings(_ *facts, _ []symptom) []Finding { return nil }

// blindUndecided is the answer when too little could be read.
func blindUndecided(f *facts, t tally) Outcome {
	return Outcome{Answer: Unknown, Subject: targetSubject(f)}
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
