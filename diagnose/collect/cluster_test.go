package collect

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func maxVersions(v *kversion.Versions) map[int16]int16 {
	out := map[int16]int16{}
	v.EachMaxKeyVersion(func(k, max int16) { out[k] = max })
	return out
}

// The shards of the fetch session cache came with 3.8 (KAFKA-9401).
func TestReleases(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name    string
		brokers []*kversion.Versions
		version string
		sharded *bool
	}{
		{"2.4", []*kversion.Versions{kversion.V2_4_0()}, "older than 3.0", &no},
		{"3.7", []*kversion.Versions{kversion.V3_7_0()}, "3.7", &no},
		{"3.8", []*kversion.Versions{kversion.V3_8_0()}, "3.8", &yes},
		{"3.9", []*kversion.Versions{kversion.V3_9_0()}, "3.9", &yes},
		{"4.0", []*kversion.Versions{kversion.V4_0_0()}, "4.0 or newer", &yes},
		{"rolling from 3.7 to 3.9", []*kversion.Versions{kversion.V3_9_0(), kversion.V3_7_0(), kversion.V3_9_0()}, "3.7 and 3.9", nil},
		{"nobody answered", nil, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := map[int32]map[int16]int16{}
			for i, v := range tc.brokers {
				in[int32(i)] = maxVersions(v)
			}
			version, sharded := releases(in)
			if version != tc.version {
				t.Errorf("version %q, want %q", version, tc.version)
			}
			if (sharded == nil) != (tc.sharded == nil) || sharded != nil && *sharded != *tc.sharded {
				t.Errorf("sharded %v, want %v", sharded, tc.sharded)
			}
		})
	}
}

func TestVersionOverrideWins(t *testing.T) {
	facts := clusterFacts{versions: map[int32]map[int16]int16{1: {kmsg.ListGroups.Int16(): 5}}}
	for version, sharded := range map[string]bool{"3.7.2": false, "2.8": false, "3.8": true, "3.10": true, "4.4.0": true, "managed": true} {
		k := &Kafka{version: version, flavour: "lookalike"}
		c := k.fillCluster(&topology{clusterID: "redpanda.1"}, facts, diagnose.Reading{Status: diagnose.StatusOK})
		if c.Version != version || c.ShardedCache == nil || *c.ShardedCache != sharded || c.Flavour != "lookalike" {
			t.Errorf("%s: %+v", version, c)
		}
	}
}

// What is certain by the cluster id or a host's domain is recognised, and nothing
// that only looks like it.
func TestFlavourIsTold(t *testing.T) {
	for _, c := range []struct {
		id    string
		hosts []string
		want  string
	}{
		{"redpanda.5f0b", nil, "redpanda"},
		{"vci_7695dba1_efaa", []string{"10.0.0.7"}, "warpstream"},
		{"", []string{"orders.servicebus.windows.net:9093"}, "azure-event-hubs"},
		{"x", []string{"10.0.0.1", "ORDERS.servicebus.Windows.net."}, "azure-event-hubs"},
		{"x", []string{"orders.servicebus.chinacloudapi.cn"}, "azure-event-hubs"},
		{"x", []string{"api-1.kafka.discoveryv2.prod-z.us-east-1.warpstream.com:9092"}, "warpstream"},
		{"MkU3OEVBNTcwNTJENDM2Qg", []string{"kafka-1:9092", "10.0.0.1", "[::1]:9092"}, "apache"},
		{"", []string{"servicebus.windows.net.example.com", "notwarpstream.com", "warpstream:9092", "automq-0:9092"}, "apache"},
		{"", nil, "apache"},
	} {
		if got := flavourOf(c.id, c.hosts); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.id, c.hosts, got, c.want)
		}
	}
	k := &Kafka{seeds: []string{"orders.servicebus.windows.net:9093"}}
	c := k.fillCluster(&topology{brokers: []BrokerInfo{{ID: 0, Host: "10.0.0.1"}}}, clusterFacts{}, diagnose.Reading{Status: diagnose.StatusOK})
	if c.Flavour != "azure-event-hubs" {
		t.Errorf("by its bootstrap server: %s", c.Flavour)
	}
}

// What bounds a session timeout is a setting of the broker, for each of the two
// protocols, and a KIP-848 group may have a session and a heartbeat interval of its
// own: advice on timeouts needs all of them.
func TestTimeoutBoundsAreAskedFor(t *testing.T) {
	ofBroker := map[string]string{
		"group.min.session.timeout.ms": "7000", "group.max.session.timeout.ms": "600000",
		"group.consumer.session.timeout.ms": "40000", "group.consumer.max.session.timeout.ms": "90000",
		"group.consumer.heartbeat.interval.ms": "4000",
	}
	ofGroup := map[string]string{"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "6000"}
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1, kfake.SeedTopics(2, "t"))
		f.c.ControlKey(kmsg.DescribeConfigs.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
			f.c.KeepControl()
			return describe(r.(*kmsg.DescribeConfigsRequest), map[kmsg.ConfigResourceType]map[string]string{
				kmsg.ConfigResourceTypeBroker: ofBroker, kmsg.ConfigResourceTypeGroupConfig: ofGroup,
			}), nil, true
		})
		broker := f.k.readSettings(t.Context(), 0, time.Now).others
		group := f.k.readGroupSettings(t.Context(), 0, "orders", time.Now)
		for _, c := range []struct {
			of        string
			got       map[string]diagnose.Setting
			want      map[string]string
			untouched string
		}{{"the broker", broker, ofBroker, fetchersConfig}, {"the group", group, ofGroup, ""}} {
			for name, value := range c.want {
				if s := c.got[name]; !s.OK() || s.Value != value {
					t.Errorf("%s of %s: %+v, want %s", name, c.of, s, value)
				}
			}
			if c.untouched != "" && c.got[c.untouched].Status != diagnose.StatusUnsupported {
				t.Errorf("%s of %s: %+v, want that the broker has no such setting", c.untouched, c.of, c.got[c.untouched])
			}
		}
	})
}

// describe answers DescribeConfigs with the settings that were asked for by name,
// as Kafka does.
func describe(req *kmsg.DescribeConfigsRequest, known map[kmsg.ConfigResourceType]map[string]string) *kmsg.DescribeConfigsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for _, r := range req.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		for name, value := range known[r.ResourceType] {
			if slices.Contains(r.ConfigNames, name) {
				c := kmsg.NewDescribeConfigsResponseResourceConfig()
				c.Name, c.Value, c.Source = name, kmsg.StringPtr(value), kmsg.ConfigSourceStaticBrokerConfig
				out.Configs = append(out.Configs, c)
			}
		}
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}
