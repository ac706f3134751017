package score

import (
	"slices"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Judgement is one verdict beside the truth.
type Judgement struct {
	Case  string
	Truth diagnose.Class
	Found diagnose.Class
	// Confidence of the finding; empty for a baseline, which has none.
	Confidence diagnose.Confidence
	// Right: the first finding is the truth, or names it as an alternative that
	// the sources cannot separate (Alternative).
	// Right also covers ForNow.
	Right       bool
	Alternative bool
	// ForNow: the finding is provisional, of the class that the case allows while
	// time has yet to show it, and it names the truth as what else may come of it.
	// It is right for that moment only.
	ForNow bool
	// Named: the finding names the truth among its alternatives, right or not.
	Named bool
	// Grounded: right, and the finding cites what the fault moved.
	Grounded bool

	Recorded, HeldOut, Partial bool
	// Logs: the evidence holds log text.
	Logs bool
	// Soak, Run and Version name the run of the lab behind a recorded case and its
	// brokers; empty where case.json does not say.
	Soak, Run, Version string
}

// WrongConfirmed reports a verdict that is wrong and said without doubt. The one mistake that sends
// somebody the wrong way at night.
func (j Judgement) WrongConfirmed() bool { return !j.Right && j.Confidence == diagnose.Confirmed }

// Counted is the class under which the verdict is counted.
func (j Judgement) Counted() diagnose.Class {
	if j.Right {
		return j.Truth
	}
	return j.Found
}

// Judge classifies a case and compares the first finding with the truth.
func Judge(c Case, l diagnose.Limits) Judgement {
	return JudgeFinding(c, diagnose.Classify(c.Evidence, l).Primary())
}

// JudgeFinding compares a finding that somebody made of a case's evidence with
// the truth. Without citations it is never grounded.
func JudgeFinding(c Case, f diagnose.Finding) Judgement {
	j := c.judgement(f.Class)
	j.Confidence = f.Confidence
	j.Named = names(f, j.Truth)
	switch {
	case j.Right:
	case excused(c, f):
		j.Right, j.Alternative = true, true
	case f.Class == c.Provisional && f.Confidence == diagnose.Provisional && j.Named:
		j.Right, j.ForNow = true, true
	}
	produced := c.produced()
	j.Grounded = j.Right && (len(produced) == 0 || cites(f, produced))
	return j
}

// produced are the paths of what was injected: as the case lists them, as the lab
// wrote them down, or else what the fault of its class moves.
func (c Case) produced() []string {
	switch {
	case len(c.Produced) > 0:
		return c.Produced
	case c.Fault != nil:
		return c.Fault.Traces(c.Evidence)
	}
	return Produced(c.True(), c.Evidence)
}

func (c Case) judgement(found diagnose.Class) Judgement {
	return Judgement{
		Case: c.Name, Truth: c.True(), Found: found, Right: found == c.True(),
		Recorded: c.Provenance == Recorded, HeldOut: c.Set == HeldOut, Partial: c.Telemetry == Partial,
		Logs: c.Evidence.Logs.Usable(),
		Soak: c.parameter("soak"), Run: c.parameter("run"), Version: c.parameter("version"),
	}
}

func (m Meta) parameter(name string) string {
	s, _ := m.Parameters[name].(string)
	return s
}

// excused reports whether a finding that is not confirmed names the truth, and
// rightly so: its own class cannot be told from the truth with these sources. An
// undecided finding has no class of its own; it is right if none of the
// candidates that it names could have been told apart, directly or through one
// of the others.
func excused(c Case, f diagnose.Finding) bool {
	if f.Confidence == diagnose.Confirmed || !names(f, c.True()) {
		return false
	}
	like := sourcesOf(c.Evidence, f.Confidence == diagnose.Provisional || f.Confidence == diagnose.Open).inseparable
	if f.Class != diagnose.Undecided {
		return like(f.Class, c.True())
	}
	reached := []diagnose.Class{c.True()}
	for i := 0; i < len(reached); i++ {
		for _, a := range f.Alternatives {
			if !slices.Contains(reached, a.Class) && like(reached[i], a.Class) {
				reached = append(reached, a.Class)
			}
		}
	}
	return len(f.Alternatives) > 1 && len(reached) == len(f.Alternatives)
}

func names(f diagnose.Finding, c diagnose.Class) bool {
	return slices.ContainsFunc(f.Alternatives, func(a diagnose.Alternative) bool { return a.Class == c })
}
