package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/config"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
)

// LokiConfig says where a cluster's logs are. The zero value means: nowhere.
type LokiConfig struct {
	// URL is the Loki API's base, with path prefix if there is one.
	URL string `yaml:"url"`
	// HTTP is the same client block as Prometheus'; a tenant goes into
	// http_headers (X-Scope-OrgID).
	HTTP HTTPClient `yaml:"http_client"`
	// Queries are LogQL log queries, at most five. In double-quoted strings
	// {{group}}, {{broker}}, {{pod}} and {{cluster}} stand for the question's
	// values, escaped; {{group_re}} and so on for use in a regular expression. A
	// query whose value the question does not have is left out.
	Queries []string `yaml:"queries"`
	// MaxLines bounds each query's lines; 0 = 5000, the default limit of Loki.
	MaxLines int `yaml:"max_lines"`
	// MaxBodyBytes bounds one answer; 0 = 16 MiB.
	MaxBodyBytes int64 `yaml:"max_body_bytes"`
}

const (
	maxLokiQueries   = 5
	defaultLokiLines = 5000
	mostLokiLines    = 50000
	defaultLokiBody  = 16 << 20
	// logMargin is how far before the window lines are read: a poll limit of five
	// minutes began that much before the drop, and its rebalance before that.
	logMargin = 10 * time.Minute
)

// Loki reads log lines through Loki's query_range API. It is safe for concurrent
// use.
type Loki struct {
	cfg    LokiConfig
	base   *url.URL
	client *http.Client
}

// NewLoki checks the configuration and prepares the client. It does not connect.
// Its error names each wrong key.
func NewLoki(cfg LokiConfig) (*Loki, error) {
	base, err := checkURL("url", cfg.URL, true)
	errs := []error{err}
	if len(cfg.Queries) == 0 || len(cfg.Queries) > maxLokiQueries {
		errs = append(errs, fmt.Errorf(`queries: wants 1 to %d LogQL queries, for example {namespace="kafka"} |= "{{group}}"`, maxLokiQueries))
	}
	for i, q := range cfg.Queries {
		if err := checkLogQL(q); err != nil {
			errs = append(errs, fmt.Errorf("queries[%d]: %w", i, err))
		}
	}
	if cfg.MaxLines < 0 || cfg.MaxLines > mostLokiLines {
		errs = append(errs, fmt.Errorf("max_lines: must be 0 to %d", mostLokiLines))
	}
	if cfg.MaxBodyBytes < 0 {
		errs = append(errs, errors.New("max_body_bytes: must not be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg.MaxLines == 0 {
		cfg.MaxLines = defaultLokiLines
	}
	if cfg.MaxBodyBytes == 0 {
		cfg.MaxBodyBytes = defaultLokiBody
	}
	client := cfg.HTTP.HTTPClientConfig
	if client.String() == (config.HTTPClientConfig{}).String() {
		client = config.DefaultHTTPClientConfig
	}
	rt, err := config.NewRoundTripperFromConfig(client, "kafka-oncall")
	if err != nil {
		return nil, fmt.Errorf("http_client: %w", err)
	}
	t := &transport{next: rt, maxBody: cfg.MaxBodyBytes, pause: retryPause}
	return &Loki{cfg: cfg, base: base, client: &http.Client{Transport: t}}, nil
}

// placeholder is a value of the question in a query.
var placeholder = regexp.MustCompile(`\{\{(\w*)\}\}`)

var placeholders = []string{"group", "broker", "pod", "cluster"}

// checkLogQL checks what substitution relies on: a stream selector at the start,
// known placeholders, and each of them inside a double-quoted string. Loki
// checks the rest.
func checkLogQL(q string) error {
	if !strings.HasPrefix(strings.TrimSpace(q), "{") || strings.HasPrefix(strings.TrimSpace(q), "{{") {
		return errors.New(`must begin with a stream selector, for example {namespace="kafka"}`)
	}
	if len(q) > 2000 {
		return errors.New("is longer than 2000 characters")
	}
	for _, m := range placeholder.FindAllStringSubmatchIndex(q, -1) {
		name := strings.TrimSuffix(q[m[2]:m[3]], "_re")
		if !slices.Contains(placeholders, name) {
			return fmt.Errorf("{{%s}} is not known; there are {{group}}, {{broker}}, {{pod}} and {{cluster}}, each also with _re", q[m[2]:m[3]])
		}
		if !quotedAt(q, m[0]) {
			return fmt.Errorf("{{%s}} must stand inside a double-quoted string", q[m[2]:m[3]])
		}
	}
	return nil
}

// quotedAt says that a place is inside a double-quoted string.
func quotedAt(q string, at int) bool {
	in := byte(0)
	for i := 0; i < at; i++ {
		switch c := q[i]; {
		case in == '"' && c == '\\':
			i++
		case in == 0 && (c == '"' || c == '`'):
			in = c
		case c == in:
			in = 0
		}
	}
	return in == '"'
}

// values are what the question binds.
func lokiValues(q question) map[string]string {
	v := map[string]string{"group": q.Target.Group, "cluster": q.Target.Cluster}
	if q.Target.Broker != nil {
		v["broker"] = strconv.Itoa(int(*q.Target.Broker))
	}
	if q.Trigger != nil {
		v["pod"] = q.Trigger.Labels["pod"]
	}
	return v
}

// bind puts values into a query; ok is false when one is missing.
func bind(q string, values map[string]string) (string, bool) {
	complete := true
	out := placeholder.ReplaceAllStringFunc(q, func(m string) string {
		name := m[2 : len(m)-2]
		base := strings.TrimSuffix(name, "_re")
		v := values[base]
		if v == "" {
			complete = false
			return m
		}
		if base != name {
			v = regexp.QuoteMeta(v)
		}
		quoted := strconv.Quote(v)
		return quoted[1 : len(quoted)-1]
	})
	return out, complete
}

// lokiResult is what the lines said, and how reading them went.
type lokiResult struct {
	reading diagnose.Reading
	text    diagnose.LogText
}

const srcLoki = "loki: query_range"

// read asks all queries one after the other and recognises their lines.
func (l *Loki) read(ctx context.Context, q question, now func() time.Time) lokiResult {
	start := now()
	rd := logs.NewReader(logs.Options{Now: q.At})
	values, asked, full := lokiValues(q), 0, false
	var failed []failure
	for _, template := range l.cfg.Queries {
		query, ok := bind(template, values)
		if !ok {
			continue
		}
		asked++
		n, err := l.query(ctx, query, q.sp.from.Add(-logMargin), q.At, rd)
		if err != nil {
			failed = append(failed, lokiFailure(err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		full = full || n >= l.cfg.MaxLines
	}
	if asked > 0 && len(failed) == asked {
		return lokiResult{reading: took(failed[0].reading(srcLoki, q.At), start, now())}
	}
	if asked == 0 {
		return lokiResult{reading: skipped("no log query fits this question: each needs a value that it does not name")}
	}
	out := lokiResult{text: rd.Text(), reading: took(ok(srcLoki, q.At), start, now())}
	switch {
	case len(failed) > 0:
		// The others' lines still count.
		out.reading.Status, out.reading.Hint = diagnose.StatusPartial, failed[0].hint
		out.reading.Error = fmt.Sprintf("%d of %d queries failed: %s", len(failed), asked, failed[0].text)
	case out.text.Lines == 0:
		out.reading.Status, out.reading.Hint = diagnose.StatusEmpty, "the queries match no line; check loki.queries"
	case full || out.text.Dropped > 0:
		out.reading.Status, out.reading.Error = diagnose.StatusPartial, "there are more lines than were read; the latest were"
	}
	return out
}

// lokiAnswer is the part of query_range's answer that is used.
type lokiAnswer struct {
	Data struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Values [][2]string `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

// lokiStatusError is an answer that is not 200. tooMany says that Loki refuses as
// many lines as were asked for.
type lokiStatusError struct {
	code    int
	tooMany bool
}

func (e *lokiStatusError) Error() string { return "status " + strconv.Itoa(e.code) }

var errNoStreams = errors.New("the query does not return log lines")

// query reads the latest lines of a span, in the order of time, and returns
// their number.
func (l *Loki) query(ctx context.Context, query string, from, to time.Time, rd *logs.Reader) (int, error) {
	u := l.base.JoinPath("loki/api/v1/query_range")
	u.RawQuery = url.Values{
		"query": {query}, "start": {strconv.FormatInt(from.UnixNano(), 10)}, "end": {strconv.FormatInt(to.UnixNano(), 10)},
		"limit": {strconv.Itoa(l.cfg.MaxLines)}, "direction": {"backward"},
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		return 0, &lokiStatusError{resp.StatusCode, bytes.Contains(b, []byte("max entries limit"))}
	}
	var a lokiAnswer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return 0, err
	}
	if a.Data.ResultType != "streams" {
		return 0, errNoStreams
	}
	lines := a.lines(l.cfg.MaxLines)
	for _, x := range lines {
		if err := rd.Add(strings.NewReader(x)); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

// lines are all lines in the order of time, each behind the time of its
// collector, which counts where the line has none of its own.
func (a lokiAnswer) lines(most int) []string {
	type entry struct {
		at   int64
		text string
	}
	var all []entry
	for _, r := range a.Data.Result {
		for _, v := range r.Values {
			if n, err := strconv.ParseInt(v[0], 10, 64); err == nil && len(all) < most {
				all = append(all, entry{n, v[1]})
			}
		}
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b entry) int { return int(min(1, max(-1, a.at-b.at))) })
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = time.Unix(0, e.at).UTC().Format(time.RFC3339Nano) + " " + strings.TrimRight(e.text, "\r\n") + "\n"
	}
	return out
}

// lokiFailure sorts an error; no address is in its words.
func lokiFailure(err error) failure {
	var status *lokiStatusError
	var large *bodyTooLargeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &status):
		return lokiStatus(status)
	case errors.As(err, &large):
		return failure{diagnose.StatusFailed, "the answer is larger than max_body_bytes", "narrow loki.queries"}
	case errors.Is(err, errNoStreams):
		return failure{diagnose.StatusFailed, err.Error(), "loki.queries wants log queries, not metric queries"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return failure{diagnose.StatusFailed, "the answer broke off", "ask again; a proxy may bound answers or their time"}
	case errors.As(err, &syntax):
		return failure{diagnose.StatusFailed, "the answer is not Loki's", "check loki.url"}
	case errors.Is(err, context.DeadlineExceeded):
		return failure{diagnose.StatusTimeout, "no answer in time", ""}
	case errors.Is(err, context.Canceled):
		return failure{diagnose.StatusSkipped, "stopped before it was read", ""}
	}
	return failure{diagnose.StatusUnreachable, "Loki cannot be reached", "check loki.url and http_client"}
}

func lokiStatus(e *lokiStatusError) failure {
	text := "Loki answered with status " + strconv.Itoa(e.code)
	switch {
	case e.code == http.StatusUnauthorized, e.code == http.StatusForbidden:
		return failure{diagnose.StatusForbidden, text, "check loki.http_client; a tenant goes into http_headers as X-Scope-OrgID"}
	case e.tooMany:
		return failure{diagnose.StatusFailed, text, "lower loki.max_lines to Loki's max_entries_limit_per_query"}
	case e.code == http.StatusBadRequest:
		return failure{diagnose.StatusFailed, text, "Loki refuses a query of loki.queries; try it in its own interface"}
	case e.code == http.StatusNotFound:
		return failure{diagnose.StatusFailed, text, "check loki.url; the path /loki/api/v1/query_range is added to it"}
	case e.code == http.StatusTooManyRequests:
		return failure{diagnose.StatusFailed, text, "Loki limits its queries; narrow loki.queries, and ask again later"}
	case e.code == http.StatusGatewayTimeout:
		return failure{diagnose.StatusTimeout, text, "narrow loki.queries: more labels in the selector, a line filter"}
	case e.code >= 500:
		return failure{diagnose.StatusUnreachable, text, "Loki or the proxy before it is in trouble; ask again later"}
	}
	return failure{diagnose.StatusFailed, text, ""}
}
