package offsets

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// load reads a recorded piece of the topic: offset, ms, key, value.
func load(t testing.TB, name string) []Record {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".records"))
	if err != nil {
		t.Fatal(err)
	}
	var out []Record
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		out = append(out, Record{Offset: number(t, f[0]), At: time.UnixMilli(number(t, f[1])), Key: b64(t, f[2]), Value: b64(t, f[3])})
	}
	return out
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func b64(t testing.TB, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// describe writes a record in the form of the .want files.
func describe(t *testing.T, r Record) string {
	t.Helper()
	group, _ := keyGroup(r.Key)
	switch _, kind := keyKind(r.Key); kind {
	case KindCommit:
		c, err := decodeCommit(r)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("commit %s %d %d at %d\n", group, c.Partition, c.Offset, c.At.UnixMilli())
	case KindGroup:
		g, err := decodeGroup(r)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "group %s generation %d leader %s assignor %s state at %d written %d\n", group, g.Generation,
			dash(g.Leader), dash(g.Assignor), g.StateAt.UnixMilli(), g.At.UnixMilli())
		for _, m := range g.Members {
			var ps []string
			for _, p := range m.Partitions {
				ps = append(ps, strconv.Itoa(int(p.Partition)))
			}
			fmt.Fprintf(&b, "  member %s instance %s client %s host %s session %d rebalance %d partitions %s\n", m.ID,
				dash(m.InstanceID), m.ClientID, m.Host, m.SessionTimeoutMS, m.RebalanceTimeoutMS, strings.Join(ps, ","))
		}
		return b.String()
	case KindKIP848:
		return describeConsumer(t, r)
	default:
		return fmt.Sprintf("kind %d\n", kind)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// The .want files were made by another decoder, which was compared record by
// record with Kafka's DumpLogSegments.
func TestDecodesWhatBrokersWrite(t *testing.T) {
	for _, name := range []string{"session", "dupstatic", "coordpause", "session-848", "poll-848", "rolling-848"} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name+".want"))
			if err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(string(want), "\n")
			var got strings.Builder
			for _, r := range load(t, name) {
				got.WriteString(describe(t, r))
			}
			if got.String() != body {
				t.Errorf("decoded:\n%s\nwant:\n%s", got.String(), body)
			}
		})
	}
}

func TestPartitionOfRecordedGroups(t *testing.T) {
	for group, want := range map[string]int32{
		"g-session-440-java-1128": 7, "g-nosync-440-java-1279": 2, "g-poll-440-java-1158": 7, "g-gone-440-java-1233": 7,
	} {
		if got := Partition(group, 8); got != want {
			t.Errorf("Partition(%q, 8) = %d, want %d, where the broker put it", group, got, want)
		}
	}
}

func TestHistoryOfASessionTimeout(t *testing.T) {
	const group = "g-session-440-java-1128"
	recs := load(t, "session")
	d := NewDecoder(group)
	for _, r := range recs {
		d.Add(r)
	}
	start := recs[0].At.Add(10 * time.Second)
	h := d.History(group, start)
	if !h.Baseline || h.OffsetsPartition != -1 || !h.From.Equal(recs[0].At) {
		t.Errorf("baseline %v, partition %d, from %v; want true, -1, %v", h.Baseline, h.OffsetsPartition, h.From, recs[0].At)
	}
	var gens []int32
	var members []int
	for _, r := range h.Records {
		gens = append(gens, r.Generation)
		members = append(members, len(r.Members))
	}
	if want := []int32{0, 1, 2, 3, 4}; !reflect.DeepEqual(gens, want) {
		t.Errorf("generations %v, want %v", gens, want)
	}
	if want := []int{0, 1, 2, 1, 2}; !reflect.DeepEqual(members, want) {
		t.Errorf("member counts %v, want %v", members, want)
	}
	if len(h.Commits) != 72 {
		t.Errorf("%d commits, want all 72", len(h.Commits))
	}
}

// A reader walks backwards: the newest piece first, each piece in log order.
func TestPiecesInAnyOrderGiveOneHistory(t *testing.T) {
	const group = "g-session-440-java-1128"
	recs := load(t, "session")
	whole, pieces := NewDecoder(), NewDecoder()
	for _, r := range recs {
		whole.Add(r)
	}
	cut := len(recs) / 2
	for _, r := range recs[cut:] {
		pieces.Add(r)
	}
	if pieces.Baseline(group, recs[cut].At) {
		t.Error("the newer half has a baseline before its own start")
	}
	for _, r := range recs[:cut+3] { // overlapping on purpose
		pieces.Add(r)
	}
	start := recs[cut].At
	if got, want := pieces.History(group, start), whole.History(group, start); !reflect.DeepEqual(got, want) {
		t.Errorf("history from pieces differs:\n%s\n%s", asJSON(got), asJSON(want))
	}
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestNothingIsKnownOfAnotherGroup(t *testing.T) {
	if h := NewDecoder().History("nobody", time.Time{}); h.Baseline || h.Records != nil {
		t.Errorf("a group without records has history %+v", h)
	}
}

func TestKinds(t *testing.T) {
	key := func(typ byte, group string) []byte { return append([]byte{0, typ, 0, byte(len(group))}, group...) }
	for _, tc := range []struct {
		name  string
		rec   Record
		want  Kind
		group bool
	}{
		{"nil key", Record{}, KindMalformed, false},
		{"one byte", Record{Key: []byte{0}}, KindMalformed, false},
		{"no group", Record{Key: []byte{0, 2}}, KindMalformed, false},
		{"group longer than the key", Record{Key: []byte{0, 2, 0, 9, 'g'}}, KindMalformed, false},
		{"negative group length", Record{Key: []byte{0, 2, 255, 255}}, KindMalformed, false},
		{"kip-848 epoch", Record{Key: key(3, "g")}, KindKIP848, true},
		{"kip-848 member", Record{Key: append(key(5, "g"), 0, 1, 'm')}, KindKIP848, true},
		{"kip-848 member without an id", Record{Key: key(5, "g")}, KindMalformed, true},
		{"kip-848 regex", Record{Key: append(key(16, "g"), 0, 1, 'r')}, KindKIP848, true},
		{"kip-848 partition counts", Record{Key: key(4, "g"), Value: []byte{0, 9, 1}}, KindKIP848, true},
		{"kip-848 value version of the future", Record{Key: key(3, "g"), Value: []byte{0, 1, 0, 0, 0, 5, 0}}, KindMalformed, true},
		{"share group", Record{Key: key(10, "g")}, KindSkipped, false},
		{"streams group", Record{Key: key(17, "g")}, KindSkipped, false},
		{"group deleted", Record{Key: key(2, "g")}, KindGroup, true},
		{"empty value", Record{Key: key(2, "g"), Value: []byte{0}}, KindMalformed, true},
		{"unknown value version", Record{Key: key(2, "g"), Value: []byte{0, 99, 0, 0}}, KindMalformed, true},
		{"commit without a topic", Record{Key: key(1, "g"), Value: []byte{0, 3}}, KindMalformed, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := NewDecoder()
			if got := d.Add(tc.rec); got != tc.want {
				t.Errorf("kind %d, want %d", got, tc.want)
			}
			if got := len(d.Groups()) == 1; got != tc.group {
				t.Errorf("groups %v", d.Groups())
			}
		})
	}
}

func TestTombstoneEndsAGroup(t *testing.T) {
	d := NewDecoder("g")
	d.Add(Record{Offset: 1, At: time.UnixMilli(1000), Key: []byte{0, 2, 0, 1, 'g'}})
	h := d.History("g", time.UnixMilli(2000))
	if len(h.Records) != 1 || !h.Records[0].Tombstone {
		t.Fatalf("history %+v, want a tombstone", h)
	}
}

func FuzzAdd(f *testing.F) {
	for _, name := range []string{"session", "dupstatic", "session-848", "poll-848"} {
		recs := load(f, name)
		for _, r := range recs[:min(20, len(recs))] {
			f.Add(r.Key, r.Value)
		}
	}
	f.Add([]byte{0, 2, 0, 1, 'g'}, []byte{0, 3, 0, 1, 'c', 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 127, 255, 255, 255})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		d := NewDecoder()
		kind := d.Add(Record{Offset: 1, At: time.UnixMilli(1000), Key: key, Value: value})
		d.Add(Record{Offset: 2, At: time.UnixMilli(2000), Key: key, Value: value})
		for _, g := range d.Groups() {
			h := d.History(g, time.UnixMilli(1500))
			if kind == KindMalformed && (len(h.Records) > 0 || len(h.Commits) > 0) {
				t.Errorf("a malformed record made history %+v", h)
			}
		}
	})
}
