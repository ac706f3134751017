package bot

import (
	"fmt"
	"time"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/store"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// line words what an incident says in its thread: one short line each.
func (s *Server) line(st incident.State, f incident.Say) saying {
	return saying{message: s.words(st, f), broadcast: f.Broadcast, late: f.Late}
}

func (s *Server) words(st incident.State, f incident.Say) playbooks.Message {
	switch f.Line {
	case incident.LineVerdict:
		return short(playbooks.Root(s.view(st)))
	case incident.LineChanged, incident.LineWorse, incident.LineConfirmed:
		return playbooks.ChangeReply(*f.Was, *f.Now)
	case incident.LineResolved, incident.LineUnknown:
		return playbooks.EndReply(s.view(st))
	case incident.LineRefired:
		return plain(st, "Firing again", fmt.Sprintf("Occurrence %d of this incident. I am looking at it anew.", f.Occurrence))
	case incident.LineSeverity:
		return plain(st, "Got worse", "An alert of severity "+f.Severity+" fires now.")
	case incident.LineNewsAgain:
		return plain(st, "Still firing", "Alertmanager reports it again.")
	case incident.LineTrouble:
		return plain(st, "No diagnosis", f.Trouble+" I try again at the next look.")
	}
	return plain(st, string(f.Line), "")
}

// short is a message without evidence, step and buttons.
func short(m playbooks.Message) playbooks.Message {
	return playbooks.Message{Text: m.Text, Title: m.Title, Subject: m.Subject, Summary: m.Summary}
}

func plain(st incident.State, title, sentence string) playbooks.Message {
	about := st.Cluster
	if len(st.Subjects) > 0 && st.Subjects[0].Kind != incident.SubjectCluster {
		about += ", " + st.Subjects[0].String()
	}
	return playbooks.Message{
		Text:  fmt.Sprintf("%s: %s. %s", title, about, sentence),
		Title: playbooks.Rich{{Text: title, Style: playbooks.Bold}}, Summary: playbooks.T(sentence),
	}
}

// decorate adds what only the outbox knows: why it is in this channel, that it
// stands for a deleted message, and that it is late.
func (s *Server) decorate(m playbooks.Message, th store.Thread, late time.Duration) playbooks.Message {
	var notes []playbooks.Rich
	if th.Reason != "" {
		notes = append(notes, playbooks.T(th.Reason))
	}
	if th.Previous != "" {
		notes = append(notes, playbooks.Rich{{Text: "Posted again, because the "}, {Text: "first message", URL: s.permalink(th.Channel, th.Previous)}, {Text: " was deleted."}})
	}
	if late >= s.cfg.LateAfter {
		notes = append(notes, playbooks.T(fmt.Sprintf("This message is %s late: Slack did not take it sooner.", late.Round(time.Second))))
	}
	if len(notes) > 0 {
		m.Footer = append(append([]playbooks.Rich{}, m.Footer...), notes...)
	}
	return m
}
