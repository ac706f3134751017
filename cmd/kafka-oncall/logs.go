package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// offline says that no live source was named.
func (f diagnoseFlags) offline() bool {
	return f.config == "" && f.cluster == "" && len(f.bootstrap) == 0 && f.prometheus == "" && f.selector == ""
}

// diagnoseLogs judges log text alone.
func (a *app) diagnoseLogs(f diagnoseFlags, r diagnose.Request, text diagnose.LogText) error {
	set, err := loadPlaybooks("")
	if err != nil {
		return asUsage(err)
	}
	write, err := a.writer(f.output, set)
	if err != nil {
		return err
	}
	if text.Lines == 0 {
		return failed("the log is empty: nothing to judge")
	}
	e := logs.Evidence(text, a.now())
	e.Target, e.Logs.Source = r.Target, logSource(f.logs)
	if f.record != "" {
		if err := saveEvidence(f.record, e); err != nil {
			return failed("%w", err)
		}
	}
	d := diagnose.Classify(e, diagnose.DefaultLimits())
	if err := write(d); err != nil {
		return failed("%w", err)
	}
	if code := exitCode(d); code != exitQuiet {
		return &exitError{code: code}
	}
	return nil
}

// readLogs recognises the lines of all files together.
func (a *app) readLogs(files []string) (diagnose.LogText, error) {
	r := logs.NewReader(logs.Options{Now: a.now()})
	stdin := 0
	for _, name := range files {
		if name == "-" {
			if stdin++; stdin > 1 {
				return diagnose.LogText{}, usage("--logs -: standard input can be read once only")
			}
		}
		if err := a.readLog(r, name); err != nil {
			return diagnose.LogText{}, failed("--logs %s: %s", playbooks.Clean(name, 200), reason(err))
		}
	}
	return r.Text(), nil
}

func (a *app) readLog(r *logs.Reader, name string) error {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return fmt.Errorf("is a folder; name a file")
		}
		in = f
	}
	b := bufio.NewReader(in)
	if head, _ := b.Peek(2); string(head) != "\x1f\x8b" {
		return r.Add(b)
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return fmt.Errorf("unzip: %w", err)
	}
	return r.Add(io.LimitReader(z, maxUnzippedLog))
}

// maxUnzippedLog bounds what a compressed log may unfold to.
const maxUnzippedLog = 4 << 30

// logSource says in evidence where the text came from, without paths.
func logSource(files []string) string {
	var names []string
	for _, f := range files[:min(len(files), 5)] {
		if f == "-" {
			names = append(names, "standard input")
			continue
		}
		names = append(names, playbooks.Clean(f[strings.LastIndexByte(f, '/')+1:], 80))
	}
	if more := len(files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "log text: " + strings.Join(names, ", ")
}
