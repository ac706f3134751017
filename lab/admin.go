package lab

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// registered says whether a broker answers Metadata and lists itself.
func registered(ctx context.Context, cl *kgo.Client, id int32) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, cl)
	if err != nil {
		return false
	}
	for _, b := range resp.Brokers {
		if b.NodeID == id {
			return true
		}
	}
	return false
}

// partition is one partition's place as Metadata tells it.
type partition struct {
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"`
	Replicas  []int32 `json:"replicas"`
	ISR       []int32 `json:"isr"`
}

// topicView is a topic's id and partitions, sorted.
type topicView struct {
	Topic      string      `json:"topic"`
	ID         [16]byte    `json:"-"`
	Partitions []partition `json:"partitions"`
}

// leaders counts partitions per leader.
func (t topicView) leaders() map[int32]int {
	n := map[int32]int{}
	for _, p := range t.Partitions {
		n[p.Leader]++
	}
	return n
}

// topic asks the cluster itself, not the client's metadata cache.
func (c *Cluster) topic(ctx context.Context, name string) (topicView, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return topicView{}, fmt.Errorf("reading topic %s: %w", name, err)
	}
	if len(resp.Topics) != 1 {
		return topicView{}, fmt.Errorf("reading topic %s: %d topics in the answer", name, len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return topicView{}, fmt.Errorf("reading topic %s: %w", name, err)
	}
	return newTopicView(name, resp.Topics[0]), nil
}

func newTopicView(name string, t kmsg.MetadataResponseTopic) topicView {
	v := topicView{Topic: name, ID: t.TopicID}
	for _, p := range t.Partitions {
		v.Partitions = append(v.Partitions, partition{Partition: p.Partition, Leader: p.Leader, Replicas: p.Replicas, ISR: p.ISR})
	}
	sort.Slice(v.Partitions, func(i, j int) bool { return v.Partitions[i].Partition < v.Partitions[j].Partition })
	return v
}

// CreateTopic makes a topic whose partition p is led by broker p mod brokers + 1,
// so that every consumer with a few neighbouring partitions has some on every
// broker. It waits until all leaders are known; an existing topic is fine.
func (c *Cluster) CreateTopic(ctx context.Context, name string, partitions, replication int) error {
	n := len(c.state.Brokers)
	return c.create(ctx, name, partitions, func(p int) (replicas []int32) {
		for r := range min(replication, n) {
			replicas = append(replicas, int32((p+r)%n+1))
		}
		return replicas
	})
}

func (c *Cluster) create(ctx context.Context, name string, partitions int, replicas func(p int) []int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for p := range partitions {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(p), replicas(p)
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return fmt.Errorf("creating topic %s: %w", name, err)
	}
	for _, r := range resp.Topics {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("creating topic %s: %w", name, err)
		}
	}
	return c.waitTopic(ctx, name, partitions)
}

// addPartitions grows a topic to n partitions and waits for their leaders.
func (c *Cluster) addPartitions(ctx context.Context, name string, n int) error {
	all, err := kadm.NewClient(c.client).UpdatePartitions(ctx, n, name)
	if err == nil {
		err = all.Error()
	}
	if err != nil {
		return fmt.Errorf("growing topic %s to %d partitions: %w", name, n, err)
	}
	return c.waitTopic(ctx, name, n)
}

func (c *Cluster) waitTopic(ctx context.Context, name string, partitions int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return poll(ctx, 100*time.Millisecond, "leaders of topic "+name, func(ctx context.Context) (bool, error) {
		v, err := c.topic(ctx, name)
		return err == nil && len(v.Partitions) == partitions && v.leaders()[-1] == 0, nil
	})
}

// allTopics lists every topic's partitions, internal ones too, sorted by name.
func (c *Cluster) allTopics(ctx context.Context) ([]topicView, error) {
	req := kmsg.NewPtrMetadataRequest()
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return nil, fmt.Errorf("listing topics: %w", err)
	}
	var out []topicView
	for _, t := range resp.Topics {
		if t.Topic != nil {
			out = append(out, newTopicView(*t.Topic, t))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Topic < out[j].Topic })
	return out, nil
}

// PreferredElection moves leadership back to every partition's first replica and
// returns when that is so. Replicas that are not in sync yet are waited for.
func (c *Cluster) PreferredElection(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := poll(ctx, 200*time.Millisecond, "full ISR", func(ctx context.Context) (bool, error) {
		return c.everyPartition(ctx, func(p partition) bool { return len(p.ISR) == len(p.Replicas) })
	})
	if err != nil {
		return err
	}
	if _, err := kadm.NewClient(c.client).ElectLeaders(ctx, kadm.ElectPreferredReplica, nil); err != nil {
		return fmt.Errorf("preferred election: %w", err)
	}
	return poll(ctx, 100*time.Millisecond, "leadership at the preferred replicas", func(ctx context.Context) (bool, error) {
		return c.everyPartition(ctx, func(p partition) bool { return p.Leader == p.Replicas[0] })
	})
}

// everyPartition asks for all topics; an answer that fails is "not yet".
func (c *Cluster) everyPartition(ctx context.Context, holds func(partition) bool) (bool, error) {
	topics, err := c.allTopics(ctx)
	if err != nil {
		return false, nil //nolint:nilerr // a broker may be on its way up: ask again
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if !holds(p) {
				return false, nil
			}
		}
	}
	return true, nil
}

// createOn makes a topic that broker 1 leads as a whole; the last of three brokers follows.
func (c *Cluster) createOn(ctx context.Context, name string, partitions int) error {
	replicas := []int32{1}
	if n := len(c.state.Brokers); n >= 3 {
		replicas = append(replicas, int32(n))
	}
	return c.create(ctx, name, partitions, func(int) []int32 { return replicas })
}
