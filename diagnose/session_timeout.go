package diagnose

func sessionTimeoutRule() Rule {
	return Rule{
		Class: SessionTimeout,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member was dropped from the group, and no LeaveGroup request accounts for it",
			"it had been silent for its session timeout: last commit to drop is at least 2/3 of it (session timeout less one heartbeat interval)",
			"somebody called with the old member id after the drop (UNKNOWN_MEMBER_ID on Heartbeat or OffsetCommit), or the member is still away",
			"the coordinator served others meanwhile",
		},
		Corroboration: []string{
			"the member came back",
			"the client's own time-between-poll-max is as long as the silence, or its own scrape has a gap that long: the process stood still",
			"membership before the window is known",
		},
		Source:   "Kafka GroupCoordinator heartbeat expiry; measured: silence 6.0 s of 6 s in 5 runs, error 25 on either heartbeat or commit (a race)",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, SessionTimeout) },
	}
}
