package logs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// failed is a broker's line about a member of a group whose session ran out.
func failed(at, group string) string {
	return fmt.Sprintf("[2031-03-01 %s] INFO [GroupCoordinator 1]: Member %s-1-aa11bb22-3333-4444-5555-666677778888 in group %s has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)\n", at, group, group)
}

func about(t *testing.T, d diagnose.Diagnosis, group string) diagnose.Finding {
	t.Helper()
	i := slices.IndexFunc(d.Findings, func(f diagnose.Finding) bool { return f.Subject == "group "+group })
	if i < 0 {
		t.Fatalf("nothing about %s: %+v", group, d.Findings)
	}
	return d.Findings[i]
}

func names(f diagnose.Finding, c diagnose.Class) bool {
	return slices.ContainsFunc(f.Alternatives, func(a diagnose.Alternative) bool { return a.Class == c })
}

// Three groups dropped within one second speak against their coordinator; a fourth
// an hour later is a story of its own, and two are too few.
func TestGroupsDroppedTogether(t *testing.T) {
	three := failed("10:00:00,100", "alpha") + failed("10:00:00,400", "beta") + failed("10:00:01,000", "gamma")
	d, _ := classify(t, three+failed("11:00:00,000", "delta"))
	for _, g := range []string{"alpha", "beta", "gamma"} {
		f := about(t, d, g)
		if f.Class != diagnose.CoordinatorTrouble || !strings.Contains(f.Summary, "3 groups") || len(f.Citations) != 3 {
			t.Errorf("%s: %s, %d lines: %s", g, f.Class, len(f.Citations), f.Summary)
		}
	}
	if f := about(t, d, "delta"); f.Class != diagnose.SessionTimeout {
		t.Errorf("delta: %s: %s", f.Class, f.Summary)
	}
	for name, text := range map[string]string{
		"two groups":               failed("10:00:00,100", "alpha") + failed("10:00:00,400", "beta"),
		"three over two seconds":   failed("10:00:00,000", "alpha") + failed("10:00:01,000", "beta") + failed("10:00:02,000", "gamma"),
		"three lines of one group": strings.Repeat(failed("10:00:00,100", "alpha"), 3),
	} {
		d, _ := classify(t, text)
		if f := about(t, d, "alpha"); f.Class == diagnose.CoordinatorTrouble {
			t.Errorf("%s: %s", name, f.Summary)
		}
	}
}

// A kill explains a drop only where it came shortly before, names nobody else, and
// the member was not heard of again.
func TestKillsAndDrops(t *testing.T) {
	const (
		drop  = "[2031-03-01 10:00:45,000] INFO [GroupCoordinator 1]: Member orders-1-aa11bb22-3333-4444-5555-666677778888 in group orders has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)\n"
		alive = "2031-03-01 10:01:00,000 INFO [Consumer clientId=orders-1, groupId=orders] Attempt to heartbeat with Generation{generationId=3, memberId='orders-1-aa11bb22-3333-4444-5555-666677778888', protocol='range'} and group instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation (x.Y)\n"
	)
	for _, c := range []struct {
		name, log string
		want      diagnose.Class
	}{
		{"killed one session before", "2031-03-01 10:00:01,000 OOMKilled\n" + drop, diagnose.ProcessGone},
		{"killed, its pod named", "2031-03-01 10:00:01,000 pod/orders-7d9c4-bbbbb OOMKilled\n" + drop, diagnose.ProcessGone},
		{"another pod", "2031-03-01 10:00:01,000 pod/billing-7d9c4-bbbbb OOMKilled\n" + drop, diagnose.SessionTimeout},
		{"hours before", "2031-03-01 07:00:01,000 OOMKilled\n" + drop, diagnose.SessionTimeout},
		{"afterwards", drop + "2031-03-01 10:20:01,000 OOMKilled\n", diagnose.SessionTimeout},
		{"its old member id is heard of again", "2031-03-01 10:00:01,000 OOMKilled\n" + drop + alive, diagnose.SessionTimeout},
		{"two groups, nobody named", "2031-03-01 10:00:01,000 OOMKilled\n" + drop + failed("10:00:40,000", "billing"), diagnose.SessionTimeout},
	} {
		d, _ := classify(t, c.log)
		if f := about(t, d, "orders"); f.Class != c.want {
			t.Errorf("%s: %s, want %s: %s", c.name, f.Class, c.want, f.Summary)
		}
	}
}

// What a client writes after it left past its poll limit must not read as a
// session timeout.
func TestFollowUpOfAPollBreach(t *testing.T) {
	const head = "2031-03-01 10:00:05,001 INFO [Consumer clientId=a, groupId=g] "
	lost := head + "Giving away all assigned partitions as lost since generation/memberID has been reset,indicating that consumer is in old state or no longer part of the group (x.Y)\n" +
		head + "Failing OffsetCommit request since the consumer is not part of an active group (x.Y)\n"
	d, _ := classify(t, lost)
	if f := about(t, d, "g"); f.Class != diagnose.Undecided || f.Alternatives[0].Class != diagnose.PollInterval {
		t.Errorf("%s: %+v", f.Class, f.Alternatives)
	}
	d, _ = classify(t, head+"consumer poll timeout has expired. (x.Y)\n"+lost)
	if f := about(t, d, "g"); f.Class != diagnose.PollInterval {
		t.Errorf("with its cause: %s", f.Class)
	}
	d, _ = classify(t, head+"Attempt to heartbeat with Generation{generationId=3, memberId='a-1', protocol='range'} and group instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation (x.Y)\n"+lost)
	f := about(t, d, "g")
	for _, c := range []diagnose.Class{diagnose.RebalanceTimeout, diagnose.JoinSyncRace, diagnose.RemovedByAdmin, diagnose.GroupMetadataLost} {
		if f.Class != diagnose.SessionTimeout || !names(f, c) {
			t.Errorf("a lone refused heartbeat: %s, %s is not named", f.Class, c)
		}
	}
}

// librdkafka counts from the last answer: right at a session timeout the network
// was silent, far above it the process stood still.
func TestLibrdkafkaCount(t *testing.T) {
	line := func(sec, ms int) string {
		return fmt.Sprintf("%%4|193000%04d.000|SESSTMOUT|a#consumer-1| [thrd:main]: Consumer group session timed out (in join-state steady) after %d ms without a successful response from the group coordinator (broker 1, last error was Success): revoking assignment and rejoining group\n", sec, ms)
	}
	for _, c := range []struct {
		name, log string
		want      diagnose.Class
		says      string
	}{
		{"right at 45 s", line(1, 45092), diagnose.ClientUnreachable, "the process ran"},
		{"late, then in time", line(1, 11008) + line(900, 6002), diagnose.SessionTimeout, "this one stood still"},
		{"neither", line(1, 52310), diagnose.SessionTimeout, "noticed late"},
	} {
		d, _ := classify(t, c.log)
		if f := d.Primary(); f.Class != c.want || !strings.Contains(f.Summary, c.says) {
			t.Errorf("%s: %s: %s", c.name, f.Class, f.Summary)
		}
	}
}

// What is not in a log is not claimed.
func TestAbsenceIsNoProof(t *testing.T) {
	const poll = "2031-03-01 10:00:05,120 WARN [Consumer clientId=a, groupId=g] consumer poll timeout has expired.\n"
	d, _ := classify(t, poll)
	if s := d.Primary().Summary; strings.Contains(s, "still hangs") || !strings.Contains(s, "may still hang") {
		t.Error(s)
	}
	d, _ = classify(t, poll+"2031-03-01 10:00:25,120 INFO [Consumer clientId=a, groupId=g] (Re-)joining group\n")
	if s := d.Primary().Summary; strings.Contains(s, "hang") {
		t.Error(s)
	}
}

func TestCitationsOfALongLogHaveDays(t *testing.T) {
	d, _ := classify(t, failed("10:00:00,000", "g")+strings.Replace(failed("10:00:00,000", "g"), "03-01", "03-04", 1))
	if c := d.Primary().Citations[0].Value; !strings.Contains(c, "2031-03-01 10:00:00 to 2031-03-04 10:00:00") {
		t.Error(c)
	}
	d, _ = classify(t, failed("10:00:00,000", "g"))
	if c := d.Primary().Citations[0].Value; strings.HasPrefix(c, "member failed, 2031") {
		t.Error(c)
	}
}

// Sarama: a commit refused hours after a rebalance has nothing to do with it.
func TestSaramaGapIsBounded(t *testing.T) {
	at := func(clock string) string {
		return "2031/03/01 " + clock + " consumer group=orders "
	}
	refused := "kafka server: The provided member is not known in the current generation\n"
	began := "[2031-03-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state PreparingRebalance with old generation 4 (__consumer_offsets-3) (reason: Adding new member a-1) (kafka.coordinator.group.GroupCoordinator)\n"
	for clock, want := range map[string]diagnose.Class{"10:01:30": diagnose.RebalanceTimeout, "13:00:00": diagnose.Undecided} {
		d, _ := classify(t, began+at(clock)+refused)
		if f := d.Primary(); f.Class != want {
			t.Errorf("%s: %s, want %s: %s", clock, f.Class, want, f.Summary)
		}
	}
}
