package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Report is the score of a set of cases. Its JSON form is a contract: keys are
// added, never renamed or removed. All shares are between 0 and 1.
type Report struct {
	Schema int `json:"schema"`
	// Runs counts every case, and so do the next four: a run of the lab that was
	// looked at twice is two cases (LabRunsTotal counts it once). The figures below
	// are over the cases with full telemetry, the rest is under Partial.
	Runs          int `json:"runs"`
	RecordedRuns  int `json:"recorded_runs"`
	SyntheticRuns int `json:"synthetic_runs"`
	TunedRuns     int `json:"tuned_runs"`
	HeldOutRuns   int `json:"held_out_runs"`
	// LogRuns counts the cases whose evidence holds log text.
	LogRuns int `json:"log_runs"`
	Figures
	PerClass map[diagnose.Class]ClassFigures `json:"per_class"`
	// PerClassUnseen are the same figures over recorded, held-out cases.
	PerClassUnseen map[diagnose.Class]ClassFigures `json:"per_class_recorded_held_out"`
	// LabRuns counts the runs behind the recorded cases by class and version; a
	// run that was looked at several times counts once.
	LabRuns map[diagnose.Class]map[string]int `json:"lab_runs"`
	// LabRunsTotal is their sum. Recorded cases whose run is not written down are
	// in none of both.
	LabRunsTotal int `json:"lab_runs_total"`
	// Soaks holds the figures of each soak and version, as "SOAK VERSION".
	Soaks map[string]Figures `json:"soaks"`
	// Confusion counts verdicts by truth, then by what was found.
	Confusion map[diagnose.Class]map[diagnose.Class]int `json:"confusion"`
	// Subsets holds the same figures for recorded, synthetic, tuned, held_out
	// and recorded_held_out cases.
	Subsets map[string]Figures `json:"subsets"`
	// Partial are the cases whose deciding source is missing on purpose.
	Partial Figures `json:"partial"`
	// Misjudged names the wrong ones, held-out cases excepted.
	Misjudged []Misjudged `json:"misjudged"`
	// WrongConfirmedRuns is over every case, partial ones included.
	WrongConfirmedRuns int `json:"wrong_confirmed_runs"`
	// Degradations and Baselines are filled by [Scorer.Report].
	Degradations []Degraded  `json:"degradations,omitempty"`
	Baselines    []BaseScore `json:"baselines,omitempty"`
}

// Degraded is what became of the cases with full telemetry once sources were
// taken away. Right, ByAlternative, ByMoment, Undecided, WrongNamed and WrongOther
// add up to Runs.
type Degraded struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	// Right: the first finding is the truth.
	Right         int `json:"right"`
	ByAlternative int `json:"by_alternative"`
	ByMoment      int `json:"by_moment"`
	Undecided     int `json:"undecided"`
	// UndecidedNamed is the part of Undecided that names the truth as a candidate.
	UndecidedNamed int `json:"undecided_named"`
	// WrongNamed is another class first, the truth among the alternatives;
	// WrongOther names it nowhere. WrongConfirmed is the part of both that has
	// no doubt.
	WrongNamed     int `json:"wrong_named"`
	WrongOther     int `json:"wrong_other"`
	WrongConfirmed int `json:"wrong_confirmed"`
}

// BaseScore is a baseline on the same cases. It knows no doubt: every wrong
// answer is a wrong step, and counts as wrong and confirmed.
type BaseScore struct {
	Name string `json:"name"`
	Figures
	Wrong float64 `json:"wrong_share"`
	// Known is the share that is right among the cases of those classes that it
	// can name at all.
	Known float64 `json:"accuracy_of_known_classes"`
	// Recorded are the figures on recorded cases alone.
	Recorded Figures `json:"recorded"`
}

// Figures are the sums of a set of judgements.
type Figures struct {
	// Scored is the number of cases behind the figures.
	Scored   int     `json:"scored"`
	Accuracy float64 `json:"accuracy"`
	// MacroF1 is the mean F1 over the classes that are true somewhere in the set.
	MacroF1 float64 `json:"macro_f1"`
	// WrongConfirmedShare is the share that is wrong and confirmed.
	WrongConfirmedShare float64 `json:"wrong_confirmed_share"`
	GroundedAccuracy    float64 `json:"grounded_accuracy"`
	// ByAlternative is how many are right by a named alternative.
	ByAlternative int `json:"by_alternative"`
	// ByMoment is how many are right for that moment only: provisional, and the truth
	// named as what else may come of it.
	ByMoment int `json:"by_moment"`
	// Undecided is how many are wrong and said to be undecided.
	Undecided int `json:"undecided"`
}

// ClassFigures is one class.
type ClassFigures struct {
	Runs      int     `json:"runs"`
	Recorded  int     `json:"recorded_runs"`
	HeldOut   int     `json:"held_out_runs"`
	Recall    float64 `json:"recall"`
	Precision float64 `json:"precision"`
	F1        float64 `json:"f1"`
	Judged    bool    `json:"judged"`
}

// Misjudged is one wrong verdict.
type Misjudged struct {
	Case       string              `json:"case"`
	Truth      diagnose.Class      `json:"truth"`
	Found      diagnose.Class      `json:"found"`
	Confidence diagnose.Confidence `json:"confidence"`
}

// Tally adds judgements up.
func Tally(all []Judgement) Report {
	full, partial := split(all, func(j Judgement) bool { return !j.Partial })
	r := Report{Schema: 1, Runs: len(all), Figures: figures(full), Partial: figures(partial), Misjudged: []Misjudged{}}
	r.RecordedRuns = count(all, func(j Judgement) bool { return j.Recorded })
	r.SyntheticRuns = r.Runs - r.RecordedRuns
	r.HeldOutRuns = count(all, func(j Judgement) bool { return j.HeldOut })
	r.TunedRuns = r.Runs - r.HeldOutRuns
	r.LogRuns = count(all, func(j Judgement) bool { return j.Logs })
	r.WrongConfirmedRuns = count(all, Judgement.WrongConfirmed)
	r.Confusion, r.PerClass, r.LabRuns = confusion(full), perClass(full), labRuns(all)
	for _, byVersion := range r.LabRuns {
		for _, n := range byVersion {
			r.LabRunsTotal += n
		}
	}
	unseen, _ := split(full, subsets["recorded_held_out"])
	r.PerClassUnseen = perClass(unseen)
	r.Soaks = soaks(full)
	r.Subsets = map[string]Figures{}
	for name, in := range subsets {
		some, _ := split(full, in)
		r.Subsets[name] = figures(some)
	}
	for _, j := range all {
		if !j.Right && !j.HeldOut {
			r.Misjudged = append(r.Misjudged, Misjudged{j.Case, j.Truth, j.Found, j.Confidence})
		}
	}
	slices.SortFunc(r.Misjudged, func(a, b Misjudged) int { return cmp.Compare(a.Case, b.Case) })
	return r
}

var subsets = map[string]func(Judgement) bool{
	"recorded":          func(j Judgement) bool { return j.Recorded },
	"synthetic":         func(j Judgement) bool { return !j.Recorded },
	"tuned":             func(j Judgement) bool { return !j.HeldOut },
	"held_out":          func(j Judgement) bool { return j.HeldOut },
	"recorded_held_out": func(j Judgement) bool { return j.Recorded && j.HeldOut },
}

func split(all []Judgement, in func(Judgement) bool) (yes, no []Judgement) {
	for _, j := range all {
		if in(j) {
			yes = append(yes, j)
		} else {
			no = append(no, j)
		}
	}
	return yes, no
}

func count(all []Judgement, in func(Judgement) bool) int {
	yes, _ := split(all, in)
	return len(yes)
}

func figures(all []Judgement) Figures {
	f := Figures{
		Scored:        len(all),
		ByAlternative: count(all, func(j Judgement) bool { return j.Alternative }),
		ByMoment:      count(all, func(j Judgement) bool { return j.ForNow }),
		Undecided:     count(all, func(j Judgement) bool { return !j.Right && j.Found == diagnose.Undecided }),
	}
	n := float64(len(all))
	f.Accuracy = share(count(all, func(j Judgement) bool { return j.Right }), n)
	f.GroundedAccuracy = share(count(all, func(j Judgement) bool { return j.Grounded }), n)
	f.WrongConfirmedShare = share(count(all, Judgement.WrongConfirmed), n)
	classes := perClass(all)
	sum, present := 0.0, 0
	for _, c := range classesOf(classes) {
		if classes[c].Runs > 0 {
			sum, present = sum+classes[c].F1, present+1
		}
	}
	f.MacroF1 = share2(sum, float64(present))
	return f
}

func degraded(name string, all []Judgement) Degraded {
	wrong := func(j Judgement) bool { return !j.Right && j.Found != diagnose.Undecided }
	return Degraded{
		Name: name, Runs: len(all),
		Right:          count(all, func(j Judgement) bool { return j.Right && !j.Alternative && !j.ForNow }),
		ByAlternative:  count(all, func(j Judgement) bool { return j.Alternative }),
		ByMoment:       count(all, func(j Judgement) bool { return j.ForNow }),
		Undecided:      count(all, func(j Judgement) bool { return !j.Right && j.Found == diagnose.Undecided }),
		UndecidedNamed: count(all, func(j Judgement) bool { return !j.Right && j.Found == diagnose.Undecided && j.Named }),
		WrongNamed:     count(all, func(j Judgement) bool { return wrong(j) && j.Named }),
		WrongOther:     count(all, func(j Judgement) bool { return wrong(j) && !j.Named }),
		WrongConfirmed: count(all, Judgement.WrongConfirmed),
	}
}

// classesOf lists the classes in the catalogue's order: sums of fractions are
// then the same in every run.
func classesOf[V any](m map[diagnose.Class]V) []diagnose.Class {
	var out []diagnose.Class
	for _, e := range diagnose.Catalogue() {
		if _, ok := m[e.Class]; ok {
			out = append(out, e.Class)
		}
	}
	return out
}

func confusion(all []Judgement) map[diagnose.Class]map[diagnose.Class]int {
	out := map[diagnose.Class]map[diagnose.Class]int{}
	for _, j := range all {
		if out[j.Truth] == nil {
			out[j.Truth] = map[diagnose.Class]int{}
		}
		out[j.Truth][j.Counted()]++
	}
	return out
}

func soaks(all []Judgement) map[string]Figures {
	by := map[string][]Judgement{}
	for _, j := range all {
		if j.Soak != "" {
			name := j.Soak + " " + j.Version
			by[name] = append(by[name], j)
		}
	}
	out := map[string]Figures{}
	for name, some := range by {
		out[name] = figures(some)
	}
	return out
}

func labRuns(all []Judgement) map[diagnose.Class]map[string]int {
	out, seen := map[diagnose.Class]map[string]int{}, map[string]bool{}
	for _, j := range all {
		if run := j.Version + " " + j.Run; j.Run != "" && !seen[run] {
			seen[run] = true
			if out[j.Truth] == nil {
				out[j.Truth] = map[string]int{}
			}
			out[j.Truth][j.Version]++
		}
	}
	return out
}

func perClass(all []Judgement) map[diagnose.Class]ClassFigures {
	judged := diagnose.JudgedClasses()
	out := map[diagnose.Class]ClassFigures{}
	for _, e := range diagnose.Catalogue() {
		c := e.Class
		isTrue, _ := split(all, func(j Judgement) bool { return j.Truth == c })
		isFound, _ := split(all, func(j Judgement) bool { return j.Counted() == c })
		if len(isTrue)+len(isFound) == 0 {
			continue
		}
		hits := count(isTrue, func(j Judgement) bool { return j.Right })
		f := ClassFigures{
			Runs: len(isTrue), Judged: slices.Contains(judged, c),
			Recorded:  count(isTrue, func(j Judgement) bool { return j.Recorded }),
			HeldOut:   count(isTrue, func(j Judgement) bool { return j.HeldOut }),
			Recall:    share(hits, float64(len(isTrue))),
			Precision: share(hits, float64(len(isFound))),
		}
		f.F1 = share2(2*f.Recall*f.Precision, f.Recall+f.Precision)
		out[c] = f
	}
	return out
}

func share(n int, of float64) float64 { return share2(float64(n), of) }

func share2(n, of float64) float64 {
	if of == 0 {
		return 0
	}
	return math.Round(n/of*1e4) / 1e4
}
