package playbooks

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with testdata/<name>.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
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

// show writes a message the way a person reads it, styles marked.
func show(m Message) string {
	var b strings.Builder
	line := func(r Rich, prefix string) {
		if len(r) > 0 {
			fmt.Fprintf(&b, "%s%s\n", prefix, marked(r))
		}
	}
	fmt.Fprintf(&b, "TEXT %s\n\n", m.Text)
	line(m.Title, "# ")
	line(m.Subject, "  ")
	line(m.Summary, "")
	for _, e := range m.Evidence {
		line(e, "• ")
	}
	if s := m.Step; s != nil {
		fmt.Fprintf(&b, "STEP %d of %d: %s — %s\n", s.Number, s.Of, s.Title, s.Safety.Words())
		line(s.Text, "     ")
		line(s.Arithmetic, "     = ")
		if s.Command != "" {
			fmt.Fprintf(&b, "     $ %s\n", s.Command)
		}
		line(s.Avoid, "     ! ")
		line(s.Verify, "     ? ")
	}
	for _, d := range m.Details {
		fmt.Fprintf(&b, "%s\n", d.Title)
		for _, l := range d.Lines {
			line(l, "  - ")
		}
	}
	for _, f := range m.Footer {
		line(f, "… ")
	}
	for _, x := range m.Buttons {
		fmt.Fprintf(&b, "[%s] ", x.Label)
	}
	return strings.TrimRight(b.String(), " \n") + "\n"
}

func marked(r Rich) string {
	var b strings.Builder
	for _, s := range r {
		t := s.Text
		switch s.Style {
		case Bold:
			t = "*" + t + "*"
		case Code:
			t = "`" + t + "`"
		case Plain:
		}
		if s.URL != "" {
			t = "[" + t + "](" + s.URL + ")"
		}
		if !s.Time.IsZero() {
			t = "<" + t + ">"
		}
		b.WriteString(t)
	}
	return b.String()
}
