package diagnose

import (
	"fmt"
	"slices"
	"time"
)

// silence is the time between a member's last commit and its drop.
//
// It is an interval: a record shows the drop when the survivors have rejoined,
// which takes up to their longest gap between polls and a heartbeat (measured:
// a session timeout of 6 s beside a slow survivor showed 12.4 s). Snapshots and
// the survivors' own commits narrow it.
type silence struct {
	// known says that the member committed while it was one.
	known bool
	// last is its last commit; commit is the index into History.Commits.
	last   time.Time
	commit int
	lo, hi time.Duration
	// rhythm is its longest gap between commits before; 0 = too few to tell.
	rhythm time.Duration
	// idle says that nothing was left to commit on its partitions: the next
	// owner committed the same offsets, so the silence means nothing.
	idle bool
	// join bounds the time the survivors took to rejoin; negative = unknown.
	join time.Duration
	// served is the index of a survivor's commit that was accepted meanwhile,
	// -1 if there is none.
	served int
	// steady says that the survivors' commits were accepted all the time, with
	// no gap near a session timeout: the coordinator was well.
	steady bool
}

// sameRequest joins the commits of one request.
const sameRequest = 100 * time.Millisecond

// commitOwners tells for each commit which member held its partition then.
func commitOwners(g *Group) []string {
	if !g.History.Usable() {
		return nil
	}
	h := g.History
	out := make([]string, len(h.Commits))
	rec, owners := -1, map[TopicPartition]string{}
	for i, c := range h.Commits {
		for rec+1 < len(h.Records) && !settledAt(h, rec+1).After(c.At) {
			rec++
			owners = map[TopicPartition]string{}
			for _, m := range h.Records[rec].Members {
				for _, p := range m.Partitions {
					owners[p] = m.ID
				}
			}
		}
		out[i] = owners[c.TopicPartition]
	}
	return out
}

// settledAt is the moment from which a record's assignment holds.
func settledAt(h GroupHistory, i int) time.Time {
	r := h.Records[i]
	if r.StateAt.IsZero() || i > 0 && h.Records[i-1].Generation == r.Generation {
		return r.At
	}
	return r.StateAt
}

// requests are the distinct commit requests of a member in (from, to], by the
// index of one commit each.
func (s *groupStory) requests(id string, from, to time.Time) []int {
	var out []int
	for _, i := range s.owned[id] {
		c := s.g.History.Commits[i]
		if !c.At.After(from) || c.At.After(to) {
			continue
		}
		if n := len(out); n > 0 && c.At.Sub(s.g.History.Commits[out[n-1]].At) <= sameRequest {
			out[n-1] = i
			continue
		}
		out = append(out, i)
	}
	return out
}

// listen measures the member's silence and narrows the moment of its drop.
func (l *loss) listen() {
	l.sil = silence{commit: -1, served: -1, join: -1}
	if !l.s.hasRecords() {
		return
	}
	own := l.s.requests(l.m.ID, time.Time{}, l.by)
	if len(own) > 0 {
		l.sil.known = true
		l.sil.commit = own[len(own)-1]
		l.sil.last = l.s.g.History.Commits[l.sil.commit].At
		l.sil.rhythm = l.longestGap(own, time.Time{})
	}
	if l.unread() {
		l.sil.known = false
		return
	}
	l.boundJoin()
	l.sil.idle = l.nothingToDo()
	if l.sil.known {
		l.sil.lo, l.sil.hi = max(0, l.after.Sub(l.sil.last)), max(0, l.by.Sub(l.sil.last))
	}
	l.hearSurvivors()
	l.still = l.stillness()
}

// unread says that the drop was seen after the log had been read: the member may
// have committed, and left, in between. One that had been silent for far longer than
// usual by then did not do both in the moment between the two reads of one look.
func (l *loss) unread() bool {
	asOf := l.s.g.History.AsOf
	if l.rec >= 0 || asOf.IsZero() || !asOf.Before(l.by) {
		return false
	}
	silent := l.sil.known && l.sil.rhythm > 0 && asOf.Sub(l.sil.last) > 3*l.sil.rhythm
	return !silent || l.by.Sub(asOf) > skew
}

// longestGap is the longest time between requests, the last dozen only; with
// an end, the time from the last one to it counts too.
func (l *loss) longestGap(reqs []int, end time.Time) time.Duration {
	reqs = reqs[max(0, len(reqs)-rhythmRequests):]
	var gap time.Duration
	for i := 1; i < len(reqs); i++ {
		gap = max(gap, l.commitAt(reqs[i]).Sub(l.commitAt(reqs[i-1])))
	}
	if len(reqs) < minRhythm && end.IsZero() {
		return 0
	}
	if !end.IsZero() && len(reqs) > 0 {
		gap = max(gap, end.Sub(l.commitAt(reqs[len(reqs)-1])))
	}
	return gap
}

const (
	// rhythmRequests is how far back a member's rhythm is looked for.
	rhythmRequests = 12
	// minRhythm is the number of requests below which there is no rhythm.
	minRhythm = 3
)

func (l *loss) commitAt(i int) time.Time { return l.s.g.History.Commits[i].At }

// boundJoin bounds the others' time to rejoin, and with it the moment of the
// drop from below: it lies at most that long before the end of the join phase.
func (l *loss) boundJoin() {
	if l.rec < 0 {
		return
	}
	end := settledAt(l.s.g.History, l.rec)
	l.by = earliest(l.by, end)
	l.sil.join = l.joinBound(end)
	if l.sil.join >= 0 {
		l.after = latest(l.after, end.Add(-l.sil.join))
	}
	l.after = earliest(l.after, l.by)
}

// joinBound is the survivors' longest gap between commits around the drop plus
// a heartbeat: a survivor hears of the rebalance at its next heartbeat and
// rejoins at its next poll. It is never above the rebalance timeout. A KIP-848
// group waits for nobody.
func (l *loss) joinBound(end time.Time) time.Duration {
	if l.s.g.History.epochs(l.rec) {
		return 0
	}
	limit := time.Duration(-1)
	if l.rebalance() > 0 {
		limit = l.rebalance()
	}
	stayed := l.s.change(l.rec).stayed
	if len(stayed) == 0 {
		return 0 // an empty group is written down at once
	}
	var gap time.Duration
	for _, m := range stayed {
		if len(m.Partitions) == 0 {
			continue // nothing to process: it polls all the time
		}
		from := l.sil.last
		if from.IsZero() {
			from = end.Add(-2 * max(l.rebalance(), l.session()))
		}
		reqs := l.s.requests(m.ID, from.Add(-max(l.session(), 10*time.Second)), end)
		if len(reqs) == 0 {
			return limit
		}
		gap = max(gap, l.longestGap(reqs, end))
	}
	gap += l.heartbeat()
	if limit >= 0 {
		return min(gap, limit)
	}
	return gap
}

// nothingToDo says that the next owner found the offsets where the member had
// left them.
func (l *loss) nothingToDo() bool {
	before, compared := map[TopicPartition]int64{}, 0
	done := map[TopicPartition]bool{}
	for i, c := range l.s.g.History.Commits {
		if l.s.owners[i] == l.m.ID {
			before[c.TopicPartition] = c.Offset
			continue
		}
		was, held := before[c.TopicPartition]
		if !held || done[c.TopicPartition] || !c.At.After(l.after) {
			continue
		}
		done[c.TopicPartition] = true
		compared++
		if c.Offset > was {
			return false
		}
	}
	return compared > 0
}

// quietSince is the last sign of life of the member: its last commit, or its
// join if it never committed. Where neither is known, the drop less a session
// timeout stands for it.
func (l *loss) quietSince() time.Time {
	switch {
	case l.sil.known:
		return l.sil.last
	case !l.joined.IsZero():
		return l.joined
	default:
		return l.after.Add(-max(l.session(), 10*time.Second))
	}
}

// hearSurvivors looks for commits of others that were accepted while the member
// was silent.
func (l *loss) hearSurvivors() {
	from := l.quietSince()
	for _, m := range l.others() {
		reqs := l.s.requests(m, from, l.by)
		if len(reqs) == 0 {
			continue
		}
		gap := l.commitAt(reqs[0]).Sub(from)
		for i := 1; i < len(reqs); i++ {
			gap = max(gap, l.commitAt(reqs[i]).Sub(l.commitAt(reqs[i-1])))
		}
		gap = max(gap, l.after.Sub(l.commitAt(reqs[len(reqs)-1])))
		if l.sil.served < 0 {
			l.sil.served = reqs[len(reqs)-1]
		}
		if l.session() > 0 && gap < l.silentAtLeast() {
			l.sil.served, l.sil.steady = reqs[len(reqs)-1], true
			return
		}
	}
}

// others are the ids of the members beside this one in the last listing.
func (l *loss) others() []string {
	if l.last < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.s.seen[l.last].ids), func(id string) bool { return id == l.m.ID })
}

// silentAtLeast is the shortest silence that lets a session run out: the
// session timeout less one heartbeat interval.
func (l *loss) silentAtLeast() time.Duration { return l.session() - l.heartbeat() }

// words writes the silence as an interval, or as one number where it is one.
func (x silence) words() string {
	if x.hi-x.lo < 1500*time.Millisecond || seconds(x.lo) == seconds(x.hi) {
		return seconds(x.hi)
	}
	return fmt.Sprintf("%s to %s", seconds(x.lo), seconds(x.hi))
}

// before says how long before the drop the last commit was.
func (x silence) before() string {
	if x.hi < 50*time.Millisecond {
		return "right before the drop"
	}
	return x.words() + " before the drop"
}

// seconds writes a duration as people compare timeouts: in seconds up to ten
// minutes, with one decimal where it matters.
func seconds(d time.Duration) string {
	switch tenth := d.Round(100 * time.Millisecond); {
	case tenth < 20*time.Second && tenth%time.Second != 0:
		return fmt.Sprintf("%.1f s", tenth.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	default:
		return span(d)
	}
}
