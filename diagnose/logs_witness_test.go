package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// lostMember is the last loss that the group of a case saw, as the rules see it.
func lostMember(t *testing.T, e Evidence) *loss {
	t.Helper()
	e = e.Sorted()
	f := newFacts(&e, DefaultLimits())
	for _, s := range f.m.stories {
		if n := len(s.losses); n > 0 {
			return s.losses[n-1]
		}
	}
	t.Fatal("the case has no loss")
	return nil
}

func caseNamed(t *testing.T, name string) Evidence {
	t.Helper()
	for _, c := range corpus(t) {
		if c.name == name {
			return clone(c.ev)
		}
	}
	t.Fatalf("no case %s", name)
	return Evidence{}
}

// testify puts one line about the lost member into the evidence.
func testify(t *testing.T, e Evidence, f LogFinding) Evidence {
	t.Helper()
	l := lostMember(t, e)
	f.Group, f.Count, f.First, f.Last = l.s.g.ID, max(1, f.Count), l.by, l.by
	if f.By == "broker" {
		f.Member = l.m.ID
	} else {
		f.Client = l.m.ClientID
	}
	f.Sample = "a line"
	e.Logs = Reading{Status: StatusOK, AsOf: e.At, Source: "log text: test"}
	e.LogText = LogText{Lines: 1, Recognised: int64(f.Count), From: l.by, To: l.by, Findings: []LogFinding{f}}
	return e
}

// The log decides where the other sources leave several causes, and is cited.
func TestLogDecidesWhatOtherSourcesLeaveOpen(t *testing.T) {
	for _, c := range []struct {
		name, in string
		line     LogFinding
		want     Class
		not      []Class
	}{
		{"client word for the poll limit", "undecided/kip848-poll-breach-away-4.4.0", LogFinding{Kind: LogPollTimeout, By: "java"}, PollInterval, []Class{SessionTimeout, RollingDeploy}},
		{"a stall by librdkafka's own count", "session-timeout/no-client-metrics-4.4.0", LogFinding{Kind: LogSessionTimedOut, By: "librdkafka", High: 11008}, SessionTimeout, []Class{ClientUnreachable}},
		{"leave reason", "poll-interval/first-batch", LogFinding{Kind: LogPollTimeout, By: "broker"}, PollInterval, []Class{RollingDeploy}},
		{"close", "undecided/kip848-rolling-4.4.0", LogFinding{Kind: LogMemberLeft, By: "broker", Detail: "the consumer is being closed"}, RollingDeploy, []Class{SessionTimeout, PollInterval}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := testify(t, caseNamed(t, c.in), c.line)
			d := Classify(e, DefaultLimits())
			i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Class == c.want })
			if i < 0 {
				t.Fatalf("%s is not found: %+v", c.want, verdicts(d))
			}
			f := d.Findings[i]
			for _, a := range f.Alternatives {
				if slices.Contains(c.not, a.Class) {
					t.Errorf("%s is still an alternative: %s", a.Class, a.Because)
				}
			}
			if !slices.ContainsFunc(f.Citations, func(x Citation) bool { return strings.HasPrefix(x.Path, "logs.findings[") }) {
				t.Errorf("the line is not cited: %+v", f.Citations)
			}
			checkFinding(t, e, f)
			for _, r := range removals(e) {
				less := lightClone(e)
				r.from(&less)
				for x := range confirmed(Classify(less, DefaultLimits())) {
					if !confirmed(d)[x] {
						t.Errorf("without %s: %s is confirmed, and with everything it is not", r.what, x)
					}
				}
			}
		})
	}
}

// The log never overrules an observation: a member that was dropped sooner than
// its poll limit allows did not breach it, whatever a line says.
func TestLogDoesNotOverrule(t *testing.T) {
	for _, name := range []string{"session-timeout/second-run-4.4.0", "session-timeout/stable-longer-4.4.0", "join-sync-race/second-run-4.4.0"} {
		e := caseNamed(t, name)
		before := Classify(e, DefaultLimits()).Primary()
		after := Classify(testify(t, e, LogFinding{Kind: LogPollTimeout, By: "java"}), DefaultLimits()).Primary()
		if before.Class != after.Class {
			t.Errorf("%s: %s became %s", name, before.Class, after.Class)
		}
	}
}

// The text of CommitFailedException blames the poll limit whatever the cause: it
// changes nothing. Nor does a line about somebody else, or one from another day.
func TestLogThatDecidesNothing(t *testing.T) {
	const in = "undecided/kip848-poll-breach-away-4.4.0"
	want := Classify(caseNamed(t, in), DefaultLimits())
	commit := testify(t, caseNamed(t, in), LogFinding{Kind: LogCommitFailed, By: "java", Detail: "max.poll.interval.ms"})
	other := testify(t, caseNamed(t, in), LogFinding{Kind: LogPollTimeout, By: "java"})
	other.LogText.Findings[0].Client = "somebody-else"
	old := testify(t, caseNamed(t, in), LogFinding{Kind: LogPollTimeout, By: "java"})
	old.LogText.Findings[0].First = old.At.Add(-24 * time.Hour)
	old.LogText.Findings[0].Last = old.LogText.Findings[0].First
	for what, e := range map[string]Evidence{"commit": commit, "other client": other, "yesterday": old} {
		if got := verdicts(Classify(e, DefaultLimits())); !slices.Equal(got, verdicts(want)) {
			t.Errorf("%s: %v, want %v", what, got, verdicts(want))
		}
	}
}

// Log text that cannot be meant is refused, and says where.
func TestLogTextIsValidated(t *testing.T) {
	good := caseNamed(t, "poll-interval/first-batch")
	for name, f := range map[string]LogFinding{
		"no kind":        {Count: 1},
		"no count":       {Kind: LogJoined},
		"control":        {Kind: LogJoined, Count: 1, Sample: "a\x1b[2J"},
		"several lines ": {Kind: LogJoined, Count: 1, Sample: "a\nb"},
	} {
		e := good
		e.LogText = LogText{Findings: []LogFinding{f}}
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), "logs.findings[0]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
