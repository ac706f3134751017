package bot

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
	"github.com/kafka-oncall/kafka-oncall/bot/incident"
)

// group are the members of a delivery that go to one incident.
type group struct {
	st     incident.State
	placed []incident.Placed
	fresh  bool
}

// ownThreads is how many groups of one delivery get a thread each. A coordinator
// that fails hurts dozens at once; the rest shares the last thread.
const ownThreads = 5

// alerts places the members of a delivery. Those that no incident takes open
// one together if they are of one cluster and one kind: the sender grouped
// them, and one thread with five subjects is better than five threads. Groups
// that lost members get a thread each, up to ownThreads: each has a cause of its
// own, which the others' verdicts would hide.
func (b *batch) alerts(d alertmanager.Delivery) {
	var groups []*group
	for _, a := range d.Alerts {
		m := b.s.mapping.Map(a)
		in := b.s.alert(a, m)
		if m.Ignored {
			b.decided(incident.State{Cluster: m.Cluster}, incident.Decided{Fingerprint: in.Fingerprint, Name: in.Name, Decision: incident.Ignored, Reason: incident.WhyConfigured})
			continue
		}
		id, why, ok := b.s.book.Place(m.Cluster, in, d.GroupKey, b.now)
		switch {
		case ok:
			st, _ := b.incident(id)
			groups = add(groups, st, in, why, false)
		case why != "":
			b.decided(incident.State{Cluster: m.Cluster}, incident.Decided{Fingerprint: in.Fingerprint, Name: in.Name, Decision: incident.Ignored, Reason: why})
		default:
			groups = b.open(groups, m.Cluster, in)
		}
	}
	for _, g := range groups {
		b.deliver(g, d)
	}
	b.cutMembers(d.Cut)
}

// open puts an alert that no incident takes into a new one.
func (b *batch) open(groups []*group, cluster string, in incident.Alert) []*group {
	if g := sharing(groups, cluster, in); g != nil {
		g.placed = append(g.placed, incident.Placed{Alert: in, Why: incident.WhyNew})
		return groups
	}
	st := incident.New(b.s.deps.NewID(), cluster, in.Kind)
	if prev, ok := b.s.book.About(cluster, in.Subject); ok {
		st.Previous = prev.ID
	}
	return add(groups, st, in, incident.WhyNew, true)
}

// sharing finds the fresh incident that takes an alert of the same delivery.
func sharing(groups []*group, cluster string, in incident.Alert) *group {
	var last *group
	n := 0
	for _, g := range groups {
		if !g.fresh || g.st.Cluster != cluster {
			continue
		}
		for _, p := range g.placed {
			if p.Subject == in.Subject {
				return g
			}
		}
		if g.st.Kind == in.Kind {
			last, n = g, n+1
		}
	}
	if in.LostMembers() && n < ownThreads {
		return nil
	}
	return last
}

func add(groups []*group, st incident.State, in incident.Alert, why incident.Reason, fresh bool) []*group {
	p := incident.Placed{Alert: in, Why: why}
	for _, g := range groups {
		if g.st.ID == st.ID {
			g.placed = append(g.placed, p)
			return groups
		}
	}
	return append(groups, &group{st: st, placed: []incident.Placed{p}, fresh: fresh})
}

func (b *batch) deliver(g *group, d alertmanager.Delivery) {
	t := b.step(g.st, incident.Delivered{Alerts: g.placed, GroupKey: d.GroupKey, Truncated: d.Truncated + d.Cut.Members()})
	if t.open && t.channel == "" {
		t.channel = b.s.cfg.channelFor(g.st.Cluster, g.placed[0].Alert)
	}
}

// cutMembers accounts for members beyond the bound: none goes without a word.
func (b *batch) cutMembers(c alertmanager.Cut) {
	if c.Members() == 0 {
		return
	}
	n := c.Members()
	b.after = append(b.after, func() {
		b.s.metrics.alerts.WithLabelValues(string(incident.Dropped), string(incident.WhyOverLimit)).Add(float64(n))
		b.s.deps.Log.Warn("alerts decided", "decision", string(incident.Dropped), "reason", string(incident.WhyOverLimit), "alerts", n)
	})
}

// alert turns a member into what the incident keeps of it.
func (s *Server) alert(a alertmanager.Alert, m alertmanager.Mapped) incident.Alert {
	return incident.Alert{
		Fingerprint: a.Fingerprint, Name: a.Name(), Kind: m.Kind, Firing: a.Firing,
		StartsAt: a.StartsAt, EndsAt: a.EndsAt, Severity: m.Severity,
		Subject: subjectOf(m), Topic: m.Topic, Labels: a.Labels,
		Summary:    text(a.Annotations, "summary", "message", "description"),
		RunbookURL: s.link(text(a.Annotations, "runbook_url", "runbook")),
		SourceURL:  s.link(a.GeneratorURL),
	}
}

func text(m map[string]string, keys ...string) string {
	for _, k := range keys {
		if v := strings.TrimSpace(m[k]); v != "" {
			return v
		}
	}
	return ""
}

// subjectOf picks what an alert is about. The instance of a lag or partition
// alert is the exporter's, so it is a hint only where nothing better is named.
func subjectOf(m alertmanager.Mapped) incident.Subject {
	group := incident.Subject{Kind: incident.SubjectGroup, Name: m.Group}
	topic := incident.Subject{Kind: incident.SubjectTopic, Name: m.Topic}
	instance := incident.Subject{Kind: incident.SubjectInstance, Name: m.BrokerHint}
	broker := incident.Subject{}
	if m.Broker != nil {
		broker = incident.Broker(*m.Broker)
	}
	order := []incident.Subject{broker, group, topic, instance}
	switch m.Kind {
	case incident.KindLag:
		order = []incident.Subject{group, topic, broker}
	case incident.KindMembership:
		order = []incident.Subject{group, broker, instance}
	case incident.KindOther:
		order = []incident.Subject{group, broker, topic, instance}
	case incident.KindFetch, incident.KindBroker:
	}
	i := slices.IndexFunc(order, func(s incident.Subject) bool { return s.Name != "" })
	if i < 0 {
		return incident.Subject{Kind: incident.SubjectCluster}
	}
	return order[i]
}

// link rewrites a URL as configured and drops one that leads nowhere outside:
// a pod's or container's name without a domain.
func (s *Server) link(raw string) string {
	best := ""
	for from := range s.cfg.Links {
		if strings.HasPrefix(raw, from) && len(from) > len(best) {
			best = from
		}
	}
	raw = s.cfg.Links[best] + strings.TrimPrefix(raw, best)
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !strings.Contains(u.Hostname(), ".") || len(raw) > 2048 {
		return ""
	}
	return u.String()
}
