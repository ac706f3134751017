package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// maxFrame bounds what is read in one message; Slack's payloads hold whole
	// messages with their blocks.
	maxFrame = 4 << 20
	// ackBuffer makes every acknowledgement one WebSocket frame: Slack ignores
	// those that come in parts, and those of 20 kB and more. Ours have 60 bytes.
	ackBuffer = 32 << 10
	// ackTimeout bounds the writing of an acknowledgement.
	ackTimeout = time.Second
)

// envelope is one delivery.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Reason  string          `json:"reason"`
	Payload json.RawMessage `json:"payload"`
	Attempt int             `json:"retry_attempt"`
}

// Frame types.
const (
	typeHello       = "hello"
	typeDisconnect  = "disconnect"
	typeCommand     = "slash_commands"
	typeInteractive = "interactive"
	typeEvent       = "events_api"
)

// conn is one WebSocket connection.
type conn struct {
	ws    *websocket.Conn
	write sync.Mutex

	hello   chan struct{} // closed at the first frame
	leaving chan struct{} // closed when Slack announces the end
	closed  chan struct{} // closed when reading is over
	once    sync.Once     // for leaving
	broke   error         // why reading ended
	told    error         // what Slack gave as the reason, if it matters
}

func dial(ctx context.Context, cfg Config, url string) (*conn, error) {
	d := websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloTimeout,
		ReadBufferSize: ackBuffer, WriteBufferSize: ackBuffer,
	}
	if cfg.Dial != nil {
		d.NetDialContext, d.Proxy = cfg.Dial, nil
	}
	ws, resp, err := d.DialContext(ctx, url, nil)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		// The URL holds a ticket, so the error must not hold the URL.
		return nil, classifyNetwork("connecting to Slack's socket", scrub(err))
	}
	ws.SetReadLimit(maxFrame)
	return &conn{ws: ws, hello: make(chan struct{}), leaving: make(chan struct{}), closed: make(chan struct{})}, nil
}

// scrub keeps the kind of a network error and drops its words.
func scrub(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	return errors.New("the connection broke")
}

// frames are what reading reports.
type frames struct {
	hello, gone func()
	deliver     func(envelope) bool
}

// read reads until the connection ends. Every frame and every ping proves that
// it is alive; without any for pingTimeout it counts as dead.
func (c *conn) read(f frames) {
	defer close(c.closed)
	defer func() { _ = c.ws.Close() }()
	c.alive()
	c.ws.SetPingHandler(func(data string) error {
		c.alive()
		err := c.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(ackTimeout))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	greeted := false
	defer func() {
		if greeted {
			f.gone()
		}
	}()
	for {
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			c.broke = fmt.Errorf("slack socket: %w", scrub(err))
			return
		}
		c.alive()
		var e envelope
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		switch e.Type {
		case typeHello:
			if !greeted {
				greeted = true
				f.hello()
				close(c.hello)
			}
		case typeDisconnect:
			c.leave(e.Reason)
		default:
			if e.ID != "" {
				f.deliver(e)
			}
		}
	}
}

func (c *conn) alive() { _ = c.ws.SetReadDeadline(time.Now().Add(pingTimeout)) }

// leave takes note of an announced end. The connection is read on: Slack may
// still deliver on it.
func (c *conn) leave(reason string) {
	c.once.Do(func() {
		switch reason {
		case "link_disabled":
			c.told = ErrSocketOff
		case "too_many_websockets":
			c.told = errors.New("slack socket: the app has too many connections; does another bot use this app token?")
		}
		close(c.leaving)
	})
}

// ack acknowledges an envelope on this connection, in one frame.
func (c *conn) ack(id string) error {
	data, err := json.Marshal(struct {
		ID string `json:"envelope_id"`
	}{id})
	if err != nil {
		return fmt.Errorf("encoding an acknowledgement: %w", err)
	}
	c.write.Lock()
	defer c.write.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(ackTimeout))
	if err := c.ws.WriteMessage(websocket.TextMessage, data); err != nil {
		return fmt.Errorf("acknowledging: %w", scrub(err))
	}
	return nil
}

// awaitHello waits for the first frame; only then does Slack deliver here.
func (c *conn) awaitHello(ctx context.Context) error {
	timer := time.NewTimer(helloTimeout)
	defer timer.Stop()
	select {
	case <-c.hello:
		return nil
	case <-c.closed:
		return c.broke
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		c.close()
		return errors.New("slack socket: no hello in time")
	}
}

// awaitEnd waits until the connection ends or its end is announced; nil means
// that it is announced and a successor is wanted at once.
func (c *conn) awaitEnd(ctx context.Context) error {
	select {
	case <-c.leaving:
		return c.told
	case <-c.closed:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-c.leaving: // announced and ended at once
		return c.told
	default:
		return c.broke
	}
}

// drain lets an announced end come, and brings it about if it does not. What
// still comes after our goodbye cannot be acknowledged, but is served.
func (c *conn) drain(after time.Duration) {
	timer := time.AfterFunc(after, c.bye)
	last := time.AfterFunc(after+closeTime, func() { _ = c.ws.Close() })
	go func() {
		<-c.closed
		timer.Stop()
		last.Stop()
	}()
}

// bye tells the other side that we leave; nothing can be sent after it.
func (c *conn) bye() {
	data := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = c.ws.WriteControl(websocket.CloseMessage, data, time.Now().Add(ackTimeout))
}

// close says goodbye and ends the connection.
func (c *conn) close() {
	c.bye()
	_ = c.ws.Close()
}
