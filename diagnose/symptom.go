package diagnose

import "slices"

// symptom is an observation that is not normal and that some class has to
// account for. What no finding accounts for ends as "undecided": an oddity is
// never passed over in silence, not even when the class behind it has no rule
// yet.
type symptom struct {
	// Subject is "broker 3" or "group orders".
	Subject string
	// Text is one plain sentence.
	Text      string
	Citations []Citation
	// Candidates are the classes that could be behind it.
	Candidates []Alternative
	// Decides names the observation that would tell them apart.
	Decides string
	// By are the classes whose finding on the same subject accounts for it;
	// ByAny says that any finding does.
	By    []Class
	ByAny bool
	// Under is the coordinator of a group's symptom, as "broker 2": trouble there
	// accounts for it too.
	Under string
}

// symptoms lists all symptoms of the subjects in scope.
func symptoms(f *facts) []symptom {
	out := append(brokerSymptoms(f), groupSymptoms(f)...)
	for _, s := range lagSymptoms(f) {
		// Lag follows from what is odd about the group already.
		if !slices.ContainsFunc(out, func(o symptom) bool { return o.Subject == s.Subject }) {
			out = append(out, s)
		}
	}
	return out
}

// unexplained leaves the symptoms that no finding accounts for.
func unexplained(all []symptom, findings []Finding) []symptom {
	var out []symptom
	for _, s := range all {
		if !accounted(s, findings) {
			out = append(out, s)
		}
	}
	return out
}

func accounted(s symptom, findings []Finding) bool {
	for _, f := range findings {
		if f.Subject == s.Subject && (s.ByAny || slices.Contains(s.By, f.Class)) {
			return true
		}
		if f.Class == CoordinatorTrouble && s.Under != "" && f.Subject == s.Under {
			return true
		}
	}
	return false
}
