package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
)

var lokiAt = time.Date(2031, 3, 1, 10, 10, 0, 0, time.UTC)

func lokiQuestion(group string) question {
	q := question{sp: span{from: lokiAt.Add(-10 * time.Minute), to: lokiAt}}
	q.At, q.Target = lokiAt, diagnose.Target{Cluster: "prod", Group: group}
	return q
}

func readLoki(t *testing.T, handler http.HandlerFunc, cfg LokiConfig, q question) lokiResult {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	cfg.URL = srv.URL + "/prefix"
	l, err := NewLoki(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l.read(context.Background(), q, func() time.Time { return lokiAt })
}

func streams(lines ...[2]string) string {
	b, _ := json.Marshal(lines)
	return `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"app":"x"},"values":` + string(b) + `}]}}`
}

func TestLokiAsksForBoundValuesAndReadsInOrder(t *testing.T) {
	var query string
	got := readLoki(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prefix/loki/api/v1/query_range" || r.FormValue("direction") != "backward" || r.FormValue("limit") != "5000" {
			t.Errorf("asked %s", r.URL)
		}
		if from, to := r.FormValue("start"), r.FormValue("end"); from != fmt.Sprint(lokiAt.Add(-20*time.Minute).UnixNano()) || to != fmt.Sprint(lokiAt.UnixNano()) {
			t.Errorf("from %s to %s", from, to)
		}
		query = r.FormValue("query")
		fmt.Fprint(w, streams(
			[2]string{"1930125720000000000", "[Consumer clientId=a, groupId=g] Successfully joined group with generation 3"},
			[2]string{"1930125660000000000", "[Consumer clientId=a, groupId=g] consumer poll timeout has expired."},
		))
	}, LokiConfig{Queries: []string{`{app=~"{{group_re}}"} |= "{{group}}"`, `{pod="{{pod}}"}`}}, lokiQuestion(`a"} or {b=~".+`))
	if want := `{app=~"a\"\\} or \\{b=~\"\\.\\+"} |= "a\"} or {b=~\".+"`; query != want {
		t.Errorf("query %s\n want %s", query, want)
	}
	if !got.reading.OK() || len(got.text.Findings) != 2 || got.text.Findings[0].Kind != diagnose.LogPollTimeout || got.text.Findings[0].First.Unix() != 1930125660 {
		t.Errorf("%+v", got)
	}
}

func TestLokiFailuresAreReadings(t *testing.T) {
	one := LokiConfig{Queries: []string{`{app="{{cluster}}"}`}}
	for name, c := range map[string]struct {
		cfg  LokiConfig
		code int
		body string
		want diagnose.Status
		says string
	}{
		"refused":         {one, 401, "secret text", diagnose.StatusForbidden, "X-Scope-OrgID"},
		"bad query":       {one, 400, "parse error", diagnose.StatusFailed, "refuses a query"},
		"too many lines":  {one, 400, "max entries limit per query exceeded, limit > max_entries_limit_per_query (5000 > 1000)", diagnose.StatusFailed, "lower loki.max_lines"},
		"limited":         {one, 429, "too many outstanding requests", diagnose.StatusFailed, "limits its queries"},
		"proxy's timeout": {one, 504, "", diagnose.StatusTimeout, "narrow loki.queries"},
		"in trouble":      {one, 500, "", diagnose.StatusUnreachable, "ask again later"},
		"cut answer":      {one, 200, `{"data":{"resultType":"streams","result":[{"values":[["1","x`, diagnose.StatusFailed, "broke off"},
		"wrong path":      {one, 404, "", diagnose.StatusFailed, "loki.url"},
		"no Loki":         {one, 200, "<html>", diagnose.StatusFailed, "loki.url"},
		"a metric query":  {one, 200, `{"data":{"resultType":"matrix","result":[]}}`, diagnose.StatusFailed, "log queries"},
		"no line":         {one, 200, streams(), diagnose.StatusEmpty, "match no line"},
		"too large":       {LokiConfig{Queries: one.Queries, MaxBodyBytes: 10}, 200, streams([2]string{"1", "x"}), diagnose.StatusFailed, "max_body_bytes"},
		"more than asked": {LokiConfig{Queries: one.Queries, MaxLines: 1}, 200, streams([2]string{"2", "x"}, [2]string{"1", "y"}), diagnose.StatusPartial, "more lines"},
		"nothing to ask":  {LokiConfig{Queries: []string{`{g="{{group}}"}`}}, 200, "", diagnose.StatusSkipped, "no log query fits"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readLoki(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.code)
				fmt.Fprint(w, c.body)
			}, c.cfg, lokiQuestion("")).reading
			if got.Status != c.want || !strings.Contains(got.Error+got.Hint, c.says) {
				t.Errorf("%+v", got)
			}
			if strings.Contains(got.Error+got.Hint, "127.0.0.1") || strings.Contains(got.Error+got.Hint, "secret") {
				t.Errorf("it repeats an address or an answer: %+v", got)
			}
		})
	}
}

// One query that fails takes nothing away from the others.
func TestLokiKeepsWhatOtherQueriesFound(t *testing.T) {
	got := readLoki(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.FormValue("query"), "broken") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, streams([2]string{"1930125660000000000", "[Consumer clientId=a, groupId=g] consumer poll timeout has expired."}))
	}, LokiConfig{Queries: []string{`{app="broken"}`, `{app="fine"}`}}, lokiQuestion("g"))
	if got.reading.Status != diagnose.StatusPartial || !strings.Contains(got.reading.Error, "1 of 2 queries failed: Loki answered with status 400") || len(got.text.Findings) != 1 {
		t.Errorf("%+v", got)
	}
}

// Streams come one after the other, each newest first, entries may carry a third
// element, and lines may be as long as Loki lets them: the same lines give the
// same findings as a file.
func TestLokiReadsWhatAFileSays(t *testing.T) {
	lines := []string{
		"2031-03-01T10:01:00.000Z INFO [Consumer clientId=a, groupId=g] consumer poll timeout has expired.",
		"2031-03-01T10:01:00.500Z INFO [Consumer clientId=a, groupId=g] Member a-1 sending LeaveGroup request to coordinator k:9092 due to consumer poll timeout has expired.",
		"2031-03-01T10:01:20.000Z INFO [Consumer clientId=a, groupId=g] Successfully joined group with generation Generation{generationId=3, memberId='a-2', protocol='range'}",
		"2031-03-01T10:01:21.000Z INFO " + strings.Repeat("x", 200<<10),
	}
	entry := func(i int) string {
		at, _ := time.Parse(time.RFC3339, strings.Fields(lines[i])[0])
		b, _ := json.Marshal([]any{fmt.Sprint(at.UnixNano()), lines[i], map[string]string{"level": "info"}})
		return string(b)
	}
	body := fmt.Sprintf(`{"status":"success","data":{"resultType":"streams","result":[{"stream":{"pod":"b"},"values":[%s,%s]},{"stream":{"pod":"a"},"values":[%s,%s]}],"stats":{}}}`, entry(3), entry(1), entry(2), entry(0))
	got := readLoki(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }, LokiConfig{Queries: []string{`{app="x"}`}}, lokiQuestion("g"))
	rd := logs.NewReader(logs.Options{Now: lokiAt})
	if err := rd.Add(strings.NewReader(strings.Join(lines, "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	file := rd.Text()
	if !got.reading.OK() || len(got.text.Findings) == 0 || !reflect.DeepEqual(kinds(got.text), kinds(file)) {
		t.Errorf("%+v\n%v, the file gives\n%v", got.reading, kinds(got.text), kinds(file))
	}
}

func kinds(x diagnose.LogText) (out []string) {
	for _, f := range x.Findings {
		out = append(out, fmt.Sprint(f.Kind, " ", f.First.UTC(), " ", f.Group))
	}
	return out
}

func TestLokiConfigNamesEachWrongKey(t *testing.T) {
	for query, says := range map[string]string{
		`app="x"`:                      "stream selector",
		"{app=\"x\"} |= `{{group}}`":   "double-quoted",
		`{app="x"} |= {{group}}`:       "double-quoted",
		`{app="x"} |= "{{namespace}}"`: "not known",
	} {
		_, err := NewLoki(LokiConfig{URL: "ftp://x", Queries: []string{query}, MaxLines: -1})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "queries[0]: ") ||
			!strings.Contains(err.Error(), "url: ") || !strings.Contains(err.Error(), "max_lines: ") {
			t.Errorf("%s: %v", query, err)
		}
	}
}
