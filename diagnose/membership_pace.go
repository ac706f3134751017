package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pace is how long a member takes for one record.
type pace struct {
	// perRecord is the processing time, 0 = unknown; by says where it is from.
	perRecord time.Duration
	by        string
	// atMost bounds it where the member may have waited for records, 0 = unknown.
	atMost time.Duration
	// missing says what would have been needed to know it.
	missing string
}

const (
	// busyIdleRatio is the poll-idle-ratio-avg up to which a Java consumer counts
	// as busy all the time. One that waits for every record shows 0.5, not 1: the
	// metric divides by the time between two polls, which holds the last poll
	// itself (measured on 3.9.2 and 4.4.0: 0.48 to 0.51 while idle).
	busyIdleRatio = 0.1
	// paceSpan is how far around the stall a pace is looked for.
	paceSpan = 10 * time.Minute
	// paceRequests is the number of commit requests that a pace is taken from.
	paceRequests = 4
	// maxSuccessors bounds the members that are measured after a stall.
	maxSuccessors = 3
	// A consumer that keeps up has a lag as well: what came since its last commit.
	// A backlog is more than it does in backlogCommits of them, and in backlogLeast.
	backlogCommits = 3
	backlogLeast   = 10 * time.Second
)

// timePerRecord measures the processing time a record. Commits show it only while
// the next record was waiting, else they show the producers' pace. Proof of that
// is a backlog, or the client's own word that poll() hardly waits. The stall makes
// a backlog of its own, so whoever works it off is measured as well, until it is
// gone.
func (l *loss) timePerRecord() pace {
	c := l.paceClient()
	before, ok := l.committed(l.m.ID, l.ownRequests())
	switch {
	case ok && l.backlog(before):
		return pace{perRecord: before.each(), by: "its commits while the group had a backlog"}
	case ok && c.busy(before.from, before.to):
		return pace{perRecord: before.each(), by: "its commits while its poll-idle-ratio-avg shows that it had no pause"}
	}
	if after, ok := l.workedOff(); ok {
		return pace{perRecord: after.each(), by: "commits on its partitions while the backlog of the stall was worked off"}
	}
	p := pace{missing: l.paceMissing(ok, before, c)}
	if ok {
		p.atMost = before.each()
	}
	return p
}

// progress is how many records were done in a span.
type progress struct {
	from, to time.Time
	records  int64
	every    time.Duration // from one commit to the next
}

func (p progress) each() time.Duration { return p.to.Sub(p.from) / time.Duration(max(1, p.records)) }

// ownRequests are the last commits of the member before its silence.
func (l *loss) ownRequests() []int {
	if !l.sil.known {
		return nil
	}
	own := l.s.requests(l.m.ID, time.Time{}, l.sil.last)
	return own[max(0, len(own)-paceRequests):]
}

// committed adds up what a member's requests moved on; ok is false for fewer than
// three requests or no record.
func (l *loss) committed(id string, reqs []int) (progress, bool) {
	if len(reqs) < minRhythm {
		return progress{}, false
	}
	p := progress{from: l.commitAt(reqs[0]), to: l.commitAt(reqs[len(reqs)-1])}
	p.every = p.to.Sub(p.from) / time.Duration(len(reqs)-1)
	first, last := map[TopicPartition]int64{}, map[TopicPartition]int64{}
	for i, c := range l.s.g.History.Commits {
		if l.s.owners[i] != id || c.At.Before(p.from.Add(-sameRequest)) || c.At.After(p.to) {
			continue
		}
		if _, ok := first[c.TopicPartition]; !ok {
			first[c.TopicPartition] = c.Offset
		}
		last[c.TopicPartition] = c.Offset
	}
	for tp, a := range first {
		p.records += max(0, last[tp]-a)
	}
	return p, p.records > 0 && p.to.After(p.from)
}

// workedOff measures the member that took over the lost one's partitions, as long
// as records of before the drop were left there.
func (l *loss) workedOff() (progress, bool) {
	if !l.s.hasRecords() || !l.s.g.LagReading.Usable() {
		return progress{}, false
	}
	end := l.lagUntil()
	for _, id := range l.successors(end) {
		first, last := l.held(id, end)
		reqs := l.s.requests(id, first.Add(-sameRequest), last)
		for n := min(len(reqs), 3*paceRequests); n >= minRhythm; n-- {
			if p, ok := l.committed(id, reqs[:n]); ok && l.leftOver(p) {
				return p, true
			}
		}
	}
	return progress{}, false
}

// held bounds the span in which a successor is known to hold the lost one's
// partitions: its first and last commit on them after the drop.
func (l *loss) held(id string, end time.Time) (first, last time.Time) {
	for _, i := range l.s.owned[id] {
		c := l.s.g.History.Commits[i]
		if !c.At.After(l.by) || c.At.After(end) || !slices.Contains(l.m.Partitions, c.TopicPartition) {
			continue
		}
		if first.IsZero() {
			first = c.At
		}
		last = c.At
	}
	return first, last
}

// leftOver says that the records a successor did were there before it began: a look
// of the stall saw a lag of at least what the whole group has done since.
func (l *loss) leftOver(p progress) bool {
	return slices.ContainsFunc(l.s.g.Lag, func(x LagPoint) bool {
		return x.At.After(l.quietSince()) && !x.At.After(p.from) && x.Total > 0 && x.Total >= l.done(x.At, p.to)
	})
}

// done is how far the group's committed offsets moved on in a span, counted from the
// last commits before it. The history does not hold all commits: a partition without
// one is taken to move as the others do.
func (l *loss) done(from, to time.Time) int64 {
	last, moved := map[TopicPartition]int64{}, map[TopicPartition]int64{}
	all := map[TopicPartition]bool{}
	for _, c := range l.s.g.History.Commits {
		all[c.TopicPartition] = true
		if c.At.After(to) {
			continue
		}
		if was, ok := last[c.TopicPartition]; ok && c.At.After(from) {
			moved[c.TopicPartition] += max(0, c.Offset-was)
		}
		last[c.TopicPartition] = c.Offset
	}
	var n int64
	for _, m := range moved {
		n += m
	}
	return n * int64(len(all)) / int64(max(1, len(moved)))
}

// lagUntil is the last look after the drop up to which lag never was zero.
func (l *loss) lagUntil() time.Time {
	end := l.by
	for _, p := range l.s.g.Lag {
		switch {
		case !p.At.After(l.by):
		case p.Total <= 0 || p.At.Sub(l.by) > paceSpan:
			return end
		default:
			end = p.At
		}
	}
	return end
}

// successors are the first members that committed on the lost one's partitions
// after the drop.
func (l *loss) successors(end time.Time) []string {
	var out []string
	for i, c := range l.s.g.History.Commits {
		id := l.s.owners[i]
		if len(out) == maxSuccessors {
			break
		}
		if c.At.After(l.by) && !c.At.After(end) && id != "" && !slices.Contains(out, id) && slices.Contains(l.m.Partitions, c.TopicPartition) {
			out = append(out, id)
		}
	}
	return out
}

// paceClient is the client behind the member, nil when it cannot be told.
func (l *loss) paceClient() *Client {
	if !l.s.f.e.ClientsReading.Usable() {
		return nil
	}
	c, _ := l.pickClient()
	return c
}

// busy says that every poll-idle-ratio-avg in the span shows a client that had
// the next record at once.
func (c *Client) busy(from, to time.Time) bool {
	high, n := c.idleRatio(from, to)
	return n > 0 && high <= busyIdleRatio
}

// idleRatio is the highest poll-idle-ratio-avg that was scraped in a span or at
// most a minute after it (the metric looks back over 30 to 60 s), and how many
// there were.
func (c *Client) idleRatio(from, to time.Time) (high float64, n int) {
	if c == nil || !c.Signals[SignalPollIdle].Usable() {
		return 0, 0
	}
	for _, ch := range chains(c.Signals[SignalPollIdle]) {
		for _, x := range ch {
			if !x.T.Before(from) && !x.T.After(to.Add(pollMemory)) {
				high, n = max(high, x.V), n+1
			}
		}
	}
	return high, n
}

// paceMissing says what stands between the evidence and a time per record.
func (l *loss) paceMissing(ok bool, before progress, c *Client) string {
	var why []string
	seen, least := l.lagAround(before)
	switch {
	case !l.sil.known:
		why = append(why, "its commits are not known")
	case !ok:
		why = append(why, fmt.Sprintf("it did not commit new records %d times before it fell silent", minRhythm))
	case !l.s.g.LagReading.Usable():
		why = append(why, "the group's lag at that time was not read, so its commits may show the producers' pace")
	case seen > 0 && least < max(1, l.keepsUpWith(before)):
		why = append(why, "the group had no backlog, so its commits show the producers' pace")
	default:
		why = append(why, "lag was not looked at twice while it committed, so its commits may show the producers' pace")
	}
	_, n := c.idleRatio(l.quietSince().Add(-paceSpan), l.quietSince())
	switch {
	case c == nil:
		why = append(why, "no client metrics of it were found")
	case n == 0:
		why = append(why, "its poll-idle-ratio-avg is not in Prometheus")
	default:
		why = append(why, "its poll-idle-ratio-avg shows that it waited for records")
	}
	return strings.Join(why, "; ")
}

// backlog says that there was more to do, before and in a span, than a consumer
// that keeps up leaves between two commits: in two looks at least. Later looks do
// not count: the stall makes a lag of its own.
func (l *loss) backlog(p progress) bool {
	seen, least := l.lagAround(p)
	return seen >= 2 && least >= max(1, l.keepsUpWith(p))
}

// lagAround is the number of looks before and in a span, and the least lag of them.
func (l *loss) lagAround(p progress) (seen int, least int64) {
	if !l.s.g.LagReading.Usable() {
		return 0, 0
	}
	for _, x := range l.s.g.Lag {
		if x.At.Before(p.from.Add(-time.Minute)) || x.At.After(p.to) {
			continue
		}
		if seen == 0 || x.Total < least {
			least = x.Total
		}
		seen++
	}
	return seen, least
}

// keepsUpWith is the lag up to which a group with this pace may have no backlog.
func (l *loss) keepsUpWith(p progress) int64 {
	return int64(l.groupRate(p) * max(backlogCommits*p.every, backlogLeast).Seconds())
}

// groupRate is how many records a second the group does in a span: by its commits,
// or by the looks at its lag where those show more.
func (l *loss) groupRate(p progress) float64 {
	first, last := map[TopicPartition]int64{}, map[TopicPartition]int64{}
	for _, c := range l.s.g.History.Commits {
		if c.At.Before(p.from) || c.At.After(p.to) {
			continue
		}
		if _, ok := first[c.TopicPartition]; !ok {
			first[c.TopicPartition] = c.Offset
		}
		last[c.TopicPartition] = c.Offset
	}
	var n int64
	for tp, a := range first {
		n += max(0, last[tp]-a)
	}
	rate := float64(n) / p.to.Sub(p.from).Seconds()
	for i := 1; i < len(l.s.g.Lag); i++ {
		a, b := l.s.g.Lag[i-1], l.s.g.Lag[i]
		if d := b.At.Sub(a.At).Seconds(); d > 0 && !a.At.Before(p.from.Add(-time.Minute)) && !b.At.After(p.to) {
			rate = max(rate, float64(b.CommittedTotal-a.CommittedTotal)/d)
		}
	}
	return rate
}
