package stage

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// openKafka starts an in-process Kafka with the recorded brokers, topics,
// leaders and settings, and answers questions about groups from the recording.
func (s *Stage) openKafka(ctx context.Context) error {
	var err error
	if s.kafka, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("recorded"), kfake.BrokerConfigs(s.settings())); err != nil {
		return fmt.Errorf("starting the in-process Kafka: %w", err)
	}
	if err := s.nodes(); err != nil {
		return err
	}
	if err := s.topics(); err != nil {
		return err
	}
	s.producer, err = kgo.NewClient(kgo.SeedBrokers(s.kafka.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	if err != nil {
		return fmt.Errorf("connecting to the in-process Kafka: %w", err)
	}
	found, err := kadm.NewClient(s.producer).ListTopicsWithInternal(ctx)
	if err != nil {
		return fmt.Errorf("listing topics of the in-process Kafka: %w", err)
	}
	for name, t := range found {
		s.topicIDs[name] = t.ID
	}
	s.answerGroups()
	return s.Advance(ctx)
}

// settings are broker 1's (the lab gives all brokers the same).
func (s *Stage) settings() map[string]string {
	out := map[string]string{}
	for name, v := range s.rec.Topology.Configs[s.rec.Topology.Brokers[0].ID] {
		// kfake knows a part of the settings and refuses others.
		if strings.HasPrefix(name, "max.incremental") || strings.HasPrefix(name, "group.") && !strings.HasPrefix(name, "group.initial") {
			out[name] = v.Value
		}
	}
	return out
}

// nodes replaces kfake's node 0 by the recorded ids.
func (s *Stage) nodes() error {
	zero := false
	for _, b := range s.rec.Topology.Brokers {
		if b.ID == 0 {
			zero = true
			continue
		}
		if _, _, err := s.kafka.AddNode(b.ID, 0); err != nil {
			return fmt.Errorf("adding broker %d: %w", b.ID, err)
		}
	}
	if zero {
		return nil
	}
	if err := s.kafka.RemoveNode(0); err != nil {
		return fmt.Errorf("removing the first node: %w", err)
	}
	return nil
}

func (s *Stage) topics() error {
	for _, t := range s.rec.Topology.Topics {
		configs := map[string]string{}
		if t.Name == offsetsTopic {
			configs = map[string]string{"cleanup.policy": "compact", "kfake.is_internal": "true"}
		}
		if err := s.kafka.CreateTopic(t.Name, int32(len(t.Partitions)), configs); err != nil {
			return fmt.Errorf("creating topic %s: %w", t.Name, err)
		}
		for _, p := range t.Partitions {
			if p.Leader < 0 {
				continue
			}
			if err := s.kafka.MoveTopicPartition(t.Name, p.Partition, p.Leader); err != nil {
				return fmt.Errorf("placing %s/%d: %w", t.Name, p.Partition, err)
			}
			var followers []int32
			for _, r := range p.Replicas {
				if r != p.Leader {
					followers = append(followers, r)
				}
			}
			s.kafka.SetFollowers(t.Name, p.Partition, followers)
		}
	}
	return nil
}

// answerGroups puts the recording in front of kfake's own, empty, groups.
func (s *Stage) answerGroups() {
	handle := func(key kmsg.Key, fn func(kmsg.Request) kmsg.Response) {
		s.kafka.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			s.kafka.KeepControl()
			resp := fn(req)
			return resp, nil, resp != nil
		})
	}
	handle(kmsg.ListGroups, func(r kmsg.Request) kmsg.Response { return s.listGroups(r.(*kmsg.ListGroupsRequest)) })
	handle(kmsg.DescribeGroups, func(r kmsg.Request) kmsg.Response { return s.describeGroups(r.(*kmsg.DescribeGroupsRequest)) })
	handle(kmsg.ConsumerGroupDescribe, func(r kmsg.Request) kmsg.Response {
		return s.describeConsumerGroups(r.(*kmsg.ConsumerGroupDescribeRequest))
	})
	handle(kmsg.OffsetFetch, func(r kmsg.Request) kmsg.Response { return s.offsetFetch(r.(*kmsg.OffsetFetchRequest)) })
	handle(kmsg.ListOffsets, func(r kmsg.Request) kmsg.Response { return s.listOffsets(r.(*kmsg.ListOffsetsRequest)) })
}

// current returns each group's latest view, sorted by group.
func (s *Stage) current() []GroupView {
	now, last := s.recorded(), map[string]GroupView{}
	for _, v := range s.rec.Views {
		if v.At.After(now) {
			break
		}
		if v.Err == "" {
			last[v.Group] = v
		}
	}
	out := make([]GroupView, 0, len(last))
	for _, v := range last {
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Group < out[j].Group })
	return out
}
