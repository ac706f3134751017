package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The pod behind a lost member is a witness of a kind of its own: it says
// whether the process ended, which neither the brokers nor the client can. It
// never overrules an observation of Kafka's side: where somebody called with
// the old member id the process lived, whatever its pod did later.

// podView is what the member's pod did around the loss.
type podView struct {
	// why says in words why nothing is known.
	why string
	// pod is the member's, nil when it is not known; cause is the reason that
	// Kubernetes gives for the end of its container.
	pod   *Pod
	cause string
	// label is the pod's name, and how it is known where not by its address.
	label string
	// ended says that a process of the pod ended, or the pod itself.
	ended tri
	// deleted says that the pod is gone, not only a container of it restarted.
	deleted bool
	// words say what happened, as in "container app of pod shop/orders-1 was
	// restarted at 02:16:10 (OOMKilled)".
	words string
	cites []Citation
	// throttled is the share of CPU periods in which a container had used up its
	// quota while the member was silent, negative = not known.
	throttled float64
}

// restartDelay is how long after the drop a restart still has to do with it. Only
// one that was scraped by the drop tells that the process died first: a process
// that hangs is restarted too, by its liveness probe, after it was dropped.
const restartDelay = 2 * time.Minute

func newPodView(l *loss) podView {
	e := l.s.f.e
	v := podView{throttled: -1}
	if !e.Pods.Usable() {
		v.why = "no pod or node evidence"
		return v
	}
	i, byName := l.pickPod()
	if i < 0 {
		v.why = "no pod is known for the address of the member, nor by a name that it carries"
		return v
	}
	p := &e.PodList[i]
	v.pod, v.label = p, p.name()
	if byName {
		v.label += " (known by the name that the member carries)"
	}
	path := fmt.Sprintf("pods[%d]", i)
	v.restarts(l, p, path)
	if v.ended != isYes {
		v.killed(l, p, path)
	}
	if v.ended != isYes {
		v.vanished(l, p, path)
	}
	v.throttle(l, p, path)
	if v.ended == dontKnow && v.why == "" {
		v.why = "what the containers of pod " + v.label + " did is not known"
	}
	return v
}

func (p *Pod) name() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// pickPod finds the pod that had the member's address while the member was
// silent, or whose name the member carries: -1 if there is none, or more than one.
func (l *loss) pickPod() (index int, byName bool) {
	if i, n := l.onePod(func(p *Pod) bool {
		host := MemberAddress(l.m.Host)
		return host != "" && p.IP != "" && MemberAddress(p.IP) == host
	}); n > 0 {
		return i, false
	}
	for _, name := range PodNames(l.m.InstanceID, l.m.ClientID, l.m.Host) {
		i, n := l.onePod(func(p *Pod) bool { return p.Name == name && l.carries(p) })
		if n > 0 {
			return i, true
		}
	}
	return -1, false
}

// onePod is the one pod of the time that fits, -1 when several do.
func (l *loss) onePod(fits func(p *Pod) bool) (index, n int) {
	index = -1
	for i := range l.s.f.e.PodList {
		p := &l.s.f.e.PodList[i]
		if p.FirstSeen.After(l.quietSince().Add(time.Minute)) || p.LastSeen.Before(l.quietSince().Add(-2*time.Minute)) || !fits(p) {
			continue
		}
		index, n = i, n+1
	}
	if n > 1 {
		return -1, n
	}
	return index, n
}

// carries says that the name in the member's texts is the pod's and no accident.
// "orders-0" may be the first consumer of a process as well as the first pod of a
// set: it counts as a group.instance.id, or when the broker saw the pod's node.
func (l *loss) carries(p *Pod) bool {
	return podHash.MatchString(p.Name) || slices.Contains(PodNames(l.m.InstanceID), p.Name) ||
		p.HostIP != "" && MemberAddress(p.HostIP) == MemberAddress(l.m.Host)
}

// step is the first growth of a counter after a moment.
func (c chain) step(from, to time.Time) (at time.Time, grew, known bool) {
	for i := 1; i < len(c); i++ {
		if !c[i].T.After(from) || c[i].T.After(to) {
			continue
		}
		known = true
		if c[i].V > c[i-1].V {
			return c[i].T, true, true
		}
	}
	return time.Time{}, false, known
}

// restarts looks for a container that was restarted.
func (v *podView) restarts(l *loss, p *Pod, path string) {
	m := p.Signals[SignalPodRestarts]
	to := earliest(l.by.Add(restartDelay), l.s.f.at())
	quiet := len(m.Series) > 0
	for _, s := range m.Series {
		at, grew, known := finite(s.Samples).step(l.quietSince(), to)
		quiet = quiet && known
		if !grew {
			continue
		}
		if at.After(l.by.Add(medianGap(sampleTimes(s.Samples)))) {
			v.why = fmt.Sprintf("container %s of pod %s was restarted at %s, after the drop; it may have hung before that", s.Labels["container"], v.label, clock(at))
			return
		}
		v.ended = isYes
		v.words = fmt.Sprintf("container %s of pod %s was restarted by %s", s.Labels["container"], v.label, clock(at))
		if v.cause = reason(p, s.Labels["container"], at); v.cause != "" {
			v.words += " (" + v.cause + ")"
		}
		v.cites = append(v.cites, cite(path+"."+string(SignalPodRestarts), v.words, m.Reading))
		return
	}
	if quiet && m.Usable() && l.s.f.at().Sub(p.LastSeen) < podFresh {
		v.ended = isNo
		v.words = "pod " + v.label + " runs on, without a restart"
		v.cites = append(v.cites, cite(path+"."+string(SignalPodRestarts), v.words+" since "+clock(l.quietSince()), m.Reading))
	}
}

// podFresh is how old the last sight of a pod may be.
const podFresh = 2 * time.Minute

// reason is why the container ended last, as scraped with its restart.
func reason(p *Pod, container string, at time.Time) string {
	for _, s := range p.Signals[SignalPodTerminated].Series {
		if s.Labels["container"] != container || s.Labels["reason"] == "" {
			continue
		}
		if slices.ContainsFunc(s.Samples, func(x Sample) bool { return x.V == 1 && !x.T.Before(at) }) {
			return s.Labels["reason"]
		}
	}
	return ""
}

// killed looks for a process that the kernel killed for memory.
func (v *podView) killed(l *loss, p *Pod, path string) {
	m := p.Signals[SignalPodOOM]
	for _, s := range m.Series {
		if at, grew, _ := finite(s.Samples).step(l.quietSince(), l.by); grew {
			v.ended, v.cause = isYes, "OOMKilled"
			v.words = fmt.Sprintf("a process in container %s of pod %s was killed for memory by %s", s.Labels["container"], v.label, clock(at))
			v.cites = []Citation{cite(path+"."+string(SignalPodOOM), v.words, m.Reading)}
			return
		}
	}
}

// vanished: the pod itself went away while its member was silent.
func (v *podView) vanished(l *loss, p *Pod, path string) {
	asOf := l.s.f.at()
	if p.LastSeen.IsZero() || asOf.Sub(p.LastSeen) < podFresh || p.LastSeen.After(l.by.Add(restartDelay)) {
		return
	}
	v.ended, v.deleted = isYes, true
	v.words = fmt.Sprintf("pod %s is gone, last seen at %s", v.label, clock(p.LastSeen))
	v.cites = []Citation{cite(path, v.words, l.s.f.e.Pods)}
}

// spanGrowth is how far a counter grew between the last sample not after `from`
// and the first not before `to`; known is false without both, or where it was
// reset in between.
func (c chain) spanGrowth(from, to time.Time) (grew float64, known bool) {
	base, end := -1, -1
	for i, s := range c {
		if !s.T.After(from) {
			base = i
		}
		if end < 0 && !s.T.Before(to) {
			end = i
		}
	}
	if base < 0 || end <= base {
		return 0, false
	}
	for i := base + 1; i <= end; i++ {
		if c[i].V < c[i-1].V {
			return 0, false
		}
	}
	return c[end].V - c[base].V, true
}

// throttle works out the share of throttled CPU periods of the container that
// had most of them.
func (v *podView) throttle(l *loss, p *Pod, path string) {
	m := p.Signals[SignalPodThrottled]
	for _, s := range m.Series {
		slow, ok := finite(s.Samples).spanGrowth(l.quietSince(), l.by)
		if !ok {
			continue
		}
		for _, q := range p.Signals[SignalPodPeriods].Series {
			all, known := finite(q.Samples).spanGrowth(l.quietSince(), l.by)
			if q.Labels["container"] != s.Labels["container"] || !known || all <= 0 || slow/all <= v.throttled {
				continue
			}
			v.throttled = min(1, slow/all)
			words := fmt.Sprintf("container %s of pod %s was throttled in %s of its CPU periods while the member was silent", s.Labels["container"], v.label, percent(v.throttled))
			v.cites = slices.DeleteFunc(v.cites, func(c Citation) bool { return strings.HasSuffix(c.Path, string(SignalPodThrottled)) })
			v.cites = append(v.cites, cite(path+"."+string(SignalPodThrottled), words, m.Reading))
		}
	}
}

// heedPods lets the pod speak where Kafka's side leaves room.
func (l *loss) heedPods(views []view) {
	l.pod = newPodView(l)
	l.gc = newGCView(l)
	at := func(c Class) int { return slices.IndexFunc(views, func(v view) bool { return v.class == c }) }
	goneAt, replaced := at(ProcessGone), at(ProcessReplaced)
	switch {
	case l.pod.ended == isYes && (views[goneAt].fit != excluded || views[replaced].fit != excluded):
		for i, v := range views {
			if podExcludes(v, l.pod.deleted) {
				views[i] = exclude(v.class, l.pod.words)
			}
		}
		if views[goneAt].fit == possible {
			views[goneAt] = match(ProcessGone, l.pod.words)
		}
	case l.pod.ended == isNo && views[goneAt].fit == possible:
		views[goneAt] = exclude(ProcessGone, "its "+l.pod.words)
	case l.pod.ended == isNo && views[goneAt].fit == fits:
		views[goneAt] = leave(ProcessGone, views[goneAt].because+"; yet its "+l.pod.words)
	}
}

// podExcludes says that a class cannot be where the process ended. A deploy
// deletes pods, so that only a restarted container excludes it.
func podExcludes(v view, deleted bool) bool {
	switch v.class {
	case SessionTimeout, ClientUnreachable, PollInterval, PollIntervalStatic:
		return v.fit == possible || v.fit == fits
	case RebalanceTimeout, SickLeader, JoinSyncRace:
		return v.fit == possible
	case RollingDeploy, RemovedByAdmin:
		return v.fit == possible && !deleted
	default:
		return false
	}
}

// podFacts are what playbooks may say of the member's pod and JVM.
func (l *loss) podFacts(v *values) {
	if l.gc.known {
		v.seconds("gc_seconds", l.gc.spent)
	}
	if l.pod.throttled >= 0 {
		*v = append(*v, factPercent("throttled_percent", l.pod.throttled))
	}
	if p := l.pod.pod; p != nil {
		v.text("namespace", p.Namespace)
		v.text("pod", p.Name)
	}
	if l.pod.ended == isYes {
		v.text("ended", l.pod.words)
		v.text("end_reason", l.pod.cause)
	}
}

// gcView is the time that the client's JVM spent in garbage collection while
// the member was silent.
type gcView struct {
	known bool
	spent time.Duration
	cite  Citation
}

// newGCView sums the collectors that stop the application. Concurrent ones
// (ZGC and Shenandoah cycles, G1's concurrent phase, CMS) run beside it: with
// them the sum would overstate the pauses.
func newGCView(l *loss) gcView {
	if !l.s.f.e.ClientsReading.Usable() {
		return gcView{}
	}
	c, _ := l.pickClient()
	if c == nil {
		return gcView{}
	}
	m := c.Signals[SignalGC]
	sum, counted := 0.0, false
	for _, s := range m.Series {
		if concurrent(s.Labels["gc"]) {
			continue
		}
		n, ok := finite(s.Samples).spanGrowth(l.quietSince(), l.by)
		if !ok {
			return gcView{}
		}
		sum, counted = sum+n, true
	}
	if !counted || !m.Usable() {
		return gcView{}
	}
	v := gcView{known: true, spent: time.Duration(sum * float64(time.Second))}
	v.cite = cite("clients["+c.ClientID+"]."+string(SignalGC), seconds(v.spent)+" of garbage collection while it was silent", m.Reading)
	return v
}

func concurrent(collector string) bool {
	n := strings.ToLower(collector)
	return strings.Contains(n, "cycle") || strings.Contains(n, "concurrent")
}

// Shares of throttled CPU periods: from a quarter on throttling adds to a
// stall, alone it stops a process for a session timeout only when it is nearly
// total.
const (
	throttledMuch  = 0.25
	throttledTotal = 0.9
)

// strain says what made the process stand still, or what did not: a sentence,
// empty where nothing is known. Pauses shorter than the session timeout less one
// heartbeat interval cannot end a session, so a smaller sum refutes them.
func (l *loss) strain() string {
	var out []string
	need := l.silentAtLeast()
	switch {
	case !l.gc.known || need <= 0:
	case l.gc.spent >= need:
		out = append(out, "Garbage collection took "+seconds(l.gc.spent)+" in that time: the likely reason.")
	default:
		out = append(out, "Garbage collection is not the reason: "+seconds(l.gc.spent)+" in that time, less than the "+seconds(need)+" it takes.")
	}
	switch t := l.pod.throttled; {
	case t < 0:
	case t >= throttledTotal:
		out = append(out, "Its CPU was throttled in "+percent(t)+" of the periods: the likely reason.")
	case t > throttledMuch:
		out = append(out, "Its CPU was throttled in "+percent(t)+" of the periods, which adds to it.")
	default:
		out = append(out, "Its CPU was not throttled ("+percent(t)+" of the periods).")
	}
	return strings.Join(out, " ")
}
