package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/stage"
)

// play is one incident of the demo.
type play struct {
	name string
	what string
	// expect is the class of the last verdict; ends is a word of its text.
	expect diagnose.Class
	ends   string
	// alert is the name of the alert; it fires firesAfter the effect and ends
	// endsAfter it (0 = it fires to the end).
	alert                 string
	firesAfter, endsAfter time.Duration
	window                time.Duration
	// speed is for --once, calm for somebody who reads along.
	speed, calm float64
}

func plays() []play {
	return []play{
		{
			name: "restart-burst", what: "a broker is restarted while 20 consumers have partitions on it.",
			expect: diagnose.RestartBurst, ends: "over", alert: "KafkaFetchSessionErrors",
			firesAfter: 4 * time.Second, endsAfter: 5 * time.Minute, window: 10 * time.Minute, speed: 20, calm: 4,
		},
		{
			name: "poll-interval", what: "a consumer is too slow between two polls and leaves its group.",
			expect: diagnose.PollInterval, ends: "over", alert: "KafkaGroupMemberLost",
			firesAfter: 3 * time.Second, endsAfter: 45 * time.Second, window: 6 * time.Minute, speed: 3, calm: 1,
		},
		{
			name: "cache-thrash", what: "half as many clients again as the fetch session cache has slots.",
			expect: diagnose.CacheThrash, alert: "KafkaFetchSessionLiveEvictions",
			firesAfter: 15 * time.Second, window: 6 * time.Minute, speed: 15, calm: 4,
		},
	}
}

// lead is how much of the quiet before the fault is shown.
const lead = 5 * time.Second

// begin is the recorded moment at which the play begins.
func (p play) begin(rec *stage.Recording) time.Time {
	return rec.Truth.Fault.Add(-lead)
}

// cue is one delivery of Alertmanager.
type cue struct {
	at     time.Time
	status string
}

func (p play) cues(rec *stage.Recording) []cue {
	out := []cue{{rec.Truth.Effect.Add(p.firesAfter), "firing"}}
	if p.endsAfter > 0 {
		out = append(out, cue{rec.Truth.Effect.Add(p.endsAfter), "resolved"})
	}
	return out
}

// labels are those of the alert as the shipped rules would give them.
func (t *theatre) labels() map[string]string {
	l := map[string]string{"alertname": t.play.alert, "cluster": t.rec.Truth.Cluster, "severity": "warning"}
	if t.rec.Truth.Subject.Group != "" {
		l["group"] = t.rec.Truth.Subject.Group
		return l
	}
	for _, b := range t.rec.Topology.Brokers {
		if b.ID == t.rec.Truth.Subject.Broker {
			l["instance"] = b.Metrics
		}
	}
	l["broker_id"] = fmt.Sprint(t.rec.Truth.Subject.Broker)
	return l
}

// webhook is Alertmanager's payload, version 4.
func (t *theatre) webhook(c cue) map[string]any {
	labels := t.labels()
	started := t.stage.OnStage(t.play.cues(t.rec)[0].at)
	if now := t.clock.Now(); !now.Before(t.clock.End) {
		started = now // sent by hand, when the play is over: a new occurrence
	}
	alert := map[string]any{
		"status": c.status, "labels": labels, "startsAt": started.Format(time.RFC3339Nano), "endsAt": "0001-01-01T00:00:00Z",
		"annotations": map[string]string{"summary": t.play.alert + " on the recorded cluster"}, "fingerprint": "d3m0d3m0d3m0d3m0",
	}
	if c.status == "resolved" {
		alert["endsAt"] = t.clock.Now().Format(time.RFC3339Nano)
	}
	return map[string]any{
		"version": "4", "groupKey": `{}:{alertname="` + t.play.alert + `"}`, "truncatedAlerts": 0, "status": c.status, "receiver": "kafka-oncall",
		"groupLabels": map[string]string{"alertname": t.play.alert}, "commonLabels": labels, "commonAnnotations": map[string]string{},
		"externalURL": "http://localhost:9093", "alerts": []any{alert},
	}
}

func (t *theatre) url() string {
	return "http://" + t.server.server.Addr().String() + "/webhook/alertmanager"
}

func (t *theatre) send(ctx context.Context, c cue) error {
	body, err := json.Marshal(t.webhook(c))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the webhook answered %d: %s", resp.StatusCode, text)
	}
	t.say("[%s] Alertmanager posts %s: %s\n", t.clock.Now().Format("15:04:05"), t.play.alert, c.status)
	return nil
}

// help tells how to send an alert and a command by hand.
func (t *theatre) help() string {
	body, _ := json.Marshal(t.webhook(cue{status: "firing"}))
	subject := fmt.Sprintf("broker %d", t.rec.Truth.Subject.Broker)
	if g := t.rec.Truth.Subject.Group; g != "" {
		subject = "group " + g
	}
	return fmt.Sprintf(`
On the page, type:   /kafka-diagnose %s
Send an alert:       curl -sS -X POST -H 'Content-Type: application/json' %s \
                       -d '%s'
End with Ctrl-C.
`, subject, t.url(), strings.ReplaceAll(string(body), "'", `'\''`))
}
