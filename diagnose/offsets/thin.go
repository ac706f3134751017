package offsets

import (
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Limits of one decoder. A busy group commits every 5 s for every partition:
// an hour of 100 partitions is 72,000 commits, of which a verdict needs the
// last ones before each membership change and the rhythm of each member.
const (
	maxGroups = 5000
	// maxRecords is the number of membership records kept per group, and
	// maxMembers bounds the sum of members over them.
	maxRecords = 200
	maxMembers = 20000
	// maxChanges is the number of KIP-848 records kept per group to work out its
	// membership, maxHeld bounds the sum of partitions in them. One member that
	// comes or goes costs about two records a member.
	maxChanges = 20000
	maxHeld    = 400000
	// maxCommits is what History returns at most per group, in round numbers:
	// the last commits before changes are kept beyond it, up to twice as many.
	maxCommits = 400
	thinAbove  = 8 * maxCommits
	// lastPerChange is how many commits per partition are kept before each
	// membership change: the last one dates it, the others give the pace.
	lastPerChange = 4
	// batchWindow joins commits of one request: one member commits all its
	// partitions at once.
	batchWindow = 100 * time.Millisecond
)

// newest keeps the newest membership records within the limits.
func newest(rs []loggedRecord) []loggedRecord {
	from, members := len(rs), 0
	for from > 0 && len(rs)-from < maxRecords {
		members += len(rs[from-1].Members)
		if members > maxMembers && len(rs)-from >= 2 {
			break
		}
		from--
	}
	return append([]loggedRecord(nil), rs[from:]...)
}

// thin keeps the commits that matter: first those that date a change, then,
// newest first, one per member and request, since that shows the rhythm.
func (g *groupLog) thin() {
	g.sort()
	if len(g.commits) <= maxCommits {
		return
	}
	keep := make([]bool, len(g.commits))
	n := g.keepBeforeChanges(keep)
	g.keepRhythm(keep, n)
	out := g.commits[:0]
	for i, c := range g.commits {
		if keep[i] {
			out = append(out, c)
		}
	}
	g.commits = out
}

// keepBeforeChanges marks, newest change first, the last commits on the
// partitions of every member that a membership record dropped. It also marks
// what was added last: a record later in the same piece may date itself by it.
// It returns the number marked.
func (g *groupLog) keepBeforeChanges(keep []bool) int {
	left := map[diagnose.TopicPartition]int{}
	n, rec := 0, len(g.records)
	for i := len(g.commits) - 1; i >= 0 && n < 2*maxCommits; i-- {
		c := g.commits[i]
		for rec > 0 && g.records[rec-1].offset > c.offset {
			rec--
			for tp := range g.dropped(rec) {
				left[tp] = lastPerChange
			}
		}
		if left[c.TopicPartition] > 0 || g.added[c.TopicPartition] == c.offset {
			keep[i] = true
			n++
			left[c.TopicPartition]--
		}
	}
	return n
}

// dropped returns the partitions of the members that record i no longer lists.
func (g *groupLog) dropped(i int) map[diagnose.TopicPartition]bool {
	out := map[diagnose.TopicPartition]bool{}
	if i <= 0 || i >= len(g.records) {
		return out
	}
	still := map[string]bool{}
	for _, m := range g.records[i].Members {
		still[m.ID] = true
	}
	for _, m := range g.records[i-1].Members {
		for _, tp := range m.Partitions {
			if !still[m.ID] {
				out[tp] = true
			}
		}
	}
	return out
}

// keepRhythm fills up to the limit with one commit per member and request.
func (g *groupLog) keepRhythm(keep []bool, n int) {
	type batch struct {
		owner string
		at    int64
	}
	seen := map[batch]bool{}
	rec := len(g.records) - 1
	owners := g.owners(rec)
	for i := len(g.commits) - 1; i >= 0 && n < maxCommits; i-- {
		c := g.commits[i]
		for rec >= 0 && g.records[rec].offset > c.offset {
			rec--
			owners = g.owners(rec)
		}
		b := batch{owners[c.TopicPartition], c.At.UnixMilli() / batchWindow.Milliseconds()}
		if keep[i] || seen[b] {
			seen[b] = true
			continue
		}
		seen[b], keep[i] = true, true
		n++
	}
}

// owners maps partitions to members after the i-th record.
func (g *groupLog) owners(i int) map[diagnose.TopicPartition]string {
	out := map[diagnose.TopicPartition]string{}
	if i < 0 {
		return out
	}
	for _, m := range g.records[i].Members {
		for _, tp := range m.Partitions {
			out[tp] = m.ID
		}
	}
	return out
}
