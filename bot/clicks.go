package bot

import (
	"context"
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/bot/incident"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// click works a pressed button, once.
func (b *batch) click(ctx context.Context, c slack.Click) {
	if !b.once(ctx, "click "+c.ID) {
		return
	}
	result := b.press(ctx, c)
	b.after = append(b.after, func() {
		b.s.metrics.clicks.WithLabelValues(closedAction(c.Action), result).Inc()
		b.s.deps.Log.Info("click taken", "click_id", c.ID, "action", closedAction(c.Action), "result", result, "incident_id", incidentOf(c))
	})
}

func incidentOf(c slack.Click) string {
	id, _, _ := strings.Cut(c.Value, ".")
	if c.Action == playbooks.ActionShare || len(id) > 64 {
		return ""
	}
	return id
}

func (b *batch) press(ctx context.Context, c slack.Click) string {
	if c.Action == playbooks.ActionShare {
		return b.share(ctx, c)
	}
	id, made, _ := strings.Cut(c.Value, ".")
	st, ok := b.incident(id)
	if !ok || st.Phase == incident.Closed {
		b.tell(c.ID, c.ResponseURL, "That incident is closed.")
		return "closed"
	}
	by := who(c.UserName, c.UserID)
	switch c.Action {
	case playbooks.ActionAcknowledge:
		if st.AckedBy != "" {
			b.tell(c.ID, c.ResponseURL, "Already acknowledged by "+st.AckedBy+".")
			return "repeated"
		}
		b.step(st, incident.Acknowledged{By: by})
	case playbooks.ActionLookAgain:
		if st.Looking {
			b.tell(c.ID, c.ResponseURL, "I am looking already.")
			return "repeated"
		}
		b.step(st, incident.LookAsked{By: by})
	case playbooks.ActionDone:
		return b.stepDone(st, c, made, by)
	default:
		return "unknown"
	}
	return "ok"
}

// stepDone marks the step that the button was made for.
func (b *batch) stepDone(st incident.State, c slack.Click, made, by string) string {
	count, err := strconv.Atoi(made)
	if err != nil || count != len(st.DoneSteps()) || st.Diagnosis == nil {
		b.tell(c.ID, c.ResponseURL, "That step was marked already; the card shows the next one.")
		return "repeated"
	}
	next, ok := b.s.deps.Playbooks.Next(*st.Diagnosis, st.DoneSteps())
	if !ok {
		b.tell(c.ID, c.ResponseURL, "All steps are done.")
		return "repeated"
	}
	b.step(st, incident.StepDone{Step: next.ID, Title: next.Title, By: by, Class: st.Diagnosis.Primary().Class, Count: count})
	return "ok"
}
