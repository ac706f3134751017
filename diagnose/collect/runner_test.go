package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// fakeMetrics stands in for Prometheus, whose sockets cannot run on a fake
// clock.
type fakeMetrics struct {
	brokers func(ctx context.Context, known []BrokerInfo) PrometheusResult
	asked   []string // client ids
	hosts   []string
	rng     time.Duration
}

func (m *fakeMetrics) Brokers(ctx context.Context, at time.Time, rng time.Duration, known []BrokerInfo) PrometheusResult {
	m.rng = rng
	if m.brokers != nil {
		return m.brokers(ctx, known)
	}
	r := ok("prometheus", at)
	out := PrometheusResult{Source: diagnose.MetricsSource{Reading: r}, Connections: map[int32]int{}}
	for _, b := range known {
		out.Brokers = append(out.Brokers, diagnose.Broker{ID: b.ID, Identity: r, SoftwareReading: r, SoftwareGoneReading: r})
		out.Connections[b.ID] = 40 + int(b.ID)
	}
	return out
}

func (m *fakeMetrics) Clients(_ context.Context, at time.Time, _ time.Duration, ids []string) (diagnose.Reading, []diagnose.Client) {
	m.asked = ids
	return ok("prometheus", at), []diagnose.Client{{ClientID: ids[0]}}
}

func (m *fakeMetrics) Groups(_ context.Context, at time.Time, _ time.Duration, ids []string) diagnose.ExportedGroups {
	return diagnose.ExportedGroups{Reading: ok("prometheus", at), Groups: []diagnose.ExportedGroup{{ID: ids[0], Exporter: "kminion"}}}
}

func (m *fakeMetrics) Pods(_ context.Context, at time.Time, _ time.Duration, hosts, _ []string) (diagnose.Reading, []diagnose.Pod) {
	m.hosts = hosts
	return ok("prometheus", at), nil
}

func (f *fakeKafka) runner(m metricsReader, w *Watcher) *Runner {
	r := NewRunner(RunnerConfig{Cluster: "c1", Kafka: f.k, Watcher: w}, quiet())
	r.metrics = m
	return r
}

// collect checks what holds for every evidence.
func (f *fakeKafka) collect(r *Runner, req diagnose.Request) diagnose.Evidence {
	f.t.Helper()
	start := time.Now()
	e := r.Collect(f.ctx(), req)
	if took := time.Since(start); took > r.cfg.Budget {
		f.t.Errorf("took %s of a budget of %s", took, r.cfg.Budget)
	}
	checkReadings(f.t, e)
	b, err := json.Marshal(e)
	if err != nil {
		f.t.Fatal(err)
	}
	var back diagnose.Evidence
	if err := json.Unmarshal(b, &back); err != nil {
		f.t.Fatal(err)
	}
	if again, _ := json.Marshal(back); string(again) != string(b) {
		f.t.Errorf("evidence changes on its way through JSON:\n%s\n%s", b, again)
	}
	return e
}

// checkReadings walks the evidence: every reading tells its status, every
// status but ok tells why, and nothing shows an address.
func checkReadings(t *testing.T, e diagnose.Evidence) {
	t.Helper()
	walk(reflect.ValueOf(e), "", func(path string, r diagnose.Reading) {
		if r.Status == "" {
			t.Errorf("%s: no status", path)
		}
		if r.Status != diagnose.StatusOK && r.Error == "" {
			t.Errorf("%s: %s without a reason", path, r.Status)
		}
		for _, bad := range []string{"localhost", "9092", "127.0.0.1", "goroutine"} {
			if strings.Contains(r.Error+r.Hint, bad) {
				t.Errorf("%s shows %q: %s %s", path, bad, r.Error, r.Hint)
			}
		}
	})
}

func walk(v reflect.Value, path string, see func(string, diagnose.Reading)) {
	switch v.Kind() {
	case reflect.Struct:
		if r, is := v.Interface().(diagnose.Reading); is {
			see(path, r)
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				walk(v.Field(i), path+"."+f.Name, see)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), see)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			walk(v.MapIndex(k), fmt.Sprintf("%s[%v]", path, k), see)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), path, see)
		}
	}
}

// busy is a cluster with a live group, an idle one, and an offsets topic.
func busy(t *testing.T) *fakeKafka {
	t.Helper()
	f := newFake(t, 3, kfake.SeedTopics(6, "t"), kfake.BrokerConfigs(map[string]string{slotsConfig: "2000"}))
	log := f.offsetsLog(6)
	f.produce("t", 6, 10)
	f.commit("idle", "t", 6, 2)
	f.member("orders", "t", kgo.ClientID("app-1"))
	f.waitStable("orders", 1)
	now := time.Now()
	log.record("orders", now.Add(-2*time.Hour), 4, "gone", "stays")
	log.record("orders", now.Add(-2*time.Minute), 5, "stays")
	time.Sleep(15 * time.Second)
	return f
}

func TestCollectForAGroup(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		m := &fakeMetrics{}
		e := f.collect(f.runner(m, nil), diagnose.Request{Target: diagnose.Target{Group: "orders"}})
		if len(e.Groups) != 1 || e.Target.Cluster != "c1" || e.WindowSeconds != 600 {
			t.Fatalf("groups %+v, target %+v, window %d", e.Groups, e.Target, e.WindowSeconds)
		}
		g := e.Groups[0]
		if !g.OK() || !g.LagReading.OK() || !g.History.OK() || !g.History.Baseline || g.Protocol != "classic" || g.ProtocolType != "consumer" {
			t.Errorf("group %+v", g)
		}
		if n := len(g.Lag); n != 2 || g.Lag[1].At.Sub(g.Lag[0].At) < 5*time.Second || g.Lag[1].EndTotal != 60 {
			t.Errorf("lag %+v, want two points 5 s apart", g.Lag)
		}
		if len(g.Snapshots) != 1 || len(g.Snapshots[0].Members) != 1 || !g.Snapshots[0].Until.After(g.Snapshots[0].At) {
			t.Errorf("snapshots %+v, want one that both looks saw", g.Snapshots)
		}
		if len(e.Brokers) != 1 || e.Brokers[0].ID != g.Coordinator {
			t.Errorf("brokers %v, want the coordinator %d", e.Brokers, g.Coordinator)
		}
		if want := []string{"app-1", "client-gone", "client-stays"}; !slices.Equal(m.asked, want) {
			t.Errorf("asked for the metrics of %v, want %v", m.asked, want)
		}
		if len(m.hosts) == 0 || !e.Pods.OK() || len(e.Exported.Groups) != 1 || e.Exported.Groups[0].ID != "orders" {
			t.Errorf("pods of %v, %+v; exporters %+v", m.hosts, e.Pods, e.Exported)
		}
		if len(e.Clients) != 1 || e.Watcher.Status != diagnose.StatusSkipped || e.Logs.Status != diagnose.StatusSkipped {
			t.Errorf("clients %v, watcher %+v, logs %+v", e.Clients, e.Watcher, e.Logs)
		}
		if e.At.Before(g.Lag[1].At) {
			t.Errorf("the evidence of %s holds a lag of %s", e.At, g.Lag[1].At)
		}
	})
}

func TestCollectForABroker(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		id := f.c.LeaderFor("t", 0)
		m := &fakeMetrics{}
		e := f.collect(f.runner(m, nil), diagnose.Request{Target: diagnose.Target{Broker: &id}, Window: time.Minute})
		if e.WindowSeconds != 60 || m.rng < 360*time.Second {
			t.Errorf("window %d, metrics of %s; want at least three waves", e.WindowSeconds, m.rng)
		}
		if len(e.Brokers) != 3 {
			t.Fatalf("brokers %+v, want all: peers matter", e.Brokers)
		}
		consumers := 0
		for i, b := range e.Brokers {
			if b.ID != int32(i) || b.Slots.Value != "2000" || !b.Slots.OK() || b.Slots.Origin == "" || b.Leading == nil {
				t.Errorf("broker %+v", b)
			}
			if b.Demand.Connections != 40+i || !b.Demand.OK() {
				t.Errorf("demand of %d: %+v", b.ID, b.Demand)
			}
			consumers += b.Demand.Consumers
		}
		if consumers == 0 {
			t.Error("no demand for the group's member")
		}
		if n := e.Brokers[0].Settings[fetchersConfig]; n.Value == "" && n.Status != diagnose.StatusUnsupported {
			t.Errorf("%s: %+v", fetchersConfig, n)
		}
		if len(e.Groups) != 1 || e.Groups[0].ID != "orders" || e.Groups[0].History.Status != diagnose.StatusSkipped {
			t.Errorf("groups %+v, want the user of the broker without its log", e.Groups)
		}
		if e.Cluster.ShardedCache == nil || !*e.Cluster.ShardedCache || e.Cluster.Flavour != "apache" || e.Cluster.Version == "" {
			t.Errorf("cluster %+v", e.Cluster)
		}
	})
}

func TestCollectForATopic(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		e := f.collect(f.runner(nil, nil), diagnose.Request{Target: diagnose.Target{Topic: "t"}})
		if len(e.Groups) != 2 || e.Groups[0].ID != "idle" || e.Groups[1].ID != "orders" {
			t.Fatalf("groups %+v", e.Groups)
		}
		if e.Groups[0].Lag[0].Total != 48 || !e.Groups[1].History.Baseline {
			t.Errorf("groups %+v", e.Groups)
		}
		if e.Metrics.Status != diagnose.StatusSkipped || e.ClientsReading.Status != diagnose.StatusSkipped {
			t.Errorf("metrics %+v, clients %+v; want skipped with a reason", e.Metrics, e.ClientsReading)
		}
	})
}

// A membership alert that names no group.
func TestCollectScansACoordinator(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		topo := f.topology()
		_, leader, _ := offsetsPartition(topo, "orders")
		e := f.collect(f.runner(nil, nil), diagnose.Request{Target: diagnose.Target{Broker: &leader}, Scan: true})
		if len(e.Groups) != 1 || e.Groups[0].ID != "orders" || !e.Groups[0].History.Baseline {
			t.Errorf("groups %+v, want the one that lost a member", e.Groups)
		}
		w := f.watch(WatcherConfig{Keep: time.Hour})
		victim := f.member("orders", "t")
		f.waitStable("orders", 2)
		time.Sleep(11 * time.Minute)
		victim.Close()
		time.Sleep(2 * time.Minute)
		e = f.collect(f.runner(nil, w), diagnose.Request{Scan: true})
		if len(e.Groups) != 1 || e.Groups[0].ID != "orders" || len(e.Watcher.Losses) != 1 || len(e.Groups[0].Snapshots) < 3 {
			t.Errorf("groups %+v, watcher %+v", e.Groups, e.Watcher)
		}
		if lag := e.Groups[0].Lag; len(lag) < 10 || !e.Groups[0].LagReading.OK() {
			t.Errorf("%d lag points, want the watcher's", len(lag))
		}
	})
}

// A slow or broken source costs its own section only.
func TestCollectKeepsSectionsApart(t *testing.T) {
	for _, tc := range []struct {
		name string
		fail func(f *fakeKafka, m *fakeMetrics)
		// want are statuses by section; all others must be ok.
		want map[string]diagnose.Status
	}{
		{"nothing broken", func(*fakeKafka, *fakeMetrics) {}, nil},
		{"prometheus hangs", func(_ *fakeKafka, m *fakeMetrics) {
			m.brokers = func(ctx context.Context, _ []BrokerInfo) PrometheusResult {
				time.Sleep(time.Minute) // heeds no context
				return PrometheusResult{}
			}
		}, map[string]diagnose.Status{"metrics": diagnose.StatusTimeout}},
		{"prometheus panics", func(_ *fakeKafka, m *fakeMetrics) {
			m.brokers = func(context.Context, []BrokerInfo) PrometheusResult { panic("bug") }
		}, map[string]diagnose.Status{"metrics": diagnose.StatusFailed}},
		{"settings refused", func(f *fakeKafka, _ *fakeMetrics) {
			f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
		}, map[string]diagnose.Status{"slots": diagnose.StatusForbidden}},
		{"offsets topic refused", func(f *fakeKafka, _ *fakeMetrics) {
			f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: offsetsTopic, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, map[string]diagnose.Status{"history": diagnose.StatusForbidden}},
		{"group refused", func(f *fakeKafka, _ *fakeMetrics) {
			f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeGroups}, Group: "orders", Err: kerr.GroupAuthorizationFailed, Count: -1})
		}, map[string]diagnose.Status{"group": diagnose.StatusForbidden, "groups": diagnose.StatusPartial, "demand": diagnose.StatusPartial}},
		{"end offsets refused", func(f *fakeKafka, _ *fakeMetrics) {
			f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "t", Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, map[string]diagnose.Status{"lag": diagnose.StatusPartial}},
		{"settings hang", func(f *fakeKafka, _ *fakeMetrics) {
			for node := range int32(3) {
				f.silence(node, kmsg.DescribeConfigs)
			}
		}, map[string]diagnose.Status{"slots": diagnose.StatusTimeout, "group": "", "lag": "", "groups": "", "history": "", "demand": "", "clients": "", "cluster": ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				f := busy(t)
				m := &fakeMetrics{}
				tc.fail(f, m)
				r := f.runner(m, nil)
				e := f.collect(r, diagnose.Request{Target: diagnose.Target{Group: "orders"}})
				if len(e.Groups) != 1 || len(e.Brokers) == 0 {
					t.Fatalf("groups %+v, brokers %+v", e.Groups, e.Brokers)
				}
				got := map[string]diagnose.Status{
					"metrics": e.Metrics.Status, "cluster": e.Cluster.Status, "groups": e.GroupsReading.Status, "clients": e.ClientsReading.Status,
					"group": e.Groups[0].Status, "lag": e.Groups[0].LagReading.Status, "history": e.Groups[0].History.Status,
					"slots": e.Brokers[0].Slots.Status, "demand": e.Brokers[0].Demand.Status,
				}
				for section, status := range got {
					want, named := tc.want[section]
					switch {
					case named && want == "": // requests to one connection queue up behind a hanging one
					case named && status != want, !named && status != diagnose.StatusOK:
						t.Errorf("%s is %s, want %q", section, status, want)
					}
				}
				time.Sleep(time.Minute) // let what hangs end
			})
		})
	}
}

func TestCollectWithoutKafka(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		w := f.watch(WatcherConfig{})
		m := &fakeMetrics{}
		r := f.runner(m, w)
		time.Sleep(2 * time.Minute)
		for node := range int32(3) {
			f.silence(node, kmsg.Metadata)
		}
		e := f.collect(r, diagnose.Request{Target: diagnose.Target{Group: "orders"}})
		if e.Cluster.Status != diagnose.StatusTimeout || e.GroupsReading.Status != diagnose.StatusTimeout {
			t.Errorf("cluster %+v, groups %+v", e.Cluster.Reading, e.GroupsReading)
		}
		if len(e.Groups) != 1 || len(e.Groups[0].Snapshots) == 0 || len(e.Groups[0].Lag) == 0 {
			t.Errorf("groups %+v, want the watcher's memory", e.Groups)
		}
		if !e.Metrics.OK() || len(e.Brokers) != 1 || !e.Brokers[0].Identity.OK() {
			t.Errorf("metrics %+v, brokers %+v; want them matched by the last known topology", e.Metrics, e.Brokers)
		}
		if e.Brokers[0].Slots.Status != diagnose.StatusTimeout || e.Brokers[0].Demand.Status != diagnose.StatusTimeout {
			t.Errorf("broker %+v", e.Brokers[0])
		}
	})
}

func TestCollectUnreachable(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		vn := &kfake.VirtualNetwork{}
		k, err := NewKafkaWith(KafkaConfig{BootstrapServers: []string{"localhost:9092"}}, quiet(), KafkaOptions{Dialer: vn.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		id := int32(3)
		r := NewRunner(RunnerConfig{Cluster: "c1", Kafka: k}, quiet())
		for _, target := range []diagnose.Target{{Group: "orders"}, {Broker: &id}, {Topic: "t"}, {}} {
			e := r.Collect(t.Context(), diagnose.Request{Target: target, Scan: target == diagnose.Target{}})
			checkReadings(t, e)
			if e.Cluster.Status != diagnose.StatusUnreachable || e.GroupsReading.Status != diagnose.StatusUnreachable {
				t.Errorf("%+v: cluster %+v, groups %+v", target, e.Cluster.Reading, e.GroupsReading)
			}
			if target.Group != "" && (len(e.Groups) != 1 || e.Groups[0].Status != diagnose.StatusUnreachable) {
				t.Errorf("groups %+v", e.Groups)
			}
		}
	})
}

func TestCollectForAGroupThatIsNotThere(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := busy(t)
		e := f.collect(f.runner(nil, nil), diagnose.Request{Target: diagnose.Target{Group: "typo"}})
		if g := e.Groups[0]; g.Status != diagnose.StatusEmpty || !strings.Contains(g.Error, "misspelled") {
			t.Errorf("%+v", g.Reading)
		}
		f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeGroups}, Group: "secret", Err: kerr.GroupAuthorizationFailed, Count: -1})
		e = f.collect(f.runner(nil, nil), diagnose.Request{Target: diagnose.Target{Group: "secret"}})
		if g := e.Groups[0]; g.Status != diagnose.StatusForbidden || g.Hint != "needs Describe on Group secret" {
			t.Errorf("%+v", g.Reading)
		}
	})
}
