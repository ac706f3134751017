package logs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is one log record: its text in one line, and what its wrapping said.
type record struct {
	text  string
	at    time.Time
	level string
	// stack holds further lines of the same record; head is the record's text for
	// one of them.
	stack []string
	head  string
}

// The fields of JSON records, by what they hold. Loggers: logstash-logback, ECS,
// Logstash, pino, zap, slog, kafkajs, python-json-logger, docker's json-file.
var (
	messageKeys = []string{"message", "msg", "log", "event", "text", "body"}
	timeKeys    = []string{"@timestamp", "timestamp", "time", "ts", "timeMillis", "asctime", "datetime", "t"}
	levelKeys   = []string{"level", "log.level", "severity", "levelname", "lvl"}
	stackKeys   = []string{"stack_trace", "stacktrace", "error.stack_trace", "exc_info", "stack", "thrown", "exception"}
	dullKeys    = map[string]bool{"logger": true, "caller": true, "hostname": true, "pid": true, "stream": true}
)

// maxDepth bounds records inside records.
const maxDepth = 3

// unwrap takes a cleaned line apart. A line that holds a JSON object is
// flattened to "message key=value …"; any other is its own text.
func unwrap(line string, depth int) record {
	i := strings.IndexByte(line, '{')
	if i < 0 || depth == maxDepth || !strings.HasSuffix(line, "}") {
		return record{text: line}
	}
	// An object may stand behind a prefix, which then holds no text of its own.
	if strings.Contains(line[:i], "[Consumer") || i > 200 {
		return record{text: line}
	}
	var o map[string]any
	if json.Unmarshal([]byte(line[i:]), &o) != nil || len(o) == 0 {
		return record{text: line}
	}
	r := flatten(o, depth)
	if r.text == "" {
		return record{text: line}
	}
	if thread := word(o, "thread"); thread != "" {
		r.text = "[" + thread + "] " + r.text
	}
	return r
}

func flatten(o map[string]any, depth int) record {
	var r record
	used := map[string]bool{}
	if inner, ok := o["logEvent"].(map[string]any); ok {
		r, used["logEvent"] = flatten(inner, depth+1), true
	}
	for _, k := range messageKeys {
		if s, ok := o[k].(string); ok && r.text == "" && s != "" {
			r, used[k] = split(s, depth), true
		}
	}
	for _, k := range stackKeys {
		if s, ok := o[k].(string); ok {
			r.stack, used[k] = append(r.stack, lines(s)...), true
		}
	}
	for _, k := range timeKeys {
		if at, ok := jsonTime(o[k]); ok && r.at.IsZero() {
			r.at = at
		}
		used[k] = true
	}
	for _, k := range levelKeys {
		if s := word(o, k); s != "" && r.level == "" {
			r.level = s
		}
		used[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if v := word(o, k); !used[k] && !dullKeys[k] && v != "" && len(r.text) < 4096 {
			r.text += " " + k + "=" + v
		}
	}
	r.text = strings.TrimSpace(r.text)
	return r
}

// split takes a message apart: its first line is the text, the rest the stack;
// it may be a record itself.
func split(s string, depth int) record {
	all := lines(s)
	if len(all) == 0 {
		return record{}
	}
	r := unwrap(all[0], depth+1)
	r.stack = append(r.stack, all[1:]...)
	return r
}

// maxStack bounds the lines of one record.
const maxStack = 200

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if len(out) == maxStack {
			break
		}
		if l = cleaned([]byte(l)); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// word is a scalar field in words; "" for anything else.
func word(o map[string]any, key string) string {
	switch v := o[key].(type) {
	case string:
		return cut(cleaned([]byte(strings.ReplaceAll(v, "\n", " "))), 400)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any:
		if m, ok := v["message"].(string); ok {
			return cut(cleaned([]byte(strings.ReplaceAll(m, "\n", " "))), 400)
		}
	}
	return ""
}

func jsonTime(v any) (time.Time, bool) {
	switch x := v.(type) {
	case string:
		return parseStamp(x)
	case float64:
		switch {
		case x > 1e17 && x < 4e18:
			return time.Unix(0, int64(x)).UTC(), true
		case x > 1e11 && x < 1e14:
			return time.UnixMilli(int64(x)).UTC(), true
		case x > 1e8 && x < 1e11:
			return time.UnixMilli(int64(x * 1000)).UTC(), true
		}
	}
	return time.Time{}, false
}
