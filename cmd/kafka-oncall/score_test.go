package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// someCases copies cases of the corpus into a folder.
func someCases(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(corpus, name))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReplayScore(t *testing.T) {
	dir := someCases(t, "cache-thrash/waves", "cache-thrash/recorded-later", "quiet/near-blind", "cache-thrash/model-waves-01")
	r := cli(t, nil, nil, "replay", "--score", dir, "-o", "json")
	if r.code != exitQuiet || r.stderr != "" {
		t.Fatalf("code %d, %s", r.code, r.stderr)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"runs": 4.0, "recorded_runs": 1.0, "synthetic_runs": 3.0, "tuned_runs": 3.0, "held_out_runs": 1.0,
		"macro_f1": 1.0, "wrong_confirmed_share": 0.0, "grounded_accuracy": 1.0,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	thrash := got["per_class"].(map[string]any)["cache-thrash"].(map[string]any)
	if thrash["recall"] != 1.0 || thrash["precision"] != 1.0 || thrash["runs"] != 3.0 {
		t.Errorf("cache-thrash: %v", thrash)
	}
	text := cli(t, nil, []string{"NO_COLOR=1"}, "replay", "--score", dir)
	for _, want := range []string{
		"4 cases: 1 recorded on real brokers, 3 synthetic. Rules were tuned on 3 of them; held out: 1.", "known runs of the lab behind them: 0.",
		"truth \\ found", "no-consumer-offsets", "articles",
	} {
		if text.code != exitQuiet || !strings.Contains(text.stdout, want) {
			t.Errorf("code %d; the text lacks %q:\n%s", text.code, want, text.stdout)
		}
	}
}

// A wrong verdict is part of the score, not a failure; a held-out one is not named.
func TestReplayScoreNamesTheWrongOnes(t *testing.T) {
	dir := someCases(t, "cache-thrash/waves")
	for _, name := range []string{"seen", "held-31"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, "cache-thrash/waves"))); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, meta string) {
		if err := os.WriteFile(filepath.Join(dir, name, "case.json"), []byte(meta), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("seen", `{"provenance":"synthetic","class":"misrouted-sessions"}`)
	write("held-31", `{"provenance":"synthetic","class":"misrouted-sessions","set":"held-out"}`)
	r := cli(t, nil, []string{"NO_COLOR=1"}, "replay", "--score", dir)
	if r.code != exitQuiet || !strings.Contains(r.stdout, "seen: misrouted-sessions, found cache-thrash (confirmed)") || strings.Contains(r.stdout, "held-31") {
		t.Errorf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func TestReplayScoreErrors(t *testing.T) {
	bad := someCases(t, "cache-thrash/waves")
	if err := os.MkdirAll(filepath.Join(bad, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, "x", "case.json"), []byte("{\n\"primary\": 3}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no such folder", []string{filepath.Join(bad, "nowhere")}, exitFailed, "Give the folder that holds the cases"},
		{"a file", []string{filepath.Join(bad, "x", "case.json")}, exitUsage, "is a file"},
		{"nothing in it", []string{t.TempDir()}, exitFailed, "holds no case"},
		{"two folders", []string{bad, bad}, exitUsage, "wants one DIR"},
		{"another form", []string{bad, "-o", "markdown"}, exitUsage, "text or json"},
		{"one cannot be read", []string{bad}, exitFailed, "x: case.json: line 2"},
	} {
		r := cli(t, nil, nil, append([]string{"replay", "--score"}, x.args...)...)
		if r.code != x.code || !strings.Contains(r.stderr, x.want) {
			t.Errorf("%s: code %d, %q; want %d, %q", x.name, r.code, r.stderr, x.code, x.want)
		}
	}
	for _, form := range []string{"text", "json"} {
		r := cli(t, nil, nil, "replay", "--score", filepath.Join(bad, "x"), "-o", form)
		if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, "case.json: line 2") || !strings.Contains(r.stderr, "no case could be read") {
			t.Errorf("no case can be read, %s: %+v", form, r)
		}
	}
	if r := cli(t, nil, nil, "replay", "--score", bad, "-o", "json"); !strings.Contains(r.stdout, `"runs": 1`) {
		t.Errorf("the readable case is not scored: %s", r.stdout)
	}
}
