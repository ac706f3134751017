// Package diagnose names the cause of a Kafka incident by rule.
//
// One value goes in, one comes out:
//
//	d := diagnose.Classify(evidence, diagnose.DefaultLimits())
//
// [Evidence] holds everything the classifier may know, including the moment it
// was taken and what could not be read. [Diagnosis] holds the findings, what
// was ruled out and by which observation, what stayed invisible, and when to
// look again. Classify is pure: no clock, no I/O, no goroutine, no map order.
// The same evidence always gives the same diagnosis, so a verdict can be
// disputed by attaching a file.
//
// Three ideas carry the package:
//
//   - Missing evidence is a value. Every section, and each item where items
//     fail one by one, carries a [Reading]. A rule whose needs were not read
//     answers "unknown", never "healthy".
//   - Raw samples, not rates. Metrics arrive as the samples Prometheus stored.
//     Deltas, births, resets and gaps are worked out here (counter.go), because
//     rate() and increase() lose the first value of a new-born series, which is
//     where a restart burst lives.
//   - One class, one rule file. restart_burst.go holds the rule of class
//     restart-burst: what it needs, its conditions, its corroboration, and what
//     it explains. The corpus folder, the playbook and the docs page have the
//     same name.
//
// Lost members are weighed one by one (membership_decide.go). Each class that can
// drop a member has a view of the loss in its rule file: excluded, possible, it
// fits, or proven by an observation that only this class makes. What is proven
// stands alone; else what fits is the finding, the commoner one first, and the
// others are its alternatives. A new kind of evidence (a log line, a pod event)
// comes in through these views: it proves one class or excludes another.
//
// To follow a verdict: evidence.go (what is known) → facts.go (what follows
// from it) → the class's rule file → classify.go (ranking, confidence,
// alternatives).
package diagnose
