package diagnose

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// judged classifies a case of the corpus by name.
func judged(t *testing.T, name string) Diagnosis {
	t.Helper()
	c := withEvidence(t, loadMeta(t, filepath.Join("testdata", "corpus", filepath.FromSlash(name))))
	return Classify(c.ev, DefaultLimits())
}

func factOf(f Finding, name string) (Fact, bool) {
	i := slices.IndexFunc(f.Facts, func(x Fact) bool { return x.Name == name })
	if i < 0 {
		return Fact{}, false
	}
	return f.Facts[i], true
}

// Leadership that Kafka's metadata shows is back, whatever the last scrape says: the
// fact that picks the step says what the summary does.
func TestLeadershipBackByTopology(t *testing.T) {
	f := judged(t, "restart-burst/back-since-the-scrape").Primary()
	if x, _ := factOf(f, "leadership_back"); x.Text != "yes" || !strings.Contains(f.Summary, "taken its partitions back") {
		t.Errorf("leadership_back %q: %s", x.Text, f.Summary)
	}
	if !slices.ContainsFunc(f.Citations, func(c Citation) bool { return strings.Contains(c.Value, "Kafka names it as the leader") }) {
		t.Errorf("%+v", f.Citations)
	}
}

// REBOOTSTRAP_REQUIRED counts answers, not clients.
func TestRebootstrapCountsResponses(t *testing.T) {
	f := judged(t, "misrouted-sessions/rebootstrap").Primary()
	if !strings.Contains(f.Summary, "responses told clients to bootstrap again") || strings.Contains(f.Summary, "clients were told") {
		t.Error(f.Summary)
	}
}

// Where dead sessions make room and a few in use go with them, the card says so, and
// their errors are no riddle beside it.
func TestTurnoverWithAFewLive(t *testing.T) {
	d := judged(t, "dead-session-turnover/run-dead-session-turnover-4.4.0-java-bhnx-after")
	f := d.Primary()
	evicted, _ := factOf(f, "evicted")
	if f.Class != DeadSessionTurnover || strings.Contains(f.Summary, "notice nothing") || !strings.Contains(f.Summary, "7 in use went too") ||
		evicted.Text != "dead sessions were thrown out, and 7 in use with them" {
		t.Errorf("%s: %s (%s)", f.Class, f.Summary, evicted.Text)
	}
	if len(d.Findings) != 1 {
		t.Errorf("also found: %+v", d.Findings[1:])
	}
	none := judged(t, "dead-session-turnover/lab-4.4.0").Primary()
	if e, _ := factOf(none, "errors"); e.Number == 0 && !strings.Contains(none.Summary, "notice nothing") {
		t.Error(none.Summary)
	}
}

// A look while the follower is down does not see its restarts. The brokers that
// started together with this one are not it, and what its partitions lacked leads to
// the broker that went.
func TestChurnWhileTheFollowerIsDown(t *testing.T) {
	for _, run := range []string{"3.7.2-java-bfb6", "4.4.0-java-bidj"} {
		f := judged(t, "follower-churn/run-follower-churn-restarts-"+run+"-during").Primary()
		if x, ok := factOf(f, "follower"); ok {
			t.Errorf("%s: blames %s", run, x.Text)
		}
		if x, _ := factOf(f, "losses"); x.Number != 2 || !strings.Contains(f.Summary, "lost a follower 2 times") {
			t.Errorf("%s: losses %v: %s", run, x.Number, f.Summary)
		}
		after := judged(t, "follower-churn/run-follower-churn-restarts-"+run+"-after").Primary()
		if x, _ := factOf(after, "follower"); x.Text != "broker 3" {
			t.Errorf("%s, after: %q", run, x.Text)
		}
		if _, ok := factOf(after, "losses"); ok {
			t.Errorf("%s, after: losses beside the restarts themselves", run)
		}
	}
}

// What a broker did not do is said for no longer than its process has been there.
func TestSilenceIsNoLongerThanTheProcess(t *testing.T) {
	d := judged(t, "restart-burst/back-since-the-scrape")
	n := 0
	for _, r := range d.RuledOut {
		if strings.Contains(r.Because, "10 min") {
			t.Errorf("%s: %s", r.Class, r.Because)
		}
		if strings.Contains(r.Because, "0 evictions in the 30 s since 02:29:30") {
			n++
		}
	}
	if n == 0 {
		t.Errorf("%+v", d.RuledOut)
	}
}

// A span is the same number in the summary and in the step.
func TestBusiestSpanIsOneNumber(t *testing.T) {
	f := judged(t, "follower-churn/run-follower-churn-restarts-4.4.0-java-bidj-during").Primary()
	if x, _ := factOf(f, "busiest_seconds"); x.Number != 19 || !strings.Contains(f.Summary, "within 19 s") {
		t.Errorf("%v: %s", x.Number, f.Summary)
	}
}
