package diagnose

// brokerSymptoms are the observations about brokers that some class has to
// account for.
func brokerSymptoms(_ *facts) []symptom { return nil }
