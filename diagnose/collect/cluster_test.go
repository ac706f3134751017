package collect

import (
	"testing"

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
	if got := flavourOf("redpanda.5f0b"); got != "redpanda" {
		t.Errorf("flavour %s", got)
	}
}
