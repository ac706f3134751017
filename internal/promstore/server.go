package promstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Server answers the part of the Prometheus HTTP API that queries need: query,
// query_range, series, labels, label values, metadata (always empty) and
// buildinfo.
type Server struct {
	store  *Store
	engine *promql.Engine
	parser parser.Parser
	now    func() time.Time
	mux    *http.ServeMux
}

// NewServer serves st. The clock is used by queries that give no time.
func NewServer(st *Store, now func() time.Time) *Server {
	p := parser.NewParser(parser.Options{})
	s := &Server{store: st, parser: p, now: now, mux: http.NewServeMux()}
	s.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 5_000_000, Timeout: 30 * time.Second, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
	})
	s.mux.HandleFunc("/api/v1/query", s.answer(s.query))
	s.mux.HandleFunc("/api/v1/query_range", s.answer(s.queryRange))
	s.mux.HandleFunc("/api/v1/series", s.answer(s.series))
	s.mux.HandleFunc("/api/v1/labels", s.answer(s.labelNames))
	s.mux.HandleFunc("/api/v1/label/{name}/values", s.answer(s.labelValues))
	s.mux.HandleFunc("/api/v1/metadata", s.answer(func(*http.Request) (any, []string, error) { return struct{}{}, nil, nil }))
	s.mux.HandleFunc("/api/v1/status/buildinfo", s.answer(func(*http.Request) (any, []string, error) {
		return map[string]string{"version": "3.16.0-promstore"}, nil, nil
	}))
	s.mux.HandleFunc("/-/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// badData is a fault of the request, answered with 400 like Prometheus does.
type badData struct{ error }

type envelope struct {
	Status    string   `json:"status"`
	Data      any      `json:"data,omitempty"`
	ErrorType string   `json:"errorType,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

func (s *Server) answer(f func(*http.Request) (any, []string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, warnings, err := f(r)
		code, env := http.StatusOK, envelope{Status: "success", Data: data, Warnings: warnings}
		if err != nil {
			code, env = failure(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(env) // the client has gone: nobody to tell
	}
}

func failure(err error) (int, envelope) {
	env := envelope{Status: "error", Error: err.Error()}
	var bad badData
	var timeout promql.ErrQueryTimeout
	switch {
	case errors.As(err, &bad):
		env.ErrorType = "bad_data"
		return http.StatusBadRequest, env
	case errors.As(err, &timeout):
		env.ErrorType = "timeout"
		return http.StatusServiceUnavailable, env
	case errors.Is(err, context.Canceled):
		env.ErrorType = "canceled"
		return 499, env
	}
	env.ErrorType = "execution"
	return http.StatusUnprocessableEntity, env
}

func (s *Server) query(r *http.Request) (any, []string, error) {
	at, err := s.time(r, "time", s.now())
	if err != nil {
		return nil, nil, err
	}
	q, err := s.engine.NewInstantQuery(r.Context(), s.store, nil, r.FormValue("query"), at)
	return run(r.Context(), q, err)
}

func (s *Server) queryRange(r *http.Request) (any, []string, error) {
	start, err := s.time(r, "start", time.Time{})
	if err != nil {
		return nil, nil, err
	}
	end, err := s.time(r, "end", time.Time{})
	if err != nil {
		return nil, nil, err
	}
	step, err := seconds(r.FormValue("step"))
	if err != nil || step <= 0 || end.Before(start) {
		return nil, nil, badData{fmt.Errorf("invalid step, start or end")}
	}
	q, err := s.engine.NewRangeQuery(r.Context(), s.store, nil, r.FormValue("query"), start, end, step)
	return run(r.Context(), q, err)
}

func run(ctx context.Context, q promql.Query, err error) (any, []string, error) {
	if err != nil {
		return nil, nil, badData{err}
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, nil, res.Err
	}
	warnings, _ := res.Warnings.AsStrings("", 10, 10)
	// Encoded here: Close gives the result's memory back to the engine.
	raw, err := json.Marshal(map[string]any{"resultType": res.Value.Type(), "result": res.Value})
	return json.RawMessage(raw), warnings, err
}

func (s *Server) series(r *http.Request) (any, []string, error) {
	_ = r.ParseForm()
	out := []labels.Labels{}
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	for _, m := range r.Form["match[]"] {
		ms, err := s.parser.ParseMetricSelector(m)
		if err != nil {
			return nil, nil, badData{err}
		}
		for _, sr := range s.store.matching(ms) {
			out = append(out, sr.lset)
		}
	}
	return out, nil, nil
}

func (s *Server) labelNames(r *http.Request) (any, []string, error) {
	v, _, err := (&querier{store: s.store}).LabelNames(r.Context(), nil)
	return v, nil, err
}

func (s *Server) labelValues(r *http.Request) (any, []string, error) {
	v, _, err := (&querier{store: s.store}).LabelValues(r.Context(), r.PathValue("name"), nil)
	return v, nil, err
}

func (s *Server) time(r *http.Request, key string, otherwise time.Time) (time.Time, error) {
	v := r.FormValue(key)
	if v == "" && !otherwise.IsZero() {
		return otherwise, nil
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return time.UnixMilli(int64(f * 1000)).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return t, badData{fmt.Errorf("invalid parameter %q", key)}
	}
	return t, nil
}

func seconds(v string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return time.Duration(f * float64(time.Second)), nil
	}
	d, err := model.ParseDuration(v)
	return time.Duration(d), err
}
