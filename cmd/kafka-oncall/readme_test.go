package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

const readme = "../../README.md"

func readReadme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The README's configuration works as it stands, with its token files beside it.
func TestReadmeConfigIsFine(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readReadme(t), -1)
	if len(blocks) != 1 {
		t.Fatalf("%d yaml blocks, want the configuration alone", len(blocks))
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"config.yaml": blocks[0][1], "bot-token": "xoxb-1\n", "app-token": "xapp-1\n", "webhook-token": "w\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := cli(t, nil, nil, "check", "config", filepath.Join(dir, "config.yaml"))
	if r.code != 0 || !strings.HasSuffix(r.stdout, ": fine, 1 cluster\n") {
		t.Errorf("%+v", r)
	}
}

// Every class has a rule, and the README names it in its table.
func TestReadmeNamesEveryClass(t *testing.T) {
	text := readReadme(t)
	judged := diagnose.JudgedClasses()
	for _, e := range diagnose.Catalogue() {
		if !slices.Contains(judged, e.Class) {
			t.Errorf("%s has no rule", e.Class)
		}
		row := fmt.Sprintf("| [`%s`](docs/classes/%s.md) | %s | %s |\n", e.Class, e.Class, e.Headline, e.Meaning)
		if !strings.Contains(text, row) {
			t.Errorf("the table lacks the row %s", row)
		}
	}
}

// Every relative link in the README and in docs leads to a file, and to a
// heading where it names one.
func TestDocLinks(t *testing.T) {
	files := []string{readme, "../../CONTRIBUTING.md", "../../CHANGELOG.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if !strings.Contains(m[1], "://") {
				checkLink(t, f, m[1])
			}
		}
	}
}

func checkLink(t *testing.T, from, to string) {
	t.Helper()
	path, heading, _ := strings.Cut(to, "#")
	target := from
	if path != "" {
		target = filepath.Join(filepath.Dir(from), path)
	}
	if heading == "" {
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s links to %s, which is not there", from, to)
		}
		return
	}
	data, err := os.ReadFile(target)
	if err != nil {
		t.Errorf("%s links to %s, which is not there", from, to)
		return
	}
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "#") && anchor(line) == heading {
			return
		}
	}
	t.Errorf("%s links to %s, and there is no such heading", from, to)
}

// anchor is how a heading is linked to.
func anchor(heading string) string {
	s := strings.ToLower(strings.TrimSpace(strings.TrimLeft(heading, "#")))
	s = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(s, "")
	return strings.ReplaceAll(s, " ", "-")
}
