package diagnose

import (
	"cmp"
	"slices"
	"time"
)

// ExportedGroups is what a group exporter (kminion, kafka_exporter, …) says
// about groups, beside or instead of the admin API. It counts members and lag
// and names nobody: it shows that somebody came or went, never who or why, so
// that nothing rests on it alone with certainty.
type ExportedGroups struct {
	Reading
	// Groups are sorted by id.
	Groups []ExportedGroup `json:"groups,omitempty"`
}

// ExportedGroup is one group over the range that was read.
type ExportedGroup struct {
	ID string `json:"id"`
	// Exporter is "kminion", "kafka_exporter", "kafka-lag-exporter", "Burrow" or
	// "Amazon MSK".
	Exporter string `json:"exporter"`
	// Members is the number of members, one sample a scrape; nil where the
	// exporter does not count them, or cannot for this group (see Doubt).
	Members []Sample `json:"members,omitempty"`
	// States is the group's state as scraped, oldest first; nil where the
	// exporter has none.
	States []StateSpan `json:"states,omitempty"`
	// Lag is the sum over partitions, in records.
	Lag []Sample `json:"lag,omitempty"`
	// Doubt says why the member count was left out: some exporters show 0
	// members, or none, for groups of the KIP-848 protocol (measured).
	Doubt string `json:"doubt,omitempty"`
}

// StateSpan is a group state and the scrapes between which it was seen.
type StateSpan struct {
	State string    `json:"state"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

func sortedExported(e ExportedGroups) ExportedGroups {
	e.Groups = mapped(ordered(e.Groups, func(a, b ExportedGroup) int { return cmp.Compare(a.ID, b.ID) }), func(g ExportedGroup) ExportedGroup {
		g.Members, g.Lag = ordered(g.Members, compareSamples), ordered(g.Lag, compareSamples)
		g.States = ordered(g.States, func(a, b StateSpan) int {
			return cmp.Or(a.From.Compare(b.From), a.Until.Compare(b.Until), cmp.Compare(a.State, b.State))
		})
		return g
	})
	return e
}

func (e ExportedGroups) validate(bad func(format string, args ...any)) {
	for i, g := range e.Groups {
		switch {
		case g.ID == "":
			bad("field exported_groups: a group has no id")
		case slices.ContainsFunc(e.Groups[:i], func(x ExportedGroup) bool { return x.ID == g.ID }):
			bad("field exported_groups: group %q is there twice", g.ID)
		}
	}
}
