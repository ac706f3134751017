package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is a running lab.
type Cluster struct {
	jars     jars
	progress func(string)

	mu    sync.Mutex // guards state: scenarios start clients in parallel
	state *State

	client *kgo.Client // admin requests and the trickle of records; reads with no fetch session
}

// Up starts a lab and returns when every broker answers and Prometheus and
// Alertmanager are ready. If anything fails, what was started is ended again.
// A lab of that name that still runs is an error unless Options.Replace is set; a
// dead one's files are replaced.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{progress: o.Progress}
	if o.Replace {
		if err := Down(ctx, o.Dir, o.Name); err != nil {
			return nil, err
		}
	}
	if c.state, err = plan(o); err != nil {
		return nil, err
	}
	if c.jars, err = fetchJars(ctx, o); err != nil {
		return nil, err
	}
	if err := c.bringUp(ctx, o); err != nil {
		down := c.Down(context.WithoutCancel(ctx))
		return nil, errors.Join(err, down)
	}
	return c, nil
}

func (c *Cluster) bringUp(ctx context.Context, o Options) error {
	begin := time.Now()
	if err := c.writeConfig(o); err != nil {
		return err
	}
	if err := c.format(ctx); err != nil {
		return err
	}
	for i := range c.state.Brokers {
		if err := c.launchBroker(c.state.Brokers[i].ID); err != nil {
			return err
		}
	}
	if err := c.startMonitoring(o); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	for _, b := range c.state.Brokers {
		if err := c.waitBroker(ctx, b.ID, begin); err != nil {
			return err
		}
	}
	if err := c.waitMonitoring(ctx); err != nil {
		return err
	}
	c.progress(fmt.Sprintf("lab %s is up after %.1f s", o.Name, time.Since(begin).Seconds()))
	return nil
}

// plan makes a fresh run folder and decides on all ports.
func plan(o Options) (*State, error) {
	old, err := loadState(o.Dir, o.Name)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	if old != nil && old.running() {
		return nil, fmt.Errorf("lab %s is already running; end it with kafka-lab down --name %s", o.Name, o.Name)
	}
	dir, err := runDir(o.Dir, o.Name)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("clearing %s: %w", dir, err)
	}
	ports, err := freePorts(2*o.Brokers + 3)
	if err != nil {
		return nil, err
	}
	return newState(o, dir, ports)
}

func newState(o Options, dir string, ports []int) (*State, error) {
	s := &State{
		Info: Info{
			Name: o.Name, Version: o.Version, Dir: dir, Slots: orInt(o.Slots, 1000), Capacity: capacity(o.Version, o.Slots),
			Prometheus: "http://" + loopback(ports[0]), Alertmanager: "http://" + loopback(ports[1]),
		},
		Controller: loopback(ports[2]), Cache: o.Cache, ClusterID: "a2Fma2Etb25jYWxsLWxhYg", HeapMB: o.HeapMB, Others: map[string]Proc{},
	}
	var boot []string
	for i := range o.Brokers {
		b := Broker{ID: i + 1, Kafka: loopback(ports[3+2*i]), Metrics: loopback(ports[4+2*i])}
		s.Brokers = append(s.Brokers, b)
		boot = append(boot, b.Kafka)
		if err := os.MkdirAll(s.brokerDir(b.ID), 0o755); err != nil {
			return nil, fmt.Errorf("making the run folder: %w", err)
		}
	}
	s.Bootstrap = strings.Join(boot, ",")
	if err := os.MkdirAll(s.targetsDir(), 0o755); err != nil {
		return nil, fmt.Errorf("making the run folder: %w", err)
	}
	return s, nil
}

// writeConfig puts every configuration file into the run folder.
func (c *Cluster) writeConfig(o Options) error {
	s := c.state
	files := map[string][]byte{
		"jmx-broker.yml": static("jmx-broker.yml"), "jmx-client.yml": static("jmx-client.yml"),
		"log4j2.properties": static("log4j2.properties"), "log4j.properties": static("log4j.properties"),
	}
	var err error
	for _, b := range s.Brokers {
		name := filepath.Join(filepath.Base(s.brokerDir(b.ID)), "server.properties")
		if files[name], err = renderServer(o, s, b.ID); err != nil {
			return err
		}
	}
	if files["prometheus.yml"], err = renderPrometheus(o, s); err != nil {
		return err
	}
	if files["rules.yml"], err = renderRules(o); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(s.Dir, name), content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return c.writeWebhook(o.WebhookURL, o.WebhookToken)
}

// Open finds a lab that Up started, possibly in another process.
func Open(dir, name string, progress func(string)) (*Cluster, error) {
	s, err := loadState(dir, name)
	if isMissing(err) {
		return nil, fmt.Errorf("no lab %s under %s: start one with kafka-lab up", name, dir)
	}
	if err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(string) {}
	}
	c := &Cluster{state: s, progress: progress, jars: jars{dir: filepath.Join(s.Cache, "k"+s.Version)}}
	return c, c.connect()
}

func (c *Cluster) connect() error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.state.Bootstrap, ",")...), kgo.ClientID("kafka-lab"),
		kgo.SoftwareNameAndVersion("kafka-lab", "1"), kgo.DisableFetchSessions(), kgo.RetryTimeout(20*time.Second),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return fmt.Errorf("making the admin client: %w", err)
	}
	c.client = cl
	return nil
}

// Info tells where everything is.
func (c *Cluster) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := c.state.Info
	info.Brokers = append([]Broker(nil), info.Brokers...)
	return info
}

// Close lets go of the lab without ending it.
func (c *Cluster) Close() {
	if c.client != nil {
		c.client.Close()
	}
}

// Down ends every process of the lab and removes its data; logs and
// configuration stay in Info().Dir until the next Up of that name. Brokers are
// killed, since nothing of theirs is kept. It can be called again.
func (c *Cluster) Down(ctx context.Context) error {
	c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.reload() // another process may have started clients meanwhile
	return c.state.end(ctx)
}

// Down ends the lab name under dir. No such lab is not an error.
func Down(ctx context.Context, dir, name string) error {
	s, err := loadState(dir, name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.end(ctx)
}

func (s *State) end(ctx context.Context) error {
	var errs []error
	for _, p := range s.procs() {
		errs = append(errs, ignoreDone(p.Signal(syscall.SIGKILL)))
	}
	for _, p := range s.procs() {
		errs = append(errs, p.gone(ctx, 15*time.Second))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("ending lab %s: %w", s.Name, err)
	}
	for _, sub := range []string{"broker-*/data", "prometheus-data", "alertmanager-data", "targets", "webhook.token"} {
		found, _ := filepath.Glob(filepath.Join(s.Dir, sub))
		for _, f := range found {
			errs = append(errs, os.RemoveAll(f))
		}
	}
	if err := os.Remove(statePath(s.Dir)); err != nil && !isMissing(err) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// update changes the state under the lab's file lock and writes it down, since
// `kafka-lab run` may work on one lab from several processes.
func (c *Cluster) update(change func(*State)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	unlock, err := lockFile(ctx, filepath.Join(c.state.Dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.reload(); err != nil && !isMissing(err) {
		return err
	}
	change(c.state)
	return c.state.save()
}

// reload takes the processes from the state file; all else never changes.
func (c *Cluster) reload() error {
	disk, err := readState(statePath(c.state.Dir))
	if err != nil {
		return err
	}
	c.state.Others = disk.Others
	for _, b := range disk.Brokers {
		c.state.broker(b.ID).Proc = b.Proc
	}
	return nil
}

// remember writes a process down before anything else can go wrong.
func (c *Cluster) remember(name string, p Proc) error {
	return c.update(func(s *State) { s.Others[name] = p })
}

func (c *Cluster) forget(name string) error {
	return c.update(func(s *State) { delete(s.Others, name) })
}
