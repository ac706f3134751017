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
	oldest time.Time
	stats  Stats
}

type groupLog struct {
	kip848  bool
	records []loggedRecord
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
		g.kip848 = true
		return kind
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
	g := &groupLog{added: map[diagnose.TopicPartition]int64{}}
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
	g.records = append(g.records, loggedRecord{r.Offset, rec})
	if len(g.records) > 2*maxRecords {
		g.thinRecords()
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

// KIP848 reports whether the group has records of the KIP-848 protocol. A
// reading of such a group should be unsupported: "KIP-848 records are not
// decoded yet".
func (d *Decoder) KIP848(group string) bool {
	g := d.groups[group]
	return g != nil && g.kip848
}

// Stats returns what was added so far.
func (d *Decoder) Stats() Stats { return d.stats }

// Baseline reports whether the membership at windowStart is known: a
// membership record from before it, or the group's first generation.
func (d *Decoder) Baseline(group string, windowStart time.Time) bool {
	g := d.groups[group]
	if g == nil || len(g.records) == 0 {
		return false
	}
	g.sort()
	first := g.records[0]
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
	g.thinRecords()
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

// sort puts everything in log order and drops what was added twice.
func (g *groupLog) sort() {
	sort.SliceStable(g.records, func(i, j int) bool { return g.records[i].offset < g.records[j].offset })
	sort.SliceStable(g.commits, func(i, j int) bool { return g.commits[i].offset < g.commits[j].offset })
	g.records = uniq(g.records, func(r loggedRecord) int64 { return r.offset })
	g.commits = uniq(g.commits, func(c loggedCommit) int64 { return c.offset })
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
