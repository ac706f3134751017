package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// startMonitoring starts Prometheus and Alertmanager (Debian's 2.42 and 0.25, or newer).
func (c *Cluster) startMonitoring(o Options) error {
	s := c.state
	err := c.daemon("alertmanager", "prometheus-alertmanager",
		"--config.file="+filepath.Join(s.Dir, "alertmanager.yml"),
		"--storage.path="+filepath.Join(s.Dir, "alertmanager-data"),
		"--web.listen-address="+hostPort(s.Alertmanager),
		"--web.external-url="+s.Alertmanager,
		"--cluster.listen-address=", // one instance: no gossip port, and no host name in payloads
		"--log.level=warn")
	if err != nil {
		return err
	}
	return c.daemon("prometheus", "prometheus",
		"--config.file="+filepath.Join(s.Dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(s.Dir, "prometheus-data"),
		"--storage.tsdb.retention.time=1d",
		"--rules.alert.resend-delay="+promDuration(max(5*time.Second, 2*o.ScrapeInterval)),
		"--web.listen-address="+hostPort(s.Prometheus),
		"--web.external-url="+s.Prometheus,
		"--web.enable-lifecycle",
		"--log.level=warn")
}

func (c *Cluster) daemon(name, path string, args ...string) error {
	ch, err := start(launch{path: path, args: args, out: filepath.Join(c.state.Dir, name+".log")})
	if err != nil {
		return fmt.Errorf("%s: %w (Debian: apt-get install prometheus prometheus-alertmanager)", name, err)
	}
	return c.remember(name, ch.Proc)
}

func (c *Cluster) waitMonitoring(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for name, url := range map[string]string{"prometheus": c.state.Prometheus, "alertmanager": c.state.Alertmanager} {
		log := filepath.Join(c.state.Dir, name+".log")
		err := poll(ctx, 100*time.Millisecond, name+" (log: "+log+")", func(ctx context.Context) (bool, error) {
			if !c.state.Others[name].Alive() {
				return false, fmt.Errorf("%s ended; see %s", name, log)
			}
			return call(ctx, http.MethodGet, url+"/-/ready") == nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func call(ctx context.Context, method, url string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, resp.Status)
	}
	return nil
}

// SetWebhook sends Alertmanager's notifications to another place; an empty URL
// sends them nowhere. The token travels as `Authorization: Bearer TOKEN`.
func (c *Cluster) SetWebhook(ctx context.Context, url, token string) error {
	if err := checkWebhook(url); err != nil {
		return err
	}
	if err := c.writeWebhook(url, token); err != nil {
		return err
	}
	return call(ctx, http.MethodPost, c.state.Alertmanager+"/-/reload")
}

func (c *Cluster) writeWebhook(url, token string) error {
	file := ""
	if token != "" {
		file = filepath.Join(c.state.Dir, "webhook.token")
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			return fmt.Errorf("writing the webhook token: %w", err)
		}
	}
	b, err := renderAlertmanager(url, file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.state.Dir, "alertmanager.yml"), b, 0o600); err != nil {
		return fmt.Errorf("writing alertmanager.yml: %w", err)
	}
	return nil
}

// ScrapeBot makes Prometheus scrape the bot's own /metrics at addr (host:port).
// The bot's series carry their own cluster label, so none is added.
func (c *Cluster) ScrapeBot(addr string) error { return c.addTarget("bot-0", addr, nil) }

// addTarget writes a file for Prometheus' file discovery; it is picked up at once.
func (c *Cluster) addTarget(name, addr string, labels map[string]string) error {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels,omitempty"`
	}
	b, err := json.Marshal([]group{{Targets: []string{addr}, Labels: labels}})
	if err != nil {
		return fmt.Errorf("writing target %s: %w", name, err)
	}
	path := filepath.Join(c.state.targetsDir(), name+".json")
	if err := os.WriteFile(path+".new", b, 0o644); err != nil {
		return fmt.Errorf("writing target %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing target %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) removeTarget(name string) {
	_ = os.Remove(filepath.Join(c.state.targetsDir(), name+".json"))
}
