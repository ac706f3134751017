package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// values collects facts for playbooks.
type values []Fact

func (v *values) text(name, s string) {
	if s != "" {
		*v = append(*v, Fact{Name: name, Unit: UnitText, Text: s})
	}
}

func (v *values) time(name string, t time.Time) {
	if !t.IsZero() {
		*v = append(*v, Fact{Name: name, Unit: UnitTime, Text: t.UTC().Format(time.RFC3339)})
	}
}

func (v *values) seconds(name string, d time.Duration) {
	// Milliseconds are what the sources give.
	*v = append(*v, Fact{Name: name, Unit: UnitSeconds, Number: float64(d.Milliseconds()) / 1000})
}

func (v *values) count(name string, n int) {
	*v = append(*v, Fact{Name: name, Unit: UnitCount, Number: float64(n)})
}

// library names a client library and what shows it.
func (v *values) library(lib Library, by string) {
	v.text("library", string(lib))
	v.text("library_by", by)
}

// facts are the values that lossSpecs declares, for one loss.
func (l *loss) facts(mine []*loss) []Fact {
	var v values
	v.text("group", l.s.g.ID)
	v.text("protocol", l.protocol())
	v.text("member", l.m.ID)
	v.text("client_id", l.m.ClientID)
	v.text("host", hostOf(l.m))
	v.text("instance_id", l.m.InstanceID)
	v.library(l.library())
	v.time("dropped_at", l.by)
	l.timing(&v)
	l.returning(&v)
	l.podFacts(&v)
	v.text("partitions", partitionNames(l.m.Partitions))
	if n := len(l.m.Partitions); n > 0 {
		v.count("partition_count", n)
	}
	v.count("lost_members", len(mine))
	v.count("members", max(0, l.s.current()))
	v.count("baseline_members", max(0, l.s.baseline()))
	if l.leave.cite.Path != "" {
		v.count("leaves", int(l.leave.n))
	}
	if l.called.cite.Path != "" {
		v.count("errors_25", int(l.called.n))
	}
	if l.s.g.Coordinator >= 0 {
		v.text("coordinator", subjectBroker(l.s.g.Coordinator))
	}
	return v
}

func (l *loss) timing(v *values) {
	if l.sil.known {
		v.time("last_commit_at", l.sil.last)
		v.seconds("delta_seconds", l.sil.hi)
		v.seconds("delta_low_seconds", l.sil.lo)
	}
	switch {
	case l.session() > 0 && slices.Contains([]Class{SessionTimeout, ClientUnreachable, ProcessGone, ProcessReplaced}, l.decision.primary):
		v.seconds("silent_seconds", l.session())
	case l.sil.known:
		v.seconds("silent_seconds", l.sil.hi)
	}
	if l.session() > 0 {
		v.seconds("session_timeout_seconds", l.session())
	}
	v.seconds("session_max_seconds", l.s.longestSession())
	if l.session() > 0 {
		beat, by := l.longestHeartbeat()
		v.seconds("heartbeat_interval_seconds", beat)
		v.text("heartbeat_interval_by", by)
	}
	if l.rebalance() > 0 {
		v.seconds("rebalance_timeout_seconds", l.rebalance())
	}
	if l.client.known && l.client.longest() > 0 {
		v.seconds("stall_seconds", l.client.longest())
		if l.coversDrop() {
			v.text("metrics_cover_drop", "yes")
		}
	}
	if l.sil.rhythm > 0 {
		v.seconds("max_commit_gap_seconds", l.sil.rhythm)
	}
	p := l.timePerRecord()
	if p.perRecord > 0 {
		v.seconds("per_record_seconds", p.perRecord)
		v.text("per_record_by", p.by)
	}
	if p.atMost > 0 {
		v.seconds("per_record_at_most_seconds", p.atMost)
	}
	v.text("per_record_missing", p.missing)
}

func (l *loss) returning(v *values) {
	if l.back == nil {
		v.seconds("away_seconds", l.away())
		return
	}
	v.seconds("return_seconds", max(0, l.back.at.Sub(l.by)))
	v.time("returned_at", l.back.at)
}

// partitionNames lists at most six partitions: orders-3, orders-7.
func partitionNames(ps []TopicPartition) string {
	const most = 6
	var out []string
	for i, p := range ps {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(ps)-most))
			break
		}
		out = append(out, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	return strings.Join(out, ", ")
}

// hostOf is a member's host as people write it: Kafka puts a slash before it.
func hostOf(m RecordMember) string { return strings.TrimPrefix(m.Host, "/") }

// protocol is the protocol by which the lost member was one: a group that is being
// converted to KIP-848 has members of the classic one, which bring their own session
// timeout.
func (l *loss) protocol() string {
	if l.s.classic() {
		return l.s.g.Protocol
	}
	for _, x := range l.s.seen {
		if x.members[l.m.ID].SessionTimeoutMS > 0 {
			return "classic"
		}
	}
	return l.s.g.Protocol
}

// protocolOf is the protocol that all lost members have in common, empty when they
// have none.
func protocolOf(all []*loss) string {
	for _, l := range all[1:] {
		if l.protocol() != all[0].protocol() {
			return ""
		}
	}
	return all[0].protocol()
}
