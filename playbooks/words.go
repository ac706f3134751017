package playbooks

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Bounds of texts from outside, in characters. Renderers have their own limits;
// these keep a card readable.
const (
	maxLine    = 300
	maxSummary = 500
	maxName    = 120
	maxOneLine = 600
)

// Words says what a safety level means, for people.
func (s Safety) Words() string {
	switch s {
	case Look:
		return "looks only"
	case ChangeClient:
		return "changes the client"
	case ChangeBroker:
		return "changes brokers"
	case Restart:
		return "restarts processes"
	default:
		return string(s)
	}
}

// Clean makes a text from outside fit for one line: control and direction
// characters become spaces, runs of spaces one, and what is longer than n
// characters is cut with a mark.
func Clean(s string, n int) string {
	if len(s) > 8*n {
		s = s[:8*n] // bounds the work; the cut below is rune-safe
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > n {
		r = append(r[:n-1], '…')
	}
	return string(r)
}

// verdict is the headline with its confidence in words. resolved says that the
// incident is over.
func verdict(f diagnose.Finding, phase Phase) (head, words string) {
	head = Clean(f.Headline, maxName)
	switch phase {
	case PhaseResolved:
		return head, "over"
	case PhaseUnknown:
		return head, "no news from the alert"
	default:
		return head, confidenceWords(f)
	}
}

func confidenceWords(f diagnose.Finding) string {
	switch {
	case f.Class == diagnose.Quiet || f.Class == diagnose.Undecided:
		return ""
	case f.Class == diagnose.RestartBurst && f.Confidence == diagnose.Provisional:
		return "probably harmless"
	case f.Class == diagnose.RestartBurst && f.Confidence == diagnose.Confirmed:
		return "harmless, over"
	case f.Class == diagnose.RollingDeploy && f.Confidence == diagnose.Confirmed:
		return "harmless"
	case f.Confidence == diagnose.Open:
		return "not excluded"
	case len(f.Alternatives) > 0:
		return countWords(len(f.Alternatives)+1) + " possible causes"
	case f.Confidence == diagnose.Provisional:
		return "first verdict, I keep watching"
	case f.Confidence == diagnose.Likely:
		return "likely"
	default:
		return ""
	}
}

func countWords(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
}

// lowerFirst starts a headline inside a sentence.
func lowerFirst(s string) string {
	r := []rune(s)
	if len(r) > 1 && unicode.IsUpper(r[0]) && (unicode.IsLower(r[1]) || r[1] == ' ') {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}

// upperFirst starts a sentence, unless it starts with a name such as
// time-between-poll-max.
func upperFirst(s string) string {
	r := []rune(s)
	first, _, _ := strings.Cut(s, " ")
	if len(r) > 0 && !strings.ContainsAny(first, "-_.()[]") {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// harmless tells classes that ask for no action by themselves.
func harmless(c diagnose.Class) bool {
	switch c {
	case diagnose.RestartBurst, diagnose.RollingDeploy, diagnose.Quiet, diagnose.DeadSessionTurnover:
		return true
	default:
		return false
	}
}

// ReadingWords names the section of a blind spot for people.
func ReadingWords(b diagnose.BlindSpot) string {
	return Clean(diagnose.Need(b.Reading).Words(), maxName)
}

// openShown bounds the classes that a blind spot names: without a group's history
// a dozen are open, and the reader is on a phone. The JSON has all.
const openShown = 5

// OpenWords lists the classes that a blind spot leaves open.
func OpenWords(b diagnose.BlindSpot) string {
	more := ""
	open := b.LeavesOpen
	if n := len(open) - openShown; n > 1 {
		open, more = open[:openShown], fmt.Sprintf(" and %d more", n)
	}
	return "leaves open " + classList(open) + more
}

// BlindWords says how its reading ended. One that was read is a blind spot because
// it does not tell.
func BlindWords(b diagnose.BlindSpot) string {
	if b.Status == diagnose.StatusOK {
		return "read, but does not tell"
	}
	return b.Status.Words()
}
