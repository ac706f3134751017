package diagnose

import (
	"fmt"
	"strings"
)

// brokerSymptoms are the observations about brokers that some class has to
// account for.
func brokerSymptoms(f *facts) []symptom {
	var out []symptom
	for _, b := range f.brokers() {
		if _, stop := b.unreadable(); stop {
			continue
		}
		for _, look := range []func(*brokerFacts) (symptom, bool){oddErrors, oddEvictions, oddEpochs, oddRouting, oddSlots} {
			if s, ok := look(b); ok {
				s.Subject = b.subject()
				out = append(out, s)
			}
		}
	}
	return out
}

// oddErrors: session errors apart from a return of leadership.
func oddErrors(b *brokerFacts) (symptom, bool) {
	steps := b.sustained()
	if len(steps) == 0 {
		return symptom{}, false
	}
	words := fmt.Sprintf("%s in %s, not from a restart", plural(total(steps), "session error", "session errors"), span(b.f.cacheWindow()))
	return symptom{
		Text:      words,
		Citations: []Citation{b.cite(SignalErrors70, words)},
		Candidates: []Alternative{
			{CacheThrash, "live sessions are evicted because more clients need one than fit"},
			{MisroutedSessions, "one address is spread over several brokers, so fetches reach a broker that does not know the session"},
			{FollowerChurn, "replica fetchers reconnect and take slots from consumers"},
		},
		Decides: "evictions, the number of clients that need a session, and the slots of this broker",
		By:      []Class{CacheThrash, RestartBurst, MisroutedSessions, FollowerChurn},
	}, true
}

// oddEvictions: sessions are evicted.
func oddEvictions(b *brokerFacts) (symptom, bool) {
	steps := b.counter(SignalEvictions).within(b.f.cacheFrom(), b.f.at())
	if len(steps) == 0 {
		return symptom{}, false
	}
	words := fmt.Sprintf("%s in %s", plural(total(steps), "eviction", "evictions"), span(b.f.cacheWindow()))
	return symptom{
		Text:      words,
		Citations: []Citation{b.cite(SignalEvictions, words)},
		Candidates: []Alternative{
			{CacheThrash, "live sessions are evicted because more clients need one than fit"},
			{DeadSessionTurnover, "sessions nobody uses any more make room for new ones, which is harmless"},
			{FollowerChurn, "replica fetchers reconnect and take slots from consumers"},
			{LeakingClient, "a client opens a new session for every fetch or run"},
		},
		Decides: "session errors per eviction: about 1 means live sessions, 0 means dead ones",
		By:      []Class{CacheThrash, RestartBurst, DeadSessionTurnover, FollowerChurn, LeakingClient},
	}, true
}

// epochNoise is the number of epoch errors in a window that means nothing: one
// in 10 min.
const epochNoise = 1

// oddEpochs: the same session is used out of step.
func oddEpochs(b *brokerFacts) (symptom, bool) {
	n := b.counter(SignalErrors71).increase(b.f.cacheFrom(), b.f.at())
	if n <= epochNoise {
		return symptom{}, false
	}
	words := fmt.Sprintf("%s in %s", plural(n, "epoch error", "epoch errors"), span(b.f.cacheWindow()))
	return symptom{
		Text:       words,
		Citations:  []Citation{b.cite(SignalErrors71, words)},
		Candidates: []Alternative{{EpochMismatch, "the same session is used out of step: duplicated requests, an old or faulty client"}},
		Decides:    "whether the errors go on, and the client library behind them",
		By:         []Class{EpochMismatch},
	}, true
}

// oddRouting: signs of a routing fault.
func oddRouting(b *brokerFacts) (symptom, bool) {
	signs := b.routingSigns()
	if len(signs) == 0 {
		return symptom{}, false
	}
	words := strings.Join(signs, "; ")
	s := symptom{
		Text:       words,
		Candidates: []Alternative{{MisroutedSessions, words}},
		Decides:    "whether several brokers advertise one address",
		By:         []Class{MisroutedSessions, CacheThrash},
	}
	for _, sig := range routingSignals() {
		if n := b.counter(sig).increase(b.f.cacheFrom(), b.f.at()); n > 0 {
			s.Citations = append(s.Citations, b.cite(sig, plural(n, "error", "errors")+" in "+span(b.f.cacheWindow())))
		}
	}
	return s, true
}

// oddSlots: the broker holds no session at all.
func oddSlots(b *brokerFacts) (symptom, bool) {
	if b.capacity != 0 {
		return symptom{}, false
	}
	words := fmt.Sprintf("%s: the cache holds no session, every fetch is a full one", plural(b.slots, "slot", "slots"))
	if b.slots > 0 {
		words = fmt.Sprintf("%s over %d shards: the cache holds no session, every fetch is a full one", plural(b.slots, "slot", "slots"), shards)
	}
	return symptom{
		Text:       words,
		Citations:  []Citation{cite(b.path("slots"), "max.incremental.fetch.session.cache.slots = "+b.Slots.Value, b.Slots.Reading)},
		Candidates: []Alternative{{SessionsDisabled, words}},
		Decides:    "whether this setting is meant",
		By:         []Class{SessionsDisabled},
	}, true
}
