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
// Decoded are OffsetCommit (keys 0 and 1), GroupMetadata (key 2) and the
// records of KIP-848 consumer groups (keys 3, 5 to 8 and 16; key 4, which Kafka
// wrote until 4.0, is let pass). A KIP-848 group writes no record of its whole
// membership: keys 3, 5 and 8 and their tombstones are played in log order, and
// each change becomes one [diagnose.GroupRecord] with the group epoch as its
// generation. Its time is exact, since nobody has to rejoin first. These records
// know topics by id: give the names with [Decoder.NameTopics]. Leaving and being
// fenced write the same tombstones, and the session timeout is in no record.
// Keys of share and streams groups (9–15, 17 on) are counted and skipped.
//
// A value version that is not known is an error, never a guess
// ([Decoder.Undecoded]); tagged fields that are not known are skipped.
//
// Memory is bounded whatever the topic holds: see the limits in thin.go.
package offsets
