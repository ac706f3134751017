// Package playbooks turns a diagnosis into words and the next step.
//
// A playbook is data: one YAML file per class under data/, with the meaning,
// the impact and ordered steps.
//
//	set, err := playbooks.Default()            // the embedded ones
//	step, ok := set.Next(diagnosis, done)      // the next step, values filled in
//	msg := playbooks.Root(view)                // what to say about an incident
//
// [Set.Next] picks the first step whose `when` holds over the facts of the
// primary finding and that is not done yet, and computes its values with the
// arithmetic shown. [Root], [Thread], [Answer] and their siblings build neutral
// [Message]s that Slack and the terminal render. Nothing here knows Slack, reads
// a clock or does I/O besides loading files.
//
// # Writing a playbook
//
// A step has an id, a title, a safety level, a text, and a `verify` that says
// how one sees that it worked. Everything else is optional:
//
//   - id: raise-slots
//     title: Set max.incremental.fetch.session.cache.slots={slots_new} on all brokers
//     safety: change-broker          # look, change-client, change-broker, restart
//     when: has(demand_consumers)    # expr-lang over the facts; absent = always
//     compute:
//   - name: slots_new
//     expr: max(1000, demand_consumers * 1.25 * 1.25)
//     unit: count
//     round: up 8                # up, down or nearest, and a multiple
//     show: "{demand_consumers} × 1.25 × 1.25 = {slots_new.exact} → {slots_new}"
//     text: …                        # `code`, **bold**, {fact}; nothing else is markup
//     command: …                     # text facts in it are quoted for the shell
//     avoid: {text: …, why: …}       # the popular wrong fix
//     verify: {read: …, shows: …, condition: …, wait: 6m}
//
// Slots, heap, batches and heartbeats are worked out by functions, so that every
// card and `kafka-oncall lint` do the same sum: sessions_planned(consumers,
// followers), skew_for(sessions), slots_for(sessions), arrival_slots(per_second),
// slots_wanted(sessions, arrivals_per_second), cache_bytes(sessions,
// partitions), fit_records(limit, per_record), max_heartbeat(session),
// pause_needed(session, heartbeat); package sizing has the reasons.
//
// The sums for slots are shared: `uses: slots-for-demand` (facts demand_consumers,
// demand_followers) or `uses: slots-for-connections` (fact connections) stands in
// place of `compute` and gives slots_new with all that it is made from.
//
// A value with its own `when` is left out where the condition does not hold, and
// its `otherwise` says what is missing; expressions after it ask has(value).
//
// Settings and callbacks of clients stand under Java's names. Where the rules know the
// client's library (fact library), they are said in its words: session.timeout.ms is
// kgo.SessionTimeout for franz-go. A text with the word Java in it is left as it is.
// Where a library works another way, a step has texts for it:
//
//	libraries:
//	  - for: [librdkafka]        # title, text, command, avoid; what is left out is
//	    text: …                  # the step's own, but the command
//
// Where the group is one of KIP-848 (fact protocol), its session and heartbeats are
// settings of the group, and its clients refuse theirs: session.timeout.ms is said as
// consumer.session.timeout.ms. A step that sets one has texts for it, which stand before
// those of a library:
//
//	kip848:
//	  title: …                   # title, text, command, avoid, as above
//
// [CommonFacts] has what follows from the library: batch_default is the number of
// records that a poll returns at most (missing where there is no such thing),
// rebalance_setting what sets the rebalance timeout.
//
// Facts are what the class's rule provides (diagnose.Rule.Provides) plus those
// of [CommonFacts]. An optional fact needs has(fact) in `when`, and a missing
// one is a mistake that [Lint] finds, never a blank. Inside a code span numbers
// are written plain, as one copies them: 2072; elsewhere for reading: 2,072.
package playbooks
