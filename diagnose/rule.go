package diagnose

// Need names a section of the evidence that a rule cannot do without.
type Need string

// The needs. They are also the names of blind spots; blind.go finds the
// reading behind each.
const (
	NeedBrokerMetrics Need = "broker_metrics"
	NeedSlots         Need = "slots"
	NeedDemand        Need = "demand"
	NeedAdmin         Need = "admin_api"
	NeedOffsets       Need = "offsets_topic"
	NeedWatcher       Need = "watcher"
	NeedClientMetrics Need = "client_metrics"
	NeedLag           Need = "lag"
	NeedLogs          Need = "logs"
	NeedPods          Need = "pods"
)

// Words names the section for people.
func (n Need) Words() string {
	switch n {
	case NeedBrokerMetrics:
		return "broker metrics"
	case NeedSlots:
		return "the slots setting"
	case NeedDemand:
		return "demand for fetch sessions"
	case NeedAdmin:
		return "the Kafka admin API"
	case NeedOffsets:
		return "group history in __consumer_offsets"
	case NeedWatcher:
		return "the watcher's last hour"
	case NeedClientMetrics:
		return "client metrics"
	case NeedPods:
		return "pods and deploys"
	default:
		return string(n) // lag, logs
	}
}

// Answer is what a rule says about one subject.
type Answer int

// The answers.
const (
	// No: an observation excludes the class.
	No Answer = iota
	// Yes: every condition holds.
	Yes
	// Unknown: a need was not read, so neither can be said.
	Unknown
)

// Rule is one class: data plus a predicate. Needs, Conditions and
// Corroboration are words; a test prints them as the table of rules.
type Rule struct {
	Class Class
	// Needs are the sections without which the answer is Unknown.
	Needs []Need
	// Conditions must all hold.
	Conditions []string
	// Corroboration raises likely to confirmed.
	Corroboration []string
	// Source names what the rule rests on: KIP, Kafka class, measurement.
	Source string
	// Explains are the classes whose findings are absorbed while this holds.
	Explains []Class
	// Provides declares the facts for playbooks.
	Provides []FactSpec
	// Judge looks at the facts and answers, one outcome per subject; none when
	// the question has no subject of its kind. Nil for quiet and undecided,
	// which [Classify] derives from the answers of the others.
	Judge func(f *facts) []Outcome
	// Covers says whether a cause of this class accounts for a symptom of a
	// class in Explains; nil = it does for the same subject.
	Covers func(f *facts, cause, symptom Finding) bool
}

// Outcome is a rule's answer for one subject.
type Outcome struct {
	Answer  Answer
	Subject string
	Summary string
	// Because is the observation that excludes (No), or what is not known (Unknown).
	Because   string
	Citations []Citation
	// Blind lists the needs that were not read.
	Blind []Need
	// Missing lists corroboration that was not seen, in words.
	Missing      []string
	Alternatives []Alternative
	Decides      string
	// Provisional: holds now, time must confirm.
	Provisional bool
	// NextLookSeconds is when time will have told, 0 = the default schedule.
	NextLookSeconds int
	Facts           []Fact
}

// confidence derives the confidence of a Yes.
func (o Outcome) confidence() Confidence {
	switch {
	case o.Answer == Unknown:
		return Open
	case o.Provisional:
		return Provisional
	case len(o.Missing) > 0, len(o.Alternatives) > 0, len(o.Blind) > 0:
		return Likely
	default:
		return Confirmed
	}
}
