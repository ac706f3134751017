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
	from := x.drop
	if from < 0 { // the watcher's loss: by time
		from = slices.IndexFunc(s.seen, func(l listing) bool { return !l.from.Before(x.after) })
	}
	if from < 0 {
		return nil
	}
	for _, here := range []bool{true, false} {
		for i := from; i < len(s.seen); i++ {
			l := s.seen[i]
			for _, id := range s.fresh[i] {
				if taken[id] || id == x.m.ID || !sameClient(x.m, l.members[id], here) {
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
		for _, id := range s.fresh[i] {
			if id != x.m.ID && sameClient(x.m, l.members[id], false) {
				return id
			}
		}
	}
	return ""
}

// besideSpan is how long before the drop a successor can have come: the session
// timeout that had to run out, and the others' rejoin.
func besideSpan(x *loss) time.Duration {
	if x.session() == 0 {
		return time.Minute
	}
	return 2 * x.session()
}
