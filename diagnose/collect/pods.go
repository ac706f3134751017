package collect

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// podSeries are the series of kube-state-metrics (kube_…) and of cAdvisor
// (container_…) by the signal they are.
func podSeries() map[string]diagnose.Signal {
	return map[string]diagnose.Signal{
		"kube_pod_container_status_restarts_total":         diagnose.SignalPodRestarts,
		"kube_pod_container_status_last_terminated_reason": diagnose.SignalPodTerminated,
		"container_oom_events_total":                       diagnose.SignalPodOOM,
		"container_cpu_cfs_periods_total":                  diagnose.SignalPodPeriods,
		"container_cpu_cfs_throttled_periods_total":        diagnose.SignalPodThrottled,
	}
}

const (
	podStart = "kube_pod_start_time"
	podInfo  = "kube_pod_info"
	podHint  = "Let Prometheus scrape kube-state-metrics (kube_pod_info, with pod_ip) and cAdvisor; if it does, set prometheus.pod_selector to their labels. Clients outside Kubernetes have no pods."
	// maxPods bounds the pods and the addresses that are asked for.
	maxPods = 50
	// maxPodNames bounds the names that are asked for: a few for each member.
	maxPodNames = 200
)

// Pods reads the pods behind the members: one query to find them by address, one
// by the names that members carry (see [diagnose.PodNames]), one for their
// containers. Addresses that several pods share (host network) name none.
func (p *Prometheus) Pods(ctx context.Context, at time.Time, rng time.Duration, hosts, names []string) (diagnose.Reading, []diagnose.Pod) {
	ips := addresses(hosts)
	if len(ips) == 0 && len(names) == 0 {
		return diagnose.Reading{Status: diagnose.StatusSkipped, AsOf: at.UTC()}, nil
	}
	rng = max(rng.Round(time.Second), time.Minute)
	a := p.findPods(ctx, at, rng, ips, names[:min(len(names), maxPodNames)])
	if !a.reading.Usable() {
		return a.reading, nil
	}
	pods, note := podsOf(a.matrix, names)
	if len(pods) == 0 {
		if a.reading.Status == diagnose.StatusOK {
			a.reading.Status, a.reading.Hint = diagnose.StatusNotExported, podHint
		}
		a.reading.Error = note
		return a.reading, nil
	}
	exported := slices.ContainsFunc(a.matrix, func(s *model.SampleStream) bool { return s.Metric["exported_pod"] != "" })
	r := p.podDetails(ctx, at, rng, pods, exported)
	if note != "" && r.Status == diagnose.StatusOK {
		r.Status, r.Error = diagnose.StatusPartial, note
	}
	r.Source = a.reading.Source + "; " + strings.TrimPrefix(r.Source, "prometheus: ")
	r.DurationMS += a.reading.DurationMS
	return r, pods
}

// findPods asks kube_pod_info by address and by name. Where Prometheus scrapes
// kube-state-metrics without honor_labels, the pod's name is in exported_pod.
func (p *Prometheus) findPods(ctx context.Context, at time.Time, rng time.Duration, ips, names []string) answer {
	var out answer
	for _, q := range []struct {
		label  string
		values []string
	}{{"pod_ip", ips}, {"pod", names}, {"exported_pod", names}} {
		if len(q.values) == 0 || q.label == "exported_pod" && len(out.matrix) > 0 {
			continue
		}
		a := p.ask(ctx, oneOfValues(podInfo, q.label, q.values).and(p.set.pods).overRange(rng), at)
		if out.reading.Status == "" || !a.reading.Usable() {
			out.reading = a.reading
		}
		for _, s := range a.matrix {
			if !slices.ContainsFunc(out.matrix, func(o *model.SampleStream) bool { return o.Metric.Equal(s.Metric) }) {
				out.matrix = append(out.matrix, s)
			}
		}
		if !a.reading.Usable() {
			return out
		}
	}
	return out
}

// kubeLabel is a label of kube-state-metrics: without honor_labels Prometheus
// moves the one that clashes with the target's own to exported_….
func kubeLabel(m model.Metric, name model.LabelName) model.LabelValue {
	if v := m["exported_"+name]; v != "" {
		return v
	}
	return m[name]
}

// addresses takes the IP addresses out of the members' hosts (/10.1.2.3).
func addresses(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		if h = diagnose.MemberAddress(h); h != "" {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxPods)]
}

func oneOfValues(name, label string, values []string) selector {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quoteRegexp(v)
	}
	return selector{match: []*labels.Matcher{
		labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, name),
		labels.MustNewMatcher(labels.MatchRegexp, label, strings.Join(quoted, "|")),
	}}
}

// podsOf lists the pods that kube_pod_info knows, without those whose address
// is shared at one time (pods on the host's network, or of two clusters), unless
// they were asked for by name: those are listed without their address.
func podsOf(m model.Matrix, names []string) ([]diagnose.Pod, string) {
	by := map[string]*diagnose.Pod{}
	for _, s := range m {
		samples := clean(s.Values, 1)
		if len(samples) == 0 {
			continue
		}
		key := string(kubeLabel(s.Metric, "namespace") + "/" + kubeLabel(s.Metric, "pod") + "/" + s.Metric["pod_ip"] + "/" + s.Metric["uid"])
		pod, ok := by[key]
		if !ok {
			pod = &diagnose.Pod{
				Namespace: kubeName(kubeLabel(s.Metric, "namespace")), Name: kubeName(kubeLabel(s.Metric, "pod")), IP: kubeName(s.Metric["pod_ip"]),
				Node: kubeName(kubeLabel(s.Metric, "node")), HostIP: kubeName(s.Metric["host_ip"]), FirstSeen: samples[0].T, Signals: map[diagnose.Signal]diagnose.Metric{},
			}
			by[key] = pod
		}
		if samples[0].T.Before(pod.FirstSeen) {
			pod.FirstSeen = samples[0].T
		}
		if last := samples[len(samples)-1].T; last.After(pod.LastSeen) {
			pod.LastSeen = last
		}
	}
	var out []diagnose.Pod
	shared := 0
	for _, a := range by {
		pod := *a
		if sharesAddress(by, a) {
			if !slices.Contains(names, a.Name) {
				shared++
				continue
			}
			pod.IP = ""
		}
		out = append(out, pod)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.FirstSeen.Before(b.FirstSeen)
	})
	note := ""
	if shared > 0 {
		note = fmt.Sprintf("%d pods share an address (host network, or two clusters): which one holds the member is not visible", shared)
	}
	return out[:min(len(out), maxPods)], note
}

// kubeName bounds a name; Kubernetes allows 253 characters (RFC 1123).
func kubeName(v model.LabelValue) string { return string(v[:min(len(v), 253)]) }

func sharesAddress(by map[string]*diagnose.Pod, a *diagnose.Pod) bool {
	for _, b := range by {
		if a != b && a.IP == b.IP && a.IP != "" && !a.FirstSeen.After(b.LastSeen) && !b.FirstSeen.After(a.LastSeen) {
			return true
		}
	}
	return false
}

// podDetails fills in what the containers did.
func (p *Prometheus) podDetails(ctx context.Context, at time.Time, rng time.Duration, pods []diagnose.Pod, exported bool) diagnose.Reading {
	series := podSeries()
	names := []string{podStart}
	for n := range series {
		names = append(names, n)
	}
	sort.Strings(names)
	var wanted []string
	for _, pod := range pods {
		wanted = append(wanted, pod.Name)
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	sel := oneOfValues(strings.Join(names, "|"), "pod", wanted).and(p.set.pods)
	a := p.ask(ctx, sel.overRange(rng), at)
	if exported && a.reading.Usable() {
		// cAdvisor's series keep their labels; kube-state-metrics' were moved.
		b := p.ask(ctx, oneOfValues(strings.Join(names, "|"), "exported_pod", wanted).and(p.set.pods).overRange(rng), at)
		a.matrix = append(a.matrix, b.matrix...)
		if !b.reading.Usable() {
			a.reading = b.reading
		}
	}
	for i := range pods {
		for _, sig := range diagnose.PodSignals() {
			pods[i].Signals[sig] = diagnose.Metric{Reading: a.reading}
		}
		for _, s := range a.matrix {
			if string(kubeLabel(s.Metric, "pod")) == pods[i].Name && string(kubeLabel(s.Metric, "namespace")) == pods[i].Namespace {
				addPodSeries(&pods[i], series, s)
			}
		}
		for sig, m := range pods[i].Signals {
			if len(m.Series) == 0 && m.Status == diagnose.StatusOK {
				m.Status = diagnose.StatusNotExported
			}
			m.Link = p.link(sel, at, rng)
			pods[i].Signals[sig] = m
		}
	}
	return a.reading
}

func addPodSeries(pod *diagnose.Pod, series map[string]diagnose.Signal, s *model.SampleStream) {
	samples := clean(s.Values, 1)
	name, container := string(s.Metric[model.MetricNameLabel]), string(kubeLabel(s.Metric, "container"))
	switch {
	case len(samples) == 0:
	case name == podStart:
		if t := time.Unix(int64(samples[len(samples)-1].V), 0).UTC(); t.After(pod.Started) {
			pod.Started = t
		}
	case container == "" || container == "POD":
		// cAdvisor's sums over the pod, and its pause container.
	default:
		lset := map[string]string{"container": kubeName(kubeLabel(s.Metric, "container"))}
		if v := s.Metric["reason"]; v != "" {
			lset["reason"] = clip(string(v))
		}
		m := pod.Signals[series[name]]
		m.Series = append(m.Series, diagnose.Series{Labels: lset, Samples: samples})
		pod.Signals[series[name]] = m
	}
}
