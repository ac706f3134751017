package incident

import (
	"slices"
	"time"
)

// Absorbs reports whether everything that fires in another incident is
// explained by this one. Symptoms of one cause often arrive within the same
// second, before there is a verdict that could explain them; as long as the
// other incident has not been shown to anybody it can still become part of this
// one.
func (s State) Absorbs(o State, p Policy, now time.Time) bool {
	if s.ID == o.ID || s.Cluster != o.Cluster || s.over() || o.over() || o.Occurrence > 1 {
		return false
	}
	for _, a := range o.Alerts {
		if a.Firing && !s.Explains(a, p, now) {
			return false
		}
	}
	return len(o.Alerts) > 0
}

// Absorb moves another incident's alerts into this one. The other one is closed;
// its alerts were decided when they came, so there is no second decision.
func (p Policy) Absorb(s, o State, now time.Time) (into, closed State, effects []Effect) {
	m := &move{p: p, s: s.clone(), now: now}
	c := changes{}
	for _, a := range o.Alerts {
		if m.find(a.Fingerprint) < 0 && len(m.s.Alerts) < maxAlerts {
			m.add(Placed{a, WhyExplained}, &c)
		}
	}
	for _, k := range o.GroupKeys {
		if !slices.Contains(m.s.GroupKeys, k) && len(m.s.GroupKeys) < maxKeys {
			m.s.GroupKeys = append(m.s.GroupKeys, k)
		}
	}
	m.s.LastNews = later(m.s.LastNews, o.LastNews)
	c.added = 0 // it is explained: no reason for another look
	c.text = true
	m.settle(c)
	o = o.clone()
	o.Phase, o.ClosedAt = Closed, now
	o.Timers = Timers{Last: o.Timers.Last}
	return m.s, o, m.out
}
