package incident

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

var start = time.Date(2026, 11, 30, 2, 15, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func fired(fp string, sub Subject, startsAt time.Time) Placed {
	return Placed{Alert{Fingerprint: fp, Name: "Alert" + fp, Kind: KindFetch, Firing: true, StartsAt: startsAt,
		Severity: "warning", Subject: sub, Summary: "20 errors"}, WhyNew}
}

func resolved(p Placed, endsAt time.Time) Placed {
	p.Firing, p.EndsAt = false, endsAt
	return p
}

func delivery(alerts ...Placed) Delivered { return Delivered{Alerts: alerts, GroupKey: "{}:{}"} }

func diagnosis(class diagnose.Class, conf diagnose.Confidence, next int) diagnose.Diagnosis {
	entry, _ := diagnose.Lookup(class)
	return diagnose.Diagnosis{
		Findings: []diagnose.Finding{{
			Class: class, Headline: entry.Headline, Confidence: conf, Subject: "broker 3",
			Citations: []diagnose.Citation{{Value: "observation of " + string(class)}},
		}},
		NextLookSeconds: next,
	}
}

// words puts effects into short text, for tables.
func words(effects []Effect) string {
	var out []string
	for _, e := range effects {
		switch e := e.(type) {
		case OpenRoot:
			out = append(out, "root")
		case EditRoot:
			out = append(out, "edit")
		case ShowDetails:
			out = append(out, "details")
		case Look:
			out = append(out, fmt.Sprintf("look#%d", e.Seq))
		case SetTimer:
			out = append(out, fmt.Sprintf("%s@%s", e.Timer, e.At.Sub(start)))
		case AskSender:
			out = append(out, fmt.Sprintf("ask%v", e.Fingerprints))
		case Decided:
			out = append(out, fmt.Sprintf("%s:%s/%s", e.Fingerprint, e.Decision, e.Reason))
		case Say:
			s := "say:" + string(e.Line)
			if e.Broadcast {
				s += "!"
			}
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// happening is one line of a story.
type happening struct {
	at    time.Duration
	event Event
	want  string
	phase Phase
}

func tell(t *testing.T, p Policy, story []happening) State {
	t.Helper()
	s := New("inc-1", "kafka-prod", KindFetch)
	for i, h := range story {
		before := mustJSON(t, s)
		next, effects := p.Step(s, h.event, at(h.at))
		if after := mustJSON(t, s); after != before {
			t.Fatalf("line %d: the state that went in was changed", i)
		}
		if got := words(effects); got != h.want {
			t.Fatalf("line %d (%+v):\n got %s\nwant %s", i, h.event, got, h.want)
		}
		if next.Phase != h.phase {
			t.Fatalf("line %d: phase %s, want %s", i, next.Phase, h.phase)
		}
		s = roundTrip(t, next)
	}
	return s
}

func mustJSON(t *testing.T, s State) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func roundTrip(t *testing.T, s State) State {
	t.Helper()
	var out State
	if err := json.Unmarshal([]byte(mustJSON(t, s)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	m = time.Minute
	h = time.Hour
	s = time.Second
)

func TestStories(t *testing.T) {
	a, b := fired("a", Broker(3), start), fired("b", Broker(3), start)
	burst := func(c diagnose.Confidence) diagnose.Diagnosis { return diagnosis(diagnose.RestartBurst, c, 0) }
	opening := happening{0, delivery(a), "a:opened/new_subject root look#1 news@4h30m0s", Firing}
	verdict := happening{2 * s, Diagnosed{1, burst(diagnose.Provisional)}, "say:verdict details edit look@1m0s", Firing}

	for name, story := range map[string][]happening{
		"requests 1, 2, 3: fire, confirm, resolve, close": {
			opening, verdict,
			{1 * m, TimerDue{TimerLook, 2}, "look#2", Firing},
			{62 * s, Diagnosed{2, burst(diagnose.Provisional)}, "details edit look@3m0s", Firing},
			{3 * m, TimerDue{TimerLook, 3}, "look#3", Firing},
			{3*m + s, Diagnosed{3, burst(diagnose.Confirmed)}, "say:confirmed details edit look@5m0s", Firing},
			{4 * m, delivery(resolved(a, at(4*m))), "a:resolved/known_fingerprint say:resolved close@12h4m0s edit", Resolved},
			{5 * m, TimerDue{TimerLook, 4}, "", Resolved},
			{12*h + 4*m, TimerDue{TimerClose, 5}, "edit", Closed},
			{13 * h, delivery(a), "a:ignored/closed", Closed},
			{13 * h, LookAsked{}, "", Closed},
		},
		"the verdict gets worse: reply, also in channel": {
			opening, verdict,
			{3 * m, Diagnosed{2, diagnosis(diagnose.CacheThrash, diagnose.Likely, 0)}, "say:worse! details edit look@5m0s", Firing},
			{5 * m, Diagnosed{3, diagnosis(diagnose.CacheSaturated, diagnose.Likely, 0)}, "say:changed details edit look@15m0s", Firing},
			{20 * m, Diagnosed{4, diagnosis(diagnose.CacheSaturated, diagnose.Likely, 0)}, "details edit look@35m0s", Firing},
		},
		"a decision after doubt is not worse": {
			opening,
			{s, Diagnosed{1, diagnosis(diagnose.Undecided, diagnose.Open, 0)}, "say:verdict details edit look@1m0s", Firing},
			{m, Diagnosed{2, diagnosis(diagnose.CacheThrash, diagnose.Confirmed, 0)}, "say:changed details edit look@3m0s", Firing},
		},
		"requests 6, 7: partly resolved": {
			{0, delivery(a, b), "a:opened/new_subject b:opened/new_subject root look#1 news@4h30m0s", Firing},
			verdict,
			{30 * s, delivery(a, resolved(b, at(29*s))), "a:repeated/known_fingerprint b:resolved/known_fingerprint edit", Partly},
			{40 * s, delivery(resolved(a, at(39*s))), "a:resolved/known_fingerprint say:resolved close@12h0m40s edit", Resolved},
		},
		"requests 18, 20, 21: duplicates and repeats change nothing": {
			opening, verdict,
			{3 * s, delivery(a), "a:duplicate/sent_again", Firing},
			{4 * m, delivery(fired("a", Broker(3), at(s))), "a:repeated/known_fingerprint", Firing},
			{5 * m, delivery(resolved(a, at(5*m))), "a:resolved/known_fingerprint say:resolved close@12h5m0s edit", Resolved},
			{5*m + s, delivery(resolved(a, at(5*m+5*s))), "a:duplicate/sent_again", Resolved},
			{6 * m, delivery(a), "a:ignored/starts_before_its_end", Resolved},
		},
		"request 22: a changed annotation is the same incident": {
			opening,
			{4 * m, delivery(func() Placed { c := a; c.Summary = "21 errors"; return c }()), "a:repeated/known_fingerprint edit", Firing},
		},
		"request 17: back in the same thread": {
			opening, verdict,
			{4 * m, delivery(resolved(a, at(4*m))), "a:resolved/known_fingerprint say:resolved close@12h4m0s edit", Resolved},
			{9 * m, delivery(fired("a", Broker(3), at(8*m))), "say:refired edit a:refired/after_its_end look#2 news@4h39m0s", Firing},
			{9*m + s, delivery(resolved(a, at(4*m))), "a:ignored/ends_before_its_start", Firing},
			{9*m + 2*s, Diagnosed{2, burst(diagnose.Provisional)}, "say:verdict details edit look@10m0s", Firing},
			{12*h + 4*m, TimerDue{TimerClose, 3}, "", Firing},
		},
		"a late resolved of an alert nobody saw": {
			opening,
			{s, delivery(resolved(b, at(s))), "b:ignored/never_fired", Firing},
		},
		"request 10: no news is not green": {
			opening, verdict,
			{10 * m, delivery(a), "a:repeated/known_fingerprint", Firing},
			{4*h + 30*m, TimerDue{TimerNews, 1}, "news@4h40m0s", Firing},
			{4*h + 40*m, TimerDue{TimerNews, 3}, "ask[a]", Firing},
			{4*h + 40*m, Asked{}, "say:unknown close@16h40m0s edit news@9h10m0s", Unknown},
			{5 * h, delivery(a), "a:repeated/known_fingerprint say:news_again edit", Firing},
			{16*h + 40*m, TimerDue{TimerClose, 4}, "", Firing},
		},
		"unknown closes, never turns green": {
			opening,
			{5 * h, TimerDue{TimerNews, 1}, "ask[a]", Firing},
			{5 * h, Asked{}, "say:unknown close@17h0m0s edit news@9h30m0s", Unknown},
			{9*h + 30*m, TimerDue{TimerNews, 3}, "ask[a]", Unknown},
			{9*h + 30*m, Asked{}, "news@14h0m0s", Unknown},
			{17 * h, TimerDue{TimerClose, 2}, "edit", Closed},
		},
		"the sender knows that it ended": {
			opening,
			{5 * h, TimerDue{TimerNews, 1}, "ask[a]", Firing},
			{5 * h, Asked{Known: true}, "say:resolved close@17h0m0s edit", Resolved},
		},
		"the sender knows that it still fires": {
			opening,
			{5 * h, TimerDue{TimerNews, 1}, "ask[a]", Firing},
			{5 * h, Asked{Known: true, Firing: []string{"a"}}, "news@9h30m0s", Firing},
		},
		"request 4: a higher severity is also shown in the channel": {
			opening, verdict,
			{30 * s, delivery(func() Placed { c := b; c.Severity, c.Why = "critical", WhySubject; return c }()),
				"b:joined/same_subject say:severity! look#2 edit", Firing},
		},
		"events come before the schedule, but not in a hurry": {
			opening, verdict,
			{5 * s, delivery(func() Placed { c := b; c.Why = WhySubject; return c }()), "b:joined/same_subject look@12s edit", Firing},
			{60 * s, TimerDue{TimerLook, 2}, "", Firing},
		},
		"a look asked for by an event during a look follows it": {
			opening,
			{s, delivery(func() Placed { c := b; c.Why = WhySubject; return c }()), "b:joined/same_subject edit", Firing},
			{2 * s, Diagnosed{1, burst(diagnose.Provisional)}, "say:verdict details edit look@12s", Firing},
		},
		"the diagnosis says when": {
			opening,
			{2 * s, Diagnosed{1, diagnosis(diagnose.RestartBurst, diagnose.Provisional, 30)}, "say:verdict details edit look@32s", Firing},
			{32 * s, Diagnosed{1, burst(diagnose.Confirmed)}, "", Firing},
		},
		"resolved while provisional: looked after until it is sure": {
			opening, verdict,
			{40 * s, delivery(resolved(a, at(40*s))), "a:resolved/known_fingerprint say:resolved close@12h0m40s edit", Resolved},
			{m, TimerDue{TimerLook, 2}, "look#2", Resolved},
			{m, Diagnosed{2, diagnosis(diagnose.Quiet, diagnose.Confirmed, 0)}, "edit", Resolved},
		},
		"after the end only a graver verdict replaces what fired": {
			opening, verdict,
			{40 * s, delivery(resolved(a, at(40*s))), "a:resolved/known_fingerprint say:resolved close@12h0m40s edit", Resolved},
			{m, Diagnosed{2, diagnosis(diagnose.CacheThrash, diagnose.Likely, 0)}, "say:worse! details edit", Resolved},
		},
		"request 53: no diagnosis is said, and tried again": {
			opening,
			{10 * s, LookFailed{1, "Prometheus gave no answer in time."}, "say:trouble edit look@1m0s", Firing},
			{m, TimerDue{TimerLook, 2}, "look#2", Firing},
			{m + s, LookFailed{2, "Prometheus gave no answer in time."}, "edit look@3m0s", Firing},
			{3 * m, Diagnosed{3, burst(diagnose.Likely)}, "say:verdict details edit look@5m0s", Firing},
		},
		"request 45: buttons pressed twice act once": {
			opening, verdict,
			{3 * s, Acknowledged{"ana"}, "edit", Firing},
			{3 * s, Acknowledged{"ben"}, "", Firing},
			{4 * s, StepDone{Step: "wait", Class: diagnose.RestartBurst, Count: 0, By: "ana"}, "edit", Firing},
			{4 * s, StepDone{Step: "wait", Class: diagnose.RestartBurst, Count: 0, By: "ana"}, "", Firing},
			{5 * s, StepDone{Step: "raise", Class: diagnose.CacheThrash, Count: 1}, "", Firing},
			{6 * s, LookAsked{"ana"}, "look#2", Firing},
			{6 * s, LookAsked{"ben"}, "", Firing},
		},
	} {
		t.Run(name, func(t *testing.T) { tell(t, DefaultPolicy(), story) })
	}
}

func TestScheduleGoesOnWhileFiring(t *testing.T) {
	p := DefaultPolicy()
	var got []time.Duration
	for now := start; now.Before(at(h)); {
		now = p.nextLook(start, now)
		got = append(got, now.Sub(start))
	}
	want := []time.Duration{m, 3 * m, 5 * m, 15 * m, 30 * m, 45 * m, h}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValuesThatFiredStay(t *testing.T) { // request 8
	a := fired("a", Broker(3), start)
	later := a
	later.Summary = "0 errors"
	st := tell(t, DefaultPolicy(), []happening{
		{0, delivery(a), "a:opened/new_subject root look#1 news@4h30m0s", Firing},
		{s, Diagnosed{1, diagnosis(diagnose.CacheThrash, diagnose.Likely, 0)}, "say:verdict details edit look@1m0s", Firing},
		{m, delivery(later), "a:repeated/known_fingerprint edit", Firing},
		{2 * m, delivery(resolved(later, at(2*m))), "a:resolved/known_fingerprint say:resolved close@12h2m0s edit", Resolved},
		{3 * m, Diagnosed{2, diagnosis(diagnose.Quiet, diagnose.Confirmed, 0)}, "edit", Resolved},
	})
	if st.Alerts[0].First != "20 errors" || st.Diagnosis.Primary().Class != diagnose.CacheThrash || !st.Over {
		t.Errorf("%+v", st)
	}
}

func TestTargets(t *testing.T) {
	group := func(name, topic string) Placed {
		p := fired(name+topic, Subject{SubjectGroup, name}, start)
		p.Topic = topic
		return p
	}
	for name, c := range map[string]struct {
		kind   Kind
		alerts []Placed
		want   string
	}{
		"one broker":                 {KindFetch, []Placed{fired("a", Broker(3), start)}, "broker 3"},
		"three brokers":              {KindFetch, []Placed{fired("a", Broker(1), start), fired("b", Broker(2), start)}, "cluster"},
		"a group and its topic":      {KindLag, []Placed{group("orders", "t1")}, "group orders topic t1"},
		"a group with two topics":    {KindLag, []Placed{group("orders", "t1"), group("orders", "t2")}, "group orders"},
		"lag of two groups":          {KindLag, []Placed{group("orders", ""), group("mail", "")}, "group orders"},
		"members lost in two groups": {KindMembership, []Placed{group("orders", ""), group("mail", "")}, "cluster scan"},
		"members lost, no group":     {KindMembership, []Placed{fired("a", Broker(2), start)}, "broker 2 scan"},
		"members lost, no labels":    {KindMembership, []Placed{fired("a", Subject{Kind: SubjectCluster}, start)}, "cluster scan"},
		"an unresolved instance":     {KindFetch, []Placed{fired("a", Subject{SubjectInstance, "10.0.0.1:9404"}, start)}, "cluster"},
	} {
		st, _ := DefaultPolicy().Step(New("i", "c", c.kind), delivery(c.alerts...), start)
		if got := targetText(st); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func targetText(st State) string {
	target, scan := st.Target()
	var out []string
	if target.Broker != nil {
		out = append(out, Broker(*target.Broker).String())
	}
	if target.Group != "" {
		out = append(out, "group "+target.Group)
	}
	if target.Topic != "" {
		out = append(out, "topic "+target.Topic)
	}
	if len(out) == 0 {
		out = append(out, "cluster")
	}
	if scan {
		out = append(out, "scan")
	}
	return strings.Join(out, " ")
}
