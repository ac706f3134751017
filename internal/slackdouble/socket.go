package slackdouble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// sockets is the state of Socket Mode.
type sockets struct {
	tickets map[string]bool
	links   []*link
	next    int
	pending map[string]*Delivery
}

// link is one WebSocket connection of the client.
type link struct {
	id     int
	ws     *websocket.Conn
	host   string
	write  sync.Mutex
	frozen chan struct{} // closed: no pings, no reading, no delivery
	done   chan struct{} // closed when the connection is over
	once   sync.Once
	// greeted says that hello was sent: only then is anything delivered there.
	greeted, dead bool
	isIced        bool
}

func (d *Double) openConnection(c *call) object {
	if !d.app.socket {
		return fail("socket_mode_not_enabled")
	}
	ticket := d.id("ticket")
	d.sock.tickets[ticket] = true
	return object{"ok": true, "url": "ws://" + c.host + "/link?ticket=" + ticket + "&app_id=" + appID}
}

// upgrader takes any origin, as clients send Slack's. Its own read buffer makes it
// read through the watched connection.
var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, ReadBufferSize: 4096}

func (d *Double) serveSocket(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	valid := d.sock.tickets[ticket]
	delete(d.sock.tickets, ticket)
	d.mu.Unlock()
	if !valid {
		http.Error(w, "invalid or used ticket", http.StatusForbidden)
		return
	}
	inParts := func() { d.report("an acknowledgement came in more than one frame") }
	ws, err := upgrader.Upgrade(watched{w, inParts}, r, nil)
	if err != nil {
		return
	}
	l := &link{ws: ws, host: r.Host, frozen: make(chan struct{}), done: make(chan struct{})}
	if d.welcome(l) {
		go d.ping(l)
		d.readAcks(l)
	}
	d.unlink(l)
}

// welcome says hello, or sends away one connection too many.
func (d *Double) welcome(l *link) bool {
	d.mu.Lock()
	if len(d.sock.links) >= d.lim.Connections {
		d.mu.Unlock()
		d.report("an app may have %d sockets; one more was opened", d.lim.Connections)
		l.send(object{"type": "disconnect", "reason": "too_many_websockets", "debug_info": debugInfo()})
		return false
	}
	d.serial["link"]++
	l.id = d.serial["link"]
	d.sock.links = append(d.sock.links, l)
	n := len(d.sock.links)
	d.mu.Unlock()
	l.send(object{"type": "hello", "num_connections": n, "connection_info": object{"app_id": appID}, "debug_info": debugInfo()})
	d.mu.Lock()
	l.greeted = true
	d.note(Entry{Kind: Linked, Detail: fmt.Sprintf("connection %d opened, %d in all", l.id, n)})
	waiting := d.undelivered()
	d.mu.Unlock()
	for _, v := range waiting {
		d.dispatch(v)
	}
	return true
}

func debugInfo() object {
	return object{"host": "double", "build_number": 1, "approximate_connection_time": 18060}
}

func (d *Double) report(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.violation(format, args...)
}

func (l *link) send(o object) bool {
	data, err := json.Marshal(o)
	if err != nil {
		return false
	}
	l.write.Lock()
	defer l.write.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(5 * time.Second))
	return l.ws.WriteMessage(websocket.TextMessage, data) == nil
}

// ping pings until the connection ends or freezes.
func (d *Double) ping(l *link) {
	t := time.NewTicker(d.opts.PingEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = l.ws.WriteControl(websocket.PingMessage, []byte("Ping from double"), time.Now().Add(time.Second))
		case <-l.frozen:
			return
		case <-l.done:
			return
		}
	}
}

// readAcks reads until the connection ends. A frozen link reads on for the sake
// of noticing its end, and ignores what it reads.
func (d *Double) readAcks(l *link) {
	for {
		_, data, err := l.ws.ReadMessage()
		if err != nil {
			return
		}
		select {
		case <-l.frozen:
			continue
		default:
		}
		d.ack(l, data)
	}
}

func (d *Double) unlink(l *link) {
	l.once.Do(func() { close(l.done) })
	_ = l.ws.Close()
	d.mu.Lock()
	l.dead = true
	for i, other := range d.sock.links {
		if other == l {
			d.sock.links = append(d.sock.links[:i:i], d.sock.links[i+1:]...)
			d.note(Entry{Kind: Linked, Detail: fmt.Sprintf("connection %d closed, %d left", l.id, len(d.sock.links))})
			break
		}
	}
	orphans := d.orphans(l)
	d.mu.Unlock()
	for _, v := range orphans {
		d.lost(v, l)
	}
}

// pick chooses the connection of a delivery, one after the other, as Slack may
// choose any.
func (d *Double) pick() *link {
	for range d.sock.links {
		d.sock.next = (d.sock.next + 1) % len(d.sock.links)
		if l := d.sock.links[d.sock.next]; l.greeted && !l.dead {
			return l
		}
	}
	return nil
}

// Connections is the number of sockets on which the app can be reached.
func (d *Double) Connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, l := range d.sock.links {
		if l.greeted && !l.dead {
			n++
		}
	}
	return n
}

func (d *Double) currentLinks() []*link {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*link(nil), d.sock.links...)
}

// Disconnect tells every connection that it will end, for a reason of Slack:
// warning, refresh_requested, link_disabled, too_many_websockets. It ends none.
// Several reasons go to the same connections, one after the other, and not to one
// that a client opens in between.
func (d *Double) Disconnect(reasons ...string) {
	tell(d.currentLinks(), reasons...)
}

func tell(links []*link, reasons ...string) {
	for _, reason := range reasons {
		for _, l := range links {
			l.send(object{"type": "disconnect", "reason": reason, "debug_info": debugInfo()})
		}
	}
}

// Refresh does what Slack does to every connection now and then: a warning, and
// after the grace the request to leave and the end.
func (d *Double) Refresh(grace time.Duration) {
	links := d.currentLinks()
	tell(links, "warning")
	time.AfterFunc(grace, func() {
		for _, l := range links {
			d.mu.Lock()
			l.dead = true // nothing is sent there after the close frame
			d.mu.Unlock()
			l.send(object{"type": "disconnect", "reason": "refresh_requested", "debug_info": debugInfo()})
			l.goodbye()
		}
	})
}

func (l *link) goodbye() {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = l.ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	time.AfterFunc(time.Second, func() { _ = l.ws.Close() })
}

// Drop breaks every connection without a word.
func (d *Double) Drop() {
	for _, l := range d.currentLinks() {
		_ = l.ws.NetConn().Close()
	}
}

// Freeze makes every connection half-open: it looks alive, and nothing comes any
// more. Slack does not know, so it may still deliver there.
func (d *Double) Freeze() {
	for _, l := range d.currentLinks() {
		d.mu.Lock()
		if !l.isIced {
			l.isIced = true
			close(l.frozen)
		}
		d.mu.Unlock()
	}
}
