package collect

import (
	"fmt"
	"sort"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// maxEvidenceLosses bounds the losses in one Evidence, newest kept.
const maxEvidenceLosses = 500

// memory is the evidence of the watcher for a window that ends at a moment.
func (w *Watcher) memory(window time.Duration, at time.Time) diagnose.Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := diagnose.Watcher{Reading: w.reading(at), Since: w.since}
	if w.since.IsZero() {
		return out
	}
	from := at.Add(-window)
	hurt := map[string]bool{}
	for _, l := range w.losses {
		if l.By.After(at) {
			continue
		}
		out.Losses = append(out.Losses, l)
		if l.By.After(from) {
			hurt[l.Group] = true
		}
	}
	sort.SliceStable(out.Losses, func(i, j int) bool { return out.Losses[i].By.Before(out.Losses[j].By) })
	if over := len(out.Losses) - maxEvidenceLosses; over > 0 {
		out.Losses = out.Losses[over:]
	}
	out.StableGroups = w.countStable(hurt)
	return out
}

// countStable counts the groups with members by coordinator: those that lost
// somebody in the window, and those that did not.
func (w *Watcher) countStable(hurt map[string]bool) []diagnose.CoordinatorGroups {
	by := map[int32]*diagnose.CoordinatorGroups{}
	for id, r := range w.groups {
		last := r.last()
		if last == nil || len(last.Members) == 0 && !hurt[id] {
			continue
		}
		c := by[r.coordinator]
		if c == nil {
			c = &diagnose.CoordinatorGroups{Broker: r.coordinator}
			by[r.coordinator] = c
		}
		if hurt[id] {
			c.Hurt++
		} else {
			c.Stable++
		}
	}
	var out []diagnose.CoordinatorGroups
	for _, c := range by {
		out = append(out, *c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Broker < out[j].Broker })
	return out
}

func (w *Watcher) reading(at time.Time) diagnose.Reading {
	const source = "watcher: ListGroups and DescribeGroups, sampled"
	r := diagnose.Reading{Status: diagnose.StatusOK, AsOf: w.looked, Source: source}
	switch {
	case w.since.IsZero():
		r.Status, r.Error = diagnose.StatusFailed, "the watcher has not seen the cluster yet"
	case at.Before(w.since):
		r.Status, r.Error = diagnose.StatusEmpty, "the watcher did not run at that time"
	case at.Sub(w.looked) > gapFactor*w.cfg.Interval:
		r.Status, r.Error = diagnose.StatusPartial, "no broker has answered the watcher for a while"
	case len(w.failed) > 0:
		failed := map[int32]failure{}
		for id, f := range w.failed {
			failed[id] = failure{text: f.Error}
		}
		r.Status, r.Error = diagnose.StatusPartial, "groups of some brokers are not watched: "+describeFailures(failed)
	case w.overflow > 0:
		r.Status, r.Error = diagnose.StatusPartial, fmt.Sprintf("%s beyond the limit of %d not watched", count(w.overflow, "group"), w.cfg.MaxGroups)
	case !w.shortened.IsZero():
		r.Status, r.Error = diagnose.StatusPartial, "many changes: the memory reaches back only to "+w.shortened.UTC().Format(time.RFC3339)
	}
	return r
}

// remembered is what the memory holds of one group.
type remembered struct {
	coordinator            int32
	protocol, protocolType string
	snapshots              []diagnose.GroupSnapshot
	lag                    []diagnose.LagPoint
}

// group returns the changes and lag points of a group in a span. ok is false
// for a group it has never seen.
func (w *Watcher) group(id string, from, to time.Time) (remembered, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.groups[id]
	if r == nil {
		return remembered{}, false
	}
	return remembered{
		coordinator: r.coordinator, protocol: r.protocol, protocolType: r.protocolType,
		snapshots: r.snapshots(from, to), lag: r.lagPoints(from, to),
	}, true
}

// topology is the last one that was read, nil before the first look.
func (w *Watcher) topology() *topology {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastTopo
}

// suspects ranks the groups that lost members in a span, on one coordinator or
// on all (nil). covered says whether the memory covers the span.
func (w *Watcher) suspects(broker *int32, sp span) (found []suspect, covered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for _, l := range w.losses {
		if l.By.After(sp.from) && !l.By.After(sp.to) && (broker == nil || l.Coordinator == *broker) {
			n[l.Group]++
		}
	}
	for g, lost := range n {
		found = append(found, suspect{group: g, lost: lost})
	}
	rank(found)
	return found, !w.since.IsZero() && !w.since.After(sp.from) && w.reading(sp.to).OK()
}
