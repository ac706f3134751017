package offsets

import (
	"encoding/base64"
	"fmt"
)

// Key types of KIP-848 consumer groups. Layouts: Kafka's coordinator record
// schemas, compared record by record with its DumpLogSegments on 4.4.0.
const (
	keyGroupEpoch   int16 = 3  // group: its epoch
	keyTopics       int16 = 4  // group: partition counts, until 4.0
	keyMember       int16 = 5  // group, member: who it is
	keyTargetEpoch  int16 = 6  // group: epoch of the target assignment
	keyTarget       int16 = 7  // group, member: its target assignment
	keyCurrent      int16 = 8  // group, member: what it holds
	keyRegex        int16 = 16 // group, regular expression: topics that match
	knownConsumerV0 int16 = 0  // the only value version there is
)

// A consumerRecord is one record of a KIP-848 group. Of the pointers at most
// one is set: none for a tombstone, and for key 4, whose value says nothing
// about members.
type consumerRecord struct {
	key   int16
	group string
	// of is the member id of keys 5, 7 and 8, the expression of key 16.
	of        string
	tombstone bool

	epoch   *groupEpoch
	member  *memberData
	target  *targetEpoch
	planned []heldTopic
	current *currentData
	regex   *regexData
}

// groupEpoch is the value of key 3.
type groupEpoch struct {
	epoch int32
	// hash is tag 0, the metadata hash (4.1 on); 0 when it is not there.
	hash int64
}

// memberData is the value of key 5.
type memberData struct {
	instance, rack, client, host string
	topics                       []string
	regex                        string
	rebalanceMS                  int32
	assignor                     string
	// classic is set for a member that speaks the classic protocol (tag 0).
	classic *classicData
}

type classicData struct {
	sessionMS int32
	assignors []string
}

// targetEpoch is the value of key 6.
type targetEpoch struct {
	epoch int32
	// at is tag 0, the time of the assignment (4.3 on), unix ms.
	at int64
}

// heldTopic are partitions of one topic, which these records know by id only.
type heldTopic struct {
	topic      [16]byte
	partitions []int32
	// epochs is tag 0 of key 8: the epoch at which each partition was assigned.
	epochs []int32
}

// currentData is the value of key 8.
type currentData struct {
	epoch, previous   int32
	state             int8
	assigned, pending []heldTopic
}

// regexData is the value of key 16.
type regexData struct {
	topics      []string
	version, at int64
}

// versionError is a value version of the future. Its layout is not known, so
// nothing is guessed.
type versionError struct{ key, version int16 }

func (e versionError) Error() string {
	return fmt.Sprintf("value version %d of key type %d is not known", e.version, e.key)
}

// decodeConsumer reads a record of key type 3 to 8 or 16.
func decodeConsumer(r Record) (consumerRecord, error) {
	out, err := decodeConsumerKey(r.Key)
	if err != nil || len(r.Value) == 0 {
		out.tombstone = err == nil
		return out, err
	}
	if out.key == keyTopics {
		return out, nil
	}
	w := &wire{b: r.Value}
	if v := w.int16(); w.err == nil && v != knownConsumerV0 {
		return out, versionError{out.key, v}
	}
	switch out.key {
	case keyGroupEpoch:
		out.epoch = w.groupEpoch()
	case keyMember:
		out.member = w.memberData()
	case keyTargetEpoch:
		out.target = w.targetEpoch()
	case keyTarget:
		out.planned = w.heldTopics()
		w.tags(nil)
	case keyCurrent:
		out.current = w.currentData()
	case keyRegex:
		out.regex = &regexData{topics: w.texts(), version: w.int64(), at: w.int64()}
		w.tags(nil)
	}
	return out, w.end(fmt.Sprintf("a value of key type %d", out.key))
}

func decodeConsumerKey(key []byte) (consumerRecord, error) {
	w := &wire{b: key}
	out := consumerRecord{key: w.int16(), group: w.string16()}
	switch out.key {
	case keyMember, keyTarget, keyCurrent, keyRegex:
		out.of = w.string16()
	}
	return out, w.end(fmt.Sprintf("a key of type %d", out.key))
}

func (w *wire) groupEpoch() *groupEpoch {
	v := &groupEpoch{epoch: w.int32()}
	w.tags(func(tag uint64, field *wire) {
		if tag == 0 {
			v.hash = field.int64()
		}
	})
	return v
}

func (w *wire) memberData() *memberData {
	v := &memberData{
		instance: w.text(), rack: w.text(), client: w.text(), host: w.text(), topics: w.texts(), regex: w.text(),
		rebalanceMS: w.int32(), assignor: w.text(),
	}
	w.tags(func(tag uint64, field *wire) {
		// The tag is always written; its first byte says whether there is one.
		if tag == 0 && field.uvarint() != 0 {
			v.classic = field.classicData()
		}
	})
	return v
}

func (w *wire) classicData() *classicData {
	v := &classicData{sessionMS: w.int32()}
	n := w.list()
	for i := 0; i < n && w.err == nil; i++ {
		v.assignors = append(v.assignors, w.text())
		size, _ := w.length()
		w.take(size) // the client's own metadata
		w.tags(nil)
	}
	w.tags(nil)
	return v
}

func (w *wire) targetEpoch() *targetEpoch {
	v := &targetEpoch{epoch: w.int32()}
	w.tags(func(tag uint64, field *wire) {
		if tag == 0 {
			v.at = field.int64()
		}
	})
	return v
}

func (w *wire) currentData() *currentData {
	v := &currentData{epoch: w.int32(), previous: w.int32(), state: w.int8(), assigned: w.heldTopics(), pending: w.heldTopics()}
	w.tags(nil)
	return v
}

func (w *wire) heldTopics() []heldTopic {
	n := w.list()
	var out []heldTopic
	for i := 0; i < n && w.err == nil; i++ {
		var t heldTopic
		copy(t.topic[:], w.take(len(t.topic)))
		t.partitions = w.ints()
		w.tags(func(tag uint64, field *wire) {
			if tag == 0 {
				t.epochs = field.ints()
			}
		})
		out = append(out, t)
	}
	return out
}

// idText writes a topic id as Kafka does.
func idText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
