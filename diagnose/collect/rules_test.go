package collect

import (
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Record, Alert, Expr string
		}
	}
}

func shippedRules(t *testing.T, name string) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../deploy/prometheus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var f ruleFile
	if err := yaml.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			out[r.Record+r.Alert] = r.Expr
		}
	}
	return out
}

// The shipped recording rules bring each recorded dialect under one name: the
// same value as the scrape itself has, under the labels of the target.
func TestShippedRulesReadEveryRecordedDialect(t *testing.T) {
	rules := shippedRules(t, "rules-brokers.yaml")
	all := map[string]float64{
		"kafka_oncall:fetch_session_errors:total": 3, "kafka_oncall:unknown_member_errors:total": 10,
		"kafka_oncall:fetch_session_evictions:total": 0, "kafka_oncall:fetch_sessions:count": 3,
	}
	for sample, want := range map[string]map[string]float64{
		"jmxexample-kraft-4.4.0": all, "msk-4.4.0": all, "confluent-4.4.0": all, "grafana-4.4.0": all, "bitnami-4.4.0": all, "bitnami-http020-4.4.0": all,
		"jmxexample-kraft-agent020-4.4.0": nil, "jmxexample-2_0_0-4.4.0": nil, "grafana-agent020-4.4.0": nil, "msk-agent020-4.4.0": nil, "strimzi-agent160-4.4.0": nil,
		"strimzi-4.4.0":          {"kafka_oncall:fetch_session_errors:total": 3, "kafka_oncall:unknown_member_errors:total": 10, "kafka_oncall:fetch_session_evictions:total": 0, "kafka_oncall:fetch_sessions:count": 1},
		"jmxexample-kraft-3.9.2": nil, "msk-3.9.2": nil, "confluent-3.9.2": nil, "grafana-3.9.2": nil, "bitnami-3.9.2": nil, "strimzi-3.9.2": nil,
		"strimzi-metrics-reporter-all-4.4.0": nil, "strimzi-metrics-reporter-all-3.9.2": nil,
	} {
		st, at := recorded(t, sample, labels.Label{Name: "cluster", Value: "c"}, labels.Label{Name: "instance", Value: "b3:9404"}, labels.Label{Name: "pod", Value: "kafka-3"})
		p := prom(t, st, PrometheusConfig{})
		for _, name := range []string{"kafka_oncall:fetch_session_errors:total", "kafka_oncall:unknown_member_errors:total", "kafka_oncall:fetch_session_evictions:total", "kafka_oncall:fetch_sessions:count", "kafka_oncall:broker_start:seconds"} {
			value, _, _, err := p.api.Query(t.Context(), rules[name], at)
			v, ok := value.(model.Vector)
			if err != nil || !ok || len(v) != 1 {
				t.Errorf("%s: %s: %v %v, want one series", sample, name, value, err)
				continue
			}
			delete(v[0].Metric, model.MetricNameLabel) // a recording rule drops it
			if m := v[0].Metric; len(m) != 3 || m["pod"] != "kafka-3" || m["instance"] != "b3:9404" {
				t.Errorf("%s: %s has labels %v, want the target's", sample, name, m)
			}
			n, known := want[name]
			if age := at.Unix() - int64(v[0].Value); strings.HasSuffix(name, "seconds") && (age < 0 || age > 24*3600) || known && float64(v[0].Value) != n {
				t.Errorf("%s: %s = %v, want %v", sample, name, v[0].Value, n)
			}
		}
	}
}

// Each expression of the group rules is one that Prometheus accepts over the
// recorded group exporters, and those series that it names are there.
func TestShippedGroupRulesNameRecordedSeries(t *testing.T) {
	rules := shippedRules(t, "rules-groups.yaml")
	for sample, names := range map[string][]string{
		"kafka_exporter-3.9.2": {"kafka_consumergroup_lag", "kafka_consumergroup_members"}, "kafka_exporter-4.4.0": {"kafka_consumergroup_lag", "kafka_consumergroup_members"},
		"kminion-adminapi-4.4.0":     {"kminion_kafka_consumer_group_topic_lag", "kminion_kafka_consumer_group_members", "kminion_kafka_consumer_group_info"},
		"kminion-offsetstopic-3.9.2": {"kminion_kafka_consumer_group_topic_lag", "kminion_kafka_consumer_group_members", "kminion_kafka_consumer_group_info"},
	} {
		st, at := recorded(t, sample, labels.Label{Name: "cluster", Value: "c"})
		p := prom(t, st, PrometheusConfig{})
		for _, n := range names {
			if value, _, _, err := p.api.Query(t.Context(), n, at); err != nil || len(value.(model.Vector)) == 0 {
				t.Errorf("%s has no %s: %v", sample, n, err)
			}
			used := false
			for _, expr := range rules {
				used = used || strings.Contains(expr, n)
			}
			if !used {
				t.Errorf("no rule reads %s", n)
			}
		}
		for alert, expr := range rules {
			if value, _, _, err := p.api.Query(t.Context(), expr, at); err != nil || len(value.(model.Vector)) != 0 {
				t.Errorf("%s: %s: %v %v, want no alert from a healthy scrape", sample, alert, value, err)
			}
		}
	}
}
