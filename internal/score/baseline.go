package score

import "github.com/kafka-oncall/kafka-oncall/diagnose"

// Baseline is a simpler way of judging. Its answer is the class whose advice
// it leads to; it has no doubt and no alternatives.
type Baseline struct {
	Name    string
	Meaning string
	Judge   func(diagnose.Evidence) diagnose.Class
	// Knows are the classes that it can name.
	Knows []diagnose.Class
	// Constant: the answer does not depend on the evidence.
	Constant bool
}

// Baselines are the ways of judging that the rules are compared with. The
// majority class is that of the cases themselves, the best that a constant
// answer can do.
func Baselines(truths []diagnose.Class) []Baseline {
	most := majority(truths)
	return []Baseline{
		{"articles", "what two popular articles about these errors advise, taken literally", Articles, articleClasses, false},
		{"lag-only", "the status rules of a lag monitor: not committing, committing and falling behind, or fine", LagOnly, lagClasses, false},
		{"majority", "always the commonest class of the set (" + string(most) + ")", func(diagnose.Evidence) diagnose.Class { return most }, []diagnose.Class{most}, true},
	}
}

var articleClasses = []diagnose.Class{
	diagnose.RestartBurst, diagnose.CacheThrash, diagnose.EpochMismatch, diagnose.CacheNearLimit, diagnose.JoinSyncRace,
	diagnose.SessionTimeout, diagnose.PollInterval, diagnose.RebalanceStorm, diagnose.Quiet,
}

var lagClasses = []diagnose.Class{diagnose.ProcessGone, diagnose.LagStableGroup, diagnose.Quiet}

func majority(truths []diagnose.Class) diagnose.Class {
	n := map[diagnose.Class]int{}
	for _, c := range truths {
		n[c]++
	}
	best := diagnose.Quiet
	for _, c := range classesOf(n) {
		if n[c] > n[best] {
			best = c
		}
	}
	return best
}

// Articles takes the advice literally. About sessions: errors right after a
// restart are a burst and heal; any sustained eviction or error 70 means that
// the cache is thrashing, raise the slots; a stream of 71 is a network or client
// fault; sessions close to the slots are the early warning. About members:
// UNKNOWN_MEMBER_ID on SyncGroup is the join race, on heartbeats the session
// timeout, on a commit max.poll.interval.ms; generations that climb without it
// are a rebalance storm.
func Articles(e diagnose.Evidence) diagnose.Class {
	if e.Target.Group != "" {
		return memberArticle(e)
	}
	worst := diagnose.Quiet
	for _, b := range brokersInQuestion(e) {
		if c := sessionArticle(e, b); c != diagnose.Quiet {
			worst = c
		}
	}
	return worst
}

func sessionArticle(e diagnose.Evidence, b diagnose.Broker) diagnose.Class {
	errors70, evictions := grown(e, b, diagnose.SignalErrors70), grown(e, b, diagnose.SignalEvictions)
	switch {
	case errors70 > 0 && restarted(e, b):
		return diagnose.RestartBurst
	case evictions > 0 || errors70 > 0:
		return diagnose.CacheThrash
	case grown(e, b, diagnose.SignalErrors71) > 1:
		return diagnose.EpochMismatch
	case nearlyFull(b):
		return diagnose.CacheNearLimit
	}
	return diagnose.Quiet
}

func memberArticle(e diagnose.Evidence) diagnose.Class {
	var sync, beat, commit float64
	for _, b := range e.Brokers {
		sync += grown(e, b, diagnose.SignalSyncGroup25)
		beat += grown(e, b, diagnose.SignalHeartbeat25) + grown(e, b, diagnose.SignalGroupBeat25)
		commit += grown(e, b, diagnose.SignalOffsetCommit25)
	}
	switch {
	case sync > 0:
		return diagnose.JoinSyncRace
	case beat > 0:
		return diagnose.SessionTimeout
	case commit > 0:
		return diagnose.PollInterval
	case generations(e) > 1:
		return diagnose.RebalanceStorm
	}
	return diagnose.Quiet
}

// generations counts the rebalances that the group wrote down in the window.
func generations(e diagnose.Evidence) int {
	n := 0
	for _, g := range inQuestion(e) {
		for _, r := range g.History.Records {
			if r.At.After(windowStart(e)) {
				n++
			}
		}
	}
	return n
}

// restarted: the broker's process is younger than 15 min.
func restarted(e diagnose.Evidence, b diagnose.Broker) bool {
	start, ok := last(b.Signals[diagnose.SignalProcessStart])
	return ok && float64(e.At.Unix())-start < 900
}

// nearlyFull: the sessions approach the configured slots.
func nearlyFull(b diagnose.Broker) bool {
	n, ok := last(b.Signals[diagnose.SignalSessions])
	slots := number(b.Slots.Value)
	return ok && slots > 0 && n >= 0.95*slots
}

// LagOnly judges by lag alone, as lag monitors do: a group that has lag and has
// not moved its offsets in the window is stopped; one that moves and falls behind
// all the time is slow; every other is fine. A stopped group is counted as one
// whose process is gone, the commonest reason.
func LagOnly(e diagnose.Evidence) diagnose.Class {
	out := diagnose.Quiet
	for _, g := range inQuestion(e) {
		if c := lagStatus(g.Lag); c != diagnose.Quiet {
			out = c
		}
	}
	return out
}

func lagStatus(points []diagnose.LagPoint) diagnose.Class {
	if len(points) < 2 {
		return diagnose.Quiet
	}
	growing := true
	for i, p := range points {
		if p.Total == 0 {
			return diagnose.Quiet
		}
		growing = growing && (i == 0 || p.Total >= points[i-1].Total)
	}
	first, end := points[0], points[len(points)-1]
	switch {
	case end.CommittedTotal == first.CommittedTotal:
		return diagnose.ProcessGone
	case growing && end.Total > first.Total:
		return diagnose.LagStableGroup
	}
	return diagnose.Quiet
}
