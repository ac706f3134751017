package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Moments that Params.OnEvent hears of.
const (
	EventReady  = "ready"  // healthy state reached; the fault comes next
	EventFault  = "fault"  // the lab has broken something
	EventEffect = "effect" // the brokers show it
	EventReturn = "return" // the victim is back
)

// Params steer one run. The zero value plays the scenario as documented.
type Params struct {
	// Protocol is classic (default) or consumer (KIP-848; Kafka 4 only).
	Protocol string
	// StableFor is how long the group is left alone before the fault. Longer
	// than the diagnosis window, and the last record before the fault is outside it.
	StableFor time.Duration
	// Hold keeps everything running after the last event, for somebody to
	// look. Closing Release ends the hold early.
	Hold    time.Duration
	Release <-chan struct{} `json:"-"`
	// Away is how long the victim stays frozen or stalled (session-timeout: 10 s,
	// poll-interval: 18 s).
	Away time.Duration
	// Kill makes restart-burst use SIGKILL: no burst is to be expected then.
	Kill bool
	// Group and Topic names; made up when empty.
	Group, Topic string
	// Record is a folder that gets the raw material of the run; "" records nothing.
	Record string
	// Looker, with Record, diagnoses during the fault, just after and Later after
	// that, and its evidence is kept. It is made before the clients start, so that
	// a watcher can know the time before the fault; see Binary, too.
	Looker func(context.Context, Info) (Looker, error) `json:"-"`
	// Later is how long after the end a last look is taken; 0 takes none.
	Later time.Duration
	// Client is the library of the consumers in group scenarios: java (default),
	// librdkafka or franz-go.
	Client string
	// Static gives every consumer a group.instance.id.
	Static bool
	// Java is the number of genuine Java consumers that run beside the raw clients,
	// in scenarios that play hundreds of those.
	Java int
	// Session, MaxPoll and Commit replace the scaled timeouts (6 s, 12 s, 1 s);
	// the heartbeat interval stays a third of the session timeout.
	Session, MaxPoll, Commit time.Duration
	// How chooses among the forms of a scenario; see Scenario.Hows.
	How string
	// OnEvent is called at each moment, on the scenario's goroutine.
	OnEvent func(event string, t Truth) `json:"-"`
}

// Scenario is one way to break a cluster.
type Scenario struct {
	Name, Class, Text string
	// MinBrokers and Small say what cluster it needs; Small: a cache of at most 200 slots.
	MinBrokers int
	Small      bool
	// MaxBrokers, if set: with more the fault would be another.
	MaxBrokers int
	// NoCache: the broker must be one without a session cache (slots below 8).
	NoCache bool
	// Set are broker settings that make the fault plainer; a soak applies them.
	Set []Setting
	// ClassicOnly: the fault does not exist under the consumer protocol.
	ClassicOnly bool
	// Clients that can show the fault; empty: Java only.
	Clients []string
	// Hows are the scenario's forms, the first is the default.
	Hows         []string
	Alternatives []string
	Provisional  string
	play         func(context.Context, *run) error
}

// Scenarios lists them by name.
func Scenarios() []Scenario {
	s := append(fetchScenarios(), groupScenarios()...)
	sort.Slice(s, func(i, j int) bool { return s[i].Name < s[j].Name })
	return s
}

// KnowsScenario is an error with the known names for one that is not among them.
func KnowsScenario(name string) error {
	_, err := findScenario(name)
	return err
}

func findScenario(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("scenario %q: the lab knows %s", name, strings.Join(names, ", "))
}

// run is one play of a scenario.
type run struct {
	ctx    context.Context // of the whole run; looks outlive the step that asks for them
	c      *Cluster
	p      Params
	t      *Truth
	watch  *watch
	looks  looks
	looker Looker
	defers []func(context.Context) error // in no order
}

// Run plays a scenario to its end and returns what is true. Everything it started
// is ended again, also when it fails or ctx ends; then the Truth so far comes
// with the error.
func (c *Cluster) Run(ctx context.Context, name string, p Params) (Truth, error) {
	s, err := findScenario(name)
	if err != nil {
		return Truth{}, err
	}
	if err := c.fits(s, &p); err != nil {
		return Truth{}, err
	}
	if err := c.jars.compile(ctx); err != nil {
		return Truth{}, err
	}
	r := &run{ctx: ctx, c: c, p: p, t: &Truth{
		Schema: TruthSchema, Scenario: s.Name, Class: s.Class, Family: family(s.Class), Alternatives: s.Alternatives,
		ProvisionalClass: s.Provisional, Cluster: c.state.Name, Version: c.state.Version, Protocol: p.Protocol, Client: p.Client, How: p.How,
		Started: now(), Parameters: map[string]any{}, Expected: map[string]float64{}, Observed: map[string]float64{},
	}}
	if p.Looker != nil {
		if r.looker, err = p.Looker(ctx, c.Info()); err != nil {
			return Truth{}, fmt.Errorf("getting ready to look: %w", err)
		}
		defer func() { _ = r.looker.Close() }() // after clean, which waits for the looks
	}
	err = r.all(ctx, s)
	return *r.t, errors.Join(err, r.clean(context.WithoutCancel(ctx)))
}

func (r *run) all(ctx context.Context, s Scenario) error {
	if err := s.play(ctx, r); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	r.hold(ctx)
	if err := r.observe(ctx); err != nil {
		return err
	}
	r.look(ctx, LookAfter)
	if err := r.lookLater(ctx); err != nil {
		return err
	}
	r.t.Ended = now()
	r.t.Looks = r.looks.wait()
	views := r.watch.end()
	if r.p.Record == "" {
		return nil
	}
	return r.record(ctx, views)
}

// fits checks the request against the cluster and fills in the protocol.
func (c *Cluster) fits(s Scenario, p *Params) error {
	p.Protocol, p.Client = orString(p.Protocol, "classic"), orString(p.Client, clientJava)
	if p.How == "" && len(s.Hows) > 0 {
		p.How = s.Hows[0]
	}
	if err := errors.Join(s.takes(*p), s.onVersion(c.state.Version, *p)); err != nil {
		return err
	}
	switch {
	case (p.Looker != nil || p.Later != 0) && p.Record == "":
		return fmt.Errorf("looks are kept in the recording: say --record DIR too")
	case len(c.state.Brokers) < s.MinBrokers:
		return fmt.Errorf("scenario %s needs %d brokers, lab %s has %d", s.Name, s.MinBrokers, c.state.Name, len(c.state.Brokers))
	case s.MaxBrokers > 0 && len(c.state.Brokers) > s.MaxBrokers:
		return fmt.Errorf("scenario %s needs a lab of %d brokers at most, lab %s has %d", s.Name, s.MaxBrokers, c.state.Name, len(c.state.Brokers))
	case s.NoCache && c.state.Capacity > 0:
		return fmt.Errorf("scenario %s needs a broker without session cache: start the lab with --slots 7 (Kafka 3.8 or later; it has %d)", s.Name, c.state.Capacity)
	case s.Small && c.state.Capacity == 0:
		return fmt.Errorf("scenario %s needs a cache: start the lab with --slots 64", s.Name)
	case s.Small && c.state.Capacity > 200:
		return fmt.Errorf("scenario %s needs a small cache: start the lab with --slots 64 (it has %d)", s.Name, c.state.Capacity)
	}
	return nil
}

// takes checks what does not depend on the cluster.
func (s Scenario) takes(p Params) error {
	clients := s.Clients
	if len(clients) == 0 {
		clients = []string{clientJava}
	}
	switch {
	case p.Protocol != "classic" && p.Protocol != "consumer":
		return fmt.Errorf("protocol %q: want classic or consumer", p.Protocol)
	case p.Protocol == "consumer" && s.ClassicOnly:
		return fmt.Errorf("scenario %s does not exist under the consumer protocol", s.Name)
	case !slices.Contains([]string{clientJava, clientLibrdkafka, clientFranz}, p.Client):
		return fmt.Errorf("client %q: want %s, %s or %s", p.Client, clientJava, clientLibrdkafka, clientFranz)
	case !slices.Contains(clients, p.Client):
		return fmt.Errorf("scenario %s cannot be played with client %s: it has %s", s.Name, p.Client, strings.Join(clients, ", "))
	case p.How == "streams" && p.Client != clientJava:
		return fmt.Errorf("the form streams needs client %s: only its close can leave the member behind", clientJava)
	case p.How == "streams" && p.Protocol == "consumer":
		return fmt.Errorf("the form streams needs the classic protocol: a consumer of the other one leaves whenever it closes (measured on 4.4.0)")
	case (p.How == "slow-survivor" || p.How == "two-groups") && p.Client == clientFranz:
		return fmt.Errorf("the form %s needs client %s or %s: franz-go rejoins beside a slow application and has no poll limit", p.How, clientJava, clientLibrdkafka)
	case p.How == "slow-survivor" && p.Protocol == "consumer":
		return fmt.Errorf("the form slow-survivor needs the classic protocol: a group of the other one waits for nobody")
	case p.How != "" && !slices.Contains(s.Hows, p.How):
		return fmt.Errorf("scenario %s: no form %q; it has: %s", s.Name, p.How, orString(strings.Join(s.Hows, ", "), "one form only"))
	case p.Session != 0 && p.Session < sessionTimeout:
		return fmt.Errorf("session timeout %s: brokers accept 6s or more", p.Session)
	case p.Protocol == "consumer" && p.Session != 0:
		return fmt.Errorf("session timeout: under the consumer protocol it is the broker's; start the lab with --set group.consumer.session.timeout.ms=…")
	}
	return nil
}

// onVersion checks what a Kafka version has.
func (s Scenario) onVersion(version string, p Params) error {
	switch {
	case p.Protocol == "consumer" && !log4j2(version):
		return fmt.Errorf("protocol consumer: needs Kafka 4, this lab runs %s", version)
	case s.NoCache && capacity(version, 7) > 0:
		return fmt.Errorf("scenario %s needs Kafka 3.8 or later: %s takes seven slots as seven", s.Name, version)
	}
	return nil
}

// clean undoes what the run started, all at once: closing a JVM takes a second.
func (r *run) clean(ctx context.Context) error {
	r.watch.end()
	r.looks.wait()
	errs := make([]error, len(r.defers))
	var wg sync.WaitGroup
	for i, undo := range r.defers {
		wg.Go(func() { errs[i] = undo(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (r *run) undo(f func(context.Context) error) { r.defers = append(r.defers, f) }

// at notes a moment and tells the caller.
func (r *run) at(event, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t := r.t.note("%s: %s", event, text)
	switch event {
	case EventReady:
		r.t.Ready = t
	case EventFault:
		r.t.Fault = &t
	case EventEffect:
		r.t.Effect = &t
		r.look(r.ctx, LookDuring)
	case EventReturn:
		r.t.Return = &t
	}
	r.c.progress(fmt.Sprintf("%s: %s", event, text))
	if r.p.OnEvent != nil {
		r.p.OnEvent(event, *r.t)
	}
}

func (r *run) note(format string, args ...any) {
	r.t.note(format, args...)
	r.c.progress(fmt.Sprintf(format, args...))
}

func (r *run) hold(ctx context.Context) {
	if r.p.Hold <= 0 && r.p.Release == nil {
		return
	}
	d := r.p.Hold
	if d <= 0 {
		d = math.MaxInt64 // until released
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-r.p.Release:
	}
}

// observe waits for one more scrape and reads the counts the classifier will see.
func (r *run) observe(ctx context.Context) error {
	if err := sleep(ctx, 2500*time.Millisecond); err != nil {
		return err
	}
	counts := map[string]string{
		"error_70":                errorsOf("Fetch", sessionNotFound),
		"error_71":                errorsOf("Fetch", "INVALID_FETCH_SESSION_EPOCH"),
		"evictions":               evictionsCounter,
		"heartbeat_25":            errorsOf("Heartbeat", unknownMember),
		"offset_commit_25":        errorsOf("OffsetCommit", unknownMember),
		"sync_group_25":           errorsOf("SyncGroup", unknownMember),
		"offset_commit_82":        errorsOf("OffsetCommit", "FENCED_INSTANCE_ID"),
		"heartbeat_82":            errorsOf("Heartbeat", "FENCED_INSTANCE_ID"),
		"heartbeat_27":            errorsOf("Heartbeat", "REBALANCE_IN_PROGRESS"),
		"rebootstrap_required":    errorsOf("ApiVersions", "REBOOTSTRAP_REQUIRED"),
		"not_leader_list_errors":  errorsOf("ListOffsets", "NOT_LEADER_OR_FOLLOWER"),
		"consumer_heartbeat_25":   errorsOf("ConsumerGroupHeartbeat", unknownMember),
		"member_id_required_79":   errorsOf("JoinGroup", "MEMBER_ID_REQUIRED"),
		"leave_group_requests":    `kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="LeaveGroup"}`,
		"not_leader_fetch_errors": errorsOf("Fetch", "NOT_LEADER_OR_FOLLOWER"),
	}
	for name, selector := range counts {
		if _, known := r.t.Observed[name]; known {
			continue
		}
		n, err := r.c.grown(ctx, selector, r.t.Ready, now())
		if err != nil {
			return err
		}
		r.t.Observed[name] = n
	}
	return nil
}

// name makes a name for this run: the caller's, or one nobody used before.
func (r *run) name(given, base string) string {
	if given != "" {
		return given
	}
	return base + "-" + r.t.Tag()
}

func record(topic string, p int32) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: p, Value: []byte("kafka-lab")}
}
