package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linted runs lint from testdata/lint, so that names are the same everywhere.
func linted(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	t.Chdir("testdata/lint")
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, env: []string{"TERM=xterm"}}
	code := a.run(context.Background(), append([]string{"lint"}, args...))
	return result{out.String(), errs.String(), code}
}

func TestLintText(t *testing.T) {
	r := linted(t, "", "--per-record", "50ms", "application.properties", "consumer.properties", "fine.properties", "librdkafka.conf", "server.properties")
	t.Chdir("../..")
	golden(t, "lint.text.txt", r.stdout)
	if r.code != 1 || r.stderr != "" {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("colours where no terminal is")
	}
}

func TestLintGitHub(t *testing.T) {
	r := linted(t, "", "-o", "github", "--kafka-version", "4.0", "librdkafka.conf", "server.properties", "missing.properties")
	t.Chdir("../..")
	golden(t, "lint.github.txt", r.stdout)
	if r.code != 2 {
		t.Errorf("code %d", r.code)
	}
}

func TestLintJSON(t *testing.T) {
	r := linted(t, "", "-o", "json", "fine.properties", "librdkafka.conf")
	t.Chdir("../..")
	golden(t, "lint.json", r.stdout)
	var got struct {
		Schema, Errors, Warnings, Advice int
		Files                            []struct{ File, Kind string }
		Findings                         []struct{ File, Check, Key string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != 1 || len(got.Files) != 2 || got.Files[1].Kind != "librdkafka" || got.Errors != len(got.Findings)-got.Warnings-got.Advice || r.code != 1 {
		t.Errorf("%+v, code %d", got, r.code)
	}
}

// A finding in YAML stands at its line in every output, with the part of the file.
func TestLintYAML(t *testing.T) {
	for _, o := range []string{"text", "github", "json"} {
		t.Run(o, func(t *testing.T) {
			r := linted(t, "", "-o", o, "--per-record", "50ms", "application.yml", "cluster.yaml", "missing.yaml")
			t.Chdir("../..")
			golden(t, "lint.yaml."+o+".txt", r.stdout)
			if r.code != 2 {
				t.Errorf("code %d, %s", r.code, r.stderr)
			}
		})
	}
}

func TestLintExitCodes(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long.properties")
	if err := os.WriteFile(long, []byte("a="+strings.Repeat("x", 70<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, stdin, args string
		code              int
		want              string
	}{
		{"fine", "", "fine.properties", 0, "fine.properties: fine (Java client)\n"},
		{"only advice", "", "--per-record 50ms fine.properties", 0, "200 records × 50 ms = 10 s"},
		{"findings", "", "consumer.properties", 1, "heartbeat-ratio"},
		{"standard input", "group.id=x\nmax.poll.records=0\n", "-", 1, "stdin:2:1: error"},
		{"empty input", "", "-", 2, "stdin: holds no setting: it is empty"},
		{"only comments", "# session.timeout.ms=45000\n", "--kind broker -", 2, "stdin: holds no setting"},
		{"kind given", "group.id=x\n", "--kind broker -", 1, "setting of a Java client"},
		{"kind unknown", "", "--kind java9 fine.properties", 2, "wants one of java, spring"},
		{"no file", "", "", 2, "wants at least one FILE"},
		{"twice from standard input", "", "- -", 2, "can be read once"},
		{"missing", "", "nope.properties fine.properties", 2, "nope.properties: no such file"},
		{"a folder", "", ".", 2, "is a folder; name its files"},
		{"no text", "a=\x00", "-", 2, "stdin:1:3: holds a NUL byte"},
		{"Latin-1", "# f\xfcr\ngroup.id=g\n", "-", 0, "stdin: fine (Java client)"},
		{"a huge line", "", long, 2, "longer than 64 kB"},
		{"a huge file", strings.Repeat("a=1\n", 1<<20), "-", 2, "larger than 1024 kB"},
		{"not Kafka's", "server.port=1\n", "-", 2, "say --kind"},
		{"half an escape", `group.id=\u12`, "-", 2, "hexadecimal"},
		{"YAML from standard input", "spring:\n  kafka.consumer.max-poll-records: 0\n", "-", 1, "stdin:2:3: error"},
		{"YAML with nothing of Kafka's", "kind: Deployment\napiVersion: apps/v1\n", "-", 2, "stdin: holds no Kafka settings that are read (Deployment: no Kafka settings in it)"},
		{"a chart's template", "---\na: {{ .Values.x }}\n", "-", 2, "helm template CHART"},
		{"aliases shared by two parts", "a:\n  config: &c {session.timeout.ms: 45s}\nb: {config: *c}\nspring: 1\n", "-", 1, "1 error, 0 warnings"},
		{"output", "", "-o xml fine.properties", 2, "wants text, json or github"},
		{"version", "", "--kafka-version four fine.properties", 2, "not a Kafka version"},
		{"no such version", "", "--kafka-version 9.9 fine.properties", 2, "the newest is 4.4"},
		{"old version", "", "--kafka-version 0.11 fine.properties", 2, "wants 2.0 or newer"},
		{"per record without unit", "", "--per-record 50 fine.properties", 2, "invalid argument"},
		{"per record negative", "", "--per-record -1s fine.properties", 2, "wants the time one record takes"},
		{"per record zero", "", "--per-record 0 fine.properties", 2, "wants the time one record takes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := linted(t, c.stdin, strings.Fields(c.args)...)
			if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
				t.Errorf("%+v, want code %d and %q", r, c.code, c.want)
			}
		})
	}
}

// Text from a file can be no workflow command and no terminal control.
func TestLintOutputIsInert(t *testing.T) {
	evil := "group.id=x\nx\\u000a\\u003a\\u003aerror\\u003a\\u003apwned=1\ny\\u001b[31m\\u202e=2\nisolation.level=a%0A::set-env::\\u001b\n"
	for _, o := range []string{"text", "github", "json"} {
		t.Run(o, func(t *testing.T) {
			r := linted(t, evil, "-o", o, "-")
			if r.code != 1 || strings.ContainsAny(r.stdout, "\x1b\u202e") {
				t.Errorf("%q", r.stdout)
			}
			for line := range strings.Lines(r.stdout) {
				if o == "github" && !strings.HasPrefix(line, "::warning file=stdin,") && !strings.HasPrefix(line, "::error file=stdin,") {
					t.Errorf("a line of the file's own: %q", line)
				}
			}
		})
	}
}
