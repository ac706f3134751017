package collect

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// collection is one Collect under way: what each source brought.
type collection struct {
	r   *Runner
	q   question
	now func() time.Time

	topo *topology
	// topoRead is how reading the topology went; topo may be an older one.
	topoRead diagnose.Reading
	facts    clusterFacts
	sweep    sweepResult
	prom     PrometheusResult
	clients  clientsResult
	exported diagnose.ExportedGroups
	pods     podsResult
	watcher  diagnose.Watcher
	logs     lokiResult
	scan     scanResult
	groups   []diagnose.Group
	// exists says whether what was asked about does.
	exists diagnose.Reading
	ended  time.Time
}

// sweepResult is a sweep, or why there is none.
type sweepResult struct {
	*sweep
	failed diagnose.Reading
}

type podsResult struct {
	reading diagnose.Reading
	pods    []diagnose.Pod
}

type clientsResult struct {
	reading diagnose.Reading
	clients []diagnose.Client
}

const srcMetadata = "kafka: Metadata"

// run reads everything. First the topology, which the other sources need; then
// metrics, settings, groups and the log of the target group beside each other;
// then what depends on the groups.
func (c *collection) run(outer context.Context) {
	ctx, cancel := c.r.inner(outer)
	defer cancel()
	c.watcher = c.memory()
	c.readTopology(ctx)

	prom := c.beginPrometheus(ctx)
	logs := c.beginLogs(ctx)
	facts := c.beginFacts(ctx)
	groups := c.beginSweep(ctx)
	target := c.beginHistories(ctx, targetGroup(c.q))
	scan := c.beginScan(ctx)

	c.sweep = groups.wait(outer)
	c.scan = scan.wait(outer)
	chosen := c.choose()
	more := c.beginHistories(ctx, chosen.withHistory)
	histories := target.wait(outer)
	for id, h := range more.wait(outer) {
		histories[id] = h
	}
	noGroups := func(f failure) []diagnose.Group { return c.brokenGroups(chosen, f) }
	c.groups = begin(c.r, "chosen groups", noGroups, func() []diagnose.Group { return c.buildGroups(ctx, chosen, histories) }).wait(outer)
	clients := c.beginClients(ctx)
	exported := c.beginExported(ctx)
	pods := c.beginPods(ctx)
	again := c.beginSecondSample(ctx)
	c.addSample(again.wait(outer))
	c.clients = clients.wait(outer)
	c.exported = exported.wait(outer)
	c.pods = pods.wait(outer)
	c.facts = facts.wait(outer)
	c.exists = c.subject(ctx)
	c.prom = prom.wait(outer)
	c.logs = logs.wait(outer)
	c.ended = c.now()
}

func (c *collection) memory() diagnose.Watcher {
	if c.r.cfg.Watcher == nil {
		return diagnose.Watcher{Reading: skipped("no watcher runs beside this command")}
	}
	return c.r.cfg.Watcher.memory(c.q.Window, c.q.At)
}

// readTopology may take a third of the budget. If Kafka does not answer, the
// last known topology still tells the metrics which brokers there are.
func (c *collection) readTopology(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.r.cfg.Budget/3)
	defer cancel()
	start := c.now()
	type result struct {
		topo *topology
		f    *failure
	}
	read := begin(c.r, "topology", func(f failure) result { return result{f: &f} }, func() result {
		topo, err := c.r.cfg.Kafka.readTopology(ctx, start)
		if err != nil {
			c.r.log.Warn("topology was not read", "error", err)
			f := kafkaFailure(err, "Describe on the Cluster")
			return result{f: &f}
		}
		return result{topo: topo}
	}).wait(ctx)
	if read.f == nil {
		c.topo, c.topoRead = read.topo, took(ok(srcMetadata, start), start, c.now())
		c.r.remember(read.topo)
		return
	}
	c.topoRead = took(read.f.reading(srcMetadata, start), start, c.now())
	c.topo = c.r.known()
}

// kafkaDown reports that the admin API is not worth asking.
func (c *collection) kafkaDown() bool { return !c.topoRead.OK() }

func (c *collection) beginPrometheus(ctx context.Context) section[PrometheusResult] {
	p := c.r.metrics
	if p == nil {
		return never(PrometheusResult{Source: diagnose.MetricsSource{Reading: skipped("no Prometheus is configured")}})
	}
	var known []BrokerInfo
	if c.topo != nil {
		known = c.topo.brokers
	}
	fail := func(f failure) PrometheusResult {
		return PrometheusResult{Source: diagnose.MetricsSource{Reading: f.reading("prometheus", c.now())}}
	}
	return begin(c.r, "prometheus", fail, func() PrometheusResult {
		return p.Brokers(ctx, c.q.At, c.q.metricsRange, known)
	})
}

func (c *collection) beginLogs(ctx context.Context) section[lokiResult] {
	l := c.r.cfg.Loki
	if l == nil {
		return never(lokiResult{reading: skipped("no log source is configured")})
	}
	fail := func(f failure) lokiResult { return lokiResult{reading: f.reading(srcLoki, c.now())} }
	return begin(c.r, "logs", fail, func() lokiResult { return l.read(ctx, c.q, c.now) })
}

func (c *collection) beginFacts(ctx context.Context) section[clusterFacts] {
	none := func(failure) clusterFacts { return clusterFacts{quorum: -1} }
	if c.kafkaDown() {
		return never(none(failure{}))
	}
	return begin(c.r, "facts", none, func() clusterFacts { return c.r.cfg.Kafka.readFacts(ctx, c.topo, c.now) })
}

func (c *collection) beginSweep(ctx context.Context) section[sweepResult] {
	if c.kafkaDown() {
		return never(sweepResult{failed: c.topoRead})
	}
	fail := func(f failure) sweepResult { return sweepResult{failed: f.reading("kafka: ListGroups", c.now())} }
	return begin(c.r, "groups", fail, func() sweepResult {
		return sweepResult{sweep: c.r.cfg.Kafka.sweepGroups(ctx, c.topo, everything(), c.now)}
	})
}

func targetGroup(q question) []string {
	if q.Target.Group == "" {
		return nil
	}
	return []string{q.Target.Group}
}

// beginHistories reads the logs of at most maxScanGroups groups.
func (c *collection) beginHistories(ctx context.Context, ids []string) section[map[string]diagnose.GroupHistory] {
	if len(ids) == 0 || c.kafkaDown() {
		return never(map[string]diagnose.GroupHistory{})
	}
	fail := func(f failure) map[string]diagnose.GroupHistory {
		out := map[string]diagnose.GroupHistory{}
		for _, id := range ids {
			out[id] = diagnose.GroupHistory{Reading: f.reading(srcOffsets, c.now()), OffsetsPartition: -1}
		}
		return out
	}
	return begin(c.r, "offsets topic", fail, func() map[string]diagnose.GroupHistory {
		out := map[string]diagnose.GroupHistory{}
		for _, id := range ids {
			out[id] = c.r.cfg.Kafka.readHistory(ctx, c.topo, id, c.q.sp, c.now)
		}
		return out
	})
}

// beginScan looks for the groups that lost members: in the watcher's memory,
// and in the offsets topic where the memory does not cover the window.
func (c *collection) beginScan(ctx context.Context) section[scanResult] {
	if !c.q.Scan {
		return never(scanResult{reading: skipped("not asked for")})
	}
	var seen []suspect
	covered := false
	if w := c.r.cfg.Watcher; w != nil {
		seen, covered = w.suspects(c.q.Target.Broker, c.q.sp)
	}
	if covered || len(seen) >= maxScanGroups || c.kafkaDown() {
		return never(scanResult{reading: c.watcher.Reading, suspects: seen})
	}
	fail := func(f failure) scanResult {
		return scanResult{reading: f.reading(srcOffsets, c.now()), suspects: seen}
	}
	// Half of what is left, since the chosen groups are read in full afterwards.
	ctx, cancel := halfOf(ctx)
	return begin(c.r, "scan", fail, func() scanResult {
		defer cancel()
		out := c.r.cfg.Kafka.scanOffsets(ctx, c.topo, c.q.Target.Broker, c.q.sp, c.now)
		out.suspects = mergeSuspects(seen, out.suspects)
		return out
	})
}

func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// mergeSuspects joins two lists; a group in both keeps the larger count.
func mergeSuspects(a, b []suspect) []suspect {
	by := map[string]suspect{}
	for _, s := range slices.Concat(a, b) {
		if was, ok := by[s.group]; !ok || s.lost > was.lost {
			by[s.group] = s
		}
	}
	out := make([]suspect, 0, len(by))
	for _, s := range by {
		out = append(out, s)
	}
	rank(out)
	return out
}

// beginExported asks the group exporters about the groups in the evidence, or
// about the target where Kafka does not know it.
func (c *collection) beginExported(ctx context.Context) section[diagnose.ExportedGroups] {
	p := c.r.metrics
	ids := targetGroup(c.q)
	for _, g := range c.groups {
		ids = append(ids, g.ID)
	}
	none := func(why string) section[diagnose.ExportedGroups] {
		return never(diagnose.ExportedGroups{Reading: skipped(why)})
	}
	switch {
	case p == nil:
		return none("no Prometheus is configured")
	case len(ids) == 0 || c.q.Target.Group == "" && !c.q.Scan && c.q.Target.Topic == "":
		return none("only read for a question about groups")
	}
	fail := func(f failure) diagnose.ExportedGroups {
		return diagnose.ExportedGroups{Reading: f.reading("prometheus", c.now())}
	}
	return begin(c.r, "group exporters", fail, func() diagnose.ExportedGroups {
		return p.Groups(ctx, c.q.At, c.q.metricsRange, ids)
	})
}

// maxClientIDs bounds the client metrics of one collection.
const maxClientIDs = 50

func (c *collection) beginClients(ctx context.Context) section[clientsResult] {
	p := c.r.metrics
	ids := c.clientIDs()
	switch {
	case p == nil:
		return never(clientsResult{reading: skipped("no Prometheus is configured")})
	case len(c.groups) == 0 || c.q.Target.Group == "" && !c.q.Scan:
		return never(clientsResult{reading: skipped("only read for a question about groups")})
	case len(ids) == 0:
		return never(clientsResult{reading: diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: c.now(), Source: "prometheus",
			Error: "no member of the group is known, so there is no client id to look for"}})
	}
	fail := func(f failure) clientsResult { return clientsResult{reading: f.reading("prometheus", c.now())} }
	return begin(c.r, "client metrics", fail, func() clientsResult {
		r, clients := p.Clients(ctx, c.q.At, c.q.metricsRange, ids)
		return clientsResult{r, clients}
	})
}

// beginPods looks for the pods behind the members' addresses and names.
func (c *collection) beginPods(ctx context.Context) section[podsResult] {
	p := c.r.metrics
	hosts := c.ofMembers(func(m aMember) string { return m.host })
	names := diagnose.PodNames(append(c.ofMembers(func(m aMember) string { return m.instance }), c.clientIDs()...)...)
	switch {
	case p == nil:
		return never(podsResult{reading: skipped("no Prometheus is configured")})
	case len(c.groups) == 0 || c.q.Target.Group == "" && !c.q.Scan:
		return never(podsResult{reading: skipped("only read for a question about groups")})
	case len(hosts) == 0:
		return never(podsResult{reading: diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: c.now(), Source: "prometheus",
			Error: "no member of the group is known, so there is no address to look for"}})
	}
	fail := func(f failure) podsResult { return podsResult{reading: f.reading("prometheus", c.now())} }
	return begin(c.r, "pods", fail, func() podsResult {
		r, pods := p.Pods(ctx, c.q.At, c.q.metricsRange, hosts, names)
		return podsResult{r, pods}
	})
}

// clientIDs are those of the groups' members, present and past.
func (c *collection) clientIDs() []string {
	return c.ofMembers(func(m aMember) string { return m.client })
}

// aMember is what says who a member is.
type aMember struct{ client, host, instance string }

// ofMembers collects something of the groups' members, present and past: sorted,
// each once, bounded.
func (c *collection) ofMembers(what func(m aMember) string) []string {
	seen := map[string]bool{}
	for _, g := range c.groups {
		for _, s := range g.Snapshots {
			for _, m := range s.Members {
				seen[what(aMember{m.ClientID, m.Host, m.InstanceID})] = true
			}
		}
		for _, rec := range g.History.Records {
			for _, m := range rec.Members {
				seen[what(aMember{m.ClientID, m.Host, m.InstanceID})] = true
			}
		}
		for _, l := range c.watcher.Losses {
			if l.Group == g.ID {
				seen[what(aMember{l.ClientID, l.Host, ""})] = true
			}
		}
	}
	delete(seen, "")
	out := make([]string, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	sort.Strings(out)
	return out[:min(maxClientIDs, len(out))]
}
