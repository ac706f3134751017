package diagnose

import (
	"strings"
	"testing"
	"time"
)

// Where other causes are open a summary says what it looks like; where none is, or
// where it names what is open itself, it says what was seen.
func TestSummariesSayAsFar(t *testing.T) {
	open := func(cs ...Class) (out []Alternative) {
		for _, c := range cs {
			out = append(out, Alternative{c, "it may be"})
		}
		return out
	}
	for _, tc := range []struct {
		c          Class
		open       []Alternative
		said, want string
	}{
		{PollInterval, nil, "Member a left by itself. Its heartbeats were fine.", "Member a left by itself. Its heartbeats were fine."},
		{PollInterval, open(RollingDeploy), "Member a on 10.2.7.31 left by itself. Its heartbeats were fine. All stood still.", "It looks as if member a on 10.2.7.31 left by itself. If so: its heartbeats were fine. All stood still."},
		{CoordinatorTrouble, open(GroupMetadataLost), "Broker 1 stood still.", "It looks as if broker 1 stood still."},
		{SessionTimeout, open(ClientUnreachable, ProcessGone), "Member a was silent for its session timeout. Either this or that.", "Member a was silent for its session timeout. Either this or that."},
		{SessionTimeout, open(ClientUnreachable, PollInterval), "Member a was silent for its session timeout. GC or that.", "It looks as if member a was silent for its session timeout. If so: GC or that."},
		{SessionTimeout, open(PollInterval), "Member a was dropped at 02:00:00. Either this or that.", "Member a was dropped at 02:00:00. Either this or that."},
		{CacheNearLimit, open(CacheSaturated), "The cache is full.", "The cache is full."},
		{Undecided, open(CacheSaturated), "The cache is full.", "The cache is full."},
	} {
		if got := finding(tc.c, Outcome{Answer: Yes, Summary: tc.said, Alternatives: tc.open}, nil).Summary; got != tc.want {
			t.Errorf("%s: %q, want %q", tc.c, got, tc.want)
		}
	}
}

// No verdict of the corpus states one of several candidates as what happened.
func TestNoSummaryDecidesWhatIsOpen(t *testing.T) {
	n := 0
	for _, c := range corpus(t) {
		for _, f := range Classify(c.ev, DefaultLimits()).Findings {
			if len(f.Alternatives) == 0 || f.Basis != "" || saysItself(f.Class, f.Summary, f.Alternatives) {
				continue
			}
			n++
			if !strings.HasPrefix(f.Summary, "It looks as if ") {
				t.Errorf("%s (%s): %s", c.name, f.Class, f.Summary)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d verdicts with something open", n)
	}
}

// What stood still while a group waited for a member depends on protocol, assignor
// and on what the member itself did.
func TestHeldEffect(t *testing.T) {
	at := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		protocol, assignor string
		committed          time.Duration // before the drop
		want               string
	}{
		{"consumer", "uniform", 300 * time.Second, "The partitions that it had to give up stood still meanwhile; the other members went on"},
		{"classic", "cooperative-sticky", 300 * time.Millisecond, "With the assignor cooperative-sticky only the partitions that move stood still meanwhile"},
		{"classic", "range", 300 * time.Millisecond, "It committed meanwhile; with an eager assignor the partitions of the others stood still"},
		{"classic", "range", 300 * time.Second, "All partitions stood still meanwhile"},
		{"classic", "", 300 * time.Second, "With an eager assignor all partitions stood still meanwhile"},
	} {
		g := &Group{ID: "orders", Protocol: tc.protocol, Snapshots: []GroupSnapshot{{Assignor: tc.assignor}}}
		l := &loss{s: &groupStory{g: g}, m: RecordMember{ID: "a", RebalanceTimeoutMS: 300_000, SessionTimeoutMS: 45_000}, by: at}
		l.s.f = &facts{e: &Evidence{}}
		l.sil = silence{known: true, lo: tc.committed, hi: tc.committed}
		if got := l.heldEffect(); got != tc.want {
			t.Errorf("%s, %s, committed %s before: %q, want %q", tc.protocol, tc.assignor, tc.committed, got, tc.want)
		}
	}
}

func TestWordsForOne(t *testing.T) {
	l := &loss{m: RecordMember{InstanceID: "pay-1"}, by: time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)}
	for _, tc := range [][2]string{
		{staticRestartSummary(1, l), "Static member pay-1 restarted within its session timeout and took over its group.instance.id, at 02:00:00. No rebalance, nobody fenced. Nothing to do in Kafka."},
		{staticRestartSummary(3, l), "3 static members restarted within their session timeout and took over their group.instance.ids, the last (pay-1) at 02:00:00. No rebalance, nobody fenced. Nothing to do in Kafka."},
		{backWords(1, 1), "the member looked at is back"},
		{backWords(1, 0), "the member looked at is not back yet"},
		{backWords(3, 0), "none of the 3 members looked at is back yet"},
		{backWords(3, 1), "of the 3 members looked at 1 is back"},
		{backWords(3, 2), "of the 3 members looked at 2 are back"},
		{backWords(3, 3), "all 3 members looked at are back"},
		{silence{}.before(), "right before the drop"},
		{silence{lo: 300 * time.Millisecond, hi: 300 * time.Millisecond}.before(), "0.3 s before the drop"},
	} {
		if tc[0] != tc[1] {
			t.Errorf("%q, want %q", tc[0], tc[1])
		}
	}
}
