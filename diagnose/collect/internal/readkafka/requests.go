package readkafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// versionsAge is how long a broker's API versions are believed. Short enough to
// follow a rolling upgrade.
const versionsAge = 5 * time.Minute

// Metadata reads brokers and topics past the client's cache. A nil list asks
// for all topics, an empty one for none. Topics that the bot may not describe
// are left out silently when all are asked for, and carry an error when named.
func (c *Client) Metadata(ctx context.Context, topics []string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
		for _, name := range topics {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
		}
	}
	return hedge(ctx, c, func() *kmsg.MetadataRequest { r := *req; return &r })
}

// hedgeAfter is how long one broker may think before another is asked as well.
const hedgeAfter = time.Second

// hedge asks up to three brokers, a second apart, and takes the first answer:
// one frozen broker must not look like a dead cluster. Each request needs its
// own struct, since the client writes the version into it.
func hedge(ctx context.Context, c *Client, req func() *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
	const most = 3
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	type result struct {
		resp *kmsg.MetadataResponse
		err  error
	}
	results := make(chan result, most)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error
	for asked, done := 0, 0; done < most; {
		select {
		case <-timer.C:
			asked++
			go func() {
				resp, err := ask[*kmsg.MetadataResponse](ctx, c, anyBroker, req())
				results <- result{resp, err}
			}()
			if asked < most {
				timer.Reset(hedgeAfter)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("Metadata: %w", context.Cause(ctx))
		case r := <-results:
			if r.err == nil {
				return r.resp, nil
			}
			done, last = done+1, r.err
			if asked < most {
				timer.Reset(0) // no need to wait for the next
			}
		}
	}
	return nil, last
}

// MaxVersions returns the highest version of each API that a broker speaks.
// Answers are kept for five minutes.
func (c *Client) MaxVersions(ctx context.Context, broker int32, now time.Time) (map[int16]int16, error) {
	c.mu.Lock()
	known, ok := c.versions[broker]
	c.mu.Unlock()
	if ok && now.Sub(known.at) < versionsAge {
		return known.max, nil
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = softwareName, "1"
	resp, err := ask[*kmsg.ApiVersionsResponse](ctx, c, broker, req)
	if err != nil {
		return nil, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return nil, err
	}
	max := make(map[int16]int16, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		max[k.ApiKey] = k.MaxVersion
	}
	c.mu.Lock()
	c.versions[broker] = brokerVersions{at: now, max: max}
	c.mu.Unlock()
	return max, nil
}

// ListGroups lists the groups that one broker coordinates.
func (c *Client) ListGroups(ctx context.Context, broker int32) (*kmsg.ListGroupsResponse, error) {
	return ask[*kmsg.ListGroupsResponse](ctx, c, broker, kmsg.NewPtrListGroupsRequest())
}

// DescribeGroups describes classic groups at their coordinator, with an error
// for each.
func (c *Client) DescribeGroups(ctx context.Context, broker int32, groups []string) (*kmsg.DescribeGroupsResponse, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	return ask[*kmsg.DescribeGroupsResponse](ctx, c, broker, req)
}

// ConsumerGroupDescribe describes KIP-848 groups at their coordinator, with an
// error for each.
func (c *Client) ConsumerGroupDescribe(ctx context.Context, broker int32, groups []string) (*kmsg.ConsumerGroupDescribeResponse, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = groups
	return ask[*kmsg.ConsumerGroupDescribeResponse](ctx, c, broker, req)
}

// OffsetFetch reads all committed offsets of many groups at their coordinator,
// with an error for each group. Needs OffsetFetch version 8 (Kafka 3.0).
func (c *Client) OffsetFetch(ctx context.Context, broker int32, groups []string) (*kmsg.OffsetFetchResponse, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	for _, g := range groups {
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group = g
		rg.MemberEpoch = -1
		req.Groups = append(req.Groups, rg)
	}
	return ask[*kmsg.OffsetFetchResponse](ctx, c, broker, req)
}

// OffsetFetchOne reads the committed offsets of one group the way brokers
// before Kafka 3.0 understand.
func (c *Client) OffsetFetchOne(ctx context.Context, broker int32, group string) (*kmsg.OffsetFetchResponse, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	return ask[*kmsg.OffsetFetchResponse](ctx, c, broker, req)
}

// Offsets asked for by name.
const (
	// AtEnd is the end of the log (high watermark).
	AtEnd int64 = -1
	// AtStart is its first offset.
	AtStart int64 = -2
)

// ListOffsets asks a leader for the offsets of its partitions at one timestamp
// (unix milliseconds, [AtEnd] or [AtStart]).
func (c *Client) ListOffsets(ctx context.Context, broker int32, parts map[string][]int32, at int64) (*kmsg.ListOffsetsResponse, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for _, topic := range slices.Sorted(maps.Keys(parts)) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, p := range parts[topic] {
			tp := kmsg.NewListOffsetsRequestTopicPartition()
			tp.Partition, tp.Timestamp, tp.CurrentLeaderEpoch = p, at, -1
			t.Partitions = append(t.Partitions, tp)
		}
		req.Topics = append(req.Topics, t)
	}
	return ask[*kmsg.ListOffsetsResponse](ctx, c, broker, req)
}

// BrokerConfigs reads named settings of one broker from that broker.
func (c *Client) BrokerConfigs(ctx context.Context, broker int32, names []string) (*kmsg.DescribeConfigsResponse, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeBroker, itoa(broker), names
	req.Resources = append(req.Resources, r)
	return ask[*kmsg.DescribeConfigsResponse](ctx, c, broker, req)
}

// GroupConfigs reads named settings of a KIP-848 group from a broker (4.0 and later).
func (c *Client) GroupConfigs(ctx context.Context, broker int32, group string, names []string) (*kmsg.DescribeConfigsResponse, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeGroupConfig, group, names
	req.Resources = append(req.Resources, r)
	return ask[*kmsg.DescribeConfigsResponse](ctx, c, broker, req)
}

// metadataTopic is the log of a KRaft cluster's controllers.
const metadataTopic = "__cluster_metadata"

// QuorumLeader returns the id of the active KRaft controller.
func (c *Client) QuorumLeader(ctx context.Context) (int32, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = metadataTopic
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.DescribeQuorumResponse](ctx, c, anyBroker, req)
	if err != nil {
		return -1, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return -1, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			return p.LeaderID, codeErr(p.ErrorCode)
		}
	}
	return -1, nil
}
