// Command gen merges the tables that gen.sh collects into keys.tsv: one line a
// role and key, with the type, the newest default and bounds, and the oldest
// and the newest of the examined versions that have it.
package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
)

type key struct{ role, name, kind, value, bounds, first, last, mark string }

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if len(os.Args) != 3 {
		log.Error("gen wants the tables of KeyDump and of librdkafka")
		os.Exit(2)
	}
	keys := map[string]*key{}
	for _, read := range []func() error{
		func() error { return eachLine(os.Args[1], func(l string) { java(keys, l) }) },
		func() error { return eachLine(os.Args[2], func(l string) { librdkafka(keys, l) }) },
	} {
		if err := read(); err != nil {
			log.Error("read a table", "err", err)
			os.Exit(1)
		}
	}
	var lines []string
	for _, k := range keys {
		lines = append(lines, strings.Join([]string{k.role, k.name, k.kind, k.value, k.bounds, k.first, k.last, k.mark}, "\t"))
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func eachLine(file string, do func(string)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		do(s.Text())
	}
	return s.Err()
}

// java takes a line of KeyDump. Versions come in rising order.
func java(keys map[string]*key, line string) {
	f := strings.Split(line, "\t")
	if len(f) != 7 {
		return
	}
	version := f[0][:strings.LastIndex(f[0], ".")]
	id := f[1] + " " + f[2]
	k := keys[id]
	if k == nil {
		k = &key{role: f[1], name: f[2], first: version}
		keys[id] = k
	}
	k.kind, k.value, k.bounds, k.last, k.mark = strings.ToLower(f[3]), short(f[4]), bounds(f[5]), version, f[6]
}

// short drops defaults that are long or belong to the machine that asked.
func short(s string) string {
	if len(s) > 60 || strings.Contains(s, "/tmp") || strings.Contains(s, "@") {
		return ""
	}
	return s
}

// bounds keeps ranges "[0,...]" as "0..", and lists of words as "a,b".
func bounds(s string) string {
	if strings.Contains(s, "case insensitive") || len(s) > 300 {
		return ""
	}
	inner, open := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !open || !closed || strings.ContainsAny(inner, "[]():") {
		return ""
	}
	if low, high, ranged := strings.Cut(inner, ",...,"); ranged && !strings.Contains(high, ",") {
		return low + ".." + high
	}
	if low, ok := strings.CutSuffix(inner, ",..."); ok {
		return low + ".."
	}
	return strings.ReplaceAll(inner, ", ", ",")
}

// librdkafka takes a row of CONFIGURATION.md's form: name | C/P | range |
// default | importance | description that ends with the type.
func librdkafka(keys map[string]*key, line string) {
	f := strings.SplitN(line, "|", 6)
	if len(f) != 6 || strings.TrimSpace(f[1]) != "*" && strings.TrimSpace(f[1]) != "C" && strings.TrimSpace(f[1]) != "P" {
		return
	}
	k := &key{role: "librdkafka", name: strings.TrimSpace(f[0]), value: short(strings.TrimSpace(f[3])), first: "2.16", last: "2.16"}
	if _, t, ok := strings.Cut(f[5], "*Type: "); ok {
		k.kind = strings.TrimSuffix(strings.TrimSpace(t), "*")
	}
	if strings.Contains(f[5], "DEPRECATED") {
		k.mark = "deprecated"
	}
	if _, alias, ok := strings.Cut(f[5], "Alias for `"); ok {
		k.mark = "alias of " + alias[:strings.Index(alias, "`")]
	}
	if r := strings.TrimSpace(f[2]); strings.Contains(r, "..") {
		k.bounds = strings.ReplaceAll(r, " .. ", "..")
	} else if k.kind == "enum value" || k.kind == "boolean" {
		k.bounds = strings.ReplaceAll(r, ", ", ",")
	}
	// A key can stand there twice, for the client and for a topic: the first
	// is the client's.
	if id := k.role + " " + k.name; keys[id] == nil {
		keys[id] = k
	}
}
