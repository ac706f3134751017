package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// command works a slash command or a mention, once.
func (b *batch) command(ctx context.Context, c slack.Command) {
	if !b.once(ctx, "command "+c.ID) {
		return
	}
	q, err := slack.ParseCommand(c.Text)
	result := "ok"
	switch {
	case err != nil:
		q.Verb, result = "unknown", "usage"
		b.tell(c.ID, c.ResponseURL, err.Error())
	case q.Verb == slack.VerbHelp:
		b.answer(c.ID, outgoing{URL: c.ResponseURL, Message: helpMessage()})
	case q.Verb == slack.VerbList:
		b.answer(c.ID, outgoing{URL: c.ResponseURL, Message: b.listMessage()})
	case q.Verb == slack.VerbStatus:
		b.answer(c.ID, outgoing{URL: c.ResponseURL, Message: b.statusMessage()})
	case q.Verb == slack.VerbPlaybook:
		result = b.playbook(c, q)
	default:
		result = b.question(ctx, c, q)
	}
	verb := string(q.Verb)
	b.after = append(b.after, func() {
		b.s.metrics.commands.WithLabelValues(verb, result).Inc()
		b.s.deps.Log.Info("command taken", "command_id", c.ID, "verb", verb, "result", result)
	})
}

// question starts a diagnosis, or joins one that is under way.
func (b *batch) question(ctx context.Context, c slack.Command, q slack.Query) string {
	cluster, problem := b.s.clusterFor(q.Cluster, c.ChannelID)
	if problem != "" {
		b.tell(c.ID, c.ResponseURL, problem)
		return "cluster"
	}
	a := &ask{
		ID: b.s.deps.NewID(), User: c.UserID, Channel: c.ChannelID, URL: c.ResponseURL, Created: b.now,
		Target: diagnose.Target{Cluster: cluster, Group: q.Group, Topic: q.Topic, Broker: broker32(q.Broker)},
	}
	a.Key = strings.Join([]string{c.UserID, c.ChannelID, cluster, targetName(a.Target), q.Since.String()}, "|")
	if old, ok := b.recent(ctx, a.Key); ok {
		b.rejoin(c, *old)
		return "joined"
	}
	b.asks[a.ID], b.s.asking[a.ID] = a, a
	st, open := b.about(a.Target)
	if open {
		a.Incident = st.ID
	}
	if open && q.Since == 0 {
		b.step(st, incident.LookAsked{By: who(c.UserName, c.UserID)})
		return "joined_incident"
	}
	a.Look = "ask " + a.ID
	b.addLook(lookJob{ID: a.Look, Purpose: purposeCommand, Request: diagnose.Request{Target: a.Target, Window: q.Since}})
	return "ok"
}

// rejoin: somebody typed the same command again within seconds.
func (b *batch) rejoin(c slack.Command, old ask) {
	if old.Done {
		b.answer(c.ID, outgoing{URL: c.ResponseURL, Message: b.answerMessage(old)})
		return
	}
	b.tell(c.ID, c.ResponseURL, "I am already looking at that; the answer comes in a moment.")
}

func broker32(n *int) *int32 {
	if n == nil {
		return nil
	}
	id := int32(*n)
	return &id
}

func targetName(t diagnose.Target) string {
	switch {
	case t.Group != "":
		return "group " + t.Group
	case t.Broker != nil:
		return incident.Broker(*t.Broker).String()
	case t.Topic != "":
		return "topic " + t.Topic
	}
	return "cluster"
}

// clusterFor finds the cluster that a command is about. A channel may stand for
// a cluster, and a cluster may be spoken about in its channels only.
func (s *Server) clusterFor(named, channel string) (cluster, problem string) {
	if len(s.cfg.Clusters) == 0 {
		if named == "" {
			named = s.cfg.Labels.DefaultCluster
		}
		return named, ""
	}
	var names, here []string
	for _, c := range s.cfg.Clusters {
		names = append(names, c.Name)
		if slices.Contains(c.Channels, channel) {
			here = append(here, c.Name)
		}
	}
	switch {
	case named == "" && len(here) == 1:
		return here[0], ""
	case named == "" && len(names) == 1:
		named = names[0]
	case named == "":
		return "", "Which cluster? Add: cluster " + strings.Join(names, " | ")
	}
	i := slices.Index(names, named)
	if i < 0 {
		return "", fmt.Sprintf("I do not know cluster “%s”. I know: %s.", named, strings.Join(names, ", "))
	}
	if ch := s.cfg.Clusters[i].Channels; len(ch) > 0 && !slices.Contains(ch, channel) {
		return "", fmt.Sprintf("Questions about cluster “%s” are answered in its own channel only.", named)
	}
	return named, ""
}

func helpMessage() playbooks.Message {
	lines := [][2]string{
		{"/kafka-diagnose group orders", "why this group loses members or lags"},
		{"/kafka-diagnose broker 3", "fetch sessions, restarts and groups of a broker"},
		{"/kafka-diagnose topic payments", "the groups that read a topic"},
		{"/kafka-diagnose … cluster kafka-prod since 30m", "another cluster, another time span"},
		{"/kafka-diagnose list", "open incidents"},
		{"/kafka-diagnose playbook cache-thrash", "what to do about a class"},
		{"/kafka-diagnose status", "how I am"},
	}
	d := playbooks.Detail{Title: "Commands"}
	for _, l := range lines {
		d.Lines = append(d.Lines, playbooks.Rich{{Text: l[0], Style: playbooks.Code}, {Text: " — " + l[1]}})
	}
	const sentence = "I read metrics and group state, name the cause, and say what to do next. Only you see the answer until you share it."
	return playbooks.Message{
		Text: "What I can do: diagnose a group, a broker or a topic; list, playbook, status.", Title: playbooks.Rich{{Text: "What I can do", Style: playbooks.Bold}},
		Summary: playbooks.T(sentence), Details: []playbooks.Detail{d},
	}
}

// listed bounds the list of incidents.
const listed = 20

func (b *batch) listMessage() playbooks.Message {
	var lines []playbooks.Rich
	n := 0
	for _, st := range b.s.book.All() {
		if st.Phase == incident.Resolved {
			continue
		}
		if n++; n <= listed {
			lines = append(lines, b.listLine(st))
		}
	}
	if n == 0 {
		return playbooks.Message{Text: "No open incident.", Summary: playbooks.T("No open incident.")}
	}
	title := fmt.Sprintf("Open incidents: %d", n)
	if n > listed {
		lines = append(lines, playbooks.T(fmt.Sprintf("+%d more", n-listed)))
	}
	return playbooks.Message{Text: title, Title: playbooks.Rich{{Text: title, Style: playbooks.Bold}}, Details: []playbooks.Detail{{Title: "Oldest first", Lines: lines}}}
}

func (b *batch) listLine(st incident.State) playbooks.Rich {
	what := "looking"
	if st.Diagnosis != nil {
		what = st.Diagnosis.Primary().Headline + ", " + string(st.Diagnosis.Primary().Confidence)
	}
	target, _ := st.Target()
	r := playbooks.Rich{{Text: what, Style: playbooks.Bold}, {Text: fmt.Sprintf(" · %s · %s · %s since ", st.Cluster, targetName(target), phaseWords(st.Phase))},
		{Text: st.Since.UTC().Format("15:04 UTC"), Time: st.Since}}
	th, ok, err := b.s.store.Thread(context.Background(), st.ID)
	if err == nil && ok {
		if link := b.s.permalink(th.Channel, th.RootTS); link != "" {
			r = append(r, playbooks.Span{Text: " "}, playbooks.Span{Text: "thread", URL: link})
		}
	}
	return r
}

func phaseWords(p incident.Phase) string { return strings.ReplaceAll(string(p), "_", " ") }

func (b *batch) statusMessage() playbooks.Message {
	n := map[incident.Phase]int{}
	for _, st := range b.s.book.All() {
		n[st.Phase]++
	}
	lines := []playbooks.Rich{
		playbooks.T(fmt.Sprintf("up for %s", b.now.Sub(b.s.started).Round(time.Second))),
		playbooks.T(fmt.Sprintf("incidents: %d firing, %d partly resolved, %d unknown, %d resolved and not closed",
			n[incident.Firing], n[incident.Partly], n[incident.Unknown], n[incident.Resolved])),
		// This question is one of those that wait.
		playbooks.T(fmt.Sprintf("events waiting: %d", max(0, b.s.store.Waiting()-1))),
	}
	if out, err := b.s.store.Outbox(context.Background(), b.now); err == nil {
		lines = append(lines, playbooks.T(fmt.Sprintf("messages waiting: %d", out.Rows)))
	}
	if !b.s.deps.Connected() {
		lines = append(lines, playbooks.T("commands and buttons: not connected"))
	}
	return playbooks.Message{Text: "I am up.", Title: playbooks.Rich{{Text: "I am up", Style: playbooks.Bold}}, Details: []playbooks.Detail{{Title: "Status", Lines: lines}}}
}

func (b *batch) playbook(c slack.Command, q slack.Query) string {
	p, ok := b.s.deps.Playbooks.Show(diagnose.Class(q.Class))
	if !ok {
		var names []string
		for _, p := range b.s.deps.Playbooks.List() {
			names = append(names, string(p.Class))
		}
		b.tell(c.ID, c.ResponseURL, "There is no playbook of that name. There are: "+strings.Join(names, ", ")+".")
		return "unknown_class"
	}
	entry, _ := diagnose.Lookup(p.Class)
	m := playbooks.Message{
		Text:    entry.Headline + ": " + p.Meaning,
		Title:   playbooks.Rich{{Text: entry.Headline, Style: playbooks.Bold}, {Text: " "}, {Text: string(p.Class), Style: playbooks.Code}},
		Summary: playbooks.T(p.Meaning + " " + p.Impact),
	}
	steps := playbooks.Detail{Title: "Steps"}
	for i, st := range p.Steps {
		line := append(playbooks.Rich{{Text: fmt.Sprintf("%d. ", i+1), Style: playbooks.Bold}}, playbooks.Unfilled(st.Title)...)
		line = append(line, playbooks.Unfilled(" — "+st.Safety.Words()+". "+st.Text)...)
		if st.Avoid != nil {
			line = append(line, playbooks.Unfilled(" Not: "+st.Avoid.Text+" "+st.Avoid.Why)...)
		}
		steps.Lines = append(steps.Lines, line)
	}
	steps.Lines = append(steps.Lines, playbooks.T("Words in ‹ › are filled in from the evidence of an incident."))
	m.Details = []playbooks.Detail{steps}
	b.answer(c.ID, outgoing{URL: c.ResponseURL, Message: m})
	return "ok"
}
