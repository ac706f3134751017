package diagnose

func quietRule() Rule {
	return Rule{
		Class: Quiet,
		Needs: []Need{NeedBrokerMetrics, NeedSlots},
		Conditions: []string{
			"every rule of the question's subjects answered, and none holds",
			"what was needed was read, and it is fresh",
			"no error, eviction or loss is left unexplained",
		},
		Source: "DESIGN: unknown is a status; a gap is never health",
		Provides: []FactSpec{
			{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was checked"},
		},
	}
}

// quiet answers Yes when everything that was asked was read and is normal.
func quiet(_ *facts, _ tally) Outcome { return Outcome{Answer: Unknown} }
