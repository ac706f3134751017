package offsets

import (
	"sort"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Stats counts what a decoder was given.
type Stats struct {
	Records, Commits, Groups, KIP848, Skipped, Malformed int
	// Dropped counts records of groups above the decoder's limit.
	Dropped int
}

// Decoder collects the records of one partition. It is not safe for concurrent
// use.
type Decoder struct {
	only   map[string]bool
	groups map[string]*groupLog
	names  map[[16]byte]string
	oldest time.Time
	stats  Stats
}

type groupLog struct {
	kip848   bool
	names    map[[16]byte]string
	classic  []loggedRecord
	consumer consumerLog
	// records is the membership over time, of both protocols; stale says that
	// it lacks what was added last.
	records []loggedRecord
	stale   bool
	commits []loggedCommit
	// added is the index-free memory of the last commit added per partition:
	// a later record of the same piece may need it (see thin.go).
	added map[diagnose.TopicPartition]int64
}

type loggedRecord struct {
	offset int64
	diagnose.GroupRecord
}

type loggedCommit struct {
	offset int64
	diagnose.Commit
}

// NewDecoder returns a decoder for the named groups, or for every group of the
// partition (the scan of a coordinator) when none is named.
func NewDecoder(groups ...string) *Decoder {
	d := &Decoder{groups: map[string]*groupLog{}}
	if len(groups) > 0 {
		d.only = map[string]bool{}
		for _, g := range groups {
			d.only[g] = true
		}
	}
	return d
}

// NameTopics tells the names of topic ids. Records of KIP-848 groups hold ids
// only; a topic that is not named here appears by its id, and its commits are
// nobody's. It must be called before the first Add.
func (d *Decoder) NameTopics(names map[[16]byte]string) { d.names = names }

// Add takes one record and says what it was, also for groups that were not
// asked for. Records of one piece must come in log order.
func (d *Decoder) Add(r Record) Kind {
	d.stats.Records++
	if d.oldest.IsZero() || r.At.Before(d.oldest) {
		d.oldest = r.At.UTC()
	}
	kind := d.add(r)
	switch kind {
	case KindCommit:
		d.stats.Commits++
	case KindGroup:
		d.stats.Groups++
	case KindKIP848:
		d.stats.KIP848++
	case KindMalformed:
		d.stats.Malformed++
	case KindSkipped:
		d.stats.Skipped++
	}
	return kind
}

func (d *Decoder) add(r Record) Kind {
	_, kind := keyKind(r.Key)
	if kind == KindSkipped || kind == KindMalformed {
		return kind
	}
	group, ok := keyGroup(r.Key)
	if !ok || len(r.Value) > maxValueBytes {
		return KindMalformed
	}
	if d.only != nil && !d.only[group] {
		return kind
	}
	g := d.group(group)
	if g == nil {
		d.stats.Dropped++
		return kind
	}
	switch kind {
	case KindKIP848:
		return g.addConsumer(r)
	case KindCommit:
		return g.addCommit(r)
	default:
		return g.addRecord(r)
	}
}

func (d *Decoder) group(name string) *groupLog {
	if g := d.groups[name]; g != nil {
		return g
	}
	if len(d.groups) >= maxGroups {
		return nil
	}
	g := &groupLog{names: d.names, added: map[diagnose.TopicPartition]int64{}}
	d.groups[name] = g
	return g
}

func (g *groupLog) addCommit(r Record) Kind {
	if len(r.Value) == 0 { // the commit expired or was deleted
		return KindSkipped
	}
	c, err := decodeCommit(r)
	if err != nil {
		return KindMalformed
	}
	g.commits = append(g.commits, loggedCommit{r.Offset, c})
	g.added[c.TopicPartition] = r.Offset
	if len(g.commits) > thinAbove {
		g.thin()
	}
	return KindCommit
}

func (g *groupLog) addRecord(r Record) Kind {
	rec, err := decodeGroup(r)
	if err != nil {
		return KindMalformed
	}
	g.classic = append(g.classic, loggedRecord{r.Offset, rec})
	g.stale = true
	if len(g.classic) > 2*maxRecords {
		g.classic = newest(inOrder(g.classic))
	}
	return KindGroup
}

// Groups returns the names of the groups that have a record here, sorted.
func (d *Decoder) Groups() []string {
	out := make([]string, 0, len(d.groups))
	for name := range d.groups {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// KIP848 reports whether the group has records of the KIP-848 protocol, decoded
// or not.
func (d *Decoder) KIP848(group string) bool {
	g := d.groups[group]
	return g != nil && g.kip848
}

// Undecoded counts the KIP-848 records of a group that say who is a member and
// could not be decoded, and returns the reason of the first: a value version of
// the future, or damage.
func (d *Decoder) Undecoded(group string) (int, error) {
	g := d.groups[group]
	if g == nil {
		return 0, nil
	}
	return g.consumer.unread, g.consumer.first
}

// UnknownLost counts the KIP-848 members that were lost after windowStart and
// whose own record (key 5) was not read. It is written when a member joins and
// so may lie far before the group's last epoch; without it neither the client
// nor its timeouts are known. A classic record always holds them.
func (d *Decoder) UnknownLost(group string, windowStart time.Time) int {
	g := d.groups[group]
	if g == nil {
		return 0
	}
	return g.consumer.unknownLost(windowStart)
}

// Stats returns what was added so far.
func (d *Decoder) Stats() Stats { return d.stats }

// Baseline reports whether the membership at windowStart is known: a
// membership record from before it (of a KIP-848 group: an epoch), or the
// group's beginning.
func (d *Decoder) Baseline(group string, windowStart time.Time) bool {
	g := d.groups[group]
	if g == nil {
		return false
	}
	g.sort()
	if len(g.records) == 0 {
		return false
	}
	first := g.records[0]
	if first.Protocol != "" {
		begun := g.consumer.changes[0].at
		return g.consumer.reachesBack(windowStart) && (!first.At.After(windowStart) || !first.At.After(begun))
	}
	return !first.At.After(windowStart) || (first.Generation <= 1 && !first.Tombstone)
}

// History returns what is known of one group: the membership records from the
// last one before windowStart on, oldest first, and the commits that date
// them. The caller fills in the Reading and OffsetsPartition (-1 here).
func (d *Decoder) History(group string, windowStart time.Time) diagnose.GroupHistory {
	h := diagnose.GroupHistory{OffsetsPartition: -1, From: d.oldest}
	g := d.groups[group]
	if g == nil {
		return h
	}
	h.Baseline = d.Baseline(group, windowStart)
	g.thin()
	for _, r := range g.fromBaseline(windowStart) {
		h.Records = append(h.Records, r.GroupRecord)
	}
	for _, c := range g.commits {
		h.Commits = append(h.Commits, c.Commit)
	}
	return h
}

// fromBaseline leaves out records older than the three before the window: the
// baseline, and the two that show what came before it.
func (g *groupLog) fromBaseline(windowStart time.Time) []loggedRecord {
	n := sort.Search(len(g.records), func(i int) bool { return g.records[i].At.After(windowStart) })
	return g.records[max(0, n-3):]
}

// sort puts everything in log order, drops what was added twice and brings the
// records up to date.
func (g *groupLog) sort() {
	sort.SliceStable(g.commits, func(i, j int) bool { return g.commits[i].offset < g.commits[j].offset })
	g.commits = uniq(g.commits, func(c loggedCommit) int64 { return c.offset })
	if !g.stale {
		return
	}
	g.classic = inOrder(g.classic)
	g.records = newest(converted(inOrder(append(g.consumer.records(g.names), g.classic...))))
	g.stale = false
}

func inOrder(rs []loggedRecord) []loggedRecord {
	sort.SliceStable(rs, func(i, j int) bool { return rs[i].offset < rs[j].offset })
	return uniq(rs, func(r loggedRecord) int64 { return r.offset })
}

// converted leaves out the end of a group that goes on at the same moment under
// the other protocol.
func converted(rs []loggedRecord) []loggedRecord {
	goesOn := func(i, j int) bool {
		return j >= 0 && j < len(rs) && rs[j].At.Equal(rs[i].At) && rs[j].Protocol != rs[i].Protocol && !rs[j].Tombstone
	}
	var out []loggedRecord
	for i, r := range rs {
		if !r.Tombstone || !goesOn(i, i-1) && !goesOn(i, i+1) {
			out = append(out, r)
		}
	}
	return out
}

func uniq[T any](in []T, offset func(T) int64) []T {
	out := in[:0]
	for i, x := range in {
		if i == 0 || offset(x) != offset(in[i-1]) {
			out = append(out, x)
		}
	}
	return out
}
