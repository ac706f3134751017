package incident

import (
	"slices"
	"strconv"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Phase is where an incident stands. The zero value has had no event yet.
type Phase string

// The phases.
const (
	Firing   Phase = "firing"
	Partly   Phase = "partly_resolved"
	Resolved Phase = "resolved"
	Unknown  Phase = "unknown"
	Closed   Phase = "closed"
)

// Kind is what an alert is about: "fetch", "membership", "lag", "broker" or
// "other".
type Kind string

// The kinds.
const (
	// KindFetch: fetch sessions, their cache and their errors.
	KindFetch Kind = "fetch"
	// KindMembership: members, rebalances, heartbeats.
	KindMembership Kind = "membership"
	// KindLag: consumer lag.
	KindLag Kind = "lag"
	// KindBroker: brokers, replicas, leaders, controllers, disks.
	KindBroker Kind = "broker"
	// KindOther: everything else.
	KindOther Kind = "other"
)

// SubjectKind is the kind of thing an incident is about.
type SubjectKind string

// The kinds of subjects. A cluster is the subject when labels name nothing
// smaller; an instance is a broker whose id is not known yet.
const (
	SubjectBroker   SubjectKind = "broker"
	SubjectInstance SubjectKind = "instance"
	SubjectGroup    SubjectKind = "group"
	SubjectTopic    SubjectKind = "topic"
	SubjectCluster  SubjectKind = "cluster"
)

// Subject is the thing an incident is about, within its cluster.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	Name string      `json:"name,omitempty"`
}

// Broker is the subject of a broker id.
func Broker(id int32) Subject {
	return Subject{SubjectBroker, strconv.FormatInt(int64(id), 10)}
}

// String is the form that findings use: "broker 3", "group orders".
func (s Subject) String() string {
	if s.Kind == SubjectCluster {
		return "cluster"
	}
	return string(s.Kind) + " " + s.Name
}

// Alert is one alert of an incident, and one member of a delivery.
type Alert struct {
	Fingerprint string    `json:"fingerprint"`
	Name        string    `json:"name"`
	Kind        Kind      `json:"kind"`
	Firing      bool      `json:"firing"`
	StartsAt    time.Time `json:"starts_at"`
	// EndsAt is set when resolved.
	EndsAt   time.Time `json:"ends_at,omitzero"`
	Severity string    `json:"severity,omitempty"`
	Subject  Subject   `json:"subject"`
	// Topic narrows a group subject.
	Topic string `json:"topic,omitempty"`
	// Summary is the newest text, First the one it fired with.
	Summary    string            `json:"summary,omitempty"`
	First      string            `json:"first,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	RunbookURL string            `json:"runbook_url,omitempty"`
	SourceURL  string            `json:"source_url,omitempty"`
	LastSeen   time.Time         `json:"last_seen,omitzero"`
	// Occurrence is the incident's occurrence in which it last fired.
	Occurrence int `json:"occurrence,omitempty"`
	// Joined is true for an alert on another subject that the incident explains.
	Joined bool `json:"joined,omitempty"`
}

// LostMembers says that the alert is about a group that lost members. Such a
// group is an incident of its own: its cause is in its own history, and the
// headline of another group would hide it.
func (a Alert) LostMembers() bool {
	return a.Kind == KindMembership && a.Subject.Kind == SubjectGroup
}

// Verdict is a diagnosis in one line.
type Verdict struct {
	Class      diagnose.Class      `json:"class"`
	Confidence diagnose.Confidence `json:"confidence"`
	Headline   string              `json:"headline"`
	Subject    string              `json:"subject,omitempty"`
	// Observed is the strongest observation, in words.
	Observed string    `json:"observed,omitempty"`
	At       time.Time `json:"at"`
}

func verdictOf(d diagnose.Diagnosis, now time.Time) Verdict {
	f := d.Primary()
	v := Verdict{Class: f.Class, Confidence: f.Confidence, Headline: f.Headline, Subject: f.Subject, At: now}
	if len(f.Citations) > 0 {
		v.Observed = f.Citations[0].Value
	}
	return v
}

// about reports whether two verdicts are about one subject, so that the second
// replaces the first. One that decided nothing has no subject of its own.
func (v Verdict) about(now Verdict) bool {
	return v.Subject == now.Subject || !v.Class.Decides() || !now.Class.Decides()
}

// Done is a playbook step that somebody did.
type Done struct {
	Class diagnose.Class `json:"class"`
	Step  string         `json:"step"`
	Title string         `json:"title"`
	By    string         `json:"by"`
	At    time.Time      `json:"at"`
}

// State is everything about one incident. It is plain data and encodes to JSON.
type State struct {
	ID      string    `json:"id"`
	Cluster string    `json:"cluster"`
	Kind    Kind      `json:"kind"`
	Phase   Phase     `json:"phase"`
	Opened  time.Time `json:"opened"`
	// Since is when the current occurrence began; Ended when it was over.
	Since      time.Time `json:"since"`
	Ended      time.Time `json:"ended,omitzero"`
	ClosedAt   time.Time `json:"closed_at,omitzero"`
	Occurrence int       `json:"occurrence"`
	Previous   string    `json:"previous,omitempty"`

	// Subjects are what it is about; Joined what it explains besides.
	Subjects  []Subject `json:"subjects"`
	Joined    []Subject `json:"joined,omitempty"`
	GroupKeys []string  `json:"group_keys,omitempty"`
	Alerts    []Alert   `json:"alerts"`
	// Truncated counts members that the sender or the receiver cut.
	Truncated int       `json:"truncated,omitempty"`
	LastNews  time.Time `json:"last_news"`
	// Peak is the highest severity rank that fired in this occurrence.
	Peak int `json:"peak,omitempty"`

	// Diagnosis is the verdict that is shown; nil until there is one.
	Diagnosis *diagnose.Diagnosis `json:"diagnosis,omitempty"`
	FirstAt   time.Time           `json:"first_at,omitzero"`
	Was       *Verdict            `json:"was,omitempty"`
	// Over is true when a look after the end found nothing any more.
	Over    bool      `json:"over,omitempty"`
	Trouble string    `json:"trouble,omitempty"`
	History []Verdict `json:"history,omitempty"`

	// Looking is true while a diagnosis is under way, Again when another one
	// is wanted right after it.
	Looking  bool      `json:"looking,omitempty"`
	Again    bool      `json:"again,omitempty"`
	LookSeq  int64     `json:"look_seq,omitempty"`
	SeenSeq  int64     `json:"seen_seq,omitempty"`
	LastLook time.Time `json:"last_look,omitzero"`
	NextLook time.Time `json:"next_look,omitzero"`
	// Timers are the numbers of the timers that count; others are superseded.
	Timers Timers `json:"timers"`

	AckedBy string `json:"acked_by,omitempty"`
	Done    []Done `json:"done,omitempty"`
}

// Timers are the current timers, 0 = none. Last numbers them.
type Timers struct {
	Look  int64 `json:"look,omitempty"`
	News  int64 `json:"news,omitempty"`
	Close int64 `json:"close,omitempty"`
	Last  int64 `json:"last,omitempty"`
}

// Over bounds: what an incident keeps.
const (
	maxAlerts  = 2000
	maxHistory = 50
	maxKeys    = 20
	maxDone    = 50
	// maxLabelled alerts keep their labels; the others are counted and named.
	maxLabelled = 50
)

func (s State) clone() State {
	s.Subjects = slices.Clone(s.Subjects)
	s.Joined = slices.Clone(s.Joined)
	s.GroupKeys = slices.Clone(s.GroupKeys)
	s.Alerts = slices.Clone(s.Alerts)
	s.History = slices.Clone(s.History)
	s.Done = slices.Clone(s.Done)
	return s
}

// Over reports whether the incident is not firing any more as far as is known.
func (s State) over() bool { return s.Phase == Resolved || s.Phase == Closed }

// Counts returns how many alerts of the current occurrence fire and how many
// were resolved.
func (s State) Counts() (firing, resolved int) {
	for _, a := range s.Alerts {
		switch {
		case a.Firing:
			firing++
		case a.Occurrence == s.Occurrence:
			resolved++
		}
	}
	return firing, resolved
}

// DoneSteps returns the ids of the done steps of the shown verdict's class.
func (s State) DoneSteps() []string {
	if s.Diagnosis == nil {
		return nil
	}
	var out []string
	for _, d := range s.Done {
		if d.Class == s.Diagnosis.Primary().Class {
			out = append(out, d.Step)
		}
	}
	return out
}

// Target is what a diagnosis is to look at: the firing alerts' subject, or the
// whole cluster when there are several brokers. scan asks for the groups that
// lost members, because no alert names one.
func (s State) Target() (t diagnose.Target, scan bool) {
	t.Cluster = s.Cluster
	subjects, topics := s.subjects()
	if len(subjects) == 0 {
		return t, s.Kind == KindMembership
	}
	first := subjects[0]
	switch first.Kind {
	case SubjectBroker:
		if len(subjects) == 1 {
			t.Broker = brokerID(first.Name)
		}
		scan = s.Kind == KindMembership
	case SubjectGroup:
		if len(subjects) > 1 && s.Kind == KindMembership {
			return t, true
		}
		t.Group = first.Name
		if len(topics) == 1 {
			t.Topic = topics[0]
		}
	case SubjectTopic:
		t.Topic = first.Name
	default:
		scan = s.Kind == KindMembership
	}
	return t, scan
}

func brokerID(name string) *int32 {
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return nil
	}
	id := int32(n)
	return &id
}

// subjects lists those of the firing alerts that opened the incident, in the
// order in which they came, or all when none fires; and the first's topics.
func (s State) subjects() (out []Subject, topics []string) {
	for _, a := range s.Alerts {
		if !a.Firing || a.Joined {
			continue
		}
		if !slices.Contains(out, a.Subject) {
			out = append(out, a.Subject)
		}
		if a.Subject == out[0] && a.Topic != "" && !slices.Contains(topics, a.Topic) {
			topics = append(topics, a.Topic)
		}
	}
	if len(out) == 0 {
		return s.Subjects, nil
	}
	for i, sub := range out {
		if id := s.resolved(sub); id != nil {
			out[i] = Broker(*id)
		}
	}
	return out, topics
}

// resolved returns the broker id of an instance that a diagnosis has named.
func (s State) resolved(sub Subject) *int32 {
	if sub.Kind != SubjectInstance || s.Diagnosis == nil || len(s.Subjects) > 2 {
		return nil
	}
	return s.Diagnosis.Target.Broker
}

// unresolved is the instance that the incident is about, "" when it is about
// something else or the instance is known to be a broker.
func (s State) unresolved() string {
	if subjects, _ := s.subjects(); len(subjects) > 0 && subjects[0].Kind == SubjectInstance {
		return subjects[0].Name
	}
	return ""
}

// trigger is the alert that a diagnosis is told about.
func (s State) trigger() *diagnose.Trigger {
	for _, firing := range []bool{true, false} {
		for _, a := range s.Alerts {
			if a.Firing == firing && !a.Joined {
				return &diagnose.Trigger{AlertName: a.Name, Labels: a.Labels, StartsAt: a.StartsAt}
			}
		}
	}
	return nil
}

// rank orders the severities that rules use.
func rank(severity string) int {
	switch severity {
	case "critical", "page", "emergency", "disaster", "p1", "sev1":
		return 3
	case "info", "none", "notice", "p4", "p5":
		return 1
	}
	return 2
}
