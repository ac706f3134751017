// Package promstore is a Prometheus query server that lives in the process: a
// small in-memory store under the real PromQL engine, served over the HTTP API
// that real clients use.
//
// Tests and `kafka-oncall demo` use it to let the real collectors read recorded
// or computed series. It scrapes nothing, keeps everything and persists
// nothing.
//
//	st := promstore.New()
//	st.Load(file)                            // lines: series value unix_ms
//	st.SetShift(time.Since(recordedAt))      // replay as if it were now
//	srv := httptest.NewServer(promstore.NewServer(st, time.Now))
//
// All of prometheus/prometheus' Go API that moves with each release (the
// engine's options, the storage interfaces) is confined to this package.
package promstore

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Store holds series in memory. The zero value is not usable; call [New]. It is
// safe for concurrent use.
type Store struct {
	mu     sync.RWMutex
	series map[string]*series
	shift  time.Duration
}

type series struct {
	lset    labels.Labels
	samples []point
	// fn computes the series at every multiple of step instead of samples.
	fn   Func
	step time.Duration
}

type point struct {
	t int64
	v float64
}

// Func is a series as a function of time; false = no sample at that time.
type Func func(t time.Time) (float64, bool)

// New returns an empty store.
func New() *Store { return &Store{series: map[string]*series{}} }

// SetShift moves everything appended, loaded and computed by d towards the
// future, including the values of series that hold a point in time
// (process_start_time_seconds and its relatives), so that a recorded run
// happens now. It replaces an earlier shift.
func (s *Store) SetShift(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift = d
}

// Append adds one sample. Samples may come in any order; a second one at the
// same millisecond replaces the first.
func (s *Store) Append(lset labels.Labels, t time.Time, v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sr := s.get(lset)
	p := point{t: t.UnixMilli(), v: v}
	i, found := slices.BinarySearchFunc(sr.samples, p.t, func(a point, t int64) int { return cmp.Compare(a.t, t) })
	if found {
		sr.samples[i] = p
		return
	}
	sr.samples = slices.Insert(sr.samples, i, p)
}

// AddFunc adds a computed series with a sample at every multiple of step.
func (s *Store) AddFunc(lset labels.Labels, step time.Duration, fn Func) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sr := s.get(lset)
	sr.fn, sr.step = fn, step
}

func (s *Store) get(lset labels.Labels) *series {
	key := lset.String()
	sr, ok := s.series[key]
	if !ok {
		sr = &series{lset: lset}
		s.series[key] = sr
	}
	return sr
}

// Querier implements [storage.Queryable].
func (s *Store) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{store: s, mint: mint, maxt: maxt}, nil
}

type querier struct {
	store      *Store
	mint, maxt int64
}

// Select implements [storage.Querier]. The answer is always sorted.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	q.store.mu.RLock()
	defer q.store.mu.RUnlock()
	var out []storage.Series
	for _, sr := range q.store.matching(ms) {
		if samples := q.cut(sr); len(samples) > 0 {
			out = append(out, storage.NewListSeries(sr.lset, samples))
		}
	}
	return &seriesSet{series: out, at: -1}
}

func (s *Store) matching(ms []*labels.Matcher) []*series {
	var out []*series
	for _, sr := range s.series {
		if matches(sr.lset, ms) {
			out = append(out, sr)
		}
	}
	sort.Slice(out, func(i, j int) bool { return labels.Compare(out[i].lset, out[j].lset) < 0 })
	return out
}

func matches(lset labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

func (q *querier) cut(sr *series) []chunks.Sample {
	shift := q.store.shift.Milliseconds()
	unit := timeUnit(sr.lset.Get(model.MetricNameLabel))
	var out []chunks.Sample
	add := func(t int64, v float64) {
		if unit > 0 {
			v += float64(q.store.shift) / float64(unit)
		}
		out = append(out, sample{t: t + shift, v: v})
	}
	if sr.fn != nil {
		step := sr.step.Milliseconds()
		for t := (q.mint - shift + step - 1) / step * step; t <= q.maxt-shift; t += step {
			if v, ok := sr.fn(time.UnixMilli(t).UTC()); ok {
				add(t, v)
			}
		}
		return out
	}
	for _, p := range sr.samples {
		if p.t+shift >= q.mint && p.t+shift <= q.maxt {
			add(p.t, p.v)
		}
	}
	return out
}

// timeUnit returns the unit of a series whose value is a point in time, 0 for
// all others. The names are those of Prometheus' process collector, of Kafka's
// app-info and of the JVM's Runtime bean through the JMX exporter.
func timeUnit(name string) time.Duration {
	switch {
	case name == "process_start_time_seconds":
		return time.Second
	case strings.HasSuffix(name, "_start_time_ms"), strings.HasSuffix(name, "_StartTimeMs"),
		name == "java_lang_Runtime_StartTime", name == "java_lang_runtime_starttime":
		return time.Millisecond
	}
	return 0
}

// LabelValues implements [storage.LabelQuerier].
func (q *querier) LabelValues(_ context.Context, name string, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.collect(ms, func(l labels.Label) (string, bool) { return l.Value, l.Name == name }), nil, nil
}

// LabelNames implements [storage.LabelQuerier].
func (q *querier) LabelNames(_ context.Context, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.collect(ms, func(l labels.Label) (string, bool) { return l.Name, true }), nil, nil
}

func (q *querier) collect(ms []*labels.Matcher, pick func(labels.Label) (string, bool)) []string {
	q.store.mu.RLock()
	defer q.store.mu.RUnlock()
	out := []string{}
	for _, sr := range q.store.matching(ms) {
		sr.lset.Range(func(l labels.Label) {
			if v, ok := pick(l); ok {
				out = append(out, v)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Close implements [storage.LabelQuerier].
func (q *querier) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample implements [chunks.Sample] for a plain float.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
