package offsets

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// describeConsumer writes a KIP-848 record in the form of the .want files.
func describeConsumer(t *testing.T, r Record) string {
	t.Helper()
	c, err := decodeConsumer(r)
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("key %d %s", c.key, c.group)
	if c.of != "" {
		head += " " + c.of
	}
	switch {
	case c.tombstone:
		return fmt.Sprintf("key %d %s %s gone\n", c.key, c.group, dash(c.of))
	case c.epoch != nil:
		return fmt.Sprintf("%s epoch %d hash %d\n", head, c.epoch.epoch, c.epoch.hash)
	case c.member != nil:
		m := c.member
		classic := "-"
		if m.classic != nil {
			classic = fmt.Sprint(m.classic.sessionMS, m.classic.assignors)
		}
		return fmt.Sprintf("%s instance %s rack %s client %s host %s topics %s regex %s rebalance %d assignor %s classic %s\n", head, dash(m.instance),
			dash(m.rack), m.client, m.host, strings.Join(m.topics, ","), dash(m.regex), m.rebalanceMS, dash(m.assignor), classic)
	case c.target != nil:
		return fmt.Sprintf("%s epoch %d at %d\n", head, c.target.epoch, c.target.at)
	case c.current != nil:
		return fmt.Sprintf("%s epoch %d from %d %s holds %s revokes %s\n", head, c.current.epoch, c.current.previous, stateName(c.current.state), held(c.current.assigned), held(c.current.pending))
	case c.regex != nil:
		return fmt.Sprintf("%s topics %s version %d at %d\n", head, strings.Join(c.regex.topics, ","), c.regex.version, c.regex.at)
	default:
		return head + " " + held(c.planned) + "\n"
	}
}

func held(ts []heldTopic) string {
	var out []string
	for _, t := range ts {
		s := hex.EncodeToString(t.topic[:]) + ":" + numbers(t.partitions)
		if len(t.epochs) > 0 {
			s += "@" + numbers(t.epochs)
		}
		out = append(out, s)
	}
	return dash(strings.Join(out, ";"))
}

func numbers(ns []int32) string {
	var out []string
	for _, n := range ns {
		out = append(out, strconv.Itoa(int(n)))
	}
	return strings.Join(out, ",")
}

// put writes the encodings of keys and values: what wire reads.
type put struct{ b []byte }

func (p *put) int8(v int8) *put   { p.b = append(p.b, byte(v)); return p }
func (p *put) int16(v int16) *put { p.b = binary.BigEndian.AppendUint16(p.b, uint16(v)); return p }
func (p *put) int32(v int32) *put { p.b = binary.BigEndian.AppendUint32(p.b, uint32(v)); return p }
func (p *put) int64(v int64) *put { p.b = binary.BigEndian.AppendUint64(p.b, uint64(v)); return p }

func (p *put) uvarint(v uint64) *put { p.b = binary.AppendUvarint(p.b, v); return p }

func (p *put) key(s string) *put { p.int16(int16(len(s))); p.b = append(p.b, s...); return p }

func (p *put) text(s string) *put {
	p.uvarint(uint64(len(s)) + 1)
	p.b = append(p.b, s...)
	return p
}

func (p *put) texts(ss ...string) *put {
	p.uvarint(uint64(len(ss)) + 1)
	for _, s := range ss {
		p.text(s)
	}
	return p
}

func (p *put) held(topic byte, parts ...int32) *put {
	if len(parts) == 0 {
		return p.uvarint(1)
	}
	p.uvarint(2)
	p.b = append(p.b, make([]byte, 15)...)
	p.int8(int8(topic)).uvarint(uint64(len(parts)) + 1)
	for _, n := range parts {
		p.int32(n)
	}
	return p.uvarint(0)
}

// tag writes one tagged field as the only one.
func (p *put) tag(tag uint64, field []byte) *put {
	p.uvarint(1).uvarint(tag).uvarint(uint64(len(field)))
	p.b = append(p.b, field...)
	return p
}

func start() *put { return &put{} }

// What no recorded run held: members of the classic protocol, tags of the
// future, nulls, regular expressions.
func TestDecodesRareForms(t *testing.T) {
	classic := start().uvarint(1).int32(45000).uvarint(2).text("range").uvarint(4).int8(7).int8(7).int8(7).uvarint(0).uvarint(0).b
	for _, tc := range []struct {
		name       string
		key, value *put
		want       string
	}{
		{"epoch without tags", start().int16(3).key("g"), start().int16(0).int32(9).uvarint(0), "key 3 g epoch 9 hash 0\n"},
		{"unknown tag", start().int16(3).key("g"), start().int16(0).int32(9).tag(77, []byte("later")), "key 3 g epoch 9 hash 0\n"},
		{"a known tag that grew", start().int16(3).key("g"), start().int16(0).int32(9).tag(0, start().int64(5).int32(1).b), "key 3 g epoch 9 hash 5\n"},
		{
			"static member of the classic protocol", start().int16(5).key("g").key("m"),
			start().int16(0).text("i-1").text("r-1").text("c").text("/h").texts("t", "u").text("").int32(300000).text("uniform").tag(0, classic),
			"key 5 g m instance i-1 rack r-1 client c host /h topics t,u regex - rebalance 300000 assignor uniform classic 45000 [range]\n",
		},
		{
			"member of nulls", start().int16(5).key("g").key("m"),
			start().int16(0).uvarint(0).uvarint(0).text("c").text("/h").uvarint(0).uvarint(0).int32(1).uvarint(0).tag(0, []byte{0}),
			"key 5 g m instance - rack - client c host /h topics  regex - rebalance 1 assignor - classic -\n",
		},
		{"target epoch of 4.0", start().int16(6).key("g"), start().int16(0).int32(4).uvarint(0), "key 6 g epoch 4 at 0\n"},
		{"nothing assigned", start().int16(7).key("g").key("m"), start().int16(0).held(1).uvarint(0), "key 7 g m -\n"},
		{
			"static member that left for now", start().int16(8).key("g").key("m"),
			start().int16(0).int32(-2).int32(4).int8(0).held(1, 0).held(1).uvarint(0),
			"key 8 g m epoch -2 from 4 stable holds " + strings.Repeat("0", 31) + "1:0 revokes -\n",
		},
		{"expression", start().int16(16).key("g").key("t.*"), start().int16(0).texts("t1", "t2").int64(3).int64(99).uvarint(0), "key 16 g t.* topics t1,t2 version 3 at 99\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := describeConsumer(t, Record{Key: tc.key.b, Value: tc.value.b}); got != tc.want {
				t.Errorf("got  %swant %s", got, tc.want)
			}
		})
	}
}

func TestRefusesWhatItDoesNotKnow(t *testing.T) {
	epoch := start().int16(3).key("g").b
	current := start().int16(8).key("g").key("m").b
	for _, tc := range []struct {
		name       string
		key, value []byte
		want       string
	}{
		{"value version of the future", epoch, start().int16(1).int32(9).uvarint(0).b, "value version 1 of key type 3 is not known"},
		{"negative version", epoch, start().int16(-1).int32(9).uvarint(0).b, "value version -1 of key type 3 is not known"},
		{"cut", epoch, start().int16(0).int16(9).b, "decoding a value of key type 3: it ends too early"},
		{"no tags", epoch, start().int16(0).int32(9).b, "it ends too early"},
		{"more than the format has", epoch, start().int16(0).int32(9).uvarint(0).int8(1).b, "something follows its end"},
		{"a tag longer than the record", epoch, start().int16(0).int32(9).uvarint(1).uvarint(0).uvarint(1 << 40).b, "it ends too early"},
		{"endless tags", epoch, start().int16(0).int32(9).uvarint(1 << 60).b, "it ends too early"},
		{"a list longer than the record", current, start().int16(0).int32(9).int32(8).int8(0).uvarint(1 << 50).b, "it ends too early"},
		{"a key with something behind it", append(start().int16(3).key("g").b, 1), nil, "decoding a key of type 3: something follows its end"},
		{"a member key without a member", start().int16(5).key("g").b, nil, "decoding a key of type 5: it ends too early"},
		{"a list too long to be true", start().int16(16).key("g").key("r").b, start().int16(0).texts(make([]string, maxList+1)...).int64(0).int64(0).uvarint(0).b, "too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := decodeConsumer(Record{Key: tc.key, Value: tc.value})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A version of the future costs the group's verdict, not the program, and the
// reading can say why.
func TestUndecodedIsCounted(t *testing.T) {
	d := NewDecoder("g")
	d.Add(Record{Offset: 1, At: time.UnixMilli(1), Key: start().int16(5).key("g").key("m").b, Value: start().int16(3).b})
	d.Add(Record{Offset: 2, At: time.UnixMilli(1), Key: start().int16(6).key("g").b, Value: start().int16(3).b}) // says nothing about members
	n, err := d.Undecoded("g")
	var version versionError
	if n != 1 || !errors.As(err, &version) || version != (versionError{5, 3}) || !d.KIP848("g") {
		t.Errorf("%d undecoded, %v, want one of version 3", n, err)
	}
	if n, err := d.Undecoded("other"); n != 0 || err != nil {
		t.Errorf("another group: %d, %v", n, err)
	}
}

func FuzzDecodeConsumer(f *testing.F) {
	for _, name := range []string{"session-848", "poll-848"} {
		for i, r := range load(f, name) {
			if _, kind := keyKind(r.Key); kind == KindKIP848 && i < 60 {
				f.Add(r.Key, r.Value)
			}
		}
	}
	f.Add(start().int16(16).key("g").key("t.*").b, start().int16(0).texts("t1").int64(3).int64(99).uvarint(0).b)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		c, err := decodeConsumer(Record{Key: key, Value: value})
		if err == nil && c.tombstone != (len(value) == 0) {
			t.Errorf("tombstone %v from %d value bytes", c.tombstone, len(value))
		}
		for _, ts := range [][]heldTopic{c.planned} {
			for _, x := range ts {
				if 4*len(x.partitions) > len(value) {
					t.Errorf("%d partitions from %d bytes", len(x.partitions), len(value))
				}
			}
		}
	})
}
