package diagnose

func pollIntervalRule() Rule {
	return Rule{
		Class: PollInterval,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a dynamic member left the group: LeaveGroup requests rose around the drop, or the client's own metrics show the breach",
			"last commit to drop is at least its rebalance timeout (= max.poll.interval.ms); less rules it out, as much alone does not prove it",
			"nobody called with the old member id afterwards (a client that has left drops the id by itself)",
		},
		Corroboration: []string{
			"LeaveGroup requests at the coordinator, with no other group that lost members",
			"last-poll-seconds-ago or time-between-poll-max of the client reached max.poll.interval.ms",
			"the member came back",
			"membership before the window is known",
		},
		Source:   "KIP-62; Java ConsumerCoordinator.maybeLeaveGroup; measured: drop 14.0 s after the last commit for 12 s (2.0 s of it the others' rejoin), no error 25 on classic groups",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, PollInterval) },
	}
}
