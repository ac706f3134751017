package collect

import (
	"slices"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// maxSnapshots bounds the memory of one group: the oldest changes go first.
const maxSnapshots = 64

// groupRing is what the watcher remembers of one group: its changes, not its
// looks. Snapshots share the members that did not change.
type groupRing struct {
	id, protocol, protocolType string
	coordinator                int32
	// reading is how the last attempt to describe it went.
	reading diagnose.Reading
	snaps   []diagnose.GroupSnapshot
	lag     []ringLag
	lagRead diagnose.Reading
	// missed counts complete lists in a row without the group; missedAt is the
	// first of them.
	missed   int
	missedAt time.Time
}

// ringLag is a LagPoint in half the space.
type ringLag struct {
	atMS, total, end, committed int64
	hidden                      int32
}

func (r *groupRing) last() *diagnose.GroupSnapshot {
	if len(r.snaps) == 0 {
		return nil
	}
	return &r.snaps[len(r.snaps)-1]
}

// add takes a new look and returns the members that are gone since the last
// one. The first look at a group loses nobody.
func (r *groupRing) add(s diagnose.GroupSnapshot) []diagnose.Loss {
	prev := r.last()
	if prev == nil {
		r.snaps = append(r.snaps, s)
		return nil
	}
	if sameSnapshot(*prev, s) {
		prev.Until = s.At
		return nil
	}
	losses := lost(*prev, s, r.id, r.coordinator)
	s.Members = shareMembers(prev.Members, s.Members)
	r.snaps = append(r.snaps, s)
	if len(r.snaps) > maxSnapshots {
		r.snaps = slices.Delete(r.snaps, 0, len(r.snaps)-maxSnapshots)
	}
	return losses
}

// lost compares two looks. A static member whose instance is still there under
// another member id was restarted, not lost.
func lost(prev, now diagnose.GroupSnapshot, group string, coordinator int32) []diagnose.Loss {
	ids, instances := map[string]bool{}, map[string]bool{}
	for _, m := range now.Members {
		ids[m.ID] = true
		if m.InstanceID != "" {
			instances[m.InstanceID] = true
		}
	}
	var out []diagnose.Loss
	for _, m := range prev.Members {
		if ids[m.ID] || m.InstanceID != "" && instances[m.InstanceID] {
			continue
		}
		out = append(out, diagnose.Loss{
			Group: group, Coordinator: coordinator, MemberID: m.ID, ClientID: m.ClientID, Host: m.Host,
			After: prev.Until, By: now.At,
		})
	}
	return out
}

func sameSnapshot(a, b diagnose.GroupSnapshot) bool {
	return a.State == b.State && a.Assignor == b.Assignor && a.Epoch == b.Epoch && slices.EqualFunc(a.Members, b.Members, sameMember)
}

func sameMember(a, b diagnose.Member) bool {
	return a.ID == b.ID && a.InstanceID == b.InstanceID && a.ClientID == b.ClientID && a.Host == b.Host &&
		a.Epoch == b.Epoch && slices.Equal(a.Partitions, b.Partitions)
}

// shareMembers replaces members of the new snapshot by equal ones of the old,
// so that their strings and partitions exist once.
func shareMembers(old, now []diagnose.Member) []diagnose.Member {
	if slices.EqualFunc(old, now, sameMember) {
		return old
	}
	byID := make(map[string]diagnose.Member, len(old))
	for _, m := range old {
		byID[m.ID] = m
	}
	for i, m := range now {
		was, ok := byID[m.ID]
		switch {
		case !ok:
		case sameMember(was, m):
			now[i] = was
		default:
			now[i].ID, now[i].InstanceID, now[i].ClientID, now[i].Host = was.ID, was.InstanceID, was.ClientID, was.Host
			if slices.Equal(was.Partitions, m.Partitions) {
				now[i].Partitions = was.Partitions
			}
		}
	}
	return now
}

func (r *groupRing) addLag(p diagnose.LagPoint, reading diagnose.Reading) {
	r.lagRead = reading
	if !reading.Usable() {
		return
	}
	r.lag = append(r.lag, ringLag{p.At.UnixMilli(), p.Total, p.EndTotal, p.CommittedTotal, int32(p.Hidden)})
}

// forget drops what ended before the cut. The current snapshot always stays.
func (r *groupRing) forget(before time.Time) {
	n := 0
	for n < len(r.snaps)-1 && r.snaps[n].Until.Before(before) && !r.snaps[n+1].At.After(before) {
		n++
	}
	r.snaps = slices.Delete(r.snaps, 0, n)
	m := 0
	for m < len(r.lag) && r.lag[m].atMS < before.UnixMilli() {
		m++
	}
	r.lag = slices.Delete(r.lag, 0, m)
}

// entries is the number of member slots it holds, the unit of memory.
func (r *groupRing) entries() int {
	n := 0
	for i, s := range r.snaps {
		if i == 0 || len(s.Members) > 0 && (len(r.snaps[i-1].Members) == 0 || &s.Members[0] != &r.snaps[i-1].Members[0]) {
			n += len(s.Members)
		}
	}
	return n
}

// snapshots copies those that overlap the span.
func (r *groupRing) snapshots(from, to time.Time) []diagnose.GroupSnapshot {
	var out []diagnose.GroupSnapshot
	for i, s := range r.snaps {
		// A snapshot is in force until the next one begins.
		if i+1 < len(r.snaps) && !r.snaps[i+1].At.After(from) || s.At.After(to) {
			continue
		}
		if s.Until.After(to) {
			s.Until = to
		}
		out = append(out, s)
	}
	return out
}

func (r *groupRing) lagPoints(from, to time.Time) []diagnose.LagPoint {
	var out []diagnose.LagPoint
	for _, p := range r.lag {
		at := time.UnixMilli(p.atMS).UTC()
		if at.Before(from) || at.After(to) {
			continue
		}
		out = append(out, diagnose.LagPoint{At: at, Total: p.total, EndTotal: p.end, CommittedTotal: p.committed, Hidden: int(p.hidden)})
	}
	return out
}
