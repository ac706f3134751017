package diagnose

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// LogText is what a recogniser (package diagnose/logs) found in log text. Log
// text is a witness: it says what a program believed at a moment. Lines that
// mean the same are one finding with a count.
type LogText struct {
	// Lines, Recognised and Bytes count what was read.
	Lines      int64 `json:"lines,omitempty"`
	Recognised int64 `json:"recognised,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`
	// Dropped counts recognised lines for which there was no room.
	Dropped int64 `json:"dropped,omitempty"`
	// Groups is how many groups the recognised lines name, those of dropped ones
	// too; 0 when nobody counted.
	Groups int64 `json:"groups,omitempty"`
	// From and To bound the stamps of recognised lines; zero when none has one.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Findings are ordered by time, then by line.
	Findings []LogFinding `json:"findings,omitempty"`
}

// LogFinding is one kind of line about one subject.
type LogFinding struct {
	Kind LogKind `json:"kind"`
	// By is the program that wrote it: "broker", "java", "librdkafka",
	// "franz-go", "sarama", "kafka-go", "kafka-python" (aiokafka too), "kafkajs",
	// "brod" or "app".
	By string `json:"by,omitempty"`
	// First and Last bound the stamps, zero when the lines have none. Stamps
	// without a zone are read as UTC, those without a date on the day of the
	// line before.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Count int       `json:"count"`
	Level string    `json:"level,omitempty"`

	Group    string `json:"group,omitempty"`
	Member   string `json:"member,omitempty"`
	Instance string `json:"instance,omitempty"`
	Client   string `json:"client,omitempty"`
	// Node is the broker that the line is about.
	Node *int32 `json:"node,omitempty"`
	// Detail is the reason or error in the line, bounded.
	Detail string `json:"detail,omitempty"`
	// Low and High bound the number in the lines: milliseconds for timeouts, the
	// session epoch for fetch sessions, the value for metrics.
	Low  int64 `json:"low,omitempty"`
	High int64 `json:"high,omitempty"`
	// Line is the number of the first line, from 1; Source its file and line in
	// the program that wrote it, where the line says so.
	Line   int64  `json:"line,omitempty"`
	Source string `json:"source,omitempty"`
	// Sample is the first line, cut, without control characters or secrets.
	Sample string `json:"sample,omitempty"`
}

// LogKind says what a log line means.
type LogKind string

// Kinds about fetch sessions.
const (
	LogFetchUnknown    LogKind = "fetch-session-unknown"  // error 70 at a client
	LogFetchEpoch      LogKind = "fetch-epoch-invalid"    // error 71 at a client
	LogFetchTopicID    LogKind = "fetch-topic-id"         // error 106
	LogFetchTransport  LogKind = "fetch-transport"        // a fetch failed on its connection
	LogFetchRefused    LogKind = "fetch-session-refused"  // no slot for a new session (franz-go)
	LogFetchNoHandler  LogKind = "fetch-handler-missing"  // KAFKA-16029, at close
	LogFetchNew        LogKind = "fetch-new-session"      // request log: a fetch that opens a session
	LogSessionUnknown  LogKind = "broker-session-unknown" // the broker's side of error 70
	LogDuplicateFetch  LogKind = "broker-duplicate-fetch" // "Possible duplicate request"
	LogCacheSessions   LogKind = "cache-sessions"         // a pasted metric value
	LogCacheEvictions  LogKind = "cache-evictions"        // a pasted metric value
	LogRebootstrap     LogKind = "rebootstrap"            // KIP-1242: the connection led to another broker
	LogNotLeader       LogKind = "not-leader"
	LogSharedAddress   LogKind = "shared-address"
	LogConsumptionHalt LogKind = "consumption-halt"
)

// Kinds about group membership, broker's side.
const (
	LogMemberFailed    LogKind = "member-failed"
	LogMemberExpired   LogKind = "member-session-expired" // KIP-848
	LogRevokeSlow      LogKind = "revocation-too-slow"    // KIP-848
	LogMemberLeft      LogKind = "member-left"
	LogAdminRemoved    LogKind = "removed-by-admin"
	LogNotJoined       LogKind = "members-not-joined"
	LogPendingSync     LogKind = "pending-sync-expired"
	LogPendingMember   LogKind = "pending-member-expired"
	LogStaticReplaced  LogKind = "static-replaced"
	LogFenced          LogKind = "instance-fenced"
	LogRebalanceBegan  LogKind = "rebalance-began"
	LogStabilized      LogKind = "group-stabilized"
	LogGroupEmpty      LogKind = "group-empty"
	LogNewMember       LogKind = "new-member"
	LogGroupLoaded     LogKind = "group-loaded"
	LogBrokerStopped   LogKind = "broker-stopped"
	LogBrokerStarted   LogKind = "broker-started"
	LogBrokerStarved   LogKind = "broker-starved"
	LogSoftwareVersion LogKind = "software-version"
)

// Kinds about group membership, client's side.
const (
	LogPollTimeout       LogKind = "poll-timeout"
	LogPollOvershoot     LogKind = "poll-overshoot"
	LogSessionTimedOut   LogKind = "session-timed-out"
	LogHeartbeatUnknown  LogKind = "heartbeat-unknown-member"
	LogHeartbeatStale    LogKind = "heartbeat-stale"
	LogHeartbeatRebal    LogKind = "heartbeat-rebalancing"
	LogHeartbeatOK       LogKind = "heartbeat-ok"
	LogHeartbeatCut      LogKind = "heartbeat-cancelled"
	LogSyncUnknown       LogKind = "sync-unknown-member"
	LogPartitionsLost    LogKind = "partitions-lost" // given up by a client that is no member any more
	LogCommitNotSent     LogKind = "commit-not-sent" // by such a client
	LogCommitFailed      LogKind = "commit-failed"
	LogAutoCommitFailed  LogKind = "auto-commit-failed"
	LogMemberUnknown     LogKind = "unknown-member"
	LogAlreadyRebalance  LogKind = "already-rebalancing"
	LogRejoin            LogKind = "rejoining"
	LogLeaderDisconnect  LogKind = "sync-disconnect"
	LogJoined            LogKind = "joined"
	LogSynced            LogKind = "synced"
	LogNotCoordinator    LogKind = "not-coordinator"
	LogCoordinatorLost   LogKind = "coordinator-lost"
	LogLeaveSent         LogKind = "leave-sent"
	LogManualAssign      LogKind = "manual-assign"
	LogGroupGone         LogKind = "group-id-not-found"
	LogProtocolMismatch  LogKind = "group-protocol-mismatch"
	LogProcessStop       LogKind = "process-stop"
	LogProcessStart      LogKind = "process-start"
	LogProcessKilled     LogKind = "process-killed"
	LogProcessPause      LogKind = "process-pause"
	LogDownstreamTrouble LogKind = "downstream-trouble"
	LogPollGap           LogKind = "poll-gap"
)

func sortedLogText(t LogText) LogText {
	t.Findings = ordered(t.Findings, compareLogFindings)
	return t
}

func compareLogFindings(a, b LogFinding) int {
	return cmp.Or(
		a.First.Compare(b.First), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.By, b.By), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member),
		cmp.Compare(a.Client, b.Client), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Detail, b.Detail),
		cmp.Compare(a.Sample, b.Sample), a.Last.Compare(b.Last), cmp.Compare(a.Count, b.Count),
	)
}

// maxLogFindings bounds what an evidence file may hold; the recogniser keeps
// fewer.
const maxLogFindings = 5000

func (t LogText) validate(bad func(string, ...any)) {
	if t.Lines < 0 || t.Recognised < 0 || t.Bytes < 0 || t.Dropped < 0 || t.Groups < 0 {
		bad("field logs: a count is negative")
	}
	if len(t.Findings) > maxLogFindings {
		bad("field logs.findings: %d are more than %d", len(t.Findings), maxLogFindings)
	}
	if i := slices.IndexFunc(t.Findings, func(f LogFinding) bool {
		return f.Kind == "" || f.Count < 1 || strings.ContainsAny(f.Sample, "\x1b\r\n")
	}); i >= 0 {
		bad("field logs.findings[%d]: a finding has a kind, a count above 0 and a sample of one plain line", i)
	}
}
