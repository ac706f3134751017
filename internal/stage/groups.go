package stage

import (
	"maps"
	"slices"
	"sort"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (s *Stage) listGroups(req *kmsg.ListGroupsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	node := s.kafka.CurrentNode()
	for _, v := range s.current() {
		if v.Coordinator != node || !wanted(req.StatesFilter, v.State) || !wanted(req.TypesFilter, v.Protocol) {
			continue
		}
		g := kmsg.NewListGroupsResponseGroup()
		g.Group, g.ProtocolType, g.GroupState, g.GroupType = v.Group, "consumer", v.State, v.Protocol
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

func wanted(filter []string, value string) bool {
	return len(filter) == 0 || slices.Contains(filter, value)
}

func (s *Stage) describeGroups(req *kmsg.DescribeGroupsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	views := s.current()
	for _, id := range req.Groups {
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.State = id, "Dead"
		if v, ok := find(views, id, "classic"); ok {
			describe(&g, v)
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

// find returns the view of a group of one protocol; a broker describes a group
// by the request of its protocol only.
func find(views []GroupView, id, protocol string) (GroupView, bool) {
	i := slices.IndexFunc(views, func(v GroupView) bool { return v.Group == id })
	if i < 0 || (views[i].Protocol == "consumer") != (protocol == "consumer") {
		return GroupView{}, false
	}
	return views[i], true
}

func (s *Stage) describeConsumerGroups(req *kmsg.ConsumerGroupDescribeRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	views := s.current()
	for _, id := range req.Groups {
		g := kmsg.NewConsumerGroupDescribeResponseGroup()
		g.Group = id
		if v, ok := find(views, id, "consumer"); ok {
			s.describeConsumer(&g, v)
		} else {
			g.ErrorCode = kerr.GroupIDNotFound.Code
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

func (s *Stage) describeConsumer(g *kmsg.ConsumerGroupDescribeResponseGroup, v GroupView) {
	g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName = v.State, v.Epoch, v.Epoch, "uniform"
	for _, m := range v.Members {
		out := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		out.MemberID, out.InstanceID, out.ClientID, out.ClientHost, out.MemberEpoch = m.MemberID, m.InstanceID, m.ClientID, m.Host, m.Epoch
		for _, t := range topicsOf(m) {
			at := kmsg.NewAssignmentTopicPartition()
			at.TopicID, at.Topic, at.Partitions = s.topicIDs[t], t, m.Partitions[t]
			out.Assignment.TopicPartitions = append(out.Assignment.TopicPartitions, at)
			out.SubscribedTopics = append(out.SubscribedTopics, t)
		}
		out.TargetAssignment = out.Assignment
		g.Members = append(g.Members, out)
	}
}

func describe(g *kmsg.DescribeGroupsResponseGroup, v GroupView) {
	g.State, g.ProtocolType = v.State, "consumer"
	if v.State == "Stable" {
		g.Protocol = "range"
	}
	for _, m := range v.Members {
		out := kmsg.NewDescribeGroupsResponseGroupMember()
		out.MemberID, out.InstanceID, out.ClientID, out.ClientHost = m.MemberID, m.InstanceID, m.ClientID, m.Host
		if v.State == "Stable" {
			out.ProtocolMetadata, out.MemberAssignment = subscription(m), assignment(m)
		}
		g.Members = append(g.Members, out)
	}
}

func topicsOf(m MemberView) []string {
	out := make([]string, 0, len(m.Partitions))
	for t := range m.Partitions {
		out = append(out, t)
	}
	sort.Strings(out)
	return out
}

func subscription(m MemberView) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = topicsOf(m)
	return meta.AppendTo(nil)
}

func assignment(m MemberView) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	for _, t := range topicsOf(m) {
		at := kmsg.NewConsumerMemberAssignmentTopic()
		at.Topic, at.Partitions = t, m.Partitions[t]
		a.Topics = append(a.Topics, at)
	}
	return a.AppendTo(nil)
}

// committed is the newest commit of each partition of each group.
type committed map[string]map[string]map[int32]int64

// commits decodes the recorded commits up to now.
func (s *Stage) commits() committed {
	now, out := s.recorded(), committed{}
	for _, r := range s.rec.Records {
		if r.At().After(now) {
			break
		}
		out.add(r)
	}
	return out
}

func (c committed) add(r Record) {
	// Key types 0 and 1 are commits, the others are about membership.
	if len(r.Key) < 2 || r.Key[0] != 0 || r.Key[1] > 1 {
		return
	}
	key := kmsg.NewOffsetCommitKey()
	if key.ReadFrom(r.Key) != nil {
		return
	}
	if r.Value == nil {
		delete(c[key.Group][key.Topic], key.Partition)
		return
	}
	value := kmsg.NewOffsetCommitValue()
	if value.ReadFrom(*r.Value) != nil {
		return
	}
	if c[key.Group] == nil {
		c[key.Group] = map[string]map[int32]int64{}
	}
	if c[key.Group][key.Topic] == nil {
		c[key.Group][key.Topic] = map[int32]int64{}
	}
	c[key.Group][key.Topic][key.Partition] = value.Offset
}

func (s *Stage) offsetFetch(req *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	all := s.commits()
	if req.Version < 8 {
		resp.Topics = []kmsg.OffsetFetchResponseTopic{}
		for _, t := range slices.Sorted(maps.Keys(all[req.Group])) {
			rt := kmsg.NewOffsetFetchResponseTopic()
			rt.Topic = t
			for _, p := range slices.Sorted(maps.Keys(all[req.Group][t])) {
				rp := kmsg.NewOffsetFetchResponseTopicPartition()
				rp.Partition, rp.Offset = p, all[req.Group][t][p]
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	}
	for _, g := range req.Groups {
		resp.Groups = append(resp.Groups, s.offsetGroup(g.Group, all[g.Group]))
	}
	return resp
}

func (s *Stage) offsetGroup(id string, topics map[string]map[int32]int64) kmsg.OffsetFetchResponseGroup {
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group = id
	for _, t := range slices.Sorted(maps.Keys(topics)) {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = t, s.topicIDs[t]
		for _, p := range slices.Sorted(maps.Keys(topics[t])) {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset = p, topics[t][p]
			rt.Partitions = append(rt.Partitions, rp)
		}
		g.Topics = append(g.Topics, rt)
	}
	return g
}

// listOffsets answers for the data topics, which hold no records here: the end
// is the newest commit of any group, so recorded groups have no lag. Requests
// about the offsets topic go to kfake.
func (s *Stage) listOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	for _, t := range req.Topics {
		if t.Topic == offsetsTopic {
			return nil
		}
	}
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	ends := s.ends()
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		_, known := s.topicIDs[t.Topic]
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition = p.Partition
			switch {
			case !known:
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			case p.Timestamp == -2:
				rp.Offset = 0
			default:
				rp.Offset = ends[t.Topic][p.Partition]
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (s *Stage) ends() map[string]map[int32]int64 {
	out := map[string]map[int32]int64{}
	for _, topics := range s.commits() {
		for t, parts := range topics {
			if out[t] == nil {
				out[t] = map[int32]int64{}
			}
			for p, o := range parts {
				out[t][p] = max(out[t][p], o)
			}
		}
	}
	return out
}
