package diagnose

import (
	"fmt"
	"strings"
	"time"
)

func misroutedSessionsRule() Rule {
	return Rule{
		Class: MisroutedSessions,
		Needs: []Need{NeedBrokerMetrics},
		Conditions: []string{
			"one of five signs, and no more demand than fits:",
			"(a) REBOOTSTRAP_REQUIRED on ApiVersions: brokers and clients from 4.4 notice it themselves (KIP-1242)",
			"(b) NOT_LEADER_OR_FOLLOWER on Fetch or ListOffsets after the number of leaders last changed: in three 120 s periods or more, or for 30 s with one a second",
			"(c) while the cache has room: errors 70 ≥ 10 % of the consumer fetches, on several brokers, and the sessions rise about as fast",
			"(d) with a full cache: errors 70 ≈ evictions on several brokers, and demand below half of the capacity",
			"(e) with a full cache: 10 errors 70 or more apart from restarts, on several brokers, and no eviction",
		},
		Corroboration: []string{
			"two signs, or one that several brokers show",
			"sign (a) in more than one 120 s period",
		},
		Source:   "KIP-1242; measured: a balancer for requests gave error 70 for 50 to 55 % of all fetches (thrashing 0.6 %), one for connections none, and 193,000 NOT_LEADER in 60 s",
		Explains: []Class{CacheThrash, CacheSaturated, CacheNearLimit, DeadSessionTurnover, LeakingClient},
		Covers:   func(*facts, Finding, Finding) bool { return true },
		Provides: []FactSpec{
			{Name: "signs", Unit: UnitText, Meaning: "what points to the fault, in words"},
			{Name: "brokers", Unit: UnitText, Meaning: "the brokers that show it"},
			{Name: "errors", Unit: UnitCount, Meaning: "errors 70 in the window"},
			{Name: "window_seconds", Unit: UnitSeconds, Meaning: "the span that was judged"},
		},
		Judge: func(f *facts) []Outcome { return f.eachBroker(judgeMisrouted) },
	}
}

const (
	// misroutedShare of the consumer fetches that fail with 70: measured 50 %
	// when requests are balanced, 0.6 % while thrashing.
	misroutedShare = 0.10
	// misroutedRise is the least growth of the sessions for each error 70: every
	// retry leaves a session on the other broker.
	misroutedRise = 0.5
	// misroutedDemand is the share of the capacity under which demand cannot
	// fill the cache.
	misroutedDemand = 0.5
)

// sign is one of the five observations.
type sign struct {
	words string
	cite  Citation
	// firm says that it stands without another one.
	firm bool
}

func judgeMisrouted(b *brokerFacts) Outcome {
	signs := b.misroutingSigns()
	if len(signs) == 0 {
		unseen := b.unseen(SignalRebootstrap, SignalNotLeaderFetch, SignalNotLeaderList, SignalErrors70)
		if len(unseen) > 0 {
			return Outcome{Answer: Unknown, Blind: []Need{NeedBrokerMetrics}, Because: "signs of a routing fault are not visible: " + strings.Join(unseen, ", ")}
		}
		return b.noMisrouting()
	}
	return misrouted(b, signs)
}

// noMisrouting says which sign was looked for and not found.
func (b *brokerFacts) noMisrouting() Outcome {
	e := b.sustained()
	c := b.cache()
	switch {
	case len(e) == 0:
		return no("no session error apart from restarts, no REBOOTSTRAP_REQUIRED, and NOT_LEADER errors do not go on")
	case c.full(b.f.l) && c.demand.low < 0 && c.demand.high < 0:
		return Outcome{Answer: Unknown, Blind: []Need{NeedDemand}, Because: "with a full cache a routing fault looks like thrashing, and the number of clients that need a session is not known"}
	case c.full(b.f.l) && !b.alone() && !c.above(b.f.l.DemandShare):
		return Outcome{Answer: Unknown, Because: "several brokers have session errors, and demand is neither far below the capacity nor above it"}
	case c.full(b.f.l) && c.above(b.f.l.DemandShare):
		return no("%s: demand itself fills the cache", b.demandWords())
	default:
		return no("%s in %s are not the share of the fetches that a routing fault gives, and nothing else points to one", plural(total(e), "session error", "session errors"), span(b.f.cacheWindow()))
	}
}

func (b *brokerFacts) misroutingSigns() []sign {
	var out []sign
	for _, look := range []func(*brokerFacts) (sign, bool){signRebootstrap, signNotLeader, signFilling, signFull, signUnevicted} {
		if s, ok := look(b); ok {
			out = append(out, s)
		}
	}
	return out
}

// signRebootstrap: the broker told clients that they had reached another one
// than they meant.
func signRebootstrap(b *brokerFacts) (sign, bool) {
	steps := b.counter(SignalRebootstrap).within(b.f.cacheFrom(), b.f.at())
	if len(steps) == 0 {
		return sign{}, false
	}
	words := rebootstrapped(total(steps))
	return sign{words, b.cite(SignalRebootstrap, words), b.spread(steps) > 1}, true
}

// rebootstrapped counts answers: a client that goes on asking gets one each time.
func rebootstrapped(n float64) string {
	return plural(n, "response told a client", "responses told clients") + " to bootstrap again (REBOOTSTRAP_REQUIRED)"
}

// signNotLeader: clients go on asking a broker for partitions that it does not
// lead.
func signNotLeader(b *brokerFacts) (sign, bool) {
	for _, s := range []Signal{SignalNotLeaderFetch, SignalNotLeaderList} {
		if steps, on := b.notLeader(s); on {
			words := plural(total(steps), "NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER") + " while leaders were constant"
			return sign{words, b.cite(s, words), false}, true
		}
	}
	return sign{}, false
}

// signFilling: a large share of the fetches fails, here and on another broker,
// and each leaves a session behind.
func signFilling(b *brokerFacts) (sign, bool) {
	from, to := b.f.cacheFrom(), b.f.at()
	e, all := total(b.sustained()), b.counter(SignalFetchRequests)
	if e == 0 || !all.known || b.alone() || e < misroutedShare*all.increase(from, to) {
		return sign{}, false
	}
	c := b.cache()
	if grown := b.grownSessions(); !c.full(b.f.l) && grown < misroutedRise*e {
		return sign{}, false
	}
	words := fmt.Sprintf("%s of the consumer fetches fail with a session error, on several brokers", percent(e/max(e, all.increase(from, to))))
	return sign{words, b.cite(SignalErrors70, words), true}, true
}

// grownSessions is by how much the sessions rose over the window.
func (b *brokerFacts) grownSessions() float64 {
	var first, last Sample
	for _, s := range b.gauge(SignalSessions) {
		if s.T.Before(b.f.cacheFrom()) {
			continue
		}
		if first.T.IsZero() {
			first = s
		}
		last = s
	}
	return last.V - first.V
}

// signFull: it looks like thrashing, but so few clients cannot fill the cache.
func signFull(b *brokerFacts) (sign, bool) {
	c := b.cache()
	e, ev := total(b.sustained()), b.counter(SignalEvictions).increase(b.f.cacheFrom(), b.f.at())
	if !c.full(b.f.l) || e == 0 || ev == 0 || e < b.f.l.LiveRatio*ev || b.alone() || !c.below(misroutedDemand) {
		return sign{}, false
	}
	words := fmt.Sprintf("%s on several brokers, while at most %s a session and the cache holds %s", plural(e, "session error", "session errors"), plural(c.demand.high, "client needs", "clients need"), count(c.capacity))
	return sign{words, b.cite(SignalErrors70, words), true}, true
}

// signUnevicted: a broker forgets a session when it evicts it or starts. Errors
// apart from restarts, on several brokers that evicted nothing, are for sessions
// that live on another broker. Once the cache is full of what the retries left,
// they stop: clients get no session any more (measured: 47 and 79 errors, then
// none, with 80 slots and 8 clients).
func signUnevicted(b *brokerFacts) (sign, bool) {
	e := total(b.sustained())
	if e < unevictedErrors || b.alone() || !b.counter(SignalEvictions).noStep(b.f.cacheFrom()) || !b.cache().full(b.f.l) {
		return sign{}, false
	}
	words := plural(e, "session error", "session errors") + " on several brokers, and no session was evicted"
	return sign{words, b.cite(SignalErrors70, words), false}, true
}

// unevictedErrors is more than the stragglers of a restart give.
const unevictedErrors = 10

func misrouted(b *brokerFacts, signs []sign) Outcome {
	e, w := total(b.sustained()), b.f.cacheWindow()
	o := Outcome{Answer: Yes}
	var words []string
	firm := false
	for _, s := range signs {
		words = append(words, s.words)
		o.Citations = append(o.Citations, s.cite)
		firm = firm || s.firm
	}
	where, many := b.misroutedBrokers()
	o.Summary = fmt.Sprintf("Clients reach broker %d when they mean another one: %s. Some address, proxy or balancer stands for several brokers. More session slots would not help.", b.ID, strings.Join(words, "; "))
	o.Facts = []Fact{factText("signs", strings.Join(words, "; ")), factText("brokers", where), factCount("errors", e), factSeconds("window_seconds", w)}
	if n := b.counter(SignalErrors106).increase(b.f.cacheFrom(), b.f.at()); n > 0 && !b.young() {
		o.Citations = append(o.Citations, b.cite(SignalErrors106, plural(n, "topic id error", "topic id errors")+" (106), without a restart"))
		firm = firm || len(signs) > 0 && many > 1
	}
	if !firm && len(signs) < 2 && many < 2 {
		o.Missing = append(o.Missing, "a second sign, or a second broker that shows it")
		o.Decides = "whether other brokers show it, and what the advertised listeners resolve to"
	}
	if b.toldOnce(signs) {
		o.Provisional = true
		o.Decides = "whether it goes on: an address that changed its owner (a pod's, after a restart) gives this once"
		o.NextLookSeconds = int(2 * b.f.wave() / time.Second)
	}
	if _, dated := b.age(); !dated {
		o.Missing = append(o.Missing, "the broker's start time is not visible")
	}
	if b.young() {
		o.Provisional = true
		o.Decides = "whether it goes on: the broker was restarted, and leaders move then"
		o.NextLookSeconds = int(2 * b.f.wave() / time.Second)
	}
	return o
}

// toldOnce says that REBOOTSTRAP_REQUIRED in one 120 s period is all there is.
func (b *brokerFacts) toldOnce(signs []sign) bool {
	steps := b.counter(SignalRebootstrap).within(b.f.cacheFrom(), b.f.at())
	return len(signs) == 1 && len(steps) > 0 && b.spread(steps) == 1
}

// misroutedBrokers lists the brokers with a sign.
func (b *brokerFacts) misroutedBrokers() (string, int) {
	var ids []string
	for _, other := range b.f.br {
		if _, stop := other.unreadable(); !stop && len(other.misroutingSigns()) > 0 {
			ids = append(ids, count(other.ID))
		}
	}
	return strings.Join(ids, ", "), len(ids)
}
