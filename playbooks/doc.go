// Package playbooks turns a diagnosis into words and the next step.
//
// A playbook is data: one YAML file per class under data/, with the meaning,
// the impact and ordered steps. [Set.Next] picks the next step whose `when`
// holds over the finding's facts, fills in computed values with the arithmetic
// shown, and [Root], [Thread] and [Answer] build neutral [Message]s that Slack and
// the terminal render. Nothing here knows Slack.
package playbooks
