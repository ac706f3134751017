package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// outcome builds what all findings about losses share.
func (l *loss) outcome(c Class, mine []*loss) Outcome {
	o := Outcome{
		Answer: Yes, Citations: l.citations(c), Facts: l.facts(mine),
		Missing: l.missing(c), Blind: l.s.blindFor(l),
	}
	o.Alternatives = l.alternatives()
	for _, x := range mine {
		for _, a := range x.alternatives() {
			if !slices.ContainsFunc(o.Alternatives, func(b Alternative) bool { return a.Class == b.Class }) {
				o.Alternatives = append(o.Alternatives, a)
			}
		}
	}
	if len(o.Alternatives) == 0 {
		o.Blind = nil
	}
	o.Decides = l.decides(c, o.Alternatives)
	o.Summary = l.summary(c)
	if n := len(mine); n > 1 && c != RemovedByAdmin {
		o.Summary += fmt.Sprintf(" %s lost alike since %s.", plural(n, "member was", "members were"), clock(mine[0].by))
	}
	return o
}

// alternatives are the other classes that the evidence does not exclude.
func (l *loss) alternatives() []Alternative {
	out := []Alternative{}
	for _, v := range l.decision.rest {
		out = append(out, Alternative{Class: v.class, Because: v.because})
	}
	return out
}

// name is how people know the member: its client id, and the host.
func (l *loss) name() string {
	who := l.m.ClientID
	if who == "" {
		who = l.m.ID
	}
	if h := strings.TrimPrefix(l.m.Host, "/"); h != "" {
		return "member " + who + " on " + h
	}
	return "member " + who
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// citations are the observations behind a finding, strongest first.
func (l *loss) citations(c Class) []Citation {
	out := append([]Citation{l.dropCitation()}, l.ownCitations(c)...)
	if l.pod.ended == isYes {
		out = append(out, l.pod.cites...)
	}
	if l.sil.known {
		out = append(out, l.silenceCitation())
	}
	for _, v := range []Citation{l.leave.cite, l.called.cite} {
		if v.Path != "" {
			out = append(out, v)
		}
	}
	if n, v := l.pendingSync(); c == JoinSyncRace && n > 0 {
		out = append(out, v)
	}
	if l.back != nil {
		out = append(out, l.returnCitation())
	}
	if l.client.known && l.client.cite.Path != "" {
		out = append(out, l.client.cite)
	}
	if l.coord.cite.Path != "" {
		out = append(out, l.coord.cite)
	}
	if l.pod.ended != isYes {
		out = append(out, l.pod.cites...)
	}
	if l.gc.cite.Path != "" && (c == SessionTimeout || c == ClientUnreachable) {
		out = append(out, l.gc.cite)
	}
	return append(out, l.logCitations()...)
}

// ownCitations are the observations that one class rests on most: who was listed
// when.
func (l *loss) ownCitations(c Class) []Citation {
	switch c {
	case SickLeader:
		return leaderCitations(l)
	case RebalanceTimeout:
		if v, ok := l.heldCitation(); ok {
			return []Citation{v}
		}
	case ProcessReplaced:
		if v, ok := l.besideCitation(); ok {
			return []Citation{v}
		}
	default: // the others rest on what every loss cites
	}
	return nil
}

// besideCitation is the listing that shows the successor beside the member.
func (l *loss) besideCitation() (Citation, bool) {
	for _, x := range l.s.seen {
		if l.beside != "" && x.has(l.m.ID) && x.has(l.beside) {
			return cite(x.path, fmt.Sprintf("its successor %s is listed beside it at %s", l.beside, clock(x.from)), x.reading), true
		}
	}
	return Citation{}, false
}

// dropCitation is the place where the member is listed no longer.
func (l *loss) dropCitation() Citation {
	if l.drop < 0 {
		w := l.s.f.e.Watcher
		return cite(fmt.Sprintf("watcher.losses[%d]", l.watched),
			fmt.Sprintf("%s was lost between %s and %s", l.name(), clock(l.after), clock(l.by)), w.Reading)
	}
	if l.rec >= 0 {
		r := l.s.g.History.Records[l.rec]
		return cite(groupPath(l.s.g.ID, fmt.Sprintf("history.records[%d]", l.rec)),
			fmt.Sprintf("%s, written %s, no longer lists %s", r.words(), clock(r.At), l.name()), l.s.g.History.Reading)
	}
	x := l.s.seen[l.drop]
	return cite(x.path, fmt.Sprintf("%s is no longer listed at %s", l.name(), clock(x.from)), x.reading)
}

func (l *loss) silenceCitation() Citation {
	v := fmt.Sprintf("last commit %s, %s", clock(l.sil.last), l.sil.before())
	if l.session() > 0 {
		v += fmt.Sprintf("; session timeout %s, rebalance timeout (poll limit) %s", seconds(l.session()), seconds(l.rebalance()))
	} else if l.rebalance() > 0 {
		v += "; rebalance timeout (poll limit) " + seconds(l.rebalance())
	}
	return cite(groupPath(l.s.g.ID, fmt.Sprintf("history.commits[%d]", l.sil.commit)), v, l.s.g.History.Reading)
}

func (l *loss) returnCitation() Citation {
	v := fmt.Sprintf("back at %s, %s after the drop", clock(l.back.at), seconds(l.back.at.Sub(l.by)))
	if l.back.elsewhere {
		v += ", on another host"
	}
	r := l.s.g.Reading
	if strings.Contains(l.back.path, "history.records") {
		r = l.s.g.History.Reading
	}
	return cite(l.back.path, v, r)
}

// missing names corroboration that was not seen.
func (l *loss) missing(c Class) []string {
	var out []string
	if !l.s.baselineKnown() {
		out = append(out, "membership before the window: no record from before it, and the watcher had not watched the whole of it")
	}
	if l.called.answer == dontKnow && c != RollingDeploy && l.called.why != "" {
		out = append(out, "whether anybody called with the old member id: "+l.called.why)
	}
	if l.leave.answer == dontKnow && (c == PollInterval || c == RollingDeploy) && l.leave.why != "" {
		out = append(out, "whether it sent a LeaveGroup request: "+l.leave.why)
	}
	if (l.leave.answer == isYes || l.leave.n > 0 && l.likelierSilent()) && !l.s.f.e.Watcher.Usable() {
		out = append(out, "whether the LeaveGroup request was another group's: the watcher was not running")
	}
	if c == ClientUnreachable && !l.sil.known {
		out = append(out, "how long it was silent: its commits were not read")
	}
	if (c == ProcessGone || c == ProcessReplaced) && l.pod.ended != isYes {
		why := l.pod.why
		if l.pod.ended == isNo {
			why = "its " + l.pod.words
		}
		out = append(out, "why the process ended: "+why)
	}
	if (c == PollInterval || c == PollIntervalStatic) && l.back == nil {
		out = append(out, "its return")
	}
	if c == RemovedByAdmin && l.leave.n == 0 {
		out = append(out, "the LeaveGroup request that took it out: "+l.leave.why)
	}
	if c == SickLeader {
		if n, _ := l.beats27(); n == 0 {
			out = append(out, "heartbeats of the followers answered with REBALANCE_IN_PROGRESS: none were counted")
		}
	}
	if c == PollInterval && l.rebalance() == defaultRebalance && l.overslept() != isYes {
		out = append(out, "whether its client has a poll limit at all: 60 s is also the fixed rebalance timeout of franz-go, Sarama and Connect")
	}
	return out
}

// defaultRebalance is the rebalance timeout of franz-go, Sarama and Connect.
const defaultRebalance = 60 * time.Second

// blindFor lists the sections whose absence keeps alternatives of a loss open.
func (s *groupStory) blindFor(l *loss) []Need {
	var out []Need
	if l.leave.blind && s.classic() || l.called.blind {
		out = append(out, NeedBrokerMetrics)
	}
	if !s.hasRecords() {
		out = append(out, NeedOffsets)
	}
	if l.stoodStill() == dontKnow && l.overslept() == dontKnow {
		out = append(out, NeedClientMetrics)
	}
	out = append(out, NeedWatcher)
	return slices.DeleteFunc(out, func(n Need) bool {
		return s.f.needReading(n, subjectGroup(s.g.ID)).Usable()
	})
}

// summary says in a sentence or two what happened and what it means.
func (l *loss) summary(c Class) string {
	switch c {
	case SessionTimeout:
		return strings.TrimSpace(sessionSummary(l) + " " + l.strain())
	case ProcessGone:
		return goneSummary(l)
	case PollInterval:
		return pollSummary(l)
	case JoinSyncRace:
		return joinSummary(l)
	case ClientUnreachable:
		return unreachableSummary(l)
	case PollIntervalStatic:
		return pollStaticSummary(l)
	case ProcessReplaced:
		return replacedSummary(l)
	case RebalanceTimeout:
		return heldSummary(l)
	case SickLeader:
		return leaderSummary(l)
	case RemovedByAdmin:
		return removedSummary(l, len(l.s.decidedFor(RemovedByAdmin)))
	default:
		return upper(l.name()) + " left the group at " + clock(l.by) + "."
	}
}

// timeoutWords is "its session timeout of 45 s", as far as it is known.
func timeoutWords(what string, d time.Duration) string {
	if d == 0 {
		return "its " + what
	}
	return "its " + what + " of " + seconds(d)
}

// returnWords is "it came back 20 s later", or that it has not.
func (l *loss) returnWords() string {
	if l.back == nil {
		return "it has not come back yet"
	}
	d := l.back.at.Sub(l.by)
	if l.back.sameRecord || d < time.Second {
		return "it was back at once"
	}
	return "it came back " + seconds(d) + " later"
}

// decides names the observation that would tell the alternatives apart.
func (l *loss) decides(c Class, alts []Alternative) string {
	if len(alts) == 0 {
		if l.back == nil && c != JoinSyncRace {
			return "Whether it comes back."
		}
		return ""
	}
	if c == SessionTimeout && l.back == nil {
		return "Whether it comes back and calls with its old member id (alive), or stays away (gone); the state of its pod or host tells at once."
	}
	other := alts[0].Class
	for _, a := range alts {
		if c == SessionTimeout && a.Class == ClientUnreachable {
			other = ClientUnreachable
		}
	}
	return decider(c, other, l)
}

func decider(c, other Class, l *loss) string {
	client := l.m.ClientID
	switch c {
	case ProcessReplaced:
		return "The pod's or host's own record: killed after its grace period, restarted in a loop, or replaced by a Kafka Streams deploy."
	case PollIntervalStatic:
		return fmt.Sprintf("The log of client %s: “consumer poll timeout has expired” = slow processing; nothing of the kind = its process stood still or died.", client)
	case SickLeader:
		return fmt.Sprintf("The broker's log around %s: “removed dynamic members who haven't joined” names the leader, and its followers log “rebalance failed due to DisconnectException”.", clock(l.by))
	default: // the other one decides
	}
	switch other {
	case ClientUnreachable:
		if l.stoodStill() == isNo {
			return fmt.Sprintf("The log of client %s around %s: “session timed out without receiving a heartbeat response” during the gap = its network to %s.", client, clock(l.quietSince()), subjectBroker(l.s.g.Coordinator))
		}
		return fmt.Sprintf("time-between-poll-max of client %s (Java): %s = the process stood still. Or its log: “session timed out without receiving a heartbeat response” (librdkafka: SESSTMOUT, “session timed out … after N ms”) during the gap = network, at its end = stood still.", client, l.stoodStillFrom())
	case ProcessReplaced, ProcessGone:
		return "The pod's or host's own record: restarted, killed (OOM), or replaced by a deploy."
	case PollIntervalStatic, PollInterval:
		return fmt.Sprintf("The log of client %s: “consumer poll timeout has expired” = slow processing.", client)
	case SickLeader:
		return "The followers' logs: “rebalance failed due to DisconnectException” = they waited for their leader to sync."
	case RebalanceTimeout:
		return "The broker's log: “removed dynamic members who haven't joined” = too slow to rejoin."
	case CoordinatorTrouble:
		return fmt.Sprintf("Whether other groups of broker %d lost members in the same second.", l.s.g.Coordinator)
	case RollingDeploy, RemovedByAdmin:
		if !l.s.classic() {
			return fmt.Sprintf("The log of client %s around %s, or its pod's record: the broker of a KIP-848 group logs only that the member left, without a reason.", client, clock(l.by))
		}
		return "The leave reason in the broker's log: “consumer poll timeout has expired”, “the consumer is being closed”, or “removed by an admin”."
	case SessionTimeout:
		if c == JoinSyncRace {
			return "The broker's log: “pending sync request expiration” = it never synced."
		}
		return "The broker's log: “has failed, removing it from the group” = silent for its session timeout."
	default:
		return "The broker's log around " + clock(l.by) + "."
	}
}

// defaultSession is session.timeout.ms of a classic client since Kafka 3.0 (KIP-735),
// and the broker's group.consumer.session.timeout.ms (KIP-848).
const defaultSession = 45 * time.Second

// defaultHeartbeat is heartbeat.interval.ms of a classic client that does not set
// it, defaultGroupBeat the broker's group.consumer.heartbeat.interval.ms (KIP-848).
const (
	defaultHeartbeat = 3 * time.Second
	defaultGroupBeat = 5 * time.Second
)

// longestHeartbeat is the heartbeat interval that bounds the pause which ends a
// session, and where it is from. A pause that costs the session is one session long
// at the broker and begins at most one interval after the last heartbeat, so that the
// process may stand still for that much less. Where no source shows the interval, it
// is the longest that is likely: a third of the session (KIP-62), and not below the
// default, which many leave alone when they shorten the session.
func (l *loss) longestHeartbeat() (time.Duration, string) {
	if n := l.setHeartbeat(); n > 0 {
		return n, "the setting of the group or its broker"
	}
	third := l.session() / 3
	if l.s.classic() && third < defaultHeartbeat && l.session() > defaultHeartbeat {
		return defaultHeartbeat, "not in any record; this is the clients' default"
	}
	usual := defaultHeartbeat
	if !l.s.classic() {
		usual = defaultGroupBeat
	}
	return third, "not in any record; a third of the session at most, as Kafka asks, " + seconds(usual) + " by default"
}

// stoodStillFrom words the time without a poll from which a process that stood still
// lost its session: the session timeout less one heartbeat interval. No record has
// the interval of a classic client; of a KIP-848 group it is a setting.
func (l *loss) stoodStillFrom() string {
	if l.session() == 0 {
		return "the session timeout or more"
	}
	beat, how := defaultHeartbeat, "the default; a client that sets heartbeat.interval.ms higher dies sooner"
	if !l.s.classic() {
		beat, how = defaultGroupBeat, "the default"
	}
	if n := l.setHeartbeat(); n > 0 {
		beat, how = n, "as set"
	}
	if beat >= l.session() {
		return seconds(l.silentAtLeast()) + " or more"
	}
	return fmt.Sprintf("%s (the session timeout less a heartbeat interval of %s, %s) or more", seconds(l.session()-beat), seconds(beat), how)
}
