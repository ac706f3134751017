package score

import (
	"fmt"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// brokerMarks are the signals and fields of a broker that the fault of a class
// moves (measured on 3.7.2, 3.9.2 and 4.4.0, fetch-session runs; the settings
// of a cache that cannot hold sessions stand for themselves).
var brokerMarks = map[diagnose.Class][]string{
	diagnose.RestartBurst:        {"errors.fetch_session_id_not_found", "process_start", "leaders", "sessions", "awaited"},
	diagnose.CacheThrash:         {"errors.fetch_session_id_not_found", "evictions", "fetch_bytes.mean"},
	diagnose.CacheSaturated:      {"sessions", "demand", "fetch_bytes.mean"},
	diagnose.DeadSessionTurnover: {"evictions", "sessions", "connections_made"},
	diagnose.FollowerChurn:       {"evictions", "errors.fetch_session_id_not_found", "under_replicated"},
	diagnose.CacheNearLimit:      {"sessions", "demand"},
	diagnose.LeakingClient:       {"sessions", "evictions", "cached_partitions", "connections_made", "software"},
	diagnose.EpochMismatch:       {"errors.invalid_fetch_session_epoch"},
	diagnose.MisroutedSessions: {
		"errors.fetch_not_leader", "errors.list_offsets_not_leader", "errors.rebootstrap_required",
		"errors.fetch_session_id_not_found", "errors.fetch_session_topic_id_error", "evictions", "sessions",
	},
	diagnose.SessionsDisabled: {"slots", "sessions"},
}

// groupMarks are the counters beside the group's own records, commits and
// snapshots (group runs, table of signatures).
var groupMarks = map[diagnose.Class][]string{
	diagnose.SessionTimeout:     {"errors.heartbeat_unknown_member", "errors.offset_commit_unknown_member", "errors.consumer_group_heartbeat_unknown_member"},
	diagnose.ClientUnreachable:  {"errors.heartbeat_unknown_member", "errors.offset_commit_unknown_member", "errors.consumer_group_heartbeat_unknown_member"},
	diagnose.ProcessGone:        {},
	diagnose.ProcessReplaced:    {},
	diagnose.PollInterval:       {"requests.leave_group", "errors.offset_commit_unknown_member", "errors.consumer_group_heartbeat_unknown_member"},
	diagnose.PollIntervalStatic: {},
	diagnose.JoinSyncRace:       {"errors.heartbeat_unknown_member", "errors.sync_group_unknown_member", "errors.join_group_unknown_member"},
	diagnose.SickLeader:         {"errors.heartbeat_rebalance_in_progress"},
	diagnose.RebalanceTimeout:   {"errors.heartbeat_unknown_member", "errors.offset_commit_unknown_member", "requests.leave_group"},
	diagnose.CoordinatorTrouble: {"errors.heartbeat_unknown_member", "errors.offset_commit_unknown_member", "process_start", "heartbeat_ms.p99", "leaders"},
	diagnose.GroupMetadataLost:  {"errors.heartbeat_unknown_member", "errors.offset_commit_unknown_member"},
	diagnose.RemovedByAdmin:     {"requests.leave_group", "errors.heartbeat_unknown_member", "errors.offset_commit_unknown_member"},
	diagnose.RollingDeploy:      {"requests.leave_group"},
	diagnose.StrayCommits:       {"errors.offset_commit_unknown_member"},
	diagnose.DuplicateStaticID:  {"errors.offset_commit_fenced_instance", "errors.consumer_group_heartbeat_unreleased_instance"},
	diagnose.RebalanceStorm:     {"requests.join_group", "errors.heartbeat_rebalance_in_progress"},
	diagnose.LagStableGroup:     {},
}

// Produced lists the paths into the evidence that the fault of a class moves,
// for the subject that was asked about, or for every one if none was. It is
// empty where nothing was injected.
func Produced(c diagnose.Class, e diagnose.Evidence) []string {
	if marks, ok := brokerMarks[c]; ok {
		if c == diagnose.MisroutedSessions {
			e.Target.Broker = nil // it shows on every broker behind the address
		}
		return onBrokers(marks, e)
	}
	marks, ok := groupMarks[c]
	if !ok {
		return nil
	}
	out := append(onBrokers(marks, e), "watcher.losses", "watcher.stable_groups", "logs", "pods")
	for _, g := range inQuestion(e) {
		for _, part := range []string{"history", "snapshots", "lag"} {
			out = append(out, fmt.Sprintf("groups[%s].%s", g.ID, part))
		}
	}
	for _, x := range e.Clients {
		out = append(out, fmt.Sprintf("clients[%s]", x.ClientID))
	}
	return out
}

func onBrokers(marks []string, e diagnose.Evidence) []string {
	var out []string
	for _, b := range brokersInQuestion(e) {
		for _, m := range marks {
			out = append(out, fmt.Sprintf("brokers[%d].%s", b.ID, m))
		}
	}
	return out
}

// cites reports whether a citation lies at or below one of the paths.
func cites(f diagnose.Finding, produced []string) bool {
	for _, c := range f.Citations {
		for _, p := range produced {
			if rest, ok := strings.CutPrefix(c.Path, p); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return true
			}
		}
	}
	return false
}
