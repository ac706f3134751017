package collect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// TestExportersFromRecordedScrapes: what each exporter says of a classic group
// with two members, of one whose consumer was killed, and of a KIP-848 group
// with one active member.
func TestExportersFromRecordedScrapes(t *testing.T) {
	type want struct {
		members float64 // -1 = not counted
		state   string
		doubt   string
	}
	const counts, zero = "does not count", "0 members all the time"
	for sample, tc := range map[string]struct {
		exporter                    string
		billing, payments, invoices want
	}{
		"kminion-adminapi-3.9.2":                      {"kminion", want{2, "Stable", ""}, want{1, "Stable", ""}, want{-1, "", zero}},
		"kminion-adminapi-3.9.2-payments-stopped":     {"kminion", want{2, "Stable", ""}, want{0, "Empty", ""}, want{-1, "", zero}},
		"kminion-adminapi-4.4.0":                      {"kminion", want{2, "Stable", ""}, want{1, "Stable", ""}, want{-1, "", counts}},
		"kminion-offsetstopic-3.9.2":                  {"kminion", want{2, "Stable", ""}, want{1, "Stable", ""}, want{-1, "", zero}},
		"kminion-offsetstopic-4.4.0":                  {"kminion", want{2, "Stable", ""}, want{1, "Stable", ""}, want{-1, "", counts}},
		"kafka_exporter-3.9.2":                        {"kafka_exporter", want{2, "", ""}, want{1, "", ""}, want{-1, "", zero}},
		"kafka_exporter-3.9.2-payments-stopped":       {"kafka_exporter", want{2, "", ""}, want{-1, "", zero}, want{-1, "", zero}},
		"kafka_exporter-4.4.0":                        {"kafka_exporter", want{2, "", ""}, want{1, "", ""}, want{-1, "", zero}},
		"kafka_exporter-4.4.0-payments-stopped":       {"kafka_exporter", want{2, "", ""}, want{1, "", ""}, want{-1, "", zero}},
		"kminion-adminapi-4.4.0-payments-stopped":     {"kminion", want{2, "Stable", ""}, want{1, "Stable", ""}, want{-1, "", counts}},
		"kminion-offsetstopic-4.4.0-payments-stopped": {"kminion", want{2, "Stable", ""}, want{1, "Stable", ""}, want{-1, "", counts}},
		"kminion-offsetstopic-3.9.2-payments-stopped": {"kminion", want{2, "Stable", ""}, want{0, "Empty", ""}, want{-1, "", zero}},
	} {
		st, at := recorded(t, sample)
		p := prom(t, st, PrometheusConfig{})
		e := p.Groups(t.Context(), at, lookBack, []string{"billing", "payments", "invoices", "nobody"})
		if !e.OK() || len(e.Groups) != 3 || p.Stats().Requests != 1 {
			t.Fatalf("%s: %+v after %d queries", sample, e, p.Stats().Requests)
		}
		for id, w := range map[string]want{"billing": tc.billing, "payments": tc.payments, "invoices": tc.invoices} {
			g := e.Groups[slices.IndexFunc(e.Groups, func(g diagnose.ExportedGroup) bool { return g.ID == id })]
			got := want{members: -1}
			if len(g.Members) > 0 {
				got.members = g.Members[0].V
			}
			if len(g.States) > 0 {
				got.state = g.States[0].State
			}
			if got.members != w.members || got.state != w.state || (g.Doubt == "") != (w.doubt == "") || !strings.Contains(g.Doubt, w.doubt) {
				t.Errorf("%s %s: %+v, want %+v", sample, id, g, w)
			}
			if g.Exporter != tc.exporter || len(g.Lag) != 1 || g.Lag[0].V != 0 {
				t.Errorf("%s %s: %+v, want lag 0 by %s", sample, id, g, tc.exporter)
			}
		}
	}
}

func TestExporterChoice(t *testing.T) {
	l := newLab(t)
	const ten = 10 * time.Minute
	l.put(`kafka_consumer_group_ConsumerLagMetrics_Value{groupId="orders",topic="a",name="SumOffsetLag"}`, ten, 0, 30)
	l.put(`kafka_consumer_group_ConsumerLagMetrics_Value{groupId="orders",topic="a",name="MaxOffsetLag"}`, ten, 0, 99)
	l.put(`kafka_consumergroup_members{consumergroup="orders",pod="e-1"}`, ten, 0, 3)
	l.put(`kafka_consumergroup_lag{consumergroup="orders",topic="a",partition="0",pod="e-1"}`, ten, 0, 10)
	l.put(`kafka_consumergroup_lag{consumergroup="orders",topic="a",partition="1",pod="e-1"}`, ten, 0, 20)
	l.put(`kafka_consumergroup_lag{consumergroup="orders",topic="b",partition="0",pod="e-1"}`, 5*time.Minute, 0, 5)
	l.put(`kafka_consumergroup_lag{consumergroup="orders",topic="c",partition="0",pod="e-1"}`, ten, 0, -1)
	// A second replica, started later: it sees the same and is not added.
	l.put(`kafka_consumergroup_members{consumergroup="orders",pod="e-2"}`, 2*time.Minute, 0, 3)
	l.put(`kafka_consumer_group_ConsumerLagMetrics_Value{groupId="lonely",topic="a",name="SumOffsetLag"}`, ten, 0, 7)
	e := prom(t, l.st, PrometheusConfig{}).Groups(t.Context(), lookAt, lookBack, []string{"orders", "lonely"})
	if !e.OK() || len(e.Groups) != 2 {
		t.Fatalf("%+v", e)
	}
	lonely, orders := e.Groups[0], e.Groups[1]
	if orders.Exporter != "kafka_exporter" || len(orders.Members) != 41 || orders.Members[0].V != 3 {
		t.Errorf("%+v", orders)
	}
	if len(orders.Lag) != 21 || orders.Lag[0].V != 35 {
		t.Errorf("lag %+v, want 35 once all three partitions are there, and no jump before", orders.Lag)
	}
	if lonely.Exporter != "Amazon MSK" || lonely.Lag[0].V != 7 || lonely.Doubt == "" {
		t.Errorf("%+v", lonely)
	}
}

func TestExportersOfTwoClusters(t *testing.T) {
	l := newLab(t)
	for _, c := range []string{"a", "b"} {
		l.put(`kafka_consumergroup_members{consumergroup="orders",cluster="`+c+`"}`, 10*time.Minute, 0, 3)
	}
	ids := []string{"orders"}
	if e := prom(t, l.st, PrometheusConfig{}).Groups(t.Context(), lookAt, lookBack, ids); e.Status != diagnose.StatusFailed || !strings.Contains(e.Hint, "group_selector") {
		t.Errorf("%+v", e.Reading)
	}
	for _, cfg := range []PrometheusConfig{{Selector: `{cluster="a"}`}, {Selector: `{cluster="x"}`, GroupSelector: `{cluster="a"}`}} {
		if e := prom(t, l.st, cfg).Groups(t.Context(), lookAt, lookBack, ids); !e.OK() || len(e.Groups) != 1 {
			t.Errorf("%+v: %+v", cfg, e)
		}
	}
	if e := prom(t, l.st, PrometheusConfig{Selector: `{cluster="x"}`}).Groups(t.Context(), lookAt, lookBack, ids); e.Status != diagnose.StatusNotExported || e.Hint == "" {
		t.Errorf("%+v", e.Reading)
	}
}
