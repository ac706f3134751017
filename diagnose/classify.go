package diagnose

// Classify names the causes. Same evidence and limits, same diagnosis.
func Classify(e Evidence, l Limits) Diagnosis {
	entry, _ := Lookup(Undecided)
	return Diagnosis{
		Schema: SchemaVersion, At: e.At, Target: e.Target,
		Findings: []Finding{{
			Class: Undecided, Family: entry.Family, Headline: entry.Headline, Confidence: Open,
			Citations: []Citation{}, Alternatives: []Alternative{},
		}},
		RuledOut: []RuledOut{}, BlindSpots: []BlindSpot{}, NotJudged: []Class{},
		NextLookSeconds: 60,
	}
}
