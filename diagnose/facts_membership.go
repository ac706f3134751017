package diagnose

import (
	"slices"
	"time"
)

// membership is what follows from records, snapshots and the watcher's losses:
// who was dropped from which group, when, and what the sources saw around it.
type membership struct {
	stories []*groupStory
}

// groupStory is one group's membership over time.
type groupStory struct {
	f *facts
	g *Group
	// seen is every sight of the member list, in the order of time.
	seen []listing
	// losses are the members dropped in the window, oldest first.
	losses []*loss
	// replaced are static members whose member id changed under the same
	// instance id: a restart within the session, or two processes with one id.
	replaced []*loss
	// first is the listing that showed a member first, fresh the members that
	// each listing showed first.
	first map[string]int
	fresh [][]string
	// owners holds the owner of each commit of the history, "" when unknown;
	// owned the indexes of each member's commits.
	owners []string
	owned  map[string][]int
	// relisted are the members of a classic group that were listed again after they
	// had been dropped, by id, with the moment: the coordinator read its group from
	// the log again, whose last record still has them.
	relisted map[string]time.Time
	// commitTimes and usualCommit remember the answer of commitRhythm.
	commitTimes []time.Time
	usualCommit time.Duration
	// changes remembers the answers of change, by record.
	changes map[int]memberChange
	// takenOver are the losses that have a successor of their own (tookOver).
	takenOver []*loss
	// rebirth is the moment at which the group's state began anew, nil if it did
	// not.
	rebirth *rebirth
}

// listing is the member list as one record or snapshot shows it.
type listing struct {
	// from and until bound the time for which it is known to hold.
	from, until time.Time
	ids         []string
	members     map[string]RecordMember
	path        string
	reading     Reading
	// rec is the index into History.Records, -1 for a snapshot.
	rec   int
	state string
}

func (l listing) has(id string) bool { _, ok := l.members[id]; return ok }

// settled says that no rebalance was going on: every record is written at the
// end of one.
func (l listing) settled() bool {
	return l.rec >= 0 || l.state == "Stable" || l.state == "Empty"
}

// loss is one member that was dropped from its group.
type loss struct {
	s *groupStory
	// m is what is known of the member, from records where there are any.
	m RecordMember
	// after and by bound the true moment of the drop.
	after, by time.Time
	// last and drop are the listings that show it last and no longer.
	last, drop int
	// rec is the record that no longer lists it, -1 when there is none yet.
	rec int
	// watched is the index into Watcher.Losses, -1 when the watcher has none.
	watched int
	// joined is the end of the join phase that made it a member; zero when it
	// was a member as far back as is visible.
	joined time.Time
	// together is the number of members dropped at the same moment, itself
	// included; survivors is the number of members that stayed.
	together, survivors int
	back                *comeback
	// beside is a new member of the same client id that was listed together
	// with this one while it was silent, or took its place in one record.
	beside string
	// wait is what was seen of the rebalance that ended without it.
	wait waiting
	// still is what the records say of the time in which nobody of the group
	// committed before it was dropped.
	still standstill

	sil    silence
	leave  signalView
	called signalView
	client clientView
	coord  coordView
	pod    podView
	gc     gcView
	// heard is what log text says about it.
	heard testimony
	// decision is which cause it was, as far as that can be told.
	decision decision
}

// comeback is the return of a lost member under a new or the same id.
type comeback struct {
	at     time.Time
	id     string
	path   string
	sameID bool
	// elsewhere says that it returned with the same client id on another host.
	elsewhere bool
	// sameRecord says that it was back in the record that dropped it.
	sameRecord bool
}

// newMembership works out the membership facts of all groups in the evidence;
// the rules look at those in scope.
func newMembership(f *facts) membership {
	var m membership
	for i := range f.e.Groups {
		m.stories = append(m.stories, newStory(f, &f.e.Groups[i]))
	}
	// Signals of a broker are shared by its groups: attributing them needs the
	// losses of all.
	for _, s := range m.stories {
		for _, l := range s.losses {
			l.listen()
		}
	}
	for _, s := range m.stories {
		s.rebirth = s.reborn()
		for _, l := range s.losses {
			l.observe(m)
		}
	}
	for _, s := range m.stories {
		for _, l := range s.losses {
			if l.tookOver() && !l.sharedClient() {
				s.takenOver = append(s.takenOver, l)
			}
		}
		for _, l := range s.losses {
			l.decision = decide(l)
		}
	}
	return m
}

// story returns the story of a group in scope.
func (m membership) story(g *Group) *groupStory {
	i := slices.IndexFunc(m.stories, func(s *groupStory) bool { return s.g.ID == g.ID })
	if i < 0 {
		return nil
	}
	return m.stories[i]
}

func newStory(f *facts, g *Group) *groupStory {
	s := &groupStory{f: f, g: g, changes: map[int]memberChange{}, relisted: map[string]time.Time{}}
	s.seen = listings(f, g)
	s.first, s.fresh = firstSeen(s.seen)
	s.owners = commitOwners(g)
	s.owned = map[string][]int{}
	for i, id := range s.owners {
		s.owned[id] = append(s.owned[id], i)
	}
	s.follow()
	s.addWatched()
	s.findComebacks()
	slices.SortStableFunc(s.losses, func(a, b *loss) int { return a.by.Compare(b.by) })
	return s
}

// classic says that members come and go by the classic protocol.
func (s *groupStory) classic() bool { return s.g.Protocol != "consumer" }

// hasRecords says that the group's log was read and holds its membership.
func (s *groupStory) hasRecords() bool {
	return s.g.History.Usable() && len(s.g.History.Records) > 0
}

// baselineKnown says that the membership at the beginning of the window is
// known, so that whoever left is visible.
func (s *groupStory) baselineKnown() bool {
	h := s.g.History
	if h.Usable() && (h.Baseline || s.birthRead() && !h.epochs(0)) {
		return true
	}
	return s.watchedWhole() && len(s.seen) > 0
}

// birthRead says that the oldest record which was read is the group's first.
func (s *groupStory) birthRead() bool {
	return s.hasRecords() && (s.g.History.Records[0].Generation <= 1 || s.watchedFirst())
}

// watchedFirst says that the watcher was there before a classic group's first record
// and had not seen the group: nobody left before. Two members that join at once make
// that the second generation, since nobody has synced in the first (measured).
func (s *groupStory) watchedFirst() bool {
	first, w := s.g.History.Records[0], s.f.e.Watcher
	looked := w.Usable() && !w.Since.IsZero() && s.f.e.GroupsReading.Usable() && s.g.Usable()
	return looked && first.Generation <= firstGenerations && w.Since.Before(first.At.Add(-2*skew)) &&
		!s.seen[0].from.Before(settledAt(s.g.History, 0))
}

// watchedWhole says that the watcher has seen the whole window.
func (s *groupStory) watchedWhole() bool {
	w := s.f.e.Watcher
	return w.Usable() && !w.Since.IsZero() && !w.Since.After(s.f.from())
}

// sighted says that the member list was seen at all.
func (s *groupStory) sighted() bool { return len(s.seen) > 0 || len(s.losses) > 0 }

// current is the number of members now, -1 when it is not known: those of the last
// listing without those that the watcher saw go since.
func (s *groupStory) current() int {
	if len(s.seen) == 0 {
		return -1
	}
	last := s.seen[len(s.seen)-1]
	n := len(last.ids)
	for _, l := range s.losses {
		if l.drop < 0 && l.back == nil && last.has(l.m.ID) {
			n--
		}
	}
	return n
}

// baseline is the number of members before the first loss, -1 when unknown.
func (s *groupStory) baseline() int {
	if len(s.losses) == 0 {
		return s.current()
	}
	first := s.losses[0]
	for i := first.last; i >= 0; i-- {
		if l := s.seen[i]; l.settled() && l.has(first.m.ID) {
			return len(l.ids)
		}
	}
	if first.last >= 0 {
		return len(s.seen[first.last].ids)
	}
	return -1
}

// session and rebalance are the member's timeouts, 0 when unknown.
func (l *loss) session() time.Duration { return ms(l.m.SessionTimeoutMS) }

func (l *loss) rebalance() time.Duration { return ms(l.m.RebalanceTimeoutMS) }

// heartbeat is the heartbeat interval that the rules reckon with: what a KIP-848
// group is set to, else a third of the session timeout, which clients are told not to
// go above (KIP-62).
func (l *loss) heartbeat() time.Duration {
	if n := l.setHeartbeat(); n > 0 {
		return n
	}
	return l.session() / 3
}

// setHeartbeat is the heartbeat interval where a source shows it: that of a KIP-848
// group is a setting, a classic client's is in no record. 0 = not known.
func (l *loss) setHeartbeat() time.Duration {
	if l.s.classic() {
		return 0
	}
	if n := ms(l.s.serverSetting("consumer.heartbeat.interval.ms")); n < l.session() {
		return n
	}
	return 0
}

// static says that the member has a group.instance.id.
func (l *loss) static() bool { return l.m.InstanceID != "" }

// away is how long the member has been gone.
func (l *loss) away() time.Duration { return max(0, l.s.f.at().Sub(l.by)) }

func ms(n int32) time.Duration { return time.Duration(max(0, n)) * time.Millisecond }
