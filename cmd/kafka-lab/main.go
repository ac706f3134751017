// Command kafka-lab starts real Kafka brokers on loopback, breaks them on purpose
// and prints what is true. See package lab.
package main

import (
	"context"
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
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kafka-lab",
		Short:         "Real Kafka brokers on loopback, broken on purpose",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(upCommand(), runCommand(), downCommand(), listCommand(), soakCommand(), corpusCommand(), clientCommand())
	return cmd
}

// progress prints one line on standard error; standard output is for JSON.
func progress(line string) { fmt.Fprintln(os.Stderr, line) }
