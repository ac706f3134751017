package diagnose

import (
	"encoding/json"
	"time"
)

// Confidence says how far a finding may be trusted. It is derived from what
// was read, never typed in.
type Confidence string

// The confidences.
const (
	// Confirmed: every need was read, every condition holds, every
	// corroboration was seen, no alternative is left.
	Confirmed Confidence = "confirmed"
	// Likely: the conditions hold, something corroborating is missing or a
	// commoner cause was chosen among inseparable ones.
	Likely Confidence = "likely"
	// Provisional: it holds now and time must confirm it.
	Provisional Confidence = "provisional"
	// Open: it could not be excluded because evidence is missing.
	Open Confidence = "open"
)

// Diagnosis is the answer of [Classify]. Its JSON form is a public contract
// (schema 1): keys are added, never renamed or removed.
type Diagnosis struct {
	Schema int       `json:"schema"`
	At     time.Time `json:"at"`
	Target Target    `json:"target"`
	// Findings are the classes that hold, primary cause first. Never empty:
	// "quiet" and "undecided" are classes.
	Findings   []Finding   `json:"findings"`
	RuledOut   []RuledOut  `json:"ruled_out"`
	BlindSpots []BlindSpot `json:"blind_spots"`
	// NotJudged is empty: every class has a rule. The key stays for readers.
	NotJudged []Class `json:"not_judged"`
	// Blast says what else is affected.
	Blast Blast `json:"blast_radius"`
	// NextLookSeconds is when to look again, 0 = no need.
	NextLookSeconds int `json:"next_look_seconds"`
}

// Primary returns the first finding.
func (d Diagnosis) Primary() Finding {
	if len(d.Findings) == 0 {
		return Finding{}
	}
	return d.Findings[0]
}

// Finding is one class that holds for one subject.
type Finding struct {
	Class      Class      `json:"class"`
	Family     Family     `json:"family"`
	Headline   string     `json:"headline"`
	Confidence Confidence `json:"confidence"`
	// Subject is "broker 3", "group orders" or "topic t".
	Subject string `json:"subject"`
	// Summary is one plain sentence for the person who was woken: what
	// happened and what it means. Outside text in it is not escaped.
	Summary string `json:"summary"`
	// Citations are the observations it rests on, strongest first.
	Citations []Citation `json:"citations"`
	// Alternatives are causes that the sources at hand cannot tell from it.
	Alternatives []Alternative `json:"alternatives"`
	// Decides names the one observation that would tell them apart, or what
	// time has to show.
	Decides string `json:"decides"`
	// Missing names the corroboration that was not seen, in words.
	Missing []string `json:"missing,omitempty"`
	// Explains are the classes whose symptoms this cause accounts for.
	Explains []Class `json:"explains,omitempty"`
	// Facts are the numbers that playbooks compute with, by name. Each rule
	// declares the names it provides (Rule.Provides).
	Facts []Fact `json:"facts,omitempty"`
	// Basis is "logs" for a finding that rests on log text alone.
	Basis string `json:"basis,omitempty"`
	// Advice is the next step of such a finding; those that rest on live
	// evidence take theirs from the playbook of the class.
	Advice *Advice `json:"advice,omitempty"`
}

// Advice is one step in words, for a finding that rests on log text alone.
type Advice struct {
	// Safety is the most that the text asks to touch; empty when it only looks.
	Safety Safety `json:"safety,omitempty"`
	Title  string `json:"title"`
	Text   string `json:"text"`
	// Avoid says what not to do, Why the reason.
	Avoid string `json:"avoid,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Safety says what an advice touches, in the words of a playbook's step. The zero
// value touches nothing.
type Safety string

// What an advice may touch, from the least to the most.
const (
	TouchesClient Safety = "change-client"
	TouchesBroker Safety = "change-broker"
	Restarts      Safety = "restart"
)

// Fact looks a fact up by name.
func (f Finding) Fact(name string) (Fact, bool) {
	for _, x := range f.Facts {
		if x.Name == name {
			return x, true
		}
	}
	return Fact{}, false
}

// Citation is one observation: where it stands in the evidence, what was read
// there, in words with units, and where it came from.
type Citation struct {
	// Path leads into the evidence, for example
	// brokers[3].errors.fetch_session_id_not_found or
	// groups[orders].history.records[2].
	Path string `json:"path"`
	// Value is a short sentence with numbers and units.
	Value  string `json:"value"`
	Source string `json:"source"`
	Link   string `json:"link,omitempty"`
}

// Alternative is a class that could explain the same evidence.
type Alternative struct {
	Class   Class  `json:"class"`
	Because string `json:"because"`
}

// RuledOut is a class that was checked and excluded, with the observation.
type RuledOut struct {
	Class   Class  `json:"class"`
	Because string `json:"because"`
}

// BlindSpot is evidence that could not be read, and the classes it leaves open.
type BlindSpot struct {
	// Reading names the section: "client_metrics", "offsets_topic",
	// "broker_metrics", "admin_api", "watcher", "logs", "pods".
	Reading    string  `json:"reading"`
	Status     Status  `json:"status"`
	LeavesOpen []Class `json:"leaves_open"`
	// Detail is a safe sentence, and how to make it visible where known.
	Detail string `json:"detail,omitempty"`
}

// Blast is what else the incident touches.
type Blast struct {
	Groups []string `json:"groups,omitempty"`
	Topics []string `json:"topics,omitempty"`
	// LagRecords is the total lag of the groups above, -1 when unknown.
	LagRecords int64 `json:"lag_records"`
	// OtherGroups tells how the coordinator's other groups fare, in words.
	OtherGroups string `json:"other_groups,omitempty"`
}

// Unit is the unit of a fact.
type Unit string

// The units of facts.
const (
	UnitNone    Unit = ""
	UnitCount   Unit = "count"
	UnitSeconds Unit = "s"
	UnitMillis  Unit = "ms"
	UnitBytes   Unit = "bytes"
	UnitPercent Unit = "percent"
	UnitTime    Unit = "time"
	UnitText    Unit = "text"
)

// Fact is one named value. Number is used for counts, durations, bytes and
// percents, Text for text and times (RFC 3339).
type Fact struct {
	Name   string  `json:"name"`
	Unit   Unit    `json:"unit"`
	Number float64 `json:"number"`
	Text   string  `json:"text"`
}

// MarshalJSON writes the number or the text, whichever the unit has: a number of
// 0 is a value.
func (f Fact) MarshalJSON() ([]byte, error) {
	if f.Unit == UnitText || f.Unit == UnitTime {
		return json.Marshal(struct {
			Name string `json:"name"`
			Unit Unit   `json:"unit"`
			Text string `json:"text"`
		}{f.Name, f.Unit, f.Text})
	}
	return json.Marshal(struct {
		Name   string  `json:"name"`
		Unit   Unit    `json:"unit"`
		Number float64 `json:"number"`
	}{f.Name, f.Unit, f.Number})
}

// FactSpec declares a fact that a rule provides.
type FactSpec struct {
	Name string
	Unit Unit
	// Meaning is one line for authors of playbooks.
	Meaning string
	// Optional facts may be missing from a finding; a playbook step that uses
	// one must say so in its `when`.
	Optional bool
}
