package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

func TestReadPlan(t *testing.T) {
	items, err := readPlan(strings.NewReader(`
# a night
restart-burst --version 3.9.2 --kill
session-timeout --client librdkafka --session-timeout 10s --repeat 2   # twice
follower-churn --set num.replica.fetchers=4 --set 1:num.io.threads=2
`), lab.Params{Looker: lab.Binary("./kafka-oncall")})
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 4 || items[0].Version != "3.9.2" || !items[0].Play.Kill || items[2].Play.Session != 10*time.Second ||
		items[3].Version != "4.4.0" || len(items[3].Set) != 2 || items[3].Set[1].Broker != 1 || items[1].Play.Looker == nil {
		t.Errorf("%+v", items)
	}
	for text, want := range map[string]string{
		"quiet\nquiet --nonsense":   "line 2",
		"quiet lag":                 "one scenario a line",
		"quiet --record /tmp/x":     "give it to soak",
		"quiet --set nonsense":      "key=value",
		"quiet --session-timeout 6": "line 1",
	} {
		if _, err := readPlan(strings.NewReader(text), lab.Params{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// kept writes evidence of one classic group as a look keeps it.
func kept(t *testing.T, change func(*diagnose.Evidence)) string {
	t.Helper()
	at := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	e := diagnose.Evidence{
		Schema: diagnose.SchemaVersion, At: at, WindowSeconds: 600, Target: diagnose.Target{Cluster: "lab", Group: "orders"},
		Groups: []diagnose.Group{{ID: "orders", Protocol: "classic", Coordinator: 1, Snapshots: []diagnose.GroupSnapshot{{At: at, State: "Stable"}}}},
	}
	change(&e)
	path := filepath.Join(t.TempDir(), "evidence.json.gz")
	if err := keepEvidence(path, e); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLooksAreJudgedAsReplayScores(t *testing.T) {
	timeout := lab.Truth{Class: "session-timeout", Alternatives: []string{"client-unreachable"}, ProvisionalClass: "session-timeout"}
	gone := lab.Truth{Class: "process-gone", ProvisionalClass: "session-timeout"}
	frozen := lab.Truth{Class: "coordinator-trouble", Alternatives: []string{"session-timeout"}}
	said := func(class string, alternatives ...string) []lab.Finding {
		return []lab.Finding{{Class: class, Confidence: "likely", Alternatives: alternatives}}
	}
	plain := kept(t, func(*diagnose.Evidence) {})
	withClient := kept(t, func(e *diagnose.Evidence) {
		e.ClientsReading.Status, e.Clients = diagnose.StatusOK, []diagnose.Client{{ClientID: "c"}}
	})
	alone := kept(t, func(e *diagnose.Evidence) {
		e.Watcher = diagnose.Watcher{Reading: diagnose.Reading{Status: diagnose.StatusOK}, StableGroups: []diagnose.CoordinatorGroups{{Broker: 1, Hurt: 1}}}
	})
	for name, x := range map[string]struct {
		t        lab.Truth
		said     []lab.Finding
		evidence string
		want     string
	}{
		"the class":                               {timeout, said("session-timeout"), plain, lab.Right},
		"its twin, naming it":                     {timeout, said("client-unreachable", "session-timeout"), plain, lab.Right},
		"its twin, though the client was read":    {timeout, said("client-unreachable", "session-timeout"), withClient, lab.Wrong},
		"its twin, not naming it":                 {timeout, said("client-unreachable"), plain, lab.Wrong},
		"its twin, confirmed":                     {timeout, []lab.Finding{{Class: "client-unreachable", Confidence: "confirmed", Alternatives: []string{"session-timeout"}}}, plain, lab.Wrong},
		"the lab's twin, other groups to compare": {frozen, said("session-timeout", "coordinator-trouble"), plain, lab.Wrong},
		"the lab's twin, a single group":          {frozen, said("session-timeout", "coordinator-trouble"), alone, lab.Right},
		"another, naming it":                      {timeout, said("poll-interval", "session-timeout"), plain, lab.Wrong},
		"undecided with it":                       {timeout, said("undecided", "session-timeout"), plain, lab.Undecided},
		"undecided where nobody could tell":       {timeout, said("undecided", "session-timeout", "client-unreachable"), plain, lab.Right},
		"undecided without it":                    {timeout, said("undecided", "poll-interval"), plain, lab.Wrong},
		"provisional while away":                  {gone, []lab.Finding{{Class: "session-timeout", Confidence: "provisional", Alternatives: []string{"process-gone"}}}, plain, lab.Right},
		"provisional, not naming it":              {gone, []lab.Finding{{Class: "session-timeout", Confidence: "provisional"}}, plain, lab.Wrong},
		"no longer provisional":                   {gone, said("session-timeout"), plain, lab.Wrong},
		"nothing found on a quiet cluster":        {lab.Truth{Class: "quiet"}, nil, plain, lab.Right},
		"nothing found on a broken cluster":       {gone, nil, plain, lab.Wrong},
		"second is not first":                     {gone, append(said("lag-stable-group"), said("process-gone")...), plain, lab.Wrong},
		"the burst still to come after a boot":    {lab.Truth{Class: "quiet", Alternatives: []string{"restart-burst"}}, []lab.Finding{{Class: "restart-burst", Confidence: "provisional", Alternatives: []string{"quiet"}}}, plain, lab.Right},
	} {
		if got, err := judged(x.t, lab.Look{Findings: x.said}, x.evidence); err != nil || got != x.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, x.want)
		}
	}
	if _, err := judged(gone, lab.Look{}, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without evidence: %v", err)
	}
}

// A case of the corpus has one verdict, whether a soak or replay scores it.
func TestSoakAndReplayAgree(t *testing.T) {
	cases := 0
	for c, err := range score.Load(os.DirFS("../../diagnose/testdata/corpus/poll-interval")) {
		if err != nil {
			t.Fatal(err)
		}
		cases++
		d := diagnose.Classify(c.Evidence, diagnose.DefaultLimits())
		var said []lab.Finding
		for _, f := range d.Findings {
			x := lab.Finding{Class: string(f.Class), Confidence: string(f.Confidence)}
			for _, a := range f.Alternatives {
				x.Alternatives = append(x.Alternatives, string(a.Class))
			}
			said = append(said, x)
		}
		path := filepath.Join(t.TempDir(), "evidence.json.gz")
		if err := keepEvidence(path, c.Evidence); err != nil {
			t.Fatal(err)
		}
		got, err := judged(lab.Truth{Class: string(c.True()), ProvisionalClass: string(c.Provisional)}, lab.Look{Findings: said}, path)
		if want := score.Judge(c, diagnose.DefaultLimits()).Right; err != nil || (got == lab.Right) != want {
			t.Errorf("%s: %s, %v; replay: right %v", c.Name, got, err, want)
		}
	}
	if cases < 10 {
		t.Errorf("%d cases", cases)
	}
}

// The soaks behind the corpus can be played again.
func TestPlansOfTheCorpusCanBeRead(t *testing.T) {
	plans, err := filepath.Glob(filepath.Join("..", "..", "lab", "plans", "*.txt"))
	if err != nil || len(plans) == 0 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	for _, p := range plans {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		items, err := readPlan(f, lab.Params{})
		_ = f.Close()
		if err != nil || len(items) == 0 {
			t.Errorf("%s: %d runs, %v", p, len(items), err)
		}
	}
}
