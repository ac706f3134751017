package collect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func number(n int) *int { return &n }

func TestIdentity(t *testing.T) {
	named := func(hosts ...string) []BrokerInfo {
		var out []BrokerInfo
		for i, h := range hosts {
			out = append(out, BrokerInfo{ID: int32(i + 1), Host: h, Port: 9092})
		}
		return out
	}
	// scraped is a target's labels and the broker it must become, 0 = none.
	type scraped struct {
		labels string
		id     int32
	}
	tests := []struct {
		name    string
		cfg     BrokerIDConfig
		known   []BrokerInfo
		targets []scraped
		how     string
	}{
		{"label broker_id", BrokerIDConfig{}, brokers(2), []scraped{{`instance="x:1",broker_id="2"`, 2}, {`instance="y:1",broker_id="1"`, 1}}, "label"},
		{"label nodeId, another case", BrokerIDConfig{}, brokers(2), []scraped{{`instance="x:1",nodeId="2"`, 2}, {`instance="y:1",nodeId="1"`, 1}}, "label"},
		{"the label wins over the host", BrokerIDConfig{}, named("a", "b"), []scraped{{`instance="a:1",kafka_id="2"`, 2}, {`instance="b:1",kafka_id="1"`, 1}}, "label"},
		{"a label with an unknown id is nobody", BrokerIDConfig{}, named("a", "b"), []scraped{{`instance="a:1",broker_id="101"`, 0}, {`instance="b:1"`, 2}}, "advertised host"},
		{"configured pattern", BrokerIDConfig{Label: "instance", Pattern: `^b(\d+)$`}, brokers(2), []scraped{{`instance="b1"`, 1}, {`instance="b2"`, 2}}, "configured pattern"},
		{"configured label", BrokerIDConfig{Label: "shard"}, brokers(2), []scraped{{`instance="x",shard="2"`, 2}, {`instance="y",shard="1"`, 1}}, "configured pattern"},
		{"pod ordinal", BrokerIDConfig{}, brokers(2), []scraped{{`instance="10.0.0.1:9404",pod="prod-kafka-2"`, 2}, {`instance="10.0.0.2:9404",pod="prod-kafka-1"`, 1}}, "pod ordinal"},
		{"ordinal of the instance", BrokerIDConfig{}, brokers(2), []scraped{{`instance="kafka-2.kafka:9404"`, 2}, {`instance="kafka-1.kafka:9404"`, 1}}, "pod ordinal"},
		{"ordinals that start at 0 are not ids that start at 1", BrokerIDConfig{}, brokers(3),
			[]scraped{{`instance="kafka-1.k:1"`, 0}, {`instance="kafka-2.k:1"`, 0}}, ""},
		{"an offset that needs a pod before the first is none", BrokerIDConfig{}, []BrokerInfo{{ID: 1}, {ID: 5}},
			[]scraped{{`instance="kafka-1.k:1"`, 1}}, "pod ordinal"},
		{"one number in two racks is no id", BrokerIDConfig{}, []BrokerInfo{{ID: 1}, {ID: 5}}, []scraped{{`instance="rack-a-1:1"`, 0}, {`instance="rack-b-1:1"`, 0}}, ""},
		{"an address in a name is no id", BrokerIDConfig{}, named("x", "y"), []scraped{{`instance="ip-10-0-0-1.ec2.internal:1"`, 0}, {`instance="ip-10-0-9-2.ec2.internal:1"`, 0}}, ""},
		{"advertised host", BrokerIDConfig{}, named("b-1.msk.example.org", "b-2.msk.example.org"),
			[]scraped{{`instance="b-2.msk.example.org:11001"`, 2}, {`instance="b-1.msk.example.org:11001"`, 1}}, "pod ordinal"},
		{"advertised host, other numbers", BrokerIDConfig{}, []BrokerInfo{{ID: 101, Host: "east.example.org"}, {ID: 102, Host: "west.example.org"}},
			[]scraped{{`instance="West.example.org:7071"`, 102}, {`instance="east:7071"`, 101}}, "advertised host"},
		{"one host for all is no host", BrokerIDConfig{}, named("127.0.0.1", "127.0.0.1"), []scraped{{`instance="127.0.0.1:7071"`, 0}, {`instance="127.0.0.1:7072"`, 0}}, ""},
		{"an IP has no short form", BrokerIDConfig{}, named("10.1.0.1", "10.2.0.1"), []scraped{{`instance="10.3.0.1:7071"`, 0}, {`instance="10.2.0.1:7071"`, 2}}, "advertised host"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			for i, s := range tc.targets {
				l.broker(s.labels, 10*time.Minute, 0, float64(100+i), 300)
			}
			res := prom(t, l.st, PrometheusConfig{BrokerID: tc.cfg}).Brokers(t.Context(), lookAt, lookBack, tc.known)
			if !res.Source.OK() {
				t.Errorf("source %+v", res.Source.Reading)
			}
			placed := map[int32]int{}
			for i, s := range tc.targets {
				if s.id == 0 {
					continue
				}
				placed[s.id]++
				b := byID(t, res, s.id)
				if _, got := sum(b.Signals[diagnose.SignalLeaders]); got != float64(100+i) {
					t.Errorf("broker %d has the series of another target: %v", s.id, got)
				}
				if !b.Identity.OK() || !strings.HasSuffix(b.Identity.Source, tc.how) {
					t.Errorf("broker %d: identity %+v, want by %s", s.id, b.Identity, tc.how)
				}
			}
			for _, b := range res.Brokers {
				if placed[b.ID] == 0 && (b.Identity.Usable() || b.Signals[diagnose.SignalLeaders].Usable()) {
					t.Errorf("broker %d was placed: %+v", b.ID, b.Identity)
				}
			}
		})
	}
}

func TestIdentityByAppInfo(t *testing.T) {
	for _, sample := range []string{"msk-4.4.0", "msk-agent020-4.4.0", "jmxexample-kraft-4.4.0", "jmxexample-2_0_0-4.4.0"} {
		st, at := recorded(t, sample)
		res := prom(t, st, PrometheusConfig{}).Brokers(t.Context(), at, lookBack, brokers(3))
		if b := byID(t, res, 1); !b.Identity.OK() || !strings.HasSuffix(b.Identity.Source, "app-info id") {
			t.Errorf("%s: %+v", sample, b.Identity)
		}
		if b := byID(t, res, 2); b.Identity.Status != diagnose.StatusNotExported || b.Signals[diagnose.SignalErrors70].Usable() {
			t.Errorf("%s: broker 2 %+v, want not exported", sample, b.Identity)
		}
	}
}

func TestIdentityByCounts(t *testing.T) {
	known := func(pairs ...[2]int) []BrokerInfo {
		out := brokers(int32(len(pairs)))
		for i, p := range pairs {
			out[i].Leading, out[i].Replicas = number(p[0]), number(p[1])
		}
		return out
	}
	tests := []struct {
		name  string
		known []BrokerInfo
		// targets are leaders and partitions; want the broker of each, 0 = none.
		targets [][2]float64
		want    []int32
	}{
		{"unique pairs", known([2]int{10, 30}, [2]int{11, 30}, [2]int{10, 31}), [][2]float64{{10, 31}, {10, 30}, {11, 30}}, []int32{3, 1, 2}},
		{"a pair of two brokers stays open", known([2]int{10, 30}, [2]int{10, 30}, [2]int{10, 31}), [][2]float64{{10, 31}, {10, 30}, {10, 30}}, []int32{3, 0, 0}},
		{"two targets with one pair stay open", known([2]int{10, 30}, [2]int{11, 30}), [][2]float64{{10, 30}, {10, 30}}, []int32{0, 0}},
		{"counts moved on", known([2]int{10, 30}, [2]int{11, 30}), [][2]float64{{9, 30}, {12, 30}}, []int32{0, 0}},
		{"one broker needs no name", known([2]int{10, 30}), [][2]float64{{9, 30}}, []int32{1}},
		{"one broker of another size is another cluster's", known([2]int{10, 30}), [][2]float64{{900, 2000}}, []int32{0}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			for i, c := range tc.targets {
				l.broker(fmt.Sprintf(`instance="10.0.0.%d:7071"`, i+1), 10*time.Minute, 0, c[0], c[1])
			}
			res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, tc.known)
			for i, id := range tc.want {
				if id == 0 {
					continue
				}
				s := byID(t, res, id).Signals[diagnose.SignalLeaders].Series
				if len(s) != 1 || s[0].Labels["instance"] != fmt.Sprintf("10.0.0.%d:7071", i+1) {
					t.Errorf("broker %d: %+v", id, s)
				}
			}
			for _, b := range res.Brokers {
				wanted := false
				for _, id := range tc.want {
					wanted = wanted || id == b.ID
				}
				if !wanted && (b.Identity.Status != diagnose.StatusFailed || b.Identity.Hint == "" || b.Signals[diagnose.SignalSessions].Status != diagnose.StatusFailed) {
					t.Errorf("broker %d should be open: %+v", b.ID, b.Identity)
				}
			}
		})
	}
}

func TestCountsOfABrokerThatIsPlaced(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="x",broker_id="1"`, 10*time.Minute, 0, 9, 30) // lost a leader since the metadata
	l.broker(`instance="y"`, 10*time.Minute, 0, 10, 30)
	known := []BrokerInfo{{ID: 1, Leading: number(10), Replicas: number(30)}, {ID: 2, Leading: number(11), Replicas: number(31)}}
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, known)
	if s := byID(t, res, 1).Signals[diagnose.SignalLeaders].Series; !res.Source.OK() || len(s) != 1 || s[0].Labels["instance"] != "x" {
		t.Errorf("source %+v, series %+v", res.Source.Reading, s)
	}
}

func TestOrdinalAgainstCounts(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="kafka-1.k:1"`, 10*time.Minute, 0, 10, 30)
	l.broker(`instance="kafka-2.k:1"`, 10*time.Minute, 0, 10, 40)
	known := []BrokerInfo{{ID: 1, Leading: number(10), Replicas: number(40)}, {ID: 2, Leading: number(10), Replicas: number(30)}}
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, known)
	if s := byID(t, res, 1).Signals[diagnose.SignalLeaders].Series; len(s) != 1 || s[0].Labels["instance"] != "kafka-2.k:1" {
		t.Errorf("the pods' numbers were believed against the partition counts: %+v", s)
	}
}

// A restart may give the target a new name. Both series are the broker's.
func TestInstanceRenamedAtRestart(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="10.0.0.1:7071",broker_id="1"`, 15*time.Minute, 8*time.Minute, 12, 30)
	l.broker(`instance="10.0.9.9:7071",broker_id="1"`, 7*time.Minute, 0, 0, 30)
	l.broker(`instance="10.0.0.2:7071",broker_id="2"`, 15*time.Minute, 0, 12, 30)
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(2))
	m := byID(t, res, 1).Signals[diagnose.SignalLeaders]
	if !m.OK() || len(m.Series) != 2 || m.Series[0].Labels["instance"] != "10.0.0.1:7071" || m.Series[1].Labels["instance"] != "10.0.9.9:7071" {
		t.Errorf("%+v", m)
	}
	if !res.Source.OK() || res.Source.ScrapeSeconds != 15 {
		t.Errorf("source %+v", res.Source)
	}
}

func TestTwoClusters(t *testing.T) {
	four := func(l lab, a, b string) {
		for i := 1; i <= 2; i++ {
			l.broker(fmt.Sprintf(`instance="a%d",broker_id="%d",%s`, i, i, a), 10*time.Minute, 0, 10, 30)
			l.broker(fmt.Sprintf(`instance="b%d",broker_id="%d",%s`, i, i, b), 10*time.Minute, 0, 10, 30)
		}
	}
	tests := []struct {
		name     string
		selector string
		fill     func(lab)
		// want is a part of the hint, "" = accepted.
		want string
	}{
		{"two values of cluster", "", func(l lab) { four(l, `cluster="prod"`, `cluster="test"`) }, `{cluster="prod"}`},
		{"a selector that picks one", `{cluster="prod"}`, func(l lab) { four(l, `cluster="prod"`, `cluster="test"`) }, ""},
		{"one broker id twice", "", func(l lab) { four(l, `namespace="kafka-a"`, `namespace="kafka-b"`) }, `{namespace="kafka-a"}`},
		{"a selector that still matches two", `{job="kafka"}`, func(l lab) { four(l, `job="kafka",env="prod"`, `job="kafka",env="test"`) }, `Narrow prometheus.selector by the label env`},
		{"two active controllers", "", func(l lab) {
			l.broker(`instance="a1",broker_id="1",job="a"`, 10*time.Minute, 0, 10, 30)
			l.broker(`instance="b2",broker_id="2",job="b"`, 10*time.Minute, 0, 10, 30)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="a1",broker_id="1",job="a"}`, 10*time.Minute, 0, 1)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="b2",broker_id="2",job="b"}`, 10*time.Minute, 0, 1)
		}, `{job="a"}`},
		{"the controller moved", "", func(l lab) {
			l.broker(`instance="a1",broker_id="1"`, 10*time.Minute, 0, 10, 30)
			l.broker(`instance="b2",broker_id="2"`, 10*time.Minute, 0, 10, 30)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="a1",broker_id="1"}`, 10*time.Minute, 45*time.Second, 1)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="a1",broker_id="1"}`, 30*time.Second, 0, 0)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="b2",broker_id="2"}`, 10*time.Minute, 45*time.Second, 0)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="b2",broker_id="2"}`, 30*time.Second, 0, 1)
		}, ""},
		{"the old controller is gone", "", func(l lab) {
			l.broker(`instance="a1",broker_id="1"`, 15*time.Minute, 6*time.Minute, 10, 30)
			l.broker(`instance="a1b",broker_id="1"`, 3*time.Minute, 0, 10, 30)
			l.broker(`instance="b2",broker_id="2"`, 10*time.Minute, 0, 10, 30)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="a1",broker_id="1"}`, 10*time.Minute, 6*time.Minute, 1)
			l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="b2",broker_id="2"}`, 5*time.Minute, 0, 1)
		}, ""},
		{"two clusters with different exporters", "", func(l lab) {
			l.broker(`instance="a1",broker_id="1",cluster="prod"`, 10*time.Minute, 0, 10, 30)
			for i := range 50 {
				l.put(fmt.Sprintf(`kafka_network_RequestMetrics_Count{name="x%d",instance="b1",broker_id="1",cluster="test"}`, i), 10*time.Minute, 0, 1)
			}
		}, `{cluster="prod"}`},
		{"two exporters and no label for the cluster", "", func(l lab) {
			l.broker(`instance="a1",broker_id="1"`, 10*time.Minute, 0, 10, 30)
			l.put(`kafka_network_RequestMetrics_Count{name="x",instance="b1",broker_id="2"}`, 10*time.Minute, 0, 1)
		}, `Set prometheus.selector`},
		{"a process scraped by two jobs", "", func(l lab) {
			for i := 1; i <= 2; i++ {
				for _, job := range []string{"a", "b"} {
					target := fmt.Sprintf(`instance="h%d",broker_id="%d",job=%q`, i, i, job)
					l.broker(target, 10*time.Minute, 0, 10, 30)
					l.put(`process_start_time_seconds{`+target+`}`, 10*time.Minute, 0, 1796001000.123+float64(i))
					l.put(`kafka_controller_kafkacontroller_activecontrollercount{`+target+`}`, 10*time.Minute, 0, float64(i%2))
				}
			}
		}, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			tc.fill(l)
			res := prom(t, l.st, PrometheusConfig{Selector: tc.selector}).Brokers(t.Context(), lookAt, lookBack, brokers(2))
			if tc.want == "" {
				if m := byID(t, res, 2).Signals[diagnose.SignalLeaders]; !res.Source.OK() || !m.OK() || len(m.Series) != 1 {
					t.Fatalf("source %+v, leaders %+v", res.Source, m)
				}
				return
			}
			if res.Source.Status != diagnose.StatusFailed || !strings.Contains(res.Source.Hint, tc.want) {
				t.Errorf("source %+v, want failed with %s", res.Source.Reading, tc.want)
			}
			for _, b := range res.Brokers {
				if b.Identity.Usable() || len(b.Signals[diagnose.SignalLeaders].Series) > 0 {
					t.Errorf("broker %d got series of a mix: %+v", b.ID, b.Identity)
				}
			}
		})
	}
}

// Without the admin API, only ids that are spelled out are believed, and the
// readings say that nobody confirmed them.
func TestIdentityWithoutAdminAPI(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="h7:1",broker_id="7"`, 10*time.Minute, 0, 10, 30)
	l.broker(`instance="kafka-8:1"`, 10*time.Minute, 0, 11, 30)
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, nil)
	if len(res.Brokers) != 1 || res.Brokers[0].ID != 7 || res.Brokers[0].Identity.Status != diagnose.StatusPartial || res.Brokers[0].Identity.Error == "" {
		t.Errorf("%+v", res.Brokers)
	}
}

func TestForeignIDs(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="a",broker_id="101"`, 10*time.Minute, 0, 10, 30)
	l.broker(`instance="b",broker_id="102"`, 10*time.Minute, 0, 10, 30)
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(2))
	if id := byID(t, res, 1).Identity; id.Status != diagnose.StatusFailed || !strings.Contains(id.Hint, "same cluster") {
		t.Errorf("%+v", id)
	}
}

func TestControllersAndOtherProcessesAreNoBrokers(t *testing.T) {
	l := newLab(t)
	l.broker(`instance="127.0.0.1:1"`, 10*time.Minute, 0, 10, 30)
	l.put(`process_start_time_seconds{instance="127.0.0.1:1"}`, 10*time.Minute, 0, 1796000000)
	l.put(`process_start_time_seconds{instance="app"}`, 10*time.Minute, 0, 1796000001)
	l.put(`kafka_controller_kafkacontroller_activecontrollercount{instance="ctl"}`, 10*time.Minute, 0, 1)
	l.put(`kafka_network_requestmetrics_errors_total{instance="ctl",request="ApiVersions",error="NONE"}`, 10*time.Minute, 0, 1)
	res := prom(t, l.st, PrometheusConfig{}).Brokers(t.Context(), lookAt, lookBack, brokers(1))
	b := byID(t, res, 1)
	if n, v := sum(b.Signals[diagnose.SignalProcessStart]); !strings.HasSuffix(b.Identity.Source, "only broker") || n != 1 || v != 1796000000 {
		t.Errorf("identity %+v, start %v", b.Identity, v)
	}
}
