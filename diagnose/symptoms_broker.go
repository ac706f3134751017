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

// The candidates behind session errors and evictions, in words.
const (
	becauseThrash    = "live sessions are evicted because more clients need one than fit"
	becauseRouting   = "one address is spread over several brokers, so that fetches reach a broker that does not know the session"
	becauseFollowers = "replica fetchers reconnect and take slots from consumers"
	becauseDead      = "sessions nobody uses any more make room for new ones, which is harmless"
	becauseLeak      = "a client opens a new session for every fetch or run"
)

// oddErrors: session errors apart from a return of leadership.
func oddErrors(b *brokerFacts) (symptom, bool) {
	steps := b.sustained()
	if len(steps) == 0 {
		return symptom{}, false
	}
	words := fmt.Sprintf("%s in %s, not from a restart", plural(total(steps), "session error", "session errors"), span(b.f.cacheWindow()))
	s := symptom{
		Text:       words,
		Citations:  []Citation{b.cite(SignalErrors70, words)},
		Candidates: []Alternative{{CacheThrash, becauseThrash}, {MisroutedSessions, becauseRouting}},
		Decides:    "evictions, slots, and the number of clients that need a session here",
		By:         []Class{CacheThrash, RestartBurst, MisroutedSessions, FollowerChurn},
	}
	if b.allEvicted(steps) {
		s.By = append(s.By, DeadSessionTurnover) // it says that a few in use went too
	}
	if b.counter(SignalEvictions).known && b.capacity > 0 {
		s.Decides = fmt.Sprintf("the number of clients that need a session here: far below %s means a routing fault", count(b.capacity))
	}
	if b.followersSuspect() {
		s.Candidates = append(s.Candidates, Alternative{FollowerChurn, becauseFollowers})
	}
	return s, true
}

// followersSuspect reports whether replica fetchers can be behind evictions:
// there are more than consumers can cause, they came in one step with another
// broker's restart, or they are not visible.
func (b *brokerFacts) followersSuspect() bool {
	ev := b.counter(SignalEvictions)
	if !ev.known || b.capacity < 0 || len(ev.within(b.f.cacheFrom(), b.f.at())) == 0 {
		return true
	}
	_, many := b.overrun()
	return many || b.followerVisits() != nil
}

// oddEvictions: sessions are evicted.
func oddEvictions(b *brokerFacts) (symptom, bool) {
	steps := b.counter(SignalEvictions).within(b.f.cacheFrom(), b.f.at())
	if len(steps) == 0 {
		return symptom{}, false
	}
	words := fmt.Sprintf("%s in %s", plural(total(steps), "eviction", "evictions"), span(b.f.cacheWindow()))
	s := symptom{
		Text:      words,
		Citations: []Citation{b.cite(SignalEvictions, words)},
		By:        []Class{CacheThrash, RestartBurst, DeadSessionTurnover, FollowerChurn, LeakingClient, MisroutedSessions},
	}
	ratio := total(b.sustained()) / total(steps)
	if e := b.counter(SignalErrors70); !e.known || ratio >= deadRatio {
		s.Candidates = append(s.Candidates, Alternative{CacheThrash, becauseThrash})
		if b.followersSuspect() {
			s.Candidates = append(s.Candidates, Alternative{FollowerChurn, becauseFollowers})
		}
	}
	if ratio < b.f.l.LiveRatio {
		s.Candidates = append(s.Candidates, Alternative{DeadSessionTurnover, becauseDead}, Alternative{LeakingClient, becauseLeak})
		s.Decides = "session errors per eviction: about 1 means live sessions, 0 means dead ones; and who opens new sessions"
	}
	return s, true
}

// deadRatio is errors ÷ evictions under which evicted sessions count as dead.
const deadRatio = 0.1

// epochNoise is the number of epoch errors in a window that means nothing: one
// in 10 min.
const epochNoise = 1

// oddEpochs: the same session is used out of step.
func oddEpochs(b *brokerFacts) (symptom, bool) {
	n := b.counter(SignalErrors71).increase(b.f.cacheFrom(), b.f.at())
	if n <= epochNoise || judgeEpochs(b).Answer == No {
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
