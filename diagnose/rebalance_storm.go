package diagnose

import (
	"fmt"
	"strings"
	"time"
)

func rebalanceStormRule() Rule {
	return Rule{
		Class: RebalanceStorm,
		Needs: []Need{NeedOffsets, NeedWatcher},
		Conditions: []string{
			"3 or more rebalances completed in the window: by the group's records (generation, KIP-848 epoch), the watcher's looks at its state, or rebalance-total of its clients",
			"nobody was evicted and nobody left: every member of the beginning is one at the end",
			"the group was not started in the window, or it rebalances on after its members had come, or they still come one by one; and its coordinator did not start right before",
		},
		Corroboration: []string{
			"what changed is visible: members that joined, topics or partitions, the assignor",
			"membership before the window is known",
		},
		Source:   "Kafka GroupCoordinator: subscription and metadata changes and joins rebalance the whole group; measured: a new topic for a pattern gives one generation more with the same members",
		Explains: []Class{LagStableGroup},
		Provides: []FactSpec{
			{Name: "group", Unit: UnitText, Meaning: "the group"},
			protocolSpec(),
			{Name: "rebalances", Unit: UnitCount, Meaning: "rebalances completed in the window"},
			{Name: "span_seconds", Unit: UnitSeconds, Meaning: "the first to the last of them"},
			{Name: "changed", Unit: UnitText, Meaning: "scaling, metadata, assignor or unknown: what changed from one to the next"},
			{Name: "what", Unit: UnitText, Meaning: "the same in words"},
			{Name: "joined_members", Unit: UnitCount, Meaning: "members that joined in the window"},
			{Name: "members", Unit: UnitCount, Meaning: "members now"},
			{Name: "library", Unit: UnitText, Meaning: "the client library of all its members", Optional: true},
			{Name: "library_by", Unit: UnitText, Meaning: "what shows the library, as in: its client id", Optional: true},
			{Name: "assignor", Unit: UnitText, Meaning: "the group's assignor", Optional: true},
		},
		Judge: judgeStorms,
	}
}

func judgeStorms(f *facts) []Outcome {
	var out []Outcome
	for _, g := range f.groups() {
		s := f.m.story(g)
		if s == nil {
			continue
		}
		o := s.judgeStorm()
		o.Subject = subjectGroup(g.ID)
		out = append(out, o)
	}
	return out
}

// storm is a run of rebalances as one source shows it.
type storm struct {
	n        int
	from, to time.Time
	cite     Citation
}

func (s *groupStory) judgeStorm() Outcome {
	if blind := s.invisible(); len(blind) > 0 {
		return Outcome{Answer: Unknown, Because: "rebalances of the group are not visible", Blind: blind}
	}
	x := s.storm()
	switch {
	case x.n < s.f.l.StormRebalances && !s.hasRecords() && s.joins() >= s.f.l.StormRebalances:
		return Outcome{Answer: Unknown, Because: "members came one after the other, and each of them may have made a rebalance that no look fell into", Blind: []Need{NeedOffsets}}
	case x.n < s.f.l.StormRebalances && s.rebalancesVisible():
		return no("%s completed since %s", plural(x.n, "rebalance", "rebalances"), clock(s.f.from()))
	case x.n < s.f.l.StormRebalances:
		return Outcome{Answer: Unknown, Because: "how often the group rebalanced is not visible", Blind: []Need{NeedOffsets, NeedWatcher}}
	case len(s.losses) > 0:
		return no("members were lost, which explains the rebalances")
	case len(s.replaced) > 0:
		return no("a static member was replaced")
	case s.started() && s.sinceStartUp() >= s.f.l.StormRebalances:
		return s.foundStorm(x)
	case (s.started() || s.afterCoordinatorStart(x)) && s.sinceBurst() >= s.f.l.StormRebalances && s.f.at().Sub(x.to) <= time.Minute:
		o := s.foundStorm(x)
		o.Provisional = true
		o.Decides = "Whether the group still rebalances in a minute: it or its coordinator was started in the window, and a start ends when all members have come."
		return o
	case (s.started() || s.afterCoordinatorStart(x)) && !s.hasRecords() && s.f.at().Sub(x.to) <= time.Minute:
		return Outcome{Answer: Unknown, Because: "whether its members still come one by one is not visible", Blind: []Need{NeedOffsets}}
	case s.started():
		return no("the group was started in the window")
	case s.afterCoordinatorStart(x):
		return no("broker %d, the coordinator, started at %s, right before them", s.g.Coordinator, clock(s.coordinator().start))
	default:
		return s.foundStorm(x)
	}
}

// joins counts the looks in the window that show a member first.
func (s *groupStory) joins() int {
	n := 0
	for i, x := range s.seen {
		if i > 0 && len(s.fresh[i]) > 0 && x.from.After(s.f.from()) {
			n++
		}
	}
	return n
}

// rebalancesVisible says that rebalances of the whole window would be seen.
func (s *groupStory) rebalancesVisible() bool {
	h := s.g.History
	return h.Usable() && h.Baseline || s.birthRead() || s.watchedWhole() && len(s.g.Snapshots) > 0
}

// storm takes the source that shows most rebalances; records come first.
func (s *groupStory) storm() storm {
	out := s.byRecords()
	for _, x := range []storm{s.byLooks(), s.byClients()} {
		if x.n > out.n {
			out = x
		}
	}
	return out
}

// byRecords counts the records of a higher generation or epoch.
func (s *groupStory) byRecords() storm {
	h := s.g.History
	var x storm
	if !h.Usable() {
		return x
	}
	var first, last int32
	for i := 1; i < len(h.Records); i++ {
		a, b := h.Records[i-1], h.Records[i]
		if b.Generation <= a.Generation || b.Tombstone || b.At.Before(s.f.from()) || b.At.After(s.f.at()) {
			continue
		}
		if x.n == 0 {
			x.from, first = b.At, a.Generation
		}
		x.n, x.to, last = x.n+1, b.At, b.Generation
		x.cite = cite(groupPath(s.g.ID, fmt.Sprintf("history.records[%d]", i)), fmt.Sprintf("%s %d to %d in %s", s.generationWord(), first, last, span(b.At.Sub(x.from))), h.Reading)
	}
	return x
}

func (s *groupStory) generationWord() string {
	if s.classic() {
		return "generation"
	}
	return "epoch"
}

// byLooks counts the times at which the group was seen out of Stable, or at a
// higher epoch.
func (s *groupStory) byLooks() storm {
	var x storm
	for i := 1; i < len(s.g.Snapshots); i++ {
		a, b := s.g.Snapshots[i-1], s.g.Snapshots[i]
		began := a.State == "Stable" && (b.State == "PreparingRebalance" || b.State == "CompletingRebalance") || a.Epoch > 0 && b.Epoch > a.Epoch
		if !began || b.At.Before(s.f.from()) || b.At.After(s.f.at()) {
			continue
		}
		if x.n == 0 {
			x.from = b.At
		}
		x.n, x.to = x.n+1, b.At
		x.cite = cite(groupPath(s.g.ID, fmt.Sprintf("snapshots[%d]", i)), fmt.Sprintf("seen rebalancing %s since %s", plural(x.n, "time", "times"), clock(x.from)), s.g.Reading)
	}
	return x
}

// byClients counts rebalance-total of the member that counts most.
func (s *groupStory) byClients() storm {
	var out storm
	if !s.f.e.ClientsReading.Usable() || len(s.seen) == 0 {
		return out
	}
	here := map[string]bool{}
	for _, m := range s.seen[len(s.seen)-1].members {
		here[m.ClientID] = true
	}
	for _, c := range s.f.e.Clients {
		if !here[c.ClientID] {
			continue
		}
		if x := clientRebalances(c, s.f); x.n > out.n {
			out = x
		}
	}
	return out
}

func clientRebalances(c Client, f *facts) storm {
	var x storm
	m := c.Signals[SignalRebalances]
	if !m.Usable() {
		return x
	}
	for _, ch := range chains(m) {
		for i := 1; i < len(ch); i++ {
			if d := ch[i].V - ch[i-1].V; d > 0 && ch[i].T.After(f.from()) && !ch[i].T.After(f.at()) {
				if x.n == 0 {
					x.from = ch[i-1].T
				}
				x.n, x.to = x.n+int(d), ch[i].T
			}
		}
	}
	x.cite = cite("clients["+c.ClientID+"]."+string(SignalRebalances), fmt.Sprintf("%s since %s", plural(x.n, "rebalance", "rebalances"), clock(x.from)), m.Reading)
	return x
}

// started says that the group was made, or was empty, in the window: a group
// that starts up rebalances as its members come.
func (s *groupStory) started() bool {
	for _, x := range s.seen {
		if x.until.Before(s.f.from()) {
			continue
		}
		if len(x.ids) == 0 || x.rec >= 0 && x.from.After(s.f.from()) && s.g.History.Records[x.rec].Generation <= 1 {
			return true
		}
	}
	return false
}

// sinceStartUp counts the rebalances after the members of a group that started in
// the window had come: a start adds members with each record.
func (s *groupStory) sinceStartUp() int {
	h := s.g.History
	if !h.Usable() {
		return 0
	}
	first := 0
	for i, r := range h.Records {
		if len(r.Members) == 0 || first == i-1 && s.change(i).fresh || i == 0 {
			first = i
		}
	}
	n := 0
	for i := first + 1; i < len(h.Records); i++ {
		if h.Records[i].Generation > h.Records[i-1].Generation {
			n++
		}
	}
	return n
}

// startBurst is how far apart the records of a group's start are: the broker
// waits 3 s for more members before the first one
// (group.initial.rebalance.delay.ms), and processes that are started together
// come within seconds.
const startBurst = 5 * time.Second

// sinceBurst counts the rebalances after the processes that were started together
// had come: later ones are started one by one.
func (s *groupStory) sinceBurst() int {
	h := s.g.History
	if !h.Usable() {
		return 0
	}
	n := 0
	for i := s.burstEnd() + 1; i < len(h.Records); i++ {
		if h.Records[i].Generation > h.Records[i-1].Generation {
			n++
		}
	}
	return n
}

// burstEnd is the record at which the processes that were started together had
// come, the first one where there was no such start.
func (s *groupStory) burstEnd() int {
	h := s.g.History
	end := 0
	for i := 1; i < len(h.Records); i++ {
		a, b := h.Records[i-1], h.Records[i]
		if len(b.Members) == 0 || end == i-1 && (len(a.Members) == 0 || b.At.Sub(a.At) <= startBurst) {
			end = i
		}
	}
	return end
}

// afterStart is how long after its coordinator's start a group's rebalances
// belong to that: members come back one by one.
const afterStart = 3 * time.Minute

func (s *groupStory) afterCoordinatorStart(x storm) bool {
	b := s.coordinator()
	return b != nil && !b.start.IsZero() && !x.from.Before(b.start) && x.to.Sub(b.start) <= afterStart
}

func (s *groupStory) foundStorm(x storm) Outcome {
	ch := s.changedIn()
	o := Outcome{Answer: Yes, Citations: append([]Citation{x.cite}, ch.cites...)}
	if ch.kind == "unknown" {
		o.Missing = append(o.Missing, "what asked for the rebalances: members, topics and partitions are the same as far as is visible")
		o.Decides = "The reasons in the broker's log: “Preparing to rebalance group " + s.g.ID + " … (reason: …)”."
	}
	if b := s.coordinator(); b == nil || b.start.IsZero() || b.estimated {
		o.Missing = append(o.Missing, "whether its coordinator started right before")
		o.Alternatives = append(o.Alternatives, Alternative{Quiet, "its coordinator may have started right before: members come back one by one then"})
		o.Decides = "When the broker that coordinates the group started."
	}
	if at, ok := s.unseenBirth(); ok && s.refusals(s.f.from()) > 0 {
		o.Missing = append(o.Missing, "what the group was before "+clock(at)+", its first record")
		o.Alternatives = append(o.Alternatives, Alternative{GroupMetadataLost, "calls were refused as from a group whose state is gone, and who was in it before its first record is not visible"})
		o.Decides = "A look at the group from before " + clock(at) + "."
	}
	if !s.baselineKnown() {
		o.Missing = append(o.Missing, "membership before the window")
		o.Blind = append(o.Blind, NeedOffsets, NeedWatcher)
		o.Alternatives = append(o.Alternatives,
			Alternative{RollingDeploy, "members may have left and come back; who was a member before is not visible"},
			Alternative{SessionTimeout, "members may have been dropped; who was a member before is not visible"})
		o.Decides = "Who was a member before: a longer read of the offsets topic, or the watcher running for longer."
	}
	var v values
	v.text("group", s.g.ID)
	v.text("protocol", s.g.Protocol)
	v.count("rebalances", x.n)
	v.seconds("span_seconds", x.to.Sub(x.from))
	v.text("changed", ch.kind)
	v.text("what", ch.words)
	v.count("joined_members", ch.joined)
	v.count("members", max(0, s.current()))
	v.library(s.library())
	v.text("assignor", s.assignor())
	o.Facts = v
	effect := "Each one stops the whole group for a moment"
	if !s.classic() {
		effect = "In a KIP-848 group each one moves only what changed, so this is milder than it looks"
	} else if strings.Contains(s.assignor(), "cooperative") {
		effect = "With a cooperative assignor only the partitions that move stand still"
	}
	o.Summary = fmt.Sprintf("Group %s rebalanced %d times in %s and nobody was evicted: %s. %s.", s.g.ID, x.n, span(max(time.Second, x.to.Sub(x.from))), ch.words, effect)
	return o
}

// assignor is the group's assignor as last seen.
func (s *groupStory) assignor() string {
	for i := len(s.g.Snapshots) - 1; i >= 0; i-- {
		if a := s.g.Snapshots[i].Assignor; a != "" {
			return a
		}
	}
	if n := len(s.g.History.Records); n > 0 && s.g.History.Usable() {
		return s.g.History.Records[n-1].Assignor
	}
	return ""
}
