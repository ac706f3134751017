package collect

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// demandCase is a cluster of brokers 1, 2, 3 where topic t has partitions
// 0 (leader 1, follower 2), 1 (leader 1, followers 2 and 3) and 2 (leader 2,
// follower 4, which is down).
func demandTopology() *topology {
	part := func(leader int32, replicas ...int32) partInfo { return partInfo{leader, replicas} }
	return &topology{
		brokers: []BrokerInfo{{ID: 1}, {ID: 2}, {ID: 3}},
		topics: map[string]*topicInfo{
			"t":    {parts: []partInfo{part(1, 1, 2), part(1, 1, 2, 3), part(2, 2, 4)}},
			"dead": {parts: []partInfo{part(-1, 1, 2)}},
		},
	}
}

func groupOf(members ...diagnose.Member) *groupLook {
	return &groupLook{reading: diagnose.Reading{Status: diagnose.StatusOK}, snapshot: diagnose.GroupSnapshot{State: "Stable", Members: members}}
}

func on(id string, parts ...int32) diagnose.Member {
	m := diagnose.Member{ID: id}
	for _, p := range parts {
		m.Partitions = append(m.Partitions, tp("t", p))
	}
	return m
}

func TestDemand(t *testing.T) {
	groups := map[string]*groupLook{
		"a": groupOf(on("a-1", 0, 1), on("a-2", 2), on("a-3")), // two partitions of one leader: one session
		"b": groupOf(on("b-1", 0, 2), on("b-2", 1)),            // one session on each of two leaders
		"c": groupOf(on("rdkafka-1", 0), on("sarama-2", 1)),    // libraries without sessions
	}
	got := demand(demandInput{topo: demandTopology(), groups: groups, fetchers: map[int32]int{2: 4}})
	want := map[int32][2]int{
		1: {3, 3}, // a-1, b-1, b-2; follower 2 replicates two partitions with four fetchers, follower 3 one
		2: {2, 0}, // a-2, b-1; the follower of partition 2 is down
		3: {0, 0},
	}
	for id, w := range want {
		d := got[id]
		if d.Consumers != w[0] || d.Followers != w[1] || d.Connections != -1 || !d.OK() {
			t.Errorf("broker %d: %+v, want %d consumers and %d followers", id, d, w[0], w[1])
		}
	}
	if by := got[1].ByGroup; !reflect.DeepEqual(by, []diagnose.GroupDemand{{Group: "b", Members: 2}, {Group: "a", Members: 1}}) {
		t.Errorf("by group: %+v", by)
	}
}

func TestDemandWithACensus(t *testing.T) {
	groups := map[string]*groupLook{"a": groupOf(on("1", 0), on("2", 0), on("3", 0), on("4", 0))}
	for _, tc := range []struct {
		name      string
		census    []diagnose.Software
		consumers int
		status    diagnose.Status
	}{
		{"none exported", nil, 4, diagnose.StatusOK},
		{"only Java", []diagnose.Software{{Name: "apache-kafka-java", Connections: 9}}, 4, diagnose.StatusOK},
		{"only librdkafka", []diagnose.Software{{Name: "librdkafka", Connections: 9}, {Name: diagnose.BotSoftware, Connections: 3}}, 0, diagnose.StatusPartial},
		{"half", []diagnose.Software{{Name: "apache-kafka-java", Connections: 5}, {Name: "confluent-kafka-python", Connections: 5}}, 2, diagnose.StatusPartial},
		{"unknown counts", []diagnose.Software{{Name: "somebody", Connections: 5}}, 4, diagnose.StatusOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := demandInput{topo: demandTopology(), groups: groups, software: map[int32][]diagnose.Software{1: tc.census}, connections: map[int32]int{1: 30}}
			d := demand(in)[1]
			if d.Consumers != tc.consumers || d.Status != tc.status || d.Connections != 30 {
				t.Errorf("%+v, want %d consumers, %s", d, tc.consumers, tc.status)
			}
			if (d.Error == "") != (tc.status == diagnose.StatusOK) {
				t.Errorf("error %q with status %s", d.Error, d.Status)
			}
		})
	}
}

func TestDemandSaysWhatItCouldNotCount(t *testing.T) {
	refused := &groupLook{reading: diagnose.Reading{Status: diagnose.StatusForbidden}}
	moving := groupOf(on("m"))
	moving.state = "PreparingRebalance"
	hidden := groupOf(on("h"))
	hidden.hidden = []string{"secret"}
	d := demand(demandInput{topo: demandTopology(), groups: map[string]*groupLook{"r": refused, "m": moving, "h": hidden}})[1]
	if d.Status != diagnose.StatusPartial || !strings.Contains(d.Error, "1 group could not be described") || !strings.Contains(d.Error, "1 group in a rebalance") ||
		!strings.Contains(d.Error, "1 group with topics that are not visible") || d.Hint == "" {
		t.Errorf("%+v", d.Reading)
	}
}

func TestDemandNamesTenGroups(t *testing.T) {
	groups := map[string]*groupLook{}
	for i := range 30 {
		g := groupOf()
		for m := range i + 1 {
			g.snapshot.Members = append(g.snapshot.Members, on(fmt.Sprint("m", m), 0))
		}
		groups[fmt.Sprintf("g%02d", i)] = g
	}
	by := demand(demandInput{topo: demandTopology(), groups: groups})[1].ByGroup
	if len(by) != 10 || by[0].Group != "g29" || by[9].Group != "g20" {
		t.Errorf("%+v", by)
	}
}

func TestDemandNamesClientsAndHosts(t *testing.T) {
	groups := map[string]*groupLook{}
	for i := range 12 {
		id := fmt.Sprintf("notifier-%d", i)
		g := groupOf(on(id+"-a", 0), on("rdkafka-"+id, 1))
		g.snapshot.Members[0].ClientID, g.snapshot.Members[0].Host = fmt.Sprintf("notifier-7f9c6d5b4d-x2x%dq", i), "/10.2.7.31"
		g.snapshot.Members[1].ClientID, g.snapshot.Members[1].Host = "rdkafka", "/10.2.7.99"
		groups[id] = g
	}
	d := demand(demandInput{topo: demandTopology(), groups: groups})[1]
	if want := []diagnose.NamedDemand{{Name: "notifier-*", Members: 12, Groups: 12}}; !reflect.DeepEqual(d.ByClient, want) {
		t.Errorf("by client id: %+v", d.ByClient)
	}
	if want := []diagnose.NamedDemand{{Name: "/10.2.7.31", Members: 12, Groups: 12}}; !reflect.DeepEqual(d.ByHost, want) {
		t.Errorf("by host: %+v", d.ByHost)
	}
}

func TestClientFamily(t *testing.T) {
	for id, want := range map[string]string{
		"":                          "",
		"orders":                    "orders",
		"reports1":                  "reports1",
		"s3sink-2":                  "s3sink-*",
		"consumer-orders-12":        "consumer-orders-*",
		"notifier-7f9c6d5b4d-x2x9q": "notifier-*",
		"app-3f2a9c1e-0b1d-4c5e-8f70-aabbccddeeff-StreamThread-1-consumer": "app-*-StreamThread-*-consumer",
		"12_34.56":               "*",
		"*-*":                    "*",
		strings.Repeat("x", 500): strings.Repeat("x", 200),
	} {
		if got := clientFamily(diagnose.Member{ClientID: id}); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}
