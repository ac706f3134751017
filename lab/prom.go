package lab

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// series is one time series with its raw samples.
type series struct {
	name   string // as PromQL writes it
	metric model.Metric
	points []model.SamplePair
}

// raw asks for the stored samples of a selector between from and to: an instant
// query of a range selector, so nothing is resampled or filled in.
func (c *Cluster) raw(ctx context.Context, selector string, from, to time.Time) ([]series, error) {
	cl, err := api.NewClient(api.Config{Address: c.state.Prometheus})
	if err != nil {
		return nil, fmt.Errorf("prometheus client: %w", err)
	}
	window := max(to.Sub(from).Round(time.Second), time.Second)
	v, _, _, err := promv1.NewAPI(cl).Query(ctx, fmt.Sprintf("%s[%s]", selector, promDuration(window)), to)
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", selector, err)
	}
	m, ok := v.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("querying %s: answer is a %s", selector, v.Type())
	}
	var out []series
	for _, s := range m {
		out = append(out, series{name: s.Metric.String(), metric: s.Metric, points: s.Values})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// grown adds up by how much the counters of a selector grew between from and to.
// A series born meanwhile grew by its value; one that fell was reset and counts
// from zero again.
func (c *Cluster) grown(ctx context.Context, selector string, from, to time.Time) (float64, error) {
	all, err := c.raw(ctx, selector, from.Add(-10*time.Second), to)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, s := range all {
		total += growth(s.points, from)
	}
	return total, nil
}

func growth(points []model.SamplePair, from time.Time) float64 {
	last, sum := 0.0, 0.0
	for _, p := range points {
		v := float64(p.Value)
		switch {
		case p.Timestamp.Time().Before(from):
			sum = 0
		case v < last:
			sum += v
		default:
			sum += v - last
		}
		last = v
	}
	return sum
}

// latest is the newest value of each series of a selector.
func (c *Cluster) latest(ctx context.Context, selector string) ([]series, error) {
	t := now()
	all, err := c.raw(ctx, selector, t.Add(-10*time.Second), t)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].points = all[i].points[len(all[i].points)-1:]
	}
	return all, nil
}

// value is the newest value of a selector that matches one series; 0 if none does.
func (c *Cluster) value(ctx context.Context, selector string) (float64, error) {
	all, err := c.latest(ctx, selector)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return float64(all[0].points[0].Value), nil
}

func errorsOf(request, code string) string {
	return fmt.Sprintf(`kafka_network_RequestMetrics_Count{name="ErrorsPerSec",request=%q,error=%q}`, request, code)
}

const (
	sessionsGauge    = `kafka_server_FetchSessionCache_Value{name="NumIncrementalFetchSessions"}`
	evictionsCounter = `kafka_server_FetchSessionCache_Count{name="IncrementalFetchSessionEvictionsPerSec"}`
	sessionNotFound  = "FETCH_SESSION_ID_NOT_FOUND"
	unknownMember    = "UNKNOWN_MEMBER_ID"
)
