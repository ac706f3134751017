package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// timeouts are the clients' and, for KIP-848 groups, the broker's: scaled down
// to seconds, in the proportions of the defaults (session 45 s, heartbeat 3 s,
// max.poll.interval 300 s). 6 s is the least session timeout brokers accept.
const (
	sessionTimeout    = 6 * time.Second
	heartbeatInterval = 2 * time.Second
	maxPollInterval   = 12 * time.Second
	commitInterval    = time.Second
)

// clientEvent is one line of Client.java's output.
type clientEvent struct {
	T          int64   `json:"t"`
	Event      string  `json:"event"`
	Group      string  `json:"group"`
	ClientID   string  `json:"client_id"`
	MemberID   string  `json:"member_id"`
	Partitions []int32 `json:"partitions"`
	Text       string  `json:"text"`
}

// javaClient is one JVM with one or more consumers.
type javaClient struct {
	c    *Cluster
	name string
	*child

	mu     sync.Mutex
	events []clientEvent
}

// clientSpec says what to start.
type clientSpec struct {
	name     string // of the process: log file, state entry, Prometheus target
	topic    string
	members  []string // GROUP/CLIENTID
	protocol string   // classic or consumer
	metrics  string   // group label of the Prometheus target; "" starts no exporter
	props    []string // further key=value
}

// startJava starts a JVM; it does not wait for an assignment.
func (c *Cluster) startJava(s clientSpec) (*javaClient, error) {
	args := append([]string{"-Xmx" + clientHeap(len(s.members))}, javaFlags...)
	args = append(args, c.logging()...)
	if s.metrics != "" {
		agent, err := c.clientAgent(s)
		if err != nil {
			return nil, err
		}
		args = append(args, agent)
	}
	args = append(args, "-cp", c.jars.clientPath(), "Client", "--topic", s.topic)
	for _, p := range append(clientProps(c.state.Bootstrap, s.protocol), s.props...) {
		args = append(args, "--prop", p)
	}
	for _, m := range s.members {
		args = append(args, "--member", m)
	}
	ch, err := start(launch{path: "java", args: args, out: filepath.Join(c.state.Dir, "client-"+s.name+".log"), pipe: true})
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", s.name, err)
	}
	j := &javaClient{c: c, name: s.name, child: ch}
	go j.listen()
	return j, c.remember("client-"+s.name, ch.Proc)
}

func clientHeap(members int) string {
	if members > 4 {
		return "320m"
	}
	return "96m"
}

func (c *Cluster) clientAgent(s clientSpec) (string, error) {
	ports, err := freePorts(1)
	if err != nil {
		return "", err
	}
	addr := loopback(ports[0])
	labels := map[string]string{"cluster": c.state.Name, "group": s.metrics}
	if err := c.addTarget("client-"+s.name, addr, labels); err != nil {
		return "", err
	}
	return fmt.Sprintf("-javaagent:%s=%s:%s", c.jars.agent(), addr, filepath.Join(c.state.Dir, "jmx-client.yml")), nil
}

// clientProps: classic clients carry their own timeouts; under the consumer
// protocol session and heartbeat belong to the broker and are refused here.
func clientProps(bootstrap, protocol string) []string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	p := []string{
		"bootstrap.servers=" + bootstrap,
		"auto.offset.reset=earliest",
		"max.poll.interval.ms=" + ms(maxPollInterval),
		"auto.commit.interval.ms=" + ms(commitInterval),
		"metadata.max.age.ms=5000",
	}
	if protocol == "consumer" {
		return append(p, "group.protocol=consumer")
	}
	return append(p, "session.timeout.ms="+ms(sessionTimeout), "heartbeat.interval.ms="+ms(heartbeatInterval))
}

func (j *javaClient) listen() {
	lines := bufio.NewScanner(j.out)
	for lines.Scan() {
		var e clientEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		j.mu.Lock()
		j.events = append(j.events, e)
		j.mu.Unlock()
	}
	_ = j.out.Close()
}

// tell sends one command line.
func (j *javaClient) tell(format string, args ...any) error {
	if _, err := io.WriteString(j.in, fmt.Sprintf(format+"\n", args...)); err != nil {
		return fmt.Errorf("telling client %s: %w", j.name, err)
	}
	return nil
}

// close ends the JVM cleanly: every consumer leaves its group and closes its
// fetch sessions, so that no dead ones fill the cache of the next scenario. A JVM
// that has ended before is fine.
func (j *javaClient) close(ctx context.Context) error {
	if !j.Alive() {
		return nil
	}
	_ = j.Signal(syscall.SIGCONT)
	err := j.tell("quit")
	if errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	if gone := j.gone(ctx, 25*time.Second); gone != nil {
		_ = j.Signal(syscall.SIGKILL)
	}
	return errors.Join(err, j.clear())
}

// kill ends the JVM without any goodbye.
func (j *javaClient) kill(ctx context.Context) error {
	return errors.Join(ignoreDone(j.Signal(syscall.SIGKILL)), j.gone(ctx, 10*time.Second), j.clear())
}

func (j *javaClient) clear() error {
	_ = j.in.Close()
	j.c.removeTarget("client-" + j.name)
	return j.c.forget("client-" + j.name)
}
