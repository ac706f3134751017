package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// javaFlags keep a JVM small and quick to start on a machine of two cores.
var javaFlags = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true"}

func (c *Cluster) logging() []string {
	return []string{
		"-Dlog4j2.configurationFile=" + filepath.Join(c.state.Dir, "log4j2.properties"),
		"-Dlog4j.configuration=file:" + filepath.Join(c.state.Dir, "log4j.properties"),
	}
}

var (
	nodeIDLine    = regexp.MustCompile(`(?m)^node\.id=.*$`)
	directoryLine = regexp.MustCompile(`(?m)^directory\.id=(.*)$`)
)

// format prepares the data folders. StorageTool runs once, for node 1, and its
// few files are copied for the others with their own node and directory id: that
// saves a JVM start of 2-3 s per broker.
func (c *Cluster) format(ctx context.Context) error {
	s := c.state
	props := filepath.Join(s.brokerDir(1), "server.properties")
	args := append(append([]string{}, javaFlags...), c.logging()...)
	args = append(args, "-cp", c.jars.classPath(), "kafka.tools.StorageTool", "format", "-t", s.ClusterID, "-c", props)
	if err := tool(ctx, s.Dir, "java", args...); err != nil {
		return fmt.Errorf("formatting the storage: %w", err)
	}
	for _, b := range s.Brokers[1:] {
		if err := copyFormat(filepath.Join(s.brokerDir(1), "data"), filepath.Join(s.brokerDir(b.ID), "data"), b.ID); err != nil {
			return fmt.Errorf("formatting the storage of broker %d: %w", b.ID, err)
		}
	}
	return nil
}

func copyFormat(from, to string, id int) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if e.Name() == "meta.properties" {
			b = readdress(b, id)
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readdress gives a meta.properties file another node id and a directory id of
// its own (the same 16 bytes in base64 with the first letter moved on by id, which
// no two nodes of a lab share).
func readdress(meta []byte, id int) []byte {
	meta = nodeIDLine.ReplaceAll(meta, []byte("node.id="+strconv.Itoa(id)))
	return directoryLine.ReplaceAllFunc(meta, func(line []byte) []byte {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		at := len("directory.id=")
		for i := range letters {
			if letters[i] == line[at] {
				line[at] = letters[(i+id)%len(letters)]
				break
			}
		}
		return line
	})
}

// launchBroker starts the process and writes it down; it does not wait.
func (c *Cluster) launchBroker(id int) error {
	s := c.state
	dir, b := s.brokerDir(id), s.broker(id)
	args := append([]string{fmt.Sprintf("-Xmx%dm", s.HeapMB)}, javaFlags...)
	args = append(args, c.logging()...)
	args = append(args,
		fmt.Sprintf("-javaagent:%s=%s:%s", c.jars.agent(), b.Metrics, filepath.Join(s.Dir, "jmx-broker.yml")),
		"-cp", c.jars.classPath(), "kafka.Kafka", filepath.Join(dir, "server.properties"))
	ch, err := start(launch{path: "java", args: args, out: filepath.Join(dir, "out.log")})
	if err != nil {
		return fmt.Errorf("broker %d: %w", id, err)
	}
	return c.update(func(s *State) { s.broker(id).Proc = ch.Proc })
}

// brokerNow is a copy of the broker's entry; ok is false if there is none.
func (c *Cluster) brokerNow(id int) (b Broker, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.state.broker(id); p != nil {
		return *p, true
	}
	return Broker{}, false
}

// waitBroker waits until broker id answers and lists itself, that is, has registered.
func (c *Cluster) waitBroker(ctx context.Context, id int, since time.Time) error {
	b, _ := c.brokerNow(id)
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Kafka), kgo.ClientID("kafka-lab"), kgo.RetryTimeout(time.Second))
	if err != nil {
		return fmt.Errorf("broker %d: %w", id, err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err = poll(ctx, 200*time.Millisecond, fmt.Sprintf("broker %d (log: %s)", id, filepath.Join(c.state.brokerDir(id), "out.log")),
		func(ctx context.Context) (bool, error) {
			if !b.Alive() {
				return false, fmt.Errorf("broker %d ended; see %s", id, filepath.Join(c.state.brokerDir(id), "out.log"))
			}
			return registered(ctx, cl, int32(id)), nil
		})
	if err == nil {
		c.progress(fmt.Sprintf("broker %d answers after %.1f s", id, time.Since(since).Seconds()))
	}
	return err
}

// StopBroker ends broker id with SIGTERM (controlled shutdown: leadership moves
// first) or SIGKILL, and returns when the process is gone.
func (c *Cluster) StopBroker(ctx context.Context, id int, sig syscall.Signal) error {
	b, ok := c.brokerNow(id)
	if !ok {
		return fmt.Errorf("stopping broker %d: there is no such broker", id)
	}
	begin := time.Now()
	if err := b.stop(ctx, sig, time.Minute); err != nil {
		return fmt.Errorf("stopping broker %d: %w", id, err)
	}
	c.progress(fmt.Sprintf("broker %d is down %.1f s after %s", id, time.Since(begin).Seconds(), signalName(sig)))
	return c.update(func(s *State) { s.broker(id).Proc = Proc{} })
}

// StartBroker starts a stopped broker and returns when it answers. Leadership is
// not back then: see PreferredElection.
func (c *Cluster) StartBroker(ctx context.Context, id int) error {
	if b, ok := c.brokerNow(id); !ok || b.Alive() {
		return fmt.Errorf("starting broker %d: it runs already or does not exist", id)
	}
	begin := time.Now()
	if err := c.launchBroker(id); err != nil {
		return err
	}
	return c.waitBroker(ctx, id, begin)
}
