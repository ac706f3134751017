package bot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Requests 1, 2, 3, 8: one root for the whole life; it is edited, and the end
// is also a reply.
func TestOneThreadFromFiringToResolved(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		a := burst("3")
		r.post(webhook(a))
		pass(2 * time.Second)
		r.wantThread(`
			Restart burst — probably harmless
			  Evidence and steps
		`)
		root := r.slack.roots()[0]
		if b := buttonNames(root); b != "look_again acknowledge" {
			t.Errorf("buttons %q", b)
		}
		r.oracle.set(diagnose.RestartBurst, diagnose.Confirmed)
		pass(time.Minute + 6*time.Second)
		r.post(webhook(a.over()))
		pass(2 * time.Second)
		r.wantThread(`
			Restart burst — over
			  Evidence and steps
			  Confirmed: restart burst — harmless, over (was: provisional)
			  Over
		`)
		if root.edits < 2 || !strings.Contains(text1(root), "resolved") {
			t.Errorf("%d edits: %s", root.edits, text1(root))
		}
	})
}

func buttonNames(m *message) string {
	var out []string
	for _, b := range m.post.Message.Buttons {
		out = append(out, string(b.Action))
	}
	return strings.Join(out, " ")
}

// text1 is everything a message says.
func text1(m *message) string {
	b, _ := json.Marshal(m.post.Message)
	return string(b)
}

// The root waits for the first verdict at most 5 s.
func TestSlowVerdictIsAnEditAndAReply(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.after(8*time.Second, diagnose.CacheThrash, diagnose.Likely)
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(4900 * time.Millisecond)
		r.wantThread("")
		pass(300 * time.Millisecond)
		r.wantThread("Looking\n")
		pass(4 * time.Second)
		r.wantThread(`
			Sustained thrashing — likely
			  Sustained thrashing — likely
			  Evidence and steps
		`)
	})
}

// Request 53: a source that hangs does not hold the root up, and the card says
// what is the matter.
func TestHangingDiagnosisStillPosts(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.after(time.Hour, diagnose.Quiet, diagnose.Confirmed)
		r.start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(16 * time.Second)
		r.wantThread("No diagnosis\n  No diagnosis\n")
		if got := text1(r.slack.roots()[0]); !strings.Contains(got, "no answer within 15s") {
			t.Error(got)
		}
	})
}

// A verdict that gets worse is also shown in the channel, and says what it was.
func TestUpgradeIsBroadcast(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.oracle.set(diagnose.CacheThrash, diagnose.Confirmed)
		pass(time.Minute + 6*time.Second)
		r.wantThread(`
			Upgraded: sustained thrashing (was: restart burst, provisional)
			  Evidence and steps
			  ! Upgraded: sustained thrashing (was: restart burst, provisional)
		`)
	})
}

// Request 14: 50 concurrent deliveries of the same group give one root.
func TestConcurrentDeliveriesGiveOneRoot(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		body := webhook(burst("3"))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if code := r.post(body); code != http.StatusOK {
					t.Errorf("answered %d", code)
				}
			})
		}
		wg.Wait()
		pass(10 * time.Second)
		r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
		if n := strings.Count(r.log.String(), `msg="alert decided"`); n != 50 {
			t.Errorf("%d decision lines for 50 alerts", n)
		}
	})
}

// The shipped receiver gives all groups of a cluster one group key. Each group
// that lost members has a thread of its own all the same, up to ownThreads.
func TestGroupsThatLostMembersHaveTheirOwnThreads(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t)
		r.oracle.set(diagnose.SessionTimeout, diagnose.Likely)
		r.start()
		defer r.stop()
		lost := func(groups ...string) {
			var members []one
			for _, g := range groups {
				members = append(members, one{name: "KafkaGroupMemberLost", labels: map[string]string{"group": g}, starts: time.Now()})
			}
			if code := r.post(webhook(members...)); code != http.StatusOK {
				t.Fatal(code)
			}
			pass(7 * time.Second)
		}
		lost("orders", "pay")
		lost("orders", "pay", "mail")
		if n := len(r.slack.roots()); n != 3 {
			t.Fatalf("%d roots for 3 groups:\n%s", n, r.slack.thread())
		}
		lost("a", "b", "c", "d", "e", "f", "g")
		if n := len(r.slack.roots()); n != 3+ownThreads {
			t.Errorf("%d roots, want %d more for 7 groups at once", n, ownThreads)
		}
	})
}

// Requests 6, 7, 9: real payloads, two routes with two group keys: one root
// whose counts follow.
func TestRealPayloads(t *testing.T) {
	for _, version := range []string{"0.25", "0.35"} {
		t.Run(version, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg.Incident.Confirm = 0
				r.start()
				defer r.stop()
				r.sample(version + "/webhook_lag_firing.json")
				r.sample(version + "/webhook_max_alerts_firing.json")
				r.sample(version + "/webhook_group_by_all_firing.json")
				pass(2 * time.Second)
				if n := len(r.slack.roots()); n != 1 {
					t.Fatalf("%d roots:\n%s", n, r.slack.thread())
				}
				root := r.slack.roots()[0]
				if got := text1(root); !strings.Contains(got, "5 firing") || !strings.Contains(got, "3 more cut") || !strings.Contains(got, "demo") {
					t.Error(got)
				}
				r.sample(version + "/webhook_lag_partially_resolved.json")
				pass(2 * time.Second)
				if got := text1(root); !strings.Contains(got, "2 firing, 3 resolved") {
					t.Error(got)
				}
				r.sample(version + "/webhook_max_alerts_resolved.json")
				r.sample(version + "/webhook_lag_resolved.json")
				r.sample(version + "/webhook_fetch_session_firing.json")
				pass(2 * time.Second)
				r.sample(version + "/webhook_fetch_session_resolved.json")
				r.sample(version + "/webhook_group_by_all_resolved.json")
				pass(2 * time.Second)
				if n := len(r.slack.roots()); n != 2 {
					t.Fatalf("%d roots:\n%s", n, r.slack.thread())
				}
				if got := r.slack.thread(); strings.Count(got, "Over\n") != 1 {
					t.Errorf("billing was silenced, so lag is not over; the sessions are:\n%s", got)
				}
			})
		})
	}
}

// Request 17: the same problem again is the same thread.
func TestRefiredInTheSameThread(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		a := burst("3")
		r.post(webhook(a))
		pass(2 * time.Second)
		r.post(webhook(a.over()))
		pass(2 * time.Second)
		r.post(webhook(a.again()))
		pass(2 * time.Second)
		r.wantThread(`
			Restart burst — probably harmless
			  Evidence and steps
			  Over
			  Firing again
			  Restart burst — probably harmless
		`)
		if got := text1(r.slack.roots()[0]); !strings.Contains(got, "occurrence 2") {
			t.Error(got)
		}
	})
}

// One cause, one thread: what a restart explains joins it.
func TestExplainedAlertsJoin(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.post(webhook(burst("3")))
		pass(2 * time.Second)
		r.post(webhook(one{name: "UnderReplicatedPartitions", labels: map[string]string{"broker_id": "1"}, starts: time.Now()}))
		r.post(webhook(one{name: "KafkaGroupRebalanceStorm", labels: map[string]string{"consumergroup": "orders"}, starts: time.Now()}))
		pass(2 * time.Second)
		r.post(webhook(one{name: "KafkaRunningOutOfSpace", labels: map[string]string{"broker_id": "2"}, starts: time.Now()}))
		pass(12 * time.Second)
		if n := len(r.slack.roots()); n != 2 {
			t.Fatalf("%d roots, want 2 (the full disk is its own):\n%s", n, r.slack.thread())
		}
		if got := text1(r.slack.roots()[0]); !strings.Contains(got, "UnderReplicatedPartitions (broker 1), KafkaGroupRebalanceStorm (group orders)") {
			t.Error(got)
		}
		for _, q := range r.oracle.requests() {
			if q.Target.Broker == nil || (*q.Target.Broker != 3 && *q.Target.Broker != 2) {
				t.Errorf("looked at %+v: what joined must not change the target", q.Target)
			}
		}
	})
}

// Symptoms that arrive in the same second, before the verdict that explains
// them: still one thread, whichever came first.
func TestSymptomsOfTheSameSecondShareAThread(t *testing.T) {
	for _, burstFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("burst first ", burstFirst), func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := newRig(t)
				r.oracle.say = func(ctx ctxT, q diagnose.Request) (diagnose.Diagnosis, error) {
					if q.Target.Broker != nil && *q.Target.Broker == 3 {
						time.Sleep(time.Second)
						return finding(diagnose.RestartBurst, diagnose.Provisional), nil
					}
					<-ctx.Done()
					return diagnose.Diagnosis{}, ctx.Err()
				}
				r.start()
				defer r.stop()
				symptom := one{name: "UnderReplicatedPartitions", labels: map[string]string{"broker_id": "1"}, starts: time.Now()}
				bodies := []string{webhook(symptom), webhook(burst("3"))}
				if burstFirst {
					bodies[0], bodies[1] = bodies[1], bodies[0]
				}
				for _, body := range bodies {
					r.post(body)
				}
				pass(40 * time.Second)
				r.wantThread("Restart burst — probably harmless\n  Evidence and steps\n")
				if got := text1(r.slack.roots()[0]); !strings.Contains(got, "UnderReplicatedPartitions (broker 1)") {
					t.Error(got)
				}
				r.post(webhook(burst("3").over()))
				r.post(webhook(symptom.over()))
				pass(5 * time.Second)
				if got := r.slack.thread(); !strings.HasPrefix(got, "Restart burst — over\n") || len(r.slack.roots()) != 1 {
					t.Error(got)
				}
				if n := strings.Count(r.log.String(), `msg="alert decided"`); n != 4 {
					t.Errorf("%d decision lines for 4 alerts", n)
				}
			})
		})
	}
}

// Alerts about members that name no group: a scan of the coordinator.
func TestMembershipAlertWithoutGroupScans(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t).start()
		defer r.stop()
		r.post(webhook(one{name: "KafkaGroupUnknownMember", labels: map[string]string{"broker_id": "2"}, starts: time.Now()}))
		pass(2 * time.Second)
		q := r.oracle.requests()[0]
		if !q.Scan || q.Target.Broker == nil || *q.Target.Broker != 2 || q.Trigger.AlertName != "KafkaGroupUnknownMember" {
			t.Errorf("%+v", q)
		}
	})
}
