package collect

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// choice is which groups go into the evidence.
type choice struct {
	ids []string
	// withHistory are those of them whose log is still to be read.
	withHistory []string
	// why is the reading of a history that is not read.
	why string
}

// choose picks the groups: the target; the worst of a scan; those that consume
// the topic; or those that explain the broker's demand.
func (c *collection) choose() choice {
	switch t := c.q.Target; {
	case t.Group != "":
		return choice{ids: []string{t.Group}}
	case c.q.Scan:
		var ids []string
		for _, s := range c.scan.suspects[:min(maxScanGroups, len(c.scan.suspects))] {
			ids = append(ids, s.group)
		}
		return choice{ids: ids, withHistory: ids}
	case c.sweep.sweep == nil:
		return choice{}
	case t.Topic != "":
		ids := consumersOf(c.sweep.groups, t.Topic)
		return choice{ids: ids[:min(maxByGroup, len(ids))], withHistory: ids[:min(maxScanGroups, len(ids))],
			why: fmt.Sprintf("only read for the %d biggest groups", maxScanGroups)}
	case t.Broker != nil:
		members := membersByBroker(demandInput{topo: c.topo, groups: c.sweep.groups})
		var ids []string
		for _, g := range topGroups(members[*t.Broker]) {
			ids = append(ids, g.Group)
		}
		return choice{ids: ids, why: "not read for a question about a broker"}
	}
	return choice{}
}

// consumersOf lists the groups that consume a topic, most members first, then
// by lag.
func consumersOf(groups map[string]*groupLook, topic string) []string {
	var ids []string
	members := map[string]int{}
	for id, g := range groups {
		uses := false
		for _, m := range g.snapshot.Members {
			for _, tp := range m.Partitions {
				if tp.Topic == topic {
					members[id]++
					uses = true
					break
				}
			}
		}
		for _, cm := range g.commits {
			uses = uses || cm.Topic == topic
		}
		if uses {
			ids = append(ids, id)
		}
	}
	sort.Slice(ids, func(i, j int) bool {
		a, b := ids[i], ids[j]
		if members[a] != members[b] {
			return members[a] > members[b]
		}
		if groups[a].lag.Total != groups[b].lag.Total {
			return groups[a].lag.Total > groups[b].lag.Total
		}
		return a < b
	})
	return ids
}

func (c *collection) buildGroups(ctx context.Context, ch choice, histories map[string]diagnose.GroupHistory) []diagnose.Group {
	out := make([]diagnose.Group, 0, len(ch.ids))
	for _, id := range ch.ids {
		g := c.buildGroup(ctx, id)
		h, read := histories[id]
		switch {
		case read:
			g.History = h
		case c.kafkaDown():
			g.History = diagnose.GroupHistory{Reading: c.topoRead, OffsetsPartition: -1}
		default:
			g.History = diagnose.GroupHistory{Reading: skipped(ch.why), OffsetsPartition: -1}
		}
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// brokenGroups stands in when the groups could not be put together.
func (c *collection) brokenGroups(ch choice, f failure) []diagnose.Group {
	var out []diagnose.Group
	for _, id := range ch.ids {
		r := f.reading("kafka: ListGroups", c.now())
		out = append(out, diagnose.Group{ID: id, Reading: r, Coordinator: -1, LagReading: r, History: diagnose.GroupHistory{Reading: r, OffsetsPartition: -1}})
	}
	return out
}

// buildGroup joins what the watcher remembers with the present look.
func (c *collection) buildGroup(ctx context.Context, id string) diagnose.Group {
	g := diagnose.Group{ID: id, Coordinator: -1, LagReading: skipped("the group was not read")}
	if w := c.r.cfg.Watcher; w != nil {
		// The whole memory: changes only, and what came before the window is
		// the baseline.
		if mem, known := w.group(id, time.Time{}, c.q.At); known {
			g.Coordinator, g.Protocol, g.ProtocolType = mem.coordinator, mem.protocol, mem.protocolType
			g.Snapshots, g.Lag = mem.snapshots, mem.lag
		}
	}
	if c.sweep.sweep == nil {
		g.Reading, g.LagReading = c.sweep.failed, c.sweep.failed
		return g
	}
	look := c.sweep.groups[id]
	if look == nil {
		if _, leader, ok := offsetsPartition(c.topo, id); ok && g.Coordinator < 0 {
			g.Coordinator = leader
		}
		g.Reading = c.notListed(ctx, id)
		g.LagReading = g.Reading
		return g
	}
	c.addLook(&g, look)
	if g.Protocol == "consumer" && g.Coordinator >= 0 && !c.q.past && c.q.Target.Group == id {
		g.Settings = c.r.cfg.Kafka.readGroupSettings(ctx, g.Coordinator, id, c.now)
	}
	return g
}

// addLook adds the present to a group, or only says so when the past was asked
// for.
func (c *collection) addLook(g *diagnose.Group, look *groupLook) {
	g.Reading, g.LagReading = look.reading, look.lagReading
	g.Coordinator = look.coordinator
	if look.protocol != "" {
		g.Protocol = look.protocol
	}
	if look.protocolType != "" {
		g.ProtocolType = look.protocolType
	}
	if len(look.hidden) > 0 && g.Reading.OK() {
		g.Reading.Status = diagnose.StatusPartial
		g.Reading.Error = "assigned topics are not visible: " + nameList(look.hidden)
		g.Reading.Hint = "needs Describe on Topic " + nameList(look.hidden)
	}
	if c.q.past {
		c.onlyPast(g, look)
		return
	}
	if look.reading.Usable() && !look.snapshot.At.IsZero() {
		g.Snapshots = appendSnapshot(g.Snapshots, look.snapshot)
	}
	if look.lagReading.Usable() && !look.lag.At.IsZero() {
		g.Lag = append(g.Lag, look.lag)
	}
}

// presentOnly is added to what the admin API says when a past moment was asked
// for.
const presentOnly = "the admin API shows the present, not the moment asked for"

// onlyPast keeps the watcher's memory of that moment. Without it the present
// state is better than none, and marked.
func (c *collection) onlyPast(g *diagnose.Group, look *groupLook) {
	g.LagReading = diagnose.Reading{Status: diagnose.StatusUnsupported, AsOf: look.lag.At, Source: srcLag, Error: presentOnly}
	if len(g.Lag) > 0 {
		g.LagReading = ok("watcher: "+srcLag, g.Lag[len(g.Lag)-1].At)
	}
	if len(g.Snapshots) > 0 {
		g.Reading = ok("watcher: "+look.describeSource(), g.Snapshots[len(g.Snapshots)-1].Until)
		return
	}
	if look.reading.Usable() {
		g.Reading.Status, g.Reading.Error = diagnose.StatusPartial, presentOnly
		if !look.snapshot.At.IsZero() {
			g.Snapshots = []diagnose.GroupSnapshot{look.snapshot}
		}
	}
}

// appendSnapshot adds a look, joining it with the one before if nothing changed.
func appendSnapshot(have []diagnose.GroupSnapshot, s diagnose.GroupSnapshot) []diagnose.GroupSnapshot {
	n := len(have)
	if n > 0 && !s.At.After(have[n-1].At) {
		return have
	}
	if n > 0 && sameSnapshot(have[n-1], s) {
		have[n-1].Until = s.At
		return have
	}
	return append(have, s)
}

// notListed tells a group that does not exist from one that may not be seen or
// whose coordinator did not answer. The broker checks the right before
// anything else, so any broker may be asked.
func (c *collection) notListed(ctx context.Context, id string) diagnose.Reading {
	for _, b := range c.sweep.brokers {
		if _, leader, ok := offsetsPartition(c.topo, id); !b.list.OK() && (!ok || leader == b.id) {
			r := b.list
			r.Error = fmt.Sprintf("broker %d, its coordinator: %s", b.id, r.Error)
			if !ok {
				r.Error = fmt.Sprintf("not listed by the brokers that answered; broker %d: %s", b.id, b.list.Error)
			}
			return r
		}
	}
	_, broker, ok := offsetsPartition(c.topo, id)
	if !ok && len(c.topo.brokers) > 0 {
		broker = c.topo.brokers[0].ID
	}
	resp, err := c.r.cfg.Kafka.c.DescribeGroups(ctx, broker, []string{id})
	if err == nil && len(resp.Groups) > 0 {
		err = kerr.ErrorForCode(resp.Groups[0].ErrorCode)
	}
	if err != nil {
		if f := kafkaFailure(err, needGroup(id)); f.status == diagnose.StatusForbidden {
			return f.reading(srcDescribe, c.now())
		}
	}
	return diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: c.now(), Source: "kafka: ListGroups",
		Error: "no broker lists this group: never used, deleted, expired, or misspelled"}
}

const (
	// sampleGap is the distance of two lag points that tell growth.
	sampleGap = 5 * time.Second
	// shortGap is taken when the budget does not allow more.
	shortGap = 1500 * time.Millisecond
)

// beginSecondSample looks at the chosen groups once more when nobody has
// watched them: one look shows neither growth of lag nor movement.
func (c *collection) beginSecondSample(ctx context.Context) section[map[string]*groupLook] {
	ids := map[string]bool{}
	coordinators := map[int32]bool{}
	for _, g := range c.groups {
		if len(g.Lag) == 1 {
			ids[g.ID] = true
			coordinators[g.Coordinator] = true
		}
	}
	wait, fits := c.sampleWait(ctx)
	if len(ids) == 0 || c.q.past || !fits || c.q.Target.Group == "" && !c.q.Scan {
		return never(map[string]*groupLook(nil))
	}
	none := func(failure) map[string]*groupLook { return nil }
	return begin(c.r, "second sample", none, func() map[string]*groupLook {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		return c.r.cfg.Kafka.sampleGroups(ctx, c.topo, coordinators, ids, c.now)
	})
}

// sampleWait is how long to wait before the second look, counted from the
// first.
func (c *collection) sampleWait(ctx context.Context) (time.Duration, bool) {
	const need = 500 * time.Millisecond // for the look itself
	var first time.Time
	for _, g := range c.groups {
		if len(g.Lag) == 1 {
			first = g.Lag[0].At
		}
	}
	left := time.Hour
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline) - need
	}
	gaps := []time.Duration{sampleGap, shortGap}
	if c.r.cfg.Watcher != nil {
		// Somebody waits for the first answer, and the watcher's next point
		// will be there at the next look.
		gaps = []time.Duration{shortGap}
	}
	for _, gap := range gaps {
		if wait := max(0, gap-c.now().Sub(first)); wait <= left {
			return wait, true
		}
	}
	return 0, false
}

// sampleGroups looks at some groups on their coordinators.
func (k *Kafka) sampleGroups(ctx context.Context, topo *topology, coordinators map[int32]bool, ids map[string]bool, now func() time.Time) map[string]*groupLook {
	pick := func(g listedGroup) bool { return ids[g.id] }
	var brokers []int32
	for _, id := range topo.ids() {
		if coordinators[id] {
			brokers = append(brokers, id)
		}
	}
	want := sweepWant{describe: pick, offsets: pick}
	s := k.collectBrokers(ctx, brokers, want, now, nil)
	s.topo = topo
	k.finish(ctx, s, want, now)
	return s.groups
}

func (c *collection) addSample(looks map[string]*groupLook) {
	for i := range c.groups {
		g := &c.groups[i]
		if l := looks[g.ID]; l != nil && l.lagReading.Usable() && !l.lag.At.IsZero() {
			g.Lag = append(g.Lag, l.lag)
		}
		if l := looks[g.ID]; l != nil && l.reading.OK() {
			g.Snapshots = appendSnapshot(g.Snapshots, l.snapshot)
		}
		c.judgeLag(g)
	}
}

// judgeLag says when growth cannot be seen.
func (c *collection) judgeLag(g *diagnose.Group) {
	if !g.LagReading.OK() || c.q.past {
		return
	}
	n := len(g.Lag)
	switch {
	case n == 1:
		g.LagReading.Status, g.LagReading.Error = diagnose.StatusPartial, "one look only: growth is not visible"
	case n > 1 && g.Lag[n-1].At.Sub(g.Lag[0].At) < sampleGap:
		g.LagReading.Status = diagnose.StatusPartial
		g.LagReading.Error = "two looks " + strings.TrimSuffix(g.Lag[n-1].At.Sub(g.Lag[0].At).Round(100*time.Millisecond).String(), "s") + " s apart: growth is hardly visible"
	}
}
