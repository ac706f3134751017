package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// judgeFetchLog judges lines about fetch sessions: at most one answer, since
// they concern brokers and the text rarely names a group.
func judgeFetchLog(c scope) []logVerdict {
	for _, judge := range []func(scope) (logVerdict, bool){
		logLeak, logMisrouted, logEpochs, logRefused, logErrors70, logBrokerUnknown, logNoise,
	} {
		if v, ok := judge(c); ok {
			return []logVerdict{v}
		}
	}
	return nil
}

func (c scope) nodes(kinds ...LogKind) []int32 {
	var out []int32
	for _, i := range c.only(kinds...) {
		if n := c.s.all[i].Node; n != nil && !slices.Contains(out, *n) {
			out = append(out, *n)
		}
	}
	slices.Sort(out)
	return out
}

func nodeSubject(nodes []int32) string {
	switch len(nodes) {
	case 0:
		return "fetch sessions"
	case 1:
		return subjectBroker(nodes[0])
	default:
		var parts []string
		for _, n := range nodes[:min(len(nodes), 8)] {
			parts = append(parts, fmt.Sprint(n))
		}
		return "brokers " + strings.Join(parts, ", ")
	}
}

var (
	noSlots = Advice{Avoid: "Do not raise max.incremental.fetch.session.cache.slots for this.", Why: "No number of slots mends a client or a path that throws its sessions away."}
	noTouch = Advice{Avoid: "Do not restart the client or change the broker for this.", Why: "The client asks again in full by itself; no record is lost or read twice."}
)

func (a Advice) with(title, text string) Advice { a.Title, a.Text = title, text; return a }

func (a Advice) touching(x Safety) Advice { a.Safety = x; return a }

// logLeak: one client id opens a session with every fetch.
func logLeak(c scope) (logVerdict, bool) {
	for _, i := range c.only(LogFetchNew) {
		f := c.s.all[i]
		if f.Count < 2 {
			continue
		}
		return logVerdict{
			class: LeakingClient, subject: nodeSubject(c.nodes(LogFetchUnknown, LogFetchNew)), cites: append([]int{i}, c.only(LogFetchUnknown)...),
			summary: fmt.Sprintf("Client id %s opened a new fetch session with each of %s (session id 0, epoch 0) and used none of them again. The clients and replica fetchers that report error 70 are its victims.", f.Client, plural(f.Count, "fetch", "fetches")),
			decides: "the library and version behind that client id",
			advice: noSlots.touching(TouchesClient).with("Mend or upgrade the client "+f.Client,
				"Find the process behind this client id and its library. Sarama 1.26.0 and 1.26.1 do this: upgrade to 1.26.2 or newer, or set its protocol version below 1.1 until then."),
		}, true
	}
	return logVerdict{}, false
}

// lowEpoch is the epoch up to which a session counts as dead at once.
const lowEpoch = 10

// logMisrouted: both errors on one node for one client, sessions that die within
// a few fetches; or the broker's own word for it.
func logMisrouted(c scope) (logVerdict, bool) {
	kinds := []LogKind{LogFetchUnknown, LogFetchEpoch}
	mixed := c.has(LogFetchUnknown) && c.has(LogFetchEpoch) && c.count(kinds...) >= 3
	for _, i := range c.only(kinds...) {
		mixed = mixed && c.s.all[i].High <= lowEpoch && c.s.all[i].By == "java"
	}
	if !mixed && !c.has(LogRebootstrap) {
		return logVerdict{}, false
	}
	v := logVerdict{
		class: MisroutedSessions, subject: nodeSubject(c.nodes(kinds...)), cites: c.only(append(kinds, LogRebootstrap, LogSharedAddress, LogNotLeader)...),
		summary: "Sessions die after one to three fetches and both session errors come from the same node: a proxy or load balancer spreads one client's requests over several brokers, so that a broker is asked about a session of another one.",
		decides: "one consumer that reaches the brokers directly: if it has no errors, it is the path",
		rest:    []Alternative{{EpochMismatch, "a client that uses one session from two threads looks alike, on one broker"}},
		advice: noSlots.touching(TouchesClient).with("Take one consumer past the proxy",
			"Let one consumer connect to the brokers themselves. If its errors stop, give each broker an address and route of its own, or have the proxy turn sessions off."),
	}
	if c.has(LogRebootstrap) {
		v.summary = "The client found that its connection led to another broker than it asked for (REBOOTSTRAP_REQUIRED): one address is spread over several brokers, or addresses have moved."
	}
	return v, true
}

// logEpochs: error 71, or the broker's word for it.
func logEpochs(c scope) (logVerdict, bool) {
	n, d := c.count(LogFetchEpoch, LogDuplicateFetch), c.lasting(LogFetchEpoch, LogDuplicateFetch)
	if n == 0 || c.has(LogFetchUnknown, LogSessionUnknown, LogFetchRefused) {
		return logVerdict{}, false
	}
	v := logVerdict{
		class: EpochMismatch, subject: nodeSubject(c.nodes(LogFetchEpoch)), cites: c.only(LogFetchEpoch, LogDuplicateFetch, LogSoftwareVersion),
		decides: "how many there are over the next hour",
	}
	if c.persistentEpochs() {
		v.summary = fmt.Sprintf("%s within %s, most of them at the first or second fetch of a new session: this is no noise. The client uses its sessions out of step: an old Java client, one consumer used from two threads, or something that repeats requests.", plural(n, "epoch error", "epoch errors"), span(max(d, time.Second)))
		v.rest = []Alternative{{MisroutedSessions, "a proxy that repeats or spreads requests gives the same error"}}
		v.decides = "the client's version (below 2.3: KAFKA-8052), and whether a client without a proxy in between is clean"
		v.advice = noSlots.touching(TouchesClient).with("Upgrade kafka-clients to 2.3 or newer", "Read the client's version from its start lines. Below 2.3 upgrade it (KAFKA-8052). On a newer one look for a consumer that two threads share, and for a proxy in between.")
		return v, true
	}
	v.summary = fmt.Sprintf("%s: harmless. A fetch was sent again while the first was being answered, or met a bug of clients below 2.3 (KAFKA-8052); the client opened a new session by itself. No record was lost or read twice.", plural(n, "epoch error", "epoch errors"))
	v.advice = noTouch.with("Nothing to do now", "Look again only if these lines come several times in ten minutes; then upgrade kafka-clients to 2.3 or newer, and look at what stands between client and broker.")
	return v, true
}

// persistentEpochs: a client whose sessions fail at once, again and again.
func (c scope) persistentEpochs() bool {
	for _, i := range c.only(LogFetchEpoch) {
		f := c.s.all[i]
		perMinute := float64(f.Count) / max(1, f.Last.Sub(f.First).Minutes())
		if f.Count >= 3 && perMinute >= 1 {
			return true
		}
	}
	n := c.count(LogDuplicateFetch)
	return n >= 10 && float64(n)/max(1, c.lasting(LogDuplicateFetch).Minutes()) >= 1
}

// logRefused: franz-go was refused a session.
func logRefused(c scope) (logVerdict, bool) {
	if !c.has(LogFetchRefused) {
		return logVerdict{}, false
	}
	v := thrash(c, LogFetchRefused, LogFetchUnknown, LogCacheSessions, LogCacheEvictions)
	v.summary = "The broker had no room for a new fetch session, so the client goes on without one" +
		" (" + nodeSubject(c.nodes(LogFetchRefused)) + "). The session cache is full."
	if n := c.nodes(LogFetchUnknown); len(n) > 0 {
		v.summary += fmt.Sprintf(" On %s live sessions are evicted: %s over %s.", nodeSubject(n), plural(c.count(LogFetchUnknown), "error 70", "errors 70"), span(c.lasting(LogFetchUnknown)))
	}
	return v, true
}

// thrash is what all answers about a cache that is too small share.
func thrash(c scope, kinds ...LogKind) logVerdict {
	return logVerdict{
		class: CacheThrash, subject: nodeSubject(c.nodes(kinds...)), cites: c.only(kinds...),
		rest: []Alternative{
			{LeakingClient, "one client that opens sessions and drops them fills any cache; the log does not say who holds them"},
			{MisroutedSessions, "one address spread over several brokers looks alike while demand is small"},
		},
		decides: "NumIncrementalFetchSessions and evictions of these brokers against max.incremental.fetch.session.cache.slots, and the number of clients that need a session",
		advice: Advice{
			Title: "Read sessions, evictions and slots of these brokers",
			Text:  "Compare NumIncrementalFetchSessions with max.incremental.fetch.session.cache.slots and look at the eviction counter over ten minutes (evictions come in waves of 120 s). Full and evicting: count the clients; more slots need a rolling restart. Few clients: find the one that opens a session per fetch (session_id=0, session_epoch=0 in the request log).",
			Avoid: "Do not set min.incremental.fetch.session.eviction.ms.", Why: "That setting does not exist; the 120 s are a constant in the broker.",
		},
	}
}

// logErrors70: error 70 at clients.
func logErrors70(c scope) (logVerdict, bool) {
	if !c.has(LogFetchUnknown) {
		return logVerdict{}, false
	}
	at := c.only(LogFetchUnknown)
	nodes, n, d := c.nodes(LogFetchUnknown), c.count(LogFetchUnknown), c.lasting(LogFetchUnknown)
	switch {
	case c.restarted(nodes) && d < 15*time.Minute && c.onceEach(at):
		return c.burst(nodes, n, d), true
	case c.repeats(at):
		v := thrash(c, LogFetchUnknown, LogCacheSessions, LogCacheEvictions, LogSoftwareVersion)
		v.summary = fmt.Sprintf("%s over %s, again and again for the same clients: live fetch sessions are evicted.", plural(n, "error 70", "errors 70"), span(d))
		if c.oldBroker() {
			v.summary += " The broker is older than 2.5, which evicts busy sessions and those of replica fetchers by mistake (KAFKA-9137)."
			v.advice.Title, v.advice.Safety = "Upgrade the broker", TouchesBroker
			v.advice.Text = "Brokers below 2.5 never refresh a session's last use (KAFKA-9137), so busy sessions go first, followers' too. Upgrade; until then more slots (max.incremental.fetch.session.cache.slots, a rolling restart) ease it."
		}
		return v, true
	case c.has(LogConsumptionHalt):
		return c.innocent70(n), true
	case len(at) > len(nodes) && c.onceEach(at) && c.roundByRound(at):
		return c.burst(nodes, n, d), true
	default:
		return c.few70(nodes, n), true
	}
}

// onceEach: no client was told twice.
func (c scope) onceEach(at []int) bool {
	return !slices.ContainsFunc(at, func(i int) bool { return c.s.all[i].Client != "" && c.s.all[i].Count > 1 })
}

// repeats: a client was told again after more than a minute, or the whole goes on
// for longer than a wave of evictions.
func (c scope) repeats(at []int) bool {
	return slices.ContainsFunc(at, func(i int) bool {
		f := c.s.all[i]
		return f.Count > 1 && f.Last.Sub(f.First) > time.Minute || f.Count >= floodOf
	}) || c.count(LogFetchUnknown) >= 5 && c.lasting(LogFetchUnknown) > 4*time.Minute
}

// floodOf is the number of errors 70 of one client on one broker that no restart
// explains, however close together.
const floodOf = 4

// roundByRound: the errors of each broker lie within a minute or two, as in a
// rolling restart, where each broker has a burst of its own.
func (c scope) roundByRound(at []int) bool {
	first, last := map[int32]time.Time{}, map[int32]time.Time{}
	for _, i := range at {
		f := c.s.all[i]
		if f.Node == nil {
			return false
		}
		if t, ok := first[*f.Node]; !ok || f.First.Before(t) {
			first[*f.Node] = f.First
		}
		if f.Last.After(last[*f.Node]) {
			last[*f.Node] = f.Last
		}
	}
	for n, t := range first {
		if last[n].Sub(t) > 2*time.Minute {
			return false
		}
	}
	return true
}

// restarted: the broker stopped or started, or connections to it broke, before.
func (c scope) restarted(nodes []int32) bool {
	return slices.ContainsFunc(c.only(LogBrokerStopped, LogBrokerStarted, LogFetchTransport), func(i int) bool {
		n := c.s.all[i].Node
		return n != nil && slices.Contains(nodes, *n)
	})
}

func (c scope) oldBroker() bool {
	return slices.ContainsFunc(c.only(LogSoftwareVersion), func(i int) bool {
		f := c.s.all[i]
		var major, minor int
		n, _ := fmt.Sscanf(f.Detail, "%d.%d", &major, &minor)
		return f.By == "broker" && n == 2 && (major < 2 || major == 2 && minor < 5)
	})
}

func (c scope) burst(nodes []int32, n int, d time.Duration) logVerdict {
	v := logVerdict{
		class: RestartBurst, subject: nodeSubject(nodes), cites: c.only(LogFetchUnknown, LogBrokerStopped, LogBrokerStarted, LogFetchTransport),
		summary: fmt.Sprintf("%s within %s, one a client, all from %s: sessions live in the broker's memory only and are gone after a restart. It ends by itself.", plural(n, "error 70", "errors 70"), span(max(d, time.Second)), nodeSubject(nodes)),
		rest:    []Alternative{{CacheThrash, "if these lines go on for the same clients, live sessions are evicted"}},
		decides: "whether the broker restarted just before, and whether the lines end within a few minutes",
		advice:  noTouch.with("Check that it ends", "Look at the broker's uptime and for further lines after the last one here. Restarted and silent since: nothing to do. No restart, or the lines go on: it is no restart burst; read sessions and evictions."),
	}
	if c.has(LogFetchTransport) {
		v.summary += " The broken connections before belong to the same restart and are no second outage."
	}
	if !c.restarted(nodes) {
		v.rest[0].Because = "the log does not show a restart; a wave of evictions can hit several clients at once too"
	}
	return v
}

// innocent70: consumption stands still and somebody blames the session errors.
func (c scope) innocent70(n int) logVerdict {
	return logVerdict{
		class: Quiet, subject: "fetch sessions", cites: c.only(LogFetchUnknown, LogConsumptionHalt),
		summary: fmt.Sprintf("A red herring: %s cannot stop consumption, since the client fetches again in full at once. What stands still has another cause: paused partitions or back-pressure in the application, a partition without a healthy leader, or a record that cannot be processed.", plural(n, "session error", "session errors")),
		decides: "position and paused state of each partition that stands still, its leader and ISR, and a thread dump of the consumer",
		advice:  noTouch.with("Look at the partitions that stand still", "For each: does its fetch position move, is it paused, has it a leader and a full ISR? Then a thread dump of the consumer that holds it."),
	}
}

func (c scope) few70(nodes []int32, n int) logVerdict {
	return logVerdict{
		class: Undecided, subject: nodeSubject(nodes), cites: c.only(LogFetchUnknown),
		summary: fmt.Sprintf("%s in the whole log: harmless as it stands, since the client fetches again in full at once. Too few to tell a restart from an eviction.", plural(n, "session error", "session errors")),
		rest: []Alternative{
			{RestartBurst, "a broker that restarted has forgotten its sessions"},
			{CacheThrash, "a live session may have been evicted from a full cache"},
		},
		decides: "the broker's uptime, and NumIncrementalFetchSessions and evictions against its slots",
		advice:  noTouch.with("Read the broker's uptime, sessions and evictions", "Restarted shortly before: a restart burst, done. Cache full and evicting: capacity. Neither: leave it."),
	}
}

// logBrokerUnknown: the broker's side of error 70.
func logBrokerUnknown(c scope) (logVerdict, bool) {
	if !c.has(LogSessionUnknown) {
		return logVerdict{}, false
	}
	n, d := c.count(LogSessionUnknown), c.lasting(LogSessionUnknown)
	v := thrash(c, LogSessionUnknown, LogCacheSessions, LogCacheEvictions)
	if n < 3 || d < 4*time.Minute {
		w := c.few70(nil, n)
		w.cites = v.cites
		return w, true
	}
	v.summary = fmt.Sprintf("The broker was asked %s for sessions it does not know, over %s: the broker's side of error 70, and too long for a restart. Live sessions are evicted.", plural(n, "time", "times"), span(d))
	return v, true
}

// logNoise: lines that look like session errors and are none.
func logNoise(c scope) (logVerdict, bool) {
	switch {
	case c.has(LogFetchNoHandler):
		return logVerdict{
			class: Quiet, subject: "fetch sessions", cites: c.only(LogFetchNoHandler),
			summary: "A red herring: \"Unable to find FetchSessionHandler\" is written once a broker when a consumer closes (KAFKA-16029, clients of 3.6). It is no session error.",
			decides: "the client's version",
			advice:  noTouch.touching(TouchesClient).with("Nothing to do at the brokers", "Upgrade the client when convenient; the message is gone in 3.7."),
		}, true
	case c.has(LogFetchTransport) && !c.groupTrouble():
		nodes := c.nodes(LogFetchTransport)
		v := logVerdict{
			class: Quiet, subject: nodeSubject(nodes), cites: c.only(LogFetchTransport, LogBrokerStopped, LogBrokerStarted),
			summary: fmt.Sprintf("A red herring: FetchSessionHandler wrote it, but %s failed on the connection to %s. The session cache has no part in it; the real subject is the path to that broker.", plural(c.count(LogFetchTransport), "fetch", "fetches"), nodeSubject(nodes)),
			decides: "whether the client reaches the broker's advertised address at all, and whether that broker was up",
			advice:  noSlots.with("Check the path to "+nodeSubject(nodes), "From the client's host: does the advertised listener of that broker answer? Then request.timeout.ms against the broker's fetch latency, and whether it restarted at that time."),
		}
		return v, true
	}
	return logVerdict{}, false
}

// groupTrouble: the log also tells of lost membership.
func (c scope) groupTrouble() bool {
	return c.has(LogMemberFailed, LogMemberExpired, LogPollTimeout, LogSessionTimedOut, LogHeartbeatUnknown, LogCommitFailed, LogMemberUnknown, LogFenced, LogLeaveSent, LogPartitionsLost, LogCommitNotSent)
}
