package score

import (
	"slices"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// noSilence reports whether the records show losses in the window, and none of
// them tells a session timeout from a poll limit by how long the member had been
// silent: its partitions were idle, or survivors so slow that the silence, less
// the time they may have taken to rejoin, lies on both sides of the limit
// (group runs: 12.4 s beside a slow survivor, where a session of 6 s had ended
// and the poll limit was 12 s).
//
// It measures by itself and asks no rule: an excuse that a rule could widen would
// be none.
func noSilence(e diagnose.Evidence) bool {
	losses := 0
	for _, g := range inQuestion(e) {
		h := g.History
		if !h.Usable() {
			continue
		}
		for i := 1; i < len(h.Records); i++ {
			if h.Records[i].Tombstone || !h.Records[i].At.After(windowStart(e)) {
				continue
			}
			for _, m := range gone(h.Records[i-1], h.Records[i]) {
				losses++
				if tells(h, i, m) {
					return false
				}
			}
		}
	}
	return losses > 0
}

func gone(before, after diagnose.GroupRecord) []diagnose.RecordMember {
	return slices.DeleteFunc(slices.Clone(before.Members), func(m diagnose.RecordMember) bool {
		return slices.ContainsFunc(after.Members, func(x diagnose.RecordMember) bool { return x.ID == m.ID })
	})
}

// pollSlack covers the time between a poll and the commit that it sends.
const pollSlack = 500 * time.Millisecond

// tells reports whether the silence of a member before record i lies on one side
// of its poll limit, which is the rebalance timeout.
func tells(h diagnose.GroupHistory, i int, m diagnose.RecordMember) bool {
	end, limit := dropped(h, i), time.Duration(m.RebalanceTimeoutMS)*time.Millisecond
	last := commits(h, m.Partitions, dropped(h, i-1), end)
	if len(last) == 0 || limit <= 0 || idle(h, m.Partitions, end) {
		return false
	}
	longest := end.Sub(last[len(last)-1])
	shortest := longest - rejoining(h, i, last[len(last)-1], limit)
	return longest < limit-pollSlack || shortest >= limit-pollSlack
}

// dropped is the moment from which a record holds: the end of the join phase of a
// classic group.
func dropped(h diagnose.GroupHistory, i int) time.Time {
	r := h.Records[i]
	if r.StateAt.IsZero() || i > 0 && h.Records[i-1].Generation == r.Generation {
		return r.At
	}
	return r.StateAt
}

// commits are the times at which partitions were committed in (from, to].
func commits(h diagnose.GroupHistory, ps []diagnose.TopicPartition, from, to time.Time) []time.Time {
	var out []time.Time
	for _, c := range h.Commits {
		if c.At.After(from) && !c.At.After(to) && slices.Contains(ps, c.TopicPartition) {
			out = append(out, c.At)
		}
	}
	return out
}

// idle reports that the next owner found the offsets where the member had left
// them.
func idle(h diagnose.GroupHistory, ps []diagnose.TopicPartition, end time.Time) bool {
	left, compared := map[diagnose.TopicPartition]int64{}, 0
	for _, c := range h.Commits {
		if !slices.Contains(ps, c.TopicPartition) {
			continue
		}
		if !c.At.After(end) {
			left[c.TopicPartition] = c.Offset
			continue
		}
		was, ok := left[c.TopicPartition]
		if !ok {
			continue
		}
		if compared++; c.Offset > was {
			return false
		}
	}
	return compared > 0
}

// rejoining bounds the join phase that ended with record i by the survivors'
// longest gap between commits and a third of a session, in which a heartbeat
// comes. A KIP-848 group waits for nobody.
func rejoining(h diagnose.GroupHistory, i int, since time.Time, limit time.Duration) time.Duration {
	if h.Records[i].Protocol == "consumer" {
		return 0
	}
	end := dropped(h, i)
	var longest time.Duration
	for _, m := range h.Records[i].Members {
		was := slices.IndexFunc(h.Records[i-1].Members, func(x diagnose.RecordMember) bool { return x.ID == m.ID })
		if was < 0 || len(h.Records[i-1].Members[was].Partitions) == 0 {
			continue
		}
		session := time.Duration(m.SessionTimeoutMS) * time.Millisecond
		at := commits(h, h.Records[i-1].Members[was].Partitions, since.Add(-max(session, 10*time.Second)), end)
		if len(at) == 0 {
			return limit
		}
		gap := end.Sub(at[len(at)-1])
		for j := 1; j < len(at); j++ {
			gap = max(gap, at[j].Sub(at[j-1]))
		}
		longest = max(longest, gap+session/3)
	}
	return min(longest, limit)
}
