package collect

import (
	"context"
	"fmt"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/offsets"
)

// span is the window that is judged.
type span struct{ from, to time.Time }

// readHistory reads the log of one group, back to its last membership record
// before the window; of a KIP-848 group to its last epoch before that, and to
// the join of those it lost.
func (k *Kafka) readHistory(ctx context.Context, topo *topology, group string, sp span, now func() time.Time) diagnose.GroupHistory {
	start := now()
	h := k.history(ctx, topo, group, sp, now)
	h.Reading = took(h.Reading, start, now())
	return h
}

func (k *Kafka) history(ctx context.Context, topo *topology, group string, sp span, now func() time.Time) diagnose.GroupHistory {
	h := diagnose.GroupHistory{OffsetsPartition: -1}
	partition, leader, ok := offsetsPartition(topo, group)
	if !ok {
		h.Reading = k.offsetsHidden(ctx, now)
		return h
	}
	d := offsets.NewDecoder(group)
	d.NameTopics(topo.names)
	t := &tail{
		k: k, topo: topo, partition: partition, leader: leader, d: d, maxBytes: tailBytes,
		from: sp.from.Add(-historyMargin), to: sp.to,
		needMore: func() bool { return !d.Baseline(group, sp.from) || d.UnknownLost(group, sp.from) > 0 },
	}
	err := t.read(ctx)
	h = d.History(group, sp.from)
	h.OffsetsPartition = partition
	h.Reading = t.reading(group, h, err, now())
	if h.Reading.OK() {
		h.Reading.Status, h.Reading.Error = t.openEnds(group, sp)
	}
	return h
}

// openEnds says what a history that was read whole still lacks: records of
// KIP-848 members are single, and one can be missing where the rest is there.
func (t *tail) openEnds(group string, sp span) (diagnose.Status, string) {
	if n, err := t.d.Undecoded(group); n > 0 {
		return diagnose.StatusPartial, fmt.Sprintf("%d records of the group could not be decoded, who left may be wrong: %v", n, err)
	}
	if n := t.d.UnknownLost(group, sp.from); n > 0 {
		return diagnose.StatusPartial, fmt.Sprintf("the joins of %d lost members were not found within %d MB: their clients and timeouts are not known from here", n, t.bytes>>20)
	}
	return diagnose.StatusOK, ""
}

// reading says how far the tail came and what that leaves open.
func (t *tail) reading(group string, h diagnose.GroupHistory, err error, now time.Time) diagnose.Reading {
	r := diagnose.Reading{Status: diagnose.StatusOK, AsOf: now, Source: fmt.Sprintf("%s[%d], %d kB", srcOffsets, t.partition, (t.bytes+1023)/1024)}
	const unseen = "who left is not visible"
	switch {
	case err != nil && len(h.Records) == 0 && len(h.Commits) == 0:
		return kafkaFailure(err, needOffsets).reading(r.Source, now)
	case len(h.Records) == 0 && t.undecoded(group) != nil:
		r.Status, r.Error = diagnose.StatusUnsupported, "records of the new consumer protocol (KIP-848) could not be decoded: "+t.undecoded(group).Error()
	case err != nil:
		f := kafkaFailure(err, needOffsets)
		r.Status, r.Error, r.Hint = diagnose.StatusPartial, "read in part: "+f.text, f.hint
	case !t.reached:
		r.Status, r.Error = diagnose.StatusPartial, fmt.Sprintf("the last %d MB do not cover the window", t.bytes>>20)
	case h.Baseline:
	case t.exhausted:
		r.Status, r.Error = diagnose.StatusPartial, fmt.Sprintf("no earlier membership record within %d MB: %s", t.bytes>>20, unseen)
	case len(h.Records) == 0:
		r.Status, r.Error = diagnose.StatusEmpty, "the group has no membership record here"
	default:
		r.Status, r.Error = diagnose.StatusPartial, "the log holds no membership record from before the window: "+unseen
	}
	return r
}

func (t *tail) undecoded(group string) error {
	_, err := t.d.Undecoded(group)
	return err
}
