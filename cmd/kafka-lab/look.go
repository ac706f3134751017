package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect"
	"github.com/kafka-oncall/kafka-oncall/internal/evidencefile"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

// lookFlags say who diagnoses during a run.
type lookFlags struct {
	own    bool
	binary string
}

func (l *lookFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&l.own, "look", false, "diagnose during the fault and just after with kafka-oncall's collectors, a watcher included; keeps evidence (in --record) and verdicts")
	l.addBinary(f)
}

func (l *lookFlags) addBinary(f *pflag.FlagSet) {
	f.StringVar(&l.binary, "oncall", "", "diagnose with this kafka-oncall binary instead; it has no watcher")
}

func (l *lookFlags) looker() func(context.Context, lab.Info) (lab.Looker, error) {
	switch {
	case l.binary != "":
		return lab.Binary(l.binary)
	case l.own:
		return newObserver
	}
	return nil
}

// observer diagnoses with the collectors of kafka-oncall, as `serve` does: its
// watcher begins before the scenario, and looks as often as the lab's timeouts
// are shorter than Kafka's.
type observer struct {
	kafka  *collect.Kafka
	runner *collect.Runner
	stop   context.CancelFunc
	ended  chan struct{}
}

func newObserver(ctx context.Context, i lab.Info) (lab.Looker, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	kafka, err := collect.NewKafka(collect.KafkaConfig{BootstrapServers: strings.Split(i.Bootstrap, ",")}, log)
	if err != nil {
		return nil, fmt.Errorf("set up Kafka: %w", err)
	}
	prom, err := collect.NewPrometheus(collect.PrometheusConfig{URL: i.Prometheus, Selector: fmt.Sprintf("{cluster=%q}", i.Name)}, log)
	if err != nil {
		kafka.Close()
		return nil, fmt.Errorf("set up Prometheus: %w", err)
	}
	w, err := collect.NewWatcher(collect.WatcherConfig{Cluster: i.Name, Interval: 2 * time.Second, FullInterval: 8 * time.Second, LagInterval: 10 * time.Second}, kafka, log)
	if err != nil {
		kafka.Close()
		return nil, fmt.Errorf("set up the watcher: %w", err)
	}
	o := &observer{kafka: kafka, ended: make(chan struct{}), runner: collect.NewRunner(
		collect.RunnerConfig{Cluster: i.Name, Kafka: kafka, Prometheus: prom, Watcher: w, Budget: 20 * time.Second}, log)}
	ctx, o.stop = context.WithCancel(ctx)
	go func() { defer close(o.ended); _ = w.Run(ctx) }()
	return o, nil
}

func (o *observer) Close() error {
	o.stop()
	<-o.ended
	o.kafka.Close()
	return nil
}

func (o *observer) Look(ctx context.Context, t lab.Target, evidence string) ([]lab.Finding, error) {
	r := diagnose.Request{Target: diagnose.Target{Group: t.Group}, Scan: t == lab.Target{}}
	if t.Group == "" && t.Broker != 0 {
		id := int32(t.Broker)
		r.Target.Broker = &id
	}
	e := o.runner.Collect(ctx, r)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading the evidence: %w", err)
	}
	kept := keepEvidence(evidence, e)
	d, err := json.Marshal(diagnose.Classify(e, diagnose.DefaultLimits()))
	if err != nil {
		return nil, errors.Join(kept, fmt.Errorf("writing the diagnosis: %w", err))
	}
	found, err := lab.ParseFindings(d)
	return found, errors.Join(kept, err)
}

func keepEvidence(path string, e diagnose.Evidence) error {
	data, err := diagnose.Encode(e)
	if err == nil {
		data, err = evidencefile.Pack(data, gzip.DefaultCompression)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keeping the evidence: %w", err)
	}
	return nil
}
