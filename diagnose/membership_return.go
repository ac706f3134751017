package diagnose

import (
	"slices"
	"time"
)

// findComebacks matches each lost member with the new member that is the same
// client again, and notes a successor that was listed beside it.
func (s *groupStory) findComebacks() {
	taken := map[string]bool{}
	for _, x := range s.losses {
		if x.beside == "" {
			x.beside = s.besides(x)
		}
		if x.back != nil {
			continue
		}
		x.back = s.comeback(x, taken)
		if x.back != nil {
			taken[x.back.id] = true
		}
	}
}

// comeback finds the first new member after the drop that is the same client:
// the same instance id, or else the same client id, on the same host if there
// is such a one. Where all members share a client id, each new one counts once.
func (s *groupStory) comeback(x *loss, taken map[string]bool) *comeback {
	for _, here := range []bool{true, false} {
		for i := max(x.drop, 0); i < len(s.seen); i++ {
			l := s.seen[i]
			if l.until.Before(x.after) {
				continue
			}
			for _, id := range l.ids {
				if taken[id] || !s.isNew(id, i, x) || !sameClient(x.m, l.members[id], here) {
					continue
				}
				at := latest(l.from, x.by)
				return &comeback{
					at: at, id: id, path: l.path, elsewhere: l.members[id].Host != x.m.Host,
					sameRecord: l.rec >= 0 && l.rec == x.rec,
				}
			}
		}
	}
	return nil
}

// isNew says that a member was first listed at or after the drop.
func (s *groupStory) isNew(id string, i int, x *loss) bool {
	if id == x.m.ID {
		return false
	}
	from := x.drop
	if from < 0 { // the watcher's loss: by time
		from = slices.IndexFunc(s.seen, func(l listing) bool { return !l.from.Before(x.after) })
	}
	for j := 0; j < from; j++ {
		if s.seen[j].has(id) {
			return false
		}
	}
	return from >= 0 && i >= from
}

func sameClient(a, b RecordMember, here bool) bool {
	if a.InstanceID != "" || b.InstanceID != "" {
		return a.InstanceID == b.InstanceID
	}
	return a.ClientID == b.ClientID && (!here || a.Host == b.Host)
}

// besides finds a successor: a member of the same client id that came while
// this one was silent and was listed together with it. Siblings that have
// always been there are no successors.
func (s *groupStory) besides(x *loss) string {
	if x.last < 0 {
		return ""
	}
	for i := 1; i <= x.last; i++ {
		l := s.seen[i]
		if !l.has(x.m.ID) || l.from.Before(x.by.Add(-besideSpan(x))) {
			continue
		}
		for _, id := range l.ids {
			if id != x.m.ID && !s.listedBefore(id, i) && sameClient(x.m, l.members[id], false) {
				return id
			}
		}
	}
	return ""
}

func (s *groupStory) listedBefore(id string, i int) bool {
	return slices.ContainsFunc(s.seen[:i], func(l listing) bool { return l.has(id) })
}

// besideSpan is how long before the drop a successor can have come: the session
// timeout that had to run out, and the others' rejoin.
func besideSpan(x *loss) time.Duration {
	if x.session() == 0 {
		return time.Minute
	}
	return 2 * x.session()
}
