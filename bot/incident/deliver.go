package incident

import (
	"slices"
	"time"
)

// resent: the same alert within this time is another replica, another route or
// a retry; after it, a repeat.
const resent = 30 * time.Second

// changes counts what a delivery changed.
type changes struct {
	opened, added, refired, resolved int
	// reopened: a new occurrence began.
	reopened bool
	// text: a summary changed. news: somebody said that it still fires.
	text, news bool
}

func (m *move) delivered(e Delivered) {
	var c changes
	if m.s.Phase == "" {
		c.opened = 1
		m.s.Opened, m.s.Since, m.s.Occurrence = m.now, m.now, 1
	} else if m.s.over() && m.comesBack(e) {
		m.reopen()
		c.reopened = true
	}
	for _, a := range e.Alerts {
		m.alert(a, &c)
	}
	if e.GroupKey != "" && !slices.Contains(m.s.GroupKeys, e.GroupKey) && len(m.s.GroupKeys) < maxKeys {
		m.s.GroupKeys = append(m.s.GroupKeys, e.GroupKey)
	}
	if e.Truncated != m.s.Truncated && e.Truncated > 0 {
		m.s.Truncated, c.text = e.Truncated, true
	}
	m.s.LastNews = m.now
	c.news = true
	m.settle(c)
}

// comesBack reports whether any member fires anew.
func (m *move) comesBack(e Delivered) bool {
	for _, a := range e.Alerts {
		i := m.find(a.Fingerprint)
		if a.Firing && (i < 0 || (!m.s.Alerts[i].Firing && a.StartsAt.After(m.s.Alerts[i].EndsAt))) {
			return true
		}
	}
	return false
}

func (m *move) find(fingerprint string) int {
	return slices.IndexFunc(m.s.Alerts, func(a Alert) bool { return a.Fingerprint == fingerprint })
}

func (m *move) alert(a Placed, c *changes) {
	i := m.find(a.Fingerprint)
	decide := func(d Decision, r Reason) { m.do(Decided{a.Fingerprint, a.Name, d, r}) }
	switch {
	case i < 0 && !a.Firing:
		decide(Ignored, WhyNeverFired)
	case i < 0 && len(m.s.Alerts) >= maxAlerts:
		m.s.Truncated++
		decide(Dropped, WhyOverLimit)
	case i < 0:
		m.add(a, c)
		if c.opened > 0 {
			decide(Opened, a.Why)
		} else {
			decide(JoinedIt, a.Why)
		}
	default:
		decide(m.known(i, a.Alert, c))
	}
}

func (m *move) add(a Placed, c *changes) {
	c.added++
	in := a.Alert
	in.First, in.LastSeen, in.Occurrence, in.EndsAt = in.Summary, m.now, m.s.Occurrence, time.Time{}
	in.Joined = a.Why == WhyExplained
	if len(m.s.Alerts) >= maxLabelled {
		in.Labels = nil
	}
	m.s.Alerts = append(m.s.Alerts, in)
	into := &m.s.Subjects
	if in.Joined {
		into = &m.s.Joined
	}
	if !slices.Contains(*into, in.Subject) {
		*into = append(*into, in.Subject)
	}
}

// known applies a member whose fingerprint is there. startsAt differs between
// replicas and moves with repeats, so it only counts after an end.
func (m *move) known(i int, a Alert, c *changes) (Decision, Reason) {
	k := &m.s.Alerts[i]
	switch {
	case a.Firing && k.Firing:
		again := m.now.Sub(k.LastSeen) < resent
		k.LastSeen = m.now
		if a.Summary != k.Summary {
			k.Summary, c.text = a.Summary, true
		}
		if again {
			return Duplicate, WhyResent
		}
		return Repeated, WhyKnown
	case a.Firing && !a.StartsAt.After(k.EndsAt):
		return Ignored, WhyStaleFiring
	case a.Firing:
		k.Firing, k.StartsAt, k.EndsAt = true, a.StartsAt, time.Time{}
		k.Summary, k.First, k.LastSeen, k.Occurrence = a.Summary, a.Summary, m.now, m.s.Occurrence
		k.Severity = a.Severity
		c.refired++
		return Refired, WhyLater
	case !k.Firing:
		return Duplicate, WhyResent
	case !a.EndsAt.IsZero() && a.EndsAt.Before(k.StartsAt):
		return Ignored, WhyStaleResolved
	}
	k.Firing, k.EndsAt, k.LastSeen = false, a.EndsAt, m.now
	if k.EndsAt.IsZero() {
		k.EndsAt = m.now
	}
	c.resolved++
	return Ended, WhyKnown
}

// reopen begins a new occurrence in the same thread.
func (m *move) reopen() {
	m.s.Occurrence++
	m.s.Phase, m.s.Since, m.s.Ended = Firing, m.now, time.Time{}
	m.s.Over, m.s.Was, m.s.AckedBy, m.s.Peak = false, nil, "", 0
	m.s.Timers.Close = 0
	// The old verdict stays in the history: the new occurrence is judged anew.
	m.s.Diagnosis, m.s.Trouble = nil, ""
	m.do(Say{Line: LineRefired, Occurrence: m.s.Occurrence, Broadcast: m.p.BroadcastRefired})
	m.edit()
}

// settle works out the phase after a change, and what to say about it.
func (m *move) settle(c changes) {
	firing, done := m.s.Counts()
	switch {
	case c.opened > 0:
		m.open(firing)
		return
	case firing == 0 && !m.s.over():
		m.resolve()
		return
	case m.s.over():
		return
	}
	if m.s.Phase == Unknown && c.news {
		m.s.Timers.Close = 0
		m.do(Say{Line: LineNewsAgain})
		m.edit()
	}
	m.s.Phase = Firing
	if done > 0 {
		m.s.Phase = Partly
	}
	m.severity()
	if c.reopened {
		m.look()
		m.set(TimerNews, m.now.Add(m.p.News))
	} else if c.added+c.refired > 0 {
		m.lookBy(m.now)
	}
	if c.added+c.refired+c.resolved > 0 || c.text {
		m.edit()
	}
}

func (m *move) open(firing int) {
	if firing == 0 {
		return
	}
	m.s.Phase = Firing
	m.s.Peak, _ = m.peak()
	m.do(OpenRoot{})
	m.look()
	m.set(TimerNews, m.now.Add(m.p.News))
}

func (m *move) peak() (top int, severity string) {
	for _, a := range m.s.Alerts {
		if r := rank(a.Severity); a.Firing && r > top {
			top, severity = r, a.Severity
		}
	}
	return top, severity
}

// severity says that an alert of a higher severity fires now.
func (m *move) severity() {
	top, name := m.peak()
	if m.s.Peak > 0 && top > m.s.Peak {
		m.do(Say{Line: LineSeverity, Severity: name, Broadcast: true})
	}
	m.s.Peak = max(m.s.Peak, top)
}

func (m *move) resolve() {
	m.s.Phase, m.s.Ended = Resolved, m.now
	m.do(Say{Line: LineResolved, Lasted: m.now.Sub(m.s.Since), Occurrence: m.s.Occurrence, Now: m.s.Diagnosis})
	m.s.Timers.News = 0
	m.set(TimerClose, m.now.Add(m.p.Reopen))
	if !m.s.Looking && !m.followUp() {
		m.s.Timers.Look, m.s.NextLook = 0, time.Time{}
	}
	m.edit()
}
