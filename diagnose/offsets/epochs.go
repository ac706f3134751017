package offsets

import (
	"slices"
	"sort"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// A KIP-848 group writes no record of its whole membership. Each member has
// records of its own: key 5 when it joins, key 8 whenever it takes up another
// part of its assignment, tombstones of both when it leaves or is fenced; and
// key 3 counts the group's epochs. Records of one moment belong together. Played
// in the order of the log, they give the membership after each change.

// change is one record of keys 3, 5 and 8 as far as it says who is a member.
type change struct {
	offset int64
	at     time.Time
	key    int16
	member string
	gone   bool // a tombstone
	epoch  int32
	now    *currentData
}

// knownMember is the newest key 5 of a member. It stands apart from the
// changes: it may be far older than anything else that is kept.
type knownMember struct {
	offset int64
	*memberData
}

// consumerLog is the KIP-848 side of a group's log.
type consumerLog struct {
	changes []change
	held    int // partitions in changes
	members map[string]knownMember
	// unread counts records that say who is a member and could not be decoded.
	unread int
	first  error
}

func (g *groupLog) addConsumer(r Record) Kind {
	g.kip848 = true
	c, err := decodeConsumer(r)
	if err != nil {
		if t, _ := keyKind(r.Key); t == keyGroupEpoch || t == keyMember || t == keyCurrent {
			g.consumer.unread++
			if g.consumer.first == nil {
				g.consumer.first = err
			}
		}
		return KindMalformed
	}
	e := change{offset: r.Offset, at: r.At.UTC(), key: c.key, member: c.of, gone: c.tombstone, now: c.current}
	switch c.key {
	case keyGroupEpoch:
		if c.epoch != nil {
			e.epoch = c.epoch.epoch
		}
	case keyMember:
		g.consumer.learn(r.Offset, c)
	case keyCurrent:
		g.consumer.held += e.size()
	default:
		return KindKIP848
	}
	g.consumer.changes = append(g.consumer.changes, e)
	g.stale = true
	if len(g.consumer.changes) > 2*maxChanges || g.consumer.held > 2*maxHeld {
		g.consumer.thin()
	}
	return KindKIP848
}

func (e change) size() int {
	if e.now == nil {
		return 0
	}
	n := 0
	for _, ts := range [][]heldTopic{e.now.assigned, e.now.pending} {
		for _, t := range ts {
			n += len(t.partitions)
		}
	}
	return n
}

// learn keeps who a member is, from its newest key 5.
func (l *consumerLog) learn(offset int64, c consumerRecord) {
	if c.member == nil {
		return
	}
	old, known := l.members[c.of]
	if known && old.offset > offset || !known && len(l.members) >= maxMembers {
		return
	}
	if l.members == nil {
		l.members = map[string]knownMember{}
	}
	l.members[c.of] = knownMember{offset, c.member}
}

// sort puts the changes in log order and drops what was added twice.
func (l *consumerLog) sort() {
	sort.SliceStable(l.changes, func(i, j int) bool { return l.changes[i].offset < l.changes[j].offset })
	l.changes = uniq(l.changes, func(c change) int64 { return c.offset })
}

// thin keeps the newest changes within the limits.
func (l *consumerLog) thin() {
	l.sort()
	from, held := len(l.changes), 0
	for from > 0 && len(l.changes)-from < maxChanges && held <= maxHeld {
		from--
		held += l.changes[from].size()
	}
	l.changes, l.held = slices.Clone(l.changes[from:]), held
}

// reachesBack says that an epoch from before a moment was read, or the group's
// first one: every record since is there then, so that the membership at that
// moment follows.
func (l *consumerLog) reachesBack(windowStart time.Time) bool {
	l.sort()
	for _, c := range l.changes {
		if c.key == keyGroupEpoch && !c.gone {
			return !c.at.After(windowStart) || c.epoch <= 1 || c.epoch == firstEpoch && len(l.before()) == 0
		}
	}
	return false
}

// firstEpoch is the epoch that a new group's first record has on 4.4.0; a
// group on which that is the second has a member from before it.
const firstEpoch = 2

// before finds the members that were so before the oldest change: those whose
// first record is none of a join. A join writes key 5, and a key 8 with the
// previous epoch 0.
func (l *consumerLog) before() []string {
	seen := map[string]bool{}   // a first record was judged
	joined := map[string]bool{} // its first record is a key 5, and no key 8 came yet
	var out []string
	for _, c := range l.changes {
		if c.member == "" || seen[c.member] {
			continue
		}
		switch {
		case c.key == keyMember && !c.gone:
			joined[c.member] = true
			continue
		case joined[c.member] && c.gone, c.now != nil && c.now.previous == 0:
			// It came and went, or has just come.
		default:
			out = append(out, c.member)
		}
		seen[c.member] = true
	}
	slices.Sort(out)
	return out
}

// unknownLost says that a member was lost after a moment whose key 5 was not
// read: its client and its timeouts are not known.
func (l *consumerLog) unknownLost(after time.Time) int {
	lost := map[string]bool{}
	for _, c := range l.changes {
		if _, known := l.members[c.member]; c.gone && c.key == keyMember && !known && c.at.After(after) {
			lost[c.member] = true
		}
	}
	return len(lost)
}

// roll is the membership while the changes are played.
type roll struct {
	epoch   int32
	members map[string]*presence
	deleted bool
}

// presence is one member of the roll.
type presence struct {
	at  time.Time
	now *currentData
}

// point is a moment after which the membership differs from before.
type point struct {
	// upTo is the number of changes played.
	upTo    int
	members int
	// who says that members came or went, not only their assignments changed.
	who bool
}

// records plays the log and returns the membership after each change.
func (l *consumerLog) records(names map[[16]byte]string) []loggedRecord {
	l.sort()
	if len(l.changes) == 0 {
		return nil
	}
	points := l.points()
	keep := fewer(points)
	var out []loggedRecord
	r := l.start()
	if points[0].who && len(r.members) > 0 {
		out = append(out, l.beforeFirst(r, names))
	}
	played := 0
	for i, p := range points {
		for ; played < p.upTo; played++ {
			r.play(l.changes[played])
		}
		if last := l.changes[p.upTo-1]; keep[i] {
			out = append(out, loggedRecord{last.offset, r.record(last.at, l.members, names)})
		}
	}
	return out
}

// beforeFirst is the membership just before the oldest change, as far as the
// later ones show it.
func (l *consumerLog) beforeFirst(r *roll, names map[[16]byte]string) loggedRecord {
	first := l.changes[0]
	for _, c := range l.changes {
		if c.key == keyGroupEpoch && !c.gone {
			r.epoch = max(0, c.epoch-1)
			break
		}
	}
	return loggedRecord{first.offset - 1, r.record(first.at.Add(-time.Millisecond), l.members, names)}
}

func (l *consumerLog) start() *roll {
	r := &roll{members: map[string]*presence{}}
	for _, id := range l.before() {
		r.members[id] = &presence{}
	}
	return r
}

// points finds the moments at which the roll changes. There is always one.
func (l *consumerLog) points() []point {
	r := l.start()
	var out []point
	for i := 0; i < len(l.changes); {
		var p point
		moved := false
		for at := l.changes[i].at; i < len(l.changes) && l.changes[i].at.Equal(at); i++ {
			who, what := r.play(l.changes[i])
			p.who = p.who || who
			moved = moved || what
		}
		if p.who || moved || len(out) == 0 {
			p.upTo, p.members = i, len(r.members)
			out = append(out, p)
		}
	}
	return out
}

// fewer chooses the points that History has room for: all of them, or without
// those that only show assignments on their way, or the newest of those.
func fewer(points []point) []bool {
	keep := make([]bool, len(points))
	cost := 0
	for i, p := range points {
		keep[i] = true
		cost += p.members
	}
	if len(points) <= maxRecords && cost <= maxMembers {
		return keep
	}
	n, cost := 0, 0
	for i := len(points) - 1; i >= 0; i-- {
		onItsWay := !points[i].who && i+1 < len(points) && !points[i+1].who
		if keep[i] = !onItsWay; !keep[i] {
			continue
		}
		n++
		cost += points[i].members
		if n > maxRecords || cost > maxMembers && n > 2 {
			keep[i] = false
		}
	}
	return keep
}

// play takes one change and says whether it changed who is a member, and what
// a member holds.
func (r *roll) play(c change) (who, what bool) {
	switch {
	case c.key == keyGroupEpoch:
		was := r.deleted
		r.epoch, r.deleted = c.epoch, c.gone
		return r.deleted != was, false
	case c.gone && c.key == keyMember:
		_, who = r.members[c.member]
		delete(r.members, c.member)
		return who, false
	case c.gone: // the tombstone of key 5 follows
		return false, false
	case c.key == keyMember:
		if r.members[c.member] == nil {
			r.members[c.member] = &presence{}
			who = true
		}
		return who, false
	}
	m := r.members[c.member]
	if m == nil { // its key 5 was not read
		m = &presence{}
		r.members[c.member] = m
		who = true
	}
	if m.now != nil && m.now.same(c.now) {
		return who, false
	}
	m.at, m.now = c.at, c.now
	return who, true
}

// same compares what rules read.
func (d *currentData) same(o *currentData) bool {
	equal := func(a, b heldTopic) bool { return a.topic == b.topic && slices.Equal(a.partitions, b.partitions) }
	return d.epoch == o.epoch && d.state == o.state &&
		slices.EqualFunc(d.assigned, o.assigned, equal) && slices.EqualFunc(d.pending, o.pending, equal)
}

// record writes the roll down.
func (r *roll) record(at time.Time, known map[string]knownMember, names map[[16]byte]string) diagnose.GroupRecord {
	out := diagnose.GroupRecord{At: at, Protocol: "consumer", Generation: r.epoch, Tombstone: r.deleted}
	for id, p := range r.members {
		out.Members = append(out.Members, p.member(id, known[id].memberData, names))
	}
	sort.Slice(out.Members, func(i, j int) bool { return out.Members[i].ID < out.Members[j].ID })
	return out
}

func (p *presence) member(id string, who *memberData, names map[[16]byte]string) diagnose.RecordMember {
	out := diagnose.RecordMember{ID: id}
	if who != nil {
		out.InstanceID, out.ClientID, out.Host, out.RebalanceTimeoutMS = who.instance, who.client, who.host, who.rebalanceMS
		if who.classic != nil {
			out.SessionTimeoutMS = who.classic.sessionMS
		}
	}
	if p.now == nil {
		return out
	}
	out.Epoch, out.State, out.StateAt = p.now.epoch, stateName(p.now.state), p.at
	out.Revoking = named(p.now.pending, names)
	out.Partitions = append(named(p.now.assigned, names), out.Revoking...)
	sortPartitions(out.Partitions)
	return out
}

// stateName is empty for a state of the future.
func stateName(s int8) string {
	switch s {
	case 0:
		return diagnose.MemberStable
	case 1:
		return diagnose.MemberUnrevoked
	case 2:
		return diagnose.MemberUnreleased
	default:
		return ""
	}
}

func named(held []heldTopic, names map[[16]byte]string) []diagnose.TopicPartition {
	var out []diagnose.TopicPartition
	for _, t := range held {
		name, ok := names[t.topic]
		if !ok {
			name = idText(t.topic)
		}
		for _, p := range t.partitions {
			out = append(out, diagnose.TopicPartition{Topic: name, Partition: p})
		}
	}
	sortPartitions(out)
	return out
}

func sortPartitions(ps []diagnose.TopicPartition) {
	sort.Slice(ps, func(i, j int) bool {
		if ps[i].Topic != ps[j].Topic {
			return ps[i].Topic < ps[j].Topic
		}
		return ps[i].Partition < ps[j].Partition
	})
}
