package incident

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// walker plays a random story and keeps an account of its own.
type walker struct {
	t       *testing.T
	r       *rand.Rand
	p       Policy
	s       State
	now     time.Time
	timers  map[TimerKind]SetTimer
	looks   []Look
	asking  []string
	roots   int
	decided int
	given   int
	said    map[Line]int
}

func TestRandomWalks(t *testing.T) {
	for seed := range uint64(400) {
		w := &walker{
			t: t, r: rand.New(rand.NewPCG(seed, 7)), p: DefaultPolicy(), s: New("i", "c", KindFetch), now: start,
			timers: map[TimerKind]SetTimer{}, said: map[Line]int{},
		}
		w.apply(delivery(fired("fp0", Broker(0), w.now)))
		for range 150 {
			w.tick()
			w.apply(w.event())
			w.check(seed)
		}
		w.end(seed)
	}
}

func (w *walker) tick() {
	w.now = w.now.Add(time.Duration(w.r.IntN(int(20 * time.Minute))))
	if w.r.IntN(40) == 0 {
		w.now = w.now.Add(5 * time.Hour)
	}
}

func (w *walker) event() Event {
	switch w.r.IntN(10) {
	case 0, 1, 2:
		return w.delivery()
	case 3, 4:
		if len(w.looks) > 0 {
			return w.result()
		}
	case 5, 6, 7:
		for _, k := range []TimerKind{TimerLook, TimerNews, TimerClose} {
			if tm, ok := w.timers[k]; ok && !tm.At.After(w.now) {
				delete(w.timers, k)
				return TimerDue{k, tm.Seq}
			}
		}
	case 8:
		if w.asking != nil {
			a := Asked{Known: w.r.IntN(2) == 0}
			if w.r.IntN(2) == 0 {
				a.Firing = w.asking
			}
			w.asking = nil
			return a
		}
	}
	return []Event{Acknowledged{"ana"}, LookAsked{"ana"}, StepDone{Step: "x", Class: diagnose.CacheThrash},
		TimerDue{TimerLook, int64(w.r.IntN(20))}}[w.r.IntN(4)]
}

func (w *walker) delivery() Event {
	var alerts []Placed
	for range 1 + w.r.IntN(4) {
		p := fired(fmt.Sprintf("fp%d", w.r.IntN(5)), Broker(int32(w.r.IntN(2))), w.now.Add(-time.Duration(w.r.IntN(int(time.Hour)))))
		if w.r.IntN(2) == 0 {
			p = resolved(p, w.now.Add(-time.Duration(w.r.IntN(int(10*time.Minute)))))
		}
		alerts = append(alerts, p)
	}
	w.given += len(alerts)
	return delivery(alerts...)
}

func (w *walker) result() Event {
	l := w.looks[0]
	w.looks = w.looks[1:]
	if w.r.IntN(4) == 0 {
		return LookFailed{l.Seq, "no answer"}
	}
	classes := []diagnose.Class{diagnose.RestartBurst, diagnose.CacheThrash, diagnose.Quiet, diagnose.Undecided}
	confs := []diagnose.Confidence{diagnose.Provisional, diagnose.Likely, diagnose.Confirmed}
	return Diagnosed{l.Seq, diagnosis(classes[w.r.IntN(4)], confs[w.r.IntN(3)], w.r.IntN(200))}
}

func (w *walker) apply(e Event) {
	if d, ok := e.(Delivered); ok && w.s.Phase == "" {
		w.given += len(d.Alerts)
	}
	closed := w.s.Phase == Closed
	var effects []Effect
	w.s, effects = w.p.Step(w.s, e, w.now)
	for _, f := range effects {
		if _, ok := f.(Decided); closed && !ok {
			w.t.Fatalf("a closed incident did %T", f)
		}
		w.take(f)
	}
}

func (w *walker) take(f Effect) {
	switch f := f.(type) {
	case OpenRoot:
		w.roots++
	case SetTimer:
		if f.At.Before(w.now) {
			w.t.Fatalf("timer %s in the past", f.Timer)
		}
		w.timers[f.Timer] = f
	case Look:
		if len(w.looks) > 0 {
			w.t.Fatal("two looks at once")
		}
		w.looks = append(w.looks, f)
	case AskSender:
		w.asking = f.Fingerprints
	case Decided:
		w.decided++
	case Say:
		w.said[f.Line]++
		if f.Broadcast && f.Line != LineWorse && f.Line != LineSeverity {
			w.t.Fatalf("%s was shown in the channel", f.Line)
		}
	}
}

func (w *walker) check(seed uint64) {
	t := w.t
	firing, done := w.s.Counts()
	if w.roots != 1 {
		t.Fatalf("seed %d: %d roots", seed, w.roots)
	}
	if w.decided != w.given {
		t.Fatalf("seed %d: %d alerts given, %d decided", seed, w.given, w.decided)
	}
	wrong := (w.s.Phase == Firing && (firing == 0 || done > 0)) || (w.s.Phase == Partly && (firing == 0 || done == 0)) ||
		(w.s.Phase == Resolved && firing > 0)
	if wrong {
		t.Fatalf("seed %d: phase %s with %d firing and %d resolved", seed, w.s.Phase, firing, done)
	}
	if w.s.Phase != Closed && w.s.Looking != (len(w.looks) > 0) {
		t.Fatalf("seed %d: looking %v with %d looks under way", seed, w.s.Looking, len(w.looks))
	}
	if w.s.Phase != Closed && !w.s.over() && !w.s.Looking && w.s.Timers.Look == 0 {
		t.Fatalf("seed %d: phase %s and nobody will look again", seed, w.s.Phase)
	}
	if !w.s.over() && w.asking == nil && w.s.Timers.News == 0 {
		t.Fatalf("seed %d: phase %s and nobody will miss news", seed, w.s.Phase)
	}
	if (w.s.Phase == Resolved || w.s.Phase == Unknown) && w.s.Timers.Close == 0 {
		t.Fatalf("seed %d: phase %s and nobody will close it", seed, w.s.Phase)
	}
}

// end lets time pass: without news everything must end closed.
func (w *walker) end(seed uint64) {
	for range 500 {
		if w.s.Phase == Closed {
			if w.said[LineResolved] < w.said[LineRefired] {
				w.t.Fatalf("seed %d: came back %d times, ended %d times", seed, w.said[LineRefired], w.said[LineResolved])
			}
			return
		}
		w.now = w.now.Add(15 * time.Minute)
		switch {
		case w.asking != nil:
			w.asking = nil
			w.apply(Asked{})
		case len(w.looks) > 0:
			w.apply(w.result())
		}
		for k, tm := range w.timers {
			if !tm.At.After(w.now) {
				delete(w.timers, k)
				w.apply(TimerDue{k, tm.Seq})
			}
		}
		w.check(seed)
	}
	w.t.Fatalf("seed %d: still %s", seed, w.s.Phase)
}
