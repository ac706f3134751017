// Package incident is the life of an incident as a pure function:
//
//	state, effects = policy.Step(state, event, now)
//
// Events are what happened: alerts were delivered, a diagnosis is there, a
// timer is due, somebody pressed a button. Effects are what is to be done: post
// the root, edit it, say a line in its thread, look again, set a timer. Nothing
// here reads a clock, waits, or knows Slack, SQLite or Alertmanager.
//
// States: looking and firing, partly resolved, resolved, unknown (no news for
// too long and nobody could say), closed. A resolved incident comes back in the
// same thread within [Policy.Reopen] as a new occurrence. Closed is final.
//
// Speaking: the root is edited on every change. A line is added to the thread
// when the verdict changes, when it is confirmed, and when the incident ends or
// comes back, because Slack notifies nobody about edits. Only what got worse is
// also shown in the channel.
//
// [Book] finds the incident that an alert belongs to: by fingerprint, then by
// subject, then by what an incident's diagnosis explains, then by the sender's
// grouping.
package incident
