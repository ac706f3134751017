package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const pollLog = "2031-03-01 10:00:05,120 WARN [Consumer clientId=fraud-1, groupId=fraud] consumer poll timeout has expired. password=HIDEME\n"

// cliStdin runs the program with standard input and no cluster.
func cliStdin(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, now: func() time.Time { return now },
		newCollector: func(clusterConfig, *app) (collector, error) {
			t.Error("a cluster is asked")
			return &recorded{}, nil
		}}
	code := a.run(context.Background(), args)
	return result{out.String(), errs.String(), code}
}

func TestLogsAloneNeedNoClusterAndReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "evidence.json")
	r := cliStdin(t, pollLog, "diagnose", "--logs", "-", "-o", "json", "--record", file)
	var d struct {
		Findings []struct{ Class, Confidence, Subject, Basis string }
		Next     struct{ Title, Text string } `json:"next_step"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	f := d.Findings[0]
	if r.code != exitFound || f.Class != "poll-interval" || f.Confidence != "likely" || f.Subject != "group fraud" || f.Basis != "logs" || d.Next.Text == "" {
		t.Errorf("code %d: %+v", r.code, d)
	}
	again := cli(t, nil, nil, "replay", "-o", "json", file)
	if again.stdout != r.stdout || again.code != r.code {
		t.Errorf("replay says otherwise:\n%s\n%s", r.stdout, again.stdout)
	}
	raw, err := os.ReadFile(file)
	if err != nil || strings.Contains(r.stdout+string(raw), "HIDEME") {
		t.Errorf("%v, or a secret is repeated", err)
	}
}

func TestLogsInSeveralFilesOneGzipped(t *testing.T) {
	dir := t.TempDir()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte(pollLog))
	_ = w.Close()
	plain, packed := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log.gz")
	if err := os.WriteFile(plain, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := cliStdin(t, "", "diagnose", "--logs", plain, "--logs", packed)
	if r.code != exitFound || !strings.Contains(r.stdout, "max.poll.interval.ms") || !strings.Contains(r.stdout, "group fraud") {
		t.Errorf("code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

func TestLogsThatCannotBeReadSaySo(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--logs", "/nowhere/x.log"}, exitFailed, "no such file"},
		{[]string{"--logs", "/"}, exitFailed, "is a folder"},
		{[]string{"--logs", "-"}, exitFailed, "the log is empty"},
		{[]string{"--logs", "-", "--logs", "-"}, exitUsage, "once only"},
	} {
		r := cliStdin(t, "", append([]string{"diagnose"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%v: code %d: %s", c.args, r.code, r.stderr)
		}
	}
}

// Beside live evidence the log is attached, and recorded with it.
func TestLogsBesideACluster(t *testing.T) {
	log, file := filepath.Join(t.TempDir(), "a.log"), filepath.Join(t.TempDir(), "e.json")
	if err := os.WriteFile(log, []byte(pollLog), 0o600); err != nil {
		t.Fatal(err)
	}
	src := &recorded{evidence: evidence(t, "quiet/group")}
	cli(t, src, nil, "diagnose", "--bootstrap", "a:1", "--logs", log, "--record", file)
	e, err := loadEvidence(file)
	if err != nil || len(src.asked) != 1 || len(e.LogText.Findings) != 1 || !e.Logs.OK() {
		t.Errorf("%v, asked %d, %+v", err, len(src.asked), e.LogText)
	}
}

// A step says what it touches, in words and in JSON: an upgrade or a restart does
// not only look.
func TestStepsFromLogsSayWhatTheyTouch(t *testing.T) {
	const error70 = "[2031-03-01 10:%02d:00,000] INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Node 2 was unable to process the fetch request with (sessionId=7, epoch=9): FETCH_SESSION_ID_NOT_FOUND. (org.apache.kafka.clients.FetchSessionHandler)\n"
	notCoordinator := strings.Repeat("2031-03-01 10:00:00,000 INFO [Consumer clientId=a, groupId=g] This is not the correct coordinator.\n", 2)
	old := "2031-03-01 10:00:00,000 app-info version=2.3.0 node=2 version=2.3.0\n"
	for _, c := range []struct{ log, safety, words string }{
		{notCoordinator, "restart", "(restarts processes)"},
		{old + fmt.Sprintf(error70, 1) + fmt.Sprintf(error70, 9), "change-broker", "(changes brokers)"},
		{pollLog, "change-client", "(changes the client)"},
		{"nothing\n", "look", "(looks only)"},
	} {
		var d struct {
			Next struct {
				Safety, Title string
				View          struct{ Safety string }
			} `json:"next_step"`
		}
		if err := json.Unmarshal([]byte(cliStdin(t, c.log, "diagnose", "--logs", "-", "-o", "json").stdout), &d); err != nil {
			t.Fatal(err)
		}
		if d.Next.Safety != c.safety {
			t.Errorf("%s: %q, want %q", d.Next.Title, d.Next.Safety, c.safety)
		}
		if text := cliStdin(t, c.log, "diagnose", "--logs", "-").stdout; !strings.Contains(text, c.words) {
			t.Errorf("no %q in:\n%s", c.words, text)
		}
	}
}

// A question that the log cannot answer is refused; one that it can is answered
// from the lines that it is about.
func TestQuestionsToALogAlone(t *testing.T) {
	day := now.Add(-time.Hour).UTC().Format("2006-01-02")
	line := func(clock, group string) string {
		return day + " " + clock + ",120 WARN [Consumer clientId=" + group + "-1, groupId=" + group + "] consumer poll timeout has expired.\n"
	}
	session := day + " 00:10:00,000 INFO [Consumer clientId=a, groupId=orders] Node 3 was unable to process the fetch request with (sessionId=7, epoch=90): FETCH_SESSION_ID_NOT_FOUND. (org.apache.kafka.clients.FetchSessionHandler)\n"
	log := line("00:10:00", "fraud") + line("00:40:00", "orders") + session
	for _, c := range []struct {
		log, args string
		code      int
		says, not string
	}{
		{log, "--group nope", exitUsage, "it names fraud, orders", "WARN"},
		{log, "--group fraud", exitFound, "group fraud", "orders"},
		{log, "--broker 9", exitUsage, "it names broker 3", "WARN"},
		{log, "--broker 3", exitUndecided, "broker 3", "group fraud"},
		{line("00:10:00", "fraud"), "--broker 3", exitUsage, "no line of the log names a broker", ""},
		{log, "--topic t", exitUsage, "not judged by topic", ""},
		{log, "--at " + day + "T00:20", exitFound, "group fraud", "group orders"},
		{log, "--at " + day + "T00:45 --since 10m", exitFound, "group orders", "group fraud"},
		{log, "--at " + day + "T00:05", exitUsage, "go from " + day + " 00:10:00 to " + day + " 00:40:00", ""},
		{"consumer poll timeout has expired.\n", "--since 30m", exitUsage, "carry no times", ""},
	} {
		r := cliStdin(t, c.log, append([]string{"diagnose", "--logs", "-"}, strings.Fields(c.args)...)...)
		all := r.stdout + r.stderr
		if r.code != c.code || !strings.Contains(all, c.says) || c.not != "" && strings.Contains(all, c.not) {
			t.Errorf("%s: code %d, want %d and %q:\n%s", c.args, r.code, c.code, c.says, all)
		}
	}
}

// A group that is asked for is judged behind many others, and one that the log does
// not name is refused with how many it does.
func TestLogsOfManyGroups(t *testing.T) {
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "2031-03-01 10:00:05,120 WARN [Consumer clientId=c%d, groupId=g%d] consumer poll timeout has expired.\n", i, i)
	}
	r := cliStdin(t, b.String(), "diagnose", "--logs", "-")
	if n := strings.Count(r.stdout, "\n"); n > 160 || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "the log names 1,200 groups") {
		t.Errorf("%d lines:\n%.3000s", n, r.stdout)
	}
	if r := cliStdin(t, b.String(), "diagnose", "--logs", "-", "--group", "g1199"); r.code != exitFound || !strings.Contains(r.stdout, "group g1199") {
		t.Errorf("code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := cliStdin(t, b.String(), "diagnose", "--logs", "-", "--group", "none"); r.code != exitUsage || !strings.Contains(r.stderr, "it names 1200 groups") {
		t.Errorf("code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// The host's port is no broker.
func TestLogsPortIsNoBroker(t *testing.T) {
	line := "[2031-03-01 10:00:05,120] INFO [Consumer clientId=a, groupId=g] Node 3 was unable to process the fetch request with (sessionId=7, epoch=4): FETCH_SESSION_ID_NOT_FOUND. (o.a.k.clients.FetchSessionHandler)\n" +
		"2031-03-01 10:00:06,000 WARN [Consumer clientId=a, groupId=g] Offset commit failed on partition t-0 at offset 1: broker:9092 is not the coordinator\n"
	if r := cliStdin(t, line, "diagnose", "--logs", "-", "--broker", "3"); r.code == exitUsage {
		t.Error(r.stderr)
	}
	if r := cliStdin(t, line, "diagnose", "--logs", "-", "-o", "json"); strings.Contains(r.stdout, "broker 9092") {
		t.Error(r.stdout)
	}
}
