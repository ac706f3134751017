package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
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
	Release <-chan struct{}
	// Away is how long the victim stays frozen or stalled (session-timeout: 10 s,
	// poll-interval: 18 s).
	Away time.Duration
	// Kill makes restart-burst use SIGKILL: no burst is to be expected then.
	Kill bool
	// Group and Topic names; made up when empty.
	Group, Topic string
	// Record is a folder that gets the raw material of the run; "" records nothing.
	Record string
	// OnEvent is called at each moment, on the scenario's goroutine.
	OnEvent func(event string, t Truth)
}

// Scenario is one way to break a cluster.
type Scenario struct {
	Name, Class, Text string
	// MinBrokers and Small say what cluster it needs; Small: a cache of at most 200 slots.
	MinBrokers int
	Small      bool
	// ClassicOnly: the fault does not exist under the consumer protocol.
	ClassicOnly  bool
	Alternatives []string
	Provisional  string
	play         func(context.Context, *run) error
}

// Scenarios lists them by name.
func Scenarios() []Scenario {
	s := []Scenario{
		{Name: "quiet", Class: "quiet", MinBrokers: 1, Text: "healthy consumers, nothing happens", play: playQuiet},
		{Name: "restart-burst", Class: "restart-burst", MinBrokers: 3, Text: "one of three brokers is restarted; 20 Java consumers have partitions there", play: playRestartBurst},
		{Name: "cache-thrash", Class: "cache-thrash", MinBrokers: 1, Small: true, Text: "more fetch sessions than slots, partition sets that vary", play: playThrash},
		{Name: "cache-saturated", Class: "cache-saturated", MinBrokers: 1, Small: true, Text: "more fetch sessions than slots, all of one size", play: playSaturated},
		{Name: "poll-interval", Class: "poll-interval", MinBrokers: 1, Text: "one consumer does not poll for longer than max.poll.interval.ms", play: playPollInterval},
		{Name: "session-timeout", Class: "session-timeout", MinBrokers: 1, Text: "one consumer's process is frozen for longer than session.timeout.ms",
			Alternatives: []string{"client-unreachable"}, Provisional: "session-timeout", play: playSessionTimeout},
		{Name: "process-gone", Class: "process-gone", MinBrokers: 1, Text: "one consumer's process is killed and does not come back",
			Provisional: "session-timeout", play: playProcessGone},
		{Name: "join-sync-race", Class: "join-sync-race", MinBrokers: 1, ClassicOnly: true, Text: "a third member joins and never syncs", play: playJoinSyncRace},
		{Name: "lag", Class: "lag-stable-group", MinBrokers: 1, Text: "both consumers are slower than the producer; nobody loses membership", play: playLag},
		{Name: "rolling-deploy", Class: "rolling-deploy", MinBrokers: 1, Text: "every consumer is closed and replaced, one after another", play: playRollingDeploy},
	}
	sort.Slice(s, func(i, j int) bool { return s[i].Name < s[j].Name })
	return s
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
	c      *Cluster
	p      Params
	t      *Truth
	watch  *watch
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
	r := &run{c: c, p: p, t: &Truth{
		Schema: TruthSchema, Scenario: s.Name, Class: s.Class, Family: family(s.Class), Alternatives: s.Alternatives,
		ProvisionalClass: s.Provisional, Cluster: c.state.Name, Version: c.state.Version, Protocol: p.Protocol,
		Started: now(), Parameters: map[string]any{}, Expected: map[string]float64{}, Observed: map[string]float64{},
	}}
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
	r.t.Ended = now()
	views := r.watch.end()
	if r.p.Record == "" {
		return nil
	}
	return r.record(ctx, views)
}

// fits checks the request against the cluster and fills in the protocol.
func (c *Cluster) fits(s Scenario, p *Params) error {
	p.Protocol = orString(p.Protocol, "classic")
	switch {
	case p.Protocol != "classic" && p.Protocol != "consumer":
		return fmt.Errorf("protocol %q: want classic or consumer", p.Protocol)
	case p.Protocol == "consumer" && !log4j2(c.state.Version):
		return fmt.Errorf("protocol consumer: needs Kafka 4, this lab runs %s", c.state.Version)
	case p.Protocol == "consumer" && s.ClassicOnly:
		return fmt.Errorf("scenario %s does not exist under the consumer protocol", s.Name)
	case len(c.state.Brokers) < s.MinBrokers:
		return fmt.Errorf("scenario %s needs %d brokers, lab %s has %d", s.Name, s.MinBrokers, c.state.Name, len(c.state.Brokers))
	case s.Small && c.state.Capacity > 200:
		return fmt.Errorf("scenario %s needs a small cache: start the lab with --slots 64 (it has %d)", s.Name, c.state.Capacity)
	}
	return nil
}

// clean undoes what the run started, all at once: closing a JVM takes a second.
func (r *run) clean(ctx context.Context) error {
	r.watch.end()
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
		"evictions":               evictionsCounter,
		"heartbeat_25":            errorsOf("Heartbeat", unknownMember),
		"offset_commit_25":        errorsOf("OffsetCommit", unknownMember),
		"sync_group_25":           errorsOf("SyncGroup", unknownMember),
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
	return base + "-" + strconv.FormatInt(r.t.Started.Unix()%(36*36*36*36), 36)
}

func record(topic string, p int32) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: p, Value: []byte("kafka-lab")}
}
