package lab

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestTruthJSON(t *testing.T) {
	at := time.Date(2026, 11, 30, 2, 16, 3, 250e6, time.UTC)
	fault, effect := at.Add(time.Second), at.Add(7*time.Second)
	truth := Truth{
		Schema: TruthSchema, Scenario: "session-timeout", Class: "session-timeout", Family: family("session-timeout"),
		Alternatives: []string{"client-unreachable"}, ProvisionalClass: "session-timeout", Cluster: "groups", Version: "4.4.0", Protocol: "classic",
		Subject: Subject{Group: "payments", Topic: "orders", ClientID: "payments-a", MemberID: "payments-a-1", Coordinator: 1, OffsetsPartition: 4},
		Started: at.Add(-10 * time.Second), Ready: at, Fault: &fault, Effect: &effect, Ended: at.Add(time.Minute),
		Parameters: map[string]any{"session_timeout_ms": 6000}, Observed: map[string]float64{"heartbeat_25": 1},
		Timeline: []Moment{{At: at, Event: "ready: group payments is stable with 2 members"}},
	}
	var out bytes.Buffer
	if err := truth.Write(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "truth.json", out.Bytes())
	var back Truth
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || !back.Fault.Equal(fault) || back.Return != nil {
		t.Errorf("read back: %+v, %v", back, err)
	}
}

func TestScenariosAreComplete(t *testing.T) {
	for _, s := range Scenarios() {
		if s.Class == "" || s.Text == "" || s.MinBrokers < 1 || s.play == nil || family(s.Class) == "" {
			t.Errorf("%s: incomplete: %+v", s.Name, s)
		}
	}
	if _, err := findScenario("nonsense"); err == nil {
		t.Error("an unknown scenario must be an error that lists the known ones")
	}
}

func TestScenarioMustFitTheLab(t *testing.T) {
	small := &Cluster{state: &State{Info: Info{Version: "3.9.2", Capacity: 1000, Brokers: []Broker{{ID: 1}}}}}
	for name, p := range map[string]Params{
		"restart-burst":   {},                       // one broker
		"cache-thrash":    {},                       // cache too large to fill
		"quiet":           {Protocol: "consumer"},   // not on Kafka 3
		"session-timeout": {Protocol: "eager-ones"}, // no such protocol
		"process-gone":    {Looker: Binary("x")},    // nowhere to keep the evidence
	} {
		s, err := findScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		if small.fits(s, &p) == nil {
			t.Errorf("%s with %+v: want a refusal", name, p)
		}
	}
	var p Params
	s, _ := findScenario("quiet")
	if err := small.fits(s, &p); err != nil || p.Protocol != "classic" {
		t.Errorf("quiet: %v, protocol %q", err, p.Protocol)
	}
}
