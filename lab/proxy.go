package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// proxy stands between clients and brokers on loopback and understands Kafka's
// frames: it rewrites the addresses in answers, so that clients come back through
// it, and it can balance each request by itself.
//
// Every request must have an answer: a producer with acks=0 cannot use it.
//
// With one listener per broker it is transparent (directProxy). With one listener
// for all brokers it is a load balancer where none belongs (sharedProxy).
type proxy struct {
	listeners []net.Listener
	route     func(broker string) string // the address that clients are told
	balance   balance
	gate      gate
	next      atomic.Uint64 // round robin
	wg        sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// balance says which broker gets what.
type balance int

const (
	balanceNone        balance = iota // the one behind the listener
	balanceConnections                // a connection keeps its broker
	balanceRequests                   // every request goes to the next broker
)

// directProxy has one listener for each broker of the cluster.
func (c *Cluster) directProxy() (*proxy, error) {
	var brokers, told []string
	p := &proxy{conns: map[net.Conn]struct{}{}}
	for _, b := range c.Info().Brokers {
		l, err := p.listen()
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		brokers, told = append(brokers, b.Kafka), append(told, l.Addr().String())
	}
	p.route = func(broker string) string {
		for i := range brokers {
			if brokers[i] == broker {
				return told[i]
			}
		}
		return broker
	}
	for i, l := range p.listeners {
		p.wg.Go(func() { p.accept(l, brokers[i:i+1]) })
	}
	return p, nil
}

// sharedProxy has one listener, whose address every broker seems to have.
func (c *Cluster) sharedProxy(b balance) (*proxy, error) {
	var brokers []string
	for _, x := range c.Info().Brokers {
		brokers = append(brokers, x.Kafka)
	}
	p := &proxy{conns: map[net.Conn]struct{}{}, balance: b}
	l, err := p.listen()
	if err != nil {
		return nil, err
	}
	p.route = func(string) string { return l.Addr().String() }
	p.wg.Go(func() { p.accept(l, brokers) })
	return p, nil
}

func (p *proxy) listen() (net.Listener, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", loopback(ports[0]))
	if err != nil {
		return nil, fmt.Errorf("opening the proxy: %w", err)
	}
	p.listeners = append(p.listeners, l)
	return l, nil
}

// bootstrap is what clients of the proxy connect to.
func (p *proxy) bootstrap() string {
	var a []string
	for _, l := range p.listeners {
		a = append(a, l.Addr().String())
	}
	return strings.Join(a, ",")
}

// silence stops or resumes all forwarding; connections stay open.
func (p *proxy) silence(on bool) { p.gate.shut(on) }

// cut closes every connection, as a balancer that scales does.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// close ends the proxy and every connection through it.
func (p *proxy) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	var err error
	for _, l := range p.listeners {
		err = errors.Join(err, l.Close())
	}
	p.gate.shut(false)
	p.cut()
	p.wg.Wait()
	return err
}

func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	_ = c.Close()
}

func (p *proxy) accept(l net.Listener, brokers []string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if p.keep(c) {
			p.wg.Go(func() { defer p.drop(c); p.serve(c, brokers) })
		}
	}
}

// owed is an answer that the client waits for: answers come in the order of the
// requests, whichever broker they go to.
type owed struct {
	from         net.Conn
	key, version int16
}

// serve forwards one client's requests and answers until either side ends.
func (p *proxy) serve(client net.Conn, brokers []string) {
	first := int(p.next.Add(1) - 1)
	up := make([]net.Conn, len(brokers))
	defer func() {
		for _, u := range up {
			if u != nil {
				p.drop(u)
			}
		}
	}()
	queue := make(chan owed, 128)
	p.wg.Go(func() { defer p.drop(client); p.answer(client, queue) })
	defer close(queue)
	for n := 0; ; n++ {
		f, err := readFrame(client)
		if err != nil || len(f) < 4 {
			return
		}
		i := p.pick(first, n, len(brokers))
		if up[i] == nil {
			if up[i], err = net.Dial("tcp4", brokers[i]); err != nil || !p.keep(up[i]) {
				return
			}
		}
		p.gate.wait()
		if err := writeFrame(up[i], f); err != nil {
			return
		}
		o := owed{from: up[i], key: int16(binary.BigEndian.Uint16(f)), version: int16(binary.BigEndian.Uint16(f[2:]))}
		queue <- o
	}
}

// pick is the index of the broker that the n-th request of a connection goes to.
func (p *proxy) pick(first, n, brokers int) int {
	if p.balance == balanceRequests {
		return (first + n) % brokers
	}
	return first % brokers
}

func (p *proxy) answer(client net.Conn, queue <-chan owed) {
	for o := range queue {
		f, err := readFrame(o.from)
		if err == nil {
			f, err = readdressed(f, o.key, o.version, p.route)
		}
		if err != nil {
			break
		}
		p.gate.wait()
		if writeFrame(client, f) != nil {
			break
		}
	}
	_ = client.Close()
	for range queue { // the reader must not block on a full queue
	}
}

// maxFrame is more than any answer in a lab.
const maxFrame = 64 << 20

// readFrame reads one length-prefixed message without its prefix.
func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func writeFrame(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b))), b...))
	return err
}

// readdressed replaces the brokers' addresses in an answer (correlation id, tags if
// flexible, body). Only Metadata, FindCoordinator, DescribeCluster and Fetch (from
// version 16 on, beside NOT_LEADER errors) carry any; all others pass as they are.
func readdressed(f []byte, key, version int16, route func(string) string) ([]byte, error) {
	resp := kmsg.ResponseForKey(key)
	switch resp.(type) {
	case *kmsg.MetadataResponse, *kmsg.FindCoordinatorResponse, *kmsg.DescribeClusterResponse, *kmsg.FetchResponse:
	default:
		return f, nil
	}
	if version > resp.MaxVersion() {
		return nil, fmt.Errorf("request %d version %d is newer than the proxy", key, version)
	}
	resp.SetVersion(version)
	head, body, err := splitHeader(f, resp.IsFlexible())
	if err != nil {
		return nil, err
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("reading the answer to request %d version %d: %w", key, version, err)
	}
	if !rewrite(resp, func(host *string, port *int32) {
		if h, n, ok := splitPort(route(net.JoinHostPort(*host, strconv.Itoa(int(*port))))); ok {
			*host, *port = h, n
		}
	}) {
		return f, nil
	}
	return resp.AppendTo(append([]byte(nil), head...)), nil
}

// rewrite calls change for every address; it says whether there was one.
func rewrite(resp kmsg.Response, change func(host *string, port *int32)) bool {
	n := 0
	one := func(host *string, port *int32) { change(host, port); n++ }
	switch t := resp.(type) {
	case *kmsg.MetadataResponse:
		for i := range t.Brokers {
			one(&t.Brokers[i].Host, &t.Brokers[i].Port)
		}
	case *kmsg.DescribeClusterResponse:
		for i := range t.Brokers {
			one(&t.Brokers[i].Host, &t.Brokers[i].Port)
		}
	case *kmsg.FetchResponse:
		for i := range t.Brokers {
			one(&t.Brokers[i].Host, &t.Brokers[i].Port)
		}
	case *kmsg.FindCoordinatorResponse:
		if t.Version < 4 {
			one(&t.Host, &t.Port)
		}
		for i := range t.Coordinators {
			one(&t.Coordinators[i].Host, &t.Coordinators[i].Port)
		}
	}
	return n > 0
}

// splitHeader parts an answer's header from its body.
func splitHeader(f []byte, flexible bool) (head, body []byte, err error) {
	at := 4
	if flexible && len(f) >= at {
		tags, n := binary.Uvarint(f[at:])
		at += max(n, 0)
		for ; tags > 0 && n > 0 && at < len(f); tags-- {
			_, n = binary.Uvarint(f[at:])
			at += max(n, 0)
			if at >= len(f) {
				break
			}
			size, m := binary.Uvarint(f[at:])
			if size > uint64(len(f)) {
				return nil, nil, errors.New("a header tag that is longer than its frame")
			}
			at += max(m, 0) + int(size)
		}
		if n <= 0 {
			return nil, nil, errors.New("an answer whose header cannot be read")
		}
	}
	if at > len(f) {
		return nil, nil, errors.New("an answer shorter than its header")
	}
	return f[:at], f[at:], nil
}

func splitPort(addr string) (host string, port int32, ok bool) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(p)
	return h, int32(n), err == nil
}

// gate holds everybody back while it is shut.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil while open
}

func (g *gate) shut(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case on && g.closed == nil:
		g.closed = make(chan struct{})
	case !on && g.closed != nil:
		close(g.closed)
		g.closed = nil
	}
}

func (g *gate) wait() {
	g.mu.Lock()
	c := g.closed
	g.mu.Unlock()
	if c != nil {
		<-c
	}
}

// cutEvery cuts all connections again and again until ctx ends.
func (p *proxy) cutEvery(ctx context.Context, pause func() error) {
	for ctx.Err() == nil && pause() == nil {
		p.cut()
	}
}
