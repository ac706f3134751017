package diagnose

import (
	"slices"
	"strings"
)

// blindSpots lists what could not be read, one entry for each need and status,
// with the classes that it leaves open. Detail carries the reading's error and
// hint. What is found somewhere is not left open there, nor does a symptom that a
// finding explains leave anything open.
func (t tally) blindSpots(f *facts, found []Finding) []BlindSpot {
	out := []BlindSpot{}
	for _, v := range t {
		if v.Answer == Yes && !isFound(found, v.rule.Class, v.Subject) {
			continue
		}
		open := slices.DeleteFunc(v.opens(), func(c Class) bool { return isFound(found, c, v.Subject) })
		if len(open) == 0 {
			continue
		}
		for _, n := range v.Blind {
			out = addBlind(out, n, f.blindReading(n, v.Outcome), open)
		}
	}
	for i := range out {
		slices.SortFunc(out[i].LeavesOpen, byCatalogue)
	}
	slices.SortStableFunc(out, func(a, b BlindSpot) int { return strings.Compare(a.Reading, b.Reading) })
	return out
}

// isFound says that a class is found at a subject.
func isFound(found []Finding, c Class, subject string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Class == c && f.Subject == subject })
}

// opens lists the classes that stay open because of this answer's blind needs.
func (v verdict) opens() []Class {
	switch v.Answer {
	case Unknown:
		return []Class{v.rule.Class}
	case Yes:
		var out []Class
		for _, a := range v.Alternatives {
			out = append(out, a.Class)
		}
		return out
	default:
		return nil
	}
}

func addBlind(out []BlindSpot, n Need, r Reading, open []Class) []BlindSpot {
	i := slices.IndexFunc(out, func(b BlindSpot) bool { return b.Reading == string(n) && b.Status == r.Known() })
	if i < 0 {
		i = len(out)
		out = append(out, BlindSpot{
			Reading: string(n), Status: r.Known(), LeavesOpen: []Class{}, Detail: detail(r),
		})
	}
	for _, c := range open {
		if !slices.Contains(out[i].LeavesOpen, c) {
			out[i].LeavesOpen = append(out[i].LeavesOpen, c)
		}
	}
	return out
}

// detail joins what went wrong and what would help.
func detail(r Reading) string {
	parts := slices.DeleteFunc([]string{r.Error, r.Hint}, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}

// blindReading is the reading behind a need that an answer lacked. Where the
// source was read and did not hold what was needed, it says what that was.
func (f *facts) blindReading(n Need, o Outcome) Reading {
	r := f.needReading(n, o.Subject)
	if r.Usable() && r.Error == "" {
		r.Error = o.Because
		if o.Answer == Yes && len(o.Missing) > 0 {
			r.Error = o.Missing[0]
		}
	}
	return r
}

func byCatalogue(a, b Class) int { return catalogueIndex(a) - catalogueIndex(b) }

func catalogueIndex(c Class) int {
	return slices.IndexFunc(Catalogue(), func(e Entry) bool { return e.Class == c })
}

// needReading finds the reading behind a need of a subject: the first that
// stands in the way, else the one that holds the section.
func (f *facts) needReading(n Need, subject string) Reading {
	if b := f.subjectBroker(subject); b != nil {
		if r, ok := b.needReading(n); ok {
			return r
		}
	}
	if g := f.subjectGroup(subject); g != nil {
		if r, ok := groupNeedReading(f, g, n); ok {
			return r
		}
	}
	switch n {
	case NeedBrokerMetrics:
		return firstUnusable(f.e.Metrics.Reading, f.e.Cluster.Reading)
	case NeedAdmin, NeedSlots, NeedDemand:
		return firstUnusable(f.e.Cluster.Reading, f.e.GroupsReading)
	case NeedWatcher:
		return f.e.Watcher.Reading
	case NeedClientMetrics:
		return f.e.ClientsReading
	case NeedLogs:
		return f.e.Logs
	case NeedPods:
		return f.e.Pods
	default:
		return f.e.GroupsReading
	}
}

// groupNeedReading finds the readings that a group has of its own.
func groupNeedReading(f *facts, g *Group, n Need) (Reading, bool) {
	switch n {
	case NeedAdmin:
		return firstUnusable(f.e.Cluster.Reading, f.e.GroupsReading, g.Reading), true
	case NeedOffsets:
		return g.History.Reading, true
	case NeedLag:
		return g.LagReading, true
	default:
		return Reading{}, false
	}
}

// firstUnusable returns the first reading that cannot be used, else the last.
func firstUnusable(rs ...Reading) Reading {
	for _, r := range rs {
		if !r.Usable() {
			return r
		}
	}
	return rs[len(rs)-1]
}

func (f *facts) subjectBroker(subject string) *brokerFacts {
	for _, b := range f.br {
		if subjectBroker(b.ID) == subject {
			return b
		}
	}
	return nil
}

func (f *facts) subjectGroup(subject string) *Group {
	for i := range f.e.Groups {
		if subjectGroup(f.e.Groups[i].ID) == subject {
			return &f.e.Groups[i]
		}
	}
	return nil
}
