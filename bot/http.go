package bot

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kafka-oncall/kafka-oncall/bot/alertmanager"
)

// stuckAfter is how long the worker may be silent before the process counts as
// unhealthy. It beats every second.
const stuckAfter = time.Minute

func (s *Server) routes() http.Handler {
	bounds := s.cfg.Bounds
	bounds.Keep = s.mapping.Labels()
	var tokens []string
	for _, t := range s.cfg.WebhookTokens {
		tokens = append(tokens, t.Reveal())
	}
	mux := http.NewServeMux()
	mux.Handle("/webhook/alertmanager", &alertmanager.Handler{
		Sink: sink{s}, Tokens: alertmanager.NewTokens(tokens), Bounds: bounds, Log: s.deps.Log,
		Answered: func(code int, took time.Duration) {
			s.metrics.webhooks.WithLabelValues(strconv.Itoa(code)).Inc()
			s.metrics.webhookSeconds.Observe(took.Seconds())
		},
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.deps.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /-/healthy", s.healthy)
	mux.HandleFunc("GET /-/ready", s.ready)
	return mux
}

// healthy: the process works. A restart would help when it does not.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	last := s.alive.Load()
	if last != 0 && time.Since(time.UnixMilli(last)) > stuckAfter {
		http.Error(w, "the worker stands still", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "healthy")
}

// ready: alerts can be stored and messages can go out.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	var bad []string
	for _, c := range append(s.ownChecks(), s.deps.Ready...) {
		if err := c.Do(ctx); err != nil {
			bad = append(bad, c.Name+": "+err.Error())
		}
	}
	if len(bad) > 0 {
		http.Error(w, strings.Join(bad, "\n"), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ready")
}

func (s *Server) ownChecks() []Check {
	return []Check{
		{"worker", func(context.Context) error {
			if s.alive.Load() == 0 {
				return fmt.Errorf("has not started")
			}
			return nil
		}},
		{"store", func(ctx context.Context) error {
			if err := s.store.Ping(ctx); err != nil {
				s.metrics.storeError(err)
				return fmt.Errorf("cannot be written: %s", storeReason(err))
			}
			return nil
		}},
		{"slack socket", func(context.Context) error {
			if !s.deps.Connected() {
				return fmt.Errorf("not connected")
			}
			return nil
		}},
		{"slack token", func(context.Context) error {
			if s.authBad.Load() {
				return fmt.Errorf("refused by Slack, or it lacks a scope")
			}
			return nil
		}},
	}
}
