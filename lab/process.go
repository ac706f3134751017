package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Proc names one process beyond doubt: an id is reused by the kernel, the pair of
// id and start time is not. Started is field 22 of /proc/PID/stat (clock ticks
// since boot); Boot is the kernel's boot id, so that state left from before a
// reboot matches nothing.
type Proc struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	Boot    string `json:"boot"`
}

// launch is what start needs to know.
type launch struct {
	path string
	args []string
	env  []string // added to the environment
	out  string   // file that gets stderr, and stdout too unless pipe is set
	pipe bool     // stdin and stdout are pipes, and the process dies with ours by end of input
}

// child is a process of ours with its pipes.
type child struct {
	Proc
	in   io.WriteCloser
	out  io.ReadCloser
	done chan struct{} // closed once reaped
}

// start launches a process in its own session, so that a Ctrl-C in the terminal
// reaches only kafka-lab itself.
func start(l launch) (*child, error) {
	log, err := os.OpenFile(l.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", l.path, err)
	}
	defer log.Close()
	cmd := exec.Command(l.path, l.args...)
	cmd.Env = append(os.Environ(), l.env...)
	cmd.Stderr, cmd.Stdout = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c := &child{done: make(chan struct{})}
	var theirs []*os.File
	if l.pipe {
		if theirs, err = c.connect(cmd); err != nil {
			return nil, err
		}
	}
	err = cmd.Start()
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", l.path, err)
	}
	c.Proc, err = identify(cmd.Process.Pid)
	go func() { _, _ = cmd.Process.Wait(); close(c.done) }()
	if err != nil {
		return nil, fmt.Errorf("starting %s: it ended at once, see %s", l.path, l.out)
	}
	return c, nil
}

// connect gives the command pipes. os.Pipe and not cmd.StdoutPipe, because Wait
// closes the latter before the reader has seen the last lines.
func (c *child) connect(cmd *exec.Cmd) (theirs []*os.File, err error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout = inR, outW
	c.in, c.out = inW, outR
	return []*os.File{inR, outW}, nil
}

// identify reads the start time of a live process.
func identify(pid int) (Proc, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Proc{}, fmt.Errorf("reading the boot id: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Proc{}, fmt.Errorf("process %d: %w", pid, err)
	}
	started, state, err := parseStat(stat)
	if err != nil {
		return Proc{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return Proc{}, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return Proc{PID: pid, Started: started, Boot: strings.TrimSpace(string(boot))}, nil
}

// parseStat takes state (field 3) and starttime (field 22) out of a stat line.
// The second field is the program's name in brackets and may itself hold blanks
// and brackets, so counting starts after the last closing one.
func parseStat(stat []byte) (started uint64, state byte, err error) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, 0, errors.New("stat line without a name")
	}
	f := strings.Fields(string(stat[i+1:]))
	if len(f) < 20 {
		return 0, 0, errors.New("stat line too short")
	}
	started, err = strconv.ParseUint(f[19], 10, 64)
	return started, f[0][0], err
}

// Alive says whether this very process still runs.
func (p Proc) Alive() bool {
	if p.PID <= 1 {
		return false
	}
	now, err := identify(p.PID)
	return err == nil && now == p
}

// Signal sends sig, but only to the process that was written down.
// A process that is gone gives os.ErrProcessDone.
func (p Proc) Signal(sig syscall.Signal) error {
	if !p.Alive() {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(p.PID, sig); err != nil {
		return fmt.Errorf("sending %s to process %d: %w", signalName(sig), p.PID, err)
	}
	return nil
}

// stop sends sig and waits until the process is gone; after patience it sends
// SIGKILL. A frozen process is thawed first, or it would never see sig.
func (p Proc) stop(ctx context.Context, sig syscall.Signal, patience time.Duration) error {
	_ = p.Signal(syscall.SIGCONT)
	if err := p.Signal(sig); err != nil {
		return ignoreDone(err)
	}
	if err := p.gone(ctx, patience); err == nil || ctx.Err() != nil {
		return err
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return ignoreDone(err)
	}
	return p.gone(ctx, 10*time.Second)
}

// gone waits for the end of the process.
func (p Proc) gone(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return poll(ctx, 25*time.Millisecond, fmt.Sprintf("the end of process %d", p.PID), func(context.Context) (bool, error) {
		return !p.Alive(), nil
	})
}

// signalName is what people call the signals the lab sends.
func signalName(sig syscall.Signal) string {
	switch sig {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGKILL:
		return "SIGKILL"
	}
	return sig.String()
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// poll asks ready every interval until it says yes, fails for good, or ctx ends;
// the error then names what was waited for.
func poll(ctx context.Context, every time.Duration, what string, ready func(context.Context) (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, err := ready(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
