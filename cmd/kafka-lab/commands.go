package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kafka-oncall/kafka-oncall/lab"
)

func upCommand() *cobra.Command {
	o := lab.Options{Progress: progress}
	var sets []string
	var tokenFile string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start brokers, Prometheus and Alertmanager; print their addresses as JSON",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range sets {
				set, err := lab.ParseSetting(s)
				if err != nil {
					return usage(err)
				}
				o.Set = append(o.Set, set)
			}
			if tokenFile != "" {
				b, err := os.ReadFile(tokenFile)
				if err != nil {
					return fmt.Errorf("reading the webhook token: %w", err)
				}
				o.WebhookToken = strings.TrimSpace(string(b))
			}
			c, err := lab.Up(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer c.Close()
			return printJSON(c.Info())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Version, "version", "4.4.0", "Kafka version: "+strings.Join(lab.Versions, ", "))
	f.IntVar(&o.Brokers, "brokers", 1, "number of brokers; three or more replicate threefold")
	f.StringVar(&o.Name, "name", "klab", "name of the lab, also the cluster label")
	f.BoolVar(&o.Replace, "replace", false, "end a running lab of the same name first")
	f.StringVar(&o.Dir, "dir", ".klab", "folder of run state and logs")
	f.IntVar(&o.Slots, "slots", 0, "max.incremental.fetch.session.cache.slots (0: Kafka's default, 1000)")
	f.IntVar(&o.OffsetsPartitions, "offsets-partitions", 8, "partitions of __consumer_offsets")
	f.DurationVar(&o.LeaderImbalanceCheck, "leader-imbalance-check", 0, "leader.imbalance.check.interval.seconds (0: Kafka's default, 300s)")
	f.StringArrayVar(&sets, "set", nil, "further broker setting KEY=VALUE, or ID:KEY=VALUE for one broker; repeatable")
	f.StringVar(&o.RulesFile, "rules", "", "Prometheus rule file (default: the lab's own short-winded rules)")
	f.DurationVar(&o.AlertWindow, "alert-window", time.Minute, "look-back of the lab's own rules")
	f.StringVar(&o.WebhookURL, "webhook", "", "where Alertmanager posts")
	f.StringVar(&tokenFile, "webhook-token-file", "", "file with the bearer token Alertmanager sends")
	f.DurationVar(&o.ScrapeInterval, "scrape-interval", time.Second, "scrape and evaluation interval")
	f.IntVar(&o.HeapMB, "heap", 512, "heap of each broker in MB")
	return cmd
}

func runCommand() *cobra.Command {
	var p lab.Params
	var l lookFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Break something on purpose; print the ground truth as JSON",
		Long:  "Break something on purpose; print the ground truth as JSON.\n\nScenarios:\n" + scenarioList(),
		Args:  cobra.ExactArgs(1),
	}
	play := playing(cmd, &p, &l)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return play(cmd, args[0]) }
	f := cmd.Flags()
	f.StringVar(&p.Record, "record", "", "folder for the raw material of the run")
	l.add(f)
	return cmd
}

// recordCommand is run --record DIR --look.
func recordCommand() *cobra.Command {
	var p lab.Params
	l := lookFlags{own: true}
	cmd := &cobra.Command{
		Use:   "record DIR SCENARIO",
		Short: "Break something, diagnose it and keep everything: run SCENARIO --record DIR --look",
		Long: `Break something on purpose, diagnose it during the fault and just after, and keep
the raw material, the evidence and the verdicts in DIR: the same as

  kafka-lab run SCENARIO --record DIR --look

with the other flags of run. The ground truth is printed as JSON. DIR is what
kafka-lab corpus files as cases.

Scenarios:
` + scenarioList(),
		Example: "  kafka-lab record /tmp/rec session-timeout --stable-for 90s",
		Args:    cobra.ExactArgs(2),
	}
	play := playing(cmd, &p, &l)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p.Record = args[0]
		return play(cmd, args[1])
	}
	l.addBinary(cmd.Flags())
	return cmd
}

// playing adds the flags of a run to a command, and returns what it does.
func playing(cmd *cobra.Command, p *lab.Params, l *lookFlags) func(cmd *cobra.Command, scenario string) error {
	var dir, name string
	f := cmd.Flags()
	f.StringVar(&dir, "dir", ".klab", "folder of run state and logs")
	f.StringVar(&name, "name", "klab", "name of the lab")
	playFlags(f, p)
	f.DurationVar(&p.Later, "later", 0, "one more look that long after the end (with --look)")
	return func(cmd *cobra.Command, scenario string) error {
		if err := lab.KnowsScenario(scenario); err != nil {
			return usage(err)
		}
		c, err := lab.Open(dir, name, progress)
		if err != nil {
			return err
		}
		defer c.Close()
		p.Looker = l.looker()
		truth, err := c.Run(cmd.Context(), scenario, *p)
		if err != nil {
			return err
		}
		return truth.Write(os.Stdout)
	}
}

// playFlags are the parameters of one play.
func playFlags(f *pflag.FlagSet, p *lab.Params) {
	f.StringVar(&p.Protocol, "protocol", "classic", "group protocol of the consumers: classic or consumer")
	f.DurationVar(&p.StableFor, "stable-for", 0, "leave the group alone for that long before the fault")
	f.DurationVar(&p.Hold, "hold", 0, "keep everything running for that long after the fault")
	f.DurationVar(&p.Away, "away", 0, "how long the victim stays frozen or stalled")
	f.BoolVar(&p.Kill, "kill", false, "restart-burst: SIGKILL instead of SIGTERM")
	f.StringVar(&p.Group, "group", "", "name of the consumer group (group scenarios; default: a new one)")
	f.StringVar(&p.Topic, "topic", "", "name of the topic (default: a new one)")
	f.StringVar(&p.Client, "client", "java", "library of the consumers in group scenarios: java, librdkafka or franz-go")
	f.BoolVar(&p.Static, "static", false, "give every consumer a group.instance.id")
	f.IntVar(&p.Java, "java", 0, "genuine Java consumers beside the raw clients (fetch-session scenarios)")
	f.DurationVar(&p.Session, "session-timeout", 0, "session.timeout.ms of classic consumers (default 6s)")
	f.DurationVar(&p.MaxPoll, "max-poll-interval", 0, "max.poll.interval.ms, also the rebalance timeout (default 12s)")
	f.DurationVar(&p.Commit, "commit-interval", 0, "auto.commit.interval.ms (default 1s)")
	f.StringVar(&p.How, "how", "", "form of the scenario, where it has several")
}

func scenarioList() string {
	var b strings.Builder
	for _, s := range lab.Scenarios() {
		fmt.Fprintf(&b, "  %-22s %s\n", s.Name, s.Text)
		if len(s.Hows) > 0 {
			fmt.Fprintf(&b, "  %-22s --how %s\n", "", strings.Join(s.Hows, ", "))
		}
	}
	return b.String()
}

// clientCommand is how the lab starts its franz-go consumers.
func clientCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "client",
		Short:              "Play franz-go consumers (started by the lab itself)",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return lab.RunClient(cmd.Context(), args, os.Stdin, os.Stdout)
		},
	}
}

func downCommand() *cobra.Command {
	var dir, name string
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End everything that up and run started; repeatable",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := []string{name}
			if all {
				var err error
				if names, err = lab.Names(dir); err != nil {
					return err
				}
			}
			for _, n := range names {
				if err := lab.Down(cmd.Context(), dir, n); err != nil {
					return err
				}
				progress("lab " + n + " is down")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".klab", "folder of run state and logs")
	cmd.Flags().StringVar(&name, "name", "klab", "name of the lab")
	cmd.Flags().BoolVar(&all, "all", false, "every lab under --dir")
	return cmd
}

func listCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the labs that run, as JSON",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			names, err := lab.Names(dir)
			if err != nil {
				return err
			}
			infos := []lab.Info{}
			for _, n := range names {
				c, err := lab.Open(dir, n, nil)
				if err != nil {
					return err
				}
				infos = append(infos, c.Info())
				c.Close()
			}
			return printJSON(infos)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".klab", "folder of run state and logs")
	return cmd
}

func printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err = fmt.Println(string(b))
	return err
}
