package diagnose

import (
	"fmt"
	"time"
)

// A KIP-848 group's records differ from a classic group's in three ways that
// matter to the rules. The moment of a loss is exact, since it is written down
// as it happens and not when the survivors have rejoined. They say how far a
// member had taken up its assignment. And they do not say why a member went: a
// leave and a fence look alike, but for a static member that leaves for now.

// epochs says that record rec is one of a KIP-848 group.
func (h GroupHistory) epochs(rec int) bool {
	return rec >= 0 && rec < len(h.Records) && h.Records[rec].Protocol == "consumer"
}

// words names the record's place in the group's life.
func (r GroupRecord) words() string {
	if r.Protocol == "consumer" {
		return fmt.Sprintf("group epoch %d", r.Generation)
	}
	return fmt.Sprintf("generation %d", r.Generation)
}

// sameFence joins losses of one moment: members of a KIP-848 group are fenced
// one by one (measured: all of a group within 1–2 ms).
const sameFence = 100 * time.Millisecond

// joinMoments counts members that were fenced one by one at one moment as lost
// together.
func (s *groupStory) joinMoments() {
	for _, x := range s.losses {
		if !s.g.History.epochs(x.rec) {
			continue
		}
		gone, first := map[string]bool{}, x
		for _, y := range s.losses {
			if y.rec >= 0 && y.by.Sub(x.by).Abs() <= sameFence {
				gone[y.m.ID] = true
				if y.last < first.last {
					first = y
				}
			}
		}
		x.together, x.survivors = len(gone), 0
		for _, id := range s.seen[first.last].ids {
			if !gone[id] {
				x.survivors++
			}
		}
	}
}

// lastStand is the member as the last record before its drop shows it, and that
// record's index; -1 where the drop is in no record of a KIP-848 group.
func (l *loss) lastStand() (RecordMember, int) {
	h := l.s.g.History
	if !h.epochs(l.rec) {
		return RecordMember{}, -1
	}
	for i := l.rec - 1; i >= 0; i-- {
		for _, m := range h.Records[i].Members {
			if m.ID == l.m.ID {
				return m, i
			}
		}
	}
	return RecordMember{}, -1
}

// leftForNow is what the records say of a static member that left and was
// waited for in vain until its session ran out.
func (l *loss) leftForNow() (signalView, bool) {
	m, i := l.lastStand()
	if i < 0 || m.Epoch != EpochLeftForNow {
		return signalView{}, false
	}
	return signalView{answer: isYes, n: 1, cite: cite(groupPath(l.s.g.ID, fmt.Sprintf("history.records[%d]", i)),
		fmt.Sprintf("%s left for now at %s (member epoch %d)", l.name(), clock(m.StateAt), EpochLeftForNow), l.s.g.History.Reading)}, true
}

// unrevoked is how long the member had been asked to give up partitions when it
// was dropped; 0 when it was not, ok is false when that is not known.
func (l *loss) unrevoked() (d time.Duration, ok bool) {
	m, i := l.lastStand()
	switch {
	case i < 0 || m.State == "":
		return 0, false
	case m.State != MemberUnrevoked:
		return 0, true
	default:
		return l.by.Sub(m.StateAt), true
	}
}

// revokeOverdue says that it was fenced for not giving up partitions: exactly
// its rebalance timeout after it was asked to. A client that left at its poll
// limit goes before that, since it stopped polling before it was asked.
func (l *loss) revokeOverdue() bool {
	d, ok := l.unrevoked()
	return ok && l.rebalance() > 0 && (d-l.rebalance()).Abs() <= syncSlack
}

// revokeView is what a KIP-848 member's last state says about its rebalance
// timeout; ok is false when the state is not known.
func (l *loss) revokeView() (v view, ok bool) {
	c := RebalanceTimeout
	d, ok := l.unrevoked()
	switch {
	case !ok:
		return view{}, false
	case l.revokeOverdue():
		return match(c, "it was asked to give up partitions "+span(d)+" before the drop and still held them; its rebalance timeout is "+seconds(l.rebalance())), true
	case d > 0 && l.session() > 0 && d >= l.silentAtLeast():
		return leave(c, "it had been asked to give up partitions "+span(d)+" before and still held them: a client whose callback stops its heartbeats, as franz-go's does, loses its session"), true
	case d > 0:
		return exclude(c, "it had been asked to give up partitions only "+span(d)+" before"), true
	default:
		return exclude(c, "it had nothing to give up"), true
	}
}

// outlivedSession says that a KIP-848 member was dropped so long after its last
// commit that its session must have been kept alive meanwhile, and that this
// reaches its poll limit. A Java client then leaves, librdkafka falls silent and
// loses its session on top of it.
func (l *loss) outlivedSession() bool {
	return l.s.g.History.epochs(l.rec) && l.longEnoughForPoll() && l.pastSession() && !l.revokeOverdue()
}

// ranOutAfterPoll says that the silence was as long as poll limit and session
// timeout together. At its poll limit a KIP-848 member of librdkafka does not
// leave, although it logs so: it falls silent, and its session runs out
// (measured: dropped 17.5 s after the last commit with 12 s and 6 s).
func (l *loss) ranOutAfterPoll() bool {
	return l.outlivedSession() && l.sil.lo >= l.bothLimits()
}
