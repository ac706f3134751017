package incident

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// Book holds the incidents that may still change, and finds the one an alert
// belongs to. It is not safe for concurrent use.
type Book struct {
	p      Policy
	byID   map[string]State
	byFP   map[string]string
	bySubj map[subjectKey][]string
}

type subjectKey struct {
	cluster string
	subject Subject
}

// NewBook returns an empty book.
func NewBook(p Policy) *Book {
	return &Book{p: p, byID: map[string]State{}, byFP: map[string]string{}, bySubj: map[subjectKey][]string{}}
}

// Put adds or replaces a state; a closed one is taken out.
func (b *Book) Put(s State) {
	b.remove(s.ID)
	if s.Phase == Closed {
		return
	}
	b.byID[s.ID] = s
	for _, a := range s.Alerts {
		// An alert may have moved on from an incident that is over.
		if other, ok := b.byID[b.byFP[a.Fingerprint]]; !ok || !better(other, s) {
			b.byFP[a.Fingerprint] = s.ID
		}
	}
	for _, sub := range s.all() {
		k := subjectKey{s.Cluster, sub}
		b.bySubj[k] = append(b.bySubj[k], s.ID)
	}
}

func (s State) all() []Subject {
	return append(slices.Clone(s.Subjects), s.Joined...)
}

func (b *Book) remove(id string) {
	old, ok := b.byID[id]
	if !ok {
		return
	}
	delete(b.byID, id)
	for _, a := range old.Alerts {
		if b.byFP[a.Fingerprint] == id {
			delete(b.byFP, a.Fingerprint)
		}
	}
	for _, sub := range old.all() {
		k := subjectKey{old.Cluster, sub}
		if rest := slices.DeleteFunc(b.bySubj[k], func(x string) bool { return x == id }); len(rest) > 0 {
			b.bySubj[k] = rest
		} else {
			delete(b.bySubj, k)
		}
	}
}

// Get returns a state by id.
func (b *Book) Get(id string) (State, bool) {
	s, ok := b.byID[id]
	return s, ok
}

// All returns the states, oldest first.
func (b *Book) All() []State {
	out := make([]State, 0, len(b.byID))
	for _, s := range b.byID {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		if !out[i].Opened.Equal(out[j].Opened) {
			return out[i].Opened.Before(out[j].Opened)
		}
		return out[i].ID < out[j].ID
	})
	return out
}

// Known returns the incident that holds a fingerprint.
func (b *Book) Known(fingerprint string) (State, bool) { return b.Get(b.byFP[fingerprint]) }

// About returns the incident about a subject: one that fires, or else the
// newest.
func (b *Book) About(cluster string, sub Subject) (State, bool) {
	return b.about(cluster, sub, func(State) bool { return true })
}

func (b *Book) about(cluster string, sub Subject, fits func(State) bool) (State, bool) {
	var best State
	for _, id := range b.bySubj[subjectKey{cluster, sub}] {
		if s := b.byID[id]; fits(s) && (best.ID == "" || better(s, best)) {
			best = s
		}
	}
	return best, best.ID != ""
}

// better prefers an incident that fires, then the newer one.
func better(a, b State) bool {
	if a.over() != b.over() {
		return !a.over()
	}
	if !a.Opened.Equal(b.Opened) {
		return a.Opened.After(b.Opened)
	}
	return a.ID > b.ID
}

// Place finds the incident for an alert, and why.
func (b *Book) Place(cluster string, a Alert, groupKey string, now time.Time) (id string, why Reason, ok bool) {
	if s, ok := b.Known(a.Fingerprint); ok {
		// What a coordinator counts comes back for another group: it belongs to
		// that group's incident, not to the one that is over.
		if a.Firing && s.over() && a.Kind == KindMembership && a.Subject.Kind == SubjectBroker {
			if other, why := b.explaining(cluster, a, groupKey, now); why == WhyExplained {
				return other.ID, why, true
			}
		}
		return s.ID, WhyKnown, true
	}
	if !a.Firing {
		return "", WhyNeverFired, false
	}
	// What is over comes back with an alert of its own kind only: a full disk
	// hours after a restart burst is not the burst again.
	fits := func(s State) bool { return !s.over() || s.Kind == a.Kind }
	if s, ok := b.about(cluster, a.Subject, fits); ok {
		return s.ID, WhySubject, true
	}
	best, reason := b.explaining(cluster, a, groupKey, now)
	return best.ID, reason, best.ID != ""
}

// explaining finds the open incident that takes an alert on another subject.
func (b *Book) explaining(cluster string, a Alert, groupKey string, now time.Time) (State, Reason) {
	var best State
	var reason Reason
	for _, s := range b.byID {
		if s.Cluster != cluster || s.over() {
			continue
		}
		r := b.takes(s, a, groupKey, now)
		if r == "" {
			continue
		}
		if best.ID == "" || rankReason(r) > rankReason(reason) || (r == reason && better(s, best)) {
			best, reason = s, r
		}
	}
	return best, reason
}

func rankReason(r Reason) int { return strings.Index("same_group explained", string(r)) }

func (b *Book) takes(s State, a Alert, groupKey string, now time.Time) Reason {
	if s.Explains(a, b.p, now) {
		return WhyExplained
	}
	// What the sender grouped is no identity: the shipped receiver groups by name
	// and cluster, so that all groups of a cluster have one key. It joins what
	// starts together, and no groups that lost members: see [Alert.LostMembers].
	together := !a.LostMembers() && now.Sub(s.Since) <= b.p.Join
	if together && s.Kind == a.Kind && groupKey != "" && slices.Contains(s.GroupKeys, groupKey) {
		return WhyGroup
	}
	return ""
}
