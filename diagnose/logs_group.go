package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// logJudges are the answers about a group, the strongest witness first: what a
// line says in so many words goes before what several lines suggest.
func logJudges() []func(c, whole scope) (logVerdict, bool) {
	return []func(c, whole scope) (logVerdict, bool){
		logFencedID, logAdmin, logPoll, logJoinSync, logNotRejoined, logMismatch, logGroupGone, logStray, logCoordinator, logReplaced,
		logStorm, logSession, logLost, logShutdown, logBlocked, logSaramaClaim, logEndless, logAutoCommit, logBareCommit, logDeploy,
	}
}

func judgeGroupLog(c, whole scope) (logVerdict, bool) {
	for _, judge := range logJudges() {
		if v, ok := judge(c, whole); ok {
			v.subject = c.subject
			return v, true
		}
	}
	return logVerdict{}, false
}

func logFencedID(c, _ scope) (logVerdict, bool) {
	at := c.only(LogFenced)
	if len(at) == 0 {
		return logVerdict{}, false
	}
	id := c.instance(LogFenced)
	who := "one group.instance.id"
	if id != "" {
		who = "the group.instance.id " + id
	}
	return logVerdict{
		class: DuplicateStaticID, cites: append(at, c.only(LogStaticReplaced)...),
		summary: "Two processes use " + who + ", and the coordinator fenced one of them. That client stops for good; it does not come back by itself.",
		decides: "which two processes have that id in their configuration, or who removed the member",
		advice: Advice{
			Safety: TouchesClient, Title: "Find the second process with that id", Text: "Look for replicas, old pods or hosts with the same group.instance.id, and for a removal by an operator. Give each process an id of its own (for example the ordinal of a StatefulSet), then restart the one that was fenced.",
			Avoid: "Do not just restart the fenced one.", Why: "With the id still shared it fences the other in turn.",
		},
	}, true
}

func logAdmin(c, _ scope) (logVerdict, bool) {
	at := c.only(LogAdminRemoved)
	if len(at) == 0 {
		return logVerdict{}, false
	}
	return logVerdict{
		class: RemovedByAdmin, cites: at,
		summary: "Somebody removed members through the admin API; the broker says so. Running clients join again by themselves.",
		decides: "who ran the command, and whether the members are back",
		advice:  Advice{Title: "Find who removed them", Text: "Ask for the command and its reason, and check that the members are back.", Avoid: "Do not change timeouts.", Why: "No timeout ran out."},
	}, true
}

// pollAdvice differs by library: not every one has a poll limit.
var pollAdvice = Advice{
	Safety: TouchesClient, Title: "Find what held the poll loop",
	Text:  "Take a thread dump of the consumer while it happens, put a timeout on calls it makes (HTTP, database), and bound the work of one poll (max.poll.records). Raise max.poll.interval.ms only when the work really takes that long. Records since the last commit are processed again.",
	Avoid: "Do not raise session.timeout.ms.", Why: "Heartbeats went on; it is the time between polls that ran out.",
}

func logPoll(c, _ scope) (logVerdict, bool) {
	kinds := []LogKind{LogPollTimeout, LogPollOvershoot}
	at := c.only(kinds...)
	quiet := len(at) == 0
	if quiet && !c.leftFromHeartbeatThread() {
		return logVerdict{}, false
	}
	v := logVerdict{class: PollInterval, advice: pollAdvice, decides: "a thread dump of the poll loop, and the time that one record takes",
		cites: append(at, c.only(LogLeaveSent, LogPartitionsLost, LogCommitNotSent, LogMemberLeft, LogDownstreamTrouble, LogCommitFailed, LogMemberUnknown)...)}
	limit, over := c.highest(LogPollTimeout), c.highest(LogPollOvershoot)
	switch {
	case quiet:
		v.summary = "The heartbeat thread sent the leave, which it does for one reason: the application did not poll within max.poll.interval.ms."
		v.rest = []Alternative{{RollingDeploy, "a consumer that closes leaves as well, though not from its heartbeat thread"}}
	case over > 0:
		v.summary = fmt.Sprintf("The application did not poll within max.poll.interval.ms and overran it by about %s; the client left the group by itself and joined again.", span(time.Duration(over)*time.Millisecond))
	case limit > 0:
		v.summary = fmt.Sprintf("The application did not poll for %s (max.poll.interval.ms); the client left the group by itself. Refused commits afterwards follow from that.", span(time.Duration(limit)*time.Millisecond))
	default:
		v.summary = "The application did not poll within max.poll.interval.ms; the client left the group by itself."
		if !c.has(LogRejoin, LogJoined) {
			v.summary += " No line here says that it joined again: its poll loop may still hang, or the log ends too early."
		}
	}
	if id := c.instance(kinds...); id != "" {
		v.class = PollIntervalStatic
		v.summary += fmt.Sprintf(" It is a static member (%s): its partitions stand still for one session timeout more.", id)
	}
	if c.has(LogDownstreamTrouble) {
		v.summary += " What it writes to was in trouble at the time."
		v.advice.Title, v.advice.Safety = "Mend what the consumer writes to", Restarts
		v.advice.Text = "The poll loop waited for a system downstream. Bring that back, then restart inputs that died. Smaller batches (max.poll.records) and a timeout on that call keep the next outage from costing the membership."
	}
	return v, true
}

// leftFromHeartbeatThread: a leave that old clients log without a reason.
func (c scope) leftFromHeartbeatThread() bool {
	return c.detail([]string{"heartbeat-thread"}, LogLeaveSent)
}

func (c scope) highest(k LogKind) int64 {
	var n int64
	for _, i := range c.only(k) {
		n = max(n, c.s.all[i].High)
	}
	return n
}

func logJoinSync(c, _ scope) (logVerdict, bool) {
	v := logVerdict{class: JoinSyncRace, cites: c.only(LogPendingSync, LogSyncUnknown, LogPendingMember, LogJoined, LogRebalanceBegan)}
	switch {
	case c.has(LogPendingSync):
		v.summary = "A member was told to sync and did not within the rebalance timeout; the coordinator dropped it before it had fetched anything."
		v.decides = "a thread dump of that client between join and sync"
		v.advice = joinAdvice
	case c.has(LogSyncUnknown):
		v.summary = "SyncGroup was refused: the membership was lost between joining and syncing, before any fetch."
		if d := c.after(LogJoined, LogSyncUnknown); d > 0 {
			v.summary = fmt.Sprintf("SyncGroup was refused %s after the join: the membership was lost inside the join, before any fetch.", span(d))
		}
		v.rest = []Alternative{{SessionTimeout, "the session can also have run out because the whole process stood still"}}
		v.decides = "the coordinator's line about this member (pending sync, has failed, or haven't joined)"
		v.advice = joinAdvice
	case c.has(LogPendingMember):
		d := c.after(LogNewMember, LogPendingMember)
		v.summary = fmt.Sprintf("A member id was handed out and never used: the coordinator waited for it for %s and held the rebalance up. No running consumer lost its membership.", span(d))
		v.decides = "whether one client asked for a member id twice (two lines \"Created a new member id\" within milliseconds)"
		v.advice = Advice{Safety: TouchesClient, Title: "Look which client asked twice", Text: "A client that asks for a member id twice leaves one pending until its session timeout. Upgrade it to a release with the fix when there is one; a shorter session.timeout.ms shortens the wait.",
			Avoid: "Do not look for a stalled consumer.", Why: "The member that expired never existed as a process of its own."}
	default:
		return logVerdict{}, false
	}
	return v, true
}

var joinAdvice = Advice{
	Safety: TouchesClient, Title: "Let the client poll while it joins",
	Text:  "Between join and sync the client must keep polling: poll with a real timeout (for example 100 ms or more) from a loop of its own, and do slow start-up work before subscribing. Clients below 2.7 send no heartbeat in this phase: upgrade them.",
	Avoid: "Do not take a longer session.timeout.ms for the repair.", Why: "It only makes every other failure slower to notice.",
}

func logNotRejoined(c, _ scope) (logVerdict, bool) {
	at := c.only(LogNotJoined, LogRevokeSlow)
	if len(at) == 0 && !c.has(LogLeaderDisconnect) {
		return logVerdict{}, false
	}
	v := logVerdict{class: RebalanceTimeout, cites: append(at, c.only(LogLeaderDisconnect, LogRebalanceBegan, LogMemberLeft)...),
		summary: "A member did not rejoin (or give its partitions up) within the rebalance timeout, so the coordinator went on without it. Something held its poll thread, often a callback on revocation.",
		decides: "a thread dump of that client during a rebalance",
		advice: Advice{Title: "Find what holds the client in the rebalance", Text: "Look at onPartitionsRevoked and at work that is flushed there: it must end within the rebalance timeout (max.poll.interval.ms in Java and librdkafka, 60 s in Sarama, franz-go and Connect).",
			Avoid: "Do not raise session.timeout.ms.", Why: "Its heartbeats arrived; it did not rejoin."},
	}
	if c.has(LogLeaderDisconnect) {
		v.class = SickLeader
		v.summary = "Healthy members gave up waiting for the assignment (DisconnectException in the rebalance): the member that leads the group did not sync. Those who complain are victims."
		v.rest = []Alternative{{RebalanceTimeout, "a member that is slow to rejoin holds the others up as well"}}
		v.decides = "which member leads the group (\"leader\" in its record or in the join lines), and a thread dump of it"
	}
	return v, true
}

func logStray(c, _ scope) (logVerdict, bool) {
	if !c.has(LogManualAssign) || !c.has(LogMemberUnknown, LogCommitFailed) || c.has(LogSessionTimedOut, LogMemberFailed, LogHeartbeatUnknown) {
		return logVerdict{}, false
	}
	return logVerdict{
		class: StrayCommits, cites: c.only(LogManualAssign, LogMemberUnknown, LogCommitFailed),
		summary: "The consumer whose commits are refused assigns its partitions itself and was never a member; it uses the group id of consumers that subscribe. The coordinator refuses commits from outside a group that has members.",
		decides: "the group.id of both consumers",
		rest:    []Alternative{{SessionTimeout, "if the refused consumer does subscribe, it lost its membership"}},
		advice: Advice{Safety: TouchesClient, Title: "Give that consumer a group.id of its own", Text: "Find the consumer that calls assign() with this group id and give it another group.id. Until then its commits are lost and it starts again from its old offsets.",
			Avoid: "Do not change timeouts.", Why: "It was never a member, so nothing can have timed out."},
	}, true
}

// logMismatch: consumers of different kinds under one group id.
func logMismatch(c, _ scope) (logVerdict, bool) {
	at := c.only(LogProtocolMismatch)
	if len(at) == 0 {
		return logVerdict{}, false
	}
	return logVerdict{
		class: StrayCommits, cites: at,
		summary: "A member was refused because it shares no assignor or protocol type with the members that are there: two applications, or two versions of one, use the same group id.",
		decides: "which applications use this group.id, and their partition.assignment.strategy",
		rest:    []Alternative{{RollingDeploy, "a deploy that changes the assignor in one step is refused in the same words until the last old member has left"}},
		advice: Advice{Safety: TouchesClient, Title: "Find the other application with this group.id", Text: "Describe the group's members and compare client ids and hosts. Give one application another group.id; to change the assignor, list old and new together for one deploy.",
			Avoid: "Do not change timeouts.", Why: "Nobody timed out."},
	}, true
}

// logGroupGone: a running client is told that its group does not exist.
func logGroupGone(c, _ scope) (logVerdict, bool) {
	at := c.only(LogGroupGone)
	if len(at) == 0 {
		return logVerdict{}, false
	}
	return logVerdict{
		class: GroupMetadataLost, cites: append(at, c.only(LogGroupLoaded, LogBrokerStarted)...),
		summary: "A client was told that its group does not exist: the coordinator has lost the group's state, or somebody deleted the group. Committed offsets may be gone. Clients of the consumer protocol stay dead until they are restarted.",
		decides: "whether the group's committed offsets are still there, and whether somebody deleted it",
		rest:    []Alternative{{RemovedByAdmin, "the group may have been deleted on purpose"}},
		advice: Advice{Safety: Restarts, Title: "Compare the group's committed offsets before you restart anything", Text: "Describe the group: are its offsets there? If they are gone, set them before the consumers start, or auto.offset.reset decides where they begin. Then restart the clients, and look for an unclean election of __consumer_offsets.",
			Avoid: "Do not just restart the consumers.", Why: "Without offsets they begin at the end or the beginning, and records are skipped or read again."},
	}, true
}

func logCoordinator(c, whole scope) (logVerdict, bool) {
	together, fell := c.failedTogether(whole)
	v := logVerdict{class: CoordinatorTrouble, decides: "whether other groups of the same coordinator suffered at the same moment, and which broker leads the group's partition of __consumer_offsets"}
	switch {
	case c.count(LogNotCoordinator) >= 2:
		v.cites = c.only(LogNotCoordinator, LogMemberFailed, LogCoordinatorLost)
		v.summary = fmt.Sprintf("%s: the client keeps asking a broker that does not coordinate the group (any more). That a member is dropped meanwhile follows from it.", plural(c.count(LogNotCoordinator), "answer \"not coordinator\"", "answers \"not coordinator\""))
		v.rest = []Alternative{{RollingDeploy, "after a roll of the brokers this is normal for a few seconds"}}
		v.advice = Advice{Safety: Restarts, Title: "Restart the client if it does not find its coordinator", Text: "A few seconds of this after a broker restart are normal. If it goes on, the client keeps an old address: restart it and upgrade it (librdkafka 1.4 has such a fault). Then check that all brokers agree who leads that partition of __consumer_offsets.",
			Avoid: "Do not raise session.timeout.ms.", Why: "No heartbeat is missing; they go to the wrong broker."}
	case len(fell) >= togetherGroups:
		v.cites = slices.Concat(together, c.only(LogGroupLoaded, LogBrokerStarted))
		v.summary = fmt.Sprintf("Members of %s were dropped within one second: the coordinator stood still or was just loaded, and its timers ran out for everybody. The clients are victims.", plural(len(fell), "group", "groups"))
		v.rest = []Alternative{{SessionTimeout, "a host or network that all these clients share can stall as well"}}
		v.advice = Advice{Title: "Look at the coordinator", Text: "Its GC log, disk and CPU in the seconds before, and whether it had just loaded the groups.",
			Avoid: "Do not tune the clients.", Why: "They were healthy."}
	default:
		return logVerdict{}, false
	}
	return v, true
}

// togetherGroups is the number of groups dropped within one second that no single
// client or host explains.
const togetherGroups = 3

// failedTogether finds the most groups that lost members within one second of
// each other, this group's own drop among them: its lines, and the groups.
func (c scope) failedTogether(whole scope) (lines []int, groups map[string]bool) {
	all := whole.only(LogMemberFailed, LogMemberExpired)
	own := c.only(LogMemberFailed, LogMemberExpired)
	for _, from := range all {
		start := whole.s.all[from].First
		if start.IsZero() {
			continue
		}
		within := func(i int) bool {
			d := whole.s.all[i].First.Sub(start)
			return d >= 0 && d <= time.Second
		}
		if !slices.ContainsFunc(own, within) {
			continue
		}
		at, names := []int{}, map[string]bool{}
		for _, i := range all {
			if g := whole.s.of[i]; g != "" && within(i) {
				at, names[g] = append(at, i), true
			}
		}
		if len(names) > len(groups) {
			lines, groups = at, names
		}
	}
	return lines, groups
}

// logReplaced: a member of the same client was added before the old one failed.
func logReplaced(c, _ scope) (logVerdict, bool) {
	failed := c.only(LogMemberFailed, LogMemberExpired)
	if len(failed) == 0 || c.has(LogSessionTimedOut, LogHeartbeatUnknown) {
		return logVerdict{}, false
	}
	for _, i := range failed {
		for _, j := range c.only(LogRebalanceBegan, LogNewMember) {
			old, fresh := c.s.all[i], c.s.all[j]
			if old.Member == fresh.Member || stem(old.Member) == "" || stem(old.Member) != stem(fresh.Member) || !fresh.First.Before(old.First) {
				continue
			}
			return logVerdict{
				class: ProcessReplaced, cites: []int{j, i},
				summary: fmt.Sprintf("The member that failed is the process from before a restart: a new one of the same client joined %s earlier. It went away without leaving, and the group waited for its session timeout.", span(old.First.Sub(fresh.First))),
				rest: []Alternative{
					{RollingDeploy, "a deploy that kills its processes looks the same"},
					{SessionTimeout, "if both run on different hosts, the old one may have stood still"},
				},
				decides: "start time and last state of the process (deploy events, restarts, OOM kills)",
				advice: Advice{Safety: TouchesClient, Title: "Let the process leave when it stops", Text: "Close the consumer at shutdown, within the grace period, so that it leaves the group; or use static membership with a stable id. If nobody deployed, look why the process ended.",
					Avoid: "Do not look for GC pauses or missing heartbeats.", Why: "The process whose heartbeats are missing no longer exists."},
			}, true
		}
	}
	return logVerdict{}, false
}

// stem is a member id without its random end: the client id.
func stem(member string) string {
	const uuid = 37 // a dash and a UUID
	if len(member) > uuid && strings.Count(member[len(member)-uuid:], "-") == 5 {
		return member[:len(member)-uuid]
	}
	i := strings.LastIndexByte(member, '-')
	if i <= 0 {
		return ""
	}
	if s := member[:i]; s != "rdkafka" && s != "sarama" {
		return s // the client id of a default says nothing
	}
	return ""
}

func logStorm(c, _ scope) (logVerdict, bool) {
	if v, ok := logClientStorm(c); ok {
		return v, true
	}
	rounds := c.count(LogRebalanceBegan)
	if rounds < 2 || c.has(LogMemberFailed, LogMemberExpired, LogMemberLeft, LogProcessStop) || !c.has(LogMemberUnknown, LogHeartbeatUnknown) && rounds < 4 {
		return logVerdict{}, false
	}
	return logVerdict{
		class: RebalanceStorm, cites: c.only(LogRebalanceBegan, LogStabilized, LogMemberUnknown),
		summary: fmt.Sprintf("%s in %s, and nobody was dropped for being silent: each newcomer begins a round that throws the others out.", plural(rounds, "rebalance", "rebalances"), span(c.lasting(LogRebalanceBegan))),
		rest:    []Alternative{{RollingDeploy, "members of a deploy that join one after the other do this for a while"}},
		decides: "the reasons in \"Preparing to rebalance\", the broker's version, and the JoinGroup version of the clients",
		advice: Advice{Safety: TouchesBroker, Title: "Compare broker and client versions", Text: "If rounds end within milliseconds, members have no time to rejoin: broker 2.3.0 does that to clients with JoinGroup v0 (KAFKA-8653). Upgrade the broker to 2.3.1 or newer, or use a client that sends JoinGroup v1 with a rebalance timeout. Otherwise look for subscriptions or metadata that keep changing.",
			Avoid: "Do not raise session.timeout.ms.", Why: "Nobody was silent."},
	}, true
}

// stormRounds is the number of joins of one client that a deploy hardly makes.
const stormRounds = 5

// logClientStorm: a client joins again and again, and nobody is dropped or told
// to stop.
func logClientStorm(c scope) (logVerdict, bool) {
	n := 0
	for _, i := range c.only(LogJoined, LogSynced) {
		n = max(n, c.s.all[i].Count)
	}
	if n < stormRounds || c.has(append([]LogKind{LogProcessStop, LogMemberLeft, LogCommitFailed, LogMemberUnknown}, sessionKinds...)...) {
		return logVerdict{}, false
	}
	return logVerdict{
		class: RebalanceStorm, cites: c.only(LogJoined, LogSynced, LogRejoin, LogHeartbeatRebal, LogAlreadyRebalance),
		summary: fmt.Sprintf("One client joined %s in %s without losing its membership: the group rebalances again and again, and nobody is dropped.", plural(n, "time", "times"), span(c.lasting(LogJoined, LogSynced))),
		rest:    []Alternative{{RollingDeploy, "a long deploy makes a round for each process"}},
		decides: "the coordinator's reasons in \"Preparing to rebalance\"",
		advice: Advice{Title: "Read the coordinator's reasons", Text: "\"Preparing to rebalance\" names the member and the reason of each round: topics that change, subscriptions that differ between members, members that come and go with an autoscaler.",
			Avoid: "Do not raise session.timeout.ms.", Why: "Nobody was silent."},
	}, true
}

var sessionKinds = []LogKind{LogSessionTimedOut, LogMemberFailed, LogMemberExpired, LogHeartbeatUnknown, LogCoordinatorLost}

func logSession(c, whole scope) (logVerdict, bool) {
	at := c.only(LogSessionTimedOut, LogMemberFailed, LogMemberExpired, LogHeartbeatUnknown)
	if len(at) == 0 || c.stopped(sessionKinds...) {
		return logVerdict{}, false
	}
	v := logVerdict{class: SessionTimeout, cites: c.only(append(sessionKinds, LogBrokerStarved, LogProcessPause, LogHeartbeatOK)...),
		rest:    []Alternative{{ClientUnreachable, "a silent network or a coordinator that does not answer looks the same to one client"}},
		decides: "whether clients on other hosts and groups of other coordinators suffered at the same time, and the process's GC and CPU throttling in the seconds before",
		advice:  sessionAdvice,
	}
	v.summary = "Heartbeats did not get through for the session timeout, and the coordinator dropped the member. Refused commits and a \"dead\" coordinator afterwards follow from that."
	if !c.has(LogSessionTimedOut, LogMemberFailed, LogMemberExpired, LogCoordinatorLost) {
		v.summary = "The coordinator no longer knew the member. Most often heartbeats did not get through for the session timeout, but a heartbeat that is refused does not say why the member was dropped."
		v.rest = append(v.rest, unknownCauses...)
		v.decides = "the coordinator's reason for dropping that member (\"has failed\", \"haven't joined\", \"pending sync\", an admin), then " + v.decides
	}
	nodes, killed := whole.nodes(LogSessionTimedOut), c.killed()
	switch {
	case c.by("kafkajs", LogHeartbeatUnknown):
		v.summary = "The coordinator dropped the member: kafkajs sends heartbeats between messages only, so one message that takes longer than sessionTimeout costs the membership."
		v.advice = Advice{Safety: TouchesClient, Title: "Send heartbeats while a message is processed", Text: "Call heartbeat() inside the handler, or use eachBatch and call it there; make the work of one message shorter. A longer sessionTimeout comes last.",
			Avoid: "Do not look for max.poll.interval.ms.", Why: "kafkajs has no such limit."}
	case len(killed) > 0:
		v.class, v.cites = ProcessGone, append(killed, v.cites...)
		v.rest = append(v.rest, Alternative{SessionTimeout, "the line about the kill may be about another process"})
		v.summary = "The process was killed; the session timeout only discovered it."
		v.advice.Title, v.advice.Text = "Find why the process was killed", "Look at its memory limit and at the events of its container or host."
	case len(whole.only(LogBrokerStarved)) > 0:
		v.summary = "Consumers, broker and controller all missed heartbeats in the same seconds: the whole host was starved."
		v.advice.Title, v.advice.Text = "Look at the host's CPU, memory and disk", "Broker and clients share it and stood still together. Give them room before any timeout is changed."
	case len(nodes) > 1:
		v.summary = fmt.Sprintf("Consumers lost their sessions with %s within %s: no single broker explains that. The clients' host or its network stood still.", nodeSubject(nodes), span(max(time.Second, whole.lasting(LogSessionTimedOut))))
		v.advice.Title = "Look at the clients' host"
	case c.fromTheStart():
		v.summary = "The member was dropped one session timeout after it had joined: no heartbeat of it ever arrived. It cannot reach the coordinator's advertised address, or it does not serve its connection."
		v.advice.Title, v.advice.Text = "Check that the client reaches the coordinator", "From its host: does the advertised address of the group's coordinator answer? Then a client log with debug=cgrp (librdkafka) or at DEBUG: are heartbeats sent at all, is the process frozen or scaled to zero?"
	case c.by("librdkafka", LogSessionTimedOut):
		c.sessionCount(&v)
	case c.by("kafka-python", LogSessionTimedOut, LogHeartbeatUnknown):
		v.summary += " In Python, blocking code in the event loop or native code that holds the interpreter lock stops the heartbeats."
		v.advice = v.advice.touching(TouchesClient).with("Find the blocking call", "Move blocking or heavy work out of the event loop or process (an executor, another process). Look for a gap between heartbeats in the client's log at DEBUG. A longer session timeout is a stopgap.")
	case c.onlyBroker():
		v.rest = append(v.rest, Alternative{ProcessGone, "a killed process looks the same in the broker's log"}, Alternative{ProcessReplaced, "so does one that was replaced without leaving"})
		v.decides = "whether that process was stopped or restarted (deploy events, pod start times), then the client's log around the drop"
	}
	return v, true
}

// unknownCauses are, besides a session timeout, the ways to lose a membership
// after which a heartbeat is refused with UNKNOWN_MEMBER_ID.
var unknownCauses = []Alternative{
	{RebalanceTimeout, "it may not have rejoined within the rebalance timeout"},
	{JoinSyncRace, "it may have joined and not synced"},
	{RemovedByAdmin, "somebody may have removed it"},
	{GroupMetadataLost, "the coordinator may have lost the group, if other groups were told the same"},
	{PollInterval, "under KIP-848 librdkafka falls silent past its poll limit and is dropped in the same words"},
}

// logLost: the client gave its partitions up, or did not send a commit, because
// it no longer took itself for a member. It does so after leaving past its poll
// limit and after a refused heartbeat alike.
func logLost(c, _ scope) (logVerdict, bool) {
	kinds := []LogKind{LogPartitionsLost, LogCommitNotSent}
	if !c.has(kinds...) || c.stopped(kinds...) {
		return logVerdict{}, false
	}
	return logVerdict{class: Undecided, cites: c.only(append(kinds, LogCommitFailed, LogAutoCommitFailed, LogMemberUnknown, LogRejoin)...),
		summary: "The client no longer took itself for a member: it gave its partitions up or did not even send a commit. It does both after leaving past max.poll.interval.ms and after its membership was refused; which, is not in these lines.",
		rest: []Alternative{
			{PollInterval, "no refused heartbeat is in these lines, and a poll limit that ran out leaves exactly these behind"},
			{SessionTimeout, "its heartbeats may not have arrived; clients from 4.4 on write the refusal at DEBUG only"},
			{RebalanceTimeout, "it may not have rejoined in time"}, {JoinSyncRace, "it may have joined and not synced"}, {RemovedByAdmin, "somebody may have removed it"},
		},
		decides: "the client's lines of the minutes before (\"poll timeout has expired\", or a failed heartbeat), and the coordinator's reason for dropping that member",
		advice: Advice{Title: "Get the lines before, and the coordinator's reason", Text: "Search the client's log of the ten minutes before for \"poll timeout has expired\" and for a failed heartbeat, and the coordinator's log for this member id. Measure how long one batch takes.",
			Avoid: "Do not change a timeout yet.", Why: "The candidates need different ones, and raising the wrong one hides the cause."},
	}, true
}

var sessionAdvice = Advice{
	Title: "Find what kept the heartbeats away",
	Text:  "Look at the process in the seconds before: GC pauses, CPU throttling, a frozen host. Then at the coordinator: its load, and whether other groups of it lost members too. Then at the network between them.",
	Avoid: "Do not lower max.poll.records or raise max.poll.interval.ms.", Why: "Heartbeats are missing, not polls. A longer session.timeout.ms is a stopgap.",
}

// stopped: the process was told to stop before the first line of the kinds.
func (c scope) stopped(kinds ...LogKind) bool {
	stop, _ := c.span(LogProcessStop)
	from, _ := c.span(kinds...)
	return !stop.IsZero() && !from.IsZero() && stop.Before(from) && from.Sub(stop) < 10*time.Minute
}

// fromTheStart: the failed member is the one that was added last, and nothing
// was heard of it in between.
func (c scope) fromTheStart() bool {
	return slices.ContainsFunc(c.only(LogMemberFailed), func(i int) bool {
		f := c.s.all[i]
		return f.Count == 1 && slices.ContainsFunc(c.only(LogRebalanceBegan, LogNewMember), func(j int) bool {
			g := c.s.all[j]
			return g.Member == f.Member && f.Member != "" && f.First.Sub(g.First) > 0 && f.First.Sub(g.First) < 6*time.Minute
		})
	})
}

func (c scope) onlyBroker() bool { return !c.has(LogSessionTimedOut, LogHeartbeatUnknown) }

// logShutdown: trouble that begins when a process was told to stop.
func logShutdown(c, _ scope) (logVerdict, bool) {
	trouble := append([]LogKind{LogCommitFailed, LogAutoCommitFailed, LogMemberUnknown, LogHeartbeatRebal, LogJoined, LogPartitionsLost, LogCommitNotSent}, sessionKinds...)
	if !c.stopped(trouble...) {
		return logVerdict{}, false
	}
	v := logVerdict{class: RollingDeploy, cites: append(c.only(LogProcessStop), c.only(trouble...)...),
		summary: "It lines up with processes that were stopped, and ends with them: a deploy or restart.",
		rest:    []Alternative{{SessionTimeout, "if the process was to stay up, its stop is the thing to explain"}},
		decides: "the application's deployment: is every replica up and the member count back",
		advice:  deployAdvice,
	}
	stop, _ := c.span(LogProcessStop)
	switch from, _ := c.span(LogCommitFailed, LogAutoCommitFailed, LogMemberUnknown); {
	case !from.IsZero():
		v.summary = fmt.Sprintf("The commit was refused %s after the process was told to stop: its consumer had left or its session had run out during the shutdown. The records since its last commit are processed again, once.", span(from.Sub(stop)))
		v.advice = v.advice.touching(TouchesClient).with("Commit before closing", "Make the last flush shorter than the session timeout, or commit before the consumer is closed. Expect duplicates from the last commit on.")
	case c.instance(LogProcessStop, LogJoined) != "":
		v.summary = "A static member was stopped without leaving, as static members do, and its successor has another instance id: the old one keeps its partitions until its session timeout."
		v.advice = v.advice.touching(TouchesClient).with("Give the member a stable instance id", "Use names that survive a roll-out (a StatefulSet's ordinals), or leave on shutdown where names change with each deploy, or a shorter session timeout.")
	}
	return v, true
}

var deployAdvice = Advice{
	Title: "Check that the deploy has ended", Text: "All replicas up, the member count back, no further rebalance. If the pauses hurt: static membership with stable ids, or fewer processes at a time.",
	Avoid: "Do not restart consumers on top of it.", Why: "Each restart is two more rebalances.",
}

// logBlocked: the commit failed after what the consumer writes to had been down
// for as long as a poll limit.
func logBlocked(c, _ scope) (logVerdict, bool) {
	d := c.after(LogDownstreamTrouble, LogCommitFailed, LogAutoCommitFailed, LogMemberUnknown)
	if d < 5*time.Minute || c.has(LogPollGap) {
		return logVerdict{}, false
	}
	v := logVerdict{class: PollInterval, cites: c.only(LogDownstreamTrouble, LogCommitFailed, LogAutoCommitFailed, LogMemberUnknown),
		summary: fmt.Sprintf("What the consumer writes to was in trouble for %s, then its commit was refused: back-pressure kept it from polling for longer than max.poll.interval.ms. The exception's own text would not prove that; the outage beside it makes it the likeliest.", span(d)),
		rest:    []Alternative{{SessionTimeout, "the commit is refused in the same words after a session timeout"}},
		decides: "\"poll timeout has expired\" or a failed heartbeat in the client's log of those minutes",
		advice:  pollAdvice.touching(Restarts).with("Mend what the consumer writes to", "Bring the output back, then restart inputs that died: they do not come back by themselves. A queue in between, smaller batches, or a longer max.poll.interval.ms for planned outages."),
	}
	return v, true
}

// saramaRebalance is Sarama's default Consumer.Group.Rebalance.Timeout, less a
// heartbeat.
const saramaRebalance = 57 * time.Second

// saramaRebalanceMost is the longest gap between a rebalance and a refused commit
// that still belong together: beyond it the commit is of another story.
const saramaRebalanceMost = 10 * time.Minute

// logSaramaClaim: a claim that is worked on past the rebalance timeout.
func logSaramaClaim(c, whole scope) (logVerdict, bool) {
	if !c.by("sarama", LogMemberUnknown) {
		return logVerdict{}, false
	}
	to, _ := c.span(LogMemberUnknown)
	from := whole.earliest(to.Add(-saramaRebalanceMost), LogRejoin, LogHeartbeatRebal, LogRebalanceBegan)
	if from.IsZero() || to.Sub(from) < saramaRebalance {
		return logVerdict{}, false
	}
	return logVerdict{class: RebalanceTimeout, cites: append(whole.only(LogRejoin, LogHeartbeatRebal), c.only(LogMemberUnknown)...),
		summary: fmt.Sprintf("A rebalance began, and %s later commits of the old generation are still sent: the handler went on with its claim past Rebalance.Timeout (60 s), and the coordinator went on without it. Sarama has no max.poll.interval; this limit plays its part.", span(to.Sub(from))),
		rest:    []Alternative{{PollInterval, "what held it is the same as with a poll limit: processing that does not yield"}, {SessionTimeout, "the process may have stood still instead"}},
		decides: "whether ConsumeClaim returns when the session's context is done",
		advice: Advice{Safety: TouchesClient, Title: "Return from ConsumeClaim when the session ends", Text: "Select on session.Context().Done() in the handler and return; keep ChannelBufferSize small; raise Consumer.Group.Rebalance.Timeout if one message really takes that long.",
			Avoid: "Do not raise Session.Timeout or MaxProcessingTime.", Why: "Neither bounds the time that a rebalance waits."},
	}, true
}

// earliest is the first stamp of some kinds that is not before a moment; zero when
// there is none.
func (c scope) earliest(since time.Time, kinds ...LogKind) time.Time {
	var out time.Time
	for _, i := range c.only(kinds...) {
		for _, at := range []time.Time{c.s.all[i].First, c.s.all[i].Last} {
			if !at.IsZero() && !at.Before(since) && (out.IsZero() || at.Before(out)) {
				out = at
			}
		}
	}
	return out
}

// logEndless: one rebalance that does not end.
func logEndless(c, _ scope) (logVerdict, bool) {
	d := c.lasting(LogAlreadyRebalance, LogHeartbeatRebal)
	if c.count(LogAlreadyRebalance, LogHeartbeatRebal) < 2 || d < 5*time.Minute || c.has(LogJoined, LogSynced) {
		return logVerdict{}, false
	}
	return logVerdict{class: Undecided, cites: c.only(LogAlreadyRebalance, LogHeartbeatRebal),
		summary: fmt.Sprintf("One rebalance that has not ended for %s: the line comes with each heartbeat and is no rebalance of its own. Which member the group waits for is not in these lines; this one has not rejoined either.", span(d)),
		rest: []Alternative{
			{RebalanceTimeout, "a member, perhaps this one, does not come back to poll"}, {RebalanceStorm, "new rounds may begin before the old one ends"}, {PollInterval, "this member's own poll loop may hang"},
		},
		decides: "the group's state and member list, the coordinator's \"Preparing to rebalance\" reasons, and a thread dump of this client",
		advice: Advice{Title: "Get the group's state and a thread dump", Text: "Describe the group (state and members), read the coordinator's \"Preparing to rebalance\" lines, and take a thread dump of this member: it is a candidate itself.",
			Avoid: "Do not count these lines as rebalances.", Why: "They repeat with each heartbeat."},
	}, true
}

// logAutoCommit: the commit that a client makes inside its next poll was refused,
// and no heartbeat was: the circumstance speaks, not the exception's text.
func logAutoCommit(c, _ scope) (logVerdict, bool) {
	if !c.has(LogAutoCommitFailed) || !c.has(LogRejoin) || c.has(LogCommitFailed, LogMemberUnknown, LogPollGap) {
		return logVerdict{}, false
	}
	return logVerdict{class: PollInterval, cites: c.only(LogAutoCommitFailed, LogRejoin), advice: pollAdvice,
		summary: "Probably a poll that came too late: the refused commit is the one a client makes when it polls again and finds the group gone on, and no heartbeat of it was refused. Not proven: the exception's text is the same whatever the cause.",
		rest:    []Alternative{{SessionTimeout, "the session may have run out; then a heartbeat was refused before"}, {RebalanceTimeout, "it may have come back too late for a rebalance"}},
		decides: "the client's lines of the ten minutes before (\"poll timeout has expired\", or a failed heartbeat), and the coordinator's reason",
	}, true
}

// logBareCommit: a refused commit and nothing else. Its text blames the poll
// limit whatever the cause, so it decides nothing.
func logBareCommit(c, _ scope) (logVerdict, bool) {
	kinds := []LogKind{LogCommitFailed, LogAutoCommitFailed, LogMemberUnknown}
	if !c.has(kinds...) {
		return logVerdict{}, false
	}
	v := logVerdict{class: Undecided, cites: c.only(append(kinds, LogPollGap)...),
		summary: "A commit was refused because the consumer was no longer a member; why is not in these lines. The exception's text about max.poll.interval.ms is printed whatever the cause.",
		rest: []Alternative{
			{PollInterval, "processing may have taken longer than max.poll.interval.ms"}, {SessionTimeout, "its heartbeats may not have arrived for the session timeout"},
			{RebalanceTimeout, "it may have missed a rebalance"}, {RollingDeploy, "it may have been closing"},
		},
		decides: "the client's lines of the ten minutes before (\"poll timeout has expired\", or a failed heartbeat), and the coordinator's reason for dropping that member",
		advice: Advice{Title: "Get the lines before, and the coordinator's reason", Text: "Search the client's log of the ten minutes before for \"poll timeout has expired\" and for a failed heartbeat, and the coordinator's log for this member id. Measure how long one batch takes.",
			Avoid: "Do not change a timeout yet.", Why: "The candidates need different ones, and raising the wrong one hides the cause."},
	}
	if ms := c.highest(LogPollGap); ms > 0 {
		v.summary += fmt.Sprintf(" Polls were at most %s apart, so it was not the poll limit.", seconds(time.Duration(ms)*time.Millisecond))
		v.rest = v.rest[1:]
		v.advice.Text = "Look at the connection to the coordinator: heartbeat lines, idle connections that a load balancer drops, the provider's advice on session and idle timeouts; and at the coordinator's log for this member id."
	}
	return v, true
}

// logDeploy: clean leaves, heartbeats answered with "rebalancing", and members
// that join again.
func logDeploy(c, _ scope) (logVerdict, bool) {
	left := c.has(LogMemberLeft) && !c.has(LogPollTimeout)
	settled := c.has(LogJoined, LogSynced, LogStabilized) && c.has(LogHeartbeatRebal, LogAlreadyRebalance, LogRebalanceBegan)
	if !left && !settled && !c.has(LogStaticReplaced) {
		return logVerdict{}, false
	}
	v := logVerdict{class: RollingDeploy, cites: c.only(LogMemberLeft, LogStaticReplaced, LogHeartbeatRebal, LogAlreadyRebalance, LogRebalanceBegan, LogJoined, LogSynced, LogStabilized),
		summary: "Members joined or left by themselves and the group settled again. A heartbeat answered with \"rebalancing\" is how a member learns of it, and no failure.",
		decides: "the member count before and after, and whether somebody deployed or scaled", advice: deployAdvice,
	}
	switch {
	case left && !c.detail([]string{"clos", "unsubscribed", "normal operation"}, LogMemberLeft):
		v.summary = "A member left; its client gave no reason. A close looks like this, and so does a poll limit that ran out."
		v.rest = []Alternative{{PollInterval, "clients that give no reason (librdkafka, KIP-848) leave in the same words past their poll limit"}}
		v.decides = "the client's own log: MAXPOLL or \"poll timeout has expired\"; and whether the same member id came back"
	case c.has(LogStaticReplaced):
		v.summary = "A static member was replaced under its instance id, as a restart does."
		v.rest = []Alternative{{DuplicateStaticID, "two processes with one instance id look alike until one is fenced"}}
	}
	return v, true
}
