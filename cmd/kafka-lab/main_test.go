package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistake in the command line ends with 2, as in kafka-oncall; what fails
// later with 1.
func TestExitCodes(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(plan, []byte("quiet --nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"": 0, "--help": 0, "run --help": 0,
		"frobnicate":                      exitUsage,
		"--frobnicate":                    exitUsage,
		"run":                             exitUsage,
		"run restart-burst another":       exitUsage,
		"record --help":                   0,
		"record":                          exitUsage,
		"record rec":                      exitUsage,
		"record rec no-such-scenario":     exitUsage,
		"record rec quiet --record other": exitUsage,
		"record rec quiet --dir " + plan + "/nowhere": exitFailed,
		"run no-such-scenario":                        exitUsage,
		"up --brokers many":                           exitUsage,
		"up --set nonsense":                           exitUsage,
		"up extra":                                    exitUsage,
		"corpus":                                      exitUsage,
		"corpus --set seen x":                         exitUsage,
		"soak --plan " + plan:                         exitUsage,
		"run quiet --dir " + plan + "/nowhere":        exitFailed,
	} {
		cmd := root()
		cmd.SetArgs(strings.Fields(line))
		cmd.SetOut(io.Discard)
		err := cmd.Execute()
		got := 0
		if err != nil {
			got = exitCode(err)
		}
		if got != want {
			t.Errorf("kafka-lab %s: %d (%v), want %d", line, got, err, want)
		}
	}
	if got := exitCode(errors.New("a broker did not start")); got != exitFailed {
		t.Error(got)
	}
}
