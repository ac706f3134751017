package incident

import (
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// opened is an incident on broker 3 with a diagnosis two seconds later.
func opened(id string, class diagnose.Class) State {
	p := DefaultPolicy()
	s, _ := p.Step(New(id, "c", KindFetch), delivery(fired("fp-"+id, Broker(3), start)), start)
	if class != "" {
		s, _ = p.Step(s, Diagnosed{1, diagnosis(class, diagnose.Provisional, 0)}, at(2*time.Second))
	}
	return s
}

func alertOn(kind Kind, name string, sub Subject) Alert {
	return Alert{Fingerprint: "new", Name: name, Kind: kind, Firing: true, StartsAt: at(time.Minute), Subject: sub}
}

func TestPlace(t *testing.T) {
	group := Subject{SubjectGroup, "orders"}
	for name, c := range map[string]struct {
		class   diagnose.Class
		kind    Kind
		cluster string
		alert   Alert
		key     string
		after   time.Duration
		why     Reason
	}{
		"same fingerprint":                         {alert: func() Alert { a := alertOn(KindFetch, "A", Broker(9)); a.Fingerprint = "fp-i"; return a }(), why: WhyKnown},
		"same subject":                             {alert: alertOn(KindBroker, "A", Broker(3)), why: WhySubject},
		"other cluster":                            {cluster: "d", alert: alertOn(KindFetch, "A", Broker(3)), why: ""},
		"other broker, nothing known":              {alert: alertOn(KindFetch, "A", Broker(5)), why: ""},
		"other broker, the sender groups them":     {alert: alertOn(KindFetch, "A", Broker(5)), key: "{}:{}", why: WhyGroup},
		"grouped, but 20 min later":                {alert: alertOn(KindFetch, "A", Broker(5)), key: "{}:{}", after: 20 * time.Minute, why: ""},
		"grouped, but a group lost members":        {class: "", kind: KindMembership, alert: alertOn(KindMembership, "A", group), key: "{}:{}", why: ""},
		"grouped lag":                              {kind: KindLag, alert: alertOn(KindLag, "A", group), key: "{}:{}", why: WhyGroup},
		"sender groups different kinds":            {alert: alertOn(KindLag, "A", group), key: "{}:{}", why: ""},
		"restart explains under-replication":       {class: diagnose.RestartBurst, alert: alertOn(KindBroker, "UnderReplicatedPartitions", Broker(1)), why: WhyExplained},
		"restart explains rebalances":              {class: diagnose.RestartBurst, alert: alertOn(KindMembership, "KafkaGroupRebalanceStorm", group), why: WhyExplained},
		"restart does not explain a full disk":     {class: diagnose.RestartBurst, alert: alertOn(KindBroker, "KafkaRunningOutOfSpace", Broker(1)), why: ""},
		"restart does not explain another's burst": {class: diagnose.RestartBurst, alert: alertOn(KindFetch, "A", Broker(5)), why: ""},
		"restart does not explain lag":             {class: diagnose.RestartBurst, alert: alertOn(KindLag, "A", group), why: ""},
		"an hour later it explains nothing":        {class: diagnose.RestartBurst, alert: alertOn(KindBroker, "UnderReplicatedPartitions", Broker(1)), after: time.Hour, why: ""},
		"thrashing explains no under-replication":  {class: diagnose.CacheThrash, alert: alertOn(KindBroker, "UnderReplicatedPartitions", Broker(1)), why: ""},
		"a resolved alert opens nothing":           {alert: func() Alert { a := alertOn(KindFetch, "A", Broker(3)); a.Firing = false; return a }(), why: WhyNeverFired},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(DefaultPolicy())
			s := opened("i", c.class)
			if c.kind != "" {
				s.Kind = c.kind
			}
			b.Put(s)
			cluster := c.cluster
			if cluster == "" {
				cluster = "c"
			}
			id, why, ok := b.Place(cluster, c.alert, c.key, at(time.Minute+c.after))
			joined := c.why != "" && c.why != WhyNeverFired
			if why != c.why || ok != joined || (id == "i") != joined {
				t.Errorf("got %q %q %v, want %q", id, why, ok, c.why)
			}
		})
	}
}

func TestFindingsOnGroupsExplainTheirAlerts(t *testing.T) {
	d := diagnosis(diagnose.SessionTimeout, diagnose.Likely, 0)
	d.Findings[0].Subject, d.Findings[0].Family = "group orders", diagnose.FamilyEvictionTrigger
	d.Blast.Groups = []string{"billing"}
	s, _ := DefaultPolicy().Step(opened("i", ""), Diagnosed{1, d}, at(time.Second))
	b := NewBook(DefaultPolicy())
	b.Put(s)
	for group, want := range map[string]bool{"orders": true, "billing": true, "mail": false} {
		_, why, ok := b.Place("c", alertOn(KindLag, "Lag", Subject{SubjectGroup, group}), "", at(time.Minute))
		if ok != want || (ok && why != WhyExplained) {
			t.Errorf("%s: %v %s", group, ok, why)
		}
	}
}

func TestBookForgetsWhatIsClosedOrChanged(t *testing.T) {
	b := NewBook(DefaultPolicy())
	s := opened("i", "")
	b.Put(s)
	s.Phase = Closed
	b.Put(s)
	if len(b.All()) != 0 || len(b.byFP) != 0 || len(b.bySubj) != 0 {
		t.Errorf("left: %v %v %v", b.byID, b.byFP, b.bySubj)
	}
}

func TestAboutPrefersWhatFires(t *testing.T) {
	b := NewBook(DefaultPolicy())
	old, over := opened("a", ""), opened("b", "")
	over.Opened, over.Phase = at(time.Hour), Resolved
	b.Put(over)
	b.Put(old)
	if s, ok := b.About("c", Broker(3)); !ok || s.ID != "a" {
		t.Errorf("got %q", s.ID)
	}
}

func TestWhatIsOverComesBackWithItsOwnKindOnly(t *testing.T) {
	b := NewBook(DefaultPolicy())
	s := opened("i", "")
	s.Phase = Resolved
	b.Put(s)
	if _, why, ok := b.Place("c", alertOn(KindFetch, "A", Broker(3)), "", at(time.Hour)); !ok || why != WhySubject {
		t.Errorf("same kind: %v %s", ok, why)
	}
	if _, why, ok := b.Place("c", alertOn(KindBroker, "KafkaRunningOutOfSpace", Broker(3)), "", at(time.Hour)); ok {
		t.Errorf("other kind: joined, %s", why)
	}
}

func TestAbsorb(t *testing.T) {
	p := DefaultPolicy()
	cause := opened("cause", diagnose.RestartBurst)
	symptom := Placed{alertOn(KindBroker, "UnderReplicatedPartitions", Broker(1)), WhyNew}
	o, _ := p.Step(New("o", "c", KindBroker), Delivered{Alerts: []Placed{symptom}, GroupKey: "k2"}, at(time.Second))
	now := at(2 * time.Second)
	if !cause.Absorbs(o, p, now) || o.Absorbs(cause, p, now) || cause.Absorbs(cause, p, now) {
		t.Fatal("the cause absorbs its symptom and nothing else")
	}
	into, closed, effects := p.Absorb(cause, o, now)
	if got := words(effects); got != "edit" {
		t.Errorf("effects %s", got)
	}
	if firing, _ := into.Counts(); firing != 2 || closed.Phase != Closed || len(into.GroupKeys) != 2 || len(cause.Alerts) != 1 {
		t.Errorf("%+v\n%+v", into, closed)
	}
	if target, _ := into.Target(); target.Broker == nil || *target.Broker != 3 {
		t.Errorf("what is absorbed must not change the target: %+v", target)
	}
	disk := Placed{alertOn(KindBroker, "KafkaRunningOutOfSpace", Broker(1)), WhyNew}
	disk.Fingerprint = "disk"
	o, _ = p.Step(o, delivery(disk), now)
	if cause.Absorbs(o, p, now) {
		t.Error("one alert that is not explained keeps an incident apart")
	}
}

// A coordinator's counter names no group. When it rises for another group than
// last time, the alert goes to that group's incident.
func TestCoordinatorAlertFollowsTheGroup(t *testing.T) {
	p := DefaultPolicy()
	b := NewBook(p)
	alert := fired("fp-coordinator", Broker(1), start)
	alert.Kind = KindMembership
	old, _ := p.Step(New("old", "c", KindMembership), delivery(alert), start)
	old, _ = p.Step(old, delivery(resolved(alert, at(time.Minute))), at(time.Minute))
	b.Put(old)

	group := fired("fp-group", Subject{SubjectGroup, "orders"}, at(2*time.Minute))
	group.Kind = KindMembership
	young, _ := p.Step(New("young", "c", KindMembership), delivery(group), at(2*time.Minute))
	d := diagnosis(diagnose.SessionTimeout, diagnose.Likely, 0)
	d.Findings[0].Subject, d.Findings[0].Family = "group orders", diagnose.FamilyEvictionTrigger
	d.Findings[0].Citations = []diagnose.Citation{{Path: "brokers[1].errors.heartbeat_unknown_member", Value: "1"}}
	young, _ = p.Step(young, Diagnosed{1, d}, at(121*time.Second))
	b.Put(young)

	again := alert.Alert
	again.StartsAt = at(125 * time.Second)
	if id, why, _ := b.Place("c", again, "", at(126*time.Second)); id != "young" || why != WhyExplained {
		t.Errorf("placed in %q (%s), want the group's incident", id, why)
	}
	// Another coordinator's alert is not explained by it.
	again.Subject, again.Fingerprint = Broker(2), "fp-other"
	if id, _, ok := b.Place("c", again, "", at(126*time.Second)); ok {
		t.Errorf("another coordinator's alert was placed in %q", id)
	}
}
