package diagnose

// membershipRules are the rules about group membership.
func membershipRules() []Rule {
	return []Rule{
		sessionTimeoutRule(), processGoneRule(), pollIntervalRule(), joinSyncRaceRule(), rollingDeployRule(),
	}
}

// judgeLosses answers for every group in scope.
func judgeLosses(_ *facts, _ Class) []Outcome { return nil }
