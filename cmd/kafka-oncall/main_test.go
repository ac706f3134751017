package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

var update = flag.Bool("update", false, "write the golden files")

const corpus = "../../diagnose/testdata/corpus"

// now is the tests' clock, after all recorded evidence.
var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// recorded plays evidence instead of reading a cluster, and keeps the request.
type recorded struct {
	evidence diagnose.Evidence
	asked    []diagnose.Request
}

func (r *recorded) Collect(_ context.Context, q diagnose.Request) diagnose.Evidence {
	r.asked = append(r.asked, q)
	return r.evidence
}

// result is what a run of the program left behind.
type result struct {
	stdout, stderr string
	code           int
}

// cli runs the program. src answers instead of a cluster; nil = none may be
// asked.
func cli(t *testing.T, src *recorded, env []string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: env, now: func() time.Time { return now },
		newCollector: func(clusterConfig, *app) (collector, error) {
			if src == nil {
				return nil, errors.New("no cluster in this test")
			}
			return src, nil
		},
	}
	code := a.run(context.Background(), args)
	return result{out.String(), errs.String(), code}
}

func evidence(t *testing.T, name string) diagnose.Evidence {
	t.Helper()
	e, err := loadEvidence(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update and read the diff):\n%s", path, got)
	}
}

func TestUsageErrorsExitTwoAndSayWhat(t *testing.T) {
	for _, c := range []struct {
		args, want string
	}{
		{"", "Available Commands"},
		{"diagnos", `did you mean "diagnose"?`},
		{"playbooks", "Available Commands"},
		{"playbooks lnt", `did you mean "lint"?`},
		{"playbooks show", "wants one CLASS"},
		{"playbooks show nope", `there is no playbook for "nope"`},
		{"playbooks show quiet -o pdf", "wants text or markdown"},
		{"playbooks lint --dir /nowhere", "is not a folder"},
		{"check config", "wants one FILE"},
		{"check nothing", `unknown command "nothing"`},
		{"replay", "wants at least one FILE"},
		{"replay x -o xml", "wants text, json or markdown"},
		{"diagnose", "say where Kafka is: --config FILE, or --bootstrap HOST:PORT --prometheus URL"},
		{"diagnose --bootstrap nohost", "--bootstrap nohost: wants host:port"},
		{"diagnose --prometheus http://x", "want --bootstrap HOST:PORT beside them"},
		{"diagnose --bootstrap a:1 --config f", "exclude each other"},
		{"diagnose --bootstrap a:1 --group g --broker 1", "--group and --broker exclude each other"},
		{"diagnose --bootstrap a:1 --broker one", "invalid argument"},
		{"diagnose --bootstrap a:1 --broker -1", "a broker id is not negative"},
		{"diagnose --bootstrap a:1 --since soon", "--since soon: is no duration"},
		{"diagnose --bootstrap a:1 --since 8d", "--since 8d: is too long: at most 24h"},
		{"diagnose --bootstrap a:1 --since 10", "--since 10: is no duration; write 30m, 2h or 1d"},
		{"diagnose --bootstrap a:1 --at yesterday", "--at yesterday: wants RFC 3339"},
		{"diagnose --bootstrap a:1 --at 2027-01-01T00:00:00Z", "lies in the future"},
		{"diagnose --bootstrap a:1 -o yaml", "wants text, json or markdown"},
		{"diagnose --bootstrap a:1 extra", "unknown command"},
		{"diagnose --nope", "unknown flag: --nope"},
		{"version extra", "unknown command"},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := cli(t, nil, nil, strings.Fields(c.args)...)
			if r.code != exitUsage || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
				t.Errorf("code %d, stderr %q, stdout %q; want 2 and %q on stderr", r.code, r.stderr, r.stdout, c.want)
			}
		})
	}
}

func TestDiagnoseExitCodes(t *testing.T) {
	for name, want := range map[string]int{
		"quiet/broker": exitQuiet, "cache-thrash/waves": exitFound, "restart-burst/over": exitFound, "undecided/no-baseline": exitUndecided,
	} {
		src := &recorded{evidence: evidence(t, name)}
		r := cli(t, src, nil, "diagnose", "--bootstrap", "127.0.0.1:1", "--prometheus", "http://127.0.0.1:1", "--broker", "3", "-o", "json")
		if r.code != want {
			t.Errorf("%s: code %d, want %d: %s", name, r.code, want, r.stderr)
		}
		if strings.Count(r.stdout, "\n") != 1 || !json.Valid([]byte(r.stdout)) {
			t.Errorf("%s: stdout is not one object on one line: %s", name, r.stdout)
		}
		if r.stderr != "" {
			t.Errorf("%s: stderr is not empty: %s", name, r.stderr)
		}
	}
}

func TestDiagnosePassesTheQuestionOn(t *testing.T) {
	three := int32(3)
	for _, c := range []struct {
		args string
		want diagnose.Request
	}{
		{"--broker 3 --since 30m", diagnose.Request{Target: diagnose.Target{Cluster: "kafka", Broker: &three}, Window: 30 * time.Minute}},
		{"--group orders --cluster prod --since 1d", diagnose.Request{Target: diagnose.Target{Cluster: "prod", Group: "orders"}, Window: 24 * time.Hour}},
		{"--topic t --at 2026-11-30T02:16:03+01:00", diagnose.Request{Target: diagnose.Target{Cluster: "kafka", Topic: "t"}, At: time.Date(2026, 11, 30, 1, 16, 3, 0, time.UTC)}},
		{"--at 1764468963", diagnose.Request{Target: diagnose.Target{Cluster: "kafka"}, Scan: true, At: time.Unix(1764468963, 0).UTC()}},
		{"", diagnose.Request{Target: diagnose.Target{Cluster: "kafka"}, Scan: true}},
	} {
		src := &recorded{evidence: evidence(t, "quiet/broker")}
		r := cli(t, src, nil, append([]string{"diagnose", "--bootstrap", "127.0.0.1:1"}, strings.Fields(c.args)...)...)
		if len(src.asked) != 1 {
			t.Fatalf("%s: asked %d times: %s", c.args, len(src.asked), r.stderr)
		}
		got, _ := json.Marshal(src.asked[0])
		want, _ := json.Marshal(c.want)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: asked %s, want %s", c.args, got, want)
		}
	}
}

func TestNothingReadIsAFailureNotAVerdict(t *testing.T) {
	src := &recorded{evidence: diagnose.Evidence{
		Schema: 1, At: now,
		Cluster:       diagnose.Cluster{Reading: diagnose.Reading{Status: diagnose.StatusUnreachable, Error: "no broker answered", Hint: "check bootstrap_servers"}},
		Metrics:       diagnose.MetricsSource{Reading: diagnose.Reading{Status: diagnose.StatusTimeout}},
		GroupsReading: diagnose.Reading{Status: diagnose.StatusUnreachable},
	}}
	r := cli(t, src, nil, "diagnose", "--bootstrap", "127.0.0.1:1", "-o", "json")
	want := "kafka-oncall: nothing could be read.\nKafka: not reachable; no broker answered; check bootstrap_servers\nPrometheus: no answer in time\n"
	if r.code != exitFailed || r.stdout != "" || r.stderr != want {
		t.Errorf("code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
}

func TestRecordReplaysToTheSameVerdict(t *testing.T) {
	for _, name := range []string{"e.json", "e.json.gz"} {
		file := filepath.Join(t.TempDir(), name)
		src := &recorded{evidence: evidence(t, "cache-thrash/waves")}
		a := cli(t, src, nil, "diagnose", "--bootstrap", "127.0.0.1:1", "--broker", "3", "-o", "json", "--record", file)
		b := cli(t, nil, nil, "replay", "-o", "json", file)
		if a.code != exitFound || a.code != b.code || a.stdout != b.stdout || a.stdout == "" {
			t.Errorf("%s: diagnose gave %d %s, replay %d %s %s", name, a.code, a.stdout, b.code, b.stdout, b.stderr)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the record is not for its owner alone: %v %v", name, info.Mode(), err)
		}
	}
}

func TestReplayTakesTheWorstFile(t *testing.T) {
	path := func(name string) string { return filepath.Join(corpus, name) }
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"schema": 1, "at": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	quiet, found, open := path("quiet/broker"), path("restart-burst/over"), path("undecided/no-baseline")
	for _, c := range []struct {
		files []string
		code  int
		lines int
	}{
		{[]string{quiet}, exitQuiet, 1}, {[]string{found, quiet}, exitFound, 2}, {[]string{quiet, open, found}, exitUndecided, 3},
		{[]string{open, bad, quiet}, exitFailed, 2}, {[]string{path("nowhere")}, exitFailed, 0}, {[]string{t.TempDir()}, exitFailed, 0},
	} {
		r := cli(t, nil, nil, append([]string{"replay", "-o", "json"}, c.files...)...)
		if r.code != c.code || strings.Count(r.stdout, "\n") != c.lines {
			t.Errorf("%v: code %d with %d lines, want %d with %d: %s", c.files, r.code, strings.Count(r.stdout, "\n"), c.code, c.lines, r.stderr)
		}
		if c.code == exitFailed && r.stderr == "" {
			t.Errorf("%v: nothing on stderr", c.files)
		}
	}
}

func TestCards(t *testing.T) {
	for _, name := range []string{"restart-burst/during", "cache-thrash/waves", "quiet/near-blind"} {
		for _, form := range []string{"text", "markdown"} {
			r := cli(t, nil, []string{"NO_COLOR=1"}, "replay", "-o", form, filepath.Join(corpus, name))
			if strings.ContainsRune(r.stdout, '\x1b') {
				t.Errorf("%s %s: escape codes on a pipe", name, form)
			}
			golden(t, strings.ReplaceAll(name, "/", "-")+"."+form+".txt", r.stdout)
		}
	}
}

// Group names and the like come from outside: nothing in them may steer a
// terminal or become Markdown.
func TestCardsKeepOutsideTextInert(t *testing.T) {
	e := evidence(t, "lag-stable-group/grows")
	evil := "o\x1b[31m\r\n# [x](http://evil) `<script>` @here"
	e.Groups[0].ID, e.Target.Group = evil, evil
	for _, form := range []string{"text", "markdown"} {
		r := cli(t, &recorded{evidence: e}, nil, "diagnose", "--bootstrap", "127.0.0.1:1", "-o", form)
		if r.code != exitFound && r.code != exitUndecided {
			t.Fatalf("%s: code %d: %s", form, r.code, r.stderr)
		}
		if strings.ContainsAny(r.stdout, "\x1b\r") {
			t.Errorf("%s: control characters got through", form)
		}
		if form == "text" {
			continue
		}
		prose := markdownCode.ReplaceAllString(r.stdout, "")
		if bad := liveMarkdown.FindString(prose); bad != "" {
			t.Errorf("%q is live Markdown in:\n%s", bad, prose)
		}
	}
}

// markdownCode matches fenced blocks and code spans, where nothing is live.
var liveMarkdown = regexp.MustCompile(`(^|[^\\])\]\(http://evil|<script>|@here|\n# \[?x`)

var markdownCode = regexp.MustCompile("(?s)```.*?```|`` .*? ``|`[^`\n]*`")

func TestVersionNamesTheSchema(t *testing.T) {
	r := cli(t, nil, nil, "version")
	if r.code != 0 || !strings.Contains(r.stdout, "evidence schema 1") {
		t.Errorf("%+v", r)
	}
}

func TestPlaybookCommands(t *testing.T) {
	if r := cli(t, nil, nil, "playbooks", "lint"); r.code != 0 || r.stdout != "playbooks: fine\n" {
		t.Errorf("lint: %+v", r)
	}
	if r := cli(t, nil, nil, "playbooks", "list"); r.code != 0 || !strings.HasPrefix(r.stdout, "restart-burst ") {
		t.Errorf("list: %+v", r)
	}
	golden(t, "show-poll-interval.txt", cli(t, nil, nil, "playbooks", "show", "poll-interval").stdout)
	golden(t, "show-poll-interval.md", cli(t, nil, nil, "playbooks", "show", "poll-interval", "-o", "markdown").stdout)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "q.yaml"), []byte("class: quiet\nmeaning: m\nimpact: i\nsteps:\n  - id: look\n    title: Look\n    safety: look\n    text: Look.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := cli(t, nil, nil, "playbooks", "lint", "--dir", dir)
	if want := "q.yaml:5:5: steps[0]: the step \"look\" has no verify"; r.code != exitUsage || !strings.HasPrefix(r.stdout, want) {
		t.Errorf("lint of an overlay: %+v, want %q", r, want)
	}
}
