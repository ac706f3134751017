package alertmanager

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func body(r io.Reader) io.ReadCloser { return io.NopCloser(r) }

type keeper struct {
	err  error
	kept []Delivery
}

// Accept keeps a delivery, or fails as told.
func (k *keeper) Accept(_ context.Context, d Delivery) error {
	if k.err == nil {
		k.kept = append(k.kept, d)
	}
	return k.err
}

func TestHandlerAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		method, auth, body string
		sink               error
		code               int
		text               string
	}{
		"kept":            {"POST", "Bearer new", good, nil, 200, ""},
		"old token":       {"POST", "bearer old", good, nil, 200, ""},
		"not kept":        {"POST", "Bearer new", good, errors.New("disk full at /var/lib"), 503, "not stored"},
		"no token":        {"POST", "", good, nil, 401, "credentials"},
		"wrong token":     {"POST", "Bearer nex", good, nil, 401, "credentials"},
		"wrong scheme":    {"POST", "Basic new", good, nil, 401, "credentials"},
		"get":             {"GET", "Bearer new", "", nil, 405, "post"},
		"custom payload":  {"POST", "Bearer new", `{"text":"fire"}`, nil, 400, "custom payload"},
		"too large":       {"POST", "Bearer new", `{"version":"4","x":"` + strings.Repeat("a", 5000) + `"}`, nil, 413, "max_alerts"},
		"too large, late": {"POST", "Bearer new", strings.Repeat(" ", 5000) + good, nil, 413, "max_alerts"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			k := &keeper{err: c.sink}
			b := DefaultBounds()
			b.BodyBytes = 2000
			answered := 0
			h := &Handler{Sink: k, Tokens: NewTokens([]string{"old", "new", " "}), Bounds: b, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Answered: func(code int, _ time.Duration) { answered = code }}
			r := httptest.NewRequest(c.method, "/webhook/alertmanager", strings.NewReader(c.body))
			r.Header.Set("Authorization", c.auth)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.code || answered != c.code || !strings.Contains(w.Body.String(), c.text) {
				t.Errorf("got %d %q", w.Code, w.Body)
			}
			if kept := c.code == 200; (len(k.kept) == 1) != kept {
				t.Errorf("%d deliveries kept", len(k.kept))
			}
			for _, secret := range []string{"nex", "old", "/var/lib"} {
				if strings.Contains(w.Body.String(), secret) {
					t.Errorf("the answer shows %q", secret)
				}
			}
			if strings.Contains(log.String(), "nex") {
				t.Error("the log shows a token")
			}
		})
	}
}

func TestNoTokensMeansOpen(t *testing.T) {
	if r := httptest.NewRequest("POST", "/", nil); !NewTokens(nil).Allow(r) || NewTokens([]string{"x"}).Allow(r) {
		t.Error("wrong")
	}
}

func TestClientAlerts(t *testing.T) {
	for _, version := range []string{"0.25", "0.35"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/prefix/api/v2/alerts" {
				t.Errorf("asked %s", r.URL.Path)
			}
			_, _ = w.Write([]byte(sample(t, version+"/api_v2_alerts.json")))
		}))
		got, err := NewClient(srv.URL+"/prefix/", srv.Client()).Alerts(t.Context())
		srv.Close()
		if err != nil || len(got) == 0 || len(got[0].Fingerprint) != 16 {
			t.Errorf("%s: %+v %v", version, got, err)
		}
	}
}

func TestClientErrorsHideTheURL(t *testing.T) {
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	defer bad.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, url := range []string{bad.URL, closed.URL, "http://user:secret@%zz"} {
		_, err := NewClient(url, http.DefaultClient).Alerts(t.Context())
		if err == nil || strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestStillFiring(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"fingerprint":"a","status":{"state":"active"}},{"fingerprint":"b","status":{"state":"suppressed","silencedBy":["x"]}}]`))
	}))
	defer srv.Close()
	c := NewClient(srv.URL, srv.Client())
	firing, known, err := c.StillFiring(t.Context(), []string{"a", "b", "c"})
	if err != nil || !known || strings.Join(firing, " ") != "a b" {
		t.Errorf("%v %v %v", firing, known, err)
	}
	srv.Close()
	if _, known, err := c.StillFiring(t.Context(), []string{"a"}); known || err == nil {
		t.Errorf("a failed question counts as an answer: %v", err)
	}
}
