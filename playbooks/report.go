package playbooks

import (
	"encoding/json"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// NewReport joins a diagnosis and its next step for machines. done are the ids
// of steps already done, none on the command line.
func NewReport(d diagnose.Diagnosis, s *Set, done []string) Report {
	step, _ := s.Next(d, done)
	return Report{Diagnosis: d, NextStep: step}
}

// MarshalJSON writes the contract: its keys in their documented order, null for
// what the question does not name, lists that are never null. Keys beyond the
// contract come last.
func (r Report) MarshalJSON() ([]byte, error) {
	out := reportJSON{
		Schema: r.Schema, At: r.At.UTC(), Target: targetJSON{
			Cluster: r.Target.Cluster, Broker: r.Target.Broker,
			Group: orNull(r.Target.Group), Topic: orNull(r.Target.Topic),
		},
		Findings: []findingJSON{}, RuledOut: r.RuledOut, BlindSpots: []blindJSON{},
		NextStep: r.NextStep, NextLook: r.NextLookSeconds, NotJudged: r.NotJudged, Blast: r.Blast,
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, finding(f))
	}
	for _, b := range r.BlindSpots {
		out.BlindSpots = append(out.BlindSpots, blindJSON{b.Reading, b.Status, orEmpty(b.LeavesOpen), b.Detail})
	}
	out.RuledOut, out.NotJudged = orEmpty(out.RuledOut), orEmpty(out.NotJudged)
	return json.Marshal(out)
}

type reportJSON struct {
	Schema     int                 `json:"schema"`
	At         time.Time           `json:"at"`
	Target     targetJSON          `json:"target"`
	Findings   []findingJSON       `json:"findings"`
	RuledOut   []diagnose.RuledOut `json:"ruled_out"`
	BlindSpots []blindJSON         `json:"blind_spots"`
	NextStep   *Step               `json:"next_step"`
	NextLook   int                 `json:"next_look_seconds"`
	NotJudged  []diagnose.Class    `json:"not_judged"`
	Blast      diagnose.Blast      `json:"blast_radius"`
}

type targetJSON struct {
	Cluster string  `json:"cluster"`
	Broker  *int32  `json:"broker"`
	Group   *string `json:"group"`
	Topic   *string `json:"topic"`
}

type findingJSON struct {
	Class        diagnose.Class         `json:"class"`
	Family       diagnose.Family        `json:"family"`
	Headline     string                 `json:"headline"`
	Confidence   diagnose.Confidence    `json:"confidence"`
	Subject      string                 `json:"subject"`
	Citations    []diagnose.Citation    `json:"citations"`
	Alternatives []diagnose.Alternative `json:"alternatives"`
	Decides      string                 `json:"decides"`
	Summary      string                 `json:"summary"`
	Missing      []string               `json:"missing,omitempty"`
	Explains     []diagnose.Class       `json:"explains,omitempty"`
	Facts        []diagnose.Fact        `json:"facts,omitempty"`
	Basis        string                 `json:"basis,omitempty"`
}

type blindJSON struct {
	Reading    string           `json:"reading"`
	Status     diagnose.Status  `json:"status"`
	LeavesOpen []diagnose.Class `json:"leaves_open"`
	Detail     string           `json:"detail,omitempty"`
}

func finding(f diagnose.Finding) findingJSON {
	return findingJSON{
		Class: f.Class, Family: f.Family, Headline: f.Headline, Confidence: f.Confidence, Subject: f.Subject,
		Citations: orEmpty(f.Citations), Alternatives: orEmpty(f.Alternatives), Decides: f.Decides,
		Summary: f.Summary, Missing: f.Missing, Explains: f.Explains, Facts: f.Facts, Basis: f.Basis,
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
