package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// driver plays many consumers with fetch sessions against one broker. Each has
// its own connections and client id, is a member of a classic group, fetches the
// partitions assigned to it, and keeps its session as a Java consumer does. It is
// honest demand: a census by membership and one by connections both see it.
type driver struct {
	c           *Cluster
	topic       topicView
	groups      []string
	perGroup    int
	vary        bool          // leave a changing half of the partitions out, as Java clients before 4.0 do with buffered ones
	every       time.Duration // between the fetches of one client
	duplicate   int           // one in so many fetches is sent twice; 0: none
	fetches     atomic.Int64
	fulls       atomic.Int64
	refused     atomic.Int64 // full fetches answered without a session
	notFound    atomic.Int64 // error 70
	epochErrors atomic.Int64 // error 71
	otherError  atomic.Int64
	wg          sync.WaitGroup
	cancel      context.CancelFunc
}

// playedBy is the software name on the driver's connections. It is not a Java
// client and does not say so.
const playedBy = "kafka-lab-consumer"

// start launches every client; they are up when the groups are stable.
func (d *driver) start(ctx context.Context) error {
	ctx, d.cancel = context.WithCancel(ctx)
	for g, group := range d.groups {
		for i := range d.perGroup {
			if err := d.launch(ctx, group, fmt.Sprintf("%s-%d", group, i+1), uint64(g*d.perGroup+i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) launch(ctx context.Context, group, clientID string, seed uint64) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.c.Info().Brokers[0].Kafka), kgo.ClientID(clientID),
		kgo.SoftwareNameAndVersion(playedBy, "1"), kgo.DisableFetchSessions(), kgo.RetryTimeout(5*time.Second))
	if err != nil {
		return fmt.Errorf("client %s: %w", clientID, err)
	}
	p := &player{d: d, cl: cl, rng: rand.New(rand.NewPCG(seed, 1))}
	m := &rawMember{cl: cl, group: group, topic: d.topic.Topic, partitions: len(d.topic.Partitions),
		session: 30 * time.Second, rebalance: time.Minute, onAssign: p.assigned}
	p.member = m
	d.wg.Add(2)
	go func() { defer d.wg.Done(); _ = m.run(ctx); p.left.Store(true) }()
	go func() { defer d.wg.Done(); p.fetchLoop(ctx); p.drain(); cl.Close() }()
	return nil
}

func (d *driver) clients() int { return len(d.groups) * d.perGroup }

// slice is a set of partitions as large as every client's.
func (d *driver) slice(i int) []int32 {
	n := len(d.topic.Partitions) / cachePerMember
	out := make([]int32, cachePerMember)
	for k := range out {
		out[k] = int32(i%max(n, 1)*cachePerMember + k)
	}
	return out
}

// stop lets every client leave its group and close its session.
func (d *driver) stop() {
	if d.cancel != nil {
		d.cancel()
	}
	d.wg.Wait()
}

// player is one client of the driver.
type player struct {
	d      *driver
	cl     *kgo.Client
	member *rawMember
	rng    *rand.Rand
	left   atomic.Bool

	replica int32 // plays this broker's fetcher; 0: a consumer
	fetched int

	mu   sync.Mutex
	mine []int32

	session fetchSession
}

func (p *player) assigned(parts []int32) {
	p.mu.Lock()
	changed := !slices.Equal(p.mine, parts)
	p.mine = parts
	p.mu.Unlock()
	if changed && len(parts) > 0 {
		_ = p.member.commit(context.Background(), p.d.topic.ID, parts)
	}
}

// want is what to fetch now: all of it, or a random half to all of it.
func (p *player) want() []int32 {
	p.mu.Lock()
	all := slices.Clone(p.mine)
	p.mu.Unlock()
	if !p.d.vary || len(all) < 2 {
		return all
	}
	p.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	low := len(all) / 2
	all = all[:low+p.rng.IntN(len(all)-low+1)]
	slices.Sort(all)
	return all
}

func (p *player) fetchLoop(ctx context.Context) {
	if sleep(ctx, time.Duration(p.rng.Int64N(int64(p.d.every)))) != nil {
		return
	}
	for sleep(ctx, p.d.every) == nil {
		if want := p.want(); len(want) > 0 {
			p.fetch(ctx, want)
		}
	}
}

// fetch is one request and its answer. The end of the run does not cut it short: a
// session whose id never arrived could not be closed, and would stay in the cache.
func (p *player) fetch(ctx context.Context, want []int32) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	plan := p.session.next(want)
	resp, err := p.ask(ctx, plan)
	if err != nil {
		p.session.broken()
		p.d.otherError.Add(1)
		return
	}
	p.count(plan, resp)
	p.session.answered(resp.ErrorCode, resp.SessionID, want)
}

func (p *player) ask(ctx context.Context, plan fetchPlan) (*kmsg.FetchResponse, error) {
	p.fetched++
	if n := p.d.duplicate; n > 0 && !plan.full() && p.fetched%n == 0 {
		return p.twice(ctx, plan)
	}
	return p.request(plan).RequestWith(ctx, p.cl.Broker(p.d.c.Info().Brokers[0].ID))
}

func (p *player) count(plan fetchPlan, resp *kmsg.FetchResponse) {
	p.d.fetches.Add(1)
	if plan.full() {
		p.d.fulls.Add(1)
		if resp.ErrorCode == 0 && resp.SessionID == 0 {
			p.d.refused.Add(1)
		}
	}
	switch resp.ErrorCode {
	case 0:
	case kerr.FetchSessionIDNotFound.Code:
		p.d.notFound.Add(1)
	case kerr.InvalidFetchSessionEpoch.Code:
		p.d.epochErrors.Add(1)
	default:
		p.d.otherError.Add(1)
	}
}

func (p *player) request(plan fetchPlan) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID = -1
	if p.replica != 0 { // from version 15 on in a field of its own
		req.ReplicaID, req.ReplicaState.ID = p.replica, p.replica
	}
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 100, 1, 1<<20
	req.SessionID, req.SessionEpoch = plan.id, plan.epoch
	if len(plan.add) > 0 {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = p.d.topic.Topic, p.d.topic.ID
		for _, part := range plan.add {
			tp := kmsg.NewFetchRequestTopicPartition()
			tp.Partition, tp.CurrentLeaderEpoch, tp.LastFetchedEpoch = part, -1, -1
			tp.LogStartOffset, tp.PartitionMaxBytes = -1, 1<<16
			t.Partitions = append(t.Partitions, tp)
		}
		req.Topics = append(req.Topics, t)
	}
	if len(plan.forget) > 0 {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.TopicID, f.Partitions = p.d.topic.Topic, p.d.topic.ID, plan.forget
		req.ForgottenTopics = append(req.ForgottenTopics, f)
	}
	return req
}

// drain closes the session (id, -1) and waits for the member to have left.
func (p *player) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	p.end(ctx)
	_ = poll(ctx, 20*time.Millisecond, "the member to leave", func(context.Context) (bool, error) { return p.left.Load(), nil })
}
