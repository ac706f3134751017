package collect

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/offsets"
)

// fakeKafka is a fake cluster on a virtual network, the client under test, and
// an admin for setting things up. It must be made inside a synctest bubble.
type fakeKafka struct {
	t     *testing.T
	c     *kfake.Cluster
	net   *kfake.VirtualNetwork
	addr  string
	calls *calls
	k     *Kafka
	admin *kgo.Client
	login []kgo.Opt

	mu sync.Mutex
	// muted are requests that a broker swallows.
	muted map[mute]bool
}

type mute struct {
	node int32
	key  int16
}

// silence makes a broker never answer one kind of request of the client under
// test.
func (f *fakeKafka) silence(node int32, key kmsg.Key) { f.setMuted(node, key, true) }

// unsilence ends it.
func (f *fakeKafka) unsilence(node int32, key kmsg.Key) { f.setMuted(node, key, false) }

func (f *fakeKafka) setMuted(node int32, key kmsg.Key, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.muted[mute{node, key.Int16()}] = on
}

// muteConn drops what is muted on its way to the broker, and all that follows:
// a broker works on one request of a connection at a time.
type muteConn struct {
	net.Conn
	f    *fakeKafka
	node int32
	deaf atomic.Bool
}

// Write drops a muted request. A request is written in one piece: four bytes of
// length, then the key.
func (c *muteConn) Write(b []byte) (int, error) {
	c.f.mu.Lock()
	drop := len(b) > 6 && c.f.muted[mute{c.node, int16(binary.BigEndian.Uint16(b[4:]))}]
	c.f.mu.Unlock()
	if drop {
		c.deaf.Store(true)
	}
	if c.deaf.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// calls counts requests by broker and key.
type calls struct {
	mu sync.Mutex
	by map[int32]map[int16]int
}

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (c *calls) OnBrokerE2E(meta kgo.BrokerMetadata, key int16, _ kgo.BrokerE2E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[meta.NodeID] == nil {
		c.by[meta.NodeID] = map[int16]int{}
	}
	c.by[meta.NodeID][key]++
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = map[int32]map[int16]int{}
}

// total is the number of requests; most is the number of the busiest broker,
// Metadata left out.
func (c *calls) total() (total, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, keys := range c.by {
		n := 0
		for key, count := range keys {
			total += count
			if key != kmsg.Metadata.Int16() {
				n += count
			}
		}
		most = max(most, n)
	}
	return total, most
}

// of is the number of requests of one kind, to all brokers.
func (c *calls) of(key kmsg.Key) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, keys := range c.by {
		n += keys[key.Int16()]
	}
	return n
}

// inFakeTime runs a test on a fake clock.
func inFakeTime(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newFake(t *testing.T, brokers int, opts ...kfake.Opt) *fakeKafka {
	t.Helper()
	return newFakeAs(t, brokers, nil, opts...)
}

// newFakeAs is newFake for a cluster that wants credentials of the admin.
func newFakeAs(t *testing.T, brokers int, login kgo.Opt, opts ...kfake.Opt) *fakeKafka {
	t.Helper()
	vn := &kfake.VirtualNetwork{}
	var ports []int
	for i := range brokers {
		ports = append(ports, 9092+i)
	}
	all := append([]kfake.Opt{kfake.Ports(ports...), kfake.NumBrokers(brokers), kfake.ListenFn(vn.Listen)}, opts...)
	c, err := kfake.NewCluster(all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	f := &fakeKafka{t: t, c: c, net: vn, addr: "localhost:9092", calls: &calls{by: map[int32]map[int16]int{}}, muted: map[mute]bool{}}
	if login != nil {
		f.login = []kgo.Opt{login}
	}
	f.k = f.client(KafkaConfig{})
	f.admin = f.kgo()
	return f
}

// client makes another client under test.
func (f *fakeKafka) client(cfg KafkaConfig) *Kafka {
	f.t.Helper()
	cfg.BootstrapServers = []string{f.addr}
	k, err := NewKafkaWith(cfg, quiet(), KafkaOptions{Dialer: f.dial, Hooks: []kgo.Hook{f.calls}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(k.Close)
	return k
}

func (f *fakeKafka) dial(ctx context.Context, network, host string) (net.Conn, error) {
	conn, err := f.net.DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(host)
	n, _ := strconv.Atoi(port)
	return &muteConn{Conn: conn, f: f, node: int32(n - 9092)}, nil
}

func (f *fakeKafka) kgo(opts ...kgo.Opt) *kgo.Client {
	f.t.Helper()
	all := append([]kgo.Opt{kgo.SeedBrokers(f.addr), kgo.Dialer(f.net.DialContext)}, f.login...)
	cl, err := kgo.NewClient(append(all, opts...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(cl.Close)
	return cl
}

func (f *fakeKafka) ctx() context.Context { return f.t.Context() }

// produce writes n records to each partition of a topic.
func (f *fakeKafka) produce(topic string, parts int32, n int) {
	f.t.Helper()
	cl := f.kgo(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range parts {
		for range n {
			r := &kgo.Record{Topic: topic, Partition: p, Value: []byte("x")}
			if err := cl.ProduceSync(f.ctx(), r).FirstErr(); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	cl.Close()
}

// commit commits one offset on every partition of a topic for a group without
// members.
func (f *fakeKafka) commit(group, topic string, parts int32, at int64) {
	f.t.Helper()
	os := kadm.Offsets{}
	for p := range parts {
		os.AddOffset(topic, p, at, -1)
	}
	if err := kadm.NewClient(f.admin).CommitAllOffsets(f.ctx(), group, os); err != nil {
		f.t.Fatal(err)
	}
}

// member joins a classic group and keeps polling until its client is closed.
func (f *fakeKafka) member(group, topic string, opts ...kgo.Opt) *kgo.Client {
	f.t.Helper()
	cl := f.kgo(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.FetchMaxWait(time.Second)}, opts...)...)
	go func() {
		for {
			if cl.PollFetches(context.Background()).IsClientClosed() {
				return
			}
		}
	}()
	return cl
}

func (f *fakeKafka) waitStable(group string, members int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx(), 2*time.Minute)
	defer cancel()
	if _, err := f.c.WaitGroupStable(ctx, group, members); err != nil {
		f.t.Fatalf("group %s did not become stable: %v", group, err)
	}
}

// sweep looks at everything.
func (f *fakeKafka) sweep() *sweep {
	f.t.Helper()
	s, err := f.k.sweepAll(f.ctx(), nil, everything(), clock(nil))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// offsetsLog creates the offsets topic and returns a writer for it.
func (f *fakeKafka) offsetsLog(parts int32) *offsetsLog {
	f.t.Helper()
	err := f.c.CreateTopic(offsetsTopic, parts, map[string]string{"cleanup.policy": "compact", "kfake.is_internal": "true"})
	if err != nil {
		f.t.Fatal(err)
	}
	cl := f.kgo(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.AllowAutoTopicCreation())
	return &offsetsLog{f: f, cl: cl, parts: parts}
}

// offsetsLog writes what coordinators write.
type offsetsLog struct {
	f     *fakeKafka
	cl    *kgo.Client
	parts int32
}

func (l *offsetsLog) write(group string, at time.Time, key, value []byte) {
	l.f.t.Helper()
	r := &kgo.Record{Topic: offsetsTopic, Partition: offsets.Partition(group, l.parts), Key: key, Value: value, Timestamp: at}
	if err := l.cl.ProduceSync(l.f.ctx(), r).FirstErr(); err != nil {
		l.f.t.Fatal(err)
	}
}

// record writes a GroupMetadata record: the named members, each with one
// partition of topic "t".
func (l *offsetsLog) record(group string, at time.Time, generation int32, members ...string) {
	k := kmsg.NewGroupMetadataKey()
	k.Version, k.Group = 2, group
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.ProtocolType, v.Generation = 3, "consumer", generation
	v.Protocol, v.CurrentStateTimestamp = kmsg.StringPtr("range"), at.UnixMilli()
	for i, id := range members {
		a := kmsg.NewConsumerMemberAssignment()
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic, t.Partitions = "t", []int32{int32(i)}
		a.Topics = append(a.Topics, t)
		m := kmsg.NewGroupMetadataValueMember()
		m.MemberID, m.ClientID, m.ClientHost = id, "client-"+id, "/10.0.0.1"
		m.RebalanceTimeoutMillis, m.SessionTimeoutMillis = 300000, 45000
		m.Assignment = a.AppendTo(nil)
		v.Members = append(v.Members, m)
	}
	l.write(group, at, k.AppendTo(nil), v.AppendTo(nil))
}

// commits writes n offset commits of a group, evenly over the span.
func (l *offsetsLog) commits(group string, from, to time.Time, n int) {
	for i := range n {
		at := from.Add(to.Sub(from) * time.Duration(i) / time.Duration(n))
		k := kmsg.NewOffsetCommitKey()
		k.Version, k.Group, k.Topic, k.Partition = 1, group, "t", int32(i%2)
		v := kmsg.NewOffsetCommitValue()
		v.Version, v.Offset, v.CommitTimestamp = 3, int64(i), at.UnixMilli()
		l.write(group, at, k.AppendTo(nil), v.AppendTo(nil))
	}
}

func tp(topic string, p int32) diagnose.TopicPartition {
	return diagnose.TopicPartition{Topic: topic, Partition: p}
}

func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("g%04d", i))
	}
	return out
}
