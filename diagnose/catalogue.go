package diagnose

import "sync"

// Class is the stable code of a cause. Codes never change their meaning.
type Class string

// Decides reports whether the class names a cause: quiet and undecided do not.
func (c Class) Decides() bool { return c != Quiet && c != Undecided }

// Family groups classes the way people on call speak of them.
type Family string

// The families.
const (
	FamilyRestartBurst    Family = "restart-burst"
	FamilySustainedThrash Family = "sustained-thrashing"
	FamilyEvictionTrigger Family = "eviction-trigger"
	FamilyOther           Family = "other"
	FamilyNone            Family = "none"
)

// The classes. Each has an entry in the catalogue and a rule.
const (
	RestartBurst        Class = "restart-burst"
	CacheThrash         Class = "cache-thrash"
	CacheSaturated      Class = "cache-saturated"
	DeadSessionTurnover Class = "dead-session-turnover"
	FollowerChurn       Class = "follower-churn"
	CacheNearLimit      Class = "cache-near-limit"
	LeakingClient       Class = "leaking-client"
	EpochMismatch       Class = "epoch-mismatch"
	MisroutedSessions   Class = "misrouted-sessions"
	SessionsDisabled    Class = "sessions-disabled"
	SessionTimeout      Class = "session-timeout"
	ClientUnreachable   Class = "client-unreachable"
	ProcessGone         Class = "process-gone"
	ProcessReplaced     Class = "process-replaced"
	PollInterval        Class = "poll-interval"
	PollIntervalStatic  Class = "poll-interval-static"
	JoinSyncRace        Class = "join-sync-race"
	SickLeader          Class = "sick-leader"
	RebalanceTimeout    Class = "rebalance-timeout"
	CoordinatorTrouble  Class = "coordinator-trouble"
	GroupMetadataLost   Class = "group-metadata-lost"
	RemovedByAdmin      Class = "removed-by-admin"
	RollingDeploy       Class = "rolling-deploy"
	StrayCommits        Class = "stray-commits"
	DuplicateStaticID   Class = "duplicate-static-id"
	RebalanceStorm      Class = "rebalance-storm"
	LagStableGroup      Class = "lag-stable-group"
	Quiet               Class = "quiet"
	Undecided           Class = "undecided"
)

// Entry is a class in the catalogue.
type Entry struct {
	Class    Class
	Family   Family
	Headline string
	// Meaning is one line: what it is.
	Meaning string
	// Severity orders findings: higher is shown first. Causes rank above the
	// symptoms they explain in any case.
	Severity int
}

// Catalogue lists every class in its documented order.
func Catalogue() []Entry {
	return []Entry{
		{RestartBurst, FamilyRestartBurst, "Restart burst", "one session error per client, timed by the return of leadership after a broker start; dies out by itself", 30},
		{CacheThrash, FamilySustainedThrash, "Sustained thrashing", "live fetch sessions are evicted in waves of 120 s because demand is above the cache's capacity", 80},
		{CacheSaturated, FamilySustainedThrash, "Sustained thrashing (silent)", "the session cache is full and newcomers are refused: no errors, full fetches for ever", 70},
		{DeadSessionTurnover, FamilyOther, "Full cache, harmless", "sessions nobody uses any more are evicted", 20},
		{FollowerChurn, FamilySustainedThrash, "Sustained thrashing (followers)", "replica fetchers reconnect and displace consumers", 75},
		{CacheNearLimit, FamilyOther, "Capacity warning", "demand for fetch sessions is close to the slots, or the cache is full and demand is unknown", 25},
		{LeakingClient, FamilySustainedThrash, "Sustained thrashing (leaking client)", "one client opens a new session for every fetch or run", 72},
		{EpochMismatch, FamilyOther, "Epoch errors", "the same session is used out of step: duplicated requests, an old or faulty client", 50},
		{MisroutedSessions, FamilyOther, "Routing fault", "one address is spread over several brokers", 78},
		{SessionsDisabled, FamilyOther, "Sessions off", "the broker holds no fetch sessions at all", 40},
		{SessionTimeout, FamilyEvictionTrigger, "Eviction trigger: session timeout", "a process was alive but silent for the session timeout", 64},
		{ClientUnreachable, FamilyEvictionTrigger, "Eviction trigger: session timeout (network)", "a healthy process whose heartbeats did not arrive", 63},
		{ProcessGone, FamilyEvictionTrigger, "Eviction trigger: process gone", "a member was killed or its node was lost; the timeout only discovered it", 65},
		{ProcessReplaced, FamilyEvictionTrigger, "Process replaced without leaving", "a successor is listed beside the dead member", 61},
		{PollInterval, FamilyEvictionTrigger, "Eviction trigger: max.poll.interval.ms", "processing took too long between two polls; the client left by itself", 68},
		{PollIntervalStatic, FamilyEvictionTrigger, "Eviction trigger: max.poll.interval.ms (static member)", "a static member stopped polling; it looks like a session timeout at the broker", 67},
		{JoinSyncRace, FamilyEvictionTrigger, "Eviction trigger: join/sync race", "a member joined and never synced in time", 66},
		{SickLeader, FamilyEvictionTrigger, "Eviction trigger: leader never synced", "healthy followers time out behind a leader that does not sync", 69},
		{RebalanceTimeout, FamilyEvictionTrigger, "Eviction trigger: rebalance timeout", "a member did not rejoin in time", 62},
		{CoordinatorTrouble, FamilyOther, "Coordinator trouble", "many groups of one coordinator lose members at once; the clients are victims", 90},
		{GroupMetadataLost, FamilyOther, "Coordinator trouble: group state lost", "generation back at 1 and offsets gone", 92},
		{RemovedByAdmin, FamilyOther, "Removed by an operator", "members were removed through the admin API, or the group was deleted", 45},
		{RollingDeploy, FamilyOther, "Rolling deploy", "members left cleanly and came back; the count is back at its baseline", 35},
		{StrayCommits, FamilyOther, "Shared group id", "somebody outside the group commits to it; membership is stable", 42},
		{DuplicateStaticID, FamilyEvictionTrigger, "Fenced static member", "two processes use one group.instance.id", 60},
		{RebalanceStorm, FamilyOther, "Rebalance storm", "the group rebalances again and again and nobody is evicted", 55},
		{LagStableGroup, FamilyOther, "Lag, nobody evicted", "membership is stable and lag grows: throughput, not membership", 52},
		{Quiet, FamilyNone, "Nothing wrong found", "checked, measured, normal", 0},
		{Undecided, FamilyNone, "Cannot tell yet", "more than one cause is left, or too little could be read to name one", 1},
	}
}

// byClass is the catalogue by class, built once: it is a constant in all but name,
// and every loss looks into it.
var byClass = sync.OnceValue(func() map[Class]Entry {
	out := map[Class]Entry{}
	for _, e := range Catalogue() {
		out[e.Class] = e
	}
	return out
})

// Lookup returns the catalogue entry of a class; ok is false for an unknown code.
func Lookup(c Class) (Entry, bool) {
	e, ok := byClass()[c]
	return e, ok
}
