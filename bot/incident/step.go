package incident

import (
	"slices"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// New returns the state of an incident that has had no event. The first event
// must be a [Delivered] with a firing alert.
func New(id, cluster string, kind Kind) State {
	return State{ID: id, Cluster: cluster, Kind: kind}
}

// Step applies one event. The state that went in is not changed.
func (p Policy) Step(s State, e Event, now time.Time) (State, []Effect) {
	m := &move{p: p, s: s.clone(), now: now}
	if s.Phase == Closed {
		m.closed(e)
		return m.s, m.out
	}
	switch e := e.(type) {
	case Delivered:
		m.delivered(e)
	case Diagnosed:
		m.diagnosed(e)
	case LookFailed:
		m.lookFailed(e)
	case TimerDue:
		m.timer(e)
	case Asked:
		m.asked(e)
	case Acknowledged:
		m.acknowledged(e)
	case LookAsked:
		if !m.s.Looking {
			m.look()
		}
	case StepDone:
		m.stepDone(e)
	}
	return m.s, m.out
}

// move is one step in the making.
type move struct {
	p   Policy
	s   State
	now time.Time
	out []Effect
}

func (m *move) do(e Effect) { m.out = append(m.out, e) }

// edit asks for one edit however many things changed.
func (m *move) edit() {
	if !slices.Contains(m.out, Effect(EditRoot{})) && !slices.Contains(m.out, Effect(OpenRoot{})) {
		m.do(EditRoot{})
	}
}

// closed accounts for alerts that came after the end of everything.
func (m *move) closed(e Event) {
	if d, ok := e.(Delivered); ok {
		for _, a := range d.Alerts {
			m.do(Decided{a.Fingerprint, a.Name, Ignored, WhyClosed})
		}
	}
}

func (m *move) timer(e TimerDue) {
	switch {
	case e.Timer == TimerLook && e.Seq == m.s.Timers.Look:
		m.s.Timers.Look, m.s.NextLook = 0, time.Time{}
		m.look()
	case e.Timer == TimerNews && e.Seq == m.s.Timers.News:
		m.s.Timers.News = 0
		m.newsDue()
	case e.Timer == TimerClose && e.Seq == m.s.Timers.Close:
		m.close()
	}
}

func (m *move) set(k TimerKind, at time.Time) {
	m.s.Timers.Last++
	n := m.s.Timers.Last
	switch k {
	case TimerLook:
		m.s.Timers.Look, m.s.NextLook = n, at
	case TimerNews:
		m.s.Timers.News = n
	case TimerClose:
		m.s.Timers.Close = n
	}
	m.do(SetTimer{k, n, at})
}

// look asks for a diagnosis, or for another one after the one under way.
func (m *move) look() {
	if m.s.Looking {
		m.s.Again = true
		return
	}
	m.s.Looking, m.s.Again = true, false
	m.s.LookSeq++
	m.s.Timers.Look, m.s.NextLook = 0, time.Time{}
	t, scan := m.s.Target()
	m.do(Look{
		Seq:     m.s.LookSeq,
		Request: diagnose.Request{Target: t, Trigger: m.s.trigger(), Scan: scan, Unresolved: m.s.unresolved()},
		First:   m.s.Diagnosis == nil,
	})
}

// lookBy asks for a look no later than at.
func (m *move) lookBy(at time.Time) {
	if m.s.Looking {
		m.s.Again = true
		return
	}
	if at = later(at, m.s.LastLook.Add(m.p.MinGap)); !at.After(m.now) {
		m.look()
		return
	}
	if m.s.NextLook.IsZero() || at.Before(m.s.NextLook) {
		m.set(TimerLook, at)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// planLook sets the next look after one that ended. soon is the diagnosis's
// own wish in seconds, 0 = none.
func (m *move) planLook(soon int) {
	if m.s.over() && !m.followUp() {
		m.s.Timers.Look, m.s.NextLook = 0, time.Time{}
		return
	}
	at := m.p.nextLook(m.s.Since, m.now)
	if soon > 0 {
		if wish := m.now.Add(max(time.Duration(soon)*time.Second, m.p.MinGap)); wish.Before(at) {
			at = wish
		}
	}
	m.set(TimerLook, at)
}

// followUp reports whether an ended incident still has something to learn.
func (m *move) followUp() bool {
	if m.s.Phase != Resolved || m.now.Sub(m.s.Ended) >= m.p.Confirm || m.s.Over {
		return false
	}
	return m.s.Diagnosis != nil && m.s.Diagnosis.Primary().Confidence == diagnose.Provisional
}

func (m *move) newsDue() {
	if m.s.over() {
		return
	}
	if due := m.s.LastNews.Add(m.p.News); m.now.Before(due) {
		m.set(TimerNews, due)
		return
	}
	var fps []string
	for _, a := range m.s.Alerts {
		if a.Firing {
			fps = append(fps, a.Fingerprint)
		}
	}
	m.do(AskSender{fps})
}

func (m *move) asked(e Asked) {
	if m.s.over() {
		return
	}
	if !e.Known {
		m.unknown()
		return
	}
	ended := 0
	for i, a := range m.s.Alerts {
		if a.Firing && !slices.Contains(e.Firing, a.Fingerprint) {
			m.s.Alerts[i].Firing, m.s.Alerts[i].EndsAt = false, m.now
			ended++
		}
	}
	m.s.LastNews = m.now
	m.settle(changes{resolved: ended, news: true})
	if !m.s.over() {
		m.set(TimerNews, m.now.Add(m.p.News))
	}
}

// unknown: it is not green, and it is not known to be red either.
func (m *move) unknown() {
	if m.s.Phase != Unknown {
		m.s.Phase = Unknown
		m.do(Say{Line: LineUnknown, Lasted: m.now.Sub(m.s.LastNews)})
		m.set(TimerClose, m.now.Add(m.p.Reopen))
		m.edit()
	}
	m.set(TimerNews, m.now.Add(m.p.News))
}

func (m *move) close() {
	m.s.Phase, m.s.ClosedAt = Closed, m.now
	m.s.Looking, m.s.Again = false, false
	m.s.Timers = Timers{Last: m.s.Timers.Last}
	m.s.NextLook = time.Time{}
	m.edit()
}

func (m *move) acknowledged(e Acknowledged) {
	if m.s.AckedBy == "" {
		m.s.AckedBy = e.By
		m.edit()
	}
}

func (m *move) stepDone(e StepDone) {
	d := m.s.Diagnosis
	if d == nil || d.Primary().Class != e.Class || len(m.s.DoneSteps()) != e.Count || len(m.s.Done) >= maxDone {
		return
	}
	m.s.Done = append(m.s.Done, Done{Class: e.Class, Step: e.Step, Title: e.Title, By: e.By, At: m.now})
	if !m.s.over() {
		m.lookBy(m.now.Add(time.Minute))
	}
	m.edit()
}
