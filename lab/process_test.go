package lab

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const line = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 987654 1 2"
	started, state, err := parseStat([]byte(line))
	if err != nil || started != 987654 || state != 'S' {
		t.Errorf("got %d, %c, %v", started, state, err)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1 2"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

// A process id that was given to another process since must never be signalled.
func TestOnlyOurOwnProcessIsSignalled(t *testing.T) {
	c, err := start(launch{path: "sleep", args: []string{"60"}, out: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Proc{
		"other start time": {PID: c.PID, Started: c.Started + 1, Boot: c.Boot},
		"before a reboot":  {PID: c.PID, Started: c.Started, Boot: "another"},
		"none":             {},
		"init":             {PID: 1},
		"everything":       {PID: -1},
	} {
		if p.Alive() {
			t.Errorf("%s: taken for ours", name)
		}
		if err := p.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if !c.Alive() {
		t.Fatal("our own process was hit")
	}
	if err := c.stop(t.Context(), syscall.SIGTERM, 5*time.Second); err != nil || c.Alive() {
		t.Errorf("stop: %v, alive %v", err, c.Alive())
	}
	if err := c.stop(t.Context(), syscall.SIGTERM, 5*time.Second); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

// A frozen process sees no SIGTERM: it has to be thawed by stop.
func TestStopThawsAFrozenProcess(t *testing.T) {
	c, err := start(launch{path: "sleep", args: []string{"60"}, out: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := c.stop(t.Context(), syscall.SIGTERM, 5*time.Second); err != nil || c.Alive() {
		t.Errorf("stop: %v, alive %v", err, c.Alive())
	}
}

func TestDownIsRepeatableAndKeepsLogs(t *testing.T) {
	dir := t.TempDir()
	o, err := Options{Version: "4.4.0", Dir: dir, Name: "x"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := start(launch{path: "sleep", args: []string{"60"}, out: filepath.Join(s.Dir, "sleep.log")})
	if err != nil {
		t.Fatal(err)
	}
	s.Others["prometheus"] = c.Proc
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	if _, err := plan(o); err == nil {
		t.Error("a second lab of a running one's name must be refused")
	}
	for range 2 {
		if err := Down(t.Context(), dir, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if c.Alive() || exists(statePath(s.Dir)) || !exists(filepath.Join(s.Dir, "sleep.log")) {
		t.Error("want the process ended, the state gone, the log kept")
	}
}
