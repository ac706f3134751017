package diagnose

import (
	"fmt"
	"slices"
)

// blast says what else the primary finding touches.
func blast(f *facts, primary Finding) Blast {
	b := Blast{LagRecords: -1}
	for _, id := range blastGroups(f, primary) {
		b.Groups = append(b.Groups, id)
		g := f.group(id)
		if g == nil {
			continue
		}
		b.Topics = append(b.Topics, groupTopics(g)...)
		if n := len(g.Lag); n > 0 && g.LagReading.Usable() {
			b.LagRecords = max(0, b.LagRecords) + g.Lag[n-1].Total
		}
	}
	slices.Sort(b.Topics)
	b.Topics = slices.Compact(b.Topics)
	b.OtherGroups = otherGroups(f, primary)
	return b
}

// blastGroups are the groups of the subject: itself, or the biggest users of
// the broker's session cache.
func blastGroups(f *facts, primary Finding) []string {
	if primary.Class == Quiet {
		return nil
	}
	if g := f.subjectGroup(primary.Subject); g != nil {
		return []string{g.ID}
	}
	if primary.Class == CoordinatorTrouble {
		return f.troubled(primary.Subject)
	}
	var out []string
	if b := f.subjectBroker(primary.Subject); b != nil {
		for _, d := range b.Demand.ByGroup {
			out = append(out, d.Group)
		}
	}
	return out
}

// troubled are the groups that a coordinator in trouble dropped members of.
func (f *facts) troubled(subject string) []string {
	for _, b := range f.br {
		if b.subject() != subject {
			continue
		}
		var mine []*loss
		for _, s := range f.m.stories {
			if s.g.Coordinator == b.ID {
				mine = append(mine, s.decidedFor(CoordinatorTrouble)...)
			}
		}
		return f.m.hurtWith(b.ID, mine)
	}
	return nil
}

// groupTopics are the topics assigned in the group's latest state.
func groupTopics(g *Group) []string {
	var out []string
	if n := len(g.Snapshots); n > 0 {
		for _, m := range g.Snapshots[n-1].Members {
			for _, p := range m.Partitions {
				out = append(out, p.Topic)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// otherGroups tells how the other groups of the coordinator fare.
func otherGroups(f *facts, primary Finding) string {
	g := f.subjectGroup(primary.Subject)
	if g == nil || !f.e.Watcher.Usable() {
		return ""
	}
	for _, c := range f.e.Watcher.StableGroups {
		if c.Broker == g.Coordinator {
			return fmt.Sprintf("%s on broker %d kept their members, %s lost some",
				plural(c.Stable, "group", "groups"), c.Broker, count(c.Hurt))
		}
	}
	return ""
}
