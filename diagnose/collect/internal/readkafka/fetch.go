package readkafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FetchSpec is one sessionless fetch of partitions of one topic from one leader.
type FetchSpec struct {
	Broker  int32
	Topic   string
	TopicID [16]byte
	// Offsets are the positions to read from, by partition.
	Offsets map[int32]int64
	// MaxBytes bounds the answer; a single larger batch still comes whole.
	MaxBytes int32
}

// Fetched is what a fetch brought for one partition.
type Fetched struct {
	Partition int32
	Records   []*kgo.Record
	// Next is the offset to continue at.
	Next int64
	// End is the high watermark, Start the first offset in the log.
	End, Start int64
	Bytes      int
	Err        error
}

// Fetch reads records once. It waits for nothing: an empty answer means the
// position is at the end.
func (c *Client) Fetch(ctx context.Context, s FetchSpec) ([]Fetched, error) {
	resp, err := ask[*kmsg.FetchResponse](ctx, c, s.Broker, s.request())
	if err != nil {
		return nil, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return nil, fmt.Errorf("Fetch: %w", err)
	}
	var out []Fetched
	for _, t := range resp.Topics {
		for i := range t.Partitions {
			out = append(out, s.decode(&t.Partitions[i]))
		}
	}
	return out, nil
}

func (s FetchSpec) request() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 0, s.MaxBytes
	// Id 0 with epoch -1 is a fetch without a session (KIP-227).
	req.SessionID, req.SessionEpoch = 0, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = s.Topic, s.TopicID
	for _, p := range slices.Sorted(maps.Keys(s.Offsets)) {
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.Partition, fp.FetchOffset, fp.PartitionMaxBytes = p, s.Offsets[p], s.MaxBytes
		fp.CurrentLeaderEpoch, fp.LastFetchedEpoch, fp.LogStartOffset = -1, -1, -1
		t.Partitions = append(t.Partitions, fp)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func (s FetchSpec) decode(p *kmsg.FetchResponseTopicPartition) Fetched {
	f := Fetched{
		Partition: p.Partition, Next: s.Offsets[p.Partition], End: p.HighWatermark, Start: p.LogStartOffset,
		Bytes: len(p.RecordBatches),
	}
	if err := codeErr(p.ErrorCode); err != nil {
		f.Err = fmt.Errorf("Fetch: %w", err)
		return f
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: f.Next, Topic: s.Topic, Partition: p.Partition,
	}, p, kgo.DefaultDecompressor(), nil)
	f.Records, f.Err = got.Records, got.Err
	if next > f.Next {
		f.Next = next
	}
	return f
}

// codeErr turns a Kafka error code into an error, nil for 0.
func codeErr(code int16) error { return kerr.ErrorForCode(code) }

func itoa(n int32) string { return strconv.Itoa(int(n)) }
