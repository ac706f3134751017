package offsets

import "unicode/utf16"

// DefaultPartitions is offsets.topic.num.partitions where nobody changed it.
const DefaultPartitions = 50

// Partition returns the partition of __consumer_offsets that holds a group, of
// a topic with the given number of partitions: |hash(group)| mod partitions,
// with Java's String.hashCode over UTF-16 units and |MIN_INT| = 0 (Kafka's
// Utils.abs). The leader of that partition is the group's coordinator. It
// returns -1 when partitions is not positive.
func Partition(group string, partitions int32) int32 {
	if partitions <= 0 {
		return -1
	}
	var h int32
	for _, u := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(u)
	}
	switch {
	case h == -1<<31:
		h = 0
	case h < 0:
		h = -h
	}
	return h % partitions
}
