package main

import (
	"maps"
	"slices"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

// counted are the counts of a truth, and the signals that show them.
var counted = map[string]diagnose.Signal{
	"error_70":                diagnose.SignalErrors70,
	"error_71":                diagnose.SignalErrors71,
	"evictions":               diagnose.SignalEvictions,
	"heartbeat_25":            diagnose.SignalHeartbeat25,
	"heartbeat_27":            diagnose.SignalHeartbeat27,
	"heartbeat_82":            diagnose.SignalBeatFenced,
	"offset_commit_25":        diagnose.SignalOffsetCommit25,
	"offset_commit_82":        diagnose.SignalCommitFenced,
	"sync_group_25":           diagnose.SignalSyncGroup25,
	"consumer_heartbeat_25":   diagnose.SignalGroupBeat25,
	"leave_group_requests":    diagnose.SignalLeaveRequests,
	"rebootstrap_required":    diagnose.SignalRebootstrap,
	"not_leader_fetch_errors": diagnose.SignalNotLeaderFetch,
	"not_leader_list_errors":  diagnose.SignalNotLeaderList,
}

// faultOf is what a group run moved; nil for the others, which have the marks of
// their class, and where nothing was broken.
func faultOf(t lab.Truth) *score.Fault {
	groups := slices.Clone(t.Subject.Groups)
	if g := t.Subject.Group; g != "" && !slices.Contains(groups, g) {
		groups = append(groups, g)
	}
	if t.Class == string(diagnose.Quiet) || t.Subject.Group == "" {
		return nil
	}
	f := &score.Fault{At: t.Ready, Groups: groups, Client: t.Subject.ClientID,
		Coordinator: t.Class == string(diagnose.CoordinatorTrouble) || t.Class == string(diagnose.GroupMetadataLost)}
	if t.Fault != nil {
		f.At = *t.Fault
	}
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		if t.Observed[name] > 0 {
			f.Moved = append(f.Moved, counted[name])
		}
	}
	return f
}
