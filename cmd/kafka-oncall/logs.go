package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
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
func (a *app) diagnoseLogs(f diagnoseFlags, r diagnose.Request) error {
	if f.topic != "" {
		return usage("--topic %s: log text is not judged by topic; ask about a --group or a --broker, or add --config or --bootstrap", f.topic)
	}
	o := logs.Options{Now: a.now(), To: r.At, Group: f.group}
	if r.Window > 0 {
		o.From = cmp.Or(r.At, a.now()).Add(-r.Window)
	}
	text, left, err := a.readLogs(f.logs, o)
	if err != nil {
		return err
	}
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
	if err := answerable(r.Target, text, left, o); err != nil {
		return err
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

// answerable refuses a question that the log says nothing about: an answer about
// something else would read as if it were the one asked for.
func answerable(q diagnose.Target, text diagnose.LogText, left logs.Left, o logs.Options) error {
	if text.Recognised == 0 && left.Lines+left.Unstamped > 0 {
		return usage("%s", allOutside(left, o))
	}
	groups, nodes := map[string]bool{}, map[string]bool{}
	for _, f := range text.Findings {
		if f.Group != "" {
			groups[f.Group] = true
		}
		if f.Node != nil {
			nodes[strconv.Itoa(int(*f.Node))] = true
		}
	}
	switch {
	case q.Group != "" && text.Groups > int64(len(groups)) && !groups[q.Group]:
		return usage("--group %s: the log says nothing about it; it names %d groups", playbooks.Clean(q.Group, 249), text.Groups)
	case q.Group != "" && len(groups) > 0 && !groups[q.Group]:
		return usage("--group %s: the log says nothing about it; it names %s", playbooks.Clean(q.Group, 249), some(groups))
	case q.Broker != nil && len(nodes) == 0:
		return usage("--broker %d: no line of the log names a broker; leave the flag out", *q.Broker)
	case q.Broker != nil && !nodes[strconv.Itoa(int(*q.Broker))]:
		return usage("--broker %d: the log says nothing about it; it names broker %s", *q.Broker, some(nodes))
	default:
		return nil
	}
}

// allOutside says why no recognised line lies within the span that was asked for.
func allOutside(left logs.Left, o logs.Options) string {
	const form = "2006-01-02 15:04:05"
	if left.Lines == 0 {
		return "--since and --at: the lines of this log carry no times; leave the flags out"
	}
	span := "after " + o.From.UTC().Format(form)
	if !o.To.IsZero() {
		span = "before " + o.To.UTC().Format(form)
		if !o.From.IsZero() {
			span = "from " + o.From.UTC().Format(form) + " to " + o.To.UTC().Format(form)
		}
	}
	return fmt.Sprintf("no line that says something lies %s; those of this log go from %s to %s (UTC)", span, left.First.Format(form), left.Last.Format(form))
}

// some lists a few of the names.
func some(names map[string]bool) string {
	all := slices.Sorted(maps.Keys(names))
	const most = 5
	for i := range all {
		all[i] = playbooks.Clean(all[i], 80)
	}
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// readLogs recognises the lines of all files together, and says what the bounds of
// time left out.
func (a *app) readLogs(files []string, o logs.Options) (diagnose.LogText, logs.Left, error) {
	r := logs.NewReader(o)
	stdin := 0
	for _, name := range files {
		if name == "-" {
			if stdin++; stdin > 1 {
				return diagnose.LogText{}, logs.Left{}, usage("--logs -: standard input can be read once only")
			}
		}
		if err := a.readLog(r, name); err != nil {
			return diagnose.LogText{}, logs.Left{}, failed("--logs %s: %s", playbooks.Clean(name, 200), reason(err))
		}
	}
	return r.Text(), r.Left(), nil
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
