package offsets

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// topicNames names every topic id of a recording after its group's topic.
func topicNames(recs []Record) map[[16]byte]string {
	out := map[[16]byte]string{}
	for _, r := range recs {
		if _, kind := keyKind(r.Key); kind != KindKIP848 {
			continue
		}
		c, err := decodeConsumer(r)
		if err != nil {
			continue
		}
		for _, h := range c.planned {
			out[h.topic] = "t-" + c.group
		}
	}
	return out
}

// tell writes a history for people: one line a record.
func tell(h diagnose.GroupHistory, from time.Time) string {
	var b strings.Builder
	for _, r := range h.Records {
		fmt.Fprintf(&b, "%7.3f epoch %d", r.At.Sub(from).Seconds(), r.Generation)
		if r.Tombstone {
			b.WriteString(" deleted")
		}
		for _, m := range r.Members {
			var ps []int32
			for _, p := range m.Partitions {
				ps = append(ps, p.Partition)
			}
			fmt.Fprintf(&b, " | %s %s %d %v", cmp.Or(m.ClientID, m.ID), cmp.Or(m.State, "?"), m.Epoch, ps)
			if len(m.Revoking) > 0 {
				fmt.Fprintf(&b, " gives up %d", len(m.Revoking))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// What the recorded runs add up to, checked by hand against their describe
// answers.
func TestEpochsAddUpToMembership(t *testing.T) {
	for _, tc := range []struct{ file, group string }{
		{"session-848", "g-session-440-java-848-1128"}, {"poll-848", "g-poll-440-java-848-1159"}, {"rolling-848", "g-rolling-440-java-848-1223"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			recs := load(t, tc.file)
			d := NewDecoder(tc.group)
			d.NameTopics(topicNames(recs))
			for _, r := range recs {
				d.Add(r)
			}
			h := d.History(tc.group, recs[0].At.Add(-time.Minute))
			if !h.Baseline {
				t.Error("the group's beginning is no baseline")
			}
			golden := filepath.Join("testdata", tc.file+".epochs")
			got := tell(h, recs[0].At)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("history:\n%swant:\n%s", got, want)
			}
			for _, r := range h.Records {
				if r.Protocol != "consumer" || !r.StateAt.IsZero() {
					t.Errorf("record %+v", r)
				}
				for _, m := range r.Members {
					if m.RebalanceTimeoutMS != 12000 || m.Host == "" {
						t.Errorf("member %+v", m)
					}
				}
			}
		})
	}
}

// A reader walks backwards, in pieces of any size, and may read some twice.
func TestEpochsFromPieces(t *testing.T) {
	const group = "g-poll-440-java-848-1159"
	recs := load(t, "poll-848")
	whole := NewDecoder()
	for _, r := range recs {
		whole.Add(r)
	}
	start := recs[80].At
	want := whole.History(group, start)
	for _, size := range []int{1, 7, 50} {
		d := NewDecoder()
		for hi := len(recs); hi > 0; hi -= size {
			for _, r := range recs[max(0, hi-size):min(len(recs), hi+2)] {
				d.Add(r)
			}
			d.Baseline(group, start) // asked after each piece
		}
		if got := d.History(group, start); !reflect.DeepEqual(got, want) {
			t.Errorf("pieces of %d:\n%swant:\n%s", size, tell(got, recs[0].At), tell(want, recs[0].At))
		}
	}
}

// From the middle of the log: whoever was a member shows by what follows, and
// the baseline is not claimed.
func TestEpochsFromTheMiddle(t *testing.T) {
	const group = "g-session-440-java-848-1128"
	recs := load(t, "session-848")
	for _, from := range []int{27, 40, 55, 56} { // after the join, …, amid the batch that drops a
		d := NewDecoder(group)
		d.NameTopics(topicNames(recs))
		for _, r := range recs[from:] {
			d.Add(r)
		}
		h := d.History(group, recs[from].At.Add(-time.Millisecond))
		if h.Baseline {
			t.Errorf("from %d: a baseline without an epoch from before", from)
		}
		if n := d.UnknownLost(group, recs[0].At); n != 0 {
			t.Errorf("from %d: %d lost members unknown; a came back and said who it is", from, n)
		}
		var sizes []int
		for _, r := range h.Records {
			sizes = append(sizes, len(r.Members))
		}
		if !slices.Equal(slices.Compact(sizes), []int{2, 1, 2}) || h.Records[0].Generation != 3 {
			t.Errorf("from %d: members %v from epoch %d, want 2, 1, 2 from epoch 3", from, sizes, h.Records[0].Generation)
		}
	}
}

// consumerWriter writes what a coordinator would, one batch a call.
type consumerWriter struct {
	next int64
	d    *Decoder
}

func (w *consumerWriter) at(at time.Time, b ...func(w *consumerWriter, at time.Time)) {
	for _, f := range b {
		f(w, at)
	}
}

func (w *consumerWriter) add(at time.Time, key *put, value []byte) {
	w.next++
	w.d.Add(Record{Offset: w.next, At: at, Key: key.b, Value: value})
}

func epoch(n int32) func(*consumerWriter, time.Time) {
	return func(w *consumerWriter, at time.Time) {
		w.add(at, start().int16(3).key("g"), start().int16(0).int32(n).uvarint(0).b)
	}
}

func join(id, instance string) func(*consumerWriter, time.Time) {
	return func(w *consumerWriter, at time.Time) {
		v := start().int16(0)
		if instance == "" {
			v.uvarint(0)
		} else {
			v.text(instance)
		}
		w.add(at, start().int16(5).key("g").key(id), v.uvarint(0).text("c-"+id).text("/h").texts("t").text("").int32(300000).uvarint(0).tag(0, []byte{0}).b)
	}
}

// hold writes key 8: the member's epoch and the one before, its state, what it
// holds.
func hold(id string, epoch, previous int32, state int8, parts ...int32) func(*consumerWriter, time.Time) {
	return func(w *consumerWriter, at time.Time) {
		w.add(at, start().int16(8).key("g").key(id), start().int16(0).int32(epoch).int32(previous).int8(state).held(1, parts...).held(1).uvarint(0).b)
	}
}

func drop(id string) func(*consumerWriter, time.Time) {
	return func(w *consumerWriter, at time.Time) {
		for _, k := range []int16{8, 7, 5} {
			w.add(at, start().int16(k).key("g").key(id), nil)
		}
	}
}

func deleted(w *consumerWriter, at time.Time) {
	w.add(at, start().int16(6).key("g"), nil)
	w.add(at, start().int16(3).key("g"), nil)
}

func second(n float64) time.Time {
	return time.Unix(1796000000, 0).Add(time.Duration(n * float64(time.Second)))
}

func TestEpochStories(t *testing.T) {
	for _, tc := range []struct {
		name     string
		write    func(w *consumerWriter)
		window   float64
		baseline bool
		want     string
	}{
		{"a static member leaves for a while and is replaced silently", func(w *consumerWriter) {
			w.at(second(0), join("m1", "i"), epoch(2), hold("m1", 2, 0, 0, 0, 1))
			w.at(second(60), hold("m1", -2, 2, 0, 0, 1))
			w.at(second(63), drop("m1"), join("m2", "i"), hold("m2", 2, 0, 0, 0, 1))
		}, 30, true, "  0.000 epoch 2 | c-m1 stable 2 [0 1]\n 60.000 epoch 2 | c-m1 stable -2 [0 1]\n 63.000 epoch 2 | c-m2 stable 2 [0 1]\n"},
		{"two are fenced in one millisecond", func(w *consumerWriter) {
			w.at(second(0), join("m1", ""), epoch(2), hold("m1", 2, 0, 0, 0))
			w.at(second(1), join("m2", ""), epoch(3), hold("m2", 3, 0, 0, 1))
			w.at(second(60), drop("m1"), epoch(4))
			w.at(second(60), drop("m2"), epoch(5))
		}, 30, true, "  0.000 epoch 2 | c-m1 stable 2 [0]\n  1.000 epoch 3 | c-m1 stable 2 [0] | c-m2 stable 3 [1]\n 60.000 epoch 5\n"},
		{"the group ends and begins again", func(w *consumerWriter) {
			w.at(second(0), join("m1", ""), epoch(2), hold("m1", 2, 0, 0, 0))
			w.at(second(60), drop("m1"), epoch(3))
			w.at(second(90), deleted)
			w.at(second(95), join("m3", ""), epoch(2), hold("m3", 2, 0, 0, 0))
		}, 30, true, "  0.000 epoch 2 | c-m1 stable 2 [0]\n 60.000 epoch 3\n 90.000 epoch 0 deleted\n 95.000 epoch 2 | c-m3 stable 2 [0]\n"},
		{"the oldest thing read is a loss", func(w *consumerWriter) {
			w.at(second(60), drop("m1"), epoch(8))
			w.at(second(61), hold("m2", 8, 7, 0, 0, 1))
		}, 30, false, " 59.999 epoch 7 | m1 ? 0 [] | m2 ? 0 []\n 60.000 epoch 8 | m2 ? 0 []\n 61.000 epoch 8 | m2 stable 8 [0 1]\n"},
		{"an epoch from before the window is the baseline", func(w *consumerWriter) {
			w.at(second(0), hold("m1", 7, 6, 0, 0), epoch(7))
			w.at(second(60), drop("m1"), epoch(8))
		}, 30, true, "  0.000 epoch 7 | m1 stable 7 [0]\n 60.000 epoch 8\n"},
		{"an update of a subscription is no join", func(w *consumerWriter) {
			w.at(second(60), join("m1", ""), epoch(9))
			w.at(second(61), hold("m1", 9, 8, 0, 0))
		}, 30, false, " 60.000 epoch 9 | c-m1 ? 0 []\n 61.000 epoch 9 | c-m1 stable 9 [0]\n"},
		{"the second epoch of an old group is not its beginning", func(w *consumerWriter) {
			w.at(second(60), join("m2", ""), epoch(2), hold("m2", 2, 0, 0))
			w.at(second(61), hold("m1", 2, 1, 0, 0))
		}, 30, false, " 59.999 epoch 1 | m1 ? 0 []\n 60.000 epoch 2 | m1 ? 0 [] | c-m2 stable 2 []\n 61.000 epoch 2 | m1 stable 2 [0] | c-m2 stable 2 []\n"},
		{"a key 8 written again changes nothing", func(w *consumerWriter) {
			w.at(second(0), join("m1", ""), epoch(2), hold("m1", 2, 0, 2))
			w.at(second(1), hold("m1", 2, 2, 2))
		}, 30, true, "  0.000 epoch 2 | c-m1 unreleased 2 []\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &consumerWriter{d: NewDecoder("g")}
			tc.write(w)
			h := w.d.History("g", second(tc.window))
			if got := tell(h, second(0)); got != tc.want {
				t.Errorf("history:\n%swant:\n%s", got, tc.want)
			}
			if h.Baseline != tc.baseline {
				t.Errorf("baseline %v", h.Baseline)
			}
		})
	}
}

// A group that is converted keeps its members; its end under one protocol is
// none.
func TestConvertedGroup(t *testing.T) {
	d := NewDecoder("g")
	cw := &groupWriter{d: d}
	cw.group(second(0), 4, []int32{0}, []int32{1}) // m0, m1
	w := &consumerWriter{d: d, next: cw.next}
	w.add(second(60), start().int16(2).key("g"), nil)
	w.at(second(60), join("m0", ""), epoch(5), hold("m0", 5, 0, 0, 0), join("m1", ""), hold("m1", 5, 0, 0, 1))
	h := d.History("g", second(30))
	if got, want := tell(h, second(0)), "  0.000 epoch 4 | m0 ? 0 [0] | m1 ? 0 [1]\n 60.000 epoch 5 | c-m0 stable 5 [0] | c-m1 stable 5 [1]\n"; got != want {
		t.Errorf("history:\n%swant:\n%s", got, want)
	}
	if !h.Baseline || h.Records[0].Protocol != "" || h.Records[1].Protocol != "consumer" {
		t.Errorf("baseline %v, records %+v", h.Baseline, h.Records)
	}
}

func TestUnknownLostMembers(t *testing.T) {
	w := &consumerWriter{d: NewDecoder("g")}
	w.at(second(0), epoch(7), hold("m1", 7, 6, 0, 0), hold("m2", 7, 6, 0, 1))
	w.at(second(60), drop("m1"), epoch(8))
	if n := w.d.UnknownLost("g", second(30)); n != 1 {
		t.Errorf("%d lost members unknown, want m1", n)
	}
	if n := w.d.UnknownLost("g", second(61)); n != 0 {
		t.Errorf("%d unknown after the loss", n)
	}
	old := &consumerWriter{d: w.d, next: -100} // the reader goes on to an earlier piece
	old.at(second(-900), join("m1", ""))
	if n := w.d.UnknownLost("g", second(30)); n != 0 {
		t.Errorf("%d lost members unknown though the join was read", n)
	}
	if m := w.d.History("g", second(30)).Records[0].Members[0]; m.ClientID != "c-m1" {
		t.Errorf("m1 is %+v", m)
	}
}

// A thousand members that restart one after the other stay within the limits,
// and the newest of it is what is kept.
func TestEpochsAreBounded(t *testing.T) {
	w := &consumerWriter{d: NewDecoder("g")}
	for i := range int32(1000) {
		id := fmt.Sprint("m", i)
		w.at(second(float64(i)), join(id, ""), epoch(i+2), hold(id, i+2, 0, 0, i))
	}
	for i := range int32(1000) {
		at := second(5000 + float64(i))
		w.at(at, drop(fmt.Sprint("m", i)), epoch(2000+2*i))
		id := fmt.Sprint("n", i)
		w.at(at.Add(300*time.Millisecond), join(id, ""), epoch(2001+2*i), hold(id, 2001+2*i, 0, 0, i))
		for k := range int32(20) {
			w.at(at.Add(400*time.Millisecond), hold(fmt.Sprint("m", 999-k), 2001+2*i, 2000+2*i, 0, k, i))
		}
	}
	h := w.d.History("g", second(5000))
	members := 0
	for _, r := range h.Records {
		members += len(r.Members)
	}
	last := h.Records[len(h.Records)-1]
	if len(h.Records) > maxRecords || members > maxMembers+2*1000 || last.Generation != 3999 || len(last.Members) < 1000 {
		t.Errorf("%d records with %d members, the last of epoch %d with %d", len(h.Records), members, last.Generation, len(last.Members))
	}
	if h.Baseline {
		t.Error("a baseline is claimed though the records before the window were thrown away")
	}
	if l := w.d.groups["g"].consumer; len(l.changes) > 2*maxChanges || len(l.members) > maxMembers {
		t.Errorf("%d changes and %d members in memory", len(l.changes), len(l.members))
	}
}

// Where there is no room, assignments on their way go first.
func TestLossesOutliveAssignments(t *testing.T) {
	w := &consumerWriter{d: NewDecoder("g")}
	w.at(second(0), join("a", ""), join("b", ""), epoch(2), hold("a", 2, 0, 0, 0), hold("b", 2, 0, 0, 1))
	w.at(second(10), drop("b"), epoch(3))
	for i := range int32(500) {
		w.at(second(20+float64(i)), hold("a", 3, 2, 0, 0, i))
	}
	h := w.d.History("g", second(5))
	if len(h.Records) != 3 || len(h.Records[1].Members) != 1 || !h.Baseline || !h.Records[1].At.Equal(second(10)) {
		t.Errorf("history:\n%s", tell(h, second(0)))
	}
}

// The commits that date a loss are found by what the member held, pending
// revocations included.
func TestCommitsOfEpochsAreThinnedByOwner(t *testing.T) {
	d := NewDecoder("g")
	d.NameTopics(map[[16]byte]string{{15: 1}: "t"})
	w := &consumerWriter{d: d}
	w.at(second(0), join("a", ""), join("b", ""), epoch(2), hold("a", 2, 0, 0, 0), hold("b", 2, 0, 0, 1))
	cw := &groupWriter{d: d, next: w.next}
	cw.commit(second(30), 1, 77)
	w.next = cw.next
	w.at(second(36), drop("b"), epoch(3))
	w.at(second(37), hold("a", 3, 2, 0, 0, 1))
	cw.next = w.next
	for i := range int64(9000) {
		cw.commit(second(40+float64(i)), int32(i%2), 100+i)
	}
	h := d.History("g", second(35))
	if got := lastBefore(h, 1, second(36)); !got.Equal(second(30)) {
		t.Errorf("the last commit before the loss is at %v, want %v", got, second(30))
	}
}
