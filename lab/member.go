package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawMember is a member of a classic group made of plain requests, so that it can
// do what no client library would: take part without fetching, or never sync.
type rawMember struct {
	cl                 *kgo.Client
	group, topic       string
	partitions         int // of the topic; needed when this member leads
	session, rebalance time.Duration
	// neverSync joins and heartbeats, but sends no SyncGroup until the broker
	// has thrown it out (the join/sync race).
	neverSync bool
	// sick, once closed, makes the member rejoin and sync no more; it heartbeats on
	// until shortly before the broker drops it, and then falls silent for good.
	sick <-chan struct{}
	// onAssign hears of every assignment.
	onAssign func([]int32)
	// onEvent hears of what happens, for the timeline.
	onEvent func(text string)

	id         string
	generation int32
}

// errSyncRefused says that the late SyncGroup was answered with an error: the
// member's membership had been taken away meanwhile.
var errSyncRefused = errors.New("the broker refused the late SyncGroup")

// errSick ends a member that was told to be sick.
var errSick = errors.New("sick, and silent for good")

// run keeps the membership up until ctx ends, then leaves.
func (m *rawMember) run(ctx context.Context) error {
	defer m.leave(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		err := m.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errSyncRefused), errors.Is(err, errSick):
			return nil
		case errors.Is(err, kerr.RebalanceInProgress):
		case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.FencedInstanceID):
			m.id = ""
		case errors.Is(err, kerr.IllegalGeneration):
		default:
			if err := sleep(ctx, time.Second); err != nil {
				return nil
			}
		}
	}
	return nil
}

// round is one generation: join, sync, heartbeat until the broker says otherwise.
func (m *rawMember) round(ctx context.Context) error {
	resp, err := m.join(ctx)
	if err != nil {
		return err
	}
	m.id, m.generation = resp.MemberID, resp.Generation
	if m.neverSync {
		m.tell(fmt.Sprintf("joined generation %d as %s and does not sync", m.generation, m.id))
		return m.withholdSync(ctx)
	}
	if m.ill() {
		return m.playSick(ctx)
	}
	mine, err := m.sync(ctx, resp)
	if err != nil {
		return err
	}
	m.onAssign(mine)
	return m.beat(ctx)
}

func (m *rawMember) tell(text string) {
	if m.onEvent != nil {
		m.onEvent(text)
	}
}

func (m *rawMember) join(ctx context.Context) (*kmsg.JoinGroupResponse, error) {
	for {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = m.group, m.id, "consumer"
		req.SessionTimeoutMillis = int32(m.session.Milliseconds())
		req.RebalanceTimeoutMillis = int32(m.rebalance.Milliseconds())
		p := kmsg.NewJoinGroupRequestProtocol()
		meta := kmsg.NewConsumerMemberMetadata()
		meta.Topics = []string{m.topic}
		p.Name, p.Metadata = "range", meta.AppendTo(nil)
		req.Protocols = append(req.Protocols, p)
		resp, err := req.RequestWith(ctx, m.cl)
		if err != nil {
			return nil, fmt.Errorf("joining %s: %w", m.group, err)
		}
		err = kerr.ErrorForCode(resp.ErrorCode)
		if errors.Is(err, kerr.MemberIDRequired) {
			m.id = resp.MemberID
			continue
		}
		return resp, err
	}
}

func (m *rawMember) sync(ctx context.Context, joined *kmsg.JoinGroupResponse) ([]int32, error) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), joined.Protocol
	if joined.LeaderID == m.id {
		req.GroupAssignment = m.assign(joined.Members)
	}
	resp, err := req.RequestWith(ctx, m.cl)
	if err != nil {
		return nil, fmt.Errorf("syncing %s: %w", m.group, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(resp.MemberAssignment); err != nil {
		return nil, fmt.Errorf("reading the assignment in %s: %w", m.group, err)
	}
	var mine []int32
	for _, t := range a.Topics {
		mine = append(mine, t.Partitions...)
	}
	slices.Sort(mine)
	return mine, nil
}

// assign is the leader's work: neighbouring ranges, as the range assignor does.
func (m *rawMember) assign(members []kmsg.JoinGroupResponseMember) []kmsg.SyncGroupRequestGroupAssignment {
	var ids []string
	for _, x := range members {
		ids = append(ids, x.MemberID)
	}
	slices.Sort(ids)
	var out []kmsg.SyncGroupRequestGroupAssignment
	for i, id := range ids {
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic = m.topic
		for p := m.partitions * i / len(ids); p < m.partitions*(i+1)/len(ids); p++ {
			t.Partitions = append(t.Partitions, int32(p))
		}
		a := kmsg.NewConsumerMemberAssignment()
		a.Topics = append(a.Topics, t)
		g := kmsg.NewSyncGroupRequestGroupAssignment()
		g.MemberID, g.MemberAssignment = id, a.AppendTo(nil)
		out = append(out, g)
	}
	return out
}

func (m *rawMember) heartbeat(ctx context.Context) error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	resp, err := req.RequestWith(ctx, m.cl)
	if err != nil {
		return fmt.Errorf("heartbeat in %s: %w", m.group, err)
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

func (m *rawMember) ill() bool {
	select {
	case <-m.sick:
		return m.sick != nil
	default:
		return false
	}
}

// playSick heartbeats without syncing. The others' patience ends after a session
// timeout and they rejoin; the broker waits one rebalance timeout for this member.
func (m *rawMember) playSick(ctx context.Context) error {
	defer func() { m.id = "" }() // nothing to leave
	var until time.Time
	for until.IsZero() || time.Now().Before(until) {
		if err := sleep(ctx, m.session/3); err != nil {
			return err
		}
		err := m.heartbeat(ctx)
		if errors.Is(err, kerr.RebalanceInProgress) && until.IsZero() {
			until = time.Now().Add(m.rebalance - m.session/2)
		}
		if errors.Is(err, kerr.UnknownMemberID) {
			break
		}
	}
	return errSick
}

// beat sends heartbeats at a third of the session timeout until one is refused.
func (m *rawMember) beat(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.sick:
			return kerr.RebalanceInProgress
		case <-time.After(m.session / 3):
		}
		if err := m.heartbeat(ctx); err != nil {
			return err
		}
	}
}

// withholdSync heartbeats without syncing until the broker no longer knows the
// member, and then sends the SyncGroup it owed, as a late client would.
func (m *rawMember) withholdSync(ctx context.Context) error {
	err := m.beat(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.tell(fmt.Sprintf("heartbeat answered: %v", err))
	if !errors.Is(err, kerr.UnknownMemberID) {
		return err
	}
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	resp, err := req.RequestWith(ctx, m.cl)
	if err != nil {
		return fmt.Errorf("late sync in %s: %w", m.group, err)
	}
	m.tell(fmt.Sprintf("late SyncGroup answered: %v", kerr.ErrorForCode(resp.ErrorCode)))
	m.id = "" // nothing left to leave
	return errSyncRefused
}

// commit writes one offset for each partition, as a consumer of a silent topic
// has done at some time; without it the group would have no lag at all to show.
func (m *rawMember) commit(ctx context.Context, topicID [16]byte, partitions []int32) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = m.topic, topicID
	for _, p := range partitions {
		tp := kmsg.NewOffsetCommitRequestTopicPartition()
		tp.Partition = p
		t.Partitions = append(t.Partitions, tp)
	}
	req.Topics = append(req.Topics, t)
	_, err := req.RequestWith(ctx, m.cl)
	return err
}

func (m *rawMember) leave(ctx context.Context) {
	if m.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, m.id
	x := kmsg.NewLeaveGroupRequestMember()
	x.MemberID, x.Reason = m.id, kmsg.StringPtr("the consumer is being closed")
	req.Members = append(req.Members, x)
	_, _ = req.RequestWith(ctx, m.cl)
}

// sleep waits for d or the end of ctx, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
