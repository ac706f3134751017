package slackdouble

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options set up a double. The zero value is a workspace with one public channel
// ("kafka-alerts", with the bot in it) and one person ("anna").
type Options struct {
	// Now is the clock of lifetimes and rates; nil is time.Now. Deadlines of
	// sockets run on the machine's clock.
	Now func() time.Time
	// Stamp is the clock of what people read: messages' timestamps and the
	// journal's times. nil is Now. A demo that plays fast shows its own time, and
	// is held to Slack's rates in real time.
	Stamp func() time.Time
	// Manifest is the app's manifest in YAML: its scopes, commands and events are
	// what the double grants. Empty is all that the bot needs.
	Manifest []byte
	// BotToken and AppToken are what the client must show; by default
	// xoxb-double and xapp-double.
	BotToken, AppToken string
	Channels           []Channel
	Users              []User
	// Limits are Slack's if nil.
	Limits *Limits
	// SmallHistory is how Slack treats distributed, unlisted apps: 15 objects a
	// call and one call a minute.
	SmallHistory bool
	// PingEvery is how often sockets are pinged; 5 s if zero.
	PingEvery time.Duration
}

// Channel is a conversation.
type Channel struct {
	ID, Name string
	Private  bool
	Archived bool
	// BotAbsent says that the bot is not in it.
	BotAbsent bool
}

// User is a person of the workspace.
type User struct{ ID, Name string }

// Names of the workspace of a double with default options.
const (
	DefaultChannel  = "C0ALERTS1"
	DefaultUser     = "U0ANNA0001"
	DefaultBotToken = "xoxb-double"
	DefaultAppToken = "xapp-double"

	teamID  = "T0DOUBLE01"
	appID   = "A0DOUBLE01"
	botID   = "B0DOUBLE01"
	botUser = "U0BOT00001"
	botName = "kafka-oncall"
)

// Double is the server. Make one with [New] or [Start].
type Double struct {
	opts  Options
	lim   Limits
	app   app
	mux   *http.ServeMux
	start time.Time

	mu       sync.Mutex
	channels map[string]*channel
	users    map[string]User
	clock    stamps
	calls    map[string][]time.Time
	posts    map[string]time.Time
	paused   map[string]time.Time
	faults   []*fault
	links    map[string]*responseLink
	journal  []Entry
	audit    map[string]bool
	changed  chan struct{}
	serial   map[string]int
	sock     sockets
}

type channel struct {
	Channel
	messages []*Message
	// deleted are roots that are gone; a reply to one lands in the channel.
	deleted map[string]bool
}

// New makes a double.
func New(o Options) (*Double, error) {
	a, err := parseApp(o.Manifest)
	if err != nil {
		return nil, err
	}
	d := &Double{
		opts: withDefaults(o), app: a, lim: DefaultLimits(),
		channels: map[string]*channel{}, users: map[string]User{},
		calls: map[string][]time.Time{}, posts: map[string]time.Time{}, paused: map[string]time.Time{},
		links: map[string]*responseLink{}, audit: map[string]bool{}, serial: map[string]int{},
		changed: make(chan struct{}), start: time.Now(),
		sock: sockets{tickets: map[string]bool{}, pending: map[string]*Delivery{}},
	}
	if o.Limits != nil {
		d.lim = *o.Limits
	}
	for _, c := range d.opts.Channels {
		d.channels[c.ID] = &channel{Channel: c, deleted: map[string]bool{}}
	}
	for _, u := range d.opts.Users {
		d.users[u.ID] = u
	}
	d.routes()
	return d, nil
}

func withDefaults(o Options) Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Stamp == nil {
		o.Stamp = o.Now
	}
	if len(o.Channels) == 0 {
		o.Channels = []Channel{{ID: DefaultChannel, Name: "kafka-alerts"}}
	}
	if len(o.Users) == 0 {
		o.Users = []User{{ID: DefaultUser, Name: "anna"}}
	}
	o.BotToken = orElse(o.BotToken, DefaultBotToken)
	o.AppToken = orElse(o.AppToken, DefaultAppToken)
	if o.PingEvery == 0 {
		o.PingEvery = 5 * time.Second
	}
	return o
}

// ServeHTTP is Slack's face: /api/…, /response/… and /link.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

func (d *Double) routes() {
	d.mux = http.NewServeMux()
	d.mux.HandleFunc("/api/{method}", d.serveMethod)
	d.mux.HandleFunc("POST /response/{id}", d.serveResponse)
	d.mux.HandleFunc("GET /link", d.serveSocket)
}

// stamps gives every message its ts: seconds of the clock, and a count within the
// second. They never repeat and never go back.
type stamps struct {
	second int64
	count  int
}

func (s *stamps) next(now time.Time) string {
	if sec := now.Unix(); sec > s.second {
		s.second, s.count = sec, 0
	}
	s.count++
	return fmt.Sprintf("%010d.%06d", s.second, s.count*100)
}

// id makes ids that are the same in every run: a prefix and a count.
func (d *Double) id(prefix string) string {
	d.serial[prefix]++
	return fmt.Sprintf("%s%08d", prefix, d.serial[prefix])
}

// violation notes something that Slack lets pass and a user would suffer from,
// or that Slack would have punished.
func (d *Double) violation(format string, args ...any) {
	d.audit[fmt.Sprintf(format, args...)] = true
}

// Audit returns what was wrong so far, sorted; a test that ends with none was
// polite to Slack.
func (d *Double) Audit() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.audit))
}
