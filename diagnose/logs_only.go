package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BasisLogs marks findings that rest on log text alone.
const BasisLogs = "logs"

// logsOnly says that log text is all there is: no cluster, no metrics, no
// groups, no watcher.
func (e *Evidence) logsOnly() bool {
	return e.Logs.Usable() && !e.Cluster.Usable() && !e.Metrics.Usable() && !e.GroupsReading.Usable() &&
		!e.Watcher.Usable() && !e.ClientsReading.Usable()
}

// classifyLogs judges log text alone. A line says what a program believed, so
// nothing is ever confirmed here; where the text leaves several causes they are
// named, and where they differ in what to do the answer is undecided.
func classifyLogs(e Evidence) Diagnosis {
	s := newLogStory(&e)
	var all []Finding
	for _, v := range s.verdicts() {
		all = append(all, v.finding(&e))
	}
	all = foldLogFindings(rank(all))
	if len(all) == 0 {
		all = []Finding{s.nothing().finding(&e)}
	}
	all = shortened(all, e.LogText)
	return Diagnosis{
		Schema: SchemaVersion, At: e.At, Target: e.Target, Findings: all,
		RuledOut: []RuledOut{}, BlindSpots: logBlindSpots(&e, all), NotJudged: []Class{}, Blast: logBlast(s),
		NextLookSeconds: logNextLook(all),
	}
}

// maxLogVerdicts bounds the groups that an answer about a log judges: nobody reads
// more at once, and one group can be asked for.
const maxLogVerdicts = 20

// shortened bounds the findings and says of how many groups they are.
func shortened(all []Finding, t LogText) []Finding {
	named := plural(t.Groups, "group", "groups")
	if n := len(all) - maxLogVerdicts; n > 0 {
		all = all[:maxLogVerdicts]
		all[0].Missing = append(all[0].Missing, fmt.Sprintf("%s more than are shown; the log names %s in all: ask for one with --group", plural(n, "verdict", "verdicts"), named))
	}
	if t.Dropped > 0 {
		all[0].Missing = append(all[0].Missing, fmt.Sprintf("the log names %s, more than are kept at once: %s did not fit in and were not judged; ask for one group with --group, or for a shorter time with --since", named, plural(t.Dropped, "line", "lines")))
	}
	return all
}

// foldLogFindings drops what says nothing beside a cause.
func foldLogFindings(all []Finding) []Finding {
	if len(all) < 2 || all[0].Class == Undecided || all[0].Class == Quiet {
		return all
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.Class == Quiet && f.Subject == all[0].Subject })
}

func logNextLook(all []Finding) int {
	if all[0].Class == RestartBurst {
		return 300
	}
	return 0
}

// logBlindSpots: everything but the log is invisible.
func logBlindSpots(e *Evidence, all []Finding) []BlindSpot {
	open := []Class{}
	for _, f := range all {
		for _, a := range f.Alternatives {
			if !slices.Contains(open, a.Class) {
				open = append(open, a.Class)
			}
		}
	}
	if len(open) == 0 {
		return []BlindSpot{}
	}
	slices.SortFunc(open, byCatalogue)
	return []BlindSpot{
		{Reading: string(NeedAdmin), Status: e.Cluster.Known(), LeavesOpen: open, Detail: "only log text was given"},
		{Reading: string(NeedBrokerMetrics), Status: e.Metrics.Known(), LeavesOpen: slices.Clone(open), Detail: "only log text was given"},
	}
}

// maxLogGroups bounds the groups that a log's blast radius names.
const maxLogGroups = 10

func logBlast(s *logStory) Blast {
	b := Blast{LagRecords: -1}
	b.Groups = slices.Clone(s.groups[:min(len(s.groups), maxLogGroups)])
	if want := s.e.Target.Group; slices.Contains(s.groups, want) {
		b.Groups = []string{want}
	}
	return b
}

// logVerdict is what the log says about one subject.
type logVerdict struct {
	class   Class
	subject string
	summary string
	decides string
	rest    []Alternative
	advice  Advice
	cites   []int
}

func (v logVerdict) finding(e *Evidence) Finding {
	entry, _ := Lookup(v.class)
	f := Finding{
		Class: v.class, Family: entry.Family, Headline: entry.Headline, Confidence: Likely,
		Subject: v.subject, Summary: v.summary, Decides: v.decides, Basis: BasisLogs, Advice: &v.advice,
		Citations: []Citation{}, Alternatives: append([]Alternative{}, v.rest...),
		Missing: []string{"anything but log text: no metrics, no group state, no group history"},
	}
	if v.class == Undecided {
		f.Confidence = Open
	}
	for _, i := range v.cites[:min(len(v.cites), maxLogCites)] {
		f.Citations = append(f.Citations, logCitation(e, i))
	}
	return f
}

// maxLogCites bounds the lines that a finding shows.
const maxLogCites = 6

func logCitation(e *Evidence, i int) Citation {
	x := e.LogText.Findings[i]
	words := strings.ReplaceAll(string(x.Kind), "-", " ")
	if x.Count > 1 {
		words += ", " + plural(x.Count, "line", "lines")
	}
	if !x.First.IsZero() {
		at := clock
		if e.LogText.To.Sub(e.LogText.From) > 24*time.Hour {
			at = dayAndClock
		}
		words += ", " + at(x.First)
		if d := x.Last.Sub(x.First); d > 0 {
			words += " to " + at(x.Last)
		}
	}
	if x.Sample != "" {
		words += ": " + x.Sample
	}
	return cite(logPath(i), words, e.Logs)
}

// dayAndClock is a moment of a log that spans days.
func dayAndClock(t time.Time) string { return t.UTC().Format("2006-01-02 ") + clock(t) }

func logPath(i int) string { return "logs.findings[" + strconv.Itoa(i) + "]" }

// logStory is the log's findings by what they are about.
type logStory struct {
	e   *Evidence
	all []LogFinding
	// of holds the group that each finding belongs to, "" when unknown.
	of     []string
	groups []string
}

func newLogStory(e *Evidence) *logStory {
	s := &logStory{e: e, all: e.LogText.Findings}
	clients, members := map[string]string{}, map[string]string{}
	for _, f := range s.all {
		if f.Group == "" {
			continue
		}
		if !slices.Contains(s.groups, f.Group) {
			s.groups = append(s.groups, f.Group)
		}
		claim(clients, f.Client, f.Group)
		claim(members, f.Member, f.Group)
	}
	slices.Sort(s.groups)
	for _, f := range s.all {
		g := cmp.Or(f.Group, members[f.Member], clients[f.Client])
		if g == "" && len(s.groups) == 1 {
			g = s.groups[0]
		}
		s.of = append(s.of, g)
	}
	return s
}

// claim notes that a name belongs to a group; a name of two groups to none.
func claim(to map[string]string, name, group string) {
	if name == "" {
		return
	}
	if was, ok := to[name]; ok && was != group {
		group = ""
	}
	to[name] = group
}

// scope is the part of a log that is about one group or broker.
type scope struct {
	s       *logStory
	subject string
	at      []int
}

// only are the indexes of some kinds in the scope.
func (c scope) only(kinds ...LogKind) []int {
	var out []int
	for _, i := range c.at {
		if slices.Contains(kinds, c.s.all[i].Kind) {
			out = append(out, i)
		}
	}
	return out
}

func (c scope) has(kinds ...LogKind) bool { return len(c.only(kinds...)) > 0 }

// count is the number of lines of some kinds.
func (c scope) count(kinds ...LogKind) int {
	n := 0
	for _, i := range c.only(kinds...) {
		n += c.s.all[i].Count
	}
	return n
}

// span bounds the stamps of some kinds; zero when none has one.
func (c scope) span(kinds ...LogKind) (from, to time.Time) {
	for _, i := range c.only(kinds...) {
		f := c.s.all[i]
		if f.First.IsZero() {
			continue
		}
		if from.IsZero() || f.First.Before(from) {
			from = f.First
		}
		if f.Last.After(to) {
			to = f.Last
		}
	}
	return from, to
}

// lasting is the time between the first and the last line of some kinds.
func (c scope) lasting(kinds ...LogKind) time.Duration {
	from, to := c.span(kinds...)
	return to.Sub(from)
}

// after is the time from the first line of one kind to the first of others.
func (c scope) after(kind LogKind, others ...LogKind) time.Duration {
	a, _ := c.span(kind)
	b, _ := c.span(others...)
	if a.IsZero() || b.IsZero() {
		return 0
	}
	return b.Sub(a)
}

// detail says that a finding of the kinds mentions one of the words.
func (c scope) detail(words []string, kinds ...LogKind) bool {
	return slices.ContainsFunc(c.only(kinds...), func(i int) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(c.s.all[i].Detail, w) })
	})
}

// by says that a program wrote a line of one of the kinds.
func (c scope) by(program string, kinds ...LogKind) bool {
	return slices.ContainsFunc(c.only(kinds...), func(i int) bool { return c.s.all[i].By == program })
}

func (c scope) instance(kinds ...LogKind) string {
	for _, i := range c.only(kinds...) {
		if x := c.s.all[i].Instance; x != "" {
			return x
		}
	}
	return ""
}

// verdicts judges the fetch side and each group.
func (s *logStory) verdicts() []logVerdict {
	whole := scope{s: s, subject: "log"}
	for i := range s.all {
		whole.at = append(whole.at, i)
	}
	out := judgeFetchLog(s.asked(whole))
	if s.e.Target.Broker != nil {
		return out // a line about membership names no broker
	}
	ids := slices.Clone(s.groups)
	if slices.Contains(s.of, "") {
		ids = append(ids, "")
	}
	for _, g := range ids {
		if want := s.e.Target.Group; want != "" && g != "" && g != want {
			continue
		}
		if v, ok := judgeGroupLog(s.group(g), whole); ok {
			out = append(out, v)
		}
	}
	return out
}

// asked is what the question is about: lines of its broker, or of its group and of
// no group in particular. Without a broker or group it is all.
func (s *logStory) asked(whole scope) scope {
	c := scope{s: s, subject: whole.subject}
	node, group := s.e.Target.Broker, s.e.Target.Group
	for _, i := range whole.at {
		f := s.all[i]
		if node != nil && (f.Node == nil || *f.Node != *node) || group != "" && s.of[i] != "" && s.of[i] != group {
			continue
		}
		c.at = append(c.at, i)
	}
	return c
}

// group is what belongs to a group, and what belongs to nobody in particular:
// stops, pauses and downstream trouble of the application.
func (s *logStory) group(id string) scope {
	c := scope{s: s, subject: subjectGroup(id)}
	if id == "" {
		c.subject = "group not named in the log"
	}
	for i, g := range s.of {
		if g == id || g == "" && surroundings(s.all[i].Kind) {
			c.at = append(c.at, i)
		}
	}
	return c
}

// surroundings are kinds that name no group by nature.
func surroundings(k LogKind) bool {
	switch k {
	case LogProcessStop, LogProcessStart, LogProcessKilled, LogProcessPause, LogDownstreamTrouble, LogPollGap,
		LogBrokerStarved, LogBrokerStopped, LogBrokerStarted, LogConsumptionHalt:
		return true
	default:
		return false
	}
}

// nothing is the answer when no line says anything.
func (s *logStory) nothing() logVerdict {
	v := logVerdict{class: Undecided, subject: "log", rest: []Alternative{}, advice: Advice{
		Title: "Give the log of the time before the trouble",
		Text:  "Take the lines of the client and of the group's coordinator from at least ten minutes before the first error on, at level INFO.",
		Avoid: "Do not take silence for health.", Why: "Java clients from 4.4 on write session errors at level DEBUG only, and librdkafka writes little without debug=cgrp.",
	}}
	v.summary = plural(s.e.LogText.Lines, "line", "lines") + " read; none says anything about fetch sessions or group membership that points to a cause."
	v.decides = "client and coordinator lines from before the first error, or live evidence"
	return v
}
