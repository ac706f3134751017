//go:build lab

package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
)

// These tests start real brokers: go test -tags lab -timeout 30m ./lab
// KAFKA_LAB_VERSION chooses the version, KAFKA_LAB_CACHE where jars are kept.

func realOptions(t *testing.T, name string) Options {
	return Options{Version: orString(os.Getenv("KAFKA_LAB_VERSION"), "4.4.0"), Name: name, Dir: t.TempDir(),
		Cache: orString(os.Getenv("KAFKA_LAB_CACHE"), "../.klab"), Progress: func(s string) { t.Log(s) }}
}

func bring(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestGroupScenariosOnARealBroker(t *testing.T) {
	c := bring(t, realOptions(t, "groups"))
	for name, holds := range map[string]func(o map[string]float64) bool{
		"quiet":              func(o map[string]float64) bool { return unknown(o) == 0 && o["leave_group_requests"] == 0 },
		"lag":                func(o map[string]float64) bool { return unknown(o) == 0 && o["leave_group_requests"] == 0 },
		"poll-interval":      func(o map[string]float64) bool { return unknown(o) == 0 && o["leave_group_requests"] == 1 },
		"session-timeout":    func(o map[string]float64) bool { return unknown(o) > 0 && o["leave_group_requests"] == 0 },
		"process-gone":       func(o map[string]float64) bool { return unknown(o) == 0 && o["leave_group_requests"] == 0 },
		"join-sync-race":     func(o map[string]float64) bool { return unknown(o) > 0 && o["sync_group_25"] == 1 },
		"client-unreachable": func(o map[string]float64) bool { return unknown(o) > 0 && o["leave_group_requests"] == 0 },
		"removed-by-admin":   func(o map[string]float64) bool { return o["leave_group_requests"] == 1 },
		"rolling-deploy":     func(o map[string]float64) bool { return unknown(o) == 0 && o["leave_group_requests"] == 3 },
	} {
		t.Run(name, func(t *testing.T) {
			truth, err := c.Run(t.Context(), name, Params{})
			if err != nil {
				t.Fatal(err)
			}
			if !holds(truth.Observed) {
				t.Errorf("the broker's counts do not show it: %v", truth.Observed)
			}
		})
	}
}

// unknown adds up the refusals of members that the coordinator does not know.
func unknown(o map[string]float64) float64 {
	return o["heartbeat_25"] + o["offset_commit_25"] + o["consumer_heartbeat_25"]
}

func TestRestartBurstReachesTheWebhook(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Alerts []struct {
				Status string
				Labels map[string]string
			}
		}
		if r.Header.Get("Authorization") != "Bearer s3cret" || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, a := range body.Alerts {
			seen[a.Status+" "+a.Labels["alertname"]+" "+a.Labels["cluster"]] = true
		}
	}))
	defer hook.Close()
	o := realOptions(t, "burst")
	o.Brokers, o.WebhookURL, o.WebhookToken = 3, hook.URL, "s3cret"
	c := bring(t, o)
	truth, err := c.Run(t.Context(), "restart-burst", Params{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := truth.Observed["error_70_on_broker"], truth.Expected["error_70_on_broker"]; got != want {
		t.Errorf("error 70 on the broker: %g, want %g", got, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if !seen["firing KafkaFetchSessionErrors burst"] {
		t.Errorf("the alert did not arrive; seen: %v", seen)
	}
}

func TestCacheScenariosOnARealBroker(t *testing.T) {
	o := realOptions(t, "cache")
	o.Slots = 64
	c := bring(t, o)
	full, err := c.Run(t.Context(), "cache-saturated", Params{})
	if err != nil {
		t.Fatal(err)
	}
	if full.Observed["evictions"] != 0 || full.Observed["error_70"] != 0 || full.Observed["client_refused"] == 0 {
		t.Errorf("a silent overflow has refusals only: %v", full.Observed)
	}
	thrash, err := c.Run(t.Context(), "cache-thrash", Params{})
	if err != nil {
		t.Fatal(err)
	}
	ev, e70 := thrash.Observed["evictions"], thrash.Observed["error_70"]
	if e70 < 96 || e70 != thrash.Observed["client_error_70"] || ev < e70 || ev > 1.2*e70 {
		t.Errorf("thrashing shows as errors 70, about as many as evictions: %v", thrash.Observed)
	}
}
