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
}

// spared finds the last such time in the window: the broker could not be scraped,
// nothing of the group was committed, and the watcher saw losses elsewhere whose
// moment can be its end.
func (s *groupStory) spared() (hole, bool) {
	for _, x := range s.holes() {
		if len(x.losses) > 0 && x.silent > 0 {
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
		if len(x.losses) > 0 && x.silent == 0 && !commits || len(x.losses) == 0 && !watched && x.silent > 0 {
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
		if x.silent = s.commitHole(x); x.silent < need {
			x.silent = 0
		}
		out = append(out, x)
	}
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
// hole, 0 when that is nothing unusual for it.
func (s *groupStory) commitHole(x hole) time.Duration {
	if !s.g.History.Usable() {
		return 0
	}
	var times []time.Time
	var longest time.Duration
	for _, c := range s.g.History.Commits {
		if n := len(times); n > 0 {
			gap := c.At.Sub(times[n-1])
			if gap <= sameRequest {
				continue
			}
			if c.At.After(x.from) && times[n-1].Before(x.to) {
				longest = max(longest, gap)
			}
		}
		times = append(times, c.At)
	}
	if usual := medianGap(times); usual == 0 || longest <= 3*usual {
		return 0
	}
	return longest
}

func (s *groupStory) sparedOutcome(x hole) Outcome {
	b, w := s.coordinator(), s.f.e.Watcher
	var hurt []string
	for _, i := range x.losses {
		hurt = append(hurt, w.Losses[i].Group)
	}
	hurt = unique(hurt)
	last := w.Losses[x.losses[len(x.losses)-1]]
	stood := span(x.to.Sub(x.from))
	o := Outcome{
		Answer: Yes, Subject: b.subject(),
		Citations: []Citation{
			x.cite(b),
			cite(fmt.Sprintf("watcher.losses[%d]", x.losses[len(x.losses)-1]), fmt.Sprintf("group %s lost a member between %s and %s", last.Group, clock(last.After), clock(last.By)), w.Reading),
			cite(groupPath(s.g.ID, "history.commits"), fmt.Sprintf("group %s committed nothing for %s", s.g.ID, span(x.silent)), s.g.History.Reading),
		},
		Missing: append([]string{"the records of the groups that lost members: only this group's were read"}, s.f.kafkaMissing()...),
	}
	var v values
	v.text("kind", coordFrozen)
	v.count("lost_members", 0)
	v.count("hurt_groups", len(hurt))
	v.text("groups", firstNames(hurt))
	v.time("dropped_at", last.By)
	v.count("returned_members", 0)
	o.Facts = v
	o.Summary = fmt.Sprintf("Broker %d stood still: it could not be scraped for %s from %s, group %s committed nothing meanwhile, and %s (%s) had lost members as it woke. Group %s kept its own. The clients are the victims.",
		b.ID, stood, clock(x.from), s.g.ID, plural(len(hurt), "other group", "other groups"), firstNames(hurt), s.g.ID)
	return o
}
