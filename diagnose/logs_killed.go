package diagnose

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// killedSlack is how much longer than a session timeout may lie between a kill and
// the drop that it explains.
const killedSlack = 30 * time.Second

// killed are the lines about a killed process that explain the group's drops: a
// little more than one session timeout before one, about the same member where
// they name one, and with no sign of life of that member after it.
func (c scope) killed() []int {
	var out []int
	for _, k := range c.only(LogProcessKilled) {
		if slices.ContainsFunc(c.only(LogMemberFailed, LogMemberExpired), func(i int) bool { return c.killedBy(k, i) }) {
			out = append(out, k)
		}
	}
	return out
}

// killedBy says that a kill may be why a member was dropped.
func (c scope) killedBy(k, drop int) bool {
	kill, f := c.s.all[k], c.s.all[drop]
	before := func(at time.Time) bool {
		d := f.First.Sub(at)
		return !at.IsZero() && d >= 0 && d <= c.sessionLimit()+killedSlack
	}
	return !f.First.IsZero() && (before(kill.First) || before(kill.Last)) && aboutSame(kill, f, len(c.s.groups) <= 1) && !c.aliveAfter(kill.First, f)
}

// sessionLimit is the session timeout as far as the log tells it, which is rarely.
func (c scope) sessionLimit() time.Duration {
	return max(defaultSession, time.Duration(c.highest(LogSessionTimedOut))*time.Millisecond)
}

// aboutSame says that nothing in a kill's line speaks against the dropped member:
// a client, member or pod that it names shares a name with it. A line that names
// nobody can only mean the group of a log that tells of one alone.
func aboutSame(kill, drop LogFinding, alone bool) bool {
	if kill.Member != "" && drop.Member != "" {
		return kill.Member == drop.Member
	}
	names := nameParts(kill.Client + " " + kill.Instance)
	if len(names) == 0 {
		return alone
	}
	has := nameParts(drop.Member + " " + drop.Client + " " + drop.Instance + " " + drop.Group)
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(has, n) })
}

// nameParts are the parts of names that may tell processes apart: words of three
// letters and more, without those that every consumer's name has.
func nameParts(s string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) < 3 || strings.ContainsAny(w, "0123456789") || slices.Contains(commonNames, w) {
			continue
		}
		out = append(out, w)
	}
	return out
}

var commonNames = []string{"consumer", "group", "kafka", "client", "service", "worker", "rdkafka", "sarama", "app", "pod", "prod"}

// aliveAfter says that the dropped member itself was heard of after a moment: a
// client that is told that its member id is unknown still runs.
func (c scope) aliveAfter(at time.Time, drop LogFinding) bool {
	return slices.ContainsFunc(c.only(LogHeartbeatUnknown, LogSessionTimedOut, LogHeartbeatCut, LogHeartbeatOK), func(i int) bool {
		f := c.s.all[i]
		return f.By != "broker" && f.Last.After(at) && sameMember(f, drop)
	})
}

// kip848ID is the length of a member id that the client draws itself (KIP-848); it
// does not begin with the client id as those of the classic protocol do.
const kip848ID = 22

// sameMember says that a client's line may be the dropped member's.
func sameMember(f, drop LogFinding) bool {
	switch {
	case f.Member != "" && drop.Member != "":
		return f.Member == drop.Member
	case f.Client != "" && len(drop.Member) > kip848ID:
		return strings.HasPrefix(drop.Member, f.Client)
	default:
		return true
	}
}
