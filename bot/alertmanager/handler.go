package alertmanager

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// Sink keeps a delivery. It returns nil only when the delivery will survive a
// crash.
type Sink interface {
	Accept(ctx context.Context, d Delivery) error
}

// Answered is told about every request: its HTTP code and how long it took.
type Answered func(code int, took time.Duration)

// Handler is the webhook's HTTP side.
type Handler struct {
	Sink     Sink
	Tokens   Tokens
	Bounds   Bounds
	Log      *slog.Logger
	Answered Answered
}

// ServeHTTP answers 200 (on disk), 400 (not a webhook), 401, 405, 413 or 503
// (not kept: send again). Alertmanager repeats after 5xx only, so nothing that
// may succeed later is answered with 4xx.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	code, text := h.serve(w, r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	if text != "" {
		_, _ = w.Write([]byte(text + "\n"))
	}
	if h.Answered != nil {
		h.Answered(code, time.Since(start))
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) (int, string) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, "post an Alertmanager webhook here"
	}
	if !h.Tokens.Allow(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		h.Log.Warn("webhook refused", "reason", "token", "code", http.StatusUnauthorized)
		return http.StatusUnauthorized, "the bearer token is missing or wrong: set http_config.authorization.credentials of the receiver"
	}
	d, err := Decode(http.MaxBytesReader(w, r.Body, h.Bounds.BodyBytes), h.Bounds)
	if err != nil {
		return h.refuse(err)
	}
	if err := h.Sink.Accept(r.Context(), d); err != nil {
		h.Log.Error("webhook not kept", "error", err, "code", http.StatusServiceUnavailable, "alerts", len(d.Alerts))
		return http.StatusServiceUnavailable, "not stored, send it again"
	}
	return http.StatusOK, ""
}

func (h *Handler) refuse(err error) (int, string) {
	var big *http.MaxBytesError
	var shape *ShapeError
	switch {
	case errors.As(err, &big):
		h.Log.Warn("webhook refused", "reason", "too_large", "code", http.StatusRequestEntityTooLarge, "limit_bytes", big.Limit)
		return http.StatusRequestEntityTooLarge, "the body is larger than " + strconv.FormatInt(big.Limit, 10) +
			" bytes: set max_alerts, or group by more labels"
	case errors.As(err, &shape):
		h.Log.Warn("webhook refused", "reason", "shape", "code", http.StatusBadRequest, "problem", shape.Problem)
		return http.StatusBadRequest, shape.Error()
	}
	// The connection broke: whoever sent it will send it again.
	h.Log.Warn("webhook not read", "error", err, "code", http.StatusServiceUnavailable)
	return http.StatusServiceUnavailable, "the body could not be read, send it again"
}
