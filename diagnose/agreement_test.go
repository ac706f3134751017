package diagnose

import (
	"slices"
	"testing"
)

// A diagnosis does not contradict itself, over the whole corpus: what a finding may
// be as well is not ruled out, and no blind spot leaves open what is found.
func TestADiagnosisAgreesWithItself(t *testing.T) {
	for _, c := range corpus(t) {
		d := Classify(c.ev, DefaultLimits())
		for _, f := range d.Findings {
			for _, r := range d.RuledOut {
				if f.mayBe(r.Class) {
					t.Errorf("%s: %s is ruled out (%s) and may be what %s is found for", c.name, r.Class, r.Because, f.Class)
				}
			}
		}
		if c.ev.logsOnly() {
			continue
		}
		for _, s := range d.BlindSpots {
			for _, class := range s.LeavesOpen {
				if !openElsewhere(c.ev, d.Findings, class) {
					t.Errorf("%s: %s is found, and %s (%s) leaves it open", c.name, class, s.Reading, s.Detail)
				}
			}
		}
	}
}

// openElsewhere says that a class is left open by an answer about a subject where
// it is not found, and that stands: nothing explains it.
func openElsewhere(e Evidence, found []Finding, class Class) bool {
	e = e.Sorted()
	return slices.ContainsFunc(judgeAll(newFacts(&e, DefaultLimits()), Rules()), func(v verdict) bool {
		stands := v.Answer != Yes || slices.ContainsFunc(found, func(f Finding) bool { return f.Class == v.rule.Class && f.Subject == v.Subject })
		at := slices.ContainsFunc(found, func(f Finding) bool { return f.Class == class && f.Subject == v.Subject })
		return stands && !at && slices.Contains(v.opens(), class)
	})
}

// The words of refused commits give a rate where a minute was seen, and else what
// was counted.
func TestStrayCommitsOfSecondsHaveNoRateAMinute(t *testing.T) {
	short, long := false, false
	for _, c := range append(recordedRuns(t, StrayCommits), corpus(t)...) {
		p := Classify(c.ev, DefaultLimits()).Primary()
		if p.Class != StrayCommits {
			continue
		}
		n, rate := 0.0, 0.0
		for _, f := range p.Facts {
			switch f.Name {
			case "refused":
				n = f.Number
			case "per_minute":
				rate = f.Number
			}
		}
		short, long = short || rate == 0, long || rate > 0
		// Over a minute and more, a minute holds no more than all of them.
		if rate > n+1 {
			t.Errorf("%s: %v a minute of %v in all: %s", c.name, rate, n, p.Summary)
		}
	}
	if !short || !long {
		t.Errorf("with a rate: %v, without: %v; want both in the corpus", long, short)
	}
}
