package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kadm"
)

// memberView is one member as the admin API shows it.
type memberView struct {
	MemberID   string             `json:"member_id"`
	ClientID   string             `json:"client_id"`
	Host       string             `json:"host"`
	Instance   *string            `json:"instance_id,omitempty"`
	Epoch      int32              `json:"epoch,omitempty"`
	Partitions map[string][]int32 `json:"partitions,omitempty"`
}

// groupView is one answer about one group.
type groupView struct {
	At          time.Time    `json:"at"`
	Group       string       `json:"group"`
	Protocol    string       `json:"protocol"`
	State       string       `json:"state"`
	Coordinator int32        `json:"coordinator"`
	Epoch       int32        `json:"epoch,omitempty"` // consumer protocol only
	Members     []memberView `json:"members"`
	Err         string       `json:"err,omitempty"`
}

func (g groupView) byClient(id string) (memberView, bool) {
	for _, m := range g.Members {
		if m.ClientID == id {
			return m, true
		}
	}
	return memberView{}, false
}

func (g groupView) has(memberID string) bool {
	return slices.ContainsFunc(g.Members, func(m memberView) bool { return m.MemberID == memberID })
}

// assigned counts members that hold partitions.
func (g groupView) assigned() int {
	n := 0
	for _, m := range g.Members {
		if len(m.Partitions) > 0 {
			n++
		}
	}
	return n
}

// describe asks for one group by the API of its protocol.
func (c *Cluster) describe(ctx context.Context, protocol, group string) groupView {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if protocol == "consumer" {
		return c.describeConsumer(ctx, group)
	}
	v := groupView{At: now(), Group: group, Protocol: "classic"}
	all, err := kadm.NewClient(c.client).DescribeGroups(ctx, group)
	g := all[group]
	if err == nil {
		err = g.Err
	}
	if err != nil {
		v.Err = err.Error()
		return v
	}
	v.State, v.Coordinator = g.State, g.Coordinator.NodeID
	for _, m := range g.Members {
		mv := memberView{MemberID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Instance: m.InstanceID}
		if a, ok := m.Assigned.AsConsumer(); ok {
			mv.Partitions = map[string][]int32{}
			for _, t := range a.Topics {
				mv.Partitions[t.Topic] = t.Partitions
			}
		}
		v.Members = append(v.Members, mv)
	}
	return v.sorted()
}

func (c *Cluster) describeConsumer(ctx context.Context, group string) groupView {
	v := groupView{At: now(), Group: group, Protocol: "consumer"}
	all, err := kadm.NewClient(c.client).DescribeConsumerGroups(ctx, group)
	g := all[group]
	if err == nil {
		err = g.Err
	}
	if err != nil {
		v.Err = err.Error()
		return v
	}
	v.State, v.Coordinator, v.Epoch = g.State, g.Coordinator.NodeID, g.Epoch
	for _, m := range g.Members {
		mv := memberView{MemberID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Instance: m.InstanceID, Epoch: m.MemberEpoch, Partitions: map[string][]int32{}}
		for topic, ps := range m.Assignment {
			for p := range ps {
				mv.Partitions[topic] = append(mv.Partitions[topic], p)
			}
			slices.Sort(mv.Partitions[topic])
		}
		v.Members = append(v.Members, mv)
	}
	return v.sorted()
}

func (g groupView) sorted() groupView {
	sort.Slice(g.Members, func(i, j int) bool { return g.Members[i].MemberID < g.Members[j].MemberID })
	return g
}

// same compares all but the time.
func (g groupView) same(o groupView) bool {
	g.At = o.At
	a, _ := json.Marshal(g)
	b, _ := json.Marshal(o)
	return string(a) == string(b)
}

// waitStable waits until the group is Stable with n members that all hold partitions.
func (c *Cluster) waitStable(ctx context.Context, protocol, group string, n int) (groupView, error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	var v groupView
	err := poll(ctx, 250*time.Millisecond, fmt.Sprintf("group %s to be stable with %d members", group, n), func(ctx context.Context) (bool, error) {
		v = c.describe(ctx, protocol, group)
		return v.State == "Stable" && len(v.Members) == n && v.assigned() == n, nil
	})
	return v, err
}

// watch keeps every changed answer about some groups, for the record.
type watch struct {
	mu    sync.Mutex
	views []groupView
	stop  context.CancelFunc
	ended chan struct{}
}

// watchGroups samples the groups four times a second until stopped.
func (c *Cluster) watchGroups(ctx context.Context, protocol string, groups ...string) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		last := map[string]groupView{}
		_ = poll(ctx, 250*time.Millisecond, "the end", func(ctx context.Context) (bool, error) {
			for _, g := range groups {
				v := c.describe(ctx, protocol, g)
				if ctx.Err() == nil && !v.same(last[g]) {
					w.add(v)
				}
				last[g] = v
			}
			return false, nil
		})
	}()
	return w
}

func (w *watch) add(v groupView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views = append(w.views, v)
}

// succeeded says that a member was listed beside another of the same client id.
func (w *watch) succeeded(m memberView) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.views, func(v groupView) bool {
		return v.has(m.MemberID) && slices.ContainsFunc(v.Members, func(o memberView) bool { return o.ClientID == m.ClientID && o.MemberID != m.MemberID })
	})
}

func (w *watch) end() []groupView {
	if w == nil {
		return nil
	}
	w.stop()
	<-w.ended
	return w.views
}

// offsetsPartition is the partition of __consumer_offsets that holds a group:
// |Java's String.hashCode| mod partitions, with abs(MIN_VALUE) = 0.
func offsetsPartition(group string, partitions int) int {
	var h int32
	for _, u := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(u)
	}
	if h == -1<<31 {
		h = 0
	}
	if h < 0 {
		h = -h
	}
	return int(h) % partitions
}

// subject describes a group for the Truth.
func (c *Cluster) subject(ctx context.Context, group, topic string) (Subject, error) {
	v, err := c.topic(ctx, "__consumer_offsets")
	if err != nil {
		return Subject{}, err
	}
	p := offsetsPartition(group, len(v.Partitions))
	return Subject{Group: group, Topic: topic, OffsetsPartition: p, Coordinator: int(v.Partitions[p].Leader)}, nil
}

// trickle produces one small record to every partition each interval, so that
// consumers have something to commit; a stalled one then shows by its commits.
func (c *Cluster) trickle(ctx context.Context, topic string, partitions int, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			for p := range partitions {
				c.client.Produce(ctx, record(topic, int32(p)), nil)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-ended }
}

func now() time.Time { return time.Now().Truncate(time.Millisecond) }
