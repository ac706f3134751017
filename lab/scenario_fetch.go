package lab

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

const (
	burstGroups     = 2
	burstMembers    = 10 // per group
	burstPartitions = 60 // six per member: two on each of three brokers
	cacheGroups     = 8
	cachePerMember  = 6 // partitions
)

func fetchScenarios() []Scenario {
	return []Scenario{
		{Name: "restart-burst", Class: "restart-burst", MinBrokers: 3, Hows: []string{"leadership-back", "no-election"},
			Text: "one of three brokers is restarted; 20 Java consumers have partitions there; no-election: leadership stays away, so there is no burst yet", play: playRestartBurst},
		{Name: "cache-thrash", Class: "cache-thrash", MinBrokers: 1, Small: true, Text: "more fetch sessions than slots, partition sets that vary", play: playThrash},
		{Name: "cache-saturated", Class: "cache-saturated", MinBrokers: 1, Small: true, Text: "more fetch sessions than slots, all of one size", play: playSaturated},
		{Name: "cache-near-limit", Class: "cache-near-limit", MinBrokers: 1, Small: true, Text: "fetch sessions for seven of eight slots", play: playNearLimit},
		{Name: "dead-session-turnover", Class: "dead-session-turnover", MinBrokers: 1, Small: true,
			Text: "three eighths of the slots are in use; short-lived clients leave sessions behind, which make room when they are 120 s old", play: playTurnover},
		{Name: "leaking-client", Class: "leaking-client", MinBrokers: 1, Small: true, Text: "one client opens a new session with every fetch", play: playLeak},
		{Name: "follower-churn", Class: "follower-churn", MinBrokers: 3, Small: true, Hows: []string{"restarts", "once", "reconnects"}, Set: []Setting{{Key: "num.replica.fetchers", Value: "4"}},
			Text: "a follower is restarted while the leader's cache is full; reconnects: a follower's fetcher that opens sessions over and over", play: playFollowerChurn},
		{Name: "epoch-mismatch", Class: "epoch-mismatch", MinBrokers: 1, Text: "a library sends some fetches twice on one connection", play: playEpochs},
		{Name: "misrouted-sessions", Class: "misrouted-sessions", MinBrokers: 2, Hows: []string{"requests", "connections", "cut-connections"},
			Text: "two brokers behind one address, each request (or connection) balanced; with --slots 64 the cache fills and looks like thrashing", play: playMisrouted},
		{Name: "sessions-disabled", Class: "sessions-disabled", MinBrokers: 1, NoCache: true, Text: "a broker with seven slots, which are none", play: playDisabled},
	}
}

// playRestartBurst restarts the last broker while 20 Java consumers of two groups
// have partitions there, and then brings leadership back by hand, so that the
// burst comes in seconds and not at the next imbalance check (300 s).
func playRestartBurst(ctx context.Context, r *run) error {
	topic := r.name(r.p.Topic, "orders")
	victim := len(r.c.Info().Brokers)
	if err := r.startBurstClients(ctx, topic); err != nil {
		return err
	}
	with, err := r.consumersOn(ctx, topic, int32(victim))
	if err != nil {
		return err
	}
	r.t.Subject.Broker, r.t.Subject.Topic = victim, topic
	r.t.Parameters = map[string]any{"consumers": burstGroups * burstMembers, "partitions": burstPartitions, "replication": 3,
		"consumers_on_broker": with}
	r.t.Expected["error_70_on_broker"] = float64(with)
	sig := syscall.SIGTERM
	if r.p.Kill {
		// Nobody can see from outside that it was a kill: a burst may be to come.
		sig, r.t.Expected["error_70_on_broker"] = syscall.SIGKILL, 0
		r.t.Class, r.t.Family, r.t.Alternatives = "quiet", family("quiet"), []string{"restart-burst"}
	}
	if r.p.How == "no-election" {
		r.t.Expected["error_70_on_broker"] = 0
		r.t.Class, r.t.Family, r.t.Alternatives = "quiet", family("quiet"), []string{"restart-burst"}
	}
	r.t.Parameters["stop"] = signalName(sig)
	if err := sleep(ctx, max(r.p.StableFor, 3*time.Second)); err != nil {
		return err
	}
	r.at(EventReady, "%d consumers have partitions on broker %d", with, victim)
	if err := r.restart(ctx, victim, sig); err != nil {
		return err
	}
	return r.countBurst(ctx, victim)
}

func (r *run) startBurstClients(ctx context.Context, topic string) error {
	if err := r.c.CreateTopic(ctx, topic, burstPartitions, 3); err != nil {
		return err
	}
	stop := r.c.trickle(ctx, topic, burstPartitions, 2*time.Second)
	r.undo(func(context.Context) error { stop(); return nil })
	var members []string
	for _, base := range []string{"payments", "shipping"} {
		group := r.name("", base)
		r.t.Subject.Groups = append(r.t.Subject.Groups, group)
		for i := range burstMembers {
			members = append(members, fmt.Sprintf("%s/%s-%d", group, group, i+1))
		}
	}
	// Rare commits: 60 partitions each second would make a recording of half a megabyte.
	props := []string{"auto.commit.interval.ms=10000", "metadata.max.age.ms=3000"}
	if r.p.Protocol == "classic" { // a coordinator that moves must not look like dead consumers on a slow machine
		props = append(props, "session.timeout.ms=30000", "heartbeat.interval.ms=3000")
	}
	j, err := r.c.startClients(ctx, clientSpec{name: "burst", topic: topic, members: members, protocol: r.p.Protocol, times: r.p.timeouts(), props: props})
	if err != nil {
		return err
	}
	r.undo(j.close)
	for _, g := range r.t.Subject.Groups {
		if _, err := r.c.waitStable(ctx, r.p.Protocol, g, burstMembers); err != nil {
			return err
		}
	}
	r.watch = r.c.watchGroups(ctx, r.p.Protocol, r.t.Subject.Groups...)
	return nil
}

// consumersOn counts members with at least one partition led by the broker.
func (r *run) consumersOn(ctx context.Context, topic string, broker int32) (int, error) {
	v, err := r.c.topic(ctx, topic)
	if err != nil {
		return 0, err
	}
	led := map[int32]bool{}
	for _, p := range v.Partitions {
		led[p.Partition] = p.Leader == broker
	}
	n := 0
	for _, g := range r.t.Subject.Groups {
		for _, m := range r.c.describe(ctx, r.p.Protocol, g).Members {
			for _, p := range m.Partitions[topic] {
				if led[p] {
					n++
					break
				}
			}
		}
	}
	return n, nil
}

func (r *run) restart(ctx context.Context, id int, sig syscall.Signal) error {
	r.at(EventFault, "%s to broker %d", signalName(sig), id)
	if err := r.c.StopBroker(ctx, id, sig); err != nil {
		return err
	}
	r.note("broker %d is down", id)
	if err := sleep(ctx, 4*time.Second); err != nil {
		return err
	}
	r.note("broker %d is being started", id)
	if err := r.c.StartBroker(ctx, id); err != nil {
		return err
	}
	r.note("broker %d answers", id)
	// A scrape or two without leadership: what the bot sees while the burst is still to come.
	if err := sleep(ctx, 3*time.Second); err != nil {
		return err
	}
	if r.p.How == "no-election" {
		r.at(EventEffect, "broker %d is up and leads nothing", id)
		return sleep(ctx, 12*time.Second)
	}
	if err := r.c.PreferredElection(ctx); err != nil {
		return err
	}
	r.at(EventEffect, "leadership is back on broker %d", id)
	return nil
}

// countBurst gives slow pollers time and reads the restarted broker's own count,
// which began at zero with its process.
func (r *run) countBurst(ctx context.Context, id int) error {
	if err := sleep(ctx, 8*time.Second); err != nil {
		return err
	}
	at := fmt.Sprintf("instance=%q", r.c.Info().Brokers[id-1].Metrics)
	n, err := r.c.value(ctx, withMatcher(errorsOf("Fetch", sessionNotFound), at))
	if err != nil {
		return err
	}
	sessions, err := r.c.value(ctx, withMatcher(sessionsGauge, at))
	if err != nil {
		return err
	}
	// Not by growth over all brokers: a counter that was 20, died with its process
	// and is born again at 20 has not grown.
	others, err := r.c.grown(ctx, withMatcher(errorsOf("Fetch", sessionNotFound), fmt.Sprintf("instance!=%q", r.c.Info().Brokers[id-1].Metrics)), r.t.Ready, now())
	if err != nil {
		return err
	}
	r.t.Observed["error_70_on_broker"], r.t.Observed["error_70"], r.t.Observed["sessions_on_broker"] = n, n+others, sessions
	r.at(EventReturn, "burst of %.0f is over, %.0f sessions on broker %d", n, sessions, id)
	return nil
}

// withMatcher adds a matcher to a selector that ends in }.
func withMatcher(selector, matcher string) string {
	return selector[:len(selector)-1] + "," + matcher + "}"
}

func playThrash(ctx context.Context, r *run) error    { return playCache(ctx, r, true) }
func playSaturated(ctx context.Context, r *run) error { return playCache(ctx, r, false) }

// playCache starts half as many clients again as broker 1 has slots. With varying
// sizes the refused find smaller sessions older than 120 s and live ones are
// evicted in waves; with equal sizes nobody can displace anybody.
func playCache(ctx context.Context, r *run, vary bool) error {
	d, err := r.startDriver(ctx, r.c.Info().Capacity*3/2, vary)
	if err != nil {
		return err
	}
	defer r.driverCounts(d)
	if !vary {
		return r.saturated(ctx)
	}
	return r.waves(ctx)
}

// startDriver starts about n raw clients of eight groups against broker 1; the
// rest of a division goes to one more client in each group.
func (r *run) startDriver(ctx context.Context, n int, vary bool) (*driver, error) {
	d, err := r.cacheDriver(ctx, n, vary)
	if err != nil {
		return nil, err
	}
	total := len(d.groups) * d.perGroup
	r.t.Subject = Subject{Broker: 1, Topic: d.topic.Topic, Groups: d.groups}
	r.t.Parameters = map[string]any{"clients": total, "groups": len(d.groups), "slots": r.c.Info().Slots, "capacity": r.c.Info().Capacity,
		"partitions_per_client": cachePerMember, "fetch_interval_ms": d.every.Milliseconds(), "sizes_vary": vary, "java_consumers": r.p.Java}
	demand := total + r.p.Java
	r.t.Expected["sessions"], r.t.Expected["demand"] = float64(min(demand, r.c.Info().Capacity)), float64(demand)
	// A scrape or two, so that what an earlier run did is not counted as this one's.
	if err := sleep(ctx, 3*time.Second); err != nil {
		return nil, err
	}
	r.at(EventReady, "%d clients are about to start against %d slots", total, r.c.Info().Capacity)
	r.undo(func(context.Context) error { d.stop(); return nil })
	if err := d.start(ctx); err != nil {
		return nil, err
	}
	r.at(EventFault, "%d clients start fetching", total)
	for _, g := range d.groups {
		if _, err := r.c.waitStable(ctx, "classic", g, d.perGroup); err != nil {
			return nil, err
		}
	}
	r.note("all groups are stable")
	r.watch = r.c.watchGroups(ctx, "classic", d.groups...)
	return d, nil
}

func (r *run) cacheDriver(ctx context.Context, n int, vary bool) (*driver, error) {
	perGroup := max(2, (n+cacheGroups-1)/cacheGroups)
	d := &driver{c: r.c, perGroup: perGroup, vary: vary, every: time.Second}
	for i := range cacheGroups {
		d.groups = append(d.groups, r.name("", fmt.Sprintf("reports%d", i+1)))
	}
	name := r.name(r.p.Topic, "orders")
	if err := r.c.createOn(ctx, name, perGroup*cachePerMember); err != nil {
		return nil, err
	}
	if err := r.startJavaBeside(ctx, name); err != nil {
		return nil, err
	}
	var err error
	d.topic, err = r.c.topic(ctx, name)
	return d, err
}

// startJavaBeside starts genuine consumers, in a group of their own, before the raw
// clients: they have their sessions when these fight for the rest.
func (r *run) startJavaBeside(ctx context.Context, topic string) error {
	if r.p.Java == 0 {
		return nil
	}
	group := r.name("", "checkout")
	var members []string
	for i := range r.p.Java {
		members = append(members, fmt.Sprintf("%s/%s-%d", group, group, i+1))
	}
	j, err := r.c.startClients(ctx, clientSpec{name: "beside", topic: topic, members: members, protocol: r.p.Protocol, times: r.p.timeouts()})
	if err != nil {
		return err
	}
	r.undo(j.close)
	if _, err := r.c.waitStable(ctx, r.p.Protocol, group, r.p.Java); err != nil {
		return err
	}
	r.note("%d Java consumers of group %s run beside the raw clients", r.p.Java, group)
	return nil
}

// waves waits for two waves of evictions (sessions may be displaced 120 s after
// their creation, so all born together fall together) and a little silence.
func (r *run) waves(ctx context.Context) error {
	c := float64(r.c.Info().Capacity)
	limited, cancel := context.WithTimeout(ctx, 6*time.Minute)
	defer cancel()
	seen, silent := false, false
	err := poll(limited, time.Second, "two waves of evictions", func(ctx context.Context) (bool, error) {
		// Errors, not evictions: sessions of dead clients may be evicted first, silently.
		n, err := r.c.grown(ctx, errorsOf("Fetch", sessionNotFound), *r.t.Fault, now())
		if err != nil {
			return false, err
		}
		if !seen && n > 0 {
			seen = true
			r.at(EventEffect, "first live sessions evicted")
		}
		if !silent && n >= 0.9*c {
			// All born together fell together: nothing happens for more than a minute now.
			silent = true
			r.lookIn(ctx, 40*time.Second, LookSilent)
		}
		return n >= 1.5*c, nil
	})
	if err != nil {
		return err
	}
	r.note("second wave of evictions")
	return sleep(ctx, 15*time.Second)
}

func (r *run) saturated(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := poll(limited, time.Second, "a full cache", func(ctx context.Context) (bool, error) {
		n, err := r.c.value(ctx, sessionsGauge)
		return n >= float64(r.c.Info().Capacity), err
	})
	if err != nil {
		return err
	}
	r.at(EventEffect, "cache is full")
	return sleep(ctx, 40*time.Second)
}

// driverCounts writes down what the clients themselves counted.
func (r *run) driverCounts(d *driver) {
	for name, n := range map[string]int64{"client_fetches": d.fetches.Load(), "client_full_fetches": d.fulls.Load(), "client_refused": d.refused.Load(),
		"client_error_70": d.notFound.Load(), "client_error_71": d.epochErrors.Load(), "client_other_errors": d.otherError.Load()} {
		r.t.Observed[name] = float64(n)
	}
}
