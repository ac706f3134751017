package diagnose

import (
	"fmt"
	"time"
)

func restartBurstRule() Rule {
	return Rule{
		Class: RestartBurst,
		Needs: []Need{NeedBrokerMetrics},
		Conditions: []string{
			"the broker's process started, or its leaders rose from about 0, within the last 15 min",
			"errors 70 since the start are not more than the clients with partitions here",
			"at least 90 % of them came within two scrapes of a return of leadership, plus the poll gap of slow clients",
			"provisional until leadership is at its plateau (or 15 min after the start) and two silent 120 s periods and a scrape have passed",
		},
		Corroboration: []string{
			"the return of leadership was seen",
			"the number of clients is known from topology or sessions",
			"no eviction since the start",
		},
		Source: "KIP-227; measured: 20 of 20, 12 of 12 and 4 of 4 Java consumers got one error each, within 98 ms of the return of leadership; none after kill -9 for clients with a fetch in flight",
		// A restart moves leaders and coordinators: rebalances and lagging
		// replicas of the next minutes on that broker belong to it.
		Explains: []Class{RebalanceStorm},
		Provides: []FactSpec{
			{Name: "errors", Unit: UnitCount, Meaning: "errors 70 since the process start"},
			{Name: "start_at", Unit: UnitTime, Meaning: "the broker's process start"},
			{Name: "up_seconds", Unit: UnitSeconds, Meaning: "how long the broker has been up"},
			{Name: "leadership_back", Unit: UnitText, Meaning: "yes or no: does the broker lead partitions again"},
			{Name: "leadership_back_at", Unit: UnitTime, Meaning: "when leadership returned", Optional: true},
			{Name: "leaders", Unit: UnitCount, Meaning: "partitions led now", Optional: true},
			{Name: "last_error_at", Unit: UnitTime, Meaning: "the scrape that showed the last error", Optional: true},
			{Name: "silent_seconds", Unit: UnitSeconds, Meaning: "time without a new error, up to the last scrape"},
			{Name: "over", Unit: UnitText, Meaning: "yes when the burst is confirmed to be over, else no"},
			{Name: "clients", Unit: UnitCount, Meaning: "clients that can have been hit", Optional: true},
			{Name: "sessions", Unit: UnitCount, Meaning: "sessions in the cache now", Optional: true},
			{Name: "slots", Unit: UnitCount, Meaning: "configured session slots", Optional: true},
			{Name: "capacity", Unit: UnitCount, Meaning: "sessions the cache can hold", Optional: true},
			{Name: "evictions", Unit: UnitCount, Meaning: "evictions since the start", Optional: true},
		},
		Judge:  judgeRestartBurst,
		Covers: restartCovers,
	}
}

// burstShare is the share of errors that must come with the return of
// leadership; the rest is left to clients that were slow or had stale metadata
// (measured: 1 of 2 in one run of slow consumers, 0 elsewhere).
const burstShare = 0.9

// restartCovers: a restart accounts for rebalances of the groups that the broker
// coordinates.
func restartCovers(f *facts, cause, symptom Finding) bool {
	if cause.Subject == symptom.Subject {
		return true
	}
	g := f.subjectGroup(symptom.Subject)
	return g != nil && subjectBroker(g.Coordinator) == cause.Subject
}

func judgeRestartBurst(f *facts) []Outcome { return f.eachBroker(judgeBurst) }

func judgeBurst(b *brokerFacts) Outcome {
	e := b.counter(SignalErrors70)
	if !e.known {
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "session errors are not visible"}
	}
	age, ok := b.age()
	switch {
	case !ok && len(e.steps) == 0 && e.older > 0 && e.last.Sub(e.since) < b.f.grace():
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: fmt.Sprintf("%s came before the samples, which reach back %s, and the broker's start time is not visible", plural(e.older, "session error", "session errors"), span(e.last.Sub(e.since)))}
	case !ok && len(e.steps) == 0:
		return no("no session error in the %s that can be seen", span(e.last.Sub(e.since)))
	case !ok:
		return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "the broker's start time is not visible"}
	}
	x := b.burst()
	none := len(e.within(b.f.cacheFrom(), b.f.at())) == 0
	switch old := age > b.f.grace()+b.f.cacheWindow(); {
	case none && (old || age > b.f.grace() && x.total == 0):
		return no("up for %s, no session error in %s", span(age), span(b.f.cacheWindow()))
	case old, age > b.f.grace() && x.in+x.undated == 0:
		return no("up for %s: the errors are not from a restart", span(age))
	}
	if !b.leadersBack() || x.total == 0 {
		return burstToCome(b, x, age)
	}
	if x.out > (1-burstShare)*x.total {
		return no("it goes on: %s of %s errors came apart from the return of leadership", count(x.out), count(x.total))
	}
	if n, many := b.tooMany(); many {
		return no("%s errors since the start, more than one for each of %s", count(x.total), plural(n, "client", "clients"))
	}
	return burstSeen(b, x, age)
}

func no(format string, args ...any) Outcome {
	return Outcome{Answer: No, Because: fmt.Sprintf(format, args...)}
}

// leadersBack says whether the broker leads partitions again; unknown counts
// as yes.
func (b *brokerFacts) leadersBack() bool { return !b.lead.known || b.lead.now > 0 }

// leadsByTopology says that Kafka names the broker as the leader of partitions.
// Metrics are older by up to a scrape: leadership came back in between.
func (b *brokerFacts) leadsByTopology() bool { return b.Leading != nil && *b.Leading > 0 }

// burstToCome judges a restart without errors, or with the few that come
// before leadership is back (measured: one client with stale metadata).
func burstToCome(b *brokerFacts, x burst, age time.Duration) Outcome {
	back := b.leadersBack()
	switch {
	case !back && (x.total > 2 || age > b.f.grace()):
		return no("%s while the broker leads no partition", plural(x.total, "error", "errors"))
	case !back && b.lead.before == 0:
		return no("the broker led no partition before its restart either")
	case !back && b.Awaited != nil && *b.Awaited == 0 && (b.lead.before <= 0 || b.Leading != nil && *b.Leading == 0):
		return no("no partition is to come back to it: it is the preferred leader of none that another broker leads")
	case back && (!b.lead.known || !b.sc.last().Before(b.lead.settled(b.sc.every, b.f.pollGap()))):
		return no("started %s ago and leads partitions again, without a session error%s", span(age), b.butEvicted())
	case back && b.lead.before <= 0:
		return no("no session error, and it is not known to have led partitions before its start: these may be new ones")
	}
	o := Outcome{
		Answer: Yes, Provisional: true, NextLookSeconds: defaultNextLook,
		Citations: burstCitations(b, x), Facts: burstFacts(b, x, false),
		Alternatives: []Alternative{{Quiet, "there may be no error at all: after a kill hardly any client gets one, nor do clients without fetch sessions"}},
	}
	if back || b.leadsByTopology() {
		o.Summary = fmt.Sprintf("Broker %d has just taken its partitions back. Each consumer may now get one FETCH_SESSION_ID_NOT_FOUND and carries on; none so far.", b.ID)
		o.Decides = "the next two scrapes show the errors, or there are none"
		return o
	}
	o.Summary = fmt.Sprintf("Broker %d started at %s and leads no partition yet. When leadership returns, each consumer may get one FETCH_SESSION_ID_NOT_FOUND and carries on: a burst is still to come, if any.", b.ID, clock(b.start))
	o.Decides = "the return of leadership (preferred leader election), and silence after it"
	return o
}

// butEvicted limits "without a session error" to those that no eviction explains.
func (b *brokerFacts) butEvicted() string {
	if b.counter(SignalErrors70).raw > 0 {
		return " of its own: those there are came with evictions"
	}
	return ""
}

// burstSeen judges errors that fit a restart: going on, or over.
func burstSeen(b *brokerFacts, x burst, age time.Duration) Outcome {
	e := b.counter(SignalErrors70)
	settled := b.lead.known && b.lead.plateau() || age >= b.f.grace()
	need := 2*b.f.wave() + b.sc.every
	over := settled && e.silent() >= need
	o := Outcome{
		Answer: Yes, Provisional: !over, Missing: burstMissing(b, x),
		Citations: burstCitations(b, x), Facts: burstFacts(b, x, over),
		Summary: burstSummary(b, x, over),
	}
	if over {
		return o
	}
	o.NextLookSeconds = defaultNextLook
	if left := need - e.silent(); settled && left > 0 {
		o.Decides = fmt.Sprintf("no new error until %s: two silent periods of %d s and a scrape", clock(b.f.at().Add(left)), b.f.l.WaveSeconds)
		o.NextLookSeconds = max(15, int(left/time.Second)+int(b.sc.every/time.Second)+1)
	} else {
		o.Decides = fmt.Sprintf("leadership at its earlier number (now %s of %s), then two silent periods of %d s", count(b.lead.now), count(max(b.lead.before, b.lead.now)), b.f.l.WaveSeconds)
	}
	return o
}

func burstSummary(b *brokerFacts, x burst, over bool) string {
	who := plural(x.total, "client", "clients")
	if b.demand().low >= 0 && float64(b.Demand.Consumers) >= x.total {
		who = count(x.total) + " of " + plural(b.Demand.Consumers, "consumer", "consumers")
	}
	when := "after its restart at " + clock(b.start)
	if t := b.lead.back(); !t.IsZero() {
		when = "when it took its partitions back at " + clock(t)
	}
	each := "each got one"
	if x.total == 1 {
		each = "got one"
	}
	s := fmt.Sprintf("Broker %d: %s, %s %s FETCH_SESSION_ID_NOT_FOUND and carried on. No records are lost and nobody stops consuming.", b.ID, when, who, each)
	if over {
		s += fmt.Sprintf(" No error for %s: it is over.", span(b.counter(SignalErrors70).silent()))
	}
	return s
}

func burstMissing(b *brokerFacts, x burst) []string {
	var out []string
	if len(b.lead.rises) == 0 {
		out = append(out, "the return of leadership is not in the samples")
	}
	if x.undated > 0 {
		out = append(out, fmt.Sprintf("%s happened before the samples begin", plural(x.undated, "error", "errors")))
	}
	if b.estimated {
		out = append(out, "the broker's start time is not exported; it was inferred from counters that fell")
	}
	if _, known := b.clients(); !known {
		out = append(out, "the number of clients is not known")
	}
	switch ev := b.counter(SignalEvictions); {
	case !ev.known:
		out = append(out, "evictions are not visible")
	case ev.raw > 0:
		out = append(out, plural(ev.raw, "eviction", "evictions")+" since the start")
	}
	return out
}

func burstCitations(b *brokerFacts, x burst) []Citation {
	e := b.counter(SignalErrors70)
	words := "no FETCH_SESSION_ID_NOT_FOUND since the start"
	if s, ok := b.lastSinceStart(); ok {
		words = fmt.Sprintf("%s FETCH_SESSION_ID_NOT_FOUND since the start, the last seen %s, none in the %s since", count(x.total), clock(s.at), span(e.silent()))
	} else if x.total > 0 {
		words = fmt.Sprintf("%s FETCH_SESSION_ID_NOT_FOUND since the start, none in the last %s", count(x.total), span(e.silent()))
	}
	out := []Citation{b.cite(SignalErrors70, words)}
	if !b.estimated {
		out = append(out, b.cite(SignalProcessStart, b.subject()+" started "+clock(b.start)))
	}
	if t := b.lead.back(); !t.IsZero() {
		out = append(out, b.cite(SignalLeaders, fmt.Sprintf("partitions it leads: 0 → %s at %s", count(b.lead.rises[0].n), clock(t))))
	} else if b.lead.known {
		words := plural(b.lead.now, "partition", "partitions") + " led"
		if !b.leadersBack() && b.leadsByTopology() {
			words += fmt.Sprintf(" at the last scrape, %s by now", count(*b.Leading))
			out = append(out, cite(b.path("leading"), "Kafka names it as the leader of "+plural(*b.Leading, "partition", "partitions"), b.f.e.Cluster.Reading))
		}
		out = append(out, b.cite(SignalLeaders, words))
	}
	if ev := b.counter(SignalEvictions); ev.known {
		out = append(out, b.cite(SignalEvictions, plural(ev.raw, "eviction", "evictions")+" since the start"))
	}
	if n, ok := b.now(SignalSessions); ok {
		out = append(out, b.cite(SignalSessions, b.sessionsWords(n)))
	}
	return out
}

// lastSinceStart is the last error 70 of the present process that was seen.
func (b *brokerFacts) lastSinceStart() (step, bool) {
	s, ok := b.counter(SignalErrors70).lastStep()
	return s, ok && s.at.After(b.start)
}

func burstFacts(b *brokerFacts, x burst, over bool) []Fact {
	age, _ := b.age()
	e := b.counter(SignalErrors70)
	out := []Fact{
		factCount("errors", x.total), factTime("start_at", b.start), factSeconds("up_seconds", age),
		factYes("leadership_back", b.leadersBack() || b.leadsByTopology()), factSeconds("silent_seconds", e.silent()), factYes("over", over),
	}
	if t := b.lead.back(); !t.IsZero() {
		out = append(out, factTime("leadership_back_at", t))
	}
	if b.lead.known {
		out = append(out, factCount("leaders", b.lead.now))
	}
	if s, ok := b.lastSinceStart(); ok {
		out = append(out, factTime("last_error_at", s.at))
	}
	if n, ok := b.hit(x); ok {
		out = append(out, factCount("clients", n))
	}
	if n, ok := b.now(SignalSessions); ok {
		out = append(out, factCount("sessions", n))
	}
	if ev := b.counter(SignalEvictions); ev.known {
		out = append(out, factCount("evictions", ev.raw))
	}
	return append(out, b.slotFacts()...)
}

// hit is the number of clients that can have been hit, as precisely as known:
// consumers by topology if the errors fit in, else the looser bound.
func (b *brokerFacts) hit(x burst) (float64, bool) {
	if b.demand().low >= 0 && float64(b.Demand.Consumers) >= x.total {
		return float64(b.Demand.Consumers), true
	}
	return b.clients()
}

// slotFacts are the configured slots and the capacity, where known.
func (b *brokerFacts) slotFacts() []Fact {
	var out []Fact
	if b.slots >= 0 {
		out = append(out, factCount("slots", float64(b.slots)))
	}
	if b.capacity >= 0 {
		out = append(out, factCount("capacity", float64(b.capacity)))
	}
	return out
}
