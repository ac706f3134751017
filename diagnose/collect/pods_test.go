package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

const podLabels = `namespace="shop",pod="orders-consumer-deployment-7f8b9c6d5-x2x9z"`

// kube adds a pod as kube-state-metrics 2.x and cAdvisor show it.
func kube(l lab) {
	const ten = 10 * time.Minute
	l.put(`kube_pod_info{`+podLabels+`,pod_ip="10.2.7.31",node="node-3",uid="u1"}`, ten, 0, 1)
	l.put(`kube_pod_start_time{`+podLabels+`,uid="u1"}`, ten, 0, 1796000000)
	l.put(`kube_pod_container_status_restarts_total{`+podLabels+`,container="app",uid="u1"}`, ten, 3*time.Minute, 2)
	l.put(`kube_pod_container_status_restarts_total{`+podLabels+`,container="app",uid="u1"}`, 3*time.Minute-15*time.Second, 0, 3)
	l.put(`kube_pod_container_status_last_terminated_reason{`+podLabels+`,container="app",reason="OOMKilled"}`, 3*time.Minute, 0, 1)
	l.put(`container_cpu_cfs_periods_total{`+podLabels+`,container="app"}`, ten, 0, 600)
	l.put(`container_cpu_cfs_throttled_periods_total{`+podLabels+`,container="app"}`, ten, 0, 60)
	l.put(`container_cpu_cfs_throttled_periods_total{`+podLabels+`,container=""}`, ten, 0, 999)
	l.put(`container_cpu_cfs_throttled_periods_total{`+podLabels+`,container="POD"}`, ten, 0, 999)
	// Another pod of that name in another namespace.
	l.put(`kube_pod_container_status_restarts_total{namespace="test",pod="orders-consumer-deployment-7f8b9c6d5-x2x9z",container="app"}`, ten, 0, 99)
}

func TestPods(t *testing.T) {
	l := newLab(t)
	kube(l)
	p := prom(t, l.st, PrometheusConfig{})
	r, pods := p.Pods(t.Context(), lookAt, lookBack, []string{"/10.2.7.31", "10.2.7.31", "/10.9.9.9", ""}, nil)
	if !r.OK() || len(pods) != 1 || p.Stats().Requests != 2 || !strings.Contains(r.Source, "kube_pod_info") {
		t.Fatalf("%+v %+v after %d queries", r, pods, p.Stats().Requests)
	}
	pod := pods[0]
	if pod.Namespace != "shop" || pod.Name != "orders-consumer-deployment-7f8b9c6d5-x2x9z" || pod.IP != "10.2.7.31" || pod.Node != "node-3" || pod.Started.Unix() != 1796000000 || !pod.LastSeen.Equal(lookAt) {
		t.Errorf("%+v", pod)
	}
	restarts := pod.Signals[diagnose.SignalPodRestarts]
	if len(restarts.Series) != 1 || restarts.Series[0].Labels["container"] != "app" || restarts.Series[0].Samples[0].V != 2 {
		t.Errorf("%+v", restarts)
	}
	if m := pod.Signals[diagnose.SignalPodThrottled]; len(m.Series) != 1 || m.Series[0].Samples[0].V != 60 {
		t.Errorf("%+v, want the container's own series only", m)
	}
	if m := pod.Signals[diagnose.SignalPodTerminated]; len(m.Series) != 1 || m.Series[0].Labels["reason"] != "OOMKilled" {
		t.Errorf("%+v", m)
	}
	if m := pod.Signals[diagnose.SignalPodOOM]; m.Status != diagnose.StatusNotExported {
		t.Errorf("%+v", m)
	}
}

// A pod is found by the name that a member carries, where its address is not the
// one that the broker saw; on the host's network it is listed without an address.
func TestPodsByName(t *testing.T) {
	l := newLab(t)
	kube(l)
	names := diagnose.PodNames("orders-consumer-deployment-7f8b9c6d5-x2x9z-1", "consumer-orders-1")
	p := prom(t, l.st, PrometheusConfig{})
	r, pods := p.Pods(t.Context(), lookAt, lookBack, []string{"/192.168.0.9"}, names)
	if !r.OK() || len(pods) != 1 || pods[0].Namespace != "shop" || len(pods[0].Signals[diagnose.SignalPodRestarts].Series) != 1 || p.Stats().Requests != 3 {
		t.Fatalf("%+v %+v after %d queries", r, pods, p.Stats().Requests)
	}
	l = newLab(t)
	const ten = 10 * time.Minute
	l.put(`kube_pod_info{namespace="shop",pod="orders-0",pod_ip="10.2.0.3",host_ip="10.2.0.3",host_network="true"}`, ten, 0, 1)
	l.put(`kube_pod_info{namespace="other",pod="agent-x",pod_ip="10.2.0.3",host_ip="10.2.0.3",host_network="true"}`, ten, 0, 1)
	_, pods = prom(t, l.st, PrometheusConfig{}).Pods(t.Context(), lookAt, lookBack, []string{"/10.2.0.3"}, []string{"orders-0"})
	if len(pods) != 1 || pods[0].Name != "orders-0" || pods[0].IP != "" || pods[0].HostIP != "10.2.0.3" {
		t.Errorf("%+v", pods)
	}
}

// Without honor_labels Prometheus moves the labels that clash with those of
// kube-state-metrics' own pod; cAdvisor's stay.
func TestPodsWithMovedLabels(t *testing.T) {
	l := newLab(t)
	const ten, moved = 10 * time.Minute, `namespace="monitoring",pod="kube-state-metrics-0",container="ksm",exported_namespace="shop",exported_pod="orders-0"`
	l.put(`kube_pod_info{`+moved+`,pod_ip="10.2.7.31",uid="u1"}`, ten, 0, 1)
	l.put(`kube_pod_container_status_restarts_total{`+moved+`,exported_container="app"}`, ten, 0, 2)
	l.put(`container_cpu_cfs_periods_total{namespace="shop",pod="orders-0",container="app"}`, ten, 0, 600)
	for _, by := range [][2][]string{{{"/10.2.7.31"}, nil}, {nil, {"orders-0"}}} {
		r, pods := prom(t, l.st, PrometheusConfig{}).Pods(t.Context(), lookAt, lookBack, by[0], by[1])
		if !r.OK() || len(pods) != 1 || pods[0].Namespace != "shop" || pods[0].Name != "orders-0" {
			t.Fatalf("%+v %+v", r, pods)
		}
		for _, sig := range []diagnose.Signal{diagnose.SignalPodRestarts, diagnose.SignalPodPeriods} {
			if m := pods[0].Signals[sig]; len(m.Series) != 1 || m.Series[0].Labels["container"] != "app" {
				t.Errorf("%s: %+v", sig, m)
			}
		}
	}
}

// Java writes IPv6 addresses in full.
func TestPodsByIPv6(t *testing.T) {
	l := newLab(t)
	l.put(`kube_pod_info{namespace="shop",pod="a-0",pod_ip="2001:db8::1f"}`, 10*time.Minute, 0, 1)
	if _, pods := prom(t, l.st, PrometheusConfig{}).Pods(t.Context(), lookAt, lookBack, []string{"/2001:db8:0:0:0:0:0:1f"}, nil); len(pods) != 1 {
		t.Errorf("%+v", pods)
	}
}

// An address that several pods hold at once names none of them; one that was
// handed on names the pod of the time.
func TestPodsThatShareAnAddress(t *testing.T) {
	l := newLab(t)
	kube(l)
	l.put(`kube_pod_info{namespace="other",pod="agent-x",pod_ip="10.2.7.31",node="n",host_network="true"}`, 10*time.Minute, 0, 1)
	if r, pods := prom(t, l.st, PrometheusConfig{}).Pods(t.Context(), lookAt, lookBack, []string{"/10.2.7.31"}, nil); len(pods) != 0 || r.Error == "" {
		t.Errorf("%+v %+v", r, pods)
	}
	l = newLab(t)
	l.put(`kube_pod_info{namespace="shop",pod="a",pod_ip="10.2.7.31"}`, 10*time.Minute, 6*time.Minute, 1)
	l.put(`kube_pod_info{namespace="shop",pod="b",pod_ip="10.2.7.31"}`, 5*time.Minute, 0, 1)
	if r, pods := prom(t, l.st, PrometheusConfig{}).Pods(t.Context(), lookAt, lookBack, []string{"/10.2.7.31"}, nil); !r.OK() || len(pods) != 2 {
		t.Errorf("%+v %+v", r, pods)
	}
}

func TestPodsWithoutKubernetes(t *testing.T) {
	l := newLab(t)
	p := prom(t, l.st, PrometheusConfig{})
	if r, _ := p.Pods(t.Context(), lookAt, lookBack, []string{"/10.2.7.31"}, nil); r.Status != diagnose.StatusNotExported || r.Hint == "" {
		t.Errorf("%+v", r)
	}
	if r, _ := p.Pods(t.Context(), lookAt, lookBack, nil, nil); r.Status != diagnose.StatusSkipped || p.Stats().Requests != 1 {
		t.Errorf("%+v", r)
	}
}

// Each way in which a JVM's collections are exported, joined by scrape target.
func TestGarbageCollection(t *testing.T) {
	for series, want := range map[string]float64{
		`jvm_gc_collection_seconds_sum{gc="G1 Young Generation",instance="app-1:9404"}`:                                        7,
		`jvm_gc_pause_seconds_sum{action="end of major GC",cause="Allocation Failure",gc="G1 Old",instance="app-1:9404"}`:      7,
		`jvm_gc_duration_seconds_sum{jvm_gc_name="G1 Young Generation",jvm_gc_action="end of minor GC",instance="app-1:9404"}`: 7,
		`java_lang_G1_Young_Generation_CollectionTime{type="GarbageCollector",instance="app-1:9404"}`:                          0.007,
		`java_lang_GarbageCollector_CollectionTime{name="G1 Young Generation",instance="app-1:9404"}`:                          0.007,
	} {
		l := newLab(t)
		l.put(`kafka_consumer_last_poll_seconds_ago{client_id="c",instance="app-1:9404"}`, 10*time.Minute, 0, 1)
		l.put(series, 10*time.Minute, 0, 7)
		l.put(strings.Replace(series, "app-1", "app-2", 1), 10*time.Minute, 0, 99)
		_, clients := prom(t, l.st, PrometheusConfig{}).Clients(t.Context(), lookAt, lookBack, []string{"c"})
		m := clients[0].Signals[diagnose.SignalGC]
		if !m.OK() || len(m.Series) != 1 || m.Series[0].Samples[0].V != want || !strings.HasPrefix(m.Series[0].Labels["gc"], "G1 ") {
			t.Errorf("%s: %+v", series, m)
		}
	}
}
