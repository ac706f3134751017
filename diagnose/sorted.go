package diagnose

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Sorted returns the evidence with every list in its documented order and all
// times in UTC, so that paths into it ([Evidence.Lookup]) and the diagnosis do
// not depend on the order in which collectors finished. Lists that are already
// in order are shared with the receiver, which is never changed.
func (e Evidence) Sorted() Evidence {
	e.At = e.At.UTC()
	e.Brokers = mapped(ordered(e.Brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) }), sortedBroker)
	e.Groups = mapped(ordered(e.Groups, func(a, b Group) int { return cmp.Compare(a.ID, b.ID) }), sortedGroup)
	e.Clients = mapped(ordered(e.Clients, compareClients), sortedClient)
	e.Watcher.Losses = ordered(e.Watcher.Losses, compareLosses)
	e.Watcher.StableGroups = ordered(e.Watcher.StableGroups, func(a, b CoordinatorGroups) int { return cmp.Compare(a.Broker, b.Broker) })
	e.PodList = mapped(ordered(e.PodList, comparePods), sortedPod)
	e.Exported = sortedExported(e.Exported)
	e.LogText = sortedLogText(e.LogText)
	return e
}

func compareClients(a, b Client) int {
	return cmp.Or(cmp.Compare(a.ClientID, b.ClientID), cmp.Compare(a.Instance, b.Instance))
}

func compareLosses(a, b Loss) int {
	return cmp.Or(a.By.Compare(b.By), a.After.Compare(b.After),
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.MemberID, b.MemberID))
}

func sortedBroker(b Broker) Broker {
	b.Signals = sortedSignals(b.Signals)
	b.Demand.ByGroup = ordered(b.Demand.ByGroup, func(x, y GroupDemand) int {
		return cmp.Or(cmp.Compare(y.Members, x.Members), cmp.Compare(x.Group, y.Group))
	})
	b.Demand.ByClient, b.Demand.ByHost = ordered(b.Demand.ByClient, compareNamed), ordered(b.Demand.ByHost, compareNamed)
	b.Software, b.SoftwareGone = ordered(b.Software, compareSoftware), ordered(b.SoftwareGone, compareSoftware)
	return b
}

func compareNamed(x, y NamedDemand) int {
	return cmp.Or(cmp.Compare(y.Members, x.Members), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Groups, y.Groups))
}

func compareSoftware(x, y Software) int {
	return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Version, y.Version), cmp.Compare(x.Connections, y.Connections))
}

func sortedClient(c Client) Client {
	c.Signals = sortedSignals(c.Signals)
	return c
}

// sortedSignals sorts the series of each signal by labels and their samples by
// time. The map is copied only if something moves.
func sortedSignals(in map[Signal]Metric) map[Signal]Metric {
	out, copied := in, false
	for name, m := range in {
		if metricSorted(m) {
			continue
		}
		if !copied {
			out, copied = maps.Clone(in), true
		}
		m.Series = mapped(ordered(m.Series, compareSeries), func(s Series) Series {
			s.Samples = ordered(s.Samples, compareSamples)
			return s
		})
		out[name] = m
	}
	return out
}

func metricSorted(m Metric) bool {
	return slices.IsSortedFunc(m.Series, compareSeries) && !slices.ContainsFunc(m.Series, func(s Series) bool {
		return !slices.IsSortedFunc(s.Samples, compareSamples)
	})
}

func compareSamples(a, b Sample) int { return a.T.Compare(b.T) }

func compareSeries(a, b Series) int {
	return cmp.Compare(labelKey(a.Labels, nil), labelKey(b.Labels, nil))
}

// labelKey writes labels in a fixed order, without those in skip.
func labelKey(labels map[string]string, skip map[string]bool) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if skip[k] {
			continue
		}
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(labels[k])
		b.WriteByte(0)
	}
	return b.String()
}

func sortedGroup(g Group) Group {
	g.Snapshots = mapped(ordered(g.Snapshots, func(a, b GroupSnapshot) int { return a.At.Compare(b.At) }), func(s GroupSnapshot) GroupSnapshot {
		s.Members = mapped(ordered(s.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) }), func(m Member) Member {
			m.Partitions = ordered(m.Partitions, comparePartitions)
			return m
		})
		return s
	})
	g.History.Records = mapped(ordered(g.History.Records, func(a, b GroupRecord) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Generation, b.Generation), a.StateAt.Compare(b.StateAt), cmp.Compare(a.Leader, b.Leader))
	}), func(r GroupRecord) GroupRecord {
		r.Members = mapped(ordered(r.Members, func(a, b RecordMember) int { return cmp.Compare(a.ID, b.ID) }), func(m RecordMember) RecordMember {
			m.Partitions = ordered(m.Partitions, comparePartitions)
			m.Revoking = ordered(m.Revoking, comparePartitions)
			return m
		})
		return r
	})
	g.History.Commits = ordered(g.History.Commits, func(a, b Commit) int {
		return cmp.Or(a.At.Compare(b.At), comparePartitions(a.TopicPartition, b.TopicPartition), cmp.Compare(a.Offset, b.Offset))
	})
	g.Lag = ordered(g.Lag, func(a, b LagPoint) int { return a.At.Compare(b.At) })
	return g
}

func comparePartitions(a, b TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// ordered returns the slice itself when it is in order, else a sorted copy.
func ordered[T any](s []T, by func(a, b T) int) []T {
	if slices.IsSortedFunc(s, by) {
		return s
	}
	out := slices.Clone(s)
	slices.SortStableFunc(out, by)
	return out
}

// mapped applies f to a copy of the slice; nil stays nil.
func mapped[T any](s []T, f func(T) T) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(s))
	for i, v := range s {
		out[i] = f(v)
	}
	return out
}
