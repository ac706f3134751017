package collect

import (
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
)

// The promise: at most 5 requests per broker + 2, whatever the number of groups.
func TestSweepRequestsDoNotDependOnGroups(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 3, kfake.SeedTopics(6, "t"))
		var counts []int
		for _, n := range []int{12, 150} {
			for _, g := range names(n) {
				f.commit(g, "t", 6, 0)
			}
			f.member("live", "t")
			f.member("new", "t", kgo.ServerSideBalancer())
			f.waitStable("live", len(counts)+1)
			f.waitStable("new", len(counts)+1)
			first := f.sweep() // connections and versions are known from here on
			f.calls.reset()
			s, err := f.k.sweepAll(f.ctx(), first.topo, everything(), clock(nil))
			if err != nil {
				t.Fatal(err)
			}
			total, most := f.calls.total()
			if len(s.groups) != n+2 {
				t.Errorf("%d groups seen, want %d", len(s.groups), n+2)
			}
			if most > 5 || total > 5*3+2 {
				t.Errorf("%d groups: %d requests, %d to one broker; want at most 17 and 5", n, total, most)
			}
			if s.requests != total {
				t.Errorf("the sweep counts %d requests, the wire %d", s.requests, total)
			}
			counts = append(counts, total)
		}
		if counts[0] != counts[1] {
			t.Errorf("requests grew with the groups: %v", counts)
		}
	})
}

func TestSweepReadsBothProtocols(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 2, kfake.SeedTopics(4, "t"), kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "100"}))
		f.produce("t", 4, 10)
		f.member("classic", "t", kgo.ClientID("old-app"), kgo.InstanceID("i-1"))
		f.member("kip848", "t", kgo.ClientID("new-app"), kgo.ServerSideBalancer())
		f.waitStable("classic", 1)
		f.waitStable("kip848", 1)
		f.commit("empty", "t", 4, 3)
		time.Sleep(15 * time.Second) // auto commits
		s := f.sweep()
		for group, want := range map[string]struct {
			protocol, client, instance string
			lag                        int64
			members                    int
		}{
			"classic": {"classic", "old-app", "i-1", 0, 1},
			"kip848":  {"consumer", "new-app", "", 0, 1},
			"empty":   {"classic", "", "", 28, 0},
		} {
			g := s.groups[group]
			if g == nil {
				t.Errorf("%s is not listed", group)
				continue
			}
			if !g.reading.OK() || !g.lagReading.OK() {
				t.Errorf("%s: reading %+v, lag %+v", group, g.reading, g.lagReading)
			}
			if g.protocol != want.protocol || g.lag.Total != want.lag || len(g.snapshot.Members) != want.members || g.lag.EndTotal != 40 {
				t.Errorf("%s: protocol %s, lag %+v, members %+v; want %+v", group, g.protocol, g.lag, g.snapshot.Members, want)
			}
			if want.members == 0 {
				continue
			}
			m := g.snapshot.Members[0]
			all := []diagnose.TopicPartition{tp("t", 0), tp("t", 1), tp("t", 2), tp("t", 3)}
			if m.ClientID != want.client || m.InstanceID != want.instance || !slices.Equal(m.Partitions, all) {
				t.Errorf("%s: member %+v", group, m)
			}
		}
		if e := s.groups["kip848"].snapshot.Epoch; e < 1 {
			t.Errorf("epoch of the KIP-848 group is %d", e)
		}
		if e := s.groups["classic"].snapshot.Epoch; e != -1 {
			t.Errorf("epoch of the classic group is %d, want -1", e)
		}
	})
}

// One refused or moving group costs only itself, and says what is missing.
func TestSweepKeepsFailuresApart(t *testing.T) {
	describe := []kmsg.Key{kmsg.DescribeGroups, kmsg.OffsetFetch}
	for _, tc := range []struct {
		name   string
		err    *kerr.Error
		status diagnose.Status
		hint   string
	}{
		{"refused", kerr.GroupAuthorizationFailed, diagnose.StatusForbidden, "needs Describe on Group bad"},
		{"moving", kerr.NotCoordinator, diagnose.StatusFailed, ""},
		{"loading", kerr.CoordinatorLoadInProgress, diagnose.StatusFailed, ""},
		{"gone", kerr.GroupIDNotFound, diagnose.StatusEmpty, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				f := newFake(t, 1, kfake.SeedTopics(2, "t"))
				f.produce("t", 2, 5)
				for _, g := range []string{"bad", "good"} {
					f.commit(g, "t", 2, 1)
				}
				h := f.c.Fault(kfake.Fault{Keys: describe, Group: "bad", Err: tc.err, Count: -1})
				s := f.sweep()
				if h.Hits() == 0 {
					t.Fatal("the fault was not met")
				}
				bad, good := s.groups["bad"], s.groups["good"]
				if bad.reading.Status != tc.status || bad.reading.Hint != tc.hint || bad.reading.Error == "" {
					t.Errorf("bad: %+v", bad.reading)
				}
				if bad.lagReading.Status != tc.status {
					t.Errorf("lag of bad: %+v", bad.lagReading)
				}
				if !good.reading.OK() || good.lag.Total != 8 {
					t.Errorf("good: %+v, lag %+v", good.reading, good.lag)
				}
			})
		})
	}
}

// OffsetFetch leaves partitions of a refused topic out without a word.
func TestSweepNamesTopicsItMayNotSee(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1, kfake.SeedTopics(2, "secret", "open"))
		f.produce("open", 2, 5)
		f.member("mixed", "secret", kgo.ConsumeTopics("secret", "open"))
		f.member("plain", "open")
		f.waitStable("mixed", 1)
		f.waitStable("plain", 1)
		time.Sleep(15 * time.Second)
		f.c.ControlKey(kmsg.Metadata.Int16(), hideTopic(f, "secret"))
		s := f.sweep()
		mixed, plain := s.groups["mixed"], s.groups["plain"]
		if !slices.Equal(mixed.hidden, []string{"secret"}) || mixed.lag.Hidden == 0 {
			t.Errorf("hidden %v, %+v; want the topic named", mixed.hidden, mixed.lag)
		}
		if mixed.lagReading.Status != diagnose.StatusPartial || mixed.lagReading.Hint != "needs Describe on Topic secret" {
			t.Errorf("lag reading %+v", mixed.lagReading)
		}
		if !plain.lagReading.OK() || plain.lag.EndTotal != 10 {
			t.Errorf("plain: %+v, %+v", plain.lagReading, plain.lag)
		}
	})
}

// hideTopic answers Metadata as a broker does to a client that may not describe
// a topic.
func hideTopic(f *fakeKafka, topic string) func(kmsg.Request) (kmsg.Response, error, bool) {
	info := f.c.TopicInfo("open")
	port := int32(9092)
	return func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		f.c.KeepControl()
		req := kreq.(*kmsg.MetadataRequest)
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 0, "localhost", port
		resp.Brokers = append(resp.Brokers, b)
		if req.Topics != nil && len(req.Topics) == 0 {
			return resp, nil, true
		}
		tr := kmsg.NewMetadataResponseTopic()
		tr.Topic, tr.TopicID = kmsg.StringPtr("open"), info.TopicID
		for p := range int32(2) {
			pr := kmsg.NewMetadataResponseTopicPartition()
			pr.Partition, pr.Leader, pr.Replicas, pr.ISR = p, 0, []int32{0}, []int32{0}
			tr.Partitions = append(tr.Partitions, pr)
		}
		resp.Topics = append(resp.Topics, tr)
		return resp, nil, true
	}
}

func TestSweepOldBrokers(t *testing.T) {
	for _, tc := range []struct {
		name     string
		versions *kversion.Versions
	}{
		{"3.7: no group types", kversion.V3_7_0()},
		{"2.8: offsets of one group at a time", kversion.V2_8_0()},
		{"2.4: no states either", kversion.V2_4_0()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				f := newFake(t, 1, kfake.SeedTopics(2, "t"), kfake.MaxVersions(tc.versions))
				f.produce("t", 2, 5)
				f.commit("a", "t", 2, 1)
				f.member("b", "t")
				f.waitStable("b", 1)
				time.Sleep(15 * time.Second)
				s := f.sweep()
				a, b := s.groups["a"], s.groups["b"]
				if a == nil || b == nil {
					t.Fatalf("groups %v", s.groups)
				}
				if a.lag.Total != 8 || a.state != "Empty" || !a.reading.OK() {
					t.Errorf("a: lag %+v, state %s, %+v %+v", a.lag, a.state, a.reading, a.lagReading)
				}
				if len(b.snapshot.Members) != 1 || b.state != "Stable" || b.protocol != "classic" || b.lag.Total != 0 || b.lag.EndTotal != 10 {
					t.Errorf("b: %+v, lag %+v", b.snapshot, b.lag)
				}
			})
		})
	}
}

func TestSweepListsShareAndStreamsGroupsAsUnsupported(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1, kfake.SeedTopics(1, "t"))
		f.c.ControlKey(kmsg.ListGroups.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			f.c.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.ListGroupsResponse)
			for id, typ := range map[string]string{"s": "Share", "k": "Streams"} {
				g := kmsg.NewListGroupsResponseGroup()
				g.Group, g.GroupType, g.GroupState = id, typ, "Stable"
				resp.Groups = append(resp.Groups, g)
			}
			return resp, nil, true
		})
		s := f.sweep()
		for id, protocol := range map[string]string{"s": "share", "k": "streams"} {
			g := s.groups[id]
			if g == nil || g.reading.Status != diagnose.StatusUnsupported || g.protocol != protocol || !strings.Contains(g.reading.Error, protocol) {
				t.Errorf("%s: %+v", id, g)
			}
		}
	})
}

// A broker that does not answer costs its groups and its time, nothing else.
func TestSweepWithASilentBroker(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 3, kfake.SeedTopics(3, "t"))
		for _, g := range names(30) {
			f.commit(g, "t", 3, 0)
		}
		all := f.sweep()
		f.silence(1, kmsg.ListGroups)
		start := time.Now()
		s := f.sweep()
		if took := time.Since(start); took > 9*time.Second {
			t.Errorf("took %s, want the request timeout with its retry", took)
		}
		for _, b := range s.brokers {
			want := diagnose.StatusOK
			if b.id == 1 {
				want = diagnose.StatusTimeout
			}
			if b.list.Status != want {
				t.Errorf("broker %d: %+v, want %s", b.id, b.list, want)
			}
		}
		for id, g := range all.groups {
			if _, seen := s.groups[id]; seen != (g.coordinator != 1) {
				t.Errorf("group %s of broker %d seen: %v", id, g.coordinator, seen)
			}
		}
	})
}
