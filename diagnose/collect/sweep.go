package collect

import (
	"context"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// A sweep looks at all groups of a cluster with a number of requests that does
// not depend on the number of groups: to each broker one each of ListGroups,
// DescribeGroups, ConsumerGroupDescribe, OffsetFetch and ListOffsets, and one
// Metadata. The broker that lists a group is its coordinator, so nobody has to
// be asked for it. The end offsets come after the commits, so that lag is never
// negative by order of reading.

// chunk is the largest number of groups in one request. An OffsetFetch answer
// for 2,000 groups with 12 partitions each is about 0.5 MB; a broker with more
// than this many groups gets another request.
const chunk = 5000

// sweepWant says what to read of which groups.
type sweepWant struct {
	// describe picks the listed groups to describe; nil = all.
	describe func(listedGroup) bool
	// offsets picks the groups whose lag is read; nil = none.
	offsets func(listedGroup) bool
}

// everything describes all groups and reads their lag.
func everything() sweepWant {
	return sweepWant{offsets: func(listedGroup) bool { return true }}
}

// listedGroup is a group as its coordinator lists it.
type listedGroup struct {
	id           string
	coordinator  int32
	protocolType string
	// state is empty for brokers before Kafka 2.6.
	state string
	// protocol is "classic", "consumer", "share" or "streams"; empty for
	// brokers before Kafka 3.8.
	protocol string
}

// sweep is the result: what was listed, what was described, and how each
// broker answered.
type sweep struct {
	at      time.Time
	topo    *topology
	brokers []brokerSweep // by id
	groups  map[string]*groupLook
	// requests is the number of requests that it took, retries left out.
	requests int
}

// brokerSweep is how one broker answered as a coordinator.
type brokerSweep struct {
	id     int32
	list   diagnose.Reading
	lists  []listedGroup
	listed time.Time
	raw    rawAnswers
	// requests is the number sent to this broker, ListOffsets left out.
	requests int
}

// rawAnswers are kept until the topic names are known.
type rawAnswers struct {
	described []*kmsg.DescribeGroupsResponse
	consumer  []*kmsg.ConsumerGroupDescribeResponse
	offsets   []*kmsg.OffsetFetchResponse
	// failed holds the failure of a whole request, by the groups it was for.
	describeFailed map[string]error
	offsetsFailed  map[string]error
	describedAt    time.Time
}

// groupLook is one group as one sweep saw it.
type groupLook struct {
	listedGroup
	// reading is how describing it went; skipped when it was not asked for.
	reading  diagnose.Reading
	snapshot diagnose.GroupSnapshot
	commits  []committed
	lag      diagnose.LagPoint
	// lagReading is skipped when lag was not asked for.
	lagReading diagnose.Reading
	// hidden names topics that are assigned but may not be seen.
	hidden []string
}

type committed struct {
	diagnose.TopicPartition
	offset int64
}

// sweepAll reads topology and groups. With a topology that is still known from
// an earlier sweep, lists and metadata travel at the same time.
func (k *Kafka) sweepAll(ctx context.Context, known *topology, want sweepWant, now func() time.Time) (*sweep, error) {
	if known == nil {
		topo, err := k.readTopology(ctx, now())
		if err != nil {
			return nil, err
		}
		s := k.sweepGroups(ctx, topo, want, now)
		s.requests++
		return s, nil
	}
	var fresh *topology
	var err error
	s := k.collectBrokers(ctx, known.ids(), want, now, func() { fresh, err = k.readTopology(ctx, now()) })
	if err != nil {
		return nil, err
	}
	s.topo = fresh
	s.requests++
	s.addBrokers(k.collectBrokers(ctx, missing(fresh.ids(), known.ids()), want, now, nil))
	k.finish(ctx, s, want, now)
	return s, nil
}

// sweepGroups reads groups with a topology that was just read.
func (k *Kafka) sweepGroups(ctx context.Context, topo *topology, want sweepWant, now func() time.Time) *sweep {
	s := k.collectBrokers(ctx, topo.ids(), want, now, nil)
	s.topo = topo
	k.finish(ctx, s, want, now)
	return s
}

// collectBrokers asks all coordinators at once, and does beside in the meantime.
func (k *Kafka) collectBrokers(ctx context.Context, ids []int32, want sweepWant, now func() time.Time, beside func()) *sweep {
	s := &sweep{at: now(), brokers: make([]brokerSweep, len(ids)), groups: map[string]*groupLook{}}
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { s.brokers[i] = k.sweepBroker(ctx, id, want, now) })
	}
	if beside != nil {
		wg.Go(beside)
	}
	wg.Wait()
	return s
}

func (s *sweep) addBrokers(more *sweep) {
	s.brokers = append(s.brokers, more.brokers...)
	sort.Slice(s.brokers, func(i, j int) bool { return s.brokers[i].id < s.brokers[j].id })
}

// finish decodes the answers and reads the end offsets.
func (k *Kafka) finish(ctx context.Context, s *sweep, want sweepWant, now func() time.Time) {
	for i := range s.brokers {
		s.merge(&s.brokers[i])
		s.brokers[i].raw = rawAnswers{}
		s.requests += s.brokers[i].requests
	}
	if want.offsets != nil {
		k.readLag(ctx, s, now)
	}
}

// sweepBroker asks one coordinator: list, then describe and fetch offsets at
// the same time.
func (k *Kafka) sweepBroker(ctx context.Context, id int32, want sweepWant, now func() time.Time) brokerSweep {
	b := brokerSweep{id: id, requests: 1}
	start := now()
	resp, err := k.c.ListGroups(ctx, id)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	b.listed = now()
	if err != nil {
		b.list = took(kafkaFailure(err, "Describe on the groups").reading("kafka: ListGroups", b.listed), start, b.listed)
		return b
	}
	b.list = took(ok("kafka: ListGroups", b.listed), start, b.listed)
	b.lists = listed(id, resp)
	k.askCoordinator(ctx, &b, want, now)
	return b
}

func listed(broker int32, resp *kmsg.ListGroupsResponse) []listedGroup {
	out := make([]listedGroup, 0, len(resp.Groups))
	for _, g := range resp.Groups {
		out = append(out, listedGroup{
			id: g.Group, coordinator: broker, protocolType: g.ProtocolType,
			state: g.GroupState, protocol: strings.ToLower(g.GroupType),
		})
	}
	return out
}

// askCoordinator sends the requests that follow from a list.
func (k *Kafka) askCoordinator(ctx context.Context, b *brokerSweep, want sweepWant, now func() time.Time) {
	var classic, consumer, offsets []string
	for _, g := range b.lists {
		if g.protocol == "share" || g.protocol == "streams" {
			continue
		}
		if want.describe == nil || want.describe(g) {
			if g.protocol == "consumer" {
				consumer = append(consumer, g.id)
			} else {
				classic = append(classic, g.id)
			}
		}
		if want.offsets != nil && want.offsets(g) {
			offsets = append(offsets, g.id)
		}
	}
	b.requests += chunks(classic) + chunks(consumer) + chunks(offsets)
	raw := &b.raw
	raw.describeFailed, raw.offsetsFailed = map[string]error{}, map[string]error{}
	var wg sync.WaitGroup
	var mu sync.Mutex // describeFailed is shared by two of them
	wg.Go(func() {
		raw.described = inChunks(classic, raw.describeFailed, &mu, func(gs []string) (*kmsg.DescribeGroupsResponse, error) {
			return k.c.DescribeGroups(ctx, b.id, gs)
		})
	})
	wg.Go(func() {
		raw.consumer = inChunks(consumer, raw.describeFailed, &mu, func(gs []string) (*kmsg.ConsumerGroupDescribeResponse, error) {
			return k.c.ConsumerGroupDescribe(ctx, b.id, gs)
		})
	})
	wg.Go(func() { raw.offsets = k.fetchOffsets(ctx, b.id, offsets, raw.offsetsFailed, now) })
	wg.Wait()
	raw.describedAt = now()
}

// inChunks asks for at most chunk groups at a time and notes the groups of a
// request that failed as a whole.
func inChunks[R any](groups []string, failed map[string]error, mu *sync.Mutex, ask func([]string) (R, error)) []R {
	var out []R
	for len(groups) > 0 {
		n := min(chunk, len(groups))
		resp, err := ask(groups[:n])
		if err != nil {
			mu.Lock()
			for _, g := range groups[:n] {
				failed[g] = err
			}
			mu.Unlock()
		} else {
			out = append(out, resp)
		}
		groups = groups[n:]
	}
	return out
}

// chunks is the number of requests that inChunks makes.
func chunks(groups []string) int { return (len(groups) + chunk - 1) / chunk }

// batchedOffsets is the OffsetFetch version that takes many groups (Kafka 3.0).
const batchedOffsets = 8

// oldOffsetsAtOnce bounds the requests in flight to a broker that takes one
// group at a time.
const oldOffsetsAtOnce = 8

// fetchOffsets reads the commits of all groups of one coordinator.
func (k *Kafka) fetchOffsets(ctx context.Context, broker int32, groups []string, failed map[string]error, now func() time.Time) []*kmsg.OffsetFetchResponse {
	if len(groups) == 0 {
		return nil
	}
	var mu sync.Mutex
	versions, err := k.c.MaxVersions(ctx, broker, now())
	if err != nil {
		for _, g := range groups {
			failed[g] = err
		}
		return nil
	}
	if versions[kmsg.OffsetFetch.Int16()] >= batchedOffsets {
		return inChunks(groups, failed, &mu, func(gs []string) (*kmsg.OffsetFetchResponse, error) {
			return k.c.OffsetFetch(ctx, broker, gs)
		})
	}
	var out []*kmsg.OffsetFetchResponse
	var wg sync.WaitGroup
	slots := make(chan struct{}, oldOffsetsAtOnce)
	for _, g := range groups {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			resp, err := k.c.OffsetFetchOne(ctx, broker, g)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[g] = err
				return
			}
			out = append(out, asBatch(g, resp))
		})
	}
	wg.Wait()
	return out
}

// asBatch gives an answer for one group the shape of an answer for many.
func asBatch(group string, resp *kmsg.OffsetFetchResponse) *kmsg.OffsetFetchResponse {
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = group, resp.ErrorCode
	for _, t := range resp.Topics {
		gt := kmsg.NewOffsetFetchResponseGroupTopic()
		gt.Topic = t.Topic
		for _, p := range t.Partitions {
			gp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			gp.Partition, gp.Offset, gp.ErrorCode = p.Partition, p.Offset, p.ErrorCode
			gt.Partitions = append(gt.Partitions, gp)
		}
		g.Topics = append(g.Topics, gt)
	}
	out := kmsg.NewPtrOffsetFetchResponse()
	out.Groups = append(out.Groups, g)
	return out
}

// missing returns the ids of a that are not in b.
func missing(a, b []int32) []int32 {
	have := map[int32]bool{}
	for _, id := range b {
		have[id] = true
	}
	var out []int32
	for _, id := range a {
		if !have[id] {
			out = append(out, id)
		}
	}
	return out
}
