package diagnose

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is proven leaves no alternative, and says so where it rules others out.
func TestProvenStandsAlone(t *testing.T) {
	for _, tc := range []struct {
		name string
		tale tale
		want Class
	}{
		{"frozen coordinator", frozen(), CoordinatorTrouble},
		{"listed through the rebalance", held(bob, alice), RebalanceTimeout},
		{"stuck leader", leaderStuck(), SickLeader},
		{"removed", removed(), RemovedByAdmin},
		{"state lost", wiped(), GroupMetadataLost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := storyOf(tc.tale.evidence()).losses[0].decision
			if d.primary != tc.want || len(d.rest) != 0 {
				t.Errorf("%s with alternatives %v, want %s alone", d.primary, d.rest, tc.want)
			}
			for _, v := range d.views {
				if v.class != tc.want && (v.fit != excluded || v.because == "") {
					t.Errorf("%s is left (%v): %q", v.class, v.fit, v.because)
				}
			}
		})
	}
}

// Two proofs of different families contradict each other: no answer is better
// than one of them.
func TestTwoProofsAreUndecided(t *testing.T) {
	d := decision{views: []view{prove(RebalanceTimeout, "a"), prove(CoordinatorTrouble, "b"), match(SessionTimeout, "c")}}
	d.leaveProven()
	if d.views[2].fit != excluded || d.views[0].fit != proven || d.views[1].fit != proven || families(d.views[:2]) != 2 {
		t.Errorf("%+v", d.views)
	}
}

func TestHeldUpNeedsMoreThanASession(t *testing.T) {
	for _, tc := range []struct {
		session, reb, held float64
		begun              bool
		least, most        float64
		want               bool
	}{
		{45, 300, 290, true, 295, 305, true},
		{45, 300, 230, true, 235, 245, false},   // less than the rebalance timeout
		{45, 300, 235, false, 239, -1, false},   // less than 0.8 of it, and the beginning not seen
		{45, 300, 235, false, 241, -1, true},    // 0.8 of it
		{6, 12, 10, true, 10.9, 14.9, true},     // as measured, with a look every 2 s
		{6, 12, 7, true, 10.9, 14.9, false},     // its session may have run out just before
		{45, 60, 50, true, 55, 65, true},        // as Kafka Connect has them
		{60, 60, 55, true, 55, 65, false},       // its session may have run out as well
		{45, 0, 290, true, 295, 305, false},     // timeouts not known
		{45, 300, 290, true, 295, 299.8, true},  // the clocks differ a little
		{45, 300, 290, true, 295, 299.2, false}, // sooner than the rebalance timeout
	} {
		l := &loss{
			m:    RecordMember{SessionTimeoutMS: int32(tc.session * 1000), RebalanceTimeoutMS: int32(tc.reb * 1000)},
			wait: waiting{seen: true, begun: tc.begun, held: lasting(tc.held), least: lasting(tc.least), most: lasting(tc.most)},
		}
		if got := l.heldUp(); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestStaticOversleptIsAnInterval(t *testing.T) {
	l := func(lo, hi float64) *loss {
		return &loss{
			s:   &groupStory{g: &Group{}},
			m:   RecordMember{InstanceID: "a", SessionTimeoutMS: 45_000, RebalanceTimeoutMS: 300_000},
			sil: silence{known: true, lo: lasting(lo), hi: lasting(hi), rhythm: 5 * time.Second},
		}
	}
	for _, tc := range []struct {
		lo, hi float64
		want   bool
	}{
		{340, 347, true}, {320, 325, true},
		{320, 324.9, false}, // sooner than 300 s and 45 s, less a heartbeat of 15 s and a commit of 5 s
		{366, 370, false},   // later than both, a heartbeat and a commit
		{10, 350, false},    // a slow survivor may explain all of it
	} {
		if got := l(tc.lo, tc.hi).staticOverslept(); got != tc.want {
			t.Errorf("silent %v to %v s: %v", tc.lo, tc.hi, got)
		}
	}
}

func TestSteadyRefusals(t *testing.T) {
	at := func(secs ...float64) []step {
		var out []step
		for _, s := range secs {
			out = append(out, step{from: ago(lasting(s + 15)), at: ago(lasting(s)), n: 4})
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		steps []step
		want  bool
	}{
		{"three in 4 min", at(300, 180, 60), true},
		{"two", at(300, 60), false},
		{"three in 90 s", at(150, 100, 60), false},
		{"one burst and two stragglers", append([]step{{from: ago(lasting(315)), at: ago(lasting(300)), n: 100}}, at(180, 60)...), false},
	} {
		if got := steady(tc.steps); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestStormSources(t *testing.T) {
	for _, c := range stormCases() {
		if c.primary != RebalanceStorm {
			continue
		}
		e := c.ev.Sorted()
		s := newFacts(&e, DefaultLimits()).m.stories[0]
		if x := s.storm(); x.n < 3 || x.cite.Path == "" || !x.from.Before(x.to) {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
	// A restart of the coordinator explains what follows within three minutes.
	x := restless(3)
	x.started = ago(lasting(485))
	s := storyOf(x.evidence())
	if !s.afterCoordinatorStart(s.storm()) {
		t.Error("rebalances right after the coordinator's start are taken for a storm")
	}
}

// Trouble of one coordinator accounts for its own groups in that minute only.
func TestTroubleCovers(t *testing.T) {
	e := frozen().evidence().Sorted()
	other := e.Groups[0]
	other.ID, other.Coordinator = "elsewhere", 3
	e.Groups = append(e.Groups, other)
	e = e.Sorted()
	f := newFacts(&e, DefaultLimits())
	i := slices.IndexFunc(f.m.stories, func(s *groupStory) bool { return s.g.ID == "orders" })
	mine := f.m.stories[i].decidedFor(CoordinatorTrouble)
	cause := finding(CoordinatorTrouble, troubleOutcome(f, 2, mine), nil)
	loss := func(group string, at time.Time) Finding {
		return Finding{Class: SessionTimeout, Subject: subjectGroup(group), Facts: []Fact{factTime("dropped_at", at)}}
	}
	for _, tc := range []struct {
		name string
		s    Finding
		want bool
	}{
		{"same minute", loss("orders", ago(lasting(120))), true},
		{"five minutes later", loss("orders", t0.Add(3*time.Minute)), false},
		{"another coordinator", loss("elsewhere", ago(lasting(133))), false},
		{"rebalances", Finding{Class: RebalanceStorm, Subject: subjectGroup("orders")}, true},
	} {
		if got := troubleCovers(f, cause, tc.s); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// With a source taken away the truth stays the finding, becomes one of its
// alternatives, or the answer is open: never another cause alone.
func TestLessEvidenceNeverNamesAnotherCauseAlone(t *testing.T) {
	less := []removal{
		{"watcher", noWatcher},
		{"offsets topic", func(e *Evidence) {
			if len(e.Groups) > 0 {
				noOffsets(e)
			}
		}},
		{"Prometheus", func(e *Evidence) {
			e.Metrics, e.Brokers = MetricsSource{Reading: skipped}, nil
			e.Clients, e.ClientsReading = nil, skipped
		}},
		{"Kafka", func(e *Evidence) { e.Groups, e.GroupsReading, e.Cluster = nil, skipped, Cluster{Reading: skipped} }},
		{"earlier looks", func(e *Evidence) {
			noWatcher(e)
			for i := range e.Groups {
				g := &e.Groups[i]
				if n := len(g.Snapshots); n > 0 {
					g.Snapshots = g.Snapshots[n-1:]
					g.Snapshots[0].At = g.Snapshots[0].Until
				}
			}
		}},
	}
	// Without looks and without Heartbeat 27 a stuck leader leaves no trace but
	// its drop; a KIP-848 member that was removed is one that was fenced.
	traceless := []string{"sick-leader/no-heartbeat-27 without earlier looks", "removed-by-admin/*-848-* without Prometheus"}
	for _, c := range corpus(t) {
		lossClass := slices.ContainsFunc(membershipRules(), func(r Rule) bool { return r.Class == c.class })
		if c.near || !lossClass {
			continue
		}
		for _, r := range less {
			e := clone(c.ev)
			r.from(&e)
			p := Classify(e, DefaultLimits()).Primary()
			named := p.Class == c.class || slices.ContainsFunc(p.Alternatives, func(a Alternative) bool { return a.Class == c.class })
			if name := c.name + " without " + r.what; !named && p.Confidence != Open && !slices.ContainsFunc(traceless, func(p string) bool { ok, err := path.Match(p, name); return err == nil && ok }) {
				t.Errorf("%s: %s (%s), and %s is not even an alternative", name, p.Class, p.Confidence, c.class)
			}
		}
	}
}

// A group that began in the window and that nobody knew before is new, or its state
// was lost: everything else may be normal, but it is not confirmed.
func TestGroupThatNobodyKnewIsNotConfirmedQuiet(t *testing.T) {
	i := slices.IndexFunc(corpus(t), func(c corpusCase) bool { return c.name == "group-metadata-lost/near-new-group" })
	if i < 0 {
		t.Fatal("no case of a new group")
	}
	commitsAt := func(offset int64) func(*Evidence) {
		return func(e *Evidence) {
			h := &e.Groups[0].History
			first := map[TopicPartition]bool{}
			for j, c := range h.Commits {
				if !first[c.TopicPartition] {
					h.Commits[j].Offset = offset
				}
				first[c.TopicPartition] = true
			}
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*Evidence)
		want   Confidence
	}{
		{"watched before it began", func(*Evidence) {}, Confirmed},
		{"nobody had looked", noWatcher, Likely},
		{"the record without members that 4.x writes first", func(e *Evidence) {
			noWatcher(e)
			h := &e.Groups[0].History
			h.Records = slices.Insert(h.Records, 0, GroupRecord{At: h.Records[0].At.Add(-time.Second)})
		}, Likely},
		{"its first commits are at 0", func(e *Evidence) { noWatcher(e); commitsAt(0)(e) }, Confirmed},
		{"one of its first commits is not", func(e *Evidence) {
			noWatcher(e)
			commitsAt(0)(e)
			e.Groups[0].History.Commits[0].Offset = 55
		}, Likely},
	} {
		e := clone(corpus(t)[i].ev)
		tc.change(&e)
		p := Classify(e, DefaultLimits()).Primary()
		named := slices.ContainsFunc(p.Alternatives, func(a Alternative) bool { return a.Class == GroupMetadataLost })
		said := strings.Contains(strings.Join(p.Missing, "; "), "the offsets topic holds nothing older")
		if p.Class != Quiet || p.Confidence != tc.want || named != (tc.want == Likely) || said != named || named != (p.Decides != "") {
			t.Errorf("%s: %s (%s), alternatives %v, missing %v, decides %q", tc.name, p.Class, p.Confidence, p.Alternatives, p.Missing, p.Decides)
		}
	}
}
