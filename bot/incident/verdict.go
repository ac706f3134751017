package incident

import (
	"slices"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func (m *move) diagnosed(e Diagnosed) {
	if e.Seq <= m.s.SeenSeq || len(e.Diagnosis.Findings) == 0 {
		return
	}
	m.lookEnded(e.Seq)
	m.s.Trouble = ""
	m.name(e.Diagnosis.Target.Broker)
	m.judge(e.Diagnosis)
	m.after(e.Diagnosis.NextLookSeconds)
}

func (m *move) lookFailed(e LookFailed) {
	if e.Seq <= m.s.SeenSeq {
		return
	}
	m.lookEnded(e.Seq)
	if m.s.Diagnosis == nil && m.s.Trouble == "" {
		m.do(Say{Line: LineTrouble, Trouble: e.Trouble, Late: true})
	}
	m.s.Trouble = e.Trouble
	m.edit()
	m.after(0)
}

func (m *move) lookEnded(seq int64) {
	m.s.SeenSeq = seq
	if seq == m.s.LookSeq {
		m.s.Looking = false
	}
	m.s.LastLook = m.now
}

// after looks again at once when something happened meanwhile.
func (m *move) after(soon int) {
	switch {
	case m.s.Looking:
	case m.s.Again:
		m.s.Again = false
		m.lookBy(m.now)
	default:
		m.planLook(soon)
	}
}

// name keeps the broker id that a diagnosis found for an instance.
func (m *move) name(id *int32) {
	if id == nil || len(m.s.Subjects) != 1 || m.s.Subjects[0].Kind != SubjectInstance {
		return
	}
	if b := Broker(*id); !slices.Contains(m.s.Subjects, b) {
		m.s.Subjects = append(m.s.Subjects, b)
	}
}

// judge takes a diagnosis in.
func (m *move) judge(d diagnose.Diagnosis) {
	now := verdictOf(d, m.now)
	defer m.edit()
	if m.s.Diagnosis == nil {
		m.s.FirstAt = m.now
		m.show(d, now)
		m.do(Say{Line: LineVerdict, Now: &d, Late: true})
		m.do(ShowDetails{})
		return
	}
	was := verdictOf(*m.s.Diagnosis, m.s.LastLook)
	switch {
	case was.Class == now.Class && was.about(now):
		m.same(d, was, now)
	case m.s.over() && !worse(was, now):
		// What fired stays visible: after the end, a milder look only says
		// that it is over.
		m.s.Over = now.Class == diagnose.Quiet
	default:
		m.changed(d, was, now)
	}
}

func (m *move) show(d diagnose.Diagnosis, v Verdict) {
	m.s.Diagnosis = &d
	m.s.History = append(m.s.History, v)
	if len(m.s.History) > maxHistory {
		m.s.History = slices.Delete(m.s.History, 1, 2)
	}
}

func (m *move) same(d diagnose.Diagnosis, was, now Verdict) {
	if was.Confidence == now.Confidence {
		m.s.Diagnosis = &d
		m.do(ShowDetails{})
		return
	}
	before := m.s.Diagnosis
	m.show(d, now)
	if was.Confidence == diagnose.Provisional && now.Confidence == diagnose.Confirmed {
		m.do(Say{Line: LineConfirmed, Was: before, Now: &d})
	}
	m.do(ShowDetails{})
}

func (m *move) changed(d diagnose.Diagnosis, was, now Verdict) {
	m.s.Was = &was
	if !was.about(now) {
		m.s.Was = nil
	}
	say := Say{Line: LineChanged, Was: m.s.Diagnosis, Now: &d}
	m.show(d, now)
	if worse(was, now) {
		say.Line, say.Broadcast = LineWorse, true
	}
	m.do(say)
	m.do(ShowDetails{})
}

// worse reports whether a verdict is graver than the one before. Deciding what
// was undecided is not worse: nothing was known.
func worse(was, now Verdict) bool {
	if was.Class == diagnose.Undecided {
		return false
	}
	a, _ := diagnose.Lookup(was.Class)
	b, _ := diagnose.Lookup(now.Class)
	return now.Class != diagnose.Undecided && b.Severity > a.Severity
}
