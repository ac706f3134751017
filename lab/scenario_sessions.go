package lab

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// playNearLimit fills seven of eight slots, and nobody is refused for long.
func playNearLimit(ctx context.Context, r *run) error {
	d, err := r.startDriver(ctx, r.c.Info().Capacity*7/8, false)
	if err != nil {
		return err
	}
	defer r.driverCounts(d)
	if err := r.sessionsReach(ctx, d.clients()*9/10); err != nil {
		return err
	}
	r.at(EventEffect, "sessions for %d clients", d.clients())
	return sleep(ctx, 40*time.Second)
}

// sessionsReach waits until broker 1 holds n sessions.
func (r *run) sessionsReach(ctx context.Context, n int) error {
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	at := fmt.Sprintf("instance=%q", r.c.Info().Brokers[0].Metrics)
	return poll(limited, time.Second, fmt.Sprintf("%d sessions", n), func(ctx context.Context) (bool, error) {
		have, err := r.c.value(ctx, withMatcher(sessionsGauge, at))
		return have >= float64(n), err
	})
}

// playTurnover keeps three eighths of the slots in use and lets clients come that
// fetch once and vanish, as a script run again and again does. Their sessions stay
// until somebody needs the slot, which is possible 120 s after their last use.
func playTurnover(ctx context.Context, r *run) error {
	d, err := r.startDriver(ctx, r.c.Info().Capacity*3/8, false)
	if err != nil {
		return err
	}
	defer r.driverCounts(d)
	if err := r.sessionsReach(ctx, d.clients()); err != nil {
		return err
	}
	r.t.Expected["sessions"], r.t.Expected["error_70"] = float64(r.c.Info().Capacity), 0
	var arrivals atomic.Int64
	stop := r.arrivals(ctx, d, &arrivals)
	r.undo(func(context.Context) error { stop(); return nil })
	if err := r.sessionsReach(ctx, r.c.Info().Capacity); err != nil {
		return err
	}
	r.note("the cache is full")
	limited, cancel := context.WithTimeout(ctx, 6*time.Minute)
	defer cancel()
	dead := float64(r.c.Info().Capacity - d.clients())
	seen := false
	err = poll(limited, time.Second, "two waves of evictions", func(ctx context.Context) (bool, error) {
		n, err := r.c.grown(ctx, evictionsCounter, *r.t.Fault, now())
		if !seen && n >= dead/2 {
			seen = true
			r.at(EventEffect, "dead sessions make room")
		}
		return n >= 1.5*dead, err
	})
	r.t.Observed["arrivals"] = float64(arrivals.Load())
	return err
}

// arrivals starts one client a second that fetches once and closes nothing.
func (r *run) arrivals(ctx context.Context, d *driver, n *atomic.Int64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(ctx, time.Second) == nil {
			i := n.Add(1)
			cl, err := r.rawClient(fmt.Sprintf("report-run-%d", i))
			if err != nil {
				continue
			}
			p := &player{d: d, cl: cl}
			p.fetch(ctx, d.slice(int(i)))
			cl.Close()
		}
	}()
	return func() { cancel(); <-ended }
}

// leakEvery is the time between two fetches of the leaking client: its cache of 64
// slots is full within half a minute.
const leakEvery = 200 * time.Millisecond

// playLeak has a few honest clients, and one that asks for a new session with
// every fetch and never uses or closes one, as Sarama 1.26.0 did.
func playLeak(ctx context.Context, r *run) error {
	d, err := r.startDriver(ctx, r.c.Info().Capacity*3/8, false)
	if err != nil {
		return err
	}
	defer r.driverCounts(d)
	if err := r.sessionsReach(ctx, d.clients()); err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.c.Info().Brokers[0].Kafka), kgo.ClientID("nightly-export-1"),
		kgo.SoftwareNameAndVersion("exporter", "0.9"), kgo.DisableFetchSessions(), kgo.RetryTimeout(5*time.Second))
	if err != nil {
		return fmt.Errorf("the leaking client: %w", err)
	}
	defer cl.Close()
	r.t.Subject.ClientID = "nightly-export-1"
	r.t.Expected["sessions"], r.t.Expected["error_70"] = float64(r.c.Info().Capacity), 0
	r.at(EventFault, "nightly-export-1 opens a session with every fetch")
	p := &player{d: d, cl: cl}
	begin, full := time.Now(), false
	c := float64(r.c.Info().Capacity - d.clients())
	for opened := 0; ; opened++ {
		p.session = fetchSession{}
		p.fetch(ctx, d.slice(0))
		if err := sleep(ctx, leakEvery); err != nil {
			return err
		}
		if opened%25 != 24 {
			continue
		}
		r.t.Observed["sessions_asked_for"] = float64(opened + 1)
		n, err := r.c.grown(ctx, evictionsCounter, *r.t.Fault, now())
		if err != nil {
			return err
		}
		if !full && n >= c/2 {
			full = true
			r.at(EventEffect, "its dead sessions are evicted")
		}
		if n >= 1.5*c {
			return nil
		}
		if time.Since(begin) > 6*time.Minute {
			return fmt.Errorf("no two waves of evictions within 6 min, only %.0f evictions", n)
		}
	}
}

// The share of fetches that are sent twice.
const duplicateShare = 10

// playEpochs has clients that send every tenth fetch twice on one connection: the
// second finds the session an epoch ahead (error 71) and the client starts anew.
func playEpochs(ctx context.Context, r *run) error {
	d, err := r.cacheDriver(ctx, 16, false)
	if err != nil {
		return err
	}
	d.duplicate = duplicateShare
	r.t.Subject = Subject{Broker: 1, Topic: d.topic.Topic, Groups: d.groups}
	r.t.Parameters = map[string]any{"clients": d.clients(), "duplicated": fmt.Sprintf("1 of %d", duplicateShare), "fetch_interval_ms": d.every.Milliseconds(), "java_consumers": r.p.Java}
	r.undo(func(context.Context) error { d.stop(); return nil })
	if err := sleep(ctx, 3*time.Second); err != nil {
		return err
	}
	r.at(EventReady, "%d clients are about to start", d.clients())
	if err := d.start(ctx); err != nil {
		return err
	}
	r.at(EventFault, "clients start fetching and duplicate one fetch in %d", duplicateShare)
	defer r.driverCounts(d)
	for _, g := range d.groups {
		if _, err := r.c.waitStable(ctx, "classic", g, d.perGroup); err != nil {
			return err
		}
	}
	r.watch = r.c.watchGroups(ctx, "classic", d.groups...)
	// Two periods of 5 min are what it takes to call it sustained: half of that first.
	if err := sleep(ctx, 90*time.Second); err != nil {
		return err
	}
	r.at(EventEffect, "%d errors 71 so far", d.epochErrors.Load())
	return sleep(ctx, orDuration(r.p.Away, 4*time.Minute))
}

// playDisabled: fewer than eight slots are none from 3.8 on.
func playDisabled(ctx context.Context, r *run) error {
	k, err := r.startCast(ctx, "a", "b")
	if err != nil {
		return err
	}
	r.t.Subject = Subject{Broker: 1, Topic: k.topic, Groups: []string{k.group}}
	r.t.Parameters["slots"], r.t.Expected["sessions"] = r.c.Info().Slots, 0
	r.at(EventEffect, "every fetch is a full one")
	return sleep(ctx, 40*time.Second)
}

// playFollowerChurn fills the cache of broker 1 with half as many clients again,
// none of which can displace another, and restarts the follower: a replica
// fetcher's session displaces a consumer's of any age.
func playFollowerChurn(ctx context.Context, r *run) error {
	d, err := r.startDriver(ctx, r.c.Info().Capacity*3/2, false)
	if err != nil {
		return err
	}
	defer r.driverCounts(d)
	if err := r.sessionsReach(ctx, r.c.Info().Capacity); err != nil {
		return err
	}
	r.note("the cache is full")
	if r.p.How == "reconnects" {
		return r.followerReconnects(ctx, d)
	}
	times := 3
	if r.p.How == "once" {
		times = 1
	}
	follower := len(r.c.Info().Brokers)
	r.t.Parameters["restarts"], r.t.Parameters["follower"] = times, follower
	for i := range times {
		if i == 0 {
			r.at(EventFault, "follower %d is restarted", follower)
		}
		if err := r.c.StopBroker(ctx, follower, syscall.SIGTERM); err != nil {
			return err
		}
		if err := sleep(ctx, 3*time.Second); err != nil {
			return err
		}
		if err := r.c.StartBroker(ctx, follower); err != nil {
			return err
		}
		if err := sleep(ctx, 15*time.Second); err != nil {
			return err
		}
		n, err := r.c.grown(ctx, errorsOf("Fetch", sessionNotFound), *r.t.Fault, now())
		if err != nil {
			return err
		}
		if i == 0 {
			r.at(EventEffect, "%.0f consumers lost their sessions to the follower", n)
		} else {
			r.note("%.0f consumers lost their sessions so far", n)
		}
	}
	return sleep(ctx, 10*time.Second)
}

// followerReconnects plays a fetcher of the last broker that opens a session,
// closes it and opens the next, half a second each; a refused consumer takes the
// slot meanwhile.
func (r *run) followerReconnects(ctx context.Context, d *driver) error {
	cl, err := r.rawClient(fmt.Sprintf("broker-%d-fetcher-0", len(r.c.Info().Brokers)))
	if err != nil {
		return err
	}
	defer cl.Close()
	p := &player{d: d, cl: cl, replica: int32(len(r.c.Info().Brokers))}
	r.at(EventFault, "a replica fetcher opens and closes sessions, two a second")
	least := 3*float64(r.c.Info().Capacity) + 20
	begin, effect := time.Now(), false
	for n := 0; ; n++ {
		p.session = fetchSession{}
		p.fetch(ctx, d.slice(0))
		if err := sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
		p.end(ctx)
		if err := sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
		if n%20 != 19 {
			continue
		}
		ev, err := r.c.grown(ctx, evictionsCounter, *r.t.Fault, now())
		if err != nil {
			return err
		}
		if !effect && ev > least/2 {
			effect = true
			r.at(EventEffect, "%.0f evictions", ev)
		}
		if ev > least {
			return nil
		}
		if time.Since(begin) > 5*time.Minute {
			return fmt.Errorf("only %.0f evictions within 5 min", ev)
		}
	}
}

// playMisrouted lets eight Java consumers reach two brokers through one address.
func playMisrouted(ctx context.Context, r *run) error {
	topic := r.name(r.p.Topic, "orders")
	if err := r.c.CreateTopic(ctx, topic, 12, 2); err != nil {
		return err
	}
	stop := r.c.trickle(ctx, topic, 12, 500*time.Millisecond)
	r.undo(func(context.Context) error { stop(); return nil })
	how := map[string]balance{"requests": balanceRequests}[r.p.How]
	if how == balanceNone {
		how = balanceConnections
	}
	p, err := r.c.sharedProxy(how)
	if err != nil {
		return err
	}
	r.undo(func(context.Context) error { return p.close() })
	var members []string
	for i := range misroutedClients {
		members = append(members, fmt.Sprintf("none/search-%d", i+1))
	}
	r.t.Subject = Subject{Topic: topic}
	r.t.Parameters = map[string]any{"clients": misroutedClients, "brokers": len(r.c.Info().Brokers), "capacity": r.c.Info().Capacity, "balanced": r.p.How}
	if err := sleep(ctx, 5*time.Second); err != nil {
		return err
	}
	r.at(EventReady, "%d consumers are about to start behind one address", misroutedClients)
	j, err := r.c.startClients(ctx, clientSpec{name: "misrouted", topic: topic, members: members, assign: true, bootstrap: p.bootstrap(), times: r.p.timeouts()})
	if err != nil {
		return err
	}
	r.undo(j.close)
	r.at(EventFault, "consumers start; %s are balanced", r.p.How)
	if r.p.How == "cut-connections" {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go p.cutEvery(ctx, func() error { return sleep(ctx, 15*time.Second) })
	}
	if err := sleep(ctx, time.Minute); err != nil {
		return err
	}
	r.at(EventEffect, "it has gone on for a minute")
	return sleep(ctx, orDuration(r.p.Away, 75*time.Second))
}

const misroutedClients = 8

// end closes the session: epoch -1, as a clean close does.
func (p *player) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if p.session.id != 0 {
		_, _ = p.request(fetchPlan{id: p.session.id, epoch: -1}).RequestWith(ctx, p.cl.Broker(p.d.c.Info().Brokers[0].ID))
	}
	p.session = fetchSession{}
}

// twice sends one incremental fetch two times; the connection keeps their order,
// and the broker answers the second with error 71.
func (p *player) twice(ctx context.Context, plan fetchPlan) (*kmsg.FetchResponse, error) {
	type answer struct {
		resp *kmsg.FetchResponse
		err  error
	}
	answers := make(chan answer, 2)
	for range 2 {
		go func() {
			resp, err := p.request(plan).RequestWith(ctx, p.cl.Broker(p.d.c.Info().Brokers[0].ID))
			answers <- answer{resp, err}
		}()
	}
	a, b := <-answers, <-answers
	if a.err != nil || (b.err == nil && b.resp.ErrorCode == kerr.InvalidFetchSessionEpoch.Code) {
		return b.resp, b.err
	}
	return a.resp, a.err
}
