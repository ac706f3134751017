package collect

import (
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

const (
	srcDescribe = "kafka: DescribeGroups"
	srcConsumer = "kafka: ConsumerGroupDescribe"
	srcLag      = "kafka: OffsetFetch, ListOffsets"
)

// merge adds one coordinator's answers to the sweep.
func (s *sweep) merge(b *brokerSweep) {
	mine := map[string]*groupLook{}
	for _, l := range b.lists {
		g := &groupLook{listedGroup: l, reading: skipped("not asked for"), lagReading: skipped("not asked for")}
		g.snapshot.Epoch, g.snapshot.State = -1, l.state
		if l.protocol == "share" || l.protocol == "streams" {
			g.reading = diagnose.Reading{Status: diagnose.StatusUnsupported, AsOf: b.listed, Source: "kafka: ListGroups",
				Error: l.protocol + " groups are listed, but not diagnosed yet"}
			g.lagReading = g.reading
		}
		mine[l.id] = g
	}
	b.applyFailures(mine)
	for _, resp := range b.raw.described {
		for i := range resp.Groups {
			if g := mine[resp.Groups[i].Group]; g != nil {
				g.describedClassic(&resp.Groups[i], b.raw.describedAt)
			}
		}
	}
	for _, resp := range b.raw.consumer {
		for i := range resp.Groups {
			if g := mine[resp.Groups[i].Group]; g != nil {
				g.describedConsumer(&resp.Groups[i], s.topo, b.raw.describedAt)
			}
		}
	}
	for _, resp := range b.raw.offsets {
		for i := range resp.Groups {
			if g := mine[resp.Groups[i].Group]; g != nil {
				g.fetchedOffsets(&resp.Groups[i], s.topo, b.raw.describedAt)
			}
		}
	}
	for id, g := range mine {
		g.findHidden(s.topo)
		if other := s.groups[id]; other == nil || g.better(other) {
			s.groups[id] = g
		}
	}
}

// better decides between two coordinators that both list a group while it
// moves: the one that could describe it.
func (g *groupLook) better(other *groupLook) bool { return g.reading.OK() && !other.reading.OK() }

func (b *brokerSweep) applyFailures(mine map[string]*groupLook) {
	for id, err := range b.raw.describeFailed {
		if g := mine[id]; g != nil {
			g.reading = kafkaFailure(err, needGroup(id)).reading(g.describeSource(), b.raw.describedAt)
		}
	}
	for id, err := range b.raw.offsetsFailed {
		if g := mine[id]; g != nil {
			g.lagReading = kafkaFailure(err, needGroup(id)).reading(srcLag, b.raw.describedAt)
		}
	}
}

func (g *groupLook) describeSource() string {
	if g.protocol == "consumer" {
		return srcConsumer
	}
	return srcDescribe
}

func (g *groupLook) describedClassic(in *kmsg.DescribeGroupsResponseGroup, at time.Time) {
	if err := kerr.ErrorForCode(in.ErrorCode); err != nil {
		g.reading = g.goneOr(err, at)
		if in.ErrorMessage != nil && strings.HasSuffix(*in.ErrorMessage, notClassic) {
			g.reading = diagnose.Reading{Status: diagnose.StatusPartial, AsOf: at, Source: srcDescribe,
				Error: "listed as a classic group, but it is of the new protocol by now; asked again at the next look"}
		}
		return
	}
	if in.State == "Dead" && g.protocol == "" {
		// Brokers before 3.8 list KIP-848 groups (early access) without their
		// type and describe them as dead.
		g.reading = diagnose.Reading{Status: diagnose.StatusPartial, AsOf: at, Source: srcDescribe,
			Error: "listed, but described as dead: deleted just now, or a group of the new protocol"}
		return
	}
	g.reading = ok(srcDescribe, at)
	g.protocol = "classic"
	if in.ProtocolType != "" {
		g.protocolType = in.ProtocolType
	}
	g.state = in.State
	g.snapshot = diagnose.GroupSnapshot{At: at, Until: at, State: in.State, Assignor: in.Protocol, Epoch: -1}
	for _, m := range in.Members {
		g.snapshot.Members = append(g.snapshot.Members, classicMember(m, in.ProtocolType))
	}
	sortMembers(g.snapshot.Members)
}

// notClassic ends the message with which Kafka 4 refuses to describe a group of
// the new protocol the classic way; the error code is that of a missing group.
const notClassic = "is not a classic group."

// goneOr tells a group that vanished between list and describe from an error.
func (g *groupLook) goneOr(err error, at time.Time) diagnose.Reading {
	if errors.Is(err, kerr.GroupIDNotFound) {
		return diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: at, Source: g.describeSource(), Error: "the group no longer exists"}
	}
	return kafkaFailure(err, needGroup(g.id)).reading(g.describeSource(), at)
}

func classicMember(in kmsg.DescribeGroupsResponseGroupMember, protocolType string) diagnose.Member {
	m := diagnose.Member{ID: in.MemberID, ClientID: in.ClientID, Host: in.ClientHost, Epoch: -1}
	if in.InstanceID != nil {
		m.InstanceID = *in.InstanceID
	}
	// Connect and other users of groups put their own bytes into the assignment.
	if protocolType != "consumer" || len(in.MemberAssignment) == 0 {
		return m
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(in.MemberAssignment); err != nil {
		return m // the bytes belong to the assignor, not to the broker
	}
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			m.Partitions = append(m.Partitions, diagnose.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	sortPartitions(m.Partitions)
	return m
}

func (g *groupLook) describedConsumer(in *kmsg.ConsumerGroupDescribeResponseGroup, topo *topology, at time.Time) {
	if err := kerr.ErrorForCode(in.ErrorCode); err != nil {
		// The broker refuses the whole group when one of its topics may not be
		// described, and does not say which.
		g.reading = g.goneOr(err, at)
		switch in.ErrorCode {
		case kerr.TopicAuthorizationFailed.Code:
			g.reading.Hint = "needs Describe on every topic that the group subscribes to"
		case kerr.UnsupportedVersion.Code:
			// Measured on 3.9.2, where the new protocol is a preview.
			g.reading.Error = "this broker lists groups of the new protocol (KIP-848) and cannot describe them"
			g.reading.Hint = "the group's records in " + offsetsTopic + " and the watcher's memory are what is left; Kafka 4.0 can"
		}
		return
	}
	g.reading = ok(srcConsumer, at)
	g.state = in.State
	g.snapshot = diagnose.GroupSnapshot{At: at, Until: at, State: in.State, Assignor: in.AssignorName, Epoch: in.Epoch}
	for _, m := range in.Members {
		g.snapshot.Members = append(g.snapshot.Members, g.consumerMember(m, topo))
	}
	sortMembers(g.snapshot.Members)
}

func (g *groupLook) consumerMember(in kmsg.ConsumerGroupDescribeResponseGroupMember, topo *topology) diagnose.Member {
	m := diagnose.Member{ID: in.MemberID, ClientID: in.ClientID, Host: in.ClientHost, Epoch: in.MemberEpoch}
	if in.InstanceID != nil {
		m.InstanceID = *in.InstanceID
	}
	for _, t := range in.Assignment.TopicPartitions {
		name := t.Topic
		if name == "" {
			name = topo.names[t.TopicID]
		}
		for _, p := range t.Partitions {
			m.Partitions = append(m.Partitions, diagnose.TopicPartition{Topic: name, Partition: p})
		}
	}
	sortPartitions(m.Partitions)
	return m
}

// fetchedOffsets takes the commits. From version 10 on topics come as ids.
func (g *groupLook) fetchedOffsets(in *kmsg.OffsetFetchResponseGroup, topo *topology, at time.Time) {
	if err := kerr.ErrorForCode(in.ErrorCode); err != nil {
		g.lagReading = g.goneOr(err, at)
		g.lagReading.Source = srcLag
		return
	}
	g.lagReading = ok(srcLag, at)
	for _, t := range in.Topics {
		name := t.Topic
		if name == "" {
			name = topo.names[t.TopicID]
		}
		for _, p := range t.Partitions {
			switch {
			case p.ErrorCode != 0 || name == "":
				g.lag.Hidden++
			case p.Offset >= 0:
				g.commits = append(g.commits, committed{diagnose.TopicPartition{Topic: name, Partition: p.Partition}, p.Offset})
			}
		}
	}
}

// findHidden names assigned topics that metadata does not show. OffsetFetch
// leaves their partitions out without a word.
func (g *groupLook) findHidden(topo *topology) {
	seen := map[string]int{}
	for _, m := range g.snapshot.Members {
		for _, tp := range m.Partitions {
			if topo.topics[tp.Topic] == nil {
				seen[tp.Topic]++
			}
		}
	}
	for name, n := range seen {
		g.lag.Hidden += n
		if name != "" {
			g.hidden = append(g.hidden, name)
		}
	}
	sort.Strings(g.hidden)
}

func needGroup(id string) string { return "Describe on Group " + id }

func sortMembers(ms []diagnose.Member) {
	sort.Slice(ms, func(i, j int) bool { return ms[i].ID < ms[j].ID })
}

func sortPartitions(ps []diagnose.TopicPartition) {
	sort.Slice(ps, func(i, j int) bool {
		if ps[i].Topic != ps[j].Topic {
			return ps[i].Topic < ps[j].Topic
		}
		return ps[i].Partition < ps[j].Partition
	})
}
