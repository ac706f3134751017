package playbooks

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// loaded is the built-in set, compiled once for all tests.
var loaded = sync.OnceValues(Default)

func defaultSet(t *testing.T) *Set {
	t.Helper()
	set, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func view(t *testing.T, d diagnose.Diagnosis, done ...string) View {
	t.Helper()
	v := View{
		IncidentID: "i1", Target: d.Target, Phase: PhaseFiring, Diagnosis: &d, Since: at.Add(-63 * time.Second),
		LastLook: at, NextLook: at.Add(time.Minute), Occurrence: 1, Firing: 1, Took: 3200 * time.Millisecond,
	}
	return defaultSet(t).Fill(v, done)
}

func TestRootsAndThreads(t *testing.T) {
	for name, d := range map[string]diagnose.Diagnosis{
		"restart-burst-provisional": restartBurst(diagnose.Provisional, "no"),
		"restart-burst-confirmed":   restartBurst(diagnose.Confirmed, "yes"),
		"cache-thrash":              thrash(),
		"cache-saturated":           saturated(),
		"cache-near-limit":          nearLimit(),
		"poll-interval":             pollBreach(),
		"session-timeout-doubt":     sessionDoubt(),
		"session-timeout-stood":     sessionStood(),
		"process-gone":              gone(),
		"join-sync-race":            joinSync(),
		"rolling-deploy":            deploy(0),
		"rolling-deploy-missing":    deploy(2),
		"lag-stable-group":          lagging(),
		"quiet":                     quietDiag(),
		"undecided":                 undecided(),
		"hostile":                   hostile(),
	} {
		t.Run(name, func(t *testing.T) {
			v := view(t, d)
			golden(t, "messages/"+name+".txt", show(Root(v))+"\n===== thread\n\n"+show(Thread(v)))
		})
	}
}

func TestCardsOfAnIncidentsLife(t *testing.T) {
	upgraded := view(t, thrash(), "raise-slots")
	upgraded.Was = &Previous{Class: diagnose.RestartBurst, Confidence: diagnose.Provisional}
	upgraded.Occurrence, upgraded.AckedBy, upgraded.StepsDone = 3, "ana", []string{"step 1 done by ana"}
	upgraded.Firing, upgraded.Resolved, upgraded.Truncated = 19, 1, 1200
	for i := range 20 {
		upgraded.Alerts = append(upgraded.Alerts, AlertLine{
			Name: "KafkaFetchSessionLiveEvictions", Firing: i > 0, Summary: fmt.Sprintf("broker %d evicts live sessions", i),
			Labels: fmt.Sprintf("instance=kafka-%d:9404", i), RunbookURL: "https://runbooks.example/fetch", SourceURL: "https://prom.example/graph",
		})
	}
	resolved := view(t, restartBurst(diagnose.Confirmed, "yes"))
	resolved.Phase, resolved.EndedAt, resolved.Resolved, resolved.Firing = PhaseResolved, at.Add(4*time.Minute), 1, 0
	open := view(t, pollBreach())
	open.Phase, open.EndedAt = PhaseResolved, at.Add(10*time.Minute)
	unknown := view(t, sessionDoubt())
	unknown.Phase = PhaseUnknown
	looking := View{IncidentID: "i1", Target: thrash().Target, Phase: PhaseLooking, Since: at, Firing: 1}
	trouble := looking
	trouble.Phase, trouble.Trouble = PhaseFiring, "Prometheus did not answer in 10 s."
	answer := view(t, sessionDoubt())
	answer.IncidentID, answer.AnswerID, answer.Since = "", "a1", time.Time{}
	for name, m := range map[string]Message{
		"root-upgraded": Root(upgraded), "thread-upgraded": Thread(upgraded), "root-resolved": Root(resolved),
		"root-resolved-open-step": Root(open), "root-unknown": Root(unknown), "looking": Looking(looking), "trouble": Root(trouble),
		"answer": Answer(answer), "end-harmless": EndReply(resolved), "end-open-step": EndReply(open), "end-unknown": EndReply(unknown),
		"change-upgraded":  ChangeReply(on("broker 5", restartBurst(diagnose.Provisional, "no")), thrash()),
		"change-apart":     ChangeReply(restartBurst(diagnose.Provisional, "no"), thrash()),
		"change-confirmed": ChangeReply(restartBurst(diagnose.Provisional, "no"), restartBurst(diagnose.Confirmed, "yes")),
		"change-cleared":   ChangeReply(thrash(), quietDiag()),
		"change-decided":   ChangeReply(undecided(), thrash()),
		"verified":         VerifiedReply(*view(t, thrash()).Step, true, "0 evictions in 300 s, 1,302 of 2,072 slots in use."),
		"not-verified":     VerifiedReply(*view(t, thrash()).Step, false, ""),
	} {
		t.Run(name, func(t *testing.T) { golden(t, "life/"+name+".txt", show(m)) })
	}
}

func on(subject string, d diagnose.Diagnosis) diagnose.Diagnosis {
	d.Findings[0].Subject = subject
	return d
}

func TestEveryMessageHasOneLineOfText(t *testing.T) {
	for _, d := range []diagnose.Diagnosis{hostile(), thrash(), {}} {
		v := view(t, d)
		for _, m := range []Message{Root(v), Thread(v), Answer(v), Looking(v), EndReply(v), ChangeReply(d, thrash()), ChangeReply(thrash(), d)} {
			if m.Text == "" || strings.ContainsAny(m.Text, "\n\r\t") || len([]rune(m.Text)) > maxOneLine {
				t.Errorf("text is not one short line: %q", m.Text)
			}
		}
	}
}

func TestButtonsFollowTheState(t *testing.T) {
	labels := func(m Message) string {
		var out []string
		for _, b := range m.Buttons {
			out = append(out, string(b.Action))
			if b.Value != "i1" {
				t.Errorf("button %s carries %q, want the incident's id", b.Action, b.Value)
			}
		}
		return strings.Join(out, " ")
	}
	base := view(t, pollBreach())
	acked, over, noStep, looking := base, base, base, base
	acked.AckedBy = "ana"
	over.Phase = PhaseResolved
	noStep.Step = nil
	looking.Diagnosis, looking.Phase = nil, PhaseLooking
	for _, c := range []struct {
		name, want string
		v          View
	}{
		{"firing", "step_done look_again acknowledge", base},
		{"acknowledged", "step_done look_again", acked},
		{"resolved with a fix open", "step_done look_again", over},
		{"no step left", "look_again acknowledge", noStep},
		{"looking", "acknowledge", looking},
	} {
		if got := labels(Root(c.v)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOutsideTextStaysInSpans(t *testing.T) {
	v := view(t, hostile())
	for _, m := range []Message{Root(v), Thread(v), Answer(v)} {
		all := append([]Rich{m.Title, m.Subject, m.Summary}, m.Evidence...)
		if m.Step != nil {
			all = append(all, m.Step.Text, m.Step.Avoid, m.Step.Verify)
		}
		for _, d := range m.Details {
			all = append(all, d.Lines...)
		}
		for _, r := range all {
			for _, s := range r {
				if strings.ContainsAny(s.Text, "\n\u202e") {
					t.Errorf("control or direction character in %q", s.Text)
				}
				if s.Style == Bold && strings.Contains(s.Text, "<!channel>") {
					t.Errorf("outside text took part in markup: %q", s.Text)
				}
			}
		}
	}
}
