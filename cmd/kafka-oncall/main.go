// Command kafka-oncall is the on-call bot for Apache Kafka.
//
// Exit codes of `diagnose` and `replay`: 0 nothing wrong found, 10 a cause was
// named, 20 it cannot be told yet. All commands: 1 could not run, 2 bad usage
// or configuration.
//
// To read on: root.go lists the commands, one file each; config.go is the
// configuration file; collector.go builds the clients; card.go prints a
// diagnosis.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env, now: time.Now, newCollector: newCollector}
	return a.run(ctx, args)
}
