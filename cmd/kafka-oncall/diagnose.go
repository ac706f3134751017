package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// diagnoseFlags are the flags of diagnose as they were typed.
type diagnoseFlags struct {
	config, cluster                 string
	bootstrap                       []string
	prometheus, selector            string
	group, topic, since, at, output string
	record                          string
	logs                            []string
	broker                          int32
	budget, watch                   time.Duration
}

func (a *app) diagnoseCommand() *cobra.Command {
	var f diagnoseFlags
	c := &cobra.Command{
		Use:   "diagnose",
		Short: "Diagnose a cluster, a group, a broker or a topic now",
		Long: `Read metrics and group state, name the cause and the next step. Nothing is
written to Kafka.

Without --group, --broker or --topic the whole cluster is looked at: fetch
sessions of all brokers, and groups that lost members.

With --logs alone the text of a log is judged, with no configuration and no
network: nothing is confirmed then, since a line says what a program believed.
--group and --broker ask about one that the log names; --since and --at leave out
lines before and after (stamps without a zone are read as UTC).
Beside --config or --bootstrap it is one more witness.

Exit code: 0 nothing wrong found, 10 a cause was named, 20 cannot tell yet,
1 could not run, 2 bad usage or configuration.`,
		Example: `  kafka-oncall diagnose --bootstrap localhost:9092 --prometheus http://localhost:9090
  kafka-oncall diagnose --config config.yaml --cluster kafka-prod --group orders --since 30m
  kafka-oncall diagnose --config config.yaml --broker 3 -o json --record evidence.json
  kubectl logs deploy/orders --since 1h | kafka-oncall diagnose --logs -`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.diagnose(c.Context(), f, c.Flags().Changed("broker"))
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "configuration file (or $"+envConfig+")")
	fl.StringVar(&f.cluster, "cluster", "", "cluster of the configuration file; with --bootstrap only a name")
	fl.StringSliceVar(&f.bootstrap, "bootstrap", nil, "host:port of a broker, instead of a configuration file")
	fl.StringVar(&f.prometheus, "prometheus", "", "address of Prometheus, with --bootstrap")
	fl.StringVar(&f.selector, "selector", "", `matchers of this cluster's series, for example '{cluster="x"}'`)
	fl.StringVar(&f.group, "group", "", "consumer group to look at")
	fl.Int32Var(&f.broker, "broker", 0, "broker id to look at")
	fl.StringVar(&f.topic, "topic", "", "topic to look at")
	fl.StringVar(&f.since, "since", "", "span to judge, 1m to 24h, for example 30m (default 10m; fetch sessions are judged over at least 6m)")
	fl.StringVar(&f.at, "at", "", "moment to look from: RFC 3339, \"2006-01-02 15:04\" in UTC, or unix seconds; metrics, group history and log text only")
	fl.StringVarP(&f.output, "output", "o", "text", "text, json or markdown")
	fl.StringVar(&f.record, "record", "", "write the evidence to a file that replays to the same verdict (.json or .json.gz)")
	fl.StringArrayVar(&f.logs, "logs", nil, "file of client or broker log text, - for standard input; repeat for several (.gz is read too)")
	fl.DurationVar(&f.budget, "budget", 0, "time for reading all sources (default 10s)")
	fl.DurationVar(&f.watch, "watch", 0, "keep looking for this long and print each change of the verdict, for example 15m")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		return cmp.Or(oneOf(c, "group", "broker", "topic"), oneOf(c, "watch", "at"), oneOf(c, "watch", "logs"))
	}
	return c
}

func (a *app) diagnose(ctx context.Context, f diagnoseFlags, hasBroker bool) error {
	request, err := a.request(f, hasBroker)
	if err != nil {
		return err
	}
	if len(f.logs) > 0 && f.offline() {
		return a.diagnoseLogs(f, request)
	}
	text, _, err := a.readLogs(f.logs, logs.Options{Now: a.now(), Group: f.group})
	if err != nil {
		return err
	}
	cluster, limits, dir, err := a.source(f)
	if err != nil {
		return err
	}
	set, err := loadPlaybooks(dir)
	if err != nil {
		return asUsage(err)
	}
	write, err := a.writer(f.output, set)
	if err != nil {
		return err
	}
	request.Target.Cluster = cluster.Name
	col, err := a.newCollector(cluster, a)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var notKept error
	look := func() (diagnose.Diagnosis, error) {
		e, err := a.read(ctx, col, cluster, request)
		if len(f.logs) > 0 {
			logs.Attach(&e, text, logSource(f.logs))
		}
		if err == nil && f.record != "" {
			// The verdict is shown in any case.
			notKept = saveEvidence(f.record, e)
		}
		return diagnose.Classify(e, limits), err
	}
	d, err := keepLooking(ctx, f.watch, look, write)
	if err != nil {
		var e *exitError
		if errors.As(err, &e) {
			return err
		}
		return failed("%w", err)
	}
	if notKept != nil {
		return failed("%s: %w", f.record, notKept)
	}
	if code := exitCode(d); code != exitQuiet {
		return &exitError{code: code}
	}
	return nil
}

// read collects evidence and shows on a terminal what takes time.
func (a *app) read(ctx context.Context, col collector, c clusterConfig, r diagnose.Request) (diagnose.Evidence, error) {
	p := progress{w: a.stderr, on: isTerminal(a.stderr)}
	p.start(c.Budget)
	e := col.Collect(ctx, r)
	p.done(e)
	if err := ctx.Err(); err != nil {
		return e, failed("stopped before the evidence was read: %w", err)
	}
	if nothingRead(e) {
		return e, failed("nothing could be read.\n%s", whyNothing(e))
	}
	return e, nil
}

// nothingRead reports whether neither Kafka nor Prometheus answered: then there
// is no diagnosis to speak of, not even an undecided one.
func nothingRead(e diagnose.Evidence) bool {
	return !e.Cluster.Usable() && !e.Metrics.Usable() && !e.GroupsReading.Usable()
}

func whyNothing(e diagnose.Evidence) string {
	var lines []string
	for _, x := range []struct {
		what string
		r    diagnose.Reading
	}{{"Kafka", e.Cluster.Reading}, {"Prometheus", e.Metrics.Reading}} {
		text := x.what + ": " + x.r.Known().Words()
		for _, more := range []string{x.r.Error, x.r.Hint} {
			if more != "" {
				text += "; " + playbooks.Clean(more, 300)
			}
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// request turns flags into a question.
func (a *app) request(f diagnoseFlags, hasBroker bool) (diagnose.Request, error) {
	r := diagnose.Request{Target: diagnose.Target{Group: f.group, Topic: f.topic}}
	if hasBroker {
		if f.broker < 0 {
			return r, usage("--broker %d: a broker id is not negative", f.broker)
		}
		r.Target.Broker = &f.broker
	}
	r.Scan = f.group == "" && f.topic == "" && !hasBroker
	var err error
	if f.since != "" {
		if r.Window, err = diagnose.ParseWindow(f.since); err != nil {
			return r, usage("--since %s: %w", f.since, err)
		}
	}
	r.At, err = a.moment(f.at)
	return r, err
}

// oneOf refuses flags that exclude each other.
func oneOf(c *cobra.Command, names ...string) error {
	var set []string
	for _, n := range names {
		if c.Flags().Changed(n) {
			set = append(set, "--"+n)
		}
	}
	if len(set) > 1 {
		return usage("%s exclude each other: ask about one of them", strings.Join(set, " and "))
	}
	return nil
}

// moment reads a time; the zero time means now.
func (a *app) moment(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := parseMoment(s)
	switch {
	case err != nil:
		return t, usage("--at %s: wants RFC 3339, \"2006-01-02 15:04\" in UTC, or unix seconds", s)
	case t.After(a.now()):
		return t, usage("--at %s: lies in the future", s)
	}
	return t.UTC(), nil
}

func parseMoment(s string) (time.Time, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n > 1e9 && n < 1e11 {
		return time.UnixMilli(int64(n * 1000)), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("not a time")
}

// source finds the cluster to ask: from a configuration file, or from
// --bootstrap and --prometheus alone.
func (a *app) source(f diagnoseFlags) (clusterConfig, diagnose.Limits, string, error) {
	limits := diagnose.DefaultLimits()
	if len(f.bootstrap) > 0 || f.prometheus != "" || f.selector != "" {
		c, err := direct(f)
		return c, limits, "", err
	}
	file := f.config
	if file == "" {
		file = a.getenv(envConfig)
	}
	if file == "" {
		return clusterConfig{}, limits, "", usage("say where Kafka is: --config FILE, or --bootstrap HOST:PORT --prometheus URL")
	}
	cfg, err := a.loadConfig(file)
	if err != nil {
		return clusterConfig{}, limits, "", configError(err)
	}
	c, err := cfg.cluster(f.cluster)
	if err != nil {
		return c, limits, "", usage("%w", err)
	}
	if f.budget > 0 {
		c.Budget = f.budget
	}
	return c, cfg.Limits, cfg.PlaybooksDir, nil
}

// direct is the one-line first try, without a file.
func direct(f diagnoseFlags) (clusterConfig, error) {
	switch {
	case f.config != "":
		return clusterConfig{}, usage("--config and --bootstrap/--prometheus/--selector exclude each other")
	case len(f.bootstrap) == 0:
		return clusterConfig{}, usage("--prometheus and --selector want --bootstrap HOST:PORT beside them")
	}
	for _, b := range f.bootstrap {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			return clusterConfig{}, usage("--bootstrap %s: wants host:port", b)
		}
	}
	c := clusterConfig{
		Name: f.cluster, Kafka: collect.KafkaConfig{BootstrapServers: slices.Clone(f.bootstrap)},
		Prometheus: collect.PrometheusConfig{URL: f.prometheus, Selector: f.selector, ExternalURL: f.prometheus}, Budget: f.budget,
	}
	if c.Name == "" {
		c.Name = "kafka"
	}
	c.withDefaults()
	if err := c.Kafka.Validate(); err != nil {
		return c, usage("%w", err)
	}
	return c, nil
}

// writer prints a diagnosis in the chosen form.
func (a *app) writer(output string, set *playbooks.Set) (func(diagnose.Diagnosis) error, error) {
	switch output {
	case outputJSON:
		return func(d diagnose.Diagnosis) error { return writeJSON(a.stdout, d, set) }, nil
	case outputMarkdown:
		return func(d diagnose.Diagnosis) error { return writeMarkdown(a.stdout, cardOf(d, set)) }, nil
	case outputText:
		return func(d diagnose.Diagnosis) error { return a.writeCard(d, cardOf(d, set)) }, nil
	}
	return nil, usage("-o %s: wants text, json or markdown", output)
}

// The forms of output.
const (
	outputText     = "text"
	outputJSON     = "json"
	outputMarkdown = "markdown"
)

// cardOf builds the message that all human forms print.
func cardOf(d diagnose.Diagnosis, set *playbooks.Set) playbooks.Message {
	v := set.Fill(playbooks.View{Target: d.Target, Phase: playbooks.PhaseFiring, Diagnosis: &d, LastLook: d.At}, nil)
	return playbooks.Answer(v)
}

// nextLookWords says when the verdict should be checked again.
func nextLookWords(d diagnose.Diagnosis) string {
	if d.NextLookSeconds <= 0 {
		return ""
	}
	return "look again in " + playbooks.Seconds(float64(d.NextLookSeconds))
}
