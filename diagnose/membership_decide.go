package diagnose

import (
	"cmp"
	"slices"
	"time"
)

// fit says how well a class explains one loss.
type fit int

const (
	// excluded: an observation speaks against it.
	excluded fit = iota
	// possible: nothing excludes it and nothing points to it.
	possible
	// fits: what it predicts was seen.
	fits
	// proven: something was seen that only this class makes. It excludes the
	// others for this loss.
	proven
)

// view is what one class makes of one loss. Because is the observation that
// excludes it, or the reason why it is left.
type view struct {
	class   Class
	fit     fit
	because string
}

// suspects are the classes that can drop a member, commoner ones first. Each has
// its view in its rule's file.
var suspects = [...]struct {
	class Class
	view  func(*loss) view
}{
	{JoinSyncRace, joinSyncRaceView},
	{PollInterval, pollIntervalView},
	{RollingDeploy, rollingDeployView},
	{SessionTimeout, sessionTimeoutView},
	{ProcessGone, processGoneView},
	{ClientUnreachable, clientUnreachableView},
	{PollIntervalStatic, pollIntervalStaticView},
	{ProcessReplaced, processReplacedView},
	{RebalanceTimeout, rebalanceTimeoutView},
	{SickLeader, sickLeaderView},
	{CoordinatorTrouble, coordinatorTroubleView},
	{RemovedByAdmin, removedByAdminView},
	{GroupMetadataLost, groupMetadataLostView},
}

// decision is the answer for one loss: a class, or the candidates when causes
// of different families are left.
type decision struct {
	// primary is empty when it is undecided.
	primary Class
	// rest are the other views that are not excluded, better ones first.
	rest []view
	// views holds every view, in the order of suspects.
	views []view
}

func (d decision) view(c Class) view {
	for _, v := range d.views {
		if v.class == c {
			return v
		}
	}
	return view{class: c}
}

// heardFirst puts what the log says in so many words before what else fits.
func (l *loss) heardFirst(a, b view) int {
	heard := func(v view) int {
		if l.heard.at >= 0 && v.class == l.heard.class {
			return 0
		}
		return 1
	}
	return cmp.Compare(heard(a), heard(b))
}

// decide weighs all suspects for one loss.
//
// A class that is proven stands alone. Else a class that fits wins over one that
// is merely possible. Among equals of one family the commoner one is the primary
// and the others are its alternatives; equals of different families stay
// undecided, since a wrong action would follow from a guess.
func decide(l *loss) decision {
	var d decision
	l.heard = l.hear()
	for _, s := range suspects {
		d.views = append(d.views, s.view(l))
	}
	l.heed(d.views)
	l.heedPods(d.views)
	d.leaveProven()
	left := slices.DeleteFunc(slices.Clone(d.views), func(v view) bool { return v.fit == excluded })
	slices.SortStableFunc(left, func(a, b view) int { return cmp.Or(better(a, b), l.heardFirst(a, b)) })
	d.rest = left
	if len(left) == 0 {
		return d
	}
	best := slices.DeleteFunc(slices.Clone(left), func(v view) bool { return v.fit < left[0].fit })
	if families(best) > 1 {
		return d
	}
	d.primary = left[0].class
	d.rest = left[1:]
	return d
}

// leaveProven excludes what a proven class leaves no room for.
func (d decision) leaveProven() {
	i := slices.IndexFunc(d.views, func(v view) bool { return v.fit == proven })
	if i < 0 {
		return
	}
	p := d.views[i]
	for k, v := range d.views {
		if v.fit != excluded && v.fit != proven {
			d.views[k] = exclude(v.class, "explained otherwise ("+headline(p.class)+"): "+p.because)
		}
	}
}

// better orders views: what fits before what is possible. Where nothing fits, a
// session timeout comes first: a long silence alone proves no poll breach, since
// slow survivors stretch any silence.
func better(a, b view) int {
	if d := cmp.Compare(b.fit, a.fit); d != 0 || a.fit != possible {
		return d
	}
	first := func(v view) int {
		if v.class == SessionTimeout {
			return 0
		}
		return 1
	}
	return cmp.Compare(first(a), first(b))
}

func families(vs []view) int {
	seen := map[Family]bool{}
	for _, v := range vs {
		seen[familyOf(v.class)] = true
	}
	return len(seen)
}

func familyOf(c Class) Family {
	e, _ := Lookup(c)
	return e.Family
}

func headline(c Class) string {
	e, _ := Lookup(c)
	return e.Headline
}

func exclude(c Class, because string) view { return view{c, excluded, because} }
func leave(c Class, because string) view   { return view{c, possible, because} }
func match(c Class, because string) view   { return view{c, fits, because} }
func prove(c Class, because string) view   { return view{c, proven, because} }

// The observations that several views share.

// leftAtOnce says that the member was dropped sooner after its last commit than
// any timeout allows, so that it must have left or been removed.
func (l *loss) leftAtOnce() bool {
	return l.sil.known && l.session() > 0 && l.sil.hi < l.silentAtLeast()
}

// tooSoonForPoll says that it was dropped sooner than its poll limit allows.
func (l *loss) tooSoonForPoll() bool {
	return l.sil.known && l.rebalance() > 0 && l.sil.hi < l.rebalance()-pollSlack
}

// longEnoughForPoll says that its silence reached the poll limit, as far as the
// interval tells, and that it was a silence at all.
func (l *loss) longEnoughForPoll() bool {
	return l.sil.known && !l.sil.idle && l.rebalance() > 0 && l.sil.hi >= l.rebalance()-pollSlack
}

// pollSlack covers the time between a poll and the commit that it sends.
const pollSlack = 500 * time.Millisecond

// brokeRhythm says that the silence was far longer than its usual time between
// commits: a client that closes commits first and would not be silent.
func (l *loss) brokeRhythm() bool {
	return l.sil.known && !l.sil.idle && l.sil.rhythm > 0 && l.sil.lo > 3*l.sil.rhythm
}

// pastSession says that its session would have run out long before, had the
// whole process been silent.
func (l *loss) pastSession() bool {
	return l.session() > 0 && l.brokeRhythm() && l.sil.lo > l.session()+l.sil.rhythm+l.heartbeat()
}

// longGone says that it has been away for longer than a pause explains: twice
// the session timeout after the drop, so three since it fell silent.
func (l *loss) longGone() bool {
	limit := 2 * l.session()
	if limit == 0 {
		limit = 90 * time.Second
	}
	return l.back == nil && l.away() > limit
}

// heldUp says that it was still listed while the group waited for it, for longer
// than its session lasts, and that the wait can have been its rebalance timeout:
// it went on with its heartbeats and did not rejoin. A member whose session ran
// out is listed for one session timeout at most.
func (l *loss) heldUp() bool {
	reb := l.rebalance()
	return reb > 0 && l.wait.held > l.session()+skew && l.wait.canBe(reb)
}

// canBe says that the rebalance can have lasted for a rebalance timeout. Where
// its beginning was not sampled, nearly all of it must have been seen.
func (w waiting) canBe(reb time.Duration) bool {
	if !w.begun {
		return w.least >= reb*8/10
	}
	return w.most >= reb-pollSlack
}

// heldLong is heldUp where the member's timeouts are not known: nearly all
// sessions are shorter than that.
func (l *loss) heldLong() bool {
	return l.rebalance() == 0 && l.session() == 0 && l.wait.held >= 2*time.Minute
}

// outwaited says that the group's records show a wait for this member that no
// silence of its own explains (see standstill).
func (l *loss) outwaited() bool {
	return l.heldByRecords() && l.rebalanceFirst() || l.leaderByRecords()
}

// outwaitedWords is the same for people.
func (l *loss) outwaitedWords() string {
	return "nobody of the group committed for " + seconds(l.still.length) + ", which a silent member alone does not explain; one beside slow others might"
}

// sampling is how far apart two looks at a group may be: the watcher lists
// groups every 10 s.
const sampling = 10 * time.Second

// tookOver says that a successor of the same client was there before it was
// dropped, and that nobody called with the old member id: the process was
// replaced without leaving.
func (l *loss) tookOver() bool {
	if l.called.answer != isNo || l.leave.answer == isYes || l.staticOverslept() {
		return false
	}
	return l.beside != "" || l.swapped()
}

// swapped says that the record which dropped it lists its successor, although
// it had been silent for its session timeout and nobody left.
func (l *loss) swapped() bool {
	return l.back != nil && l.back.sameRecord && !l.back.sameID && l.leave.answer == isNo &&
		l.sil.known && !l.sil.idle && l.sil.hi >= l.silentAtLeast() && l.session() > 0
}

// bothLimits is the shortest silence that poll limit and session timeout make one
// after the other: the session counts from the last heartbeat, and a client that
// commits in the background does so once more after its last poll (measured with
// librdkafka: 16.2 s for 12 s and 6 s).
func (l *loss) bothLimits() time.Duration {
	return l.rebalance() + l.silentAtLeast() - min(l.sil.rhythm, l.heartbeat())
}

// staticOverslept says that a static member was silent for its poll limit and
// one session timeout, one after the other. Its session alone would have run out
// long before, so its heartbeats went on until the poll limit; or its own metrics
// show that its process ran all the time.
func (l *loss) staticOverslept() bool {
	if !l.static() || l.rebalance() == 0 || !l.sil.known || !l.pastSession() && !l.busyAlive() {
		return false
	}
	least := l.bothLimits()
	most := l.rebalance() + l.session() + l.heartbeat() + l.sil.rhythm
	return l.sil.hi >= least && l.sil.lo <= most
}
