package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// offsetsTopic is where coordinators write what groups do.
const offsetsTopic = "__consumer_offsets"

// topology is what one Metadata answer says: who leads and who follows what.
// It is read-only once built.
type topology struct {
	at         time.Time
	clusterID  string
	controller int32
	// brokers are sorted by id, with Leading and Replicas counted.
	brokers []BrokerInfo
	topics  map[string]*topicInfo
	names   map[[16]byte]string
}

type topicInfo struct {
	id    [16]byte
	parts []partInfo // by partition number
}

type partInfo struct {
	leader   int32
	replicas []int32
}

// readTopology asks for all topics, past every cache.
func (k *Kafka) readTopology(ctx context.Context, now time.Time) (*topology, error) {
	resp, err := k.c.Metadata(ctx, nil)
	if err != nil {
		return nil, err
	}
	return newTopology(resp, now), nil
}

func newTopology(resp *kmsg.MetadataResponse, now time.Time) *topology {
	t := &topology{
		at: now, controller: resp.ControllerID,
		topics: make(map[string]*topicInfo, len(resp.Topics)),
		names:  make(map[[16]byte]string, len(resp.Topics)),
	}
	if resp.ClusterID != nil {
		t.clusterID = *resp.ClusterID
	}
	for _, topic := range resp.Topics {
		t.addTopic(topic)
	}
	t.addBrokers(resp.Brokers)
	return t
}

func (t *topology) addTopic(in kmsg.MetadataResponseTopic) {
	if in.ErrorCode != 0 || in.Topic == nil {
		return
	}
	info := &topicInfo{id: in.TopicID, parts: make([]partInfo, len(in.Partitions))}
	for i := range info.parts {
		info.parts[i].leader = -1
	}
	for _, p := range in.Partitions {
		if p.Partition < 0 || int(p.Partition) >= len(info.parts) {
			continue
		}
		info.parts[p.Partition] = partInfo{leader: p.Leader, replicas: p.Replicas}
	}
	t.topics[*in.Topic] = info
	if in.TopicID != [16]byte{} {
		t.names[in.TopicID] = *in.Topic
	}
}

func (t *topology) addBrokers(in []kmsg.MetadataResponseBroker) {
	leading, replicas, awaited := map[int32]int{}, map[int32]int{}, map[int32]int{}
	for _, topic := range t.topics {
		for _, p := range topic.parts {
			leading[p.leader]++
			if len(p.replicas) > 0 && p.replicas[0] != p.leader {
				awaited[p.replicas[0]]++
			}
			for _, r := range p.replicas {
				replicas[r]++
			}
		}
	}
	for _, b := range in {
		l, r, a := leading[b.NodeID], replicas[b.NodeID], awaited[b.NodeID]
		info := BrokerInfo{ID: b.NodeID, Host: b.Host, Port: b.Port, Leading: &l, Replicas: &r, Awaited: &a}
		if b.Rack != nil {
			info.Rack = *b.Rack
		}
		t.brokers = append(t.brokers, info)
	}
	sort.Slice(t.brokers, func(i, j int) bool { return t.brokers[i].ID < t.brokers[j].ID })
}

// leader returns the leader of a partition, -1 when unknown.
func (t *topology) leader(tp diagnose.TopicPartition) int32 {
	info := t.topics[tp.Topic]
	if info == nil || tp.Partition < 0 || int(tp.Partition) >= len(info.parts) {
		return -1
	}
	return info.parts[tp.Partition].leader
}

// assigned counts the partitions of which the broker has a replica.
func (t *topology) assigned(broker int32) int {
	n := 0
	for _, topic := range t.topics {
		for _, p := range topic.parts {
			if slices.Contains(p.replicas, broker) {
				n++
			}
		}
	}
	return n
}

// has reports whether the broker is alive by metadata.
func (t *topology) has(broker int32) bool {
	for _, b := range t.brokers {
		if b.ID == broker {
			return true
		}
	}
	return false
}

// ids returns the brokers' ids, sorted.
func (t *topology) ids() []int32 {
	out := make([]int32, 0, len(t.brokers))
	for _, b := range t.brokers {
		out = append(out, b.ID)
	}
	return out
}

// topicVisible asks for one topic by name: refused and missing look alike when
// all topics are asked for.
func (k *Kafka) topicVisible(ctx context.Context, topic string) error {
	resp, err := k.c.Metadata(ctx, []string{topic})
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic == topic {
			return kerr.ErrorForCode(t.ErrorCode)
		}
	}
	return fmt.Errorf("metadata of one topic: %w", errors.New("the answer lacks the topic"))
}
