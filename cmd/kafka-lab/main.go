// Command kafka-lab starts real Kafka brokers on loopback, breaks them on purpose
// and prints what is true. See package lab.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafka-lab:", err)
		os.Exit(exitCode(err))
	}
}

// Exit codes, as kafka-oncall has them.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line; nothing was started.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage marks an error as a mistake in the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func exitCode(err error) int {
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kafka-lab",
		Short:         "Real Kafka brokers on loopback, broken on purpose",
		SilenceUsage:  true,
		SilenceErrors: true,
		Long: `Real Kafka brokers on loopback, broken on purpose.

Exit codes: 0 done, 1 something failed, 2 bad usage.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unknown command %q; see 'kafka-lab --help'", args[0]))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(upCommand(), runCommand(), recordCommand(), downCommand(), listCommand(), soakCommand(), corpusCommand(), clientCommand())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	for _, c := range cmd.Commands() {
		if args := c.Args; args != nil {
			c.Args = func(cmd *cobra.Command, given []string) error { return usage(args(cmd, given)) }
		}
	}
	return cmd
}

// progress prints one line on standard error; standard output is for JSON.
func progress(line string) { fmt.Fprintln(os.Stderr, line) }
