package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// RunClient is the lab's franz-go consumers, with the options, commands and events
// of Client.java: args are --topic T [--prop key=value …] --member GROUP/CLIENTID …,
// commands come on in, events go to out. It returns at quit or at the end of input.
// franz-go has no timer on polls: a consumer that does not poll stays a member.
func RunClient(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	s, err := parseFranz(args)
	if err != nil {
		return err
	}
	s.out = out
	members := map[string]*franzMember{}
	for _, m := range s.members {
		i := strings.LastIndexByte(m, '/')
		f := &franzMember{s: s, group: m[:max(i, 0)], clientID: m[i+1:]}
		if err := f.start(ctx); err != nil {
			return err
		}
		members[f.clientID] = f
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() && lines.Text() != "quit" {
		s.command(members, strings.Fields(lines.Text()))
	}
	var wg sync.WaitGroup
	for _, m := range members {
		wg.Go(m.close)
	}
	wg.Wait()
	return lines.Err()
}

// franzSpec is the command line.
type franzSpec struct {
	topic   string
	props   map[string]string
	members []string

	mu  sync.Mutex
	out io.Writer
}

func parseFranz(args []string) (*franzSpec, error) {
	s := &franzSpec{props: map[string]string{}}
	for pair := range slices.Chunk(args, 2) {
		if len(pair) < 2 {
			return nil, fmt.Errorf("option %s: has no value", pair[0])
		}
		switch pair[0] {
		case "--topic":
			s.topic = pair[1]
		case "--member":
			s.members = append(s.members, pair[1])
		case "--prop":
			k, v, _ := strings.Cut(pair[1], "=")
			s.props[k] = v
		default:
			return nil, fmt.Errorf("unknown option %s", pair[0])
		}
	}
	return s, nil
}

// millis reads a duration property; def if it is not there.
func (s *franzSpec) millis(key string, def time.Duration) time.Duration {
	n, err := strconv.ParseInt(s.props[key], 10, 64)
	if err != nil {
		return def
	}
	return time.Duration(n) * time.Millisecond
}

func (s *franzSpec) command(members map[string]*franzMember, words []string) {
	if len(words) < 2 || members[words[1]] == nil {
		return
	}
	m := members[words[1]]
	var d time.Duration
	if len(words) > 2 {
		n, _ := strconv.ParseInt(words[2], 10, 64)
		d = time.Duration(n) * time.Millisecond
	}
	switch words[0] {
	case "stall":
		m.stall.Store(int64(d))
	case "slow":
		m.slow.Store(int64(d))
	case "block":
		m.block.Store(int64(d))
	case "close":
		m.close()
	}
}

func (s *franzSpec) say(e clientEvent) {
	e.T = time.Now().UnixMilli()
	b, err := json.Marshal(e)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(b, '\n'))
}

// franzMember is one consumer.
type franzMember struct {
	s                  *franzSpec
	group, clientID    string
	cl                 *kgo.Client
	stall, slow, block atomic.Int64
	once               sync.Once
}

func (m *franzMember) start(ctx context.Context) error {
	if m.s.props["group.protocol"] == "consumer" {
		ctx = context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true) //nolint:staticcheck // the key franz-go asks for
	}
	cl, err := kgo.NewClient(append(m.options(ctx), m.callbacks()...)...)
	if err != nil {
		return fmt.Errorf("client %s: %w", m.clientID, err)
	}
	m.cl = cl
	m.say("started", nil)
	go m.loop(ctx)
	return nil
}

func (m *franzMember) options(ctx context.Context) []kgo.Opt {
	p := m.s.props
	opts := []kgo.Opt{
		kgo.WithContext(ctx), kgo.SeedBrokers(strings.Split(p["bootstrap.servers"], ",")...), kgo.ClientID(m.clientID),
		kgo.ConsumerGroup(m.group), kgo.ConsumeTopics(m.s.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.AutoCommitInterval(m.s.millis("auto.commit.interval.ms", 5*time.Second)),
		kgo.RebalanceTimeout(m.s.millis("max.poll.interval.ms", time.Minute)), kgo.MetadataMaxAge(m.s.millis("metadata.max.age.ms", time.Minute)),
	}
	if p["group.protocol"] != "consumer" {
		opts = append(opts, kgo.SessionTimeout(m.s.millis("session.timeout.ms", 45*time.Second)), kgo.HeartbeatInterval(m.s.millis("heartbeat.interval.ms", 3*time.Second)))
	}
	if id := p["group.instance.id"]; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	return opts
}

func (m *franzMember) callbacks() []kgo.Opt {
	return []kgo.Opt{
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.say("assigned", ps[m.s.topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.say("lost", ps[m.s.topic]) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, ps map[string][]int32) {
			m.say("revoked", ps[m.s.topic])
			if len(ps) == 0 {
				return
			}
			if d := m.block.Swap(0); d > 0 {
				m.say("block", nil)
				_ = sleep(ctx, time.Duration(d))
				m.say("block_over", nil)
			}
			_ = cl.CommitUncommittedOffsets(ctx)
		}),
	}
}

func (m *franzMember) loop(ctx context.Context) {
	for {
		fs := m.cl.PollFetches(ctx)
		if fs.IsClientClosed() || ctx.Err() != nil {
			return
		}
		fs.EachError(func(_ string, _ int32, err error) {
			if !errors.Is(err, kerr.UnknownMemberID) {
				m.s.say(clientEvent{Event: "error", Group: m.group, ClientID: m.clientID, Text: err.Error()})
			}
		})
		_ = sleep(ctx, time.Duration(m.slow.Load()))
		if d := m.stall.Swap(0); d > 0 {
			m.say("stall", nil)
			_ = sleep(ctx, time.Duration(d))
			m.say("stall_over", nil)
		}
	}
}

func (m *franzMember) say(event string, partitions []int32) {
	id := ""
	if m.cl != nil {
		id, _ = m.cl.GroupMetadata()
	}
	m.s.say(clientEvent{Event: event, Group: m.group, ClientID: m.clientID, MemberID: id, Partitions: partitions})
}

// close leaves the group. Static members stay, as franz-go has them do.
func (m *franzMember) close() {
	m.once.Do(func() { m.cl.Close(); m.say("closed", nil) })
}
