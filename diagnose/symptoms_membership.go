package diagnose

// groupSymptoms are the observations about groups that some class has to
// account for.
func groupSymptoms(_ *facts) []symptom { return nil }
