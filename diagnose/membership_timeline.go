package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// skew is how far the clocks of the bot (snapshots) and of a broker (records,
// commits) may be apart before their order means something.
const skew = time.Second

// listings puts records and snapshots of a group into one order of time.
func listings(f *facts, g *Group) []listing {
	var out []listing
	if g.History.Usable() {
		for i, r := range g.History.Records {
			out = append(out, recordListing(g, i, r))
		}
	}
	if f.e.GroupsReading.Usable() && g.Usable() {
		for i, s := range g.Snapshots {
			out = append(out, snapshotListing(g, i, s))
		}
		if g.unlisted() {
			out = append(out, listing{from: g.AsOf, until: g.AsOf, rec: -1, state: stateDead, path: groupPath(g.ID, "status"), reading: g.Reading})
		}
	}
	slices.SortStableFunc(out, func(a, b listing) int { return a.from.Compare(b.from) })
	return out
}

func recordListing(g *Group, i int, r GroupRecord) listing {
	l := listing{
		from: r.At, until: r.At, rec: i, members: map[string]RecordMember{},
		path: groupPath(g.ID, fmt.Sprintf("history.records[%d]", i)), reading: g.History.Reading,
	}
	// The members are settled at the end of the join phase; the record is
	// written when the leader has synced. A static member that is replaced
	// keeps the generation and the old state time.
	if !r.StateAt.IsZero() && (i == 0 || g.History.Records[i-1].Generation != r.Generation) {
		l.from = r.StateAt
	}
	for _, m := range r.Members {
		l.members[m.ID] = m
	}
	l.ids = slices.Sorted(maps.Keys(l.members))
	return l
}

func snapshotListing(g *Group, i int, s GroupSnapshot) listing {
	l := listing{
		from: s.At, until: s.Until, rec: -1, state: s.State, members: map[string]RecordMember{},
		path: groupPath(g.ID, fmt.Sprintf("snapshots[%d]", i)), reading: g.Reading,
	}
	if l.until.Before(l.from) {
		l.until = l.from
	}
	for _, m := range s.Members {
		l.members[m.ID] = RecordMember{ID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.Host, Partitions: m.Partitions}
	}
	l.ids = slices.Sorted(maps.Keys(l.members))
	return l
}

// firstSeen indexes the first sight of each member.
func firstSeen(seen []listing) (first map[string]int, fresh [][]string) {
	first, fresh = map[string]int{}, make([][]string, len(seen))
	for i, l := range seen {
		for _, id := range l.ids {
			if _, known := first[id]; !known {
				first[id] = i
				fresh[i] = append(fresh[i], id)
			}
		}
	}
	return first, fresh
}

// follow walks through the listings and notes who is no longer listed.
func (s *groupStory) follow() {
	last := map[string]int{} // present members, by the listing that showed them last
	gone := map[string]*loss{}
	for i, l := range s.seen {
		for _, id := range slices.Sorted(maps.Keys(last)) {
			if !l.has(id) {
				gone[id] = s.drop(id, last[id], i)
				delete(last, id)
			}
		}
		for _, id := range l.ids {
			if x := gone[id]; x != nil {
				s.recover(x, l)
				delete(gone, id)
			}
			last[id] = i
		}
	}
	s.joinMoments()
	s.keepInWindow()
}

// recover handles an id that is listed again. A classic member never gets its
// id back, so nothing was lost: the clocks of two sources differ, or an answer
// came from a coordinator that did not hold the group; such a loss is forgotten.
// A KIP-848 member keeps its id for life and has come back, at once where its own
// records say so.
func (s *groupStory) recover(x *loss, l listing) {
	written := l.rec > x.rec && s.g.History.epochs(x.rec) && s.seen[x.drop].rec == x.rec
	if s.classic() || l.from.Sub(x.by) <= 2*skew && !written {
		if s.classic() && l.from.Sub(x.by) > 2*skew {
			s.relisted[x.m.ID] = l.from
		}
		x.by = time.Time{}
		return
	}
	if x.back == nil {
		x.back = &comeback{at: l.from, id: x.m.ID, path: l.path, sameID: true}
	}
}

func (s *groupStory) drop(id string, last, drop int) *loss {
	x := &loss{s: s, m: s.member(id, last), last: last, drop: drop, rec: -1, watched: -1}
	from, to := s.seen[last], s.seen[drop]
	x.after, x.by = from.until, to.from
	if x.by.Before(x.after) {
		x.after, x.by = x.by, x.after
	}
	for i := drop; i < len(s.seen); i++ {
		if l := s.seen[i]; l.rec >= 0 && !l.has(id) {
			x.rec = l.rec
			break
		}
	}
	for _, other := range from.ids {
		if to.has(other) {
			x.survivors++
		} else {
			x.together++
		}
	}
	x.joined = s.joined(id)
	x.notePreparing()
	s.losses = append(s.losses, x)
	return x
}

// member joins what the listings know of a member: the timeouts are in records
// only, the partitions are those it held in listing last or before. (A KIP-848
// member may be back under its id, with others.)
func (s *groupStory) member(id string, last int) RecordMember {
	out := RecordMember{ID: id}
	for i, l := range s.seen {
		m, ok := l.members[id]
		if !ok {
			continue
		}
		if len(m.Partitions) == 0 || i > last {
			m.Partitions = out.Partitions
		}
		if m.SessionTimeoutMS == 0 && m.RebalanceTimeoutMS == 0 {
			m.SessionTimeoutMS, m.RebalanceTimeoutMS = out.SessionTimeoutMS, out.RebalanceTimeoutMS
		}
		if m.ClientID == "" {
			m.ClientID, m.Host, m.InstanceID = out.ClientID, out.Host, out.InstanceID
		}
		out = m
	}
	if !s.classic() && out.SessionTimeoutMS == 0 {
		out.SessionTimeoutMS = s.serverSession()
	}
	return out
}

// serverSession is the session timeout of KIP-848 groups in milliseconds, a setting
// of the group itself or else of the coordinator; 0 when neither was read.
func (s *groupStory) serverSession() int32 { return s.serverSetting("consumer.session.timeout.ms") }

// serverSetting is a setting of KIP-848 groups in milliseconds: the group's own, or
// else its coordinator's, whose name begins with "group."; 0 when neither was read.
func (s *groupStory) serverSetting(name string) int32 {
	if n := timeoutSetting(s.g.Settings[name]); n > 0 {
		return n
	}
	b := s.coordinator()
	if b == nil {
		return 0
	}
	return timeoutSetting(b.Settings["group."+name])
}

// longestSession is what the broker lets a session timeout be at most: its
// group.consumer.max.session.timeout.ms for KIP-848 groups, group.max.session.timeout.ms
// for classic ones, else their defaults (60 s, 30 min). Rounded down to 5 s.
func (s *groupStory) longestSession() time.Duration {
	name, most := "group.max.session.timeout.ms", 30*time.Minute
	if !s.classic() {
		name, most = "group.consumer.max.session.timeout.ms", time.Minute
	}
	if b := s.coordinator(); b != nil {
		if n := timeoutSetting(b.Settings[name]); n > 0 {
			most = ms(n)
		}
	}
	return max(most.Truncate(5*time.Second), min(most, 5*time.Second))
}

// timeoutSetting is a setting in milliseconds, 0 when it was not read or is none.
func timeoutSetting(v Setting) int32 {
	n, err := strconv.Atoi(v.Value)
	if !v.Usable() || err != nil || n < 0 || n > 24*3600*1000 {
		return 0
	}
	return int32(n)
}

// joined is the end of the join phase that made it a member, from records.
func (s *groupStory) joined(id string) time.Time {
	seen := false
	for _, l := range s.seen {
		if l.rec < 0 {
			continue
		}
		if l.has(id) {
			if !seen {
				return time.Time{}
			}
			return l.from
		}
		seen = true
	}
	return time.Time{}
}

// waiting is what looks at the group say of the rebalance at whose end a member
// was dropped.
type waiting struct {
	// seen says that a look fell into it, begun that its beginning was sampled.
	seen, begun bool
	// held is how long the member was listed in it at least: between the first and
	// the last look that shows both. Its heartbeats went on for that long, less one
	// session timeout: a member whose session runs out is listed no longer.
	held time.Duration
	// least and most bound its length, from its beginning to the drop; most is
	// negative when the look before is unknown.
	least, most time.Duration
	// at is the first look that lists the member in it, -1 for none.
	at int
}

// notePreparing measures the rebalance before the drop: a member that is only
// slow to rejoin stays listed all through it, a lost one does not.
func (l *loss) notePreparing() {
	w := waiting{at: -1, most: -1}
	var last time.Time
	for i := l.drop; i >= 0; i-- {
		x := l.s.seen[i]
		if x.rec >= 0 || i == l.drop && x.settled() {
			continue // written, or seen, when the rebalance was over
		}
		if x.state != "PreparingRebalance" {
			w.begun, w.most = w.seen, l.by.Sub(x.until)
			break
		}
		w.seen, w.least = true, l.by.Sub(x.from)
		if x.has(l.m.ID) {
			if last.IsZero() {
				last = x.until
			}
			w.held, w.at = last.Sub(x.from), i
		}
	}
	l.wait = w
}

// memberChange compares a record's member list with that of the record before.
type memberChange struct {
	// stayed are the members of the record before that this one still lists.
	stayed []RecordMember
	// fresh says that it lists one which the record before did not.
	fresh bool
}

// change compares record rec with the one before; the first record has none.
// Every loss of a record asks, so the answer is worked out once.
func (s *groupStory) change(rec int) memberChange {
	if rec < 1 {
		return memberChange{}
	}
	if c, known := s.changes[rec]; known {
		return c
	}
	before, now := s.g.History.Records[rec-1].Members, s.g.History.Records[rec].Members
	had, has := idSet(before), idSet(now)
	var c memberChange
	for _, m := range before {
		if has[m.ID] {
			c.stayed = append(c.stayed, m)
		}
	}
	for _, m := range now {
		c.fresh = c.fresh || !had[m.ID]
	}
	s.changes[rec] = c
	return c
}

func idSet(ms []RecordMember) map[string]bool {
	ids := make(map[string]bool, len(ms))
	for _, m := range ms {
		ids[m.ID] = true
	}
	return ids
}

// keepInWindow drops what was cancelled, what lies before the window, and sets
// apart static members whose id was replaced.
func (s *groupStory) keepInWindow() {
	var kept []*loss
	for _, x := range s.losses {
		switch {
		case x.by.IsZero(), x.by.Before(s.f.from()), x.after.After(s.f.at()):
		case s.inPlace(x):
			s.replaced = append(s.replaced, x)
		default:
			kept = append(kept, x)
		}
	}
	s.losses = kept
}

// inPlace says that a new member id took over the instance id in the very
// listing that dropped the old one, without a rebalance.
func (s *groupStory) inPlace(x *loss) bool {
	if x.m.InstanceID == "" {
		return false
	}
	from, to := s.seen[x.last], s.seen[x.drop]
	if to.rec >= 0 && from.rec >= 0 && s.g.History.Records[to.rec].Generation != s.g.History.Records[from.rec].Generation {
		return false
	}
	for _, id := range to.ids {
		if !from.has(id) && to.members[id].InstanceID == x.m.InstanceID {
			return true
		}
	}
	return false
}

// addWatched joins the watcher's losses: they narrow the moment of a known one,
// and are all there is where nothing else was read.
func (s *groupStory) addWatched() {
	w := s.f.e.Watcher
	if !w.Usable() {
		return
	}
	for i, v := range w.Losses {
		if v.Group != s.g.ID || v.By.Before(s.f.from()) || v.After.After(s.f.at()) {
			continue
		}
		if s.replacedOf(v.MemberID) || s.classic() && s.listedAfter(v.MemberID, v.By) {
			continue
		}
		if x := s.lossOf(v.MemberID, v.By); x != nil {
			x.narrow(i, v)
			continue
		}
		m := s.member(v.MemberID, len(s.seen))
		if m.ClientID == "" {
			m.ClientID, m.Host = v.ClientID, v.Host
		}
		s.losses = append(s.losses, &loss{
			s: s, m: m, after: v.After, by: v.By, last: -1, drop: -1, rec: -1, watched: i, together: 1, survivors: -1,
		})
	}
}

// narrow takes over the watcher's bounds where they are about the same moment.
func (l *loss) narrow(i int, v Loss) {
	after, by := v.After.Add(-skew), v.By.Add(skew)
	if by.Before(l.after) || after.After(l.by) {
		return
	}
	l.watched = i
	l.after, l.by = latest(l.after, after), earliest(l.by, by)
}

func (s *groupStory) lossOf(id string, near time.Time) *loss {
	for _, x := range s.losses {
		// A KIP-848 member may be lost twice under one id.
		if x.m.ID == id && (s.classic() || near.Sub(x.by).Abs() < time.Minute) {
			return x
		}
	}
	return nil
}

func (s *groupStory) listedAfter(id string, t time.Time) bool {
	return slices.ContainsFunc(s.seen, func(l listing) bool { return l.from.After(t) && l.has(id) })
}

func (s *groupStory) replacedOf(id string) bool {
	return slices.ContainsFunc(s.replaced, func(x *loss) bool { return x.m.ID == id })
}

// latest and earliest never cross: a bound that does is left out.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
