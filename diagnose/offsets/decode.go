package offsets

import (
	"encoding/binary"
	"fmt"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Kind is what one record of __consumer_offsets turned out to be.
type Kind int

// The kinds.
const (
	// KindSkipped is a record that no group history is made of: share and
	// streams groups, deleted commits, keys of the future.
	KindSkipped Kind = iota
	// KindCommit is an offset commit.
	KindCommit
	// KindGroup is a GroupMetadata record, tombstones included.
	KindGroup
	// KindKIP848 belongs to a KIP-848 consumer group, tombstones included.
	KindKIP848
	// KindMalformed could not be decoded.
	KindMalformed
)

// Record is one record of __consumer_offsets. A nil Value is a tombstone.
type Record struct {
	// Offset is the record's offset in the partition.
	Offset int64
	// At is the record's timestamp.
	At         time.Time
	Key, Value []byte
}

// maxValueBytes bounds one value. Brokers refuse records above
// message.max.bytes, 1 MiB by default; a larger one is not worth the memory.
const maxValueBytes = 8 << 20

// keyKind looks at the first two key bytes only.
func keyKind(key []byte) (int16, Kind) {
	if len(key) < 2 {
		return -1, KindMalformed
	}
	t := int16(binary.BigEndian.Uint16(key))
	switch {
	case t == 0 || t == 1:
		return t, KindCommit
	case t == 2:
		return t, KindGroup
	case t >= keyGroupEpoch && t <= keyCurrent, t == keyRegex:
		return t, KindKIP848
	default:
		return t, KindSkipped
	}
}

// keyGroup reads the group id, which follows the type in every key.
func keyGroup(key []byte) (string, bool) {
	if len(key) < 4 {
		return "", false
	}
	n := int(int16(binary.BigEndian.Uint16(key[2:])))
	if n < 0 || len(key) < 4+n {
		return "", false
	}
	return string(key[4 : 4+n]), true
}

func decodeCommit(r Record) (diagnose.Commit, error) {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(r.Key); err != nil {
		return diagnose.Commit{}, fmt.Errorf("decoding an offset commit key: %w", err)
	}
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(r.Value); err != nil {
		return diagnose.Commit{}, fmt.Errorf("decoding an offset commit value: %w", err)
	}
	at := r.At
	// The commit's own timestamp is the moment the coordinator accepted it; the
	// record's may be later by the time an append took.
	if v.CommitTimestamp > 0 {
		at = time.UnixMilli(v.CommitTimestamp)
	}
	return diagnose.Commit{
		At:             at.UTC(),
		TopicPartition: diagnose.TopicPartition{Topic: k.Topic, Partition: k.Partition},
		Offset:         v.Offset,
	}, nil
}

func decodeGroup(r Record) (diagnose.GroupRecord, error) {
	out := diagnose.GroupRecord{At: r.At.UTC()}
	if len(r.Value) == 0 {
		out.Tombstone = true
		return out, nil
	}
	var v kmsg.GroupMetadataValue
	if err := v.ReadFrom(r.Value); err != nil {
		return out, fmt.Errorf("decoding a group metadata value: %w", err)
	}
	out.Generation = v.Generation
	out.Assignor = deref(v.Protocol)
	out.Leader = deref(v.Leader)
	if v.CurrentStateTimestamp > 0 {
		out.StateAt = time.UnixMilli(v.CurrentStateTimestamp).UTC()
	}
	for _, m := range v.Members {
		out.Members = append(out.Members, decodeMember(m, v.ProtocolType))
	}
	sort.Slice(out.Members, func(i, j int) bool { return out.Members[i].ID < out.Members[j].ID })
	return out, nil
}

func decodeMember(m kmsg.GroupMetadataValueMember, protocolType string) diagnose.RecordMember {
	out := diagnose.RecordMember{
		ID:                 m.MemberID,
		InstanceID:         deref(m.InstanceID),
		ClientID:           m.ClientID,
		Host:               m.ClientHost,
		RebalanceTimeoutMS: m.RebalanceTimeoutMillis,
		SessionTimeoutMS:   m.SessionTimeoutMillis,
	}
	// Connect and other group users put their own bytes here.
	if protocolType == "consumer" {
		out.Partitions = decodeAssignment(m.Assignment)
	}
	return out
}

// decodeAssignment returns nil for an assignment that is not a consumer's: the
// bytes belong to the assignor, not to the broker.
func decodeAssignment(b []byte) []diagnose.TopicPartition {
	if len(b) == 0 {
		return nil
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(b); err != nil {
		return nil
	}
	var out []diagnose.TopicPartition
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			out = append(out, diagnose.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	sortPartitions(out)
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
