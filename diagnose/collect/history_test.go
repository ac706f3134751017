package collect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/offsets"
)

func (f *fakeKafka) topology() *topology {
	f.t.Helper()
	topo, err := f.k.readTopology(f.ctx(), time.Now())
	if err != nil {
		f.t.Fatal(err)
	}
	return topo
}

func (f *fakeKafka) history(group string, sp span) diagnose.GroupHistory {
	f.t.Helper()
	return f.k.readHistory(f.ctx(), f.topology(), group, sp, clock(nil))
}

func generations(h diagnose.GroupHistory) []int32 {
	var out []int32
	for _, r := range h.Records {
		out = append(out, r.Generation)
	}
	return out
}

// The group was stable for longer than the window: its last record lies far
// before it, and only with it can one tell who left.
func TestHistoryGoesBackToTheBaseline(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1)
		log := f.offsetsLog(1)
		now := time.Now()
		ago := func(d time.Duration) time.Time { return now.Add(-d) }
		log.record("orders", ago(5*time.Hour), 6, "a", "b", "c")
		log.record("orders", ago(4*time.Hour), 7, "a", "b")
		log.commits("other", ago(4*time.Hour), ago(15*time.Minute), 3000)
		log.commits("orders", ago(15*time.Minute), ago(5*time.Minute), 50)
		log.record("orders", ago(4*time.Minute), 8, "a")
		log.commits("orders", ago(4*time.Minute), now, 20)
		f.calls.reset()
		h := f.history("orders", span{ago(10 * time.Minute), now})
		if !h.OK() || !h.Baseline || h.OffsetsPartition != 0 {
			t.Errorf("reading %+v, baseline %v", h.Reading, h.Baseline)
		}
		if got := generations(h); len(got) < 2 || got[len(got)-1] != 8 || got[len(got)-2] != 7 {
			t.Errorf("generations %v, want … 7, 8", got)
		}
		if len(h.Commits) == 0 || !h.Commits[0].At.Before(ago(14*time.Minute)) {
			t.Errorf("%d commits from %v, want those that date the change", len(h.Commits), h.Commits)
		}
		if !strings.Contains(h.Source, offsetsTopic+"[0]") {
			t.Errorf("source %q", h.Source)
		}
	})
}

func TestHistoryReadings(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	stable := func(l *offsetsLog) {
		l.record("orders", ago(time.Hour), 7, "a", "b")
		l.record("orders", ago(time.Minute), 8, "a")
	}
	for _, tc := range []struct {
		name     string
		setup    func(f *fakeKafka)
		status   diagnose.Status
		baseline bool
		text     string // in Error
		hint     string // in Hint
	}{
		{"whole", func(f *fakeKafka) { stable(f.offsetsLog(3)) }, diagnose.StatusOK, true, "", ""},
		{"no such topic", func(*fakeKafka) {}, diagnose.StatusEmpty, false, "does not exist", "Describe and Read on Topic __consumer_offsets"},
		{"topic refused", func(f *fakeKafka) {
			f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: offsetsTopic, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, diagnose.StatusForbidden, false, "not authorized", "Describe and Read on Topic __consumer_offsets"},
		{"reading refused", func(f *fakeKafka) {
			stable(f.offsetsLog(3))
			f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: offsetsTopic, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, diagnose.StatusForbidden, false, "not authorized", "Describe and Read on Topic __consumer_offsets"},
		{"silent leader", func(f *fakeKafka) {
			stable(f.offsetsLog(3))
			f.silence(0, kmsg.Fetch)
		}, diagnose.StatusTimeout, false, "no answer in time", ""},
		{"nothing about the group", func(f *fakeKafka) { f.offsetsLog(3).record("another", ago(time.Minute), 1, "a") },
			diagnose.StatusEmpty, false, "no membership record", ""},
		{"no record before the window", func(f *fakeKafka) { f.offsetsLog(3).record("orders", ago(time.Minute), 8, "a") },
			diagnose.StatusPartial, false, "who left is not visible", ""},
		{"KIP-848, no epoch before the window", func(f *fakeKafka) {
			f.offsetsLog(3).write("orders", ago(time.Minute), []byte{0, 3, 0, 6, 'o', 'r', 'd', 'e', 'r', 's'}, []byte{0, 0, 0, 0, 0, 5, 0})
		}, diagnose.StatusPartial, false, "who left is not visible", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				f := newFake(t, 1)
				tc.setup(f)
				h := f.history("orders", span{ago(10 * time.Minute), time.Now()})
				if h.Status != tc.status || h.Baseline != tc.baseline {
					t.Errorf("reading %+v, baseline %v; want %s, %v", h.Reading, h.Baseline, tc.status, tc.baseline)
				}
				if !strings.Contains(h.Error, tc.text) || !strings.Contains(h.Hint, tc.hint) || tc.text != "" && h.Error == "" {
					t.Errorf("error %q, hint %q; want %q, %q", h.Error, h.Hint, tc.text, tc.hint)
				}
			})
		})
	}
}

// A bound costs the past, never the present.
func TestTailKeepsTheNewestWithinItsBound(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1)
		log := f.offsetsLog(1)
		now := time.Now()
		log.record("orders", now.Add(-2*time.Hour), 7, "a", "b")
		log.commits("orders", now.Add(-time.Hour), now.Add(-2*time.Minute), 4000)
		log.record("orders", now.Add(-time.Minute), 8, "a")
		d := offsets.NewDecoder("orders")
		from := now.Add(-10 * time.Minute)
		tl := &tail{
			k: f.k, topo: f.topology(), partition: 0, leader: 0, d: d, from: from.Add(-historyMargin), to: now, maxBytes: 1,
			needMore: func() bool { return !d.Baseline("orders", from) },
		}
		if err := tl.read(f.ctx()); err != nil {
			t.Fatal(err)
		}
		h := d.History("orders", from)
		if got := generations(h); !slices.Equal(got, []int32{8}) {
			t.Errorf("generations %v, want the newest only", got)
		}
		if r := tl.reading("orders", h, nil, now); r.Status != diagnose.StatusPartial || h.Baseline {
			t.Errorf("reading %+v, baseline %v", r, h.Baseline)
		}
	})
}

// A past moment is read as it was.
func TestHistoryOfThePast(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 1)
		log := f.offsetsLog(1)
		now := time.Now()
		for i, ago := range []time.Duration{5 * time.Hour, 3 * time.Hour, time.Minute} {
			log.record("orders", now.Add(-ago), int32(i+5), "a")
		}
		at := now.Add(-3*time.Hour + time.Minute)
		h := f.history("orders", span{at.Add(-10 * time.Minute), at})
		if got := generations(h); !slices.Equal(got, []int32{5, 6}) || !h.Baseline {
			t.Errorf("generations %v, baseline %v; want 5 and 6", got, h.Baseline)
		}
	})
}

func TestScanFindsTheWorstGroups(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFake(t, 2)
		log := f.offsetsLog(8)
		now := time.Now()
		ago := func(d time.Duration) time.Time { return now.Add(-d) }
		log.record("calm", ago(2*time.Hour), 3, "a", "b")
		log.record("hurt", ago(2*time.Hour), 3, "a", "b")
		log.record("worse", ago(2*time.Hour), 3, "a", "b", "c")
		log.record("grew", ago(2*time.Hour), 3, "a")
		for _, g := range []string{"calm", "hurt", "worse", "grew"} {
			log.commits(g, ago(100*time.Minute), ago(12*time.Minute), 40)
		}
		log.record("hurt", ago(5*time.Minute), 4, "a")
		log.record("worse", ago(4*time.Minute), 4, "a")
		log.record("grew", ago(3*time.Minute), 4, "a", "b")
		log.record("unclear", ago(2*time.Minute), 9, "a")
		topo := f.topology()
		sp := span{ago(10 * time.Minute), now}

		all := f.k.scanOffsets(f.ctx(), topo, nil, sp, clock(nil))
		want := []suspect{{"worse", 2, false}, {"hurt", 1, false}, {"unclear", 0, true}}
		if !all.reading.OK() || !slices.Equal(all.suspects, want) {
			t.Errorf("suspects %+v (%+v), want %+v", all.suspects, all.reading, want)
		}
		for _, b := range []int32{0, 1} {
			one := f.k.scanOffsets(f.ctx(), topo, &b, sp, clock(nil))
			for _, s := range one.suspects {
				if _, leader, _ := offsetsPartition(topo, s.group); leader != b {
					t.Errorf("%s is on broker %d, not %d", s.group, leader, b)
				}
			}
		}
		f.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: offsetsTopic, Err: kerr.TopicAuthorizationFailed, Count: -1})
		if no := f.k.scanOffsets(f.ctx(), topo, nil, sp, clock(nil)); no.reading.Status != diagnose.StatusForbidden || no.reading.Hint == "" {
			t.Errorf("refused: %+v", no.reading)
		}
	})
}
