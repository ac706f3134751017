package collect

import (
	"sort"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// evidence assembles what was read.
func (c *collection) evidence() diagnose.Evidence {
	e := diagnose.Evidence{
		Schema: diagnose.SchemaVersion, At: c.q.At, WindowSeconds: int(c.q.Window.Seconds()),
		Trigger: c.q.Trigger, Target: c.q.Target, TargetReading: c.exists,
		Cluster:        c.clusterSection(),
		Metrics:        c.prom.Source,
		Brokers:        c.brokers(),
		GroupsReading:  c.groupsReading(),
		Groups:         c.groups,
		Exported:       c.exported,
		Watcher:        c.watcher,
		ClientsReading: c.clients.reading,
		Clients:        c.clients.clients,
		Pods:           c.pods.reading,
		PodList:        c.pods.pods,
		Logs:           c.logs.reading,
		LogText:        c.logs.text,
	}
	if !c.q.past {
		// Nothing in the evidence is younger than its clock.
		e.At = c.ended
	}
	return e
}

func (c *collection) clusterSection() diagnose.Cluster {
	if c.topo == nil || c.kafkaDown() {
		k := c.r.cfg.Kafka
		out := diagnose.Cluster{Reading: c.topoRead, ControllerID: -1, Version: k.version, Flavour: k.flavour}
		if c.topo != nil {
			out.ID = c.topo.clusterID
		}
		return out
	}
	out := c.r.cfg.Kafka.fillCluster(c.topo, c.facts, c.topoRead)
	if c.q.past {
		out.Hint = presentOnly
	}
	return out
}

// brokers joins metadata, settings, metrics and demand. A question about a
// group gets its coordinator only, any other all brokers: peers matter.
func (c *collection) brokers() []diagnose.Broker {
	by := map[int32]*diagnose.Broker{}
	for i := range c.prom.Brokers {
		b := c.prom.Brokers[i]
		by[b.ID] = &b
	}
	if c.topo != nil {
		for _, info := range c.topo.brokers {
			b := by[info.ID]
			if b == nil {
				r := c.prom.Source.Reading
				b = &diagnose.Broker{ID: info.ID, Identity: r, SoftwareReading: r, SoftwareGoneReading: r}
				by[info.ID] = b
			}
			b.Host, b.Rack = info.Host, info.Rack
			if !c.kafkaDown() {
				b.Leading, b.Awaited = info.Leading, info.Awaited
			}
		}
	}
	demands := c.demand()
	only := c.coordinatorOnly()
	out := make([]diagnose.Broker, 0, len(by))
	for id, b := range by {
		if only != nil && id != *only {
			continue
		}
		b.Slots, b.Settings = c.settings(id)
		b.Demand = demands(id)
		out = append(out, *b)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// coordinatorOnly is the coordinator of the target group, nil for all brokers.
func (c *collection) coordinatorOnly() *int32 {
	if c.q.Target.Group == "" || c.q.Target.Broker != nil || len(c.groups) == 0 || c.groups[0].Coordinator < 0 {
		return nil
	}
	id := c.groups[0].Coordinator
	if c.topo == nil || !c.topo.has(id) {
		return nil
	}
	return &id
}

func (c *collection) settings(id int32) (diagnose.Setting, map[string]diagnose.Setting) {
	if s, read := c.facts.settings[id]; read {
		if c.q.past {
			s.slots.Hint = presentOnly
		}
		return s.slots, s.others
	}
	r := c.topoRead
	if r.OK() {
		r = diagnose.Reading{Status: diagnose.StatusTimeout, AsOf: c.ended, Source: "kafka: DescribeConfigs", Error: errOverBudget.Error()}
	}
	return diagnose.Setting{Reading: r}, sameForAll(r)
}

// demand returns the demand of a broker, or why it is not known.
func (c *collection) demand() func(int32) diagnose.Demand {
	unknown := func(r diagnose.Reading) func(int32) diagnose.Demand {
		return func(id int32) diagnose.Demand {
			d := diagnose.Demand{Reading: r, Connections: -1}
			if n, ok := c.prom.Connections[id]; ok {
				d.Connections = n
			}
			return d
		}
	}
	if c.sweep.sweep == nil {
		return unknown(c.sweep.failed)
	}
	in := demandInput{
		topo: c.topo, groups: c.sweep.groups, fetchers: fetcherCounts(c.facts.settings),
		software: map[int32][]diagnose.Software{}, connections: c.prom.Connections,
	}
	for _, b := range c.prom.Brokers {
		if b.SoftwareReading.Usable() {
			in.software[b.ID] = b.Software
		}
	}
	all := demand(in)
	lists := c.listsReading()
	for id, d := range all {
		if !lists.OK() {
			d.Status, d.Error, d.Hint = lists.Status, lists.Error, lists.Hint
		} else if c.q.past {
			d.Status, d.Error = diagnose.StatusPartial, presentOnly
		}
		all[id] = d
	}
	return func(id int32) diagnose.Demand {
		if d, ok := all[id]; ok {
			return d
		}
		return unknown(diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: c.ended, Source: srcMetadata, Error: "the broker is not in the cluster's metadata"})(id)
	}
}

// listsReading says whether every broker listed its groups.
func (c *collection) listsReading() diagnose.Reading {
	if c.sweep.sweep == nil {
		return c.sweep.failed
	}
	r := ok("kafka: ListGroups, DescribeGroups, ConsumerGroupDescribe, OffsetFetch", c.sweep.at)
	failed := map[int32]failure{}
	hint := ""
	for _, b := range c.sweep.brokers {
		r.DurationMS = max(r.DurationMS, b.list.DurationMS)
		if !b.list.OK() {
			failed[b.id] = failure{status: b.list.Status, text: b.list.Error}
			hint = b.list.Hint
		}
	}
	if len(failed) == 0 {
		return r
	}
	r.Status, r.Error, r.Hint = diagnose.StatusPartial, "groups of some brokers are not known: "+describeFailures(failed), hint
	if len(failed) == len(c.sweep.brokers) {
		for _, b := range c.sweep.brokers {
			r.Status = b.list.Status
			break
		}
	}
	return r
}

// groupsReading covers the section: the lists, the groups that could not be
// described, and a scan that could not look.
func (c *collection) groupsReading() diagnose.Reading {
	r := c.listsReading()
	if c.sweep.sweep == nil {
		return r
	}
	if n, hint := c.undescribed(); n > 0 && r.OK() {
		r.Status, r.Error, r.Hint = diagnose.StatusPartial, count(n, "group")+" could not be described", hint
	}
	if c.q.Scan && !c.scan.reading.OK() && len(c.sweep.groups) > 0 {
		r.Status = diagnose.StatusPartial
		r.Error, r.Hint = "the scan for groups that lost members did not see all: "+c.scan.reading.Error, c.scan.reading.Hint
	}
	if len(c.sweep.groups) == 0 && r.OK() {
		r.Status, r.Error = diagnose.StatusEmpty, "the brokers list no group"
		r.Hint = "if there should be some: the bot needs Describe on the groups"
	}
	if c.q.past && r.Usable() {
		r.Status, r.Error = diagnose.StatusPartial, presentOnly
	}
	return r
}

// undescribed counts groups that are refused or failed, with the right that is
// missing for the first of them.
func (c *collection) undescribed() (int, string) {
	var ids []string
	for id, g := range c.sweep.groups {
		if g.reading.Usable() || g.reading.Status == diagnose.StatusUnsupported {
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return 0, ""
	}
	sort.Strings(ids)
	return len(ids), c.sweep.groups[ids[0]].reading.Hint
}
