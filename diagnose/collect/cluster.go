package collect

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

const (
	slotsConfig    = "max.incremental.fetch.session.cache.slots"
	fetchersConfig = "num.replica.fetchers"
)

// brokerConfigs are the settings that rules and playbooks use, besides the
// slots of the fetch session cache.
var brokerConfigs = []string{
	fetchersConfig,
	"auto.leader.rebalance.enable",
	"leader.imbalance.check.interval.seconds",
	"group.min.session.timeout.ms",
	"group.max.session.timeout.ms",
	"group.initial.rebalance.delay.ms",
	"group.consumer.session.timeout.ms",
	"group.consumer.max.session.timeout.ms",
	"group.consumer.heartbeat.interval.ms",
	"offsets.topic.num.partitions",
	"replica.selector.class",
}

// clusterFacts are what the admin API says about brokers, apart from groups.
type clusterFacts struct {
	versions map[int32]map[int16]int16
	failed   map[int32]failure // ApiVersions
	quorum   int32             // -1 unknown
	settings map[int32]brokerSettings
}

type brokerSettings struct {
	slots  diagnose.Setting
	others map[string]diagnose.Setting
}

// readFacts asks every broker for its API versions and settings, and the
// cluster for its controller.
func (k *Kafka) readFacts(ctx context.Context, topo *topology, now func() time.Time) clusterFacts {
	f := clusterFacts{
		versions: map[int32]map[int16]int16{}, failed: map[int32]failure{}, quorum: -1,
		settings: map[int32]brokerSettings{},
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range topo.ids() {
		wg.Go(func() {
			v, err := k.c.MaxVersions(ctx, id, now())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				f.failed[id] = kafkaFailure(err, "")
				return
			}
			f.versions[id] = v
		})
		wg.Go(func() {
			s := k.readSettings(ctx, id, now)
			mu.Lock()
			defer mu.Unlock()
			f.settings[id] = s
		})
	}
	wg.Wait()
	f.quorum = k.controller(ctx, f, topo)
	return f
}

// controller asks the quorum where there is one: in KRaft clusters the
// controller in Metadata is any live broker.
func (k *Kafka) controller(ctx context.Context, f clusterFacts, topo *topology) int32 {
	for _, v := range f.versions {
		if _, kraft := v[kmsg.DescribeQuorum.Int16()]; !kraft {
			return topo.controller
		}
	}
	if len(f.versions) == 0 {
		return -1
	}
	id, err := k.c.QuorumLeader(ctx)
	if err != nil {
		return -1 // costs only this number: no rule needs it
	}
	return id
}

func (k *Kafka) readSettings(ctx context.Context, id int32, now func() time.Time) brokerSettings {
	start := now()
	const source = "kafka: DescribeConfigs"
	resp, err := k.c.BrokerConfigs(ctx, id, append([]string{slotsConfig}, brokerConfigs...))
	at := now()
	if err == nil && len(resp.Resources) > 0 {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err != nil {
		r := took(kafkaFailure(err, "DescribeConfigs on the Cluster").reading(source, at), start, at)
		return brokerSettings{slots: diagnose.Setting{Reading: r}, others: sameForAll(r)}
	}
	found := settingsFound(resp, source, start, at)
	return splitSettings(found, took(diagnose.Reading{Status: diagnose.StatusUnsupported, AsOf: at, Source: source,
		Error: "this broker version has no such setting"}, start, at))
}

// groupConfigs are the settings of a KIP-848 group that replace its coordinator's.
var groupConfigs = []string{"consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"}

// readGroupSettings asks for a KIP-848 group's own settings. Without the right
// (DescribeConfigs on the Group) or on a broker that knows none the answer says so,
// and the coordinator's settings hold.
func (k *Kafka) readGroupSettings(ctx context.Context, broker int32, group string, now func() time.Time) map[string]diagnose.Setting {
	start := now()
	const source = "kafka: DescribeConfigs of the group"
	resp, err := k.c.GroupConfigs(ctx, broker, group, groupConfigs)
	at := now()
	if err == nil && len(resp.Resources) > 0 {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err == nil {
		return settingsFound(resp, source, start, at)
	}
	r := took(kafkaFailure(err, "DescribeConfigs on Group "+group).reading(source, at), start, at)
	out := map[string]diagnose.Setting{}
	for _, name := range groupConfigs {
		out[name] = diagnose.Setting{Reading: r}
	}
	return out
}

func settingsFound(resp *kmsg.DescribeConfigsResponse, source string, start, at time.Time) map[string]diagnose.Setting {
	found := map[string]diagnose.Setting{}
	for _, res := range resp.Resources {
		for _, c := range res.Configs {
			s := diagnose.Setting{Reading: took(ok(source, at), start, at), Origin: c.Source.String()}
			if c.Value != nil {
				s.Value = *c.Value
			}
			found[c.Name] = s
		}
	}
	return found
}

func sameForAll(r diagnose.Reading) map[string]diagnose.Setting {
	out := map[string]diagnose.Setting{}
	for _, name := range brokerConfigs {
		out[name] = diagnose.Setting{Reading: r}
	}
	return out
}

func splitSettings(found map[string]diagnose.Setting, absent diagnose.Reading) brokerSettings {
	get := func(name string) diagnose.Setting {
		if s, ok := found[name]; ok {
			return s
		}
		return diagnose.Setting{Reading: absent}
	}
	out := brokerSettings{slots: get(slotsConfig), others: map[string]diagnose.Setting{}}
	for _, name := range brokerConfigs {
		out.others[name] = get(name)
	}
	return out
}

// fillCluster writes the cluster section.
func (k *Kafka) fillCluster(topo *topology, f clusterFacts, r diagnose.Reading) diagnose.Cluster {
	c := diagnose.Cluster{Reading: r, ID: topo.clusterID, ControllerID: f.quorum, Flavour: k.flavour}
	if c.Flavour == "" {
		c.Flavour = flavourOf(topo.clusterID, slices.Concat(k.seeds, topo.hosts()))
	}
	c.Version, c.ShardedCache = releases(f.versions)
	if len(f.failed) > 0 {
		c.Status, c.Error = diagnose.StatusPartial, describeFailures(f.failed)
	}
	if k.version != "" {
		sharded := !olderThan38(k.version)
		c.Version, c.ShardedCache = k.version, &sharded
	}
	return c
}

// flavourOf recognises what gives itself away by its cluster id, or by the name of a
// host: of a broker in its metadata, or of a bootstrap server. Others have to be
// named in the configuration: Bufstream shows nothing of its own. AutoMQ is Apache
// Kafka's own broker above the log, with its fetch sessions and coordinator, so
// that all classes apply.
func flavourOf(clusterID string, hosts []string) string {
	switch {
	case strings.HasPrefix(clusterID, "redpanda."):
		return "redpanda"
	case strings.HasPrefix(clusterID, "vci_"): // the id of a virtual cluster
		return "warpstream"
	}
	for _, h := range hosts {
		if host, _, err := net.SplitHostPort(h); err == nil {
			h = host
		}
		h = "." + strings.ToLower(strings.TrimSuffix(h, "."))
		for _, d := range namedDomains {
			if strings.HasSuffix(h, d.domain) {
				return d.flavour
			}
		}
	}
	return "apache"
}

// namedDomains are the domains under which services give Kafka's protocol: those of
// Event Hubs' namespaces in Azure's clouds (public, China, US government), and
// WarpStream's discovery.
var namedDomains = []struct{ domain, flavour string }{
	{".servicebus.windows.net", "azure-event-hubs"},
	{".servicebus.chinacloudapi.cn", "azure-event-hubs"},
	{".servicebus.usgovcloudapi.net", "azure-event-hubs"},
	{".warpstream.com", "warpstream"},
}

// hosts are the brokers' hosts.
func (t *topology) hosts() []string {
	out := make([]string, 0, len(t.brokers))
	for _, b := range t.brokers {
		out = append(out, b.Host)
	}
	return out
}

// olderThan38 reads an override like "3.7.2".
func olderThan38(version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < 3 || major == 3 && minor < 8
}

// releases names the releases that the API versions point to, and whether the
// fetch session cache is sharded. ListGroups version 5 came with 3.8, as did
// the shards (KAFKA-9401). In the middle of a rolling upgrade both ends are
// named and the shards are unknown.
func releases(versions map[int32]map[int16]int16) (string, *bool) {
	if len(versions) == 0 {
		return "", nil
	}
	names := map[string]int{}
	sharded, plain := 0, 0
	for _, v := range versions {
		name, order := release(v)
		names[name] = order
		if v[kmsg.ListGroups.Int16()] >= 5 {
			sharded++
		} else {
			plain++
		}
	}
	var shards *bool
	if sharded == 0 || plain == 0 {
		all := sharded > 0
		shards = &all
	}
	return joinReleases(names), shards
}

func joinReleases(names map[string]int) string {
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Slice(sorted, func(i, j int) bool { return names[sorted[i]] < names[sorted[j]] })
	return strings.Join(sorted, " and ")
}

// release is the newest release whose marks a broker shows, with its rank. The
// marks are Kafka's own protocol versions; look-alikes may differ, hence the
// override in the configuration.
func release(v map[int16]int16) (string, int) {
	fetch := v[kmsg.Fetch.Int16()]
	beat, has848 := v[kmsg.ConsumerGroupHeartbeat.Int16()]
	switch {
	case v[kmsg.ListOffsets.Int16()] >= 11:
		return "4.2 or newer", 42
	case has848 && beat >= 1:
		return "4.0 or newer", 40
	case fetch >= 17:
		return "3.9", 39
	case v[kmsg.ListGroups.Int16()] >= 5:
		return "3.8", 38
	case fetch >= 16:
		return "3.7", 37
	case fetch >= 15:
		return "3.5 or 3.6", 35
	case fetch >= 13:
		return "3.1 to 3.4", 31
	case v[kmsg.OffsetFetch.Int16()] >= batchedOffsets:
		return "3.0", 30
	}
	return "older than 3.0", 20
}
