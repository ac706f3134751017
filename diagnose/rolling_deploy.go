package diagnose

func rollingDeployRule() Rule {
	return Rule{
		Class: RollingDeploy,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"members left by themselves: LeaveGroup requests rose around each drop, or the drop came sooner after the last commit than any timeout",
			"the member count is back at its baseline, or the last leave is less than 10 min ago",
		},
		Corroboration: []string{
			"the member count is back at its baseline",
			"lag does not keep rising",
			"LeaveGroup requests at the coordinator, with no other group that lost members",
			"membership before the window is known",
		},
		Source:   "KIP-62 close(); measured: a closing Java consumer commits and leaves at once, 2 LeaveGroup requests for 2 pods, back in 2 s",
		Explains: []Class{RebalanceStorm},
		Provides: append(lossSpecs(),
			FactSpec{Name: "first_leave_at", Unit: UnitTime, Meaning: "when the first member left"},
			FactSpec{Name: "missing_members", Unit: UnitCount, Meaning: "members still missing, 0 when all are back"},
		),
		Judge: func(f *facts) []Outcome { return judgeLosses(f, RollingDeploy) },
	}
}
