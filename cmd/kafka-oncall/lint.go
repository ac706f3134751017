package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kafka-oncall/kafka-oncall/internal/lint"
	"github.com/kafka-oncall/kafka-oncall/internal/properties"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// lintFlags are the flags of lint as they were typed.
type lintFlags struct {
	output, kind, version string
	perRecord             time.Duration
	allow                 []string
}

func (a *app) lintCommand() *cobra.Command {
	var f lintFlags
	c := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check Kafka configuration files: keys, timeouts, session slots, poll budget",
		Long: `Check configuration files of Kafka clients (Java, Spring, Streams, Connect,
librdkafka) and brokers (server.properties) for what costs a night later: keys
that do not exist, heartbeats that do not fit the session, timeouts that the
broker refuses, fetch session slots that hold nothing, a batch that takes longer
than the poll limit. - reads standard input. Files are only read.

YAML is read where it holds such settings: Spring's application.yml, config maps
of Strimzi's Kafka, KafkaConnect, KafkaMirrorMaker2 and their like, config: maps
and text blocks in Helm values, *.properties in a ConfigMap.

A broker's file beside a client's sets the limits that the client is held to.
The kind of a file is told from its keys.

Exit codes: 0 fine or only advice, 1 errors or warnings, 2 bad usage or a file
that cannot be read.`,
		Example: `  kafka-oncall lint consumer.properties
  kafka-oncall lint --per-record 50ms --kafka-version 3.9 consumer.properties server.properties
  kafka-oncall lint -o github config/*.properties
  kafka-oncall lint src/main/resources/application.yml
  kubectl get kafka,kafkaconnect,configmap -o yaml | kafka-oncall lint -`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("lint wants at least one FILE, or - for standard input\nSee '%s --help'.", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("per-record") && (f.perRecord <= 0 || f.perRecord > 24*time.Hour) {
				return usage("--per-record %s: wants the time one record takes, for example 50ms, at most 24h", f.perRecord)
			}
			return a.lint(args, f)
		},
	}
	c.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or github (annotations in a pull request)")
	c.Flags().StringVar(&f.kind, "kind", "", "what reads the files: "+kindList()+" (default: told from the keys)")
	c.Flags().StringVar(&f.version, "kafka-version", "", "Kafka version that reads the files, for example 3.9 (default: any from 2.4)")
	c.Flags().DurationVar(&f.perRecord, "per-record", 0, "time one record takes to process, for example 50ms: checks the poll budget")
	c.Flags().StringArrayVar(&f.allow, "allow", nil, "a key of your own, or its start and *: my.app.* (repeatable)")
	return c
}

func kindList() string {
	var out []string
	for _, k := range lint.Kinds() {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// options turns the flags into what the checks take.
func (f lintFlags) options() (lint.Options, error) {
	o := lint.Options{PerRecord: f.perRecord, Allow: f.allow}
	if !slices.Contains([]string{outputText, outputJSON, outputGitHub}, f.output) {
		return o, usage("-o %s: wants text, json or github", f.output)
	}
	if f.kind != "" && !slices.Contains(lint.Kinds(), lint.Kind(f.kind)) {
		return o, usage("--kind %s: wants one of %s", f.kind, kindList())
	}
	if f.version != "" {
		v, err := lint.ParseVersion(f.version)
		if err != nil {
			return o, usage("--kafka-version: %w", err)
		}
		switch newest := lint.Newest(); {
		case v.Before(2, 0):
			return o, usage("--kafka-version %s: wants 2.0 or newer", f.version)
		case v.Major > newest.Major:
			return o, usage("--kafka-version %s: not a version that is known here; the newest is %s", f.version, newest)
		}
		o.Version = v
	}
	return o, nil
}

// lintedFile is what became of one file.
type lintedFile struct {
	name string
	// docs are its parts: one, or the places in a YAML file.
	docs []*lint.Doc
	// err says why it could not be read.
	err error
}

func (a *app) lint(args []string, f lintFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	var files []lintedFile
	stdin := 0
	for _, name := range args {
		if name == "-" {
			if stdin++; stdin > 1 {
				return usage("- stands there twice; standard input can be read once")
			}
		}
		files = append(files, a.readLinted(name, lint.Kind(f.kind)))
	}
	o.Bounds = sessionBounds(files)
	r := lintReport{Schema: 1, Files: []lintReportFile{}, Findings: []lint.Finding{}, said: map[lint.Finding]bool{}}
	for _, x := range files {
		r.take(x, o)
	}
	if err := a.writeLint(f.output, r); err != nil {
		return failed("print: %w", err)
	}
	return r.exit()
}

// readLinted reads and parses one file; no more than a configuration file can
// be.
func (a *app) readLinted(name string, kind lint.Kind) lintedFile {
	x := lintedFile{name: name}
	data, err := a.readInput(name)
	if err != nil {
		x.err = err
		return x
	}
	if name == "-" {
		x.name = "stdin"
	}
	x.docs, x.err = lint.ParseAll(x.name, data, kind)
	return x
}

func (a *app) readInput(name string) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		info, err := os.Stat(name)
		if err != nil {
			return nil, errors.New(reason(err))
		}
		if info.IsDir() {
			return nil, errors.New("is a folder; name its files, for example " + playbooks.Clean(strings.TrimSuffix(name, "/"), 200) + "/*.yaml")
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.New(reason(err))
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, properties.MaxBytes+1))
	if err != nil {
		return nil, errors.New(reason(err))
	}
	return data, nil
}

// sessionBounds are the limits that all brokers' files together set.
func sessionBounds(files []lintedFile) lint.Bounds {
	var out lint.Bounds
	for _, x := range files {
		for _, d := range x.docs {
			b, ok := d.SessionBounds()
			switch {
			case !ok:
			case out.From == "":
				out = b
			default:
				out = lint.Bounds{MinMS: max(out.MinMS, b.MinMS), MaxMS: min(out.MaxMS, b.MaxMS), From: out.From + ", " + b.From}
			}
		}
	}
	return out
}

// exit turns the report into the exit code.
func (r lintReport) exit() error {
	switch {
	case r.unreadable > 0:
		return &exitError{code: exitUsage}
	case r.Errors+r.Warnings > 0:
		return &exitError{code: exitFailed}
	default:
		return nil
	}
}

// place is file:line:column, as far as it is known.
func place(file string, line, column int) string {
	file = playbooks.Clean(file, 500)
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}
