// Command cmd serves a Slack double on loopback, for clients in other languages
// and for people:
//
//	go run ./internal/slackdouble/cmd [-listen 127.0.0.1:8065] [-manifest FILE]
//
// It prints one line of JSON with the addresses of the API, the page and the
// control face, and ends when its standard input does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address of the API and the socket")
	page := flag.String("page", "127.0.0.1:0", "address of the page and the control face")
	manifest := flag.String("manifest", "", "app manifest (YAML)")
	flag.Parse()
	if err := run(*listen, *page, *manifest); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(listen, page, manifest string) error {
	var o slackdouble.Options
	if manifest != "" {
		data, err := os.ReadFile(manifest)
		if err != nil {
			return fmt.Errorf("reading the manifest: %w", err)
		}
		o.Manifest = data
	}
	s, err := slackdouble.Start(listen, o)
	if err != nil {
		return err
	}
	defer s.Close()
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", page)
	if err != nil {
		return fmt.Errorf("listening for the page: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.Page())
	mux.HandleFunc("POST /control/{what}", control(s))
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(ln) }()
	defer func() { _ = web.Close() }()
	at := "http://" + ln.Addr().String()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{
		"api": s.APIURL(), "page": at + "/", "control": at + "/control/",
		"bot_token": slackdouble.DefaultBotToken, "app_token": slackdouble.DefaultAppToken,
		"channel": slackdouble.DefaultChannel, "user": slackdouble.DefaultUser,
	})
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// order is what the control face takes; each kind uses some of it.
type order struct {
	User, Channel, TS, Text, Button, Reason string
	Millis                                  int
	Event                                   map[string]any
}

func control(s *slackdouble.Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var o order
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&o); err != nil && !errors.Is(err, io.EOF) {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := obey(s, r.PathValue("what"), o)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func obey(s *slackdouble.Server, what string, o order) (any, error) {
	switch what {
	case "command":
		return outcome(s.Command(o.User, o.Channel, o.Text))
	case "click":
		return outcome(s.Click(o.User, o.Channel, o.TS, o.Button))
	case "mention":
		return outcome(s.Mention(o.User, o.Channel, o.TS, o.Text))
	case "event":
		return outcome(s.Event(o.Event), nil)
	case "refresh":
		s.Refresh(time.Duration(o.Millis) * time.Millisecond)
		return true, nil
	case "disconnect":
		s.Disconnect(o.Reason)
		return true, nil
	case "connections":
		return s.Connections(), nil
	case "messages":
		return list(s.Messages(o.Channel)), nil
	case "thread":
		return list(s.Thread(o.Channel, o.TS)), nil
	case "private":
		return list(s.PrivateTo(o.User, o.Channel)), nil
	case "audit":
		return list(s.Audit()), nil
	}
	return nil, fmt.Errorf("no such order: %s", what)
}

// list makes an empty list of a nil one: clients in other languages are told []
// where null would be another type.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// outcome waits until a delivery was acknowledged or given up.
func outcome(v *slackdouble.Delivery, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	<-v.Done()
	what, took := v.Outcome()
	return map[string]any{"outcome": what, "millis": took.Milliseconds()}, nil
}
