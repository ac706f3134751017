package diagnose

import (
	"fmt"
	"slices"
	"time"
)

// hole is a time in which a coordinator stood still and after which other groups
// had lost members; the group asked about kept its own. Which members a frozen
// broker drops as it wakes is a race between its timers and the heartbeats that
// queued up (measured: 1 to 2 of 8 members of four groups), so a group that lost
// nobody was in the same trouble.
type hole struct {
	from, to time.Time
	// silent is the longest time without a commit of the group around it.
	silent time.Duration
	// losses are indexes into the watcher's losses.
	losses []int
	// refused are the errors 25 that were counted as it ended, by signal: somebody
	// had been dropped, whoever it was.
	refused []refusal
	// undone are members of the group itself that were gone as it ended and listed
	// again soon after.
	undone []string
}

// refusal is how often a counter of errors 25 rose.
type refusal struct {
	signal Signal
	n      float64
}

// hurt says that members were dropped as it ended. A broker that was away for
// longer than broker.session.timeout.ms (9 s) is fenced; it drops members as it
// wakes, then registers again and reads its groups from the log, whose records
// still hold them (measured on 3.9.2 and 4.4.0, frozen for 12 s): errors 25 and
// nobody missing are what is left of it.
func (x hole) hurt() bool { return len(x.losses)+len(x.refused)+len(x.undone) > 0 }

// spared finds the last such time in the window: the broker could not be scraped,
// nothing of the group was committed, and as it ended the watcher saw losses
// elsewhere, members of this group were gone for a moment, or somebody's old member
// id was refused.
func (s *groupStory) spared() (hole, bool) {
	for _, x := range s.holes() {
		if x.hurt() && x.silent > 0 {
			return x, true
		}
	}
	return hole{}, false
}

// perhapsSpared finds one of which only one half is seen and the other is not
// known.
func (s *groupStory) perhapsSpared() (hole, bool) {
	watched := s.f.e.Watcher.Usable()
	commits := s.g.History.Usable() && len(s.g.History.Commits) >= minRhythm
	for _, x := range s.holes() {
		if x.hurt() && x.silent == 0 && !commits || !x.hurt() && !watched && x.silent > 0 {
			return x, true
		}
	}
	return hole{}, false
}

// holes are the times in which the coordinator could not be scraped for as long as
// a session of the group lasts, and was not restarted; the last one first.
func (s *groupStory) holes() []hole {
	b, w := s.coordinator(), s.f.e.Watcher
	if b == nil || s.f.foreign() || len(s.losses) > 0 || !s.sighted() {
		return nil
	}
	need := s.shortestSilence()
	var out []hole
	for _, x := range slices.Backward(b.holes(need)) {
		if x.to.Before(s.f.from()) {
			break
		}
		if _, restarted := b.sc.startIn(x.from, x.to); restarted {
			continue
		}
		for k, v := range w.Losses {
			if w.Usable() && v.Group != s.g.ID && v.Coordinator == b.ID && v.By.After(x.from.Add(need-b.sc.every)) && v.After.Before(x.to.Add(b.sc.every)) && v.By.Sub(v.After) <= x.to.Sub(x.from)+exactWithin {
				x.losses = append(x.losses, k)
			}
		}
		x.refused, x.undone = b.refusedAt(x), s.undoneAt(x)
		if x.silent = s.commitHole(x.from, x.to); x.silent < need {
			x.silent = 0
		}
		out = append(out, x)
	}
	return out
}

// refusedAt counts the errors 25 that came between the two scrapes around a hole
// and the next one.
func (b *brokerFacts) refusedAt(x hole) []refusal {
	var out []refusal
	for _, sig := range beat25 {
		if n := b.counter(sig).increase(x.from, x.to.Add(3*b.sc.every/2)); n > 0 {
			out = append(out, refusal{sig, n})
		}
	}
	return out
}

// undoneAt lists the members that were gone after a hole and listed again.
func (s *groupStory) undoneAt(x hole) []string {
	var out []string
	for id, at := range s.relisted {
		if at.After(x.to.Add(-skew)) && at.Sub(x.to) <= loading {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// doubtful is a time of which nobody knows whether the coordinator stood still.
func (s *groupStory) doubtful() []symptom {
	x, ok := s.perhapsSpared()
	if _, sure := s.spared(); !ok || sure {
		return nil
	}
	b := s.coordinator()
	return []symptom{{
		Subject:    subjectGroup(s.g.ID),
		Text:       x.words(b) + ", and whether it stood still is not visible",
		Citations:  []Citation{x.cite(b)},
		Candidates: []Alternative{{CoordinatorTrouble, "it may have stood still and dropped members of other groups"}, {Quiet, "it may have been the monitoring alone"}},
		By:         []Class{RestartBurst},
		Under:      b.subject(),
		Decides:    "Whether other groups of the broker lost members then, and whether commits of this one were accepted meanwhile.",
	}}
}

// troubleUnseen says that other groups of the coordinator lost members and that
// nothing shows whether it could be scraped meanwhile: it may have stood still and
// spared this group.
func (s *groupStory) troubleUnseen() (string, bool) {
	w := s.f.e.Watcher
	if b := s.coordinator(); b != nil && s.f.e.Metrics.Usable() && len(b.sc.times) > 0 || !w.Usable() || s.f.foreign() || s.g.Coordinator < 0 {
		return "", false
	}
	for i := len(w.Losses) - 1; i >= 0; i-- {
		if v := w.Losses[i]; v.Group != s.g.ID && v.Coordinator == s.g.Coordinator && v.By.After(s.f.from()) && !v.By.After(s.f.at()) {
			return fmt.Sprintf("group %s of the same broker lost a member by %s, and whether broker %d stood still then is not visible without its metrics", v.Group, clock(v.By), s.g.Coordinator), true
		}
	}
	return "", false
}

// shortestSilence is the shortest silence that lets a session of the group run
// out, that of the defaults where it is not known.
func (s *groupStory) shortestSilence() time.Duration {
	session := defaultSession
	for _, id := range s.seen[len(s.seen)-1].ids {
		if n := s.member(id, len(s.seen)-1).SessionTimeoutMS; n > 0 {
			session = min(session, ms(n))
		}
	}
	return session - session/3
}

// commitHole is the longest time without a commit of the group that touches a
// span, 0 when that is nothing unusual for it.
func (s *groupStory) commitHole(from, to time.Time) time.Duration {
	times, usual := s.commitRhythm()
	var longest time.Duration
	for i := 1; i < len(times); i++ {
		if times[i].After(from) && times[i-1].Before(to) {
			longest = max(longest, times[i].Sub(times[i-1]))
		}
	}
	if usual == 0 || longest <= 3*usual {
		return 0
	}
	return longest
}

// commitRhythm are the moments at which the group committed, and the usual time
// between two of them; worked out once.
func (s *groupStory) commitRhythm() ([]time.Time, time.Duration) {
	if s.commitTimes != nil || !s.g.History.Usable() {
		return s.commitTimes, s.usualCommit
	}
	commits := s.g.History.Commits
	s.commitTimes = make([]time.Time, 0, len(commits))
	for _, c := range commits {
		if n := len(s.commitTimes); n == 0 || c.At.Sub(s.commitTimes[n-1]) > sameRequest {
			s.commitTimes = append(s.commitTimes, c.At)
		}
	}
	s.usualCommit = medianGap(s.commitTimes)
	return s.commitTimes, s.usualCommit
}

func (s *groupStory) sparedOutcome(x hole) Outcome {
	b := s.coordinator()
	a := s.aftermath(x)
	o := Outcome{Answer: Yes, Subject: b.subject(), Citations: append([]Citation{x.cite(b)}, a.cites...), Missing: append(a.missing, s.f.kafkaMissing()...)}
	for _, r := range x.refused {
		o.Citations = append(o.Citations, b.cite(r.signal, fmt.Sprintf("%s from %s to %s", plural(r.n, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"), clock(x.from), clock(x.to))))
	}
	o.Citations = append(o.Citations, cite(groupPath(s.g.ID, "history.commits"), fmt.Sprintf("group %s committed nothing for %s", s.g.ID, span(x.silent)), s.g.History.Reading))
	var v values
	v.text("kind", coordFrozen)
	v.count("lost_members", len(x.undone))
	v.count("hurt_groups", a.hurt)
	v.text("groups", a.groups)
	v.time("dropped_at", a.at)
	v.count("returned_members", len(x.undone))
	o.Facts = v
	o.Summary = fmt.Sprintf("Broker %d stood still: it could not be scraped for %s from %s, group %s committed nothing meanwhile, and %s. The clients are the victims.",
		b.ID, span(x.to.Sub(x.from)), clock(x.from), s.g.ID, a.words)
	return o
}

// aftermath is what a coordinator had done to its groups as it woke.
type aftermath struct {
	hurt    int
	groups  string
	at      time.Time
	words   string
	missing []string
	cites   []Citation
}

func (s *groupStory) aftermath(x hole) aftermath {
	switch {
	case len(x.losses) > 0:
		return s.othersHurt(x)
	case len(x.undone) > 0:
		n := len(x.undone)
		return aftermath{hurt: 1, groups: s.g.ID, at: x.to,
			words: plural(n, "member", "members") + " of it had been dropped as it woke, to be listed again once it had read its groups from the log"}
	default:
		n := 0.0
		for _, r := range x.refused {
			n += r.n
		}
		return aftermath{hurt: 1, groups: "not known by name", at: x.to,
			missing: []string{"whose member ids it refused: only this group's records were read"},
			words:   fmt.Sprintf("it answered %s UNKNOWN_MEMBER_ID as it woke: it had dropped members. Group %s has all of its own", count(n), s.g.ID)}
	}
}

// othersHurt: the watcher saw other groups lose members.
func (s *groupStory) othersHurt(x hole) aftermath {
	w := s.f.e.Watcher
	var hurt []string
	for _, i := range x.losses {
		hurt = append(hurt, w.Losses[i].Group)
	}
	hurt = unique(hurt)
	i := x.losses[len(x.losses)-1]
	last := w.Losses[i]
	return aftermath{hurt: len(hurt), groups: firstNames(hurt), at: last.By,
		missing: []string{"the records of the groups that lost members: only this group's were read"},
		cites:   []Citation{cite(fmt.Sprintf("watcher.losses[%d]", i), fmt.Sprintf("group %s lost a member between %s and %s", last.Group, clock(last.After), clock(last.By)), w.Reading)},
		words:   fmt.Sprintf("%s (%s) had lost members as it woke. Group %s kept its own", plural(len(hurt), "other group", "other groups"), firstNames(hurt), s.g.ID)}
}
