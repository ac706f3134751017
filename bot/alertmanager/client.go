package alertmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Client asks Alertmanager's API v2. The HTTP client carries authentication
// and TLS. Errors never hold the URL: it may carry a password.
type Client struct {
	base string
	http *http.Client
}

// NewClient takes the base URL, for example http://alertmanager:9093.
func NewClient(base string, c *http.Client) *Client {
	return &Client{base: strings.TrimRight(base, "/"), http: c}
}

// Active is an alert that Alertmanager holds.
type Active struct {
	Fingerprint string
	Silenced    bool
}

// alertsBytes bounds the answer: 20,000 alerts of about 800 bytes.
const alertsBytes = 16 << 20

// Alerts lists the alerts that Alertmanager holds as firing, silenced and
// inhibited ones included: those send no webhook and are not resolved.
func (c *Client) Alerts(ctx context.Context) ([]Active, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/v2/alerts", nil)
	if err != nil {
		return nil, errors.New("asking Alertmanager for its alerts: the configured URL is not valid")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking Alertmanager for its alerts: %w", plain(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking Alertmanager for its alerts: it answered %d", resp.StatusCode)
	}
	return decodeActive(io.LimitReader(resp.Body, alertsBytes))
}

func decodeActive(r io.Reader) ([]Active, error) {
	var wire []struct {
		Fingerprint string `json:"fingerprint"`
		Status      struct {
			State      string   `json:"state"`
			SilencedBy []string `json:"silencedBy"`
		} `json:"status"`
	}
	if err := json.NewDecoder(r).Decode(&wire); err != nil {
		return nil, fmt.Errorf("asking Alertmanager for its alerts: the answer is not a list of alerts: %w", err)
	}
	out := make([]Active, 0, len(wire))
	for _, w := range wire {
		out = append(out, Active{Fingerprint: w.Fingerprint, Silenced: len(w.Status.SilencedBy) > 0})
	}
	return out, nil
}

// plain drops the URL that net/http puts around an error.
func plain(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer in time")
	}
	return errors.New("no connection")
}

// StillFiring tells which of the fingerprints Alertmanager still holds. known is
// false when it could not be asked.
func (c *Client) StillFiring(ctx context.Context, fingerprints []string) (firing []string, known bool, err error) {
	active, err := c.Alerts(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, fp := range fingerprints {
		if slices.ContainsFunc(active, func(a Active) bool { return a.Fingerprint == fp }) {
			firing = append(firing, fp)
		}
	}
	return firing, true, nil
}
