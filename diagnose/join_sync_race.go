package diagnose

import (
	"fmt"
	"slices"
	"time"
)

func joinSyncRaceRule() Rule {
	return Rule{
		Class: JoinSyncRace,
		Needs: []Need{NeedOffsets},
		Conditions: []string{
			"a member that had just joined was dropped exactly one rebalance timeout later",
			"it never committed while it was a member",
			"no LeaveGroup request accounts for the drop",
		},
		Corroboration: []string{
			"UNKNOWN_MEMBER_ID on SyncGroup or Heartbeat after the drop: the member was alive and never synced in time",
			"membership before the join is known",
		},
		Source:   "KAFKA-12890 pending sync expiry (2.8.1, 3.0.0); measured: dropped 12.02 s after joining for 12 s, while every API called the group Stable",
		Explains: []Class{RebalanceStorm, LagStableGroup},
		Provides: append(lossSpecs(),
			FactSpec{Name: "joined_at", Unit: UnitTime, Meaning: "when it joined"},
			FactSpec{Name: "pending_seconds", Unit: UnitSeconds, Meaning: "join to drop"},
		),
		Judge: func(f *facts) []Outcome { return judgeLosses(f, JoinSyncRace) },
	}
}

// joinSyncRaceView: the member joined and never synced in time.
func joinSyncRaceView(l *loss) view {
	c := JoinSyncRace
	switch {
	case !l.s.classic():
		return exclude(c, "a KIP-848 group has no join and sync phases")
	case l.sil.known:
		return exclude(c, "the lost member had synced: it committed at "+clock(l.sil.last))
	case l.seenFor() > max(l.rebalance(), 5*time.Minute)+syncSlack:
		return exclude(c, "the lost member had been listed for "+span(l.seenFor()))
	case l.rec < 0 && l.pendingFits() && l.leave.answer != isYes:
		// It is gone from the group's description; the record of that waits for the
		// others to join again, as long as a rebalance timeout. The record of its own
		// join tells when it began and how long it may take.
		return match(c, "it was dropped "+seconds(l.pendingLow())+" to "+seconds(l.pendingHigh())+" after joining, its rebalance timeout is "+seconds(l.rebalance())+", and it never committed")
	case l.rec < 0 && l.s.hasRecords():
		return leave(c, "the group's own record of the drop is not written yet")
	case l.rec < 0:
		return leave(c, "when it joined is not visible without the offsets topic")
	case l.joined.IsZero() && !l.s.baselineKnown() && l.rec == 0:
		return leave(c, "when it joined is not visible")
	case l.joined.IsZero():
		return exclude(c, "the lost member had been one since before "+clock(l.s.firstRecordAt()))
	case l.rebalance() == 0:
		return leave(c, "its rebalance timeout is not known")
	case !l.commitsVisible():
		return leave(c, "whether it ever committed is not visible")
	case !l.pendingFits():
		return exclude(c, "it was dropped "+seconds(l.pendingHigh())+" after joining, which is not its rebalance timeout of "+seconds(l.rebalance()))
	case l.leave.answer == isYes:
		return exclude(c, "the member left by itself ("+l.leave.cite.Value+")")
	case l.leave.answer == isNo || l.called.answer == isYes:
		return match(c, "it was dropped "+seconds(l.pendingHigh())+" after joining, exactly its rebalance timeout, and never committed")
	default:
		return leave(c, "it was dropped "+seconds(l.pendingHigh())+" after joining, exactly its rebalance timeout, and never committed")
	}
}

// syncSlack is how much later than its rebalance timeout a pending member can
// be dropped: the coordinator's timer (measured 0.02 s).
const syncSlack = time.Second

// pendingFits says that a member which never committed was dropped exactly one
// rebalance timeout after it joined.
func (l *loss) pendingFits() bool {
	return !l.joined.IsZero() && !l.sil.known && l.commitsVisible() && l.rebalance() > 0 &&
		l.pendingLow() <= l.rebalance()+syncSlack && l.pendingHigh() >= l.rebalance()-pollSlack
}

// commitsVisible says that commits were read for the time it was a member: that
// there are none of its own only means something then.
func (l *loss) commitsVisible() bool {
	return slices.ContainsFunc(l.s.g.History.Commits, func(c Commit) bool {
		return !c.At.Before(l.joined.Add(-l.session())) && c.At.Before(l.by)
	})
}

// neverSynced says that its SyncGroup came, too late.
func (l *loss) neverSynced() bool {
	n, _ := l.pendingSync()
	return l.pendingFits() && n > 0
}

// pendingHigh and pendingLow bound the time from the end of the join phase that
// made it a member to its drop.
func (l *loss) pendingHigh() time.Duration { return l.by.Sub(l.joined) }

func (l *loss) pendingLow() time.Duration { return max(0, l.after.Sub(l.joined)) }

// seenFor is how long it had been listed before the drop.
func (l *loss) seenFor() time.Duration {
	for _, x := range l.s.seen {
		if x.has(l.m.ID) {
			return l.by.Sub(x.from)
		}
	}
	return 0
}

// firstRecordAt is the oldest record of the group that was read.
func (s *groupStory) firstRecordAt() time.Time {
	if len(s.g.History.Records) == 0 {
		return s.f.from()
	}
	return s.g.History.Records[0].At
}

// joinFacts are the values about a join that never ended.
func joinFacts(l *loss) []Fact {
	var v values
	v.time("joined_at", l.joined)
	v.seconds("pending_seconds", l.pendingHigh())
	return v
}

func joinSummary(l *loss) string {
	return fmt.Sprintf("%s joined at %s and never finished joining (no SyncGroup in time); the broker dropped it at %s, one rebalance timeout of %s later. The group read Stable all the time, and its partitions stood still.", upper(l.name()), clock(l.joined), clock(l.by), seconds(l.rebalance()))
}
