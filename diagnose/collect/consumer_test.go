package collect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/offsets"
)

// The recorded run of a KIP-848 group: a and b, a frozen for 10 s.
const (
	group848 = "g-session-440-java-848-1128"
	topic848 = "t-" + group848
	// id848 is the topic's id in the recorded values.
	id848 = "\x29\xe4\x64\x8c\x4f\x13\x4c\xfa\x87\xa4\x8a\x57\x4f\xb8\xb5\xe8"
)

type line848 struct {
	ms         int64
	key, value []byte
}

func recorded848(t *testing.T) []line848 {
	t.Helper()
	b, err := os.ReadFile("../offsets/testdata/session-848.records")
	if err != nil {
		t.Fatal(err)
	}
	var out []line848
	for line := range strings.Lines(string(b)) {
		var l line848
		var offset int64
		var k, v string
		if n, _ := fmt.Sscan(line, &offset, &l.ms, &k, &v); n != 4 {
			continue
		}
		if l.key, err = base64.StdEncoding.DecodeString(k); err != nil {
			t.Fatal(err)
		}
		if v != "-" {
			if l.value, err = base64.StdEncoding.DecodeString(v); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, l)
	}
	return out
}

// play848 writes the recorded records so that the last is as old as end, and
// returns the moment of a's loss.
func (l *offsetsLog) play848(lines []line848, end time.Time) time.Time {
	l.f.t.Helper()
	l.f.c.CreateTopic(topic848, 4, nil)
	id := l.f.topology().topics[topic848].id
	last := lines[len(lines)-1].ms
	var lost time.Time
	for _, x := range lines {
		at := end.Add(time.Duration(x.ms-last) * time.Millisecond)
		if x.value == nil && lost.IsZero() {
			lost = at
		}
		l.write(group848, at, x.key, bytes.ReplaceAll(x.value, []byte(id848), id[:]))
	}
	return lost
}

func TestHistoryOfAConsumerProtocolGroup(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1)
		log := f.offsetsLog(8)
		now := time.Now()
		lost := log.play848(recorded848(t), now.Add(-time.Minute))
		h := f.history(group848, span{now.Add(-10 * time.Minute), now})
		if !h.OK() || !h.Baseline {
			t.Errorf("reading %+v, baseline %v", h.Reading, h.Baseline)
		}
		i := slices.IndexFunc(h.Records, func(r diagnose.GroupRecord) bool { return r.Generation == 4 })
		if i < 1 {
			t.Fatalf("no epoch 4 in %+v", h.Records)
		}
		before, after := h.Records[i-1], h.Records[i]
		if !after.At.Equal(lost.Truncate(time.Millisecond)) || len(before.Members) != 2 || len(after.Members) != 1 || after.Members[0].ClientID != "b" {
			t.Errorf("the loss at %v reads %+v after %+v", lost, after, before)
		}
		if got, want := after.Members[0].Partitions, []diagnose.TopicPartition{tp(topic848, 0), tp(topic848, 1)}; !slices.Equal(got, want) {
			t.Errorf("b holds %v, want %v under the topic's name", got, want)
		}
		if len(h.Commits) == 0 {
			t.Error("no commits")
		}
	})
}

func TestReadingsOfAConsumerProtocolGroup(t *testing.T) {
	// The batch that drops a begins at 55, the epoch before it at 6.
	for _, tc := range []struct {
		name     string
		setup    func(t *testing.T, l *offsetsLog, now time.Time)
		status   diagnose.Status
		baseline bool
		text     string
	}{
		{"joined hours before the window", func(t *testing.T, l *offsetsLog, now time.Time) {
			all := recorded848(t)
			l.play848(all[:27], now.Add(-3*time.Hour))
			l.commits("other", now.Add(-2*time.Hour), now.Add(-20*time.Minute), 3000)
			l.play848(all[27:60], now.Add(-time.Minute))
		}, diagnose.StatusOK, true, ""},
		{"the log begins after the joins", func(t *testing.T, l *offsetsLog, now time.Time) {
			l.play848(recorded848(t)[27:60], now.Add(-time.Minute))
		}, diagnose.StatusPartial, false, "who left is not visible"},
		{"an epoch is there, the join of the lost member is not", func(t *testing.T, l *offsetsLog, now time.Time) {
			l.play848(recorded848(t)[6:27], now.Add(-time.Hour))
			l.play848(recorded848(t)[27:60], now.Add(-time.Minute))
		}, diagnose.StatusPartial, true, "the joins of 1 lost members were not found"},
		{"a value version of the future", func(t *testing.T, l *offsetsLog, now time.Time) {
			lines := recorded848(t)[:27]
			for i := range lines {
				if lines[i].key[1] == 8 {
					lines[i].value[1] = 7
				}
			}
			l.play848(lines, now.Add(-time.Minute))
		}, diagnose.StatusPartial, true, "value version 7 of key type 8 is not known"},
		{"only value versions of the future", func(t *testing.T, l *offsetsLog, now time.Time) {
			lines := recorded848(t)[:5]
			for i := range lines {
				lines[i].value[1] = 7
			}
			l.play848(lines, now.Add(-time.Minute))
		}, diagnose.StatusUnsupported, false, "could not be decoded: value version 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				f := newFake(t, 1)
				now := time.Now()
				tc.setup(t, f.offsetsLog(8), now)
				h := f.history(group848, span{now.Add(-10 * time.Minute), now})
				if h.Status != tc.status || h.Baseline != tc.baseline || !strings.Contains(h.Error, tc.text) || tc.text == "" && h.Error != "" {
					t.Errorf("reading %+v, baseline %v; want %s, %v, %q", h.Reading, h.Baseline, tc.status, tc.baseline, tc.text)
				}
			})
		})
	}
}

func TestScanFindsConsumerProtocolGroups(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1)
		now := time.Now()
		f.offsetsLog(8).play848(recorded848(t), now.Add(-time.Minute))
		s := f.k.scanOffsets(f.ctx(), f.topology(), nil, span{now.Add(-10 * time.Minute), now}, clock(nil))
		if want := []suspect{{group848, 1, false}}; !s.reading.OK() || !slices.Equal(s.suspects, want) {
			t.Errorf("suspects %+v (%+v), want %+v", s.suspects, s.reading, want)
		}
	})
}

// The type that a group is listed with decides which request describes it.
func TestGroupTypeDecidesTheRequest(t *testing.T) {
	consumer := func(f *fakeKafka, group string) {
		f.member(group, "t", kgo.ServerSideBalancer())
		f.waitStable(group, 1)
	}
	refuse35 := func(f *fakeKafka) {
		f.c.ControlKey(kmsg.ConsumerGroupDescribe.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			f.c.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
			for _, id := range kreq.(*kmsg.ConsumerGroupDescribeRequest).Groups {
				g := kmsg.NewConsumerGroupDescribeResponseGroup()
				g.Group, g.ErrorCode = id, kerr.UnsupportedVersion.Code
				resp.Groups = append(resp.Groups, g)
			}
			return resp, nil, true
		})
	}
	converted := func(f *fakeKafka) {
		f.c.ControlKey(kmsg.DescribeGroups.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			f.c.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.DescribeGroupsResponse)
			for _, id := range kreq.(*kmsg.DescribeGroupsRequest).Groups {
				g := kmsg.NewDescribeGroupsResponseGroup()
				g.Group, g.State, g.ErrorCode, g.ErrorMessage = id, "Dead", kerr.GroupIDNotFound.Code, kmsg.StringPtr("Group "+id+" is not a classic group.")
				resp.Groups = append(resp.Groups, g)
			}
			return resp, nil, true
		})
	}
	for _, tc := range []struct {
		name              string
		versions          *kversion.Versions
		setup             func(f *fakeKafka)
		status            diagnose.Status
		protocol          string
		classic, consumer int // requests
		text              string
	}{
		{"4.x, new protocol", nil, func(f *fakeKafka) { consumer(f, "g") }, diagnose.StatusOK, "consumer", 0, 1, ""},
		{"4.x, classic", nil, func(f *fakeKafka) { f.commit("g", "t", 2, 1) }, diagnose.StatusOK, "classic", 1, 0, ""},
		{"4.x, converted between list and describe", nil, func(f *fakeKafka) {
			f.commit("g", "t", 2, 1)
			converted(f)
		}, diagnose.StatusPartial, "classic", 1, 0, "of the new protocol by now"},
		{"3.9, preview of the new protocol", nil, func(f *fakeKafka) {
			consumer(f, "g")
			refuse35(f)
		}, diagnose.StatusUnsupported, "consumer", 0, 1, "cannot describe them"},
		{"3.9, classic", kversion.V3_9_0(), func(f *fakeKafka) { f.commit("g", "t", 2, 1) }, diagnose.StatusOK, "classic", 1, 0, ""},
		{"3.7, no types", kversion.V3_7_0(), func(f *fakeKafka) { f.commit("g", "t", 2, 1) }, diagnose.StatusOK, "classic", 1, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				opts := []kfake.Opt{kfake.SeedTopics(2, "t")}
				if tc.versions != nil {
					opts = append(opts, kfake.MaxVersions(tc.versions))
				}
				f := newFake(t, 1, opts...)
				tc.setup(f)
				f.calls.reset()
				g := f.sweep().groups["g"]
				if g == nil || g.reading.Status != tc.status || g.protocol != tc.protocol || !strings.Contains(g.reading.Error, tc.text) {
					t.Fatalf("group %+v", g)
				}
				if a, b := f.calls.of(kmsg.DescribeGroups), f.calls.of(kmsg.ConsumerGroupDescribe); a != tc.classic || b != tc.consumer {
					t.Errorf("%d DescribeGroups, %d ConsumerGroupDescribe; want %d, %d", a, b, tc.classic, tc.consumer)
				}
			})
		})
	}
}

// The two readers of one partition number agree.
func TestRecordedPartition(t *testing.T) {
	if p := offsets.Partition(group848, 8); p != 0 {
		t.Errorf("partition %d, the broker used 0", p)
	}
}
