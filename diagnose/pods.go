package diagnose

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Pod is the pod behind a member's address, as kube-state-metrics and cAdvisor
// show it.
type Pod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// IP is the pod's address; members carry it as their host. It is empty where
	// other pods had it at the same time (host network).
	IP   string `json:"ip,omitempty"`
	Node string `json:"node,omitempty"`
	// HostIP is its node's address: what a broker sees of a pod on the host's
	// network, or behind address translation.
	HostIP string `json:"host_ip,omitempty"`
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

// PodNames lists the names in a member's texts (client id, group.instance.id)
// that could be a pod's, longest first: the text itself and what is left without
// up to four parts that clients put behind it (orders-7f8b9c6d5-x2x9z-consumer-1).
// A pod's name ends in an ordinal or in five characters of a hash.
func PodNames(texts ...string) []string {
	var out []string
	for _, t := range texts {
		for _, chunk := range podChunks.FindAllString(t[:min(len(t), 300)], 20) {
			for range 5 {
				if podEnd.MatchString(chunk) && len(chunk) <= 253 && !slices.Contains(out, chunk) {
					out = append(out, chunk)
				}
				cut := strings.LastIndexByte(chunk, '-')
				if cut < 1 {
					break
				}
				chunk = chunk[:cut]
			}
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

var (
	podChunks = regexp.MustCompile(`[a-z0-9][a-z0-9-]*`)
	podEnd    = regexp.MustCompile(`^[a-z0-9-]*-(?:[0-9]{1,4}|[a-z0-9]{5})$`)
	// podHash is the end that a Deployment gives to its pods' names: the hash of
	// the template and five characters, from an alphabet without vowels
	// (k8s.io/apimachinery/pkg/util/rand).
	podHash = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
)

// MemberAddress is a member's host as an IP address in its shortest form: Java writes
// "/10.1.2.3", "name/10.1.2.3", and IPv6 without "::". What is no address comes
// back as it is.
func MemberAddress(host string) string {
	host = host[strings.LastIndexByte(host, '/')+1:]
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return host
}
