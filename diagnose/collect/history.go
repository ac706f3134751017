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
// before the window.
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
	t := &tail{
		k: k, topo: topo, partition: partition, leader: leader, d: d, maxBytes: tailBytes,
		from: sp.from.Add(-historyMargin), to: sp.to,
		needMore: func() bool { return !d.Baseline(group, sp.from) && !d.KIP848(group) },
	}
	err := t.read(ctx)
	h = d.History(group, sp.from)
	h.OffsetsPartition = partition
	h.Reading = t.reading(group, h, err, now())
	return h
}

// reading says how far the tail came and what that leaves open.
func (t *tail) reading(group string, h diagnose.GroupHistory, err error, now time.Time) diagnose.Reading {
	r := diagnose.Reading{Status: diagnose.StatusOK, AsOf: now, Source: fmt.Sprintf("%s[%d], %d kB", srcOffsets, t.partition, (t.bytes+1023)/1024)}
	const unseen = "who left is not visible"
	switch {
	case err != nil && len(h.Records) == 0 && len(h.Commits) == 0:
		return kafkaFailure(err, needOffsets).reading(r.Source, now)
	case t.d.KIP848(group) && len(h.Records) == 0:
		r.Status, r.Error = diagnose.StatusUnsupported, "records of the new consumer protocol (KIP-848) are not decoded yet"
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
