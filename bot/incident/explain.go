package incident

import (
	"slices"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Explains reports whether an alert on another subject belongs to this
// incident because its diagnosis accounts for it, within [Policy.Join] of the
// incident's start or of its latest change of verdict.
func (s State) Explains(a Alert, p Policy, now time.Time) bool {
	if s.Diagnosis == nil || now.Sub(s.lastTurn()) > p.Join {
		return false
	}
	for _, f := range s.Diagnosis.Findings {
		if f.Confidence == diagnose.Open || !f.Class.Decides() {
			continue
		}
		if f.Subject == a.Subject.String() || s.accounts(f, a) {
			return true
		}
	}
	return false
}

// lastTurn is when the incident last got something new to explain.
func (s State) lastTurn() time.Time {
	at := s.Since
	if n := len(s.History); n > 0 && s.History[n-1].At.After(at) {
		at = s.History[n-1].At
	}
	return at
}

// accounts: what else a cause makes visible.
//
//   - A broker restart: under-replication and leader alerts of any broker, and
//     rebalances, since groups lose their coordinator. Session errors only on
//     the broker itself: the same alert on another broker is another matter.
//   - Coordinator trouble and lost group state: members and lag of the groups
//     that the diagnosis counts as touched.
//   - A lost member: the errors that its coordinator counts, if the diagnosis
//     cites them. Those series name no group.
//   - All others: lag of the touched groups.
func (s State) accounts(f diagnose.Finding, a Alert) bool {
	touched := a.Subject.Kind == SubjectGroup && slices.Contains(s.Diagnosis.Blast.Groups, a.Subject.Name)
	switch f.Class {
	case diagnose.RestartBurst:
		return (a.Kind == KindBroker && !storage(a.Name)) || a.Kind == KindMembership
	case diagnose.CoordinatorTrouble, diagnose.GroupMetadataLost:
		return a.Kind == KindMembership || (a.Kind == KindLag && touched)
	default:
		return touched && a.Kind == KindLag || a.Kind == KindMembership && citesBroker(f, a.Subject)
	}
}

// citesBroker reports whether a finding about a group rests on series of this
// broker, its coordinator.
func citesBroker(f diagnose.Finding, sub Subject) bool {
	if f.Family != diagnose.FamilyEvictionTrigger || sub.Kind != SubjectBroker || !strings.HasPrefix(f.Subject, "group ") {
		return false
	}
	return slices.ContainsFunc(f.Citations, func(c diagnose.Citation) bool {
		return strings.HasPrefix(c.Path, "brokers["+sub.Name+"].")
	})
}

// storage reports whether an alert's name speaks of disks or memory: no restart
// explains those.
func storage(name string) bool {
	name = strings.ToLower(name)
	for _, w := range []string{"space", "disk", "logdir", "memory", "deadlock"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
