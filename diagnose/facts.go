package diagnose

import (
	"fmt"
	"time"
)

// facts is what follows from the evidence and is shared by several rules:
// counters over the window, restarts, capacities, membership changes. It is
// computed once per Classify. Rules read it and never change it.
type facts struct {
	e  *Evidence
	l  Limits
	br []*brokerFacts
	m  membership
}

// newFacts works the facts out. e must be sorted (see [Evidence.Sorted]).
func newFacts(e *Evidence, l Limits) *facts {
	f := &facts{e: e, l: l}
	for i := range e.Brokers {
		f.br = append(f.br, newBrokerFacts(f, &e.Brokers[i]))
	}
	f.m = newMembership(f)
	return f
}

// at is the moment that is judged.
func (f *facts) at() time.Time { return f.e.At }

// window is the span that is judged, as asked for. Group rules use it.
func (f *facts) window() time.Duration {
	return time.Duration(f.e.WindowSeconds) * time.Second
}

// from is where the window begins.
func (f *facts) from() time.Time { return f.e.At.Add(-f.window()) }

// cacheWindow is the window of the fetch-session rules: never below the
// minimum, since evictions come in waves with silence between.
func (f *facts) cacheWindow() time.Duration {
	return max(f.window(), time.Duration(f.l.MinWindowSeconds)*time.Second)
}

// cacheFrom is where the window of the fetch-session rules begins.
func (f *facts) cacheFrom() time.Time { return f.e.At.Add(-f.cacheWindow()) }

// pollGap is the gap between polls of a slow healthy consumer.
func (f *facts) pollGap() time.Duration { return time.Duration(f.l.PollGapSeconds) * time.Second }

// grace is how long after a start errors may belong to the restart.
func (f *facts) grace() time.Duration { return time.Duration(f.l.RestartGraceSeconds) * time.Second }

// wave is the period of cache eviction; never 0, so that limits that were not
// validated cannot stop a diagnosis.
func (f *facts) wave() time.Duration { return time.Duration(max(1, f.l.WaveSeconds)) * time.Second }

// brokers returns the brokers the question is about: the target broker, none
// for a question about a group, else all in the evidence.
func (f *facts) brokers() []*brokerFacts {
	switch {
	case f.e.Target.Broker != nil:
		if b := f.broker(*f.e.Target.Broker); b != nil {
			return []*brokerFacts{b}
		}
		return nil
	case f.e.Target.Group != "":
		return nil
	default:
		return f.br
	}
}

// groups returns the groups the question is about: the target group, else all
// in the evidence (the collector puts there what the question needs; groups
// that only explain a broker's demand are left out when a broker is asked
// about: those with another coordinator).
func (f *facts) groups() []*Group {
	var out []*Group
	for i := range f.e.Groups {
		g := &f.e.Groups[i]
		switch {
		case f.e.Target.Group != "" && g.ID != f.e.Target.Group:
		case f.e.Target.Group == "" && f.e.Target.Broker != nil && g.Coordinator != *f.e.Target.Broker:
		default:
			out = append(out, g)
		}
	}
	return out
}

// eachBroker asks a judge about every broker in scope. A question about brokers
// that could not be read at all is answered Unknown, not passed over.
func (f *facts) eachBroker(judge func(b *brokerFacts) Outcome) []Outcome {
	var out []Outcome
	for _, b := range f.brokers() {
		o, stop := b.unreadable()
		if !stop {
			o = judge(b)
		}
		o.Subject = b.subject()
		out = append(out, o)
	}
	if len(out) == 0 && f.e.Target.Group == "" && f.e.Target.Topic == "" {
		out = append(out, Outcome{
			Answer: Unknown, Subject: targetSubject(f), Blind: []Need{NeedBrokerMetrics},
			Because: "no metrics of this broker could be read",
		})
	}
	return out
}

// broker returns the facts of a broker, nil if it is not in the evidence.
func (f *facts) broker(id int32) *brokerFacts {
	for _, b := range f.br {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// group returns a group of the evidence by id, nil if it is not there.
func (f *facts) group(id string) *Group {
	for i := range f.e.Groups {
		if f.e.Groups[i].ID == id {
			return &f.e.Groups[i]
		}
	}
	return nil
}

// subjectGroup and subjectBroker are the subjects of outcomes.
func subjectGroup(id string) string { return "group " + id }
func subjectBroker(id int32) string { return fmt.Sprintf("broker %d", id) }
func groupPath(id, rest string) string {
	if rest == "" {
		return "groups[" + id + "]"
	}
	return "groups[" + id + "]." + rest
}

// cite builds a citation from a path, the words for what stands there, and the
// reading it comes from.
func cite(path, value string, r Reading) Citation {
	return Citation{Path: path, Value: value, Source: r.Source, Link: r.Link}
}
