package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// epochTale is what the records of a KIP-848 group of a, b and c show: session
// 6 s, poll limit 12 s, commits every second until quiet.
type epochTale struct {
	// after are the records after the first, which is 5 min old.
	after []GroupRecord
	// quiet is when a, or all, commit last.
	quiet    time.Time
	allQuiet bool
	calls    []event
	session  string // the coordinator's setting, "" = not read
	instance string
}

func (x epochTale) evidence() Evidence {
	b := tale{turns: []turn{settled(alice)}, events: map[Signal][]event{SignalGroupBeat25: x.calls}, stable: 3}
	e := b.evidence()
	g := &e.Groups[0]
	g.Protocol, g.Snapshots = "consumer", nil
	e.Watcher.Losses = nil
	first := epochRecord(ago(5*time.Minute), 7, inEpoch("a", 7, 0), inEpoch("b", 7, 1), inEpoch("c", 7, 2))
	g.History.Records = append([]GroupRecord{first}, x.after...)
	for i := range g.History.Records {
		for k := range g.History.Records[i].Members {
			if m := &g.History.Records[i].Members[k]; strings.HasPrefix(m.ID, "a") {
				m.InstanceID = x.instance
			}
		}
	}
	g.History.Baseline, g.History.Commits = true, nil
	for t := ago(4 * time.Minute); t.Before(t0); t = t.Add(time.Second) {
		for p := range int32(3) {
			if t.After(x.quiet) && (p == 0 || x.allQuiet) && t.Before(ago(10*time.Second)) {
				continue
			}
			g.History.Commits = append(g.History.Commits, Commit{At: t, TopicPartition: TopicPartition{"orders", p}, Offset: t.Unix()})
		}
	}
	if x.session != "" {
		for i := range e.Brokers {
			e.Brokers[i].Settings = map[string]Setting{"group.consumer.session.timeout.ms": {Reading: ok("kafka: DescribeConfigs"), Value: x.session}}
		}
	}
	return e
}

func epochRecord(at time.Time, epoch int32, ms ...RecordMember) GroupRecord {
	return GroupRecord{At: at, Protocol: "consumer", Generation: epoch, Members: ms}
}

func inEpoch(id string, epoch, partition int32) RecordMember {
	return RecordMember{ID: id, ClientID: "orders-" + id[:1], Host: "/10.2.7.31", RebalanceTimeoutMS: 12000, Epoch: epoch, State: MemberStable,
		StateAt: ago(5 * time.Minute), Partitions: []TopicPartition{{"orders", partition}}}
}

// asked is a member that was asked to give up its partition.
func asked(m RecordMember, at time.Time) RecordMember {
	m.State, m.StateAt, m.Revoking = MemberUnrevoked, at, m.Partitions
	return m
}

// leftNow is a static member that has left for now.
func leftNow(m RecordMember, at time.Time) RecordMember {
	m.Epoch, m.StateAt = EpochLeftForNow, at
	return m
}

func TestEpochStories(t *testing.T) {
	a, b, c := inEpoch("a", 7, 0), inEpoch("b", 7, 1), inEpoch("c", 7, 2)
	at := func(s float64) time.Time { return ago(lasting(s)) }
	back := epochRecord(at(20), 9, inEpoch("a", 9, 2), b, c)
	all := []RecordMember{a, b, c}
	for _, tc := range []struct {
		name    string
		tale    epochTale
		want    map[Class]fit
		primary Class
	}{
		{"session ran out, back under the same id", epochTale{
			after: []GroupRecord{epochRecord(at(54), 8, b, c), back}, quiet: at(60), session: "6000", calls: []event{{at(21), 1}},
		}, map[Class]fit{SessionTimeout: fits, PollInterval: excluded, ProcessGone: excluded, RebalanceTimeout: excluded}, SessionTimeout},
		{"librdkafka past its poll limit: silent, fenced one session later", epochTale{
			after: []GroupRecord{epochRecord(at(lasting60(17.5)), 8, b, c), back}, quiet: at(60), session: "6000", calls: []event{{at(21), 1}},
		}, map[Class]fit{PollInterval: fits, SessionTimeout: possible, ProcessGone: excluded, RollingDeploy: excluded}, PollInterval},
		{"as long, and the session timeout is not known", epochTale{
			after: []GroupRecord{epochRecord(at(lasting60(17.5)), 8, b, c), back}, quiet: at(60), calls: []event{{at(21), 1}},
		}, map[Class]fit{PollInterval: possible}, SessionTimeout},
		{"too slow to give up: one rebalance timeout after it was asked", epochTale{
			after: []GroupRecord{epochRecord(at(58), 8, asked(a, at(58)), b, c), epochRecord(at(46), 9, b, c), back}, quiet: at(60), session: "6000", calls: []event{{at(21), 1}},
		}, map[Class]fit{RebalanceTimeout: fits, PollInterval: excluded, SessionTimeout: excluded}, ""},
		{"asked to give up when it had not polled for long", epochTale{
			after: []GroupRecord{epochRecord(at(50), 8, asked(a, at(50)), b, c), epochRecord(at(lasting60(12.5)), 9, b, c), back}, quiet: at(60), session: "6000", calls: []event{{at(21), 1}},
		}, map[Class]fit{PollInterval: fits, RebalanceTimeout: excluded}, PollInterval},
		{"franz-go in its callback: the session runs out instead", epochTale{
			after: []GroupRecord{epochRecord(at(60), 8, asked(a, at(60)), b, c), epochRecord(at(54), 9, b, c), back}, quiet: at(60), session: "6000", calls: []event{{at(21), 1}},
		}, map[Class]fit{SessionTimeout: fits, RebalanceTimeout: possible}, SessionTimeout},
		{"static member closed and not started again", epochTale{
			after: []GroupRecord{epochRecord(at(60), 7, leftNow(a, at(60)), b, c), epochRecord(at(54), 8, b, c)}, quiet: at(60), session: "6000", instance: "i-1",
		}, map[Class]fit{RollingDeploy: fits, SessionTimeout: excluded, ProcessGone: excluded, PollIntervalStatic: excluded}, RollingDeploy},
		{"static member past its poll limit", epochTale{
			after: []GroupRecord{epochRecord(at(48), 7, leftNow(a, at(48)), b, c), epochRecord(at(42), 8, b, c)}, quiet: at(60), session: "6000", instance: "i-1",
		}, map[Class]fit{PollIntervalStatic: fits, SessionTimeout: excluded, PollInterval: excluded}, ""},
		{"closed, and back as a new process", epochTale{
			after: []GroupRecord{epochRecord(at(60), 8, b, c), epochRecord(at(50), 9, inEpoch("a-new", 9, 0), b, c)}, quiet: at(61), session: "6000",
		}, map[Class]fit{RollingDeploy: fits, SessionTimeout: excluded, PollInterval: excluded}, RollingDeploy},
		{"all fenced one after the other within two milliseconds", epochTale{
			after: []GroupRecord{epochRecord(at(54), 8, b, c), epochRecord(at(53.999), 9, c), epochRecord(at(53.998), 10), epochRecord(at(20), 12, all...)},
			quiet: at(60), allQuiet: true, session: "6000", calls: []event{{at(21), 3}},
		}, map[Class]fit{SessionTimeout: fits}, SessionTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := storyOf(tc.tale.evidence())
			if len(s.losses) == 0 {
				t.Fatal("no loss")
			}
			l := s.losses[0]
			for c, want := range tc.want {
				if v := l.decision.view(c); v.fit != want {
					t.Errorf("%s: %d (%s), want %d", c, v.fit, v.because, want)
				}
			}
			if tc.primary != "" && l.decision.primary != tc.primary {
				t.Errorf("primary %q, want %q", l.decision.primary, tc.primary)
			}
			if l.sil.lo != l.sil.hi || !l.sil.known {
				t.Errorf("the silence is %v to %v, want one number: nobody has to rejoin first", l.sil.lo, l.sil.hi)
			}
			if !slices.Equal(l.m.Partitions, a.Partitions) {
				t.Errorf("it held %v before the drop, want %v", l.m.Partitions, a.Partitions)
			}
		})
	}
}

// lasting60 is a moment, in seconds before now, so long after a last commit 60 s
// ago.
func lasting60(silence float64) float64 { return 60 - silence }

func TestMembersFencedAtOneMomentAreLostTogether(t *testing.T) {
	b, c := inEpoch("b", 7, 1), inEpoch("c", 7, 2)
	at := ago(54 * time.Second)
	s := storyOf(epochTale{after: []GroupRecord{epochRecord(at, 8, b, c), epochRecord(at.Add(time.Millisecond), 9, c), epochRecord(at.Add(2*time.Millisecond), 10)}, quiet: ago(time.Minute)}.evidence())
	for _, l := range s.losses {
		if l.together != 3 || l.survivors != 0 {
			t.Errorf("%s: lost with %d, %d stayed; want 3 and none", l.m.ID, l.together, l.survivors)
		}
	}
	if len(s.losses) != 3 {
		t.Errorf("%d losses", len(s.losses))
	}
}

// An operator's removal: the member is back under its id in a fraction of a
// second, and its own records leave no doubt that it was gone.
func TestBackAtOnceIsALoss(t *testing.T) {
	b, c := inEpoch("b", 7, 1), inEpoch("c", 7, 2)
	x := epochTale{after: []GroupRecord{epochRecord(ago(54*time.Second), 8, b, c), epochRecord(ago(lasting(53.6)), 9, inEpoch("a", 9, 0), b, c)}, quiet: ago(54 * time.Second)}
	s := storyOf(x.evidence())
	if len(s.losses) != 1 || s.losses[0].back == nil || !s.losses[0].back.sameID || s.losses[0].back.at.Sub(s.losses[0].by) != 400*time.Millisecond {
		t.Errorf("losses %+v", s.losses)
	}
}

// A group's own session timeout replaces that of its coordinator; where it could
// not be read the coordinator's holds.
func TestTheGroupsOwnSessionTimeoutCounts(t *testing.T) {
	e := epochTale{after: []GroupRecord{epochRecord(ago(54*time.Second), 8, inEpoch("b", 7, 1), inEpoch("c", 7, 2))}, quiet: ago(time.Minute), session: "45000"}.evidence()
	for _, tc := range []struct {
		own  Setting
		want time.Duration
	}{
		{Setting{}, 45 * time.Second},
		{Setting{Reading: ok("kafka: DescribeConfigs of the group"), Value: "6000", Origin: "GROUP_CONFIG"}, 6 * time.Second},
		{Setting{Reading: Reading{Status: StatusForbidden}}, 45 * time.Second},
		{Setting{Reading: ok("kafka: DescribeConfigs of the group"), Value: "-1"}, 45 * time.Second},
	} {
		e.Groups[0].Settings = map[string]Setting{"consumer.session.timeout.ms": tc.own}
		if got := storyOf(e).losses[0].session(); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.own, got, tc.want)
		}
	}
}

// A look at the group just after the return changes nothing of that.
func TestALookAfterTheReturnForgetsNoLoss(t *testing.T) {
	b, c := inEpoch("b", 7, 1), inEpoch("c", 7, 2)
	x := epochTale{after: []GroupRecord{epochRecord(ago(1500*time.Millisecond), 8, b, c), epochRecord(ago(time.Second), 9, inEpoch("a", 9, 0), b, c)}, quiet: ago(1500 * time.Millisecond)}
	e := x.evidence()
	e.Groups[0].Reading, e.GroupsReading = ok("kafka: ConsumerGroupDescribe"), ok("kafka: ListGroups")
	look := GroupSnapshot{At: ago(lasting(0.2)), Until: ago(lasting(0.2)), State: "Stable", Epoch: 9}
	for _, m := range x.after[1].Members {
		look.Members = append(look.Members, Member{ID: m.ID, ClientID: m.ClientID, Host: m.Host})
	}
	e.Groups[0].Snapshots = []GroupSnapshot{look}
	if s := storyOf(e); len(s.losses) != 1 || s.losses[0].back == nil {
		t.Errorf("losses %+v", s.losses)
	}
}

func TestEpochWords(t *testing.T) {
	e := epochTale{after: []GroupRecord{epochRecord(ago(54*time.Second), 8, inEpoch("b", 7, 1), inEpoch("c", 7, 2))}, quiet: ago(time.Minute), session: "6000"}.evidence()
	l := storyOf(e).losses[0]
	if got, want := l.dropCitation().Value, fmt.Sprintf("group epoch 8, written %s, no longer lists member orders-a on 10.2.7.31", clock(ago(54*time.Second))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An implied epoch 1 is no beginning: only the reader knows where a KIP-848
// group's log begins.
func TestFirstEpochIsNoBaseline(t *testing.T) {
	e := epochTale{quiet: t0}.evidence()
	h := &e.Groups[0].History
	h.Baseline, h.Records[0].Generation = false, 1
	noWatcher(&e)
	if storyOf(e).baselineKnown() {
		t.Error("the membership before the window is claimed to be known")
	}
}
