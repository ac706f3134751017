package diagnose

// membership is what follows from snapshots, records and the watcher's losses.
type membership struct{}

// newMembership works out the membership facts of the groups in scope.
func newMembership(_ *facts) membership { return membership{} }
