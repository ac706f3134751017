package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect/internal/readkafka"
	"github.com/kafka-oncall/kafka-oncall/diagnose/offsets"
)

const (
	// fetchBytes is the size of one fetch: 1 MB costs round trips, 10 MB costs
	// 75–120 MB of memory (measured).
	fetchBytes = 2 << 20
	// firstGuess is the assumed size of a record until one was read: commits
	// take 93 B when packed and 140 B when not (measured).
	firstGuess = 120
	// tailBytes bounds what is read of one partition for a group.
	tailBytes = 16 << 20
	// historyMargin is how far before the window commits matter: an eviction by
	// max.poll.interval.ms (5 min by default) is dated by the last commit before
	// it.
	historyMargin = 6 * time.Minute
)

// tail reads one partition of the offsets topic backwards, newest piece first,
// so that a bound costs the past and not the present.
type tail struct {
	k         *Kafka
	topo      *topology
	partition int32
	leader    int32
	d         *offsets.Decoder
	// from is where the tail must reach back to, to is its end.
	from, to time.Time
	// needMore says whether history from before from is wanted still.
	needMore func() bool
	maxBytes int

	bytes     int
	useful    int     // records of the tail that were read
	perOffset float64 // bytes
	reached   bool    // from was reached
	atStart   bool    // the log's start was reached
	exhausted bool    // maxBytes was reached
}

// read fills the decoder. An error comes with what was read before it.
func (t *tail) read(ctx context.Context) error {
	end, start, err := t.bounds(ctx)
	if err != nil {
		return err
	}
	t.perOffset = firstGuess
	for hi := end; ; {
		t.reached = hi <= start
		if t.reached && !t.needMore() {
			return nil
		}
		if t.bytes >= t.maxBytes {
			t.exhausted = true
			return nil
		}
		lo := max(0, hi-max(1, int64(fetchBytes/t.perOffset)))
		if !t.reached {
			lo = max(lo, start)
		}
		bytes, useful := t.bytes, t.useful
		logStart, err := t.piece(ctx, lo, hi)
		if err != nil {
			return err
		}
		if lo <= logStart {
			t.reached, t.atStart = true, true
			return nil
		}
		if t.useful > useful {
			t.perOffset = max(1, float64(t.bytes-bytes)/float64(hi-lo))
		} else {
			// Compaction left nothing in this piece: take a larger step.
			t.perOffset = max(1, t.perOffset/4)
		}
		hi = lo
	}
}

// bounds finds the end of the tail and the first offset at or after from.
func (t *tail) bounds(ctx context.Context) (end, start int64, err error) {
	if end, err = t.offsetAt(ctx, t.to.UnixMilli()); err != nil {
		return 0, 0, err
	}
	if end < 0 { // nothing is as young as that: the end of the log
		if end, err = t.offsetAt(ctx, readkafka.AtEnd); err != nil {
			return 0, 0, err
		}
	}
	if start, err = t.offsetAt(ctx, t.from.UnixMilli()); err != nil {
		return 0, 0, err
	}
	if start < 0 || start > end {
		start = end
	}
	return end, start, nil
}

func (t *tail) offsetAt(ctx context.Context, at int64) (int64, error) {
	resp, err := t.k.c.ListOffsets(ctx, t.leader, map[string][]int32{offsetsTopic: {t.partition}}, at)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) == 0 || len(resp.Topics[0].Partitions) == 0 {
		return 0, errors.New("the answer of ListOffsets lacks the partition")
	}
	p := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return 0, fmt.Errorf("ListOffsets: %w", err)
	}
	return p.Offset, nil
}

// piece reads [lo, hi) forwards and returns the first offset in the log.
func (t *tail) piece(ctx context.Context, lo, hi int64) (int64, error) {
	var logStart int64
	for pos := lo; pos < hi; {
		got, err := t.k.c.Fetch(ctx, readkafka.FetchSpec{
			Broker: t.leader, Topic: offsetsTopic, TopicID: t.topo.topics[offsetsTopic].id,
			Offsets: map[int32]int64{t.partition: pos}, MaxBytes: t.fetchSize(hi - pos),
		})
		if err != nil {
			return 0, err
		}
		if len(got) == 0 {
			return 0, errors.New("the answer of Fetch lacks the partition")
		}
		f := got[0]
		logStart = f.Start
		if errors.Is(f.Err, kerr.OffsetOutOfRange) && pos < f.Start {
			pos = f.Start // the log was cut from its start meanwhile
			continue
		}
		if f.Err != nil {
			return 0, f.Err
		}
		t.add(f, hi)
		t.bytes += f.Bytes
		if f.Next <= pos { // nothing there: the end, or a hole up to hi
			break
		}
		pos = f.Next
	}
	return logStart, nil
}

// fetchSize avoids reading far beyond the piece: those records are known.
func (t *tail) fetchSize(offsets int64) int32 {
	const least = 64 << 10
	return int32(min(fetchBytes, max(least, 1.2*t.perOffset*float64(offsets))))
}

func (t *tail) add(f readkafka.Fetched, hi int64) {
	for _, r := range f.Records {
		if r.Offset >= hi || r.Timestamp.After(t.to) {
			continue
		}
		t.useful++
		t.d.Add(offsets.Record{Offset: r.Offset, At: r.Timestamp, Key: r.Key, Value: r.Value})
	}
}

// offsetsPartition finds a group's partition and its leader.
func offsetsPartition(topo *topology, group string) (partition, leader int32, ok bool) {
	info := topo.topics[offsetsTopic]
	if info == nil || len(info.parts) == 0 {
		return -1, -1, false
	}
	partition = offsets.Partition(group, int32(len(info.parts)))
	leader = info.parts[partition].leader
	return partition, leader, leader >= 0
}

const (
	srcOffsets  = "kafka: " + offsetsTopic
	needOffsets = "Describe and Read on Topic " + offsetsTopic
)

// offsetsHidden explains why the offsets topic is not in the metadata.
func (k *Kafka) offsetsHidden(ctx context.Context, now func() time.Time) diagnose.Reading {
	err := k.topicVisible(ctx, offsetsTopic)
	switch {
	case err == nil:
		return diagnose.Reading{Status: diagnose.StatusFailed, AsOf: now(), Source: srcOffsets, Error: "the topic has no leader for this partition"}
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: now(), Source: srcOffsets, Error: "the topic does not exist here, or is hidden by the service", Hint: "needs " + needOffsets}
	}
	return kafkaFailure(err, needOffsets).reading(srcOffsets, now())
}
