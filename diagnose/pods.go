package diagnose

import (
	"cmp"
	"time"
)

// Pod is the pod behind a member's address, as kube-state-metrics and cAdvisor
// show it.
type Pod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// IP is the pod's address; members carry it as their host.
	IP   string `json:"ip,omitempty"`
	Node string `json:"node,omitempty"`
	// Started is the pod's start, not that of its containers.
	Started time.Time `json:"started,omitzero"`
	// FirstSeen and LastSeen bound the scrapes in which the pod was listed.
	FirstSeen time.Time `json:"first_seen,omitzero"`
	LastSeen  time.Time `json:"last_seen,omitzero"`
	// Signals holds raw samples, one series a container.
	Signals map[Signal]Metric `json:"signals,omitempty"`
}

// Pod signals, one series a container.
const (
	// SignalPodRestarts counts restarts [kube_pod_container_status_restarts_total].
	SignalPodRestarts Signal = "pod.restarts"
	// SignalPodTerminated is 1 for the reason of the last end, a label, for
	// example OOMKilled [kube_pod_container_status_last_terminated_reason].
	SignalPodTerminated Signal = "pod.last_terminated"
	// SignalPodOOM counts processes killed for memory [container_oom_events_total].
	SignalPodOOM Signal = "pod.oom_events"
	// SignalPodPeriods and SignalPodThrottled count the scheduler's periods of
	// 100 ms, and those in which the container used up its CPU quota
	// [container_cpu_cfs_periods_total, …_throttled_periods_total].
	SignalPodPeriods   Signal = "pod.cpu_periods"
	SignalPodThrottled Signal = "pod.cpu_throttled_periods"
)

// PodSignals lists every pod signal in the order of their names.
func PodSignals() []Signal {
	return sorted([]Signal{SignalPodRestarts, SignalPodTerminated, SignalPodOOM, SignalPodPeriods, SignalPodThrottled})
}

func comparePods(a, b Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.IP, b.IP), a.FirstSeen.Compare(b.FirstSeen))
}

func sortedPod(p Pod) Pod {
	p.Signals = sortedSignals(p.Signals)
	return p
}
