package incident

import (
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Event is something that happened to an incident.
type Event interface{ event() }

// Delivered are the members of one delivery that belong to the incident. The
// first one opens it.
type Delivered struct {
	Alerts []Placed
	// GroupKey is the sender's group.
	GroupKey string
	// Truncated counts the members that were cut.
	Truncated int
}

// Placed is an alert with the reason why it belongs here.
type Placed struct {
	Alert
	Why Reason
}

// Diagnosed is a diagnosis. Seq is that of the [Look] that asked for it.
type Diagnosed struct {
	Seq       int64
	Diagnosis diagnose.Diagnosis
}

// LookFailed says that there is no diagnosis. Trouble is safe to show.
type LookFailed struct {
	Seq     int64
	Trouble string
}

// TimerDue is a timer. One that was superseded changes nothing.
type TimerDue struct {
	Timer TimerKind
	Seq   int64
}

// Asked is what the sender's API said about alerts without news.
type Asked struct {
	// Known is false when nobody could say.
	Known bool
	// Firing are the fingerprints that still fire.
	Firing []string
}

// Acknowledged says that somebody took it.
type Acknowledged struct{ By string }

// LookAsked says that somebody wants a new look.
type LookAsked struct{ By string }

// StepDone says that somebody did the step that was shown. Count is the number of done
// steps that the button was made for: the same button twice is one step.
type StepDone struct {
	Step, Title, By string
	Class           diagnose.Class
	Count           int
}

func (Delivered) event()    {}
func (Diagnosed) event()    {}
func (LookFailed) event()   {}
func (TimerDue) event()     {}
func (Asked) event()        {}
func (Acknowledged) event() {}
func (LookAsked) event()    {}
func (StepDone) event()     {}

// Effect is something to do.
type Effect interface{ effect() }

// OpenRoot posts the root. It comes once in an incident's life, first.
type OpenRoot struct{}

// EditRoot shows the state as it is now.
type EditRoot struct{}

// ShowDetails posts the evidence in the thread, or edits it.
type ShowDetails struct{}

// Look asks for a diagnosis.
type Look struct {
	Seq     int64
	Request diagnose.Request
	// First is true while there is no verdict: it goes before the others.
	First bool
}

// SetTimer sets a timer; the one of the same kind before it does not count any
// more.
type SetTimer struct {
	Timer TimerKind
	Seq   int64
	At    time.Time
}

// AskSender asks the sender's API whether these alerts still fire.
type AskSender struct{ Fingerprints []string }

// Decided is what became of one alert of a delivery.
type Decided struct {
	Fingerprint string
	Name        string
	Decision    Decision
	Reason      Reason
}

// Say adds a line to the thread.
type Say struct {
	Line Line
	// Was and Now are diagnoses, where the line is about them.
	Was, Now *diagnose.Diagnosis
	// Occurrence and Lasted are for lines about coming back and ending.
	Occurrence int
	Lasted     time.Duration
	// Broadcast also shows it in the channel: something got worse.
	Broadcast bool
	// Late is true when the line repeats what the root says if the root was not
	// posted yet.
	Late bool
	// Severity is the new severity.
	Severity string
	// Trouble is why a look failed.
	Trouble string
}

func (OpenRoot) effect()    {}
func (EditRoot) effect()    {}
func (ShowDetails) effect() {}
func (Look) effect()        {}
func (SetTimer) effect()    {}
func (AskSender) effect()   {}
func (Decided) effect()     {}
func (Say) effect()         {}

// TimerKind names a timer.
type TimerKind string

// The timers.
const (
	TimerLook  TimerKind = "look"
	TimerNews  TimerKind = "news"
	TimerClose TimerKind = "close"
)

// Line is the kind of a line in the thread.
type Line string

// The lines.
const (
	LineVerdict   Line = "verdict"
	LineChanged   Line = "changed"
	LineWorse     Line = "worse"
	LineConfirmed Line = "confirmed"
	LineSeverity  Line = "severity"
	LineTrouble   Line = "trouble"
	LineResolved  Line = "resolved"
	LineRefired   Line = "refired"
	LineUnknown   Line = "unknown"
	LineNewsAgain Line = "news_again"
)

// Decision is what became of an alert. The set is closed.
type Decision string

// The decisions.
const (
	Opened    Decision = "opened"
	JoinedIt  Decision = "joined"
	Repeated  Decision = "repeated"
	Duplicate Decision = "duplicate"
	Ended     Decision = "resolved"
	Refired   Decision = "refired"
	Ignored   Decision = "ignored"
	Dropped   Decision = "dropped"
)

// Reason is why. The set is closed.
type Reason string

// The reasons.
const (
	WhyNew           Reason = "new_subject"
	WhySubject       Reason = "same_subject"
	WhyExplained     Reason = "explained"
	WhyGroup         Reason = "same_group"
	WhyKnown         Reason = "known_fingerprint"
	WhyResent        Reason = "sent_again"
	WhyLater         Reason = "after_its_end"
	WhyNeverFired    Reason = "never_fired"
	WhyStaleFiring   Reason = "starts_before_its_end"
	WhyStaleResolved Reason = "ends_before_its_start"
	WhyOverLimit     Reason = "over_limit"
	WhyConfigured    Reason = "configured"
	WhyClosed        Reason = "closed"
)
