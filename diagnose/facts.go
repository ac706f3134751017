package diagnose

// facts is what follows from the evidence and is shared by several rules:
// counters over the window, restarts, capacities, membership changes. It is
// computed once per Classify.
type facts struct {
	e Evidence
	l Limits
}
