package logs

import (
	"hash/maphash"
	"regexp"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// groups is what a log says of groups beside its findings: how many it names, and
// which one a client or a thread spoke for last. An exception that reaches the
// application is logged without the client's "[Consumer clientId=…, groupId=…]".
type groups struct {
	seed  maphash.Seed
	named map[uint64]struct{}
	// of is the last group of a "client …" or "thread …".
	of map[string]string
	// last is the group that was named last, in which line.
	last string
	line int64
	// several says that lines name more than one group.
	several bool
}

// The bounds of what is remembered: a log that names more groups names "at least"
// so many, and of further clients and threads nothing is known.
const (
	maxNamed    = 1 << 20
	maxSpeakers = 1 << 14
)

// count counts the groups of recognised lines.
func (g *groups) count(name string) {
	if name == "" || len(g.named) >= maxNamed {
		return
	}
	if g.named == nil {
		g.named, g.seed = map[uint64]struct{}{}, maphash.MakeSeed()
	}
	g.named[maphash.String(g.seed, name)] = struct{}{}
}

// hear notes which group a line's client and thread are of.
func (g *groups) hear(text string, line int64) {
	name := first(groupForms, text)
	if name == "" {
		return
	}
	g.several = g.several || g.last != "" && g.last != name
	g.last, g.line = name, line
	if g.of == nil {
		g.of = map[string]string{}
	}
	if c := first(clientForms, text); c != "" {
		g.speaks("client "+c, name)
	}
	if t := threadOf(text); t != "" {
		g.speaks("thread "+t, name)
	}
}

func (g *groups) speaks(who, name string) {
	if _, known := g.of[who]; known || len(g.of) < maxSpeakers {
		g.of[who] = name
	}
}

// only gives findings that name neither group nor client the group of a log that
// names one alone, and no other in a finding.
func (g *groups) only(all []diagnose.LogFinding) {
	if g.last == "" || g.several {
		return
	}
	for _, f := range all {
		if f.Group != "" && f.Group != g.last {
			return
		}
	}
	for i, f := range all {
		if f.Group == "" && f.Client == "" && needsGroup(f) {
			all[i].Group = g.last
		}
	}
}

// needsGroup says that a finding is about a member of a group by nature, as a
// client sees it.
func needsGroup(f diagnose.LogFinding) bool {
	if f.By == broker || f.By == app {
		return false
	}
	switch f.Kind {
	case diagnose.LogCommitFailed, diagnose.LogCommitNotSent, diagnose.LogAutoCommitFailed, diagnose.LogFenced,
		diagnose.LogMemberUnknown, diagnose.LogGroupGone, diagnose.LogHeartbeatRebal, diagnose.LogRejoin:
		return true
	default:
		return false
	}
}

var (
	bracketed = regexp.MustCompile(`\[([^\[\]]{1,80})\]`)
	// noThread are stamps, levels and loggers in brackets.
	noThread = regexp.MustCompile(`^(?:\d[\d :.,/TZ+-]*|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\s*|[a-z]\w*(?:\.[\w$]+)+\s*)$`)
	// springThread stands behind the name of the application, where that is shown.
	springThread = regexp.MustCompile(`--- (?:\[[^\[\]]*\] )?\[([^\[\]]+)\]`)
)

// threadOf is the thread in a line's head, or what stands in brackets there; ""
// when nothing does.
func threadOf(text string) string {
	head := text[:min(len(text), 160)]
	for _, end := range []string{"[Consumer ", "[Worker ", " - ", " : "} {
		head, _, _ = strings.Cut(head, end)
	}
	if m := springThread.FindStringSubmatch(head); m != nil {
		return strings.TrimSpace(m[1])
	}
	for _, m := range bracketed.FindAllStringSubmatch(head, 5) {
		if !noThread.MatchString(m[1]) {
			return strings.TrimSpace(m[1])
		}
	}
	return ""
}
