// Package offsets decodes the records that a group coordinator writes to
// __consumer_offsets into the membership history of its groups.
//
// It is pure: bytes and timestamps go in through [Decoder.Add], a
// [diagnose.GroupHistory] comes out of [Decoder.History]. Whoever reads the
// topic decides how far back to go:
//
//	p := offsets.Partition("orders", 50)
//	d := offsets.NewDecoder("orders")
//	for each record of partition p {
//		d.Add(offsets.Record{Offset: …, At: …, Key: …, Value: …})
//	}
//	if !d.Baseline("orders", windowStart) { read an earlier piece and add it too }
//	h := d.History("orders", windowStart)
//
// Pieces may be added in any order, newest first included, as long as each
// piece is itself in log order. The reader must leave out control records.
//
// Only the classic protocol is decoded: OffsetCommit (keys 0 and 1) and
// GroupMetadata (key 2). Records of KIP-848 groups (keys 3–8 and 16) are
// recognised, so that a reading can say "not decoded yet" instead of "nothing
// there" ([Decoder.KIP848]). Keys of share and streams groups (9–15, 17 on)
// are counted and skipped.
//
// Memory is bounded whatever the topic holds: see the limits in thin.go.
package offsets
