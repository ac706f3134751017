package diagnose_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
)

// Cases with log text: another case of the corpus without RequestMetrics, and the
// lines that a broker or a client writes then, in the formats that were read in
// runs of the lab. The log decides; the row no-logs shows what is left without it.

// logCase is one of them.
type logCase struct {
	name, base string
	class      diagnose.Class
	// lines are written for each member that was dropped.
	lines func(d drop) string
}

// drop is a member that a group lost.
type drop struct {
	group, member, client string
	at                    time.Time
	session, rebalance    int32
	// generation is the one that it was lost from.
	generation int32
}

// scala is a line of a coordinator up to 3.9, java one of 4.x.
func (d drop) scala(format string, args ...any) string {
	return fmt.Sprintf("[%s] INFO [GroupCoordinator 1]: %s (kafka.coordinator.group.GroupCoordinator)\n", d.at.Format("2006-01-02 15:04:05,000"), fmt.Sprintf(format, args...))
}

func (d drop) java(format string, args ...any) string {
	return fmt.Sprintf("[%s] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] %s (org.apache.kafka.coordinator.group.GroupMetadataManager)\n", d.at.Format("2006-01-02 15:04:05,000"), fmt.Sprintf(format, args...))
}

func failed(d drop) string {
	return d.scala("Member %s in group %s has failed, removing it from the group", d.member, d.group)
}

// left is a LeaveGroup with its reason, as 3.x writes it.
func left(reason string) func(drop) string {
	return func(d drop) string {
		return d.scala("Member MemberMetadata(memberId=%s, groupInstanceId=None, clientId=%s, clientHost=/10.0.0.7, sessionTimeoutMs=%d, rebalanceTimeoutMs=%d, supportedProtocols=List(range)) has left group %s through explicit `LeaveGroup`; client reason: %s",
			d.member, d.client, d.session, d.rebalance, d.group, reason)
	}
}

// left4 is the same as 4.x writes it.
func left4(reason string) func(drop) string {
	return func(d drop) string {
		return d.java("[Group %s] Member %s has left group through explicit `LeaveGroup` request; client reason: %s", d.group, d.member, reason)
	}
}

func notJoined(d drop) string {
	return d.scala("Group %s removed dynamic members who haven't joined: Set(%s)", d.group, d.member)
}

func pendingSync(d drop) string {
	return d.scala("Preparing to rebalance group %s in state PreparingRebalance with old generation %d (__consumer_offsets-3) (reason: Removing Set(%s) on pending sync request expiration)", d.group, d.generation, d.member)
}

func pendingSync4(d drop) string {
	return d.java("Preparing to rebalance group %s in state PreparingRebalance with old generation %d (reason: Removing [%s] on pending sync request expiration).", d.group, d.generation, d.member)
}

// stalled is librdkafka's count as it wakes: far more than the session.
func stalled(d drop) string { return failed(d) + d.sessmout(2*d.session) }

// unanswered is its count at a silent network: the session itself.
func unanswered(d drop) string { return failed(d) + d.sessmout(d.session+2) }

func (d drop) sessmout(ms int32) string {
	return fmt.Sprintf("%%4|%d.000|SESSTMOUT|%s#consumer-1| [thrd:main]: Consumer group session timed out (in join-state steady) after %d ms without a successful response from the group coordinator (broker 1, last error was Success): revoking assignment and rejoining group\n",
		d.at.Unix(), d.client, ms)
}

func logCases() []logCase {
	closed, admin, poll := "the consumer is being closed.", "member was removed by an admin: maintenance", "consumer poll timeout has expired."
	return []logCase{
		{"poll-interval/log-leave-reason", "poll-interval/sixty-seconds", diagnose.PollInterval, left(poll)},
		{"poll-interval/log-leave-reason-4.x", "poll-interval/first-batch", diagnose.PollInterval, left4(poll)},
		{"join-sync-race/log-pending-sync", "join-sync-race/dropped-3.9.2", diagnose.JoinSyncRace, pendingSync},
		{"join-sync-race/log-pending-sync-4.x", "join-sync-race/live-4.4.0", diagnose.JoinSyncRace, pendingSync4},
		{"rolling-deploy/log-closed-idle", "poll-interval/near-idle", diagnose.RollingDeploy, left(closed)},
		{"rolling-deploy/log-closed", "client-unreachable/near-closed", diagnose.RollingDeploy, left4(closed)},
		{"removed-by-admin/log-admin", "removed-by-admin/all", diagnose.RemovedByAdmin, left(admin)},
		{"removed-by-admin/log-admin-4.x", "removed-by-admin/lab-4.4.0", diagnose.RemovedByAdmin, left4(admin)},
		{"removed-by-admin/log-admin-no-offsets", "removed-by-admin/no-offsets", diagnose.RemovedByAdmin, left4(admin)},
		{"rebalance-timeout/log-not-joined", "rebalance-timeout/back", diagnose.RebalanceTimeout, notJoined},
		{"rebalance-timeout/log-not-joined-away", "rebalance-timeout/away", diagnose.RebalanceTimeout, notJoined},
		{"rebalance-timeout/log-not-joined-records", "rebalance-timeout/records-and-beats", diagnose.RebalanceTimeout, notJoined},
		{"session-timeout/log-stalled", "process-gone/near-restart-before", diagnose.SessionTimeout, stalled},
		{"session-timeout/log-stalled-two-groups", "poll-interval/near-two-sick-groups", diagnose.SessionTimeout, stalled},
		{"session-timeout/log-stalled-no-offsets", "session-timeout/forbidden-offsets", diagnose.SessionTimeout, stalled},
		{"client-unreachable/log-unanswered", "client-unreachable/commits-only", diagnose.ClientUnreachable, unanswered},
		{"client-unreachable/log-unanswered-queued", "client-unreachable/queued-commits", diagnose.ClientUnreachable, unanswered},
	}
}

// drops are the members that the group in question lost in the window, by its
// records, else by the looks at it, else by the watcher.
func drops(e diagnose.Evidence) []drop {
	from := e.At.Add(-time.Duration(e.WindowSeconds) * time.Second)
	var out []drop
	for _, g := range e.Groups {
		if e.Target.Group != "" && g.ID != e.Target.Group {
			continue
		}
		for i := 1; i < len(g.History.Records); i++ {
			a, b := g.History.Records[i-1], g.History.Records[i]
			for _, m := range a.Members {
				if b.At.After(from) && !slices.ContainsFunc(b.Members, func(x diagnose.RecordMember) bool { return x.ID == m.ID }) {
					out = append(out, drop{g.ID, m.ID, m.ClientID, b.At, m.SessionTimeoutMS, m.RebalanceTimeoutMS, a.Generation})
				}
			}
		}
		for i := 1; i < len(g.Snapshots) && len(g.History.Records) == 0; i++ {
			a, b := g.Snapshots[i-1], g.Snapshots[i]
			for _, m := range a.Members {
				if !slices.ContainsFunc(b.Members, func(x diagnose.Member) bool { return x.ID == m.ID }) {
					out = append(out, drop{g.ID, m.ID, m.ClientID, b.At, 45000, 300000, 1})
				}
			}
		}
	}
	for _, l := range e.Watcher.Losses {
		if len(out) == 0 && l.Group == e.Target.Group {
			out = append(out, drop{l.Group, l.MemberID, l.ClientID, l.By, 45000, 300000, 1})
		}
	}
	return out
}

// build makes the evidence: the other case, its RequestMetrics gone, and the lines.
func (c logCase) build(t *testing.T, bases map[string]score.Case) diagnose.Evidence {
	t.Helper()
	base, ok := bases[c.base]
	if !ok || base.Set == score.HeldOut {
		t.Fatalf("%s: no case %s to build on", c.name, c.base)
	}
	e := base.Evidence
	for _, d := range score.Degradations() {
		if d.Name == "no-request-metrics" {
			e = d.Apply(e)
		}
	}
	var text strings.Builder
	lost := drops(e)
	for _, d := range lost {
		text.WriteString(c.lines(d))
	}
	if len(lost) == 0 {
		t.Fatalf("%s: %s lost nobody", c.name, c.base)
	}
	found, err := logs.Read(strings.NewReader(text.String()), logs.Options{Now: e.At})
	if err != nil || found.Recognised == 0 {
		t.Fatalf("%s: %v, nothing recognised in\n%s", c.name, err, text.String())
	}
	logs.Attach(&e, found, "log text: written for this case")
	return e
}

func (c logCase) meta() []byte {
	raw, err := json.MarshalIndent(map[string]any{
		"notes":      fmt.Sprintf("The evidence of %s without RequestMetrics, and log lines written for it in the formats of real brokers and clients; written by go test ./diagnose -write-corpus.", c.base),
		"provenance": score.Synthetic,
		"truth":      fmt.Sprintf("As in %s: %s.", c.base, c.class),
		"class":      c.class,
		"set":        score.Tuned,
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(raw, '\n')
}

// The cases with log text lie on disk as they are described here, the log decides
// them, and without it they are another verdict.
func TestLogCases(t *testing.T) {
	wanted := map[string]score.Case{}
	for _, c := range logCases() {
		wanted[c.base] = score.Case{}
	}
	for c, err := range score.Load(os.DirFS("testdata/corpus")) {
		if _, ok := wanted[c.Name]; ok {
			if err != nil {
				t.Fatal(err)
			}
			wanted[c.Name] = c
		}
	}
	write := flag.Lookup("write-corpus").Value.String() == "true"
	for _, c := range logCases() {
		e := c.build(t, wanted)
		raw, err := diagnose.Encode(e)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		dir := filepath.Join("testdata", "corpus", c.name)
		if write {
			writeLogCase(t, dir, raw, c.meta())
		} else if got, meta := readLogCase(t, dir); !bytes.Equal(got, raw) || !bytes.Equal(meta, c.meta()) {
			t.Errorf("%s differs from its description (go test ./diagnose -write-corpus)", dir)
		}
		with := diagnose.Classify(e, diagnose.DefaultLimits()).Primary()
		e.LogText, e.Logs = diagnose.LogText{}, diagnose.Reading{Status: diagnose.StatusSkipped}
		without := diagnose.Classify(e, diagnose.DefaultLimits()).Primary()
		if with.Class != c.class {
			t.Errorf("%s: %s (%s), want %s", c.name, with.Class, with.Confidence, c.class)
		}
		if without.Class == with.Class && len(without.Alternatives) == len(with.Alternatives) {
			t.Errorf("%s: the log decides nothing: %s (%s) without it", c.name, without.Class, without.Confidence)
		}
	}
}

func writeLogCase(t *testing.T, dir string, evidence, meta []byte) {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(evidence); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"evidence.json.gz": z.Bytes(), "case.json": meta} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readLogCase(t *testing.T, dir string) (evidence, meta []byte) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "evidence.json.gz"))
	if err != nil {
		t.Fatalf("%v (go test ./diagnose -write-corpus)", err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	if meta, err = os.ReadFile(filepath.Join(dir, "case.json")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), meta
}
