package promstore_test

import (
	"errors"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

var t0 = time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)

func client(t *testing.T, st *promstore.Store) v1.API {
	t.Helper()
	srv := httptest.NewServer(promstore.NewServer(st, func() time.Time { return t0 }))
	t.Cleanup(srv.Close)
	c, err := api.NewClient(api.Config{Address: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return v1.NewAPI(c)
}

func ask(t *testing.T, c v1.API, q string, at time.Time) model.Value {
	t.Helper()
	v, warnings, _, err := c.Query(t.Context(), q, at)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	if len(warnings) > 0 {
		t.Fatalf("%s: warnings %v", q, warnings)
	}
	return v
}

func TestQueries(t *testing.T) {
	st := promstore.New()
	for i := range 41 {
		at := t0.Add(time.Duration(i-40) * 15 * time.Second)
		st.Append(labels.FromStrings("__name__", "errs", "broker", "1", "error", "X y"), at, float64(i))
		st.Append(labels.FromStrings("__name__", "errs", "broker", "2", "error", "X y"), at, 7)
	}
	c := client(t, st)
	tests := []struct{ query, want string }{
		{`sum(errs)`, "{} => 47 @[1796004000]"},
		{`rate(errs{broker="1"}[5m])`, `{broker="1", error="X y"} => 0.06666666666666667 @[1796004000]`},
		{`count by (__name__) (last_over_time({__name__=~"errs|none"}[20m]))`, `errs => 2 @[1796004000]`},
		{`errs{broker="3"}`, ""},
		{`absent(errs{broker="3"})`, `{broker="3"} => 1 @[1796004000]`},
		{`count_over_time(errs{broker="2"}[1m])`, `{broker="2", error="X y"} => 4 @[1796004000]`},
	}
	for _, tc := range tests {
		if got := ask(t, c, tc.query, t0).String(); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.query, got, tc.want)
		}
	}
	m := ask(t, c, `errs{broker="1"}[1m]`, t0).(model.Matrix)
	if len(m) != 1 || len(m[0].Values) != 4 || m[0].Values[3].Timestamp.Time().UTC() != t0 {
		t.Errorf("raw samples: %v", m)
	}
}

func TestRangeQueryAndLabels(t *testing.T) {
	st := promstore.New()
	st.AddFunc(labels.FromStrings("__name__", "sine", "instance", "b1"), 10*time.Second, func(at time.Time) (float64, bool) {
		return math.Round(at.Sub(t0).Seconds()), at.After(t0.Add(-time.Minute))
	})
	c := client(t, st)
	v, _, _, err := c.QueryRange(t.Context(), "sine", v1.Range{Start: t0.Add(-30 * time.Second), End: t0, Step: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	m := v.(model.Matrix)
	if len(m) != 1 || len(m[0].Values) != 4 || m[0].Values[0].Value != -30 || m[0].Values[3].Value != 0 {
		t.Errorf("got %v", m)
	}
	names, _, _, err := c.LabelValues(t.Context(), "__name__", nil, t0, t0)
	if err != nil || len(names) != 1 || names[0] != "sine" {
		t.Errorf("label values %v, %v", names, err)
	}
	if got := ask(t, c, `count_over_time(sine[1h])`, t0).(model.Vector); got[0].Value != 6 {
		t.Errorf("function before its time counted: %v", got)
	}
}

func TestErrorsLookLikePrometheus(t *testing.T) {
	c := client(t, promstore.New())
	for query, want := range map[string]v1.ErrorType{`sum(`: v1.ErrBadData, `label_replace(vector(1), "__bad__!", "$1", "x", "(")`: v1.ErrExec} {
		_, _, _, err := c.Query(t.Context(), query, t0)
		var apiErr *v1.Error
		if !errors.As(err, &apiErr) || apiErr.Type != want {
			t.Errorf("%s: %#v, want type %s", query, err, want)
		}
	}
}

func TestLoadAndShift(t *testing.T) {
	file := `# a recording
kafka_server_app_info_StartTimeMs{id="1"} 1.796001144000E12 1796001144660
process_start_time_seconds{instance="b1"} 1.796001144E9 1796001144660

with_space{error="A B"} 20.0 1796001144660
with_space{error="A B"} 21.0 1796001146660
`
	st := promstore.New()
	sum, err := st.Load(strings.NewReader(file), labels.Label{Name: "cluster", Value: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Samples != 4 || sum.Last.Sub(sum.First) != 2*time.Second {
		t.Errorf("loaded %+v", sum)
	}
	st.SetShift(t0.Sub(sum.Last))
	c := client(t, st)
	started := float64(t0.Unix()) - 2.66
	if got := ask(t, c, `process_start_time_seconds{cluster="demo"}`, t0).(model.Vector); math.Abs(float64(got[0].Value)-started) > 0.01 {
		t.Errorf("start %v, want %v", got[0].Value, started)
	}
	if got := ask(t, c, `kafka_server_app_info_StartTimeMs/1000`, t0).(model.Vector); math.Abs(float64(got[0].Value)-started) > 0.01 {
		t.Errorf("app start %v, want %v", got[0].Value, started)
	}
	if got := ask(t, c, `with_space`, t0).(model.Vector); got[0].Value != 21 {
		t.Errorf("counter shifted in value: %v", got)
	}
	if got := ask(t, c, `with_space`, t0.Add(-time.Second)).(model.Vector); got[0].Value != 20 {
		t.Errorf("the future is visible: %v", got)
	}
}

func TestLoadNamesTheLine(t *testing.T) {
	for file, want := range map[string]string{
		"up 1 1000\nup 1":           "line 2: want `series value unix_ms`",
		"up one 1000":               "line 1: read value",
		"up{a= 1 1000":              "line 1: read series",
		"up 1 1796001144660.5\n":    "line 1: read time in ms",
		"\n\nup{} 1 yesterday\nup ": "line 3: read time in ms",
	} {
		_, err := promstore.New().Load(strings.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}
