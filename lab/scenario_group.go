package lab

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// everyClient are the libraries that can show a fault that no client takes part in.
var everyClient = []string{clientJava, clientLibrdkafka, clientFranz}

func groupScenarios() []Scenario {
	return []Scenario{
		{Name: "quiet", Class: "quiet", MinBrokers: 1, Clients: everyClient, Text: "healthy consumers, nothing happens", play: playQuiet},
		{Name: "poll-interval", Class: "poll-interval", MinBrokers: 1, Clients: []string{clientJava, clientLibrdkafka},
			Text: "one consumer does not poll for longer than max.poll.interval.ms (with --static it is poll-interval-static)", play: playPollInterval},
		{Name: "poll-interval-static", Class: "poll-interval-static", MinBrokers: 1, Clients: []string{clientJava, clientLibrdkafka},
			Text: "the same for a static member: it falls silent and is expired a session timeout later", play: playPollIntervalStatic},
		{Name: "session-timeout", Class: "session-timeout", MinBrokers: 1, Clients: everyClient, Hows: []string{"frozen", "slow-survivor", "two-groups"},
			Text:         "one consumer's process is frozen for longer than session.timeout.ms; slow-survivor: the other one is busy meanwhile and delays the record; two-groups: a member of another group of the same coordinator leaves at its poll limit at the same time",
			Alternatives: []string{"client-unreachable"}, Provisional: "session-timeout", play: playSessionTimeout},
		{Name: "client-unreachable", Class: "client-unreachable", MinBrokers: 1, Clients: everyClient, Text: "the network between one consumer and the brokers is silent for longer than session.timeout.ms",
			Alternatives: []string{"session-timeout"}, Provisional: "session-timeout", play: playUnreachable},
		{Name: "process-gone", Class: "process-gone", MinBrokers: 1, Clients: everyClient, Text: "one consumer's process is killed and does not come back",
			Provisional: "session-timeout", play: playProcessGone},
		{Name: "process-replaced", Class: "process-replaced", MinBrokers: 1, Clients: everyClient, Hows: []string{"kill", "streams"},
			Text: "one consumer's process is killed and its successor starts at once; streams: all are closed without leaving and replaced, one by one", play: playProcessReplaced},
		{Name: "join-sync-race", Class: "join-sync-race", MinBrokers: 1, ClassicOnly: true, Text: "a third member joins and never syncs", play: playJoinSyncRace},
		{Name: "sick-leader", Class: "sick-leader", MinBrokers: 1, ClassicOnly: true, Text: "the member that leads the group rejoins and never syncs", play: playSickLeader},
		{Name: "rebalance-timeout", Class: "rebalance-timeout", MinBrokers: 1, Clients: everyClient,
			Text: "a member joins and one of the others hangs in its revoke callback for longer than the rebalance timeout", play: playRebalanceTimeout},
		{Name: "removed-by-admin", Class: "removed-by-admin", MinBrokers: 1, Clients: everyClient, Text: "an operator removes all members of a group through the admin API", play: playRemovedByAdmin},
		{Name: "stray-commits", Class: "stray-commits", MinBrokers: 1, Clients: everyClient, Text: "somebody who is no member commits offsets of the group every second", play: playStrayCommits},
		{Name: "duplicate-static-id", Class: "duplicate-static-id", MinBrokers: 1, Text: "a second process starts with the group.instance.id of the first", play: playDuplicateStaticID},
		{Name: "coordinator-trouble", Class: "coordinator-trouble", MinBrokers: 1, Text: "the process of the broker that coordinates four groups is frozen for longer than their session timeout", play: playCoordinatorTrouble},
		{Name: "group-metadata-lost", Class: "group-metadata-lost", MinBrokers: 1, MaxBrokers: 1, Clients: everyClient,
			Text: "the broker comes back without the group's partition of __consumer_offsets", play: playMetadataLost},
		{Name: "rebalance-storm", Class: "rebalance-storm", MinBrokers: 1, Clients: everyClient, Hows: []string{"metadata", "scaling"},
			Text: "the group rebalances again and again: its topic gets more partitions; scaling: more members join, one by one", play: playRebalanceStorm},
		{Name: "lag", Class: "lag-stable-group", MinBrokers: 1, Text: "both consumers are slower than the producer; nobody loses membership", play: playLag},
		{Name: "rolling-deploy", Class: "rolling-deploy", MinBrokers: 1, Clients: everyClient, Text: "every consumer is closed and replaced, one after another", play: playRollingDeploy},
	}
}

// groupPartitions: six, since a KIP-848 slow rebalancer with four blocks nobody.
const groupPartitions = 6

// cast is a group of consumers, one process each, with a trickle of records.
type cast struct {
	group, topic string
	clients      map[string]*clientProc // by role: a, b, c
	before       groupView              // when stable
	props        []string               // of every client, key=value
	static       bool                   // every role has a group.instance.id
	bootstrap    map[string]string      // of roles that do not reach the brokers directly
}

// clientID of a role; it stays the same over restarts, as a pod's name does.
func (k *cast) clientID(role string) string { return k.group + "-" + role }

// startCast brings a group of len(roles) members to stability, leaves it alone for
// StableFor and says ready.
func (r *run) startCast(ctx context.Context, roles ...string) (*cast, error) {
	return r.startCastWith(ctx, nil, roles...)
}

func (r *run) startCastWith(ctx context.Context, props []string, roles ...string) (*cast, error) {
	k := r.newCast()
	k.props = props
	return k, r.bring(ctx, k, roles...)
}

func (r *run) newCast() *cast {
	return &cast{group: r.name(r.p.Group, "payments"), topic: r.name(r.p.Topic, "orders"), clients: map[string]*clientProc{}, static: r.p.Static}
}

// bring makes the topic and starts one process for each role.
func (r *run) bring(ctx context.Context, k *cast, roles ...string) error {
	if err := r.c.CreateTopic(ctx, k.topic, groupPartitions, 3); err != nil {
		return err
	}
	stop := r.c.trickle(ctx, k.topic, groupPartitions, 500*time.Millisecond)
	r.undo(func(context.Context) error { stop(); return nil })
	return r.populate(ctx, k, len(roles), roles...)
}

// populate starts the roles and waits until the group is stable with n members.
func (r *run) populate(ctx context.Context, k *cast, n int, roles ...string) error {
	for _, role := range roles {
		if err := r.startMember(k, role, role); err != nil {
			return err
		}
	}
	var err error
	if k.before, err = r.c.waitStable(ctx, r.p.Protocol, k.group, n); err != nil {
		return err
	}
	if r.t.Subject, err = r.c.subject(ctx, k.group, k.topic); err != nil {
		return err
	}
	r.watch = r.c.watchGroups(ctx, r.p.Protocol, k.group)
	r.parameters(n)
	if k.static {
		r.t.Parameters["static"] = true
	}
	return r.settle(ctx)
}

// settle waits for StableFor, at least for three commits and scrapes.
func (r *run) settle(ctx context.Context) error {
	d := max(r.p.StableFor, 5*time.Second)
	r.note("group is stable; left alone for %s", d)
	if err := sleep(ctx, d); err != nil {
		return err
	}
	r.at(EventReady, "group %s is stable with %v members", r.t.Subject.Group, r.t.Parameters["members"])
	return nil
}

func (r *run) parameters(members int) {
	t := r.p.timeouts()
	r.t.Parameters = map[string]any{
		"members": members, "partitions": groupPartitions, "session_timeout_ms": t.session.Milliseconds(),
		"heartbeat_interval_ms": t.heartbeat.Milliseconds(), "max_poll_interval_ms": t.maxPoll.Milliseconds(),
		"auto_commit_interval_ms": t.commit.Milliseconds(), "stable_for_ms": r.p.StableFor.Milliseconds(),
	}
}

// startMember starts a process that plays a role; process names it in logs.
func (r *run) startMember(k *cast, role, process string) error {
	props := k.props
	if k.static {
		props = append([]string{"group.instance.id=" + k.clientID(role)}, props...)
	}
	j, err := r.c.startClients(r.ctx, clientSpec{
		name: k.group + "-" + process, topic: k.topic, members: []string{k.group + "/" + k.clientID(role)}, library: r.p.Client,
		bootstrap: k.bootstrap[role], protocol: r.p.Protocol, times: r.p.timeouts(), metrics: k.group, props: props,
	})
	if err != nil {
		return err
	}
	k.clients[role] = j
	r.undo(j.close)
	return nil
}

// victim writes role down as the subject.
func (r *run) victim(k *cast, role string) memberView {
	m, _ := k.before.byClient(k.clientID(role))
	r.t.Subject.ClientID, r.t.Subject.MemberID = m.ClientID, m.MemberID
	return m
}

// waitDropped waits until the member is no longer in the group.
func (r *run) waitDropped(ctx context.Context, k *cast, memberID string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return poll(ctx, 200*time.Millisecond, "the member to be dropped", func(ctx context.Context) (bool, error) {
		v := r.c.describe(ctx, r.p.Protocol, k.group)
		return v.Err == "" && v.State != "" && !v.has(memberID), nil
	})
}

// waitBack waits until the group is Stable again with n members, this client id among them.
func (r *run) waitBack(ctx context.Context, k *cast, clientID string, n int) (groupView, error) {
	v, err := r.c.waitStable(ctx, r.p.Protocol, k.group, n)
	if err != nil {
		return v, err
	}
	if _, ok := v.byClient(clientID); !ok && clientID != "" {
		return v, fmt.Errorf("group %s is stable without %s", k.group, clientID)
	}
	return v, nil
}

// waitReturn is waitBack for the victim of a group of two.
func (r *run) waitReturn(ctx context.Context, k *cast, clientID string) error {
	v, err := r.waitBack(ctx, k, clientID, 2)
	if err != nil {
		return err
	}
	m, _ := v.byClient(clientID)
	r.t.Subject.ReturnedAs = m.MemberID
	r.at(EventReturn, "%s is back as %s", clientID, m.MemberID)
	return nil
}

func playQuiet(ctx context.Context, r *run) error {
	if _, err := r.startCast(ctx, "a", "b"); err != nil {
		return err
	}
	return sleep(ctx, 20*time.Second)
}

// playSessionTimeout freezes a process (SIGSTOP) for longer than the session
// timeout and thaws it again: the member is expired and comes back with a new id.
func playSessionTimeout(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	m, j, away := r.victim(k, "a"), k.clients["a"], r.p.timeouts().session+4*time.Second
	switch r.p.How {
	case "slow-survivor":
		away, err = away+6*time.Second, r.slowSurvivor(k, away)
	case "two-groups":
		err = r.sickNeighbour(ctx)
	}
	if err != nil {
		return err
	}
	away = orDuration(r.p.Away, away)
	r.t.Parameters["frozen_ms"] = away.Milliseconds()
	begin := time.Now()
	if err := j.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	r.at(EventFault, "process of %s frozen for %s", m.ClientID, away)
	if err := r.waitDropped(ctx, k, m.MemberID, away); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", m.MemberID)
	if err := sleep(ctx, away-time.Since(begin)); err != nil {
		return err
	}
	if err := j.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	r.note("process of %s thawed", m.ClientID)
	return r.waitReturn(ctx, k, m.ClientID)
}

// slowSurvivor has the other member work on one batch for so long, which its poll
// limit allows: the group's record is not written before it rejoins.
func (r *run) slowSurvivor(k *cast, busy time.Duration) error {
	if busy >= r.p.timeouts().maxPoll {
		return fmt.Errorf("the survivor would be busy for %s and leave at its poll limit of %s", busy, r.p.timeouts().maxPoll)
	}
	r.t.Parameters["survivor_busy_ms"] = busy.Milliseconds()
	r.note("%s processes one batch for %s", k.clientID("b"), busy)
	return k.clients["b"].tell("stall %s %d", k.clientID("b"), busy.Milliseconds())
}

// sickNeighbour starts another group on the same coordinator, one of whose members
// is about to leave at its poll limit: in a session timeout from now. The broker's
// counters cannot say whose the leave and the refused calls are.
func (r *run) sickNeighbour(ctx context.Context) error {
	names, err := r.groupsOf(ctx, r.t.Subject.Coordinator)
	if err != nil {
		return err
	}
	k := r.newCast()
	k.group, k.topic = names[0], r.name("", "invoices")
	if err := r.c.CreateTopic(ctx, k.topic, groupPartitions, 3); err != nil {
		return err
	}
	stop := r.c.trickle(ctx, k.topic, groupPartitions, 500*time.Millisecond)
	r.undo(func(context.Context) error { stop(); return nil })
	for _, role := range []string{"a", "b"} {
		if err := r.startMember(k, role, role); err != nil {
			return err
		}
	}
	if _, err := r.c.waitStable(ctx, r.p.Protocol, k.group, 2); err != nil {
		return err
	}
	t := r.p.timeouts()
	r.t.Parameters["neighbour"] = k.group
	if err := sleep(ctx, 5*time.Second); err != nil {
		return err
	}
	r.note("group %s, too: %s processes one batch for %s", k.group, k.clientID("a"), t.maxPoll+4*time.Second)
	if err := k.clients["a"].tell("stall %s %d", k.clientID("a"), (t.maxPoll + 4*time.Second).Milliseconds()); err != nil {
		return err
	}
	return sleep(ctx, t.maxPoll-t.session)
}

// playPollInterval lets one consumer process a batch for too long: the client
// itself leaves the group when max.poll.interval.ms is over.
func playPollInterval(ctx context.Context, r *run) error {
	if r.p.Static {
		r.t.Class, r.t.Family = "poll-interval-static", family("poll-interval-static")
		return playPollIntervalStatic(ctx, r)
	}
	return r.overslept(ctx, r.p.timeouts().maxPoll+6*time.Second)
}

// playPollIntervalStatic: a static member does not leave, it only falls silent;
// the broker expires it a session timeout after that.
func playPollIntervalStatic(ctx context.Context, r *run) error {
	r.p.Static = true
	t := r.p.timeouts()
	return r.overslept(ctx, t.maxPoll+t.session+7*time.Second)
}

func (r *run) overslept(ctx context.Context, away time.Duration) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	m, away := r.victim(k, "a"), orDuration(r.p.Away, away)
	r.t.Parameters["stall_ms"] = away.Milliseconds()
	if err := k.clients["a"].tell("stall %s %d", m.ClientID, away.Milliseconds()); err != nil {
		return err
	}
	r.at(EventFault, "%s processes one batch for %s", m.ClientID, away)
	if err := r.waitDropped(ctx, k, m.MemberID, away); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", m.MemberID)
	return r.waitReturn(ctx, k, m.ClientID)
}

// playProcessGone kills a process; nothing replaces it.
func playProcessGone(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	m := r.victim(k, "a")
	if err := k.clients["a"].kill(ctx); err != nil {
		return err
	}
	r.at(EventFault, "process of %s killed", m.ClientID)
	if err := r.waitDropped(ctx, k, m.MemberID, r.p.timeouts().session+24*time.Second); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", m.MemberID)
	if _, err := r.waitBack(ctx, k, "", 1); err != nil {
		return err
	}
	r.note("the survivor has all partitions")
	// A process that stands still may stay away for so long: later looks know better.
	return sleep(ctx, 2*r.p.timeouts().session+3*time.Second)
}

// playJoinSyncRace lets a third, hand-made member join two Java consumers and
// withhold its SyncGroup until the broker's pending-sync timer (the rebalance
// timeout) throws it out. The group reads Stable all the time.
func playJoinSyncRace(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.c.Info().Brokers[0].Kafka), kgo.ClientID(k.clientID("c")),
		kgo.SoftwareNameAndVersion(playedBy, "1"), kgo.DisableFetchSessions())
	if err != nil {
		return fmt.Errorf("the third member: %w", err)
	}
	r.undo(func(context.Context) error { cl.Close(); return nil })
	events := make(chan string, 8)
	m := &rawMember{cl: cl, group: k.group, topic: k.topic, partitions: groupPartitions, session: r.p.timeouts().session, rebalance: r.p.timeouts().maxPoll,
		neverSync: true, onEvent: func(s string) { events <- s }}
	ended := make(chan error, 1)
	go func() { ended <- m.run(ctx); close(events) }()
	first, ok := <-events
	if !ok {
		return fmt.Errorf("the third member could not join: %w", <-ended)
	}
	id := m.id // set before the event was sent, and the member's own from here on
	r.t.Subject.ClientID, r.t.Subject.MemberID = k.clientID("c"), id
	r.at(EventFault, "%s %s", k.clientID("c"), first)
	if err := r.waitDropped(ctx, k, id, 2*r.p.timeouts().maxPoll); err != nil {
		return err
	}
	r.at(EventEffect, "member %s is out of the group", id)
	for text := range events {
		r.note("%s: %s", k.clientID("c"), text)
	}
	if _, err := r.waitBack(ctx, k, "", 2); err != nil {
		return err
	}
	return <-ended
}

// playRollingDeploy closes each consumer cleanly and starts its successor, which
// has the same client id, as a pod of a stateful set would.
func playRollingDeploy(ctx context.Context, r *run) error {
	roles := []string{"a", "b", "c"}
	k, err := r.startCast(ctx, roles...)
	if err != nil {
		return err
	}
	for i, role := range roles {
		if err := k.clients[role].close(ctx); err != nil {
			return err
		}
		if i == 0 {
			r.at(EventFault, "deploy begins: %s closed", k.clientID(role))
		} else {
			r.note("%s closed", k.clientID(role))
		}
		if err := r.startMember(k, role, fmt.Sprintf("%s-new", role)); err != nil {
			return err
		}
		// A static member stays listed when it is closed: only the change of its id shows
		// that the successor took over.
		if old, ok := k.before.byClient(k.clientID(role)); ok {
			if err := r.waitDropped(ctx, k, old.MemberID, 40*time.Second); err != nil {
				return err
			}
		}
		if _, err := r.waitBack(ctx, k, k.clientID(role), len(roles)); err != nil {
			return err
		}
		if i == 0 {
			r.at(EventEffect, "%s replaced", k.clientID(role))
		}
	}
	r.at(EventReturn, "all %d members replaced", len(roles))
	return nil
}

// playLag slows both consumers down to five records per poll and half a second,
// while the producer writes more than that. Everybody polls in time, so nobody
// loses membership.
func playLag(ctx context.Context, r *run) error {
	k, err := r.startCastWith(ctx, []string{"max.poll.records=5"}, "a", "b")
	if err != nil {
		return err
	}
	const pause = 500
	for _, role := range []string{"a", "b"} {
		if err := k.clients[role].tell("slow %s %d", k.clientID(role), pause); err != nil {
			return err
		}
	}
	stop := r.c.trickle(ctx, k.topic, groupPartitions, 50*time.Millisecond)
	r.undo(func(context.Context) error { stop(); return nil })
	r.t.Parameters["records_per_second"], r.t.Parameters["records_per_second_consumed"] = 22*groupPartitions, 2*5*1000/pause
	r.at(EventFault, "the producer is faster than the consumers")
	if err := sleep(ctx, 15*time.Second); err != nil {
		return err
	}
	r.at(EventEffect, "lag has been growing for 15 s")
	return sleep(ctx, 15*time.Second)
}
