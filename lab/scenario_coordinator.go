package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The groups of one coordinator.
const (
	crowdGroups  = 4
	crowdMembers = 2
	crowdTries   = 6
)

// startCrowd starts four groups with one coordinator, and gives its id. It is the
// last broker: freezing the first would freeze the controller, too.
func (r *run) startCrowd(ctx context.Context) (broker int, err error) {
	topic := r.name(r.p.Topic, "orders")
	if err := r.c.CreateTopic(ctx, topic, groupPartitions, 3); err != nil {
		return 0, err
	}
	stop := r.c.trickle(ctx, topic, groupPartitions, 500*time.Millisecond)
	r.undo(func(context.Context) error { stop(); return nil })
	broker = len(r.c.Info().Brokers)
	groups, err := r.groupsOf(ctx, broker)
	if err != nil {
		return 0, err
	}
	var members []string
	for _, g := range groups {
		for i := range crowdMembers {
			members = append(members, fmt.Sprintf("%s/%s-%d", g, g, i+1))
		}
	}
	j, err := r.c.startClients(ctx, clientSpec{name: "crowd", topic: topic, members: members, protocol: r.p.Protocol, times: r.p.timeouts()})
	if err != nil {
		return 0, err
	}
	r.undo(j.close)
	for _, g := range groups {
		if _, err := r.c.waitStable(ctx, r.p.Protocol, g, crowdMembers); err != nil {
			return 0, err
		}
	}
	if r.t.Subject, err = r.c.subject(ctx, groups[0], topic); err != nil {
		return 0, err
	}
	r.t.Subject.Groups, r.t.Subject.Broker = groups, broker
	r.watch = r.c.watchGroups(ctx, r.p.Protocol, groups...)
	r.parameters(crowdGroups * crowdMembers)
	r.t.Parameters["groups"] = crowdGroups
	return broker, r.settle(ctx)
}

// groupsOf makes up group names until four have this broker as their coordinator.
func (r *run) groupsOf(ctx context.Context, broker int) ([]string, error) {
	// The topic exists once somebody asked for a coordinator.
	r.c.describe(ctx, "classic", r.name("", "probe"))
	if err := r.c.waitTopicExists(ctx, "__consumer_offsets"); err != nil {
		return nil, err
	}
	v, err := r.c.topic(ctx, "__consumer_offsets")
	if err != nil {
		return nil, err
	}
	var out []string
	for i := 0; len(out) < crowdGroups && i < 1000; i++ {
		g := r.name("", fmt.Sprintf("payments%d", i))
		if v.Partitions[offsetsPartition(g, len(v.Partitions))].Leader == int32(broker) {
			out = append(out, g)
		}
	}
	if len(out) < crowdGroups {
		return nil, fmt.Errorf("broker %d leads no partition of __consumer_offsets", broker)
	}
	return out, nil
}

func (c *Cluster) waitTopicExists(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return poll(ctx, 200*time.Millisecond, "topic "+name, func(ctx context.Context) (bool, error) {
		v, err := c.topic(ctx, name)
		return err == nil && len(v.Partitions) > 0 && v.leaders()[-1] == 0, nil
	})
}

// crowdIDs are the member ids of all groups.
func (r *run) crowdIDs(ctx context.Context) map[string]string {
	ids := map[string]string{}
	for _, g := range r.t.Subject.Groups {
		for _, m := range r.c.describe(ctx, r.p.Protocol, g).Members {
			ids[m.ClientID] = m.MemberID
		}
	}
	return ids
}

// crowdLosses counts the members that were dropped, by their new ids under the
// classic protocol; KIP-848 members keep theirs, so what was seen meanwhile counts.
// The run is about the first group that lost one.
func (r *run) crowdLosses(ctx context.Context, before map[string]string) (int, error) {
	begin := now()
	if err := sleep(ctx, 6*time.Second); err != nil {
		return 0, err
	}
	after, lost, hurt := r.crowdIDs(ctx), 0, map[string]bool{}
	for client, id := range before {
		if after[client] != id || r.watch.missed(id, client, begin) {
			lost++
			hurt[client[:strings.LastIndex(client, "-")]] = true
		}
	}
	if i := slices.IndexFunc(r.t.Subject.Groups, func(g string) bool { return hurt[g] }); i >= 0 {
		if err := r.aboutGroup(ctx, r.t.Subject.Groups[i]); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// aboutGroup makes one of several groups the subject.
func (r *run) aboutGroup(ctx context.Context, group string) error {
	was := r.t.Subject
	now, err := r.c.subject(ctx, group, was.Topic)
	if err != nil {
		return err
	}
	now.Groups, now.Broker = was.Groups, was.Broker
	r.t.Subject = now
	return nil
}

// missed says whether a member was absent from an answer about its group, whose
// name its client id begins with, since a point in time.
func (w *watch) missed(memberID, clientID string, since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.views {
		own := len(clientID) > len(v.Group) && clientID[:len(v.Group)] == v.Group
		if own && v.At.After(since) && v.Err == "" && v.State != "" && !v.has(memberID) {
			return true
		}
	}
	return false
}

// playMetadataLost stops the broker, deletes the group's partition of
// __consumer_offsets from its disk and starts it again.
func playMetadataLost(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	if err := r.c.StopBroker(ctx, 1, syscall.SIGTERM); err != nil {
		return err
	}
	part := fmt.Sprintf("__consumer_offsets-%d", r.t.Subject.OffsetsPartition)
	if err := os.RemoveAll(filepath.Join(r.c.state.brokerDir(1), "data", part)); err != nil {
		return fmt.Errorf("losing the group's metadata: %w", err)
	}
	r.at(EventFault, "broker 1 is down and %s is deleted", part)
	if err := r.c.StartBroker(ctx, 1); err != nil {
		return err
	}
	r.note("broker 1 answers")
	if r.p.Protocol == "consumer" {
		// Java members die of error 69 (GROUP_ID_NOT_FOUND) and stay dead until restarted.
		if err := sleep(ctx, 15*time.Second); err != nil {
			return err
		}
		r.at(EventEffect, "the group is unknown; its members ended")
		return sleep(ctx, 10*time.Second)
	}
	r.at(EventEffect, "the group is unknown")
	if _, err := r.waitBack(ctx, k, "", 2); err != nil {
		return err
	}
	r.at(EventReturn, "the members are back in a new group of the same name")
	return sleep(ctx, 10*time.Second)
}
