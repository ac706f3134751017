package score

import (
	"slices"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Scorer judges cases one after the other and keeps only the judgements, so
// that a large corpus need not be in memory.
type Scorer struct {
	// Less, if set, sees each diagnosis made with sources taken away: the row of the
	// matrix, the case with what is left, and its judgement.
	Less func(row string, c Case, d diagnose.Diagnosis, j Judgement)

	limits   diagnose.Limits
	all      []Judgement
	degraded map[string][]Judgement
	base     map[string][]Judgement
	truths   []diagnose.Class
}

// NewScorer returns a scorer that classifies with these limits.
func NewScorer(l diagnose.Limits) *Scorer {
	return &Scorer{limits: l, degraded: map[string][]Judgement{}, base: map[string][]Judgement{}}
}

// Add judges a case, as it is and degraded, by the rules and by the baselines.
func (s *Scorer) Add(c Case) Judgement {
	j := Judge(c, s.limits)
	s.all = append(s.all, j)
	if j.Partial {
		return j
	}
	s.truths = append(s.truths, j.Truth)
	for _, d := range Degradations() {
		if degradable(j) {
			less := c
			less.Evidence = d.Apply(c.Evidence)
			found := diagnose.Classify(less.Evidence, s.limits)
			judged := JudgeFinding(less, found.Primary())
			s.degraded[d.Name] = append(s.degraded[d.Name], judged)
			if s.Less != nil {
				s.Less(d.Name, less, found, judged)
			}
		}
	}
	for _, b := range Baselines(nil) {
		s.base[b.Name] = append(s.base[b.Name], c.judgement(b.Judge(c.Evidence)))
	}
	return j
}

// Report adds everything up.
func (s *Scorer) Report() Report {
	r := Tally(s.all)
	for _, d := range Degradations() {
		r.Degradations = append(r.Degradations, degraded(d.Name, s.degraded[d.Name]))
	}
	for _, b := range Baselines(s.truths) {
		all := s.base[b.Name]
		if b.Constant {
			all = constant(all, b.Judge(diagnose.Evidence{}))
		}
		f := figures(all)
		recorded, _ := split(all, func(j Judgement) bool { return j.Recorded })
		known, _ := split(all, func(j Judgement) bool { return slices.Contains(b.Knows, j.Truth) })
		f.WrongConfirmedShare = share2(1-f.Accuracy, 1)
		sure := figures(recorded)
		sure.WrongConfirmedShare = share2(1-sure.Accuracy, 1)
		r.Baselines = append(r.Baselines, BaseScore{
			Name: b.Name, Figures: f, Wrong: share2(1-f.Accuracy, 1), Known: figures(known).Accuracy, Recorded: sure,
		})
	}
	return r
}

// constant answers the same for every case.
func constant(all []Judgement, c diagnose.Class) []Judgement {
	out := make([]Judgement, len(all))
	for i, j := range all {
		j.Found, j.Right = c, j.Truth == c
		out[i] = j
	}
	return out
}
