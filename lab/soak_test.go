package lab

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a look kept is judged where it lies; what could not look or be judged has no
// verdict, and says why.
func TestLooksAreScoredByTheirEvidence(t *testing.T) {
	truth := Truth{Class: "process-gone", Looks: []Look{
		{Moment: LookDuring, Evidence: "during/evidence.json.gz", Findings: []Finding{{Class: "process-gone", Confidence: "likely"}}},
		{Moment: LookAfter, Error: "no broker"},
		{Moment: LookLater},
	}}
	judge := func(t Truth, l Look, evidence string) (string, error) {
		if evidence == "" {
			return "", errors.New("nothing was kept")
		}
		return t.Class + " by " + evidence, nil
	}
	got := Soak{Judge: judge}.scored(truth, "rec")
	if len(got) != 3 || got[0].Verdict != "process-gone by "+filepath.Join("rec", "during", "evidence.json.gz") || got[0].Confidence != "likely" ||
		got[1].Verdict != NoVerdict || got[1].Error != "no broker" || got[2].Verdict != NoVerdict || got[2].Error != "nothing was kept" {
		t.Errorf("%+v", got)
	}
	if got := (Soak{}).scored(truth, "rec"); got[0].Verdict != NoVerdict {
		t.Errorf("nobody judged: %+v", got[0])
	}
	line, err := json.Marshal(Result{Looks: got})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"run", "at", "class", "looks", "moment", "findings", "verdict", "confidence", "error"} {
		if !strings.Contains(string(line), `"`+key+`":`) {
			t.Errorf("the results lack the key %s: %s", key, line)
		}
	}
}

// Soaks side by side share the folder of recordings; none takes what another one
// is still writing.
func TestSoaksSideBySideKeepTheirOwnRecording(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"night", "day"} {
		s := Soak{Lab: Options{Name: name}, Record: dir}
		if err := os.MkdirAll(s.running(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.running(), "truth.json"), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"night", "day"} {
		to, err := Soak{Lab: Options{Name: name}, Record: dir}.keep("quiet", "quiet-1")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, "truth.json"))
		if err != nil || string(got) != name {
			t.Errorf("%s kept %q, %v", name, got, err)
		}
	}
}

func TestParseFindings(t *testing.T) {
	got, err := ParseFindings([]byte(`{"findings":[{"class":"session-timeout","confidence":"likely","subject":"group g","alternatives":[{"class":"client-unreachable","because":"x"},"process-gone"],"citations":[]}]}`))
	if err != nil || len(got) != 1 || strings.Join(got[0].Alternatives, " ") != "client-unreachable process-gone" || got[0].Subject != "group g" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseFindings([]byte("kafka: no broker")); err == nil {
		t.Error("text is not a diagnosis")
	}
}

func TestPlanHoldsWhatVersionProtocolAndClientAllow(t *testing.T) {
	names := func(items []Item) (out []string) {
		for _, i := range items {
			out = append(out, strings.TrimSuffix(i.Scenario+"/"+i.Play.How, "/"))
		}
		return out
	}
	java := names(Plan("4.4.0", Params{}))
	for _, want := range []string{"restart-burst/leadership-back", "restart-burst/no-election", "sick-leader", "sessions-disabled"} {
		if !slices.Contains(java, want) {
			t.Errorf("4.4.0: no %s in %v", want, java)
		}
	}
	if got := names(Plan("4.4.0", Params{Protocol: "consumer"})); slices.Contains(got, "sick-leader") {
		t.Error("a KIP-848 group has no leader that could be sick")
	}
	if got := Plan("3.9.2", Params{Protocol: "consumer"}); len(got) != 0 {
		t.Errorf("Kafka 3 has no KIP-848 groups: %v", names(got))
	}
	if got := names(Plan("4.4.0", Params{Client: clientFranz})); slices.Contains(got, "poll-interval") || slices.Contains(got, "session-timeout/two-groups") || !slices.Contains(got, "session-timeout/frozen") {
		t.Errorf("franz-go has no timer on polls: %v", got)
	}
	if got := names(Plan("4.4.0", Params{Protocol: "consumer"})); slices.Contains(got, "session-timeout/slow-survivor") || slices.Contains(got, "process-replaced/streams") || !slices.Contains(got, "session-timeout/two-groups") {
		t.Errorf("a KIP-848 group waits for no survivor, and its consumers leave as they close: %v", got)
	}
	if got := names(Plan("3.7.2", Params{})); slices.Contains(got, "sessions-disabled") {
		t.Error("3.7.2 takes seven slots as seven")
	}
	if err := (Soak{Items: Plan("4.4.0", Params{Looker: Binary("x")})}).Check(); err != nil {
		t.Errorf("its own plan: %v", err)
	}
}

// Two soaks may write into one folder of recordings; the run of each that goes on
// has a folder of its own.
func TestSoaksDoNotShareTheRunThatGoesOn(t *testing.T) {
	a, b := Soak{Record: "rec", Lab: Options{Name: "a"}}, Soak{Record: "rec", Lab: Options{Name: "b"}}
	if a.running() == b.running() || !strings.HasPrefix(a.running(), "rec") {
		t.Errorf("%s, %s", a.running(), b.running())
	}
}

func TestItemBringsTheLabItNeeds(t *testing.T) {
	for scenario, want := range map[string][2]int{"restart-burst": {3, 0}, "cache-thrash": {1, 64}, "sessions-disabled": {1, 7}, "misrouted-sessions": {2, 0}} {
		o, err := Item{Scenario: scenario}.options(Options{Name: "soak"})
		if err != nil || o.Brokers != want[0] || o.Slots != want[1] || !o.Replace || o.Version != "4.4.0" {
			t.Errorf("%s: %+v, %v", scenario, o, err)
		}
	}
	bad := Soak{Items: []Item{{Scenario: "quiet"}, {Scenario: "quiet", Play: Params{Client: "sarama"}}}}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a mistake in the plan must be found before it starts: %v", err)
	}
}

func TestDiagnoseAsksAboutWhomTheFaultHit(t *testing.T) {
	i := Info{Name: "lab", Bootstrap: "b:1", Prometheus: "http://p"}
	for want, s := range map[string]Subject{"--group payments": {Group: "payments", Broker: 1}, "--broker 3": {Broker: 3}, "--budget 20s": {}} {
		if got := strings.Join(diagnoseArgs(i, Truth{Subject: s}.target(), "/r/e.json"), " "); !strings.HasSuffix(got, want) {
			t.Errorf("%+v: %s", s, got)
		}
	}
}

func TestTakesRefusesWhatCannotBe(t *testing.T) {
	s, err := findScenario("session-timeout")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Params{
		"protocol": {Protocol: "eager", Client: clientJava}, "client": {Protocol: "classic", Client: "sarama"}, "form": {Protocol: "classic", Client: clientJava, How: "slow"},
		"session":     {Protocol: "classic", Client: clientJava, Session: 1},
		"848 session": {Protocol: "consumer", Client: clientJava, Session: 2 * sessionTimeout},
	} {
		if s.takes(p) == nil {
			t.Errorf("%s: want a refusal of %+v", name, p)
		}
	}
}
