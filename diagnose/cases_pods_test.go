package diagnose

import (
	"strings"
	"time"
)

// scrapedPod is alice's pod, scraped every 15 s until `until`, with counters by
// signal. terminated is the reason of the last end from `ended` on.
type scrapedPod struct {
	until      time.Time
	counters   map[Signal]func(t time.Time) float64
	terminated string
	ended      time.Time
}

func (p scrapedPod) add(e *Evidence) {
	pod := Pod{
		Namespace: "shop", Name: "orders-0", IP: strings.TrimPrefix(alice.host, "/"), Node: "node-3",
		Started: ago(26 * time.Hour), FirstSeen: ago(20 * time.Minute), LastSeen: p.until, Signals: map[Signal]Metric{},
	}
	for sig, value := range p.counters {
		s := Series{Labels: map[string]string{"container": "app"}}
		for t := ago(20 * time.Minute); !t.After(p.until); t = t.Add(15 * time.Second) {
			s.Samples = append(s.Samples, Sample{T: t, V: value(t)})
		}
		pod.Signals[sig] = Metric{Reading: ok("prometheus: kube_pod_container_status_restarts_total"), Series: []Series{s}}
	}
	if p.terminated != "" {
		s := Series{Labels: map[string]string{"container": "app", "reason": p.terminated}}
		for t := p.ended; !t.After(p.until); t = t.Add(15 * time.Second) {
			s.Samples = append(s.Samples, Sample{T: t, V: 1})
		}
		pod.Signals[SignalPodTerminated] = Metric{Reading: ok("prometheus: kube_pod_container_status_last_terminated_reason"), Series: []Series{s}}
	}
	e.Pods, e.PodList = ok("prometheus: kube_pod_info"), []Pod{pod}
}

// steps is a counter that is at `from` and one more from a moment on.
func steps(from float64, at time.Time) func(time.Time) float64 {
	return func(t time.Time) float64 {
		if t.Before(at) {
			return from
		}
		return from + 1
	}
}

// collecting is a counter of seconds that grows by n between two moments.
func collecting(n float64, from, to time.Time) func(time.Time) float64 {
	return func(t time.Time) float64 {
		switch share := t.Sub(from).Seconds() / to.Sub(from).Seconds(); {
		case share <= 0:
			return 7
		case share >= 1:
			return 7 + n
		default:
			return 7 + n*share
		}
	}
}

// withGC adds the collectors of alice's JVM. She is not scraped while she
// stands still.
func withGC(e *Evidence, young, cycles func(time.Time) float64, from, to time.Time) {
	e.ClientsReading = ok("prometheus: client metrics")
	m := Metric{Reading: ok("prometheus: jvm_gc_collection_seconds_sum")}
	for gc, value := range map[string]func(time.Time) float64{"G1 Young Generation": young, "G1 Concurrent GC": cycles} {
		s := Series{Labels: map[string]string{"gc": gc}}
		for t := ago(12 * time.Minute); !t.After(t0); t = t.Add(15 * time.Second) {
			if t.Before(from) || !t.Before(to) {
				s.Samples = append(s.Samples, Sample{T: t, V: value(t)})
			}
		}
		m.Series = append(m.Series, s)
	}
	for i := range e.Clients {
		if e.Clients[i].ClientID == alice.client {
			e.Clients[i].Signals[SignalGC] = m
		}
	}
}

func podCases() []synthCase {
	const session, gone = "session-timeout", "process-gone"
	froze, woke := ago(lasting(179)), ago(lasting(121))
	stood := func(change func(e *Evidence)) Evidence {
		x := stalled()
		x.polls, x.change = frozenPolls(froze, woke), change
		return x.evidence()
	}
	// away is alice killed three minutes ago; nobody has called since.
	away := func(p *scrapedPod) Evidence {
		x := stalled()
		x.turns, x.events = x.turns[:2], nil
		x.change = func(e *Evidence) {
			if p != nil {
				p.add(e)
			}
		}
		return x.evidence()
	}
	restarted := func(p scrapedPod) *scrapedPod {
		p.until = t0
		return &p
	}
	never := constant(2)
	notGone := []Class{SessionTimeout, PollInterval, RollingDeploy}
	return []synthCase{
		{session, "gc-named", "the JVM collected for 51 s while the member was silent; G1's concurrent collector is not counted", "one full collection of 51 s", SessionTimeout, Confirmed, []Class{ProcessGone, ClientUnreachable},
			stood(func(e *Evidence) {
				withGC(e, collecting(51, froze, woke), collecting(400, ago(10*time.Minute), t0), froze, woke)
			})},
		{session, "gc-refuted-throttled", "0.4 s of collections while the member was silent, CPU throttled in 96 % of the periods", "the CPU quota was used up", SessionTimeout, Confirmed, []Class{ProcessGone, ClientUnreachable},
			stood(func(e *Evidence) {
				withGC(e, collecting(0.4, froze, woke), collecting(400, ago(10*time.Minute), t0), froze, woke)
				scrapedPod{until: t0, counters: map[Signal]func(time.Time) float64{
					SignalPodPeriods: collecting(600, froze.Add(-15*time.Second), woke), SignalPodThrottled: collecting(576, froze.Add(-15*time.Second), woke), SignalPodRestarts: never,
				}}.add(e)
			})},
		{gone, "oom-killed", "its container was restarted (OOMKilled) while the member was silent; it has not come back", "the container was killed for memory", ProcessGone, Confirmed, notGone,
			away(restarted(scrapedPod{counters: map[Signal]func(time.Time) float64{SignalPodRestarts: steps(2, ago(lasting(165))), SignalPodOOM: steps(0, ago(lasting(165)))}, terminated: "OOMKilled", ended: ago(lasting(165))}))},
		{gone, "pod-gone", "its pod is not listed any more since the member fell silent", "the node was lost", ProcessGone, Confirmed, []Class{SessionTimeout, PollInterval},
			away(&scrapedPod{until: ago(lasting(170)), counters: map[Signal]func(time.Time) float64{SignalPodRestarts: never}})},
		{gone, "restarted-after-the-drop", "its container was restarted 75 s after the drop, as a liveness probe does with a process that hangs", "the process was killed", ProcessGone, Likely, []Class{PollInterval, RollingDeploy},
			away(restarted(scrapedPod{counters: map[Signal]func(time.Time) float64{SignalPodRestarts: steps(2, ago(lasting(60)))}, terminated: "Error", ended: ago(lasting(60))}))},
		{gone, "near-pod-runs-on", "dropped and away like a dead process, but its pod runs on without a restart", "the process hangs", SessionTimeout, Provisional, []Class{ProcessGone},
			away(restarted(scrapedPod{counters: map[Signal]func(time.Time) float64{SignalPodRestarts: never}}))},
		{gone, "near-restart-before", "its container was restarted four minutes before the member fell silent", "the process hangs", SessionTimeout, Provisional, []Class{ProcessGone},
			away(restarted(scrapedPod{counters: map[Signal]func(time.Time) float64{SignalPodRestarts: steps(2, ago(7*time.Minute))}, terminated: "Error", ended: ago(7 * time.Minute)}))},
		{gone, "near-called-after-restart", "somebody called with the old member id after the drop, and later its container was restarted", "the process stood still, and somebody restarted it", SessionTimeout, Likely, []Class{ProcessGone},
			func() Evidence {
				x := stalled()
				x.change = func(e *Evidence) {
					scrapedPod{until: t0, counters: map[Signal]func(time.Time) float64{SignalPodRestarts: steps(2, ago(lasting(30)))}, terminated: "Error", ended: ago(lasting(30))}.add(e)
				}
				return x.evidence()
			}()},
	}
}
