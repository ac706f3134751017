package lab

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// playProcessReplaced kills a process and starts its successor, which has the same
// client id, at once: the group lists both until the dead one's session is over.
func playProcessReplaced(ctx context.Context, r *run) error {
	// On a busy machine a successor takes more than the lab's short session to start,
	// and comes when the old one is out: that would be a process that is gone.
	if r.p.Session == 0 && r.p.Protocol == "classic" {
		r.p.Session, r.p.MaxPoll = 2*sessionTimeout, max(r.p.MaxPoll, 2*maxPollInterval)
	}
	if r.p.How == "streams" {
		return r.replaceLikeStreams(ctx)
	}
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	m := r.victim(k, "a")
	if err := k.clients["a"].kill(ctx); err != nil {
		return err
	}
	r.at(EventFault, "process of %s killed", m.ClientID)
	if err := r.startMember(k, "a", "a-new"); err != nil {
		return err
	}
	if err := r.waitDropped(ctx, k, m.MemberID, r.p.timeouts().session+24*time.Second); err != nil {
		return err
	}
	if !r.watch.succeeded(m) {
		return fmt.Errorf("the successor of %s came when it was out: that is a process that is gone; a longer session gives it time to start", m.ClientID)
	}
	r.at(EventEffect, "member %s is out of the group", m.MemberID)
	if err := r.waitReturn(ctx, k, m.ClientID); err != nil {
		return err
	}
	return sleep(ctx, 5*time.Second)
}

// replaceLikeStreams closes one consumer after the other as Kafka Streams does,
// without LeaveGroup, and starts its successor.
func (r *run) replaceLikeStreams(ctx context.Context) error {
	roles := []string{"a", "b", "c"}
	k, err := r.startCastWith(ctx, []string{"internal.leave.group.on.close=false"}, roles...)
	if err != nil {
		return err
	}
	m := r.victim(k, roles[0])
	for i, role := range roles {
		old, _ := r.c.describe(ctx, r.p.Protocol, k.group).byClient(k.clientID(role))
		if err := k.clients[role].abandon(ctx, k.clientID(role)); err != nil {
			return err
		}
		if i == 0 {
			r.at(EventFault, "deploy begins: %s closed without leaving", m.ClientID)
		} else {
			r.note("%s closed without leaving", k.clientID(role))
		}
		if err := r.startMember(k, role, role+"-new"); err != nil {
			return err
		}
		if err := r.waitDropped(ctx, k, old.MemberID, r.p.timeouts().session+24*time.Second); err != nil {
			return err
		}
		if i == 0 {
			r.at(EventEffect, "member %s is out of the group", old.MemberID)
		}
		if _, err := r.waitBack(ctx, k, k.clientID(role), len(roles)); err != nil {
			return err
		}
	}
	r.at(EventReturn, "all %d members replaced", len(roles))
	return sleep(ctx, 3*time.Second)
}

// abandon ends the process after a close that leaves the membership behind.
func (j *clientProc) abandon(ctx context.Context, clientID string) error {
	if err := j.tell("abandon %s", clientID); err != nil {
		return err
	}
	err := poll(ctx, 50*time.Millisecond, "the close of "+clientID, func(context.Context) (bool, error) { return j.said("closed"), nil })
	if err != nil {
		return err
	}
	return j.close(ctx)
}

// playRebalanceTimeout lets a third member join while one of the first two hangs
// in its revoke callback: the broker waits for the rebalance timeout, which is the
// client's max.poll.interval.ms, and goes on without it.
func playRebalanceTimeout(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	t := r.p.timeouts()
	m, away := r.victim(k, "a"), orDuration(r.p.Away, t.maxPoll+8*time.Second)
	r.t.Parameters["blocked_ms"] = away.Milliseconds()
	if err := k.clients["a"].tell("block %s %d", m.ClientID, away.Milliseconds()); err != nil {
		return err
	}
	if err := r.startMember(k, "c", "c"); err != nil {
		return err
	}
	blocked := func(context.Context) (bool, error) { return k.clients["a"].said("block"), nil }
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := poll(limited, 50*time.Millisecond, "a revocation at "+m.ClientID, blocked); err != nil {
		return err
	}
	r.at(EventFault, "%s joins; %s hangs in its revoke callback for %s", k.clientID("c"), m.ClientID, away)
	if err := r.waitDropped(ctx, k, m.MemberID, t.maxPoll+20*time.Second); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", m.MemberID)
	v, err := r.waitBack(ctx, k, m.ClientID, 3)
	if err != nil {
		return err
	}
	back, _ := v.byClient(m.ClientID)
	r.t.Subject.ReturnedAs = back.MemberID
	r.at(EventReturn, "%s is back as %s", m.ClientID, back.MemberID)
	return nil
}

// playSickLeader has a hand-made member lead two Java consumers. It rejoins, as a
// consumer whose subscription changed does, heartbeats on and never syncs: the
// others' heartbeats queue behind their SyncGroup, so they look guilty.
func playSickLeader(ctx context.Context, r *run) error {
	k := r.newCast()
	if err := r.c.CreateTopic(ctx, k.topic, groupPartitions, 3); err != nil {
		return err
	}
	stop := r.c.trickle(ctx, k.topic, groupPartitions, 500*time.Millisecond)
	r.undo(func(context.Context) error { stop(); return nil })
	l, err := r.startLeader(ctx, k)
	if err != nil {
		return err
	}
	if err := r.populate(ctx, k, 3, "a", "b"); err != nil {
		return err
	}
	r.t.Subject.ClientID, r.t.Subject.MemberID = k.clientID("leader"), l.memberID()
	r.at(EventFault, "%s, the leader, rejoins and does not sync", k.clientID("leader"))
	l.sicken()
	t := r.p.timeouts()
	if err := r.waitDropped(ctx, k, l.memberID(), 2*t.session+2*t.maxPoll); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", l.memberID())
	if _, err := r.waitBack(ctx, k, "", 2); err != nil {
		return err
	}
	return sleep(ctx, 5*time.Second)
}

// leader is a hand-made member that leads its group because it was there first.
type leader struct {
	m   *rawMember
	id  atomic.Pointer[string]
	ill chan struct{}
}

func (l *leader) memberID() string { return *l.id.Load() }
func (l *leader) sicken()          { close(l.ill) }

func (r *run) startLeader(ctx context.Context, k *cast) (*leader, error) {
	cl, err := r.rawClient(k.clientID("leader"))
	if err != nil {
		return nil, err
	}
	view, err := r.c.topic(ctx, k.topic)
	if err != nil {
		return nil, err
	}
	t := r.p.timeouts()
	l := &leader{ill: make(chan struct{})}
	first := make(chan struct{})
	l.m = &rawMember{cl: cl, group: k.group, topic: k.topic, partitions: groupPartitions, session: t.session, rebalance: t.maxPoll, sick: l.ill}
	l.m.onAssign = func(parts []int32) {
		id := l.m.id
		if l.id.Swap(&id) == nil {
			close(first)
		}
		_ = l.m.commit(ctx, view.ID, parts)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = l.m.run(ctx) }()
	r.undo(func(context.Context) error { cancel(); <-ended; cl.Close(); return nil })
	select {
	case <-first:
		return l, nil
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("the hand-made leader did not join within 30 s")
	}
}

func (r *run) rawClient(clientID string) (*kgo.Client, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.c.Info().Brokers[0].Kafka), kgo.ClientID(clientID),
		kgo.SoftwareNameAndVersion(playedBy, "1"), kgo.DisableFetchSessions(), kgo.RetryTimeout(5*time.Second))
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", clientID, err)
	}
	return cl, nil
}

// adminReason is what Java's removeMembersFromConsumerGroup sends by default.
const adminReason = "member was removed by an admin"

// playRemovedByAdmin throws every member out, as kafka-consumer-groups or a Java
// admin client does; they come back by themselves.
func playRemovedByAdmin(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = k.group
	for _, m := range k.before.Members {
		x := kmsg.NewLeaveGroupRequestMember()
		x.MemberID, x.InstanceID, x.Reason = m.MemberID, m.Instance, kmsg.StringPtr(adminReason)
		req.Members = append(req.Members, x)
	}
	r.at(EventFault, "an operator removes all %d members", len(req.Members))
	resp, err := req.RequestWith(ctx, r.c.client)
	if err != nil {
		return fmt.Errorf("removing the members of %s: %w", k.group, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return fmt.Errorf("removing the members of %s: %w", k.group, err)
	}
	r.at(EventEffect, "all members are out of the group")
	if _, err := r.waitBack(ctx, k, "", len(k.before.Members)); err != nil {
		return err
	}
	r.at(EventReturn, "all members are back")
	return sleep(ctx, 5*time.Second)
}

// strayCommits is how long somebody else commits; three reads of the commit log.
const strayCommits = 40 * time.Second

// playStrayCommits commits the group's offsets from outside, once a second, as a
// second application with the same group id and manual assignment does.
func playStrayCommits(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	cl, err := r.rawClient(k.group + "-reports")
	if err != nil {
		return err
	}
	defer cl.Close()
	view, err := r.c.topic(ctx, k.topic)
	if err != nil {
		return err
	}
	r.t.Subject.ClientID = k.group + "-reports"
	m := &rawMember{cl: cl, group: k.group, topic: k.topic, id: "reports-1", generation: 1}
	all := make([]int32, groupPartitions)
	for p := range all {
		all[p] = int32(p)
	}
	r.at(EventFault, "%s begins to commit", k.group+"-reports")
	begin, sent := time.Now(), 0
	for time.Since(begin) < strayCommits {
		if err := m.commit(ctx, view.ID, all); err != nil {
			return fmt.Errorf("committing from outside: %w", err)
		}
		if sent++; sent == 20 {
			r.at(EventEffect, "20 commits were refused")
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	r.t.Expected["offset_commit_25"] = float64(sent * groupPartitions)
	return nil
}

// playDuplicateStaticID starts a second process with a static member's id. Classic
// groups fence the first one; under KIP-848 the newcomer is refused.
func playDuplicateStaticID(ctx context.Context, r *run) error {
	r.p.Static = true
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	m, first := r.victim(k, "a"), k.clients["a"]
	r.at(EventFault, "a second process starts with group.instance.id %s", m.ClientID)
	if err := r.startMember(k, "a", "a-twin"); err != nil {
		return err
	}
	hit := first
	if r.p.Protocol == "consumer" {
		hit = k.clients["a"]
	}
	limited, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	fenced := func(context.Context) (bool, error) { return hit.said("failed"), nil }
	if err := poll(limited, 100*time.Millisecond, "one of the two to be fenced", fenced); err != nil {
		return err
	}
	if r.p.Protocol == "consumer" {
		r.at(EventEffect, "the newcomer was refused and ended")
	} else {
		r.at(EventEffect, "the first process was fenced and ended")
	}
	if _, err := r.waitBack(ctx, k, "", 2); err != nil {
		return err
	}
	return sleep(ctx, 10*time.Second)
}

// The rebalances of a storm.
const (
	stormRounds = 6
	stormEvery  = 8 * time.Second
)

// playRebalanceStorm makes the group rebalance again and again and evicts nobody:
// its topic gets a partition more each time, or one more member joins.
func playRebalanceStorm(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	members := 2
	for i := range stormRounds {
		if r.p.How == "scaling" {
			members++
			role := string(rune('c' + i))
			if err := r.startMember(k, role, role); err != nil {
				return err
			}
		} else if err := r.c.addPartitions(ctx, k.topic, groupPartitions+i+1); err != nil {
			return err
		}
		if r.p.How == "scaling" { // a round is over when the new member is in
			if _, err := r.waitBack(ctx, k, "", members); err != nil {
				return err
			}
		}
		r.t.Expected["rebalances"] = float64(i + 1)
		switch i {
		case 0:
			r.at(EventFault, "round 1 of %d (%s)", stormRounds, r.p.How)
		case 3:
			r.at(EventEffect, "three rounds are over")
		default:
			r.note("round %d", i+1)
		}
		if err := sleep(ctx, stormEvery); err != nil {
			return err
		}
		if members == groupPartitions { // one more would have nothing to do
			break
		}
	}
	_, err = r.waitBack(ctx, k, "", members)
	return err
}

// playUnreachable puts a proxy between one consumer and the brokers, and lets it
// fall silent: connections stay open, nothing gets through.
func playUnreachable(ctx context.Context, r *run) error {
	k := r.newCast()
	p, err := r.c.directProxy()
	if err != nil {
		return err
	}
	r.undo(func(context.Context) error { return p.close() })
	k.bootstrap = map[string]string{"a": p.bootstrap()}
	if err := r.bring(ctx, k, "a", "b"); err != nil {
		return err
	}
	m, away := r.victim(k, "a"), orDuration(r.p.Away, r.p.timeouts().session+4*time.Second)
	r.t.Parameters["silent_ms"] = away.Milliseconds()
	begin := time.Now()
	p.silence(true)
	r.at(EventFault, "nothing passes between %s and the brokers for %s", m.ClientID, away)
	if err := r.waitDropped(ctx, k, m.MemberID, away); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", m.MemberID)
	if err := sleep(ctx, away-time.Since(begin)); err != nil {
		return err
	}
	p.silence(false)
	r.note("the network to %s is back", m.ClientID)
	return r.waitReturn(ctx, k, m.ClientID)
}

// playCoordinatorTrouble freezes the process of the broker that coordinates four
// groups. Whether their members are expired as it wakes is a race between its
// timers and the heartbeats that queued up (measured: 1 of 4 times on 3.9.2, 2 of
// 4 on 4.4.0, 3 of 3 under KIP-848), so it is tried a few times.
func playCoordinatorTrouble(ctx context.Context, r *run) error {
	broker, err := r.startCrowd(ctx)
	if err != nil {
		return err
	}
	away := orDuration(r.p.Away, r.p.timeouts().session+4*time.Second)
	r.t.Parameters["frozen_ms"] = away.Milliseconds()
	b, _ := r.c.brokerNow(broker)
	for try := 1; ; try++ {
		before := r.crowdIDs(ctx)
		if err := b.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		r.at(EventFault, "broker %d frozen for %s, try %d", broker, away, try)
		err := sleep(ctx, away)
		if thaw := b.Signal(syscall.SIGCONT); thaw != nil || err != nil {
			return fmt.Errorf("thawing broker %d: %w", broker, thaw)
		}
		r.note("broker %d thawed", broker)
		lost, err := r.crowdLosses(ctx, before)
		if err != nil {
			return err
		}
		r.t.Observed["members_lost"], r.t.Parameters["tries"] = float64(lost), try
		if lost > 0 {
			r.at(EventEffect, "%d of %d members were dropped", lost, len(before))
			break
		}
		if try == crowdTries {
			return fmt.Errorf("nobody lost membership in %d tries", try)
		}
		r.note("nobody lost membership")
		if err := sleep(ctx, 5*time.Second); err != nil {
			return err
		}
	}
	for _, g := range r.t.Subject.Groups {
		if _, err := r.c.waitStable(ctx, r.p.Protocol, g, crowdMembers); err != nil {
			return err
		}
	}
	r.at(EventReturn, "all groups are complete again")
	return nil
}
