package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// The scaled timeouts: clients' and, for KIP-848 groups, the broker's. Seconds, in
// the proportions of the defaults (session 45 s, heartbeat 3 s, max.poll.interval
// 300 s). 6 s is the least session timeout brokers accept.
const (
	sessionTimeout  = 6 * time.Second
	maxPollInterval = 12 * time.Second
	commitInterval  = time.Second
)

// timeouts are those of one run's clients.
type timeouts struct {
	session, heartbeat, maxPoll, commit time.Duration
}

func (p Params) timeouts() timeouts {
	t := timeouts{session: orDuration(p.Session, sessionTimeout), maxPoll: orDuration(p.MaxPoll, maxPollInterval), commit: orDuration(p.Commit, commitInterval)}
	t.heartbeat = t.session / 3
	return t
}

// The client libraries that group scenarios can be played with.
const (
	clientJava       = "java"
	clientLibrdkafka = "librdkafka"
	clientFranz      = "franz-go"
)

// clientEvent is one line of a client's output; all three speak alike.
type clientEvent struct {
	T          int64   `json:"t"`
	Event      string  `json:"event"`
	Group      string  `json:"group"`
	ClientID   string  `json:"client_id"`
	MemberID   string  `json:"member_id"`
	Partitions []int32 `json:"partitions"`
	Text       string  `json:"text"`
}

// clientProc is one process with one or more consumers.
type clientProc struct {
	c    *Cluster
	name string
	*child

	mu     sync.Mutex
	events []clientEvent
}

// clientSpec says what to start.
type clientSpec struct {
	name      string // of the process: log file, state entry, Prometheus target
	topic     string
	members   []string // GROUP/CLIENTID
	protocol  string   // classic or consumer
	library   string   // java when empty
	bootstrap string   // the cluster's when empty
	assign    bool     // no group: every consumer takes all partitions by hand (Java)
	times     timeouts
	metrics   string   // group label of the Prometheus target; "" starts no exporter (Java)
	props     []string // further key=value, in Java's names
}

// startClients starts a process with consumers; it does not wait for an assignment.
func (c *Cluster) startClients(ctx context.Context, s clientSpec) (*clientProc, error) {
	s.bootstrap = orString(s.bootstrap, c.state.Bootstrap)
	l, err := c.clientLaunch(ctx, s)
	if err != nil {
		return nil, err
	}
	l.args = append(l.args, s.arguments()...)
	l.out, l.pipe = filepath.Join(c.state.Dir, "client-"+s.name+".log"), true
	ch, err := start(l)
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", s.name, err)
	}
	j := &clientProc{c: c, name: s.name, child: ch}
	go j.listen()
	return j, c.remember("client-"+s.name, ch.Proc)
}

// arguments are those that Client.java, client.py and RunClient understand.
func (s clientSpec) arguments() []string {
	args := []string{"--topic", s.topic}
	if s.assign {
		args = append(args, "--assign", "true")
	}
	for _, p := range append(clientProps(s), s.props...) {
		args = append(args, "--prop", p)
	}
	for _, m := range s.members {
		args = append(args, "--member", m)
	}
	return args
}

func (c *Cluster) clientLaunch(ctx context.Context, s clientSpec) (launch, error) {
	switch s.library {
	case clientLibrdkafka:
		return c.librdkafka(ctx)
	case clientFranz:
		self, err := os.Executable()
		if err != nil {
			return launch{}, fmt.Errorf("finding kafka-lab itself for the franz-go client: %w", err)
		}
		return launch{path: self, args: []string{"client"}}, nil
	}
	args := append([]string{"-Xmx" + clientHeap(len(s.members))}, javaFlags...)
	args = append(args, c.logging()...)
	if s.metrics != "" {
		agent, err := c.clientAgent(s)
		if err != nil {
			return launch{}, err
		}
		args = append(args, agent)
	}
	return launch{path: "java", args: append(args, "-cp", c.jars.clientPath(), "Client")}, nil
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
func clientProps(s clientSpec) []string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	p := []string{
		"bootstrap.servers=" + s.bootstrap,
		"auto.offset.reset=earliest",
		"max.poll.interval.ms=" + ms(s.times.maxPoll),
		"auto.commit.interval.ms=" + ms(s.times.commit),
		"metadata.max.age.ms=5000",
	}
	if s.library == clientLibrdkafka { // there the other one only bounds what its cache may hold
		p = append(p, "topic.metadata.refresh.interval.ms=5000")
	}
	if s.protocol == "consumer" {
		return append(p, "group.protocol=consumer")
	}
	return append(p, "session.timeout.ms="+ms(s.times.session), "heartbeat.interval.ms="+ms(s.times.heartbeat))
}

func (j *clientProc) listen() {
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

// said says whether an event of that name has come.
func (j *clientProc) said(event string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.events, func(e clientEvent) bool { return e.Event == event })
}

// tell sends one command line.
func (j *clientProc) tell(format string, args ...any) error {
	if _, err := io.WriteString(j.in, fmt.Sprintf(format+"\n", args...)); err != nil {
		return fmt.Errorf("telling client %s: %w", j.name, err)
	}
	return nil
}

// close ends the JVM cleanly: every consumer leaves its group and closes its
// fetch sessions, so that no dead ones fill the cache of the next scenario. A JVM
// that has ended before is fine.
func (j *clientProc) close(ctx context.Context) error {
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
func (j *clientProc) kill(ctx context.Context) error {
	return errors.Join(ignoreDone(j.Signal(syscall.SIGKILL)), j.gone(ctx, 10*time.Second), j.clear())
}

func (j *clientProc) clear() error {
	_ = j.in.Close()
	j.c.removeTarget("client-" + j.name)
	return j.c.forget("client-" + j.name)
}
