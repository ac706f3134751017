package diagnose

func processGoneRule() Rule {
	return Rule{
		Class: ProcessGone,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member was dropped from the group, and no LeaveGroup request accounts for it",
			"it had been silent for its session timeout",
			"nobody called with the old member id after the drop (no UNKNOWN_MEMBER_ID)",
			"it has stayed away for twice its session timeout, or came back as a new process",
		},
		Corroboration: []string{
			"pod or node evidence: killed, OOM, node lost",
			"membership before the window is known",
		},
		Source:   "Kafka GroupCoordinator heartbeat expiry; measured: kill -9 leaves errors 25 at 0 for ever",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: lossSpecs(),
		Judge:    func(f *facts) []Outcome { return judgeLosses(f, ProcessGone) },
	}
}
