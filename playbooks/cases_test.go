package playbooks

import (
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

var at = time.Date(2026, 11, 30, 2, 16, 3, 0, time.UTC)

func num(name string, u diagnose.Unit, n float64) diagnose.Fact {
	return diagnose.Fact{Name: name, Unit: u, Number: n}
}

func txt(name, s string) diagnose.Fact {
	return diagnose.Fact{Name: name, Unit: diagnose.UnitText, Text: s}
}

func when(name string, t time.Time) diagnose.Fact {
	return diagnose.Fact{Name: name, Unit: diagnose.UnitTime, Text: t.Format(time.RFC3339)}
}

// diag builds a diagnosis with one finding.
func diag(c diagnose.Class, conf diagnose.Confidence, subject string, facts ...diagnose.Fact) diagnose.Diagnosis {
	e, _ := diagnose.Lookup(c)
	d := diagnose.Diagnosis{
		Schema: 1, At: at, Target: diagnose.Target{Cluster: "kafka-prod"}, NextLookSeconds: 60,
		Findings: []diagnose.Finding{{
			Class: c, Family: e.Family, Headline: e.Headline, Confidence: conf, Subject: subject, Facts: facts,
			Citations: []diagnose.Citation{}, Alternatives: []diagnose.Alternative{},
		}},
		RuledOut: []diagnose.RuledOut{}, BlindSpots: []diagnose.BlindSpot{}, Blast: diagnose.Blast{LagRecords: -1},
	}
	if id, ok := strings.CutPrefix(subject, "group "); ok {
		d.Target.Group = id
	} else if strings.HasPrefix(subject, "broker ") {
		n := int32(subject[len("broker ")] - '0')
		d.Target.Broker = &n
	}
	return d
}

func restartBurst(conf diagnose.Confidence, over string) diagnose.Diagnosis {
	d := diag(diagnose.RestartBurst, conf, "broker 3",
		num("errors", diagnose.UnitCount, 20), when("start_at", at.Add(-125*time.Second)),
		num("up_seconds", diagnose.UnitSeconds, 125), txt("leadership_back", "yes"),
		when("leadership_back_at", at.Add(-114*time.Second)), num("leaders", diagnose.UnitCount, 4),
		num("silent_seconds", diagnose.UnitSeconds, 114), txt("over", over), num("clients", diagnose.UnitCount, 20),
		num("sessions", diagnose.UnitCount, 22), num("slots", diagnose.UnitCount, 1000),
		num("capacity", diagnose.UnitCount, 1000), num("evictions", diagnose.UnitCount, 0))
	f := &d.Findings[0]
	f.Summary = "When broker 3 took its partitions back at 02:14:09, 20 of 20 consumers each got one FETCH_SESSION_ID_NOT_FOUND and carried on. No records are lost and nobody stops consuming."
	f.Citations = []diagnose.Citation{
		{Path: "brokers[3].signals.process_start", Value: "broker 3 started 02:13:58, leaders 0 → 4 at 02:14:09", Source: "prometheus: process_start_time_seconds", Link: "https://prom.example/graph?g0.expr=a"},
		{Path: "brokers[3].errors.fetch_session_id_not_found", Value: "20 errors in that one scrape, none in the 114 s since", Source: "prometheus: kafka_network_requestmetrics_errors_total", Link: "https://prom.example/graph?g0.expr=b"},
		{Path: "brokers[3].signals.evictions", Value: "0 evictions since the start", Source: "prometheus: evictions"},
		{Path: "brokers[3].slots", Value: "22 of 1,000 session slots in use", Source: "kafka: DescribeConfigs"},
	}
	f.Decides = "whether errors go on after 02:24"
	f.Alternatives = nil
	d.RuledOut = []diagnose.RuledOut{{Class: diagnose.CacheThrash, Because: "0 evictions in 600 s"}}
	d.BlindSpots = []diagnose.BlindSpot{{Reading: "client_metrics", Status: diagnose.StatusNotExported, LeavesOpen: []diagnose.Class{diagnose.ClientUnreachable}, Detail: "no series of a Kafka consumer in this Prometheus"}}
	d.Blast = diagnose.Blast{Groups: []string{"orders", "payments"}, Topics: []string{"orders"}, LagRecords: 1310}
	return d
}

func thrash() diagnose.Diagnosis {
	d := diag(diagnose.CacheThrash, diagnose.Confirmed, "broker 5",
		num("slots", diagnose.UnitCount, 1000), num("capacity", diagnose.UnitCount, 1000), num("sessions", diagnose.UnitCount, 1000),
		num("demand_consumers", diagnose.UnitCount, 1284), num("demand_followers", diagnose.UnitCount, 26),
		num("demand", diagnose.UnitCount, 1310), num("full_fetch_percent", diagnose.UnitPercent, 23),
		num("partitions_per_session", diagnose.UnitCount, 50), txt("biggest_group", "clickstream"),
		txt("new_connections", "new connections are not exported"),
		num("biggest_group_members", diagnose.UnitCount, 640), num("errors", diagnose.UnitCount, 3012),
		num("evictions", diagnose.UnitCount, 3020), num("waves", diagnose.UnitCount, 3),
		num("window_seconds", diagnose.UnitSeconds, 600), num("since_seconds", diagnose.UnitSeconds, 300))
	f := &d.Findings[0]
	f.Summary = "About 1,000 sessions were evicted around 05:02, again at 05:04 and 05:06, with one error each: live sessions are being thrown out, because 1,310 clients want one of 1,000 slots."
	f.Citations = []diagnose.Citation{
		{Path: "brokers[5].signals.evictions", Value: "3,020 evictions in 600 s, in 3 waves of 120 s", Source: "prometheus: evictions", Link: "https://prom.example/graph?g0.expr=e"},
		{Path: "brokers[5].demand", Value: "1,310 clients need a session: 1,284 consumers and 26 replica fetchers", Source: "kafka: DescribeGroups"},
		{Path: "brokers[5].signals.sessions", Value: "1,000 of 1,000 slots used", Source: "prometheus: sessions"},
	}
	d.Findings = append(d.Findings, diag(diagnose.LagStableGroup, diagnose.Likely, "group clickstream").Findings...)
	d.Findings[1].Summary = "Lag grew by 12,000 records."
	return d
}

func saturated() diagnose.Diagnosis {
	d := diag(diagnose.CacheSaturated, diagnose.Likely, "broker 1",
		num("slots", diagnose.UnitCount, 64), num("capacity", diagnose.UnitCount, 64), num("sessions", diagnose.UnitCount, 64),
		num("demand_consumers", diagnose.UnitCount, 83), num("demand_followers", diagnose.UnitCount, 0),
		num("demand", diagnose.UnitCount, 83), num("without_session", diagnose.UnitCount, 19),
		txt("new_connections", "120 connections opened in 10 min"), num("new_connections_per_second", diagnose.UnitCount, 0.2), num("window_seconds", diagnose.UnitSeconds, 600))
	d.Findings[0].Summary = "All 64 sessions are taken and 83 clients want one, so 19 fetch in full. There is no error to see."
	d.Findings[0].Missing = []string{"the share of full fetches (request sizes are not exported)"}
	return d
}

func nearLimit() diagnose.Diagnosis {
	d := diag(diagnose.CacheNearLimit, diagnose.Provisional, "broker 2",
		num("slots", diagnose.UnitCount, 1000), num("capacity", diagnose.UnitCount, 1000), num("sessions", diagnose.UnitCount, 1000),
		num("used_percent", diagnose.UnitPercent, 100), txt("overflow_visible", "no"),
		txt("new_connections", "new connections are not exported"))
	d.Findings[0].Summary = "The cache is at its capacity; whether clients are turned away cannot be seen."
	return d
}

func pollBreach() diagnose.Diagnosis {
	d := diag(diagnose.PollInterval, diagnose.Confirmed, "group orders",
		txt("group", "orders"), txt("member", "consumer-orders-1-9a3f"), txt("library", "java"), txt("library_by", "its client id"), txt("client_id", "consumer-orders-1"), txt("host", "10.2.7.31"),
		when("dropped_at", at), num("delta_seconds", diagnose.UnitSeconds, 302.6), num("delta_low_seconds", diagnose.UnitSeconds, 300.1),
		num("session_timeout_seconds", diagnose.UnitSeconds, 45), num("rebalance_timeout_seconds", diagnose.UnitSeconds, 300),
		num("return_seconds", diagnose.UnitSeconds, 20), num("per_record_seconds", diagnose.UnitSeconds, 0.64), txt("per_record_by", "its commits while the group had a backlog"),
		num("lost_members", diagnose.UnitCount, 1), num("members", diagnose.UnitCount, 3), num("baseline_members", diagnose.UnitCount, 3))
	f := &d.Findings[0]
	f.Summary = "Member consumer-orders-1 on 10.2.7.31 left by itself at 11:40:12 because it did not call poll() for 300 s; it came back 20 s later. Up to one batch is processed twice."
	f.Citations = []diagnose.Citation{
		{Path: "groups[orders].history.records[2]", Value: "last commit 302.6 s before the drop; session timeout 45 s, poll limit 300 s", Source: "kafka: __consumer_offsets-17"},
		{Path: "brokers[2].signals.requests.leave_group", Value: "1 LeaveGroup request around the drop", Source: "prometheus: requests"},
	}
	return d
}

func sessionDoubt() diagnose.Diagnosis {
	d := diag(diagnose.SessionTimeout, diagnose.Likely, "group payments",
		txt("group", "payments"), txt("member", "payments-7-1b"), txt("host", "10.2.9.4"), when("dropped_at", at),
		num("session_timeout_seconds", diagnose.UnitSeconds, 45), num("rebalance_timeout_seconds", diagnose.UnitSeconds, 300),
		num("heartbeat_interval_seconds", diagnose.UnitSeconds, 15),
		txt("heartbeat_interval_by", "not in any record; a third of the session at most, as Kafka asks, 3 s by default"),
		num("return_seconds", diagnose.UnitSeconds, 15), num("lost_members", diagnose.UnitCount, 1),
		num("members", diagnose.UnitCount, 4), num("baseline_members", diagnose.UnitCount, 4))
	f := &d.Findings[0]
	f.Summary = "A member on 10.2.9.4 was silent for 45 s and removed at 09:12:40; the same process returned 15 s later."
	f.Citations = []diagnose.Citation{{Path: "groups[payments].history.records[4]", Value: "silent for 45 s = its session timeout", Source: "kafka: __consumer_offsets-3"}}
	f.Alternatives = []diagnose.Alternative{{Class: diagnose.ClientUnreachable, Because: "the broker sees the same when the network is silent"}}
	f.Decides = "time-between-poll-max of that client (45 s or more = it stood still)"
	d.RuledOut = []diagnose.RuledOut{
		{Class: diagnose.PollInterval, Because: "removed before the poll limit of 300 s"},
		{Class: diagnose.RollingDeploy, Because: "it called again with its old member id"},
	}
	d.BlindSpots = []diagnose.BlindSpot{
		{Reading: "client_metrics", Status: diagnose.StatusNotExported, LeavesOpen: []diagnose.Class{diagnose.ClientUnreachable}},
		{Reading: "logs", Status: diagnose.StatusSkipped, LeavesOpen: []diagnose.Class{diagnose.ClientUnreachable}, Detail: "no log source is configured"},
	}
	d.Blast.OtherGroups = "11 groups on broker 2 kept their members, 0 lost some"
	return d
}

func sessionStood() diagnose.Diagnosis {
	d := sessionDoubt()
	d.Findings[0].Alternatives, d.Findings[0].Decides, d.Findings[0].Confidence = nil, "", diagnose.Confirmed
	d.Findings[0].Facts = append(d.Findings[0].Facts, num("stall_seconds", diagnose.UnitSeconds, 51.3))
	return d
}

func gone() diagnose.Diagnosis {
	d := diag(diagnose.ProcessGone, diagnose.Likely, "group billing",
		txt("group", "billing"), txt("member", "billing-2"), txt("host", "10.2.9.9"), when("dropped_at", at),
		num("lost_members", diagnose.UnitCount, 1), num("members", diagnose.UnitCount, 5), num("baseline_members", diagnose.UnitCount, 6))
	d.Findings[0].Summary = "A member on 10.2.9.9 was silent for 45 s, was removed at 02:16:03 and has not come back for 3 min."
	return d
}

func joinSync() diagnose.Diagnosis {
	d := diag(diagnose.JoinSyncRace, diagnose.Confirmed, "group slow",
		txt("group", "slow"), txt("member", "slow-1"), txt("host", "10.1.1.1"), when("dropped_at", at), when("joined_at", at.Add(-300*time.Second)),
		num("pending_seconds", diagnose.UnitSeconds, 300), num("lost_members", diagnose.UnitCount, 1),
		num("members", diagnose.UnitCount, 2), num("baseline_members", diagnose.UnitCount, 2))
	d.Findings[0].Summary = "A member joined at 02:11:03 and was removed 300 s later: it never fetched its assignment."
	return d
}

func deploy(missing float64) diagnose.Diagnosis {
	conf := diagnose.Confirmed
	if missing > 0 {
		conf = diagnose.Provisional
	}
	d := diag(diagnose.RollingDeploy, conf, "group orders",
		txt("group", "orders"), txt("member", "m"), when("dropped_at", at), when("first_leave_at", at.Add(-90*time.Second)),
		num("missing_members", diagnose.UnitCount, missing), num("lost_members", diagnose.UnitCount, 6),
		num("return_seconds", diagnose.UnitSeconds, 22), num("members", diagnose.UnitCount, 6-missing), num("baseline_members", diagnose.UnitCount, 6))
	d.Findings[0].Summary = "6 members left by themselves one after another and came back."
	return d
}

func lagging() diagnose.Diagnosis {
	d := diag(diagnose.LagStableGroup, diagnose.Confirmed, "group reports",
		num("lag_records", diagnose.UnitCount, 48210), num("lag_growth", diagnose.UnitCount, 12400), num("span_seconds", diagnose.UnitSeconds, 600),
		num("produce_per_second", diagnose.UnitCount, 62.4), num("consume_per_second", diagnose.UnitCount, 41.7),
		num("shortfall_percent", diagnose.UnitPercent, 49.6), num("members", diagnose.UnitCount, 4), num("partitions", diagnose.UnitCount, 12), txt("committing", "yes"))
	d.Findings[0].Summary = "4 members are stable, and lag grew by 12,400 to 48,210 records in 10 min."
	return d
}

func quietDiag() diagnose.Diagnosis {
	d := diag(diagnose.Quiet, diagnose.Confirmed, "group orders", num("window_seconds", diagnose.UnitSeconds, 600))
	d.Findings[0].Summary = "Checked and normal: 3 members stable, lag 12 records and not growing."
	d.NextLookSeconds = 0
	return d
}

func undecided() diagnose.Diagnosis {
	d := diag(diagnose.Undecided, diagnose.Open, "broker 5", num("window_seconds", diagnose.UnitSeconds, 600), txt("candidates", "cache-thrash,misrouted-sessions"))
	f := &d.Findings[0]
	f.Summary = "Sessions are evicted, but I could not count who needs one, so a full cache and a routing fault look alike."
	f.Alternatives = []diagnose.Alternative{{Class: diagnose.CacheThrash, Because: "evictions and errors go together"}, {Class: diagnose.MisroutedSessions, Because: "several brokers at once"}}
	f.Decides = "Count the clients that need a session on broker 5: give the bot Describe on all groups."
	return d
}

func hostile() diagnose.Diagnosis {
	evil := "x`*<!channel>\n{cluster} **b** \u202e&<https://e|e>'; rm -rf / #"
	d := sessionDoubt()
	d.Findings[0].Subject, d.Target.Group = "group "+evil, evil
	d.Findings[0].Summary = evil + strings.Repeat("long ", 400)
	d.Findings[0].Facts[0].Text, d.Findings[0].Facts[1].Text, d.Findings[0].Facts[2].Text = evil, evil, evil
	d.Findings[0].Citations[0].Value = evil
	d.Findings[0].Citations[0].Link = "javascript:alert(1)"
	return d
}
