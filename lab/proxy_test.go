package lab

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// frame is an answer as a broker sends it, without the length.
func frame(t *testing.T, resp kmsg.Response, version int16) []byte {
	t.Helper()
	resp.SetVersion(version)
	b := binary.BigEndian.AppendUint32(nil, 4711)
	if resp.IsFlexible() {
		b = append(b, 0)
	}
	return resp.AppendTo(b)
}

func metadata(host string, port int32) *kmsg.MetadataResponse {
	r := kmsg.NewPtrMetadataResponse()
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 1, host, port
	r.Brokers = append(r.Brokers, b)
	return r
}

func TestAddressesInAnswersAreRewritten(t *testing.T) {
	route := func(addr string) string {
		if addr != "127.0.0.1:20001" {
			t.Errorf("asked for the route to %s", addr)
		}
		return "127.0.0.1:30001"
	}
	for _, version := range []int16{0, 8, 9, 13} { // 9 is the first flexible one
		f, err := readdressed(frame(t, metadata("127.0.0.1", 20001), version), 3, version, route)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if want := frame(t, metadata("127.0.0.1", 30001), version); !bytes.Equal(f, want) {
			t.Errorf("version %d: %x, want %x", version, f, want)
		}
	}
	old, batched := kmsg.NewPtrFindCoordinatorResponse(), kmsg.NewPtrFindCoordinatorResponse()
	old.Host, old.Port = "127.0.0.1", 20001
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.Host, c.Port = "payments", "127.0.0.1", 20001
	batched.Coordinators = append(batched.Coordinators, c)
	for version, resp := range map[int16]*kmsg.FindCoordinatorResponse{3: old, 6: batched} {
		f, err := readdressed(frame(t, resp, version), 10, version, route)
		if err != nil {
			t.Fatalf("FindCoordinator version %d: %v", version, err)
		}
		if bytes.Contains(f, binary.BigEndian.AppendUint32(nil, 20001)) || !bytes.Contains(f, binary.BigEndian.AppendUint32(nil, 30001)) {
			t.Errorf("FindCoordinator version %d: the old port is still in %x", version, f)
		}
	}
}

func TestAnswersWithoutAddressesPassAsTheyAre(t *testing.T) {
	never := func(string) string { t.Error("no address was there to rewrite"); return "" }
	heartbeat := []byte{0, 0, 0, 1, 0, 0xff, 0xff, 0xff}
	fetch := frame(t, kmsg.NewPtrFetchResponse(), 13)
	for key, f := range map[int16][]byte{12: heartbeat, 1: fetch, 12345: heartbeat} {
		got, err := readdressed(f, key, 13, never)
		if err != nil || !bytes.Equal(got, f) {
			t.Errorf("request %d: %x, %v", key, got, err)
		}
	}
	for name, f := range map[string][]byte{"empty": {}, "no header": {0, 0}, "endless tags": {0, 0, 0, 1, 3, 0, 0xff, 0xff, 0xff, 0x0f}, "no body": {0, 0, 0, 1, 0}} {
		if _, err := readdressed(f, 3, 12, never); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// echoBroker answers every request with its own name and the request's correlation id.
func echoBroker(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for {
					f, err := readFrame(c)
					if err != nil || writeFrame(c, append(f[4:8:8], name...)) != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func request(id byte) []byte { return []byte{0, 12, 0, 4, 0, 0, 0, id} }

func TestProxyBalances(t *testing.T) {
	for want, how := range map[string]balance{"1a 2b 3a 4b": balanceRequests, "1a 2a 3a 4a": balanceConnections} {
		c := &Cluster{state: &State{Info: Info{Brokers: []Broker{{ID: 1, Kafka: echoBroker(t, "a")}, {ID: 2, Kafka: echoBroker(t, "b")}}}}}
		p, err := c.sharedProxy(how)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp4", p.bootstrap())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for id := byte(1); id <= 4; id++ { // all sent before the first answer is read
			if err := writeFrame(conn, request(id)); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			f, err := readFrame(conn)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string('0'+f[3])+string(f[4:]))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("answers %s, want %s", s, want)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		if _, err := readFrame(conn); err == nil {
			t.Error("the connection must end with the proxy")
		}
	}
}

func TestSilentProxyHoldsBackAndResumes(t *testing.T) {
	c := &Cluster{state: &State{Info: Info{Brokers: []Broker{{ID: 1, Kafka: echoBroker(t, "a")}}}}}
	p, err := c.directProxy()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	conn, err := net.Dial("tcp4", p.bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	p.silence(true)
	if err := writeFrame(conn, request(7)); err != nil {
		t.Fatal(err)
	}
	answered := make(chan []byte)
	go func() { f, _ := readFrame(conn); answered <- f }()
	select {
	case f := <-answered:
		t.Fatalf("answered %q through a silent proxy", f)
	default:
	}
	p.silence(false)
	if f := <-answered; len(f) != 5 || f[3] != 7 {
		t.Errorf("answer %x", f)
	}
}

func FuzzReaddressed(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0}, int16(3), int16(9))
	f.Add([]byte{0, 0, 0, 1, 1, 5, 200, 1}, int16(10), int16(4))
	f.Fuzz(func(_ *testing.T, b []byte, key, version int16) {
		if key < 0 || version < 0 {
			return
		}
		_, _ = readdressed(b, key, version, func(s string) string { return s })
	})
}
