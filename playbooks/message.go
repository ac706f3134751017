package playbooks

import (
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Style is how a span is set.
type Style string

// The styles. Code spans hold names of settings, commands and values that a
// person copies.
const (
	Plain Style = ""
	Bold  Style = "bold"
	Code  Style = "code"
)

// Span is a run of text in one style. Text may come from outside (group names,
// alert labels): a renderer escapes every span, so nothing in it is markup.
type Span struct {
	Text  string `json:"text"`
	Style Style  `json:"style,omitempty"`
	// URL makes the span a link; only http and https pass a renderer.
	URL string `json:"url,omitempty"`
	// Time makes the span a moment that a renderer may show in the reader's
	// own time zone; Text is the fall-back in UTC.
	Time time.Time `json:"time,omitzero"`
}

// Rich is a line or paragraph of spans.
type Rich []Span

// String returns the text without styles.
func (r Rich) String() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return b.String()
}

// T is a shorthand for a line of plain text.
func T(text string) Rich { return Rich{{Text: text}} }

// Message is what is to be said, independent of where: Slack and the terminal
// render the same value.
type Message struct {
	// Text is the whole message in one line, verdict first. It is what
	// notifications and screen readers get.
	Text string `json:"text"`
	// Title is the headline with its confidence; Subject is the line beside it:
	// cluster and subject.
	Title   Rich `json:"title,omitempty"`
	Subject Rich `json:"subject,omitempty"`
	// Summary is what it means for the reader, one or two sentences.
	Summary Rich `json:"summary,omitempty"`
	// Evidence are the strongest observations, at most three in a root.
	Evidence []Rich `json:"evidence,omitempty"`
	// Step is the one next step.
	Step *StepView `json:"step,omitempty"`
	// Details are titled lists for the thread and the terminal.
	Details []Detail `json:"details,omitempty"`
	// Footer is the state line (since, last look, next look).
	Footer []Rich `json:"footer,omitempty"`
	// Buttons follow the incident's state.
	Buttons []Button `json:"buttons,omitempty"`
}

// StepView is a playbook step ready to be shown.
type StepView struct {
	Number int    `json:"number"`
	Of     int    `json:"of"`
	Title  string `json:"title"`
	Safety Safety `json:"safety"`
	Text   Rich   `json:"text"`
	// Arithmetic shows how a computed value came about, empty if none.
	Arithmetic Rich `json:"arithmetic,omitempty"`
	// Command is something to copy, empty if none.
	Command string `json:"command,omitempty"`
	// Avoid says what not to do and why.
	Avoid Rich `json:"avoid,omitempty"`
	// Verify says how one sees that the step worked.
	Verify Rich `json:"verify,omitempty"`
}

// Detail is a titled list of lines.
type Detail struct {
	Title string `json:"title"`
	Lines []Rich `json:"lines"`
}

// Safety says what a step touches.
type Safety string

// The safety levels, from harmless to disturbing.
const (
	Look         Safety = "look"
	ChangeClient Safety = "change-client"
	ChangeBroker Safety = "change-broker"
	Restart      Safety = "restart"
)

// Action names what a button does. The set is closed.
type Action string

// The actions.
const (
	ActionDone        Action = "step_done"
	ActionLookAgain   Action = "look_again"
	ActionAcknowledge Action = "acknowledge"
	// ActionShare posts a private answer into the channel.
	ActionShare Action = "share"
)

// Button is one button. Value is an opaque id; state stays on the server.
type Button struct {
	Action  Action `json:"action"`
	Label   string `json:"label"`
	Value   string `json:"value"`
	Primary bool   `json:"primary,omitempty"`
	// Describe is a longer label for screen readers.
	Describe string `json:"describe,omitempty"`
}

// Step is one step of a playbook with its values filled in. Its JSON form is
// the `next_step` of the public contract.
type Step struct {
	Playbook diagnose.Class `json:"playbook"`
	ID       string         `json:"step"`
	Title    string         `json:"title"`
	Safety   Safety         `json:"safety"`
	// Text is the plain text of View.Text.
	Text string   `json:"text"`
	View StepView `json:"-"`
}

// Report is the public JSON contract of `diagnose -o json` and `replay`.
type Report struct {
	diagnose.Diagnosis
	NextStep *Step `json:"next_step"`
}

// Phase is where an incident stands, as a card shows it.
type Phase string

// The phases.
const (
	PhaseLooking  Phase = "looking"
	PhaseFiring   Phase = "firing"
	PhasePartly   Phase = "partly resolved"
	PhaseResolved Phase = "resolved"
	PhaseUnknown  Phase = "unknown"
)

// Previous is the verdict that a card replaces.
type Previous struct {
	Class      diagnose.Class      `json:"class"`
	Confidence diagnose.Confidence `json:"confidence"`
}

// AlertLine is one alert of an incident, as it came (bounded by the receiver).
type AlertLine struct {
	Name    string `json:"name"`
	Firing  bool   `json:"firing"`
	Summary string `json:"summary,omitempty"`
	// Labels as sorted k=v text, without those the card shows anyway.
	Labels string `json:"labels,omitempty"`
	// RunbookURL and SourceURL come from the alert; a renderer drops invalid ones.
	RunbookURL string `json:"runbook_url,omitempty"`
	SourceURL  string `json:"source_url,omitempty"`
}

// View is everything a card shows about one incident or one question.
type View struct {
	// IncidentID is empty for a private answer.
	IncidentID string
	Target     diagnose.Target
	Phase      Phase
	// Diagnosis is nil while looking, or when looking failed (see Trouble).
	Diagnosis *diagnose.Diagnosis
	// Trouble is a safe sentence on why there is no diagnosis.
	Trouble string
	Step    *Step
	// Steps are all steps that apply, for the thread; [Set.Fill] sets Step,
	// Steps and Impact.
	Steps []Step
	// Impact is the playbook's sentence on what the class costs.
	Impact   string
	Was      *Previous
	Since    time.Time
	LastLook time.Time
	NextLook time.Time
	EndedAt  time.Time
	// Occurrence is 1, 2, 3 … for a re-fired incident.
	Occurrence int
	// Firing and Resolved count alerts; Truncated counts those the sender cut.
	Firing, Resolved, Truncated int
	Alerts                      []AlertLine
	AckedBy                     string
	// StepsDone names who did which step, oldest first, in words.
	StepsDone []string
	// AnswerID is the value of the Share button of a private answer; without it
	// the button is left out.
	AnswerID string
	// Took is webhook → verdict.
	Took time.Duration
}
