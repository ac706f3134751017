package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// classDocs is the folder of the pages, one for each judged class.
const classDocs = "../../docs/classes"

const classIndexIntro = `# Classes

Every cause that kafka-oncall has a code for, with a rule that judges it. Codes never
change their meaning. What the evidence cannot exclude is named as an alternative.

Written by a test from the rules and the playbooks (` + "`go test ./cmd/kafka-oncall -run ClassPages -update`" + `).
The same pages in a terminal: ` + "`kafka-oncall playbooks show CLASS`" + `.

| class | headline | family |
|---|---|---|
`

const classPageNote = "*Written by a test from the rule and the playbook; edit those. [All classes](README.md).*"

// families are the families as people on call speak of them.
var families = map[diagnose.Family]string{
	diagnose.FamilyRestartBurst: "restart burst", diagnose.FamilySustainedThrash: "sustained thrashing",
	diagnose.FamilyEvictionTrigger: "eviction trigger", diagnose.FamilyOther: "other", diagnose.FamilyNone: "no cause",
}

// sources are the needs of rules in words.
var sources = map[diagnose.Need]string{
	diagnose.NeedBrokerMetrics: "broker metrics in Prometheus",
	diagnose.NeedSlots:         "the session slots of the broker (DescribeConfigs)",
	diagnose.NeedDemand:        "the number of clients that need a session (metadata and group members, or connections)",
	diagnose.NeedAdmin:         "group state from the admin API",
	diagnose.NeedOffsets:       "the group's records in `__consumer_offsets`",
	diagnose.NeedWatcher:       "the bot's own record of the last hour",
	diagnose.NeedClientMetrics: "the consumer's own metrics in Prometheus",
	diagnose.NeedLag:           "committed and end offsets",
}

// alike is a class that looks the same at first sight, and what tells it apart.
type alike struct {
	class diagnose.Class
	tell  string
}

// lookAlikes are the confusions that cost time at night, for each judged class.
var lookAlikes = map[diagnose.Class][]alike{
	diagnose.RestartBurst: {
		{diagnose.CacheThrash, "evictions rise with the errors, in waves of 120 s, and no restart precedes them. A restart alone evicts nothing."},
		{diagnose.CacheNearLimit, "sessions stay close to the slots after the errors have ended."},
	},
	diagnose.CacheThrash: {
		{diagnose.RestartBurst, "the errors came with the return of leadership, one per client, and no session was evicted."},
		{diagnose.DeadSessionTurnover, "evictions with few or no errors: what is evicted is no longer in use."},
		{diagnose.MisroutedSessions, "demand is below the capacity, or one address answers for several brokers."},
	},
	diagnose.CacheSaturated: {
		{diagnose.CacheThrash, "there are evictions and errors."},
		{diagnose.CacheNearLimit, "the cache is at its capacity, and whether anybody is refused cannot be seen."},
		{diagnose.Quiet, "no error is no proof: a client that is refused a session gets none."},
	},
	diagnose.CacheNearLimit: {
		{diagnose.CacheSaturated, "demand is above the capacity, or at least 10 % of the fetches are full."},
		{diagnose.RestartBurst, "a restart explains errors; the number of sessions after it says whether the cache is small."},
	},
	diagnose.DeadSessionTurnover: {
		{diagnose.CacheThrash, "about one session error for each eviction: the sessions were in use."},
		{diagnose.LeakingClient, "the sessions came without new connections: one client that stays connected opens them."},
		{diagnose.CacheNearLimit, "no evictions, and the number of clients that need a session is close to the slots."},
	},
	diagnose.FollowerChurn: {
		{diagnose.CacheThrash, "not more evictions than consumers can cause, in waves of 120 s."},
		{diagnose.RestartBurst, "the errors are on the broker that was restarted, and nothing was evicted."},
	},
	diagnose.LeakingClient: {
		{diagnose.DeadSessionTurnover, "each session came with a new connection: clients come and go."},
		{diagnose.MisroutedSessions, "session errors rise with the sessions, on several brokers."},
		{diagnose.CacheSaturated, "demand itself is above the capacity."},
	},
	diagnose.EpochMismatch: {
		{diagnose.CacheThrash, "the error is FETCH_SESSION_ID_NOT_FOUND, and sessions are evicted."},
		{diagnose.MisroutedSessions, "topic id errors (106) without an upgrade, REBOOTSTRAP_REQUIRED or NOT_LEADER errors."},
	},
	diagnose.MisroutedSessions: {
		{diagnose.CacheThrash, "demand is above 85 % of the capacity; a routing fault fills the cache with far fewer clients."},
		{diagnose.LeakingClient, "hardly a session error while the sessions rise."},
		{diagnose.RestartBurst, "one error per client on one broker, timed by the return of leadership."},
	},
	diagnose.SessionsDisabled: {
		{diagnose.CacheSaturated, "the cache holds sessions, and only those beyond its capacity get none."},
		{diagnose.Quiet, "an empty cache on a broker without consumers is normal."},
	},
	diagnose.SessionTimeout: {
		{diagnose.ClientUnreachable, "at the broker it looks the same. The client's time-between-poll-max tells: a frozen process has a gap as long as the silence."},
		{diagnose.ProcessGone, "nobody called with the old member id afterwards, and the member stayed away."},
		{diagnose.PollInterval, "the member left by itself: a LeaveGroup request."},
		{diagnose.PollIntervalStatic, "a static member sends no LeaveGroup; its silence is poll limit and session timeout together."},
	},
	diagnose.ProcessGone: {
		{diagnose.SessionTimeout, "it came back with its old id: UNKNOWN_MEMBER_ID on Heartbeat or OffsetCommit."},
		{diagnose.ProcessReplaced, "a successor of the same client id was listed before the dead member was dropped."},
		{diagnose.PollInterval, "the member left by itself: a LeaveGroup request."},
	},
	diagnose.PollInterval: {
		{diagnose.SessionTimeout, "no LeaveGroup, and the silence is the session timeout. A static member is the exception: see poll-interval-static."},
		{diagnose.RollingDeploy, "the drop came soon after the last commit, and the members came back one after another."},
		{diagnose.RemovedByAdmin, "somebody called with the old member id after the LeaveGroup."},
	},
	diagnose.JoinSyncRace: {
		{diagnose.SessionTimeout, "the member had committed before it was dropped."},
		{diagnose.SickLeader, "the whole group waited in CompletingRebalance."},
		{diagnose.RebalanceTimeout, "the member was in the group before and did not rejoin in time."},
	},
	diagnose.RollingDeploy: {
		{diagnose.PollInterval, "the member had been silent for its poll limit before it left."},
		{diagnose.ProcessGone, "no LeaveGroup: the process was killed before it could close."},
		{diagnose.ProcessReplaced, "the new process is there before the old one has left."},
	},
	diagnose.ClientUnreachable: {
		{diagnose.SessionTimeout, "the client's time-between-poll-max has a gap as long as the silence: the process stood still. GC advice fits only there."},
		{diagnose.CoordinatorTrouble, "other groups of the same coordinator lost members in the same second."},
	},
	diagnose.ProcessReplaced: {
		{diagnose.ProcessGone, "no successor was listed before the dead member was dropped."},
		{diagnose.RollingDeploy, "the old member left by itself: a LeaveGroup request."},
		{diagnose.SessionTimeout, "somebody called with the old member id afterwards."},
	},
	diagnose.PollIntervalStatic: {
		{diagnose.SessionTimeout, "the silence is the session timeout alone, or somebody called with the old member id afterwards."},
		{diagnose.PollInterval, "a dynamic member: it leaves at its poll limit, with a LeaveGroup request."},
	},
	diagnose.SickLeader: {
		{diagnose.RebalanceTimeout, "the group did not wait in CompletingRebalance before, or the member was not its leader."},
		{diagnose.JoinSyncRace, "a follower that never synced: the group reads Stable all the time."},
		{diagnose.ProcessGone, "the leader was dropped when its session ran out: it was silent as a whole."},
	},
	diagnose.RebalanceTimeout: {
		{diagnose.SessionTimeout, "the member was listed no longer when the rebalance began."},
		{diagnose.PollInterval, "it left by itself: a LeaveGroup request."},
		{diagnose.SickLeader, "the group had waited in CompletingRebalance for this member as its leader."},
	},
	diagnose.CoordinatorTrouble: {
		{diagnose.SessionTimeout, "commits of other members were accepted meanwhile, or the coordinator's other groups kept their members."},
		{diagnose.GroupMetadataLost, "the generation began again at 1."},
		{diagnose.RestartBurst, "a broker restart alone re-arms every session and evicts nobody."},
	},
	diagnose.GroupMetadataLost: {
		{diagnose.CoordinatorTrouble, "the generation goes on rising."},
		{diagnose.RemovedByAdmin, "the group was empty and deleted before it began anew."},
	},
	diagnose.RemovedByAdmin: {
		{diagnose.RollingDeploy, "nobody called with an old member id afterwards: a client that closes drops it first."},
		{diagnose.SessionTimeout, "no LeaveGroup request, and a silence of the session timeout."},
	},
	diagnose.StrayCommits: {
		{diagnose.SessionTimeout, "a member was lost: its own calls are refused so, in one burst, heartbeats among them."},
		{diagnose.PollInterval, "a KIP-848 Java client that commits after its slow batch is refused once."},
	},
	diagnose.DuplicateStaticID: {
		{diagnose.RollingDeploy, "the id changed hands and nobody was fenced: a restart within the session timeout."},
		{diagnose.StrayCommits, "refused with UNKNOWN_MEMBER_ID, not FENCED_INSTANCE_ID."},
	},
	diagnose.RebalanceStorm: {
		{diagnose.SessionTimeout, "a member is dropped again and again; the rebalances follow from that."},
		{diagnose.RollingDeploy, "members leave and come back, one rebalance each, and then it is over."},
		{diagnose.RestartBurst, "the rebalances come right after the coordinator's start."},
	},
	diagnose.LagStableGroup: {
		{diagnose.PollInterval, "a member left in the window; lag is then the consequence."},
		{diagnose.CacheSaturated, "the broker answers full fetches; look at the broker as well."},
	},
	diagnose.Quiet: {
		{diagnose.Undecided, "something that was needed could not be read. A gap is never taken for health."},
		{diagnose.CacheSaturated, "silent as well: it is told by demand, not by errors."},
		{diagnose.GroupMetadataLost, "a group whose first record is in the window may have lost its state. It is named unless the group was watched before, or its first commits are at offset 0."},
	},
	diagnose.Undecided: {
		{diagnose.Quiet, "everything needed was read and is normal."},
	},
}

// The pages say what the rules and the playbooks say.
func TestClassPages(t *testing.T) {
	set, err := playbooks.Default()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"README.md": classIndex()}
	for _, r := range diagnose.Rules() {
		pages[string(r.Class)+".md"] = classPage(t, r, set)
	}
	for name, want := range pages {
		samePage(t, name, want)
	}
	files, err := filepath.Glob(filepath.Join(classDocs, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := pages[filepath.Base(f)]; !ok {
			t.Errorf("docs/classes/%s belongs to no judged class", filepath.Base(f))
		}
	}
}

func samePage(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(classDocs, name)
	if *update {
		if err := os.MkdirAll(classDocs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if string(got) != want {
		t.Errorf("docs/classes/%s is behind: run with -update and read the diff", name)
	}
}

func classIndex() string {
	var b strings.Builder
	b.WriteString(classIndexIntro)
	for _, e := range diagnose.Catalogue() {
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s |\n", e.Class, e.Class, e.Headline, families[e.Family])
	}
	return b.String()
}

// classPage is the page of one judged class.
func classPage(t *testing.T, r diagnose.Rule, set *playbooks.Set) string {
	t.Helper()
	e, _ := diagnose.Lookup(r.Class)
	book, ok := set.Show(r.Class)
	if !ok {
		t.Fatalf("%s has no playbook", r.Class)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n`%s` · %s\n\n%s\n\n%s\n\n%s\n", e.Headline, e.Class, families[e.Family], classPageNote, oneLine(book.Meaning), oneLine(book.Impact))
	b.WriteString("\n## How it is told\n")
	writeNeeds(t, &b, r)
	writeList(&b, "All of this must hold:", r.Conditions)
	writeList(&b, "Seen as well, it is confirmed; else it is likely:", r.Corroboration)
	fmt.Fprintf(&b, "\nSource: %s.\n", strings.Replace(r.Source, "docs/adr/0002:", "[decision 2](../adr/0002-unknown-is-a-status.md):", 1))
	writeLookAlikes(t, &b, r.Class)
	for i, s := range book.Steps {
		writePageStep(&b, i+1, s)
	}
	return b.String()
}

func writeNeeds(t *testing.T, b *strings.Builder, r diagnose.Rule) {
	t.Helper()
	var needs []string
	for _, n := range r.Needs {
		if sources[n] == "" {
			t.Errorf("%s: no words for the need %s", r.Class, n)
		}
		needs = append(needs, sources[n])
	}
	writeList(b, "It needs, or it stays open:", needs)
}

func writeLookAlikes(t *testing.T, b *strings.Builder, c diagnose.Class) {
	t.Helper()
	if len(lookAlikes[c]) == 0 {
		t.Errorf("%s has no look-alikes", c)
	}
	b.WriteString("\n## What looks alike\n\n")
	for _, a := range lookAlikes[c] {
		e, known := diagnose.Lookup(a.class)
		if !known {
			t.Errorf("%s: the look-alike %q is no class", c, a.class)
		}
		fmt.Fprintf(b, "- **%s** (`%s`): %s\n", e.Headline, a.class, a.tell)
	}
}

// writePageStep writes a step with values in braces as in the playbook.
func writePageStep(b *strings.Builder, n int, s playbooks.StepDef) {
	if n == 1 {
		b.WriteString("\n## Steps\n\nValues in braces are filled in from the evidence. Steps whose condition holds are offered in this order.\n")
	}
	fmt.Fprintf(b, "\n### %d. %s\n\n*%s*\n\n%s\n", n, s.Title, s.Safety.Words(), oneLine(s.Text))
	if s.When != "" {
		fmt.Fprintf(b, "\nOnly if `%s`.\n", oneLine(s.When))
	}
	if len(s.Compute) > 0 {
		b.WriteString("\n")
	}
	for _, c := range s.Compute {
		fmt.Fprintln(b, strings.TrimSpace(fmt.Sprintf("- `%s` = `%s` %s", c.Name, oneLine(c.Expr), only(c.When)+round(c.Round))))
	}
	if s.Command != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimSpace(s.Command))
	}
	if s.Avoid != nil {
		fmt.Fprintf(b, "\n**What not to do.** %s %s\n", oneLine(s.Avoid.Text), oneLine(s.Avoid.Why))
	}
	for _, v := range s.Variants() {
		fmt.Fprintf(b, "\n**%s.** %s\n", upperFirst(v.Place()), oneLine(v.Words()))
		if v.Command != "" {
			fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimSpace(v.Command))
		}
	}
	if s.Verify != nil {
		fmt.Fprintf(b, "\n**How to see that it worked.** %s %s Give it %d min.\n", oneLine(s.Verify.Read), oneLine(s.Verify.Shows), int(s.Verify.Wait.Minutes()))
	}
}

func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", title)
	for _, x := range items {
		fmt.Fprintf(b, "- %s\n", x)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
