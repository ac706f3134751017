package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// storyOf works out the story of the only group of some evidence.
func storyOf(e Evidence) *groupStory {
	e = e.Sorted()
	return newFacts(&e, DefaultLimits()).m.stories[0]
}

func TestSilenceIsAnInterval(t *testing.T) {
	slow := overslept()
	slow.turns[1].start, slow.turns[1].at = ago(lasting(374)), ago(lasting(110))
	slow.silent[bob.id] = []span2{{ago(lasting(419)), ago(lasting(110))}}
	onlyRecords := func(e *Evidence) { noWatcher(e); e.Groups[0].Snapshots = nil }
	for _, tc := range []struct {
		name   string
		tale   tale
		change func(*Evidence)
		lo, hi time.Duration
	}{
		// The last commit is 180 s old at the drop 45 s later; the record follows
		// 2 s after that, and a look every 10 s narrows it.
		{"snapshots", stalled(), func(*Evidence) {}, lasting(40), lasting(47)},
		// Records alone: the survivor's last commit is 7 s older than the end of the
		// join phase, a heartbeat is at most 15 s.
		{"records only", stalled(), onlyRecords, lasting(25), lasting(47)},
		// A survivor that was busy for 309 s hides the drop: up to the rebalance
		// timeout of 300 s belongs to its rejoin.
		{"slow survivor", slow, onlyRecords, lasting(10), lasting(310)},
		{"nobody else", alone(), onlyRecords, lasting(45), lasting(45)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.tale.change = tc.change
			l := storyOf(tc.tale.evidence()).losses[0]
			if !l.sil.known || l.sil.lo != tc.lo || l.sil.hi != tc.hi {
				t.Errorf("silence %v to %v (known %v), want %v to %v", l.sil.lo, l.sil.hi, l.sil.known, tc.lo, tc.hi)
			}
		})
	}
}

// alone is a group of one member that was dropped: its empty record is written
// at once.
func alone() tale {
	return tale{
		turns:  []turn{settled(alice), {start: ago(lasting(135)), at: ago(lasting(135))}},
		silent: map[string][]span2{alice.id: {{ago(lasting(179)), t0}}},
	}
}

func TestComebacks(t *testing.T) {
	elsewhere := aliceAgain
	elsewhere.host = "/10.2.9.9"
	shared := func(letter string) who {
		w := person(letter, 1)
		w.client, w.host = "orders", "/10.2.7.1"
		return w
	}
	for _, tc := range []struct {
		name  string
		turns []turn
		want  []string // member id → return, oldest loss first
	}{
		{"same host", stalled().turns, []string{"orders-a-1 by orders-a-2"}},
		{"still away", stalled().turns[:2], []string{"orders-a-1 away"}},
		{"another host", []turn{settled(alice, bob), {start: ago(lasting(135)), at: ago(lasting(133)), members: []who{bob}}, {start: ago(lasting(120)), at: ago(lasting(118)), members: []who{bob, elsewhere}}}, []string{"orders-a-1 by orders-a-2 elsewhere"}},
		{"somebody else joined", []turn{settled(alice, bob), {start: ago(lasting(135)), at: ago(lasting(133)), members: []who{bob}}, {start: ago(lasting(120)), at: ago(lasting(118)), members: []who{bob, carol}}}, []string{"orders-a-1 away"}},
		{"in the same record", []turn{settled(alice, bob), {start: ago(lasting(135)), at: ago(lasting(100)), members: []who{aliceAgain, bob}}}, []string{"orders-a-1 by orders-a-2 same record"}},
		// Two of three that share a client id are dropped, one comes back: it
		// counts once.
		{"shared client id", []turn{settled(shared("a"), shared("b"), shared("c")), {start: ago(lasting(135)), at: ago(lasting(133)), members: []who{shared("c")}}, {start: ago(lasting(120)), at: ago(lasting(118)), members: []who{shared("c"), shared("d")}}}, []string{"orders-a-1 by orders-d-1", "orders-b-1 away"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := storyOf(tale{turns: tc.turns, silent: map[string][]span2{alice.id: {{ago(lasting(179)), t0}}}, change: func(e *Evidence) {
				noWatcher(e)
				e.Groups[0].Snapshots = nil
			}}.evidence())
			var got []string
			for _, l := range s.losses {
				got = append(got, returnOf(l))
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("losses %q, want %q", got, tc.want)
			}
		})
	}
}

func returnOf(l *loss) string {
	if l.back == nil {
		return l.m.ID + " away"
	}
	s := l.m.ID + " by " + l.back.id
	if l.back.elsewhere {
		s += " elsewhere"
	}
	if l.back.sameRecord {
		s += " same record"
	}
	return s
}

// An answer that lists nobody for a moment, as from a coordinator that does not
// hold the group, loses no classic member: ids are never given back.
func TestAnEmptyAnswerIsNoLoss(t *testing.T) {
	x := tale{turns: []turn{settled(alice, bob)}, change: func(e *Evidence) {
		g := &e.Groups[0]
		last := g.Snapshots[0]
		g.Snapshots[0].Until = ago(lasting(200))
		last.At = ago(lasting(180))
		g.Snapshots = append(g.Snapshots, GroupSnapshot{At: ago(lasting(190)), Until: ago(lasting(190)), State: "Dead", Epoch: -1}, last)
		e.Watcher.Losses = []Loss{{Group: "orders", Coordinator: 2, MemberID: alice.id, After: ago(lasting(200)), By: ago(lasting(190))}}
	}}
	if s := storyOf(x.evidence()); len(s.losses) != 0 {
		t.Errorf("%d losses, first %s at %v", len(s.losses), s.losses[0].m.ID, s.losses[0].by)
	}
}

func TestStaticRestartIsNoLoss(t *testing.T) {
	static, again := alice, aliceAgain
	static.instance, again.instance = "inst-a", "inst-a"
	x := tale{turns: []turn{settled(static, bob), {start: ago(lasting(60)), at: ago(lasting(60)), generation: 4, members: []who{again, bob}}}}
	s := storyOf(x.evidence())
	if len(s.losses) != 0 || len(s.replaced) != 1 {
		t.Errorf("%d losses and %d replaced, want a replaced static member", len(s.losses), len(s.replaced))
	}
}

func TestCoordinatorCountersAreAttributed(t *testing.T) {
	stranger := func(after, by float64) []Loss {
		return []Loss{{Group: "billing", Coordinator: 2, MemberID: "x", After: ago(lasting(after)), By: ago(lasting(by))}}
	}
	for _, tc := range []struct {
		name          string
		change        func(x *tale)
		leave, called tri
	}{
		{"nothing", func(x *tale) { x.events = nil }, isNo, isNo},
		{"called", func(*tale) {}, isNo, isYes},
		{"left", func(x *tale) { x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(135)), 1}}} }, isYes, isNo},
		{"left, but the drop is not dated", func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(200)), 1}}}
			x.change = func(e *Evidence) {
				noOffsets(e)
				noWatcher(e)
				e.Groups[0].Snapshots[0].Until = ago(lasting(300))
			}
		}, dontKnow, isNo},
		{"left long before", func(x *tale) { x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(300)), 5}}} }, isNo, isNo},
		{"one leave for two losses", func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(135)), 1}}}
			x.strangers = stranger(140, 130)
		}, dontKnow, isNo},
		{"two leaves for two losses", func(x *tale) {
			x.events = map[Signal][]event{SignalLeaveRequests: {{ago(lasting(135)), 2}}}
			x.strangers = stranger(140, 130)
		}, isYes, isNo},
		{"another group lost a member earlier", func(x *tale) { x.strangers = stranger(310, 300) }, isNo, dontKnow},
		{"another coordinator's group", func(x *tale) {
			x.strangers = stranger(310, 300)
			x.strangers[0].Coordinator = 3
		}, isNo, isYes},
		{"refused all the time", func(x *tale) {
			x.events = map[Signal][]event{SignalOffsetCommit25: waves(8, ago(lasting(500)), ago(lasting(300)), ago(lasting(100)))}
		}, isNo, dontKnow},
		{"somebody was refused once, before", func(x *tale) {
			x.events = map[Signal][]event{SignalOffsetCommit25: {{ago(lasting(300)), 3}}}
		}, isNo, isNo},
		// The member is back at 118 s; whoever is refused at 20 s is somebody else.
		{"refused long after its return", func(x *tale) {
			x.events = map[Signal][]event{SignalOffsetCommit25: {{ago(lasting(10)), 3}}}
		}, isNo, isNo},
		{"not exported", func(x *tale) { x.change = noBrokerMetrics }, dontKnow, dontKnow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := stalled()
			tc.change(&x)
			l := storyOf(x.evidence()).losses[0]
			if l.leave.answer != tc.leave || l.called.answer != tc.called {
				t.Errorf("leave %v (%s), called %v (%s); want %v, %v", l.leave.answer, l.leave.why, l.called.answer, l.called.why, tc.leave, tc.called)
			}
			if l.leave.answer == dontKnow && l.leave.why == "" || l.called.answer == dontKnow && l.called.why == "" {
				t.Error("an unknown answer has no reason")
			}
		})
	}
}

func TestCoordinatorHealth(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tale   func() tale
		want   tri
		reason string
	}{
		{"others commit", stalled, isYes, "commits of other members"},
		{"other groups are fine", func() tale { x := alone(); x.stable = 11; return x }, isYes, "11 other groups"},
		{"nobody shows it", alone, dontKnow, "no other group"},
		{"everybody at once", func() tale {
			x := alone()
			x.turns[0] = settled(alice, bob)
			x.silent[bob.id] = []span2{{ago(lasting(179)), t0}}
			return x
		}, dontKnow, "all 2 members"},
		{"two groups at once", func() tale {
			x := stalled()
			x.silent[bob.id], x.stable = x.silent[alice.id], 0
			x.strangers = []Loss{{Group: "billing", Coordinator: 2, MemberID: "x", After: ago(lasting(140)), By: ago(lasting(133))}}
			return x
		}, isNo, "1 other group"},
		{"two groups at once, and eleven kept their members", func() tale {
			x := stalled()
			x.silent[bob.id] = x.silent[alice.id]
			x.strangers = []Loss{{Group: "billing", Coordinator: 2, MemberID: "x", After: ago(lasting(140)), By: ago(lasting(133))}}
			return x
		}, isYes, "11 other groups"},
		{"two groups at once, and another member went on", func() tale {
			x := stalled()
			x.strangers = []Loss{{Group: "billing", Coordinator: 2, MemberID: "x", After: ago(lasting(140)), By: ago(lasting(133))}}
			return x
		}, isYes, "commits of other members"},
		{"two groups 20 s apart", func() tale {
			x := stalled()
			x.strangers = []Loss{{Group: "billing", Coordinator: 2, MemberID: "x", After: ago(lasting(160)), By: ago(lasting(153))}}
			return x
		}, isYes, "commits of other members"},
		{"not scraped for 40 s", func() tale {
			x := stalled()
			x.silent[bob.id] = x.silent[alice.id]
			x.change = func(e *Evidence) {
				for sig, m := range e.Brokers[1].Signals {
					for i := range m.Series {
						m.Series[i].Samples = slices.DeleteFunc(m.Series[i].Samples, func(s Sample) bool { return s.T.After(ago(lasting(178))) && s.T.Before(ago(lasting(130))) })
					}
					e.Brokers[1].Signals[sig] = m
				}
			}
			return x
		}, isNo, "could not be scraped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := storyOf(tc.tale().evidence()).losses[0].coord
			if c.well != tc.want || !strings.Contains(c.why, tc.reason) {
				t.Errorf("well %v: %s; want %v: %s", c.well, c.why, tc.want, tc.reason)
			}
		})
	}
}

func TestClientMetricsTellWhoStoodStill(t *testing.T) {
	same := func(v float64) func(time.Time) float64 { return func(time.Time) float64 { return v } }
	for _, tc := range []struct {
		name         string
		polls        map[string]func(time.Time) float64
		still, slept tri
	}{
		{"not exported", nil, dontKnow, dontKnow},
		{"no such client", map[string]func(time.Time) float64{"other": same(500)}, dontKnow, dontKnow},
		{"kept polling", map[string]func(time.Time) float64{"orders-a": same(500)}, isNo, isNo},
		{"just below the silence", map[string]func(time.Time) float64{"orders-a": same(29_900)}, isNo, isNo},
		{"as long as a heartbeat interval of 15 s allows", map[string]func(time.Time) float64{"orders-a": same(30_000)}, dontKnow, isNo},
		{"just below the default of 3 s", map[string]func(time.Time) float64{"orders-a": same(41_900)}, dontKnow, isNo},
		{"as long as the default of 3 s allows", map[string]func(time.Time) float64{"orders-a": same(42_000)}, isYes, isNo},
		{"as long as the poll limit", map[string]func(time.Time) float64{"orders-a": same(300_000)}, isYes, isYes},
		{"a gap in its scrapes", frozenPolls(ago(lasting(179)), t0), isYes, dontKnow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := stalled()
			x.polls = tc.polls
			l := storyOf(x.evidence()).losses[0]
			if got := l.stoodStill(); got != tc.still {
				t.Errorf("stood still: %v, want %v (%+v)", got, tc.still, l.client)
			}
			if got := l.overslept(); got != tc.slept {
				t.Errorf("overslept: %v, want %v (%+v)", got, tc.slept, l.client)
			}
		})
	}
}

// A process that was scraped all the time and did not poll neither stood still nor
// died; one whose scrapes have a hole as long as its session may have.
func TestBusyAlive(t *testing.T) {
	for _, tc := range []struct {
		name       string
		last, next time.Time
		hole       span2
		busy       bool
		still      tri
	}{
		{"did not poll for the silence", ago(lasting(180)), ago(lasting(121)), span2{}, true, dontKnow},
		{"polled again after 29 s", ago(lasting(180)), ago(lasting(151)), span2{}, false, isNo},
		{"not scraped for 30 s of it", ago(lasting(180)), ago(lasting(121)), span2{ago(lasting(175)), ago(lasting(145))}, false, isYes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := stalled()
			x.change = func(e *Evidence) { lastPolls(e, tc.last, tc.next, tc.hole) }
			l := storyOf(x.evidence()).losses[0]
			if l.busyAlive() != tc.busy || l.stoodStill() != tc.still {
				t.Errorf("busy %v, stood still %v: %+v", l.busyAlive(), l.stoodStill(), l.client)
			}
		})
	}
}

func TestPickClientByHost(t *testing.T) {
	l := &loss{m: RecordMember{ClientID: "orders", Host: "/10.0.0.2"}, s: &groupStory{f: &facts{e: &Evidence{Clients: []Client{
		{ClientID: "orders", Instance: "10.0.0.1:9404"}, {ClientID: "orders", Instance: "10.0.0.2:9404"}, {ClientID: "billing", Instance: "10.0.0.2:9405"},
	}}}}}
	if c, why := l.pickClient(); c == nil || c.Instance != "10.0.0.2:9404" {
		t.Errorf("picked %+v (%s), want the one on the member's host", c, why)
	}
	l.m.Host = "/10.0.0.3"
	if c, why := l.pickClient(); c != nil || !strings.Contains(why, "2 clients share the id orders") {
		t.Errorf("picked %+v (%q), want none: the id is shared", c, why)
	}
}

func TestTimePerRecord(t *testing.T) {
	// 150 records every 5 s on three partitions.
	const each = 5 * time.Second / 150
	lagged := func(x *tale, total func(i int) int64) {
		for i := range 20 {
			x.lag = append(x.lag, LagPoint{At: ago(time.Duration(600-30*i) * time.Second), Total: total(i)})
		}
	}
	metrics := func(idle float64) func(e *Evidence) {
		return func(e *Evidence) {
			m := Metric{Reading: ok("prometheus"), Series: []Series{{}}}
			for i := range 60 {
				m.Series[0].Samples = append(m.Series[0].Samples, Sample{T: ago(time.Duration(900-15*i) * time.Second), V: idle})
			}
			e.ClientsReading, e.Clients = ok("prometheus"), []Client{{ClientID: alice.client, Signals: map[Signal]Metric{SignalPollIdle: m}}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(x *tale)
		each   time.Duration
		says   string
		atMost time.Duration
	}{
		{"a backlog before the stall", func(x *tale) { lagged(x, func(int) int64 { return 5000 }) }, each, "its commits while the group had a backlog", 0},
		{"busy by its own metrics", func(x *tale) { x.change = metrics(0.03) }, each, "no pause", 0},
		{"waiting by its own metrics", func(x *tale) { x.change = metrics(0.49) }, 0, "its poll-idle-ratio-avg shows that it waited", each},
		{"no lag, no metrics", func(*tale) {}, 0, "lag at that time was not read, so its commits may show the producers' pace; no client metrics", each},
		{"the backlog was empty once", func(x *tale) {
			lagged(x, func(i int) int64 {
				if i == 5 {
					return 0
				}
				return 5000
			})
			x.silent[aliceAgain.id] = []span2{{ago(lasting(600)), t0}}
			x.silent[bob.id] = x.silent[aliceAgain.id]
		}, 0, "the group had no backlog", each},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := overslept()
			c.change(&x)
			p := storyOf(x.evidence()).losses[0].timePerRecord()
			if p.perRecord != c.each || p.atMost != c.atMost || !strings.Contains(p.by+p.missing, c.says) {
				t.Errorf("%+v, want %v, at most %v, %q", p, c.each, c.atMost, c.says)
			}
		})
	}
}

// Whoever works the backlog of the stall off shows the pace, until it is gone or
// given away: here 600 records on six partitions in 10 s.
func TestTimePerRecordAfterTheStall(t *testing.T) {
	x := overslept()
	for i := range 40 {
		p := LagPoint{At: ago(time.Duration(600-15*i) * time.Second)}
		if p.At.After(ago(lasting(200))) {
			p.Total = 9000
		}
		x.lag = append(x.lag, p)
	}
	p := storyOf(x.evidence()).losses[0].timePerRecord()
	if want := 10 * time.Second / 600; p.perRecord != want || !strings.Contains(p.by, "backlog of the stall") {
		t.Errorf("%+v, want %v", p, want)
	}
}

func TestBetterPrefersWhatFitsAndTheCommoner(t *testing.T) {
	vs := []view{
		{PollInterval, possible, ""}, {SessionTimeout, possible, ""}, {ProcessGone, fits, ""}, {CoordinatorTrouble, excluded, ""}, {JoinSyncRace, fits, ""},
	}
	slices.SortStableFunc(vs, better)
	var got []Class
	for _, v := range vs {
		got = append(got, v.class)
	}
	want := []Class{ProcessGone, JoinSyncRace, SessionTimeout, PollInterval, CoordinatorTrouble}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// Every class that a loss can be decided for has a rule.
func TestLossRules(t *testing.T) {
	for _, s := range suspects {
		if !slices.ContainsFunc(membershipRules(), func(r Rule) bool { return r.Class == s.class }) {
			t.Errorf("a loss can be decided for %s, which has no rule", s.class)
		}
	}
	for _, s := range suspects {
		if v := s.view(storyOf(stalled().evidence()).losses[0]); v.class != s.class || v.because == "" {
			t.Errorf("the view of %s says it is %s, because %q", s.class, v.class, v.because)
		}
	}
}

func TestDurationsInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		6 * time.Second: "6 s", lasting(6.25): "6.3 s", lasting(302.6): "303 s", 12 * time.Minute: "12 min", 0: "0 s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%v) = %q, want %q", d, got, want)
		}
	}
	for _, tc := range []struct {
		x    silence
		want string
	}{
		{silence{lo: lasting(44), hi: lasting(45)}, "45 s"},
		{silence{lo: lasting(4), hi: lasting(8)}, "4 s to 8 s"},
		{silence{lo: lasting(10), hi: lasting(310)}, "10 s to 310 s"},
	} {
		if got := tc.x.words(); got != tc.want {
			t.Errorf("%v to %v: %q, want %q", tc.x.lo, tc.x.hi, got, tc.want)
		}
	}
}

func TestPartitionNames(t *testing.T) {
	var ps []TopicPartition
	for p := range int32(8) {
		ps = append(ps, TopicPartition{"orders", p})
	}
	if got, want := partitionNames(ps), "orders-0, orders-1, orders-2, orders-3, orders-4, orders-5, 2 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A group of a thousand members that is restarted whole is no quiet group.
func TestALargeGroupIsJudged(t *testing.T) {
	if Classify(largeGroup(), DefaultLimits()).Primary().Class == Quiet {
		t.Error("a thousand members were replaced, and the answer is quiet")
	}
}

func BenchmarkClassifyLargeGroup(b *testing.B) {
	e := largeGroup()
	for b.Loop() {
		Classify(e, DefaultLimits())
	}
}

// largeGroup is a rolling restart of a thousand members, fifty a record.
func largeGroup() Evidence {
	e := stalled().evidence()
	g := &e.Groups[0]
	g.Snapshots, g.History.Commits, g.History.Records = nil, nil, nil
	crowd := func(life int) []RecordMember {
		var out []RecordMember
		for i := range 1000 {
			out = append(out, RecordMember{ID: fmt.Sprintf("m-%d-%d", i, life), ClientID: "orders", Host: fmt.Sprintf("/10.0.%d.%d", i/250, i%250), SessionTimeoutMS: 45_000, RebalanceTimeoutMS: 300_000})
		}
		return out
	}
	one, two := crowd(1), crowd(2)
	for i := 0; i <= 1000; i += 50 {
		ms := append(slices.Clone(two[:i]), one[i:]...)
		g.History.Records = append(g.History.Records, GroupRecord{At: ago(lasting(500 - float64(i)/4)), StateAt: ago(lasting(501 - float64(i)/4)), Generation: int32(10 + i), Members: ms})
	}
	return e
}

// A group that is shut down whole is no trouble of its coordinator, and does not
// hide what happened to it before. The errors 25 are another group's, later.
func TestShutDownAfterALoss(t *testing.T) {
	x := stalled()
	x.turns = append(x.turns, turn{start: ago(lasting(60)), at: ago(lasting(60))})
	x.events = map[Signal][]event{SignalOffsetCommit25: {{ago(lasting(110)), 3}}, SignalLeaveRequests: {{ago(lasting(60)), 2}}, SignalHeartbeat25: {{ago(lasting(2)), 4}}}
	x.change = noWatcher
	d := Classify(x.evidence(), DefaultLimits())
	var got []string
	for _, f := range d.Findings {
		got = append(got, string(f.Class))
	}
	if s := strings.Join(got, " "); s != "session-timeout rolling-deploy" {
		t.Errorf("found %s: %s", s, d.Primary().Summary)
	}
}

// The pace is only known from a backlog before the stall: the stall makes one. A lag
// that a consumer with auto-commit always has is none: here 300 records in 5 s.
func TestPaceNeedsABacklogBefore(t *testing.T) {
	lag := func(n int64, at ...float64) []LagPoint {
		var out []LagPoint
		for _, a := range at {
			out = append(out, LagPoint{At: ago(lasting(a)), Total: n})
		}
		return out
	}
	for name, c := range map[string]struct {
		lag  []LagPoint
		want bool
	}{
		"two looks before": {lag(5000, 500, 490), true}, "one look before": {lag(5000, 490), false},
		"looks after only": {lag(5000, 470, 460, 450), false}, "one before, one after": {lag(5000, 490, 470), false},
		"what came since the last commit": {lag(300, 500, 490), false},
	} {
		e := overslept().evidence()
		e.Groups[0].LagReading, e.Groups[0].Lag = ok("kafka: lag"), c.lag
		l := storyOf(e).losses[0]
		p := progress{from: ago(lasting(500)), to: ago(lasting(480)), every: 5 * time.Second}
		if got := l.backlog(p); got != c.want {
			t.Errorf("%s: backlog %v, want %v", name, got, c.want)
		}
	}
}

// Who keeps up shows the producers' pace. The lab's clients take a few milliseconds
// for a record (the one that took over in run bg2i moved three partitions from 25 to
// 62 within a commit interval of 0.5 s), and its producers bring one every 83 ms: no
// run of them may say that a record takes long, nor bound a batch by that.
func TestTheLabsPaceIsNotItsProducers(t *testing.T) {
	const took = 4500 * time.Microsecond
	for _, class := range []Class{PollInterval, PollIntervalStatic, RebalanceTimeout, SessionTimeout, ProcessReplaced, RollingDeploy} {
		for _, c := range recordedRuns(t, class) {
			for _, f := range Classify(c.ev, DefaultLimits()).Findings {
				for _, x := range f.Facts {
					if x.Name == "per_record_seconds" && x.Number > 3*took.Seconds() {
						t.Errorf("%s: a record takes %.3f s, want at most %v: %s", c.name, x.Number, 3*took, f.Summary)
					}
				}
			}
		}
	}
}
