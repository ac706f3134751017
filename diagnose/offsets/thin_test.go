package offsets

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// groupWriter builds records as a coordinator would.
type groupWriter struct {
	next int64
	d    *Decoder
}

func (w *groupWriter) commit(at time.Time, partition int32, offset int64) {
	k := kmsg.OffsetCommitKey{Version: 1, Group: "g", Topic: "t", Partition: partition}
	v := kmsg.OffsetCommitValue{Version: 3, Offset: offset, CommitTimestamp: at.UnixMilli()}
	w.next++
	w.d.Add(Record{Offset: w.next, At: at, Key: k.AppendTo(nil), Value: v.AppendTo(nil)})
}

// group writes a record in which member i owns the i-th list of partitions.
func (w *groupWriter) group(at time.Time, generation int32, owned ...[]int32) {
	proto := "range"
	v := kmsg.GroupMetadataValue{Version: 3, ProtocolType: "consumer", Generation: generation, Protocol: &proto, CurrentStateTimestamp: at.UnixMilli()}
	for i, ps := range owned {
		if ps == nil {
			continue
		}
		a := kmsg.ConsumerMemberAssignment{Topics: []kmsg.ConsumerMemberAssignmentTopic{{Topic: "t", Partitions: ps}}}
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{MemberID: fmt.Sprint("m", i), Assignment: a.AppendTo(nil)})
	}
	w.next++
	w.d.Add(Record{Offset: w.next, At: at, Key: []byte{0, 2, 0, 1, 'g'}, Value: v.AppendTo(nil)})
}

func span(from, to int32) []int32 {
	out := []int32{}
	for p := from; p < to; p++ {
		out = append(out, p)
	}
	return out
}

// One member stops committing, is dropped, and the survivor commits on for
// hours: the commits that date the drop must outlive the flood.
func TestThinningKeepsWhatDatesAChange(t *testing.T) {
	w := &groupWriter{d: NewDecoder("g")}
	start := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	w.group(start, 2, span(0, 5), span(5, 10))
	now := start
	for i := range int64(100) {
		now = now.Add(5 * time.Second)
		for p := range int32(10) {
			w.commit(now, p, i*10)
		}
	}
	victimLast := now
	for i := range int64(9) {
		now = now.Add(5 * time.Second)
		for p := range int32(5) {
			w.commit(now, p, 1000+i)
		}
	}
	w.group(now, 3, span(0, 10), nil)
	// The survivor joins again at once, so the record that dropped the victim is
	// not the last one before its commits.
	w.group(now.Add(time.Second), 4, span(0, 10), nil)
	for i := range int64(2000) {
		now = now.Add(5 * time.Second)
		for p := range int32(10) {
			if p < 5 || i > 300 {
				w.commit(now, p, 5000+i)
			}
		}
	}
	h := w.d.History("g", start.Add(time.Hour))
	if n := len(h.Commits); n > 3*maxCommits || n < maxCommits/2 {
		t.Errorf("%d commits kept, want about %d", n, maxCommits)
	}
	for p := int32(5); p < 10; p++ {
		if got := lastBefore(h, p, h.Records[1].At); !got.Equal(victimLast) {
			t.Errorf("last commit of t-%d before the drop at %v, want %v", p, got, victimLast)
		}
	}
	if got := lastBefore(h, 3, now.Add(time.Second)); !got.Equal(now) {
		t.Errorf("newest commit of t-3 at %v, want %v", got, now)
	}
}

func lastBefore(h diagnose.GroupHistory, partition int32, at time.Time) time.Time {
	var last time.Time
	for _, c := range h.Commits {
		if c.Partition == partition && c.At.Before(at) {
			last = c.At
		}
	}
	return last
}

func TestThinningKeepsTheRhythmOfEachMember(t *testing.T) {
	w := &groupWriter{d: NewDecoder("g")}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	w.group(now, 2, span(0, 100), span(100, 200))
	for i := range int64(40) {
		now = now.Add(5 * time.Second)
		for p := range int32(200) {
			w.commit(now, p, i)
		}
	}
	h := w.d.History("g", now)
	times := map[string]int{}
	for _, c := range h.Commits {
		times[fmt.Sprint(c.Partition/100, c.At.Unix())]++
	}
	if len(times) != 80 {
		t.Errorf("%d requests of two members are left of 80, in %d commits", len(times), len(h.Commits))
	}
}

func TestRecordsAreBounded(t *testing.T) {
	w := &groupWriter{d: NewDecoder("g")}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for i := range int32(3000) {
		now = now.Add(time.Second)
		w.group(now, i+5, span(0, 5))
	}
	h := w.d.History("g", now.Add(-time.Hour))
	if len(h.Records) != maxRecords || h.Records[len(h.Records)-1].Generation != 3004 {
		t.Errorf("%d records kept, last generation %d; want the newest %d", len(h.Records), h.Records[len(h.Records)-1].Generation, maxRecords)
	}
	if h.Baseline {
		t.Error("a baseline is claimed though the records before the window were thrown away")
	}
}

func TestGroupsAreBounded(t *testing.T) {
	d := NewDecoder()
	for i := range maxGroups + 10 {
		key := binary.BigEndian.AppendUint16([]byte{0, 2}, 8)
		d.Add(Record{Offset: int64(i), At: time.UnixMilli(1), Key: fmt.Appendf(key, "%08d", i)})
	}
	if len(d.Groups()) != maxGroups || d.Stats().Dropped != 10 {
		t.Errorf("%d groups, %d dropped; want %d and 10", len(d.Groups()), d.Stats().Dropped, maxGroups)
	}
}
