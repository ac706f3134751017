package diagnose

import (
	"fmt"
	"strings"
	"time"
)

// Beside live evidence log text is one more witness. It decides where what the
// broker or the client writes is the only thing that separates causes (a leave's
// reason, "pending sync", "haven't joined", an admin's removal; a client's word
// on whether it or its network stood still), and it never overrules an
// observation: a class that live evidence excludes stays excluded, one that it
// points to stays beside the log's.

// testimony is what the log says about one loss.
type testimony struct {
	class Class
	// at is the index of the finding, -1 for none.
	at      int
	because string
	// failed: the broker says that the session ran out, so nobody left.
	failed int
}

// speaking are the kinds that name a cause in so many words, the strongest
// first.
var speaking = [...]struct {
	kind  LogKind
	class Class
	words string
}{
	{LogAdminRemoved, RemovedByAdmin, "the broker's log says that an admin removed it"},
	{LogPollTimeout, PollInterval, "the log says that its poll timeout expired"},
	{LogPollOvershoot, PollInterval, "the client's log says that it overran its poll limit"},
	{LogPendingSync, JoinSyncRace, "the broker's log says that it was removed on pending sync expiration"},
	{LogNotJoined, RebalanceTimeout, "the broker's log says that it had not joined in time"},
	{LogRevokeSlow, RebalanceTimeout, "the broker's log says that it gave its partitions up too slowly"},
	{LogMemberLeft, RollingDeploy, "the broker's log says that it closed"},
}

// hear finds what the log says about a loss.
func (l *loss) hear() testimony {
	t := testimony{at: -1, failed: -1}
	e := l.s.f.e
	if !e.Logs.Usable() {
		return t
	}
	for _, s := range speaking {
		for i, f := range e.LogText.Findings {
			if f.Kind != s.kind || !l.concerns(f) || f.Kind == LogMemberLeft && !closing848(f) {
				continue
			}
			t.class, t.at, t.because = s.class, i, s.words
			if t.class == PollInterval && l.static() {
				t.class = PollIntervalStatic
			}
			return t
		}
	}
	for i, f := range e.LogText.Findings {
		switch {
		case !l.concerns(f):
		case f.Kind == LogMemberFailed, f.Kind == LogMemberExpired:
			t.failed = i
		default:
			l.hearClient(&t, i, f)
		}
	}
	return t
}

// closing848 says that a leave's reason is a close. A KIP-848 leave gives none.
func closing848(f LogFinding) bool {
	return strings.Contains(f.Detail, "clos") || strings.Contains(f.Detail, "unsubscribed") || strings.Contains(f.Detail, "normal operation")
}

// hearClient: librdkafka counts from the last answer, so a stall shows as a
// longer time than the session and a silent network as the session itself
// (measured: 11.0 s and 6.0 s for 6 s). Java cancels heartbeats in flight only
// when its network was silent (2 lines against none).
func (l *loss) hearClient(t *testimony, i int, f LogFinding) {
	session := l.session().Milliseconds()
	switch {
	case f.Kind == LogSessionTimedOut && f.By == "librdkafka" && session > 0 && f.High >= session*13/10:
		*t = testimony{class: SessionTimeout, at: i, failed: t.failed, because: fmt.Sprintf("its log counts %d ms without an answer, far more than its session timeout: the process stood still", f.High)}
	case f.Kind == LogSessionTimedOut && f.By == "librdkafka" && session > 0 && f.High >= session*9/10:
		*t = testimony{class: ClientUnreachable, at: i, failed: t.failed, because: fmt.Sprintf("its log counts %d ms without an answer, its session timeout: it ran, and nothing answered", f.High)}
	case f.Kind == LogHeartbeatCut && f.Count >= 2:
		*t = testimony{class: ClientUnreachable, at: i, failed: t.failed, because: "its log shows heartbeats that were sent and never answered"}
	}
}

// concerns says that a finding is about this loss: by member id, or by group and
// client id around the time of the drop.
func (l *loss) concerns(f LogFinding) bool {
	if f.Member != "" && f.Member != "INVALID" {
		return f.Member == l.m.ID
	}
	if f.Client == "" || f.First.IsZero() || f.Group != "" && f.Group != l.s.g.ID {
		return false
	}
	client, _, _ := strings.Cut(f.Client, "#")
	if client != l.m.ClientID {
		return false
	}
	from := l.after.Add(-l.session() - l.rebalance() - time.Minute)
	return !f.Last.Before(from) && !f.First.After(l.by.Add(l.rebalance()+time.Minute))
}

// heed lets the log speak where the views leave room.
func (l *loss) heed(views []view) {
	t := l.heard
	if t.at >= 0 {
		for i, v := range views {
			if v.class == t.class && v.fit == excluded {
				l.heard.class = "" // an observation speaks against it
				return
			}
			if v.class == t.class && v.fit != proven {
				views[i] = match(v.class, t.because)
			}
		}
		for i, v := range views {
			if v.class != t.class && v.fit == possible {
				views[i] = exclude(v.class, t.because)
			}
		}
		return
	}
	if t.failed < 0 || !l.s.classic() {
		return // librdkafka past its poll limit ends as a session expiry under KIP-848
	}
	for i, v := range views {
		switch v.class {
		case PollInterval, RollingDeploy, RemovedByAdmin, JoinSyncRace:
			if v.fit == possible {
				views[i] = exclude(v.class, "the broker's log says that its session ran out (\"has failed, removing it\")")
			}
		default: // silence of any kind ends so
		}
	}
}

// logCitations are the lines that were heard.
func (l *loss) logCitations() []Citation {
	var out []Citation
	if l.heard.at >= 0 && l.heard.class != "" {
		out = append(out, logCitation(l.s.f.e, l.heard.at))
	}
	if l.heard.failed >= 0 {
		out = append(out, logCitation(l.s.f.e, l.heard.failed))
	}
	return out
}
