package slackdouble

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a double on a loopback port or on a network in memory.
type Server struct {
	*Double
	// URL is http://host:port; the API is at URL + "/api/".
	URL  string
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	http *http.Server
	ln   net.Listener
}

// Start serves a double on 127.0.0.1. addr is its port, "127.0.0.1:0" for any.
func Start(addr string, o Options) (*Server, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("slackdouble: listening: %w", err)
	}
	s, err := serve(ln, "http://"+ln.Addr().String(), o)
	if err != nil {
		_ = ln.Close()
	}
	return s, err
}

// StartInMemory serves a double on a network that exists in this process only
// and waits on nothing but channels, so that it works with testing/synctest.
// Clients must use [Server.Dial].
func StartInMemory(o Options) (*Server, error) {
	n := newMemNet()
	s, err := serve(n, "http://slack.double", o)
	if err == nil {
		s.dial = n.dial
	}
	return s, err
}

func serve(ln net.Listener, url string, o Options) (*Server, error) {
	d, err := New(o)
	if err != nil {
		return nil, err
	}
	s := &Server{Double: d, URL: url, ln: ln, http: &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = s.http.Serve(ln) }()
	return s, nil
}

// APIURL is what a client takes for https://slack.com/api/.
func (s *Server) APIURL() string { return s.URL + "/api/" }

// Dial connects to the double; nil unless it is in memory.
func (s *Server) Dial() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.dial
}

// Close ends the server and every connection.
func (s *Server) Close() {
	s.Drop()
	_ = s.http.Close()
	_ = s.ln.Close()
}
