package collect

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/offsets"
)

const (
	// maxScanGroups is the number of groups that a scan names.
	maxScanGroups = 5
	// scanBytes bounds what is read of one partition in a scan.
	scanBytes = 4 << 20
	// scanAtOnce bounds the partitions that are read at the same time: each
	// takes up to three times fetchBytes of memory.
	scanAtOnce = 3
)

// suspect is a group that lost members, or whose membership changed in a way
// that cannot be told.
type suspect struct {
	group string
	// lost counts members that left; unknown says that the record before the
	// change was not found.
	lost    int
	unknown bool
}

// scanResult is what a scan of a coordinator found, worst first.
type scanResult struct {
	reading  diagnose.Reading
	suspects []suspect
}

// scanOffsets reads the window of all offsets partitions that a broker leads
// (nil = any broker) and finds the groups that lost members.
func (k *Kafka) scanOffsets(ctx context.Context, topo *topology, broker *int32, sp span, now func() time.Time) scanResult {
	info := topo.topics[offsetsTopic]
	if info == nil {
		return scanResult{reading: k.offsetsHidden(ctx, now)}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := scanResult{reading: ok(srcOffsets+", all partitions of the coordinator", now())}
	failed := map[int32]failure{}
	looked := false
	slots := make(chan struct{}, scanAtOnce)
	for p, part := range info.parts {
		if part.leader < 0 || broker != nil && part.leader != *broker {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			found, read, err := k.scanPartition(ctx, topo, int32(p), part.leader, sp)
			mu.Lock()
			defer mu.Unlock()
			out.suspects = append(out.suspects, found...)
			if err != nil {
				failed[part.leader] = kafkaFailure(err, needOffsets)
			}
			looked = looked || read
		})
	}
	wg.Wait()
	if len(failed) > 0 {
		out.reading.Status, out.reading.Error = diagnose.StatusPartial, describeFailures(failed)
		for _, f := range failed {
			out.reading.Hint = f.hint
			if !looked && len(out.suspects) == 0 {
				out.reading.Status = f.status
			}
		}
	}
	rank(out.suspects)
	return out
}

// rank sorts worst first.
func rank(s []suspect) {
	sort.Slice(s, func(i, j int) bool {
		a, b := s[i], s[j]
		if a.lost != b.lost {
			return a.lost > b.lost
		}
		if a.unknown != b.unknown {
			return a.unknown
		}
		return a.group < b.group
	})
}

// scanPartition also reports whether any record could be read.
func (k *Kafka) scanPartition(ctx context.Context, topo *topology, partition, leader int32, sp span) ([]suspect, bool, error) {
	d := offsets.NewDecoder()
	d.NameTopics(topo.names)
	t := &tail{
		k: k, topo: topo, partition: partition, leader: leader, d: d, maxBytes: scanBytes, from: sp.from, to: sp.to,
		needMore: func() bool { return len(changedWithoutBaseline(d, sp)) > 0 },
	}
	err := t.read(ctx)
	var out []suspect
	for _, g := range d.Groups() {
		h := d.History(g, sp.from)
		if s := (suspect{group: g, lost: lostInRecords(h.Records, sp)}); s.lost > 0 || changedIn(h.Records, sp) {
			s.unknown = !h.Baseline
			if s.lost > 0 || s.unknown {
				out = append(out, s)
			}
		}
	}
	return out, t.bytes > 0, err
}

// changedWithoutBaseline lists the groups with a membership record in the
// window and none before it.
func changedWithoutBaseline(d *offsets.Decoder, sp span) []string {
	var out []string
	for _, g := range d.Groups() {
		if !d.Baseline(g, sp.from) && changedIn(d.History(g, sp.from).Records, sp) {
			out = append(out, g)
		}
	}
	return out
}

func changedIn(records []diagnose.GroupRecord, sp span) bool {
	for _, r := range records {
		if r.At.After(sp.from) && !r.At.After(sp.to) {
			return true
		}
	}
	return false
}

// lostInRecords counts members of one record that are not in the next, for
// records within the window. A static member under a new id was restarted.
func lostInRecords(records []diagnose.GroupRecord, sp span) int {
	n := 0
	for i := 1; i < len(records); i++ {
		if !records[i].At.After(sp.from) || records[i].At.After(sp.to) {
			continue
		}
		ids := map[string]bool{}
		for _, m := range records[i].Members {
			ids[m.ID] = true
			if m.InstanceID != "" {
				ids["instance\x00"+m.InstanceID] = true
			}
		}
		for _, m := range records[i-1].Members {
			if !ids[m.ID] && (m.InstanceID == "" || !ids["instance\x00"+m.InstanceID]) {
				n++
			}
		}
	}
	return n
}
