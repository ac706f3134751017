package score

import (
	"slices"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Depth is how deep the sources of a case reach into a group. Each one includes
// those before it: whoever has the offsets topic has the admin API.
type Depth int

// The depths, as the measured matrix has them.
const (
	DepthMetrics Depth = iota // (a) broker metrics only
	DepthAdmin                // (b) and group state from the admin API
	DepthOffsets              // (c) and the group's records
	DepthLogs                 // (d) and the broker log
	DepthClient               // (e) and client metrics or logs
)

// Words names a depth for people.
func (d Depth) Words() string {
	return []string{"broker metrics", "the admin API", "`__consumer_offsets`", "the broker log", "client metrics or logs"}[d]
}

// depth is the deepest source of a group that the evidence holds.
func depth(e diagnose.Evidence) Depth {
	history, admin := false, false
	for _, g := range e.Groups {
		history = history || g.History.Usable() && len(g.History.Records) > 0
		admin = admin || len(g.Snapshots) > 0
	}
	switch {
	case len(e.Clients) > 0 && e.ClientsReading.Usable():
		return DepthClient
	case e.Logs.OK():
		return DepthLogs
	case history:
		return DepthOffsets
	case admin:
		return DepthAdmin
	}
	return DepthMetrics
}

// Pair is two classes that cannot be told apart with evidence of a depth.
type Pair struct {
	A, B diagnose.Class
	// UpTo is the deepest evidence at which they still look the same.
	UpTo Depth
	// Protocol is "consumer" or "classic" where the pair holds for one only.
	Protocol string
	// When the pair holds beyond depth and protocol.
	When Condition
	// Source is where it was measured.
	Source string
}

// Condition narrows a pair to what was measured.
type Condition int

// The conditions. What the evidence does not hold is not taken as given: a pair
// excuses only where its condition is seen.
const (
	Always Condition = iota
	// Early: while a finding is provisional or open. Time tells the two apart, and
	// nothing else.
	Early
	// NoDemand: nobody counted who needs a fetch session.
	NoDemand
	// NoPods: pods were not read.
	NoPods
	// OneGroup: the watcher knows of no other group on the coordinator, which
	// would have suffered as well or not.
	OneGroup
	// OneClient: OneGroup, and no more than one client was read.
	OneClient
	// TwoSick: two groups lost members in the window, so that no counter of a
	// broker belongs to one of them.
	TwoSick
	// NoSilence: no loss in the group's records has a silence of the member that
	// can be held against its timeouts (silences.go).
	NoSilence
)

// Words completes "they look the same …".
func (c Condition) Words() string {
	return []string{
		"", "while provisional", "demand not counted", "pods not read", "a single group on the coordinator",
		"one client, a single group on the coordinator", "two sick groups", "survivors slow or partitions idle",
	}[c]
}

// Pairs lists what cannot be told apart on a quiet cluster. The letters are
// those of the runs: S frozen process, W silent network, G process gone, G'
// replaced, X Streams deploy, P poll breach, Ps the same of a static member, R
// slow rebalancer, D rolling deploy, N scaling, A admin removal, C frozen
// coordinator, T topic change. 117 runs on 3.9.2 and 4.4.0.
func Pairs() []Pair {
	const (
		a = "group runs, broker metrics only: "
		b = "group runs, with the admin API: "
		c = "group runs, with the group's records: "
		d = "group runs, with the broker log: "
		e = "group runs, with client metrics: "
		f = "cache runs: "
	)
	return []Pair{
		{diagnose.SessionTimeout, diagnose.ClientUnreachable, DepthLogs, "", Always, d + "S = W; only the client's own time between polls decides"},
		{diagnose.SessionTimeout, diagnose.CoordinatorTrouble, DepthLogs, "", OneGroup, d + "S = C with a single group on the coordinator"},
		{diagnose.ClientUnreachable, diagnose.CoordinatorTrouble, DepthClient, "", OneClient, e + "W = C from one client of one group"},
		{diagnose.SessionTimeout, diagnose.ProcessGone, DepthClient, "", Early, "group runs, signatures: S and G differ only in what comes back after the drop"},
		{diagnose.ProcessGone, diagnose.ClientUnreachable, DepthLogs, "", Early, "group runs, signatures: W and G differ only in what comes back after the drop"},
		{diagnose.ProcessGone, diagnose.PollIntervalStatic, DepthMetrics, "", Always, a + "G = Ps until it returns"},
		{diagnose.ProcessReplaced, diagnose.RollingDeploy, DepthClient, "", NoPods, e + "G' = X = SIGKILL after grace; only pods or the Streams log tell"},
		{diagnose.ProcessReplaced, diagnose.ProcessGone, DepthMetrics, "", Always, a + "neither moves an error counter"},
		{diagnose.SessionTimeout, diagnose.RebalanceTimeout, DepthMetrics, "classic", Always, a + "S = R of a Java member"},
		{diagnose.ClientUnreachable, diagnose.RebalanceTimeout, DepthMetrics, "classic", Always, a + "W = R of a Java member"},
		{diagnose.SessionTimeout, diagnose.RebalanceTimeout, DepthLogs, "consumer", Always, d + "R = S for franz-go under KIP-848, but for the last record's state"},
		{diagnose.PollInterval, diagnose.RollingDeploy, DepthAdmin, "classic", Always, b + "P = D on hosts that keep their name"},
		{diagnose.PollInterval, diagnose.RollingDeploy, DepthLogs, "consumer", Always, d + "P = D under KIP-848: both only 'left the consumer group'"},
		{diagnose.PollInterval, diagnose.RebalanceStorm, DepthMetrics, "", Always, a + "P = N"},
		{diagnose.RollingDeploy, diagnose.RebalanceStorm, DepthMetrics, "", Always, a + "D = N"},
		{diagnose.PollInterval, diagnose.ProcessGone, DepthMetrics, "consumer", Always, a + "P without commit = G under KIP-848"},
		{diagnose.RollingDeploy, diagnose.ProcessGone, DepthMetrics, "consumer", Always, a + "D = G under KIP-848"},
		{diagnose.SessionTimeout, diagnose.PollInterval, DepthOffsets, "", NoSilence, c + "S = P when survivors were slow or the partitions idle"},
		{diagnose.SessionTimeout, diagnose.PollInterval, DepthAdmin, "classic", TwoSick, b + "S = P when neither LeaveGroup nor 25 belongs to one group"},
		{diagnose.SessionTimeout, diagnose.PollInterval, DepthAdmin, "consumer", Always, b + "S = P under KIP-848, where a leave is a heartbeat"},
		{diagnose.PollInterval, diagnose.StrayCommits, DepthMetrics, "consumer", Always, a + "P with a commit = a short burst of stray commits"},
		{diagnose.PollIntervalStatic, diagnose.RollingDeploy, DepthOffsets, "consumer", Always, c + "Ps that has not returned = a clean static stop"},
		{diagnose.RemovedByAdmin, diagnose.RollingDeploy, DepthOffsets, "classic", Always, c + "A of all members = a full restart"},
		{diagnose.RemovedByAdmin, diagnose.SessionTimeout, DepthMetrics, "", Always, a + "A = S but for the LeaveGroup"},
		{diagnose.CacheThrash, diagnose.MisroutedSessions, DepthClient, "", NoDemand, f + "once the cache is full, balanced requests thrash alike; only the demand tells"},
		{diagnose.CacheSaturated, diagnose.CacheNearLimit, DepthClient, "", NoDemand, f + "a full and quiet cache says nothing about clients without a session; only the demand or the size of requests tells"},
	}
}

// sources is what a case has to tell classes apart with.
type sources struct {
	depth     Depth
	protocols []string
	holds     map[Condition]bool
}

func sourcesOf(e diagnose.Evidence, early bool) sources {
	one := oneGroup(e)
	return sources{depth(e), protocols(e), map[Condition]bool{
		Always: true, Early: early, NoDemand: !demandKnown(e), NoPods: !e.Pods.OK(), OneGroup: one,
		OneClient: one && len(e.Clients) <= 1, TwoSick: sickGroups(e) > 1, NoSilence: noSilence(e),
	}}
}

// inseparable reports whether two classes look the same with these sources.
func (s sources) inseparable(a, b diagnose.Class) bool {
	return slices.ContainsFunc(Pairs(), func(p Pair) bool {
		same := p.A == a && p.B == b || p.A == b && p.B == a
		return same && s.depth <= p.UpTo && (p.Protocol == "" || slices.Contains(s.protocols, p.Protocol)) && s.holds[p.When]
	})
}

// oneGroup: every coordinator of the groups in question has that one group, as
// far as a watcher counted.
func oneGroup(e diagnose.Evidence) bool {
	on := map[int32]int{}
	for _, g := range inQuestion(e) {
		on[g.Coordinator]++
	}
	for id, n := range on {
		counted := slices.ContainsFunc(e.Watcher.StableGroups, func(c diagnose.CoordinatorGroups) bool {
			return c.Broker == id && c.Stable+c.Hurt == 1
		})
		if n > 1 || !counted || !e.Watcher.OK() {
			return false
		}
	}
	return len(on) > 0
}

// sickGroups is the number of groups that lost members in the window.
func sickGroups(e diagnose.Evidence) int {
	groups := map[string]bool{}
	for _, l := range e.Watcher.Losses {
		if l.By.After(windowStart(e)) {
			groups[l.Group] = true
		}
	}
	return len(groups)
}

func windowStart(e diagnose.Evidence) time.Time {
	return e.At.Add(-time.Duration(e.WindowSeconds) * time.Second)
}

// inQuestion are the groups that the case asks about.
func inQuestion(e diagnose.Evidence) []diagnose.Group {
	return slices.DeleteFunc(slices.Clone(e.Groups), func(g diagnose.Group) bool {
		return e.Target.Group != "" && g.ID != e.Target.Group
	})
}

// brokersInQuestion are the brokers that the case asks about.
func brokersInQuestion(e diagnose.Evidence) []diagnose.Broker {
	return slices.DeleteFunc(slices.Clone(e.Brokers), func(b diagnose.Broker) bool {
		return e.Target.Broker != nil && b.ID != *e.Target.Broker
	})
}

// demandKnown: who needs a session was counted on the broker in question, or on
// every broker.
func demandKnown(e diagnose.Evidence) bool {
	known := len(e.Brokers) > 0
	for _, b := range brokersInQuestion(e) {
		known = known && b.Demand.OK()
	}
	return known
}

// protocols lists the protocols of the described groups; a group that says
// nothing is taken for a classic one.
func protocols(e diagnose.Evidence) []string {
	var out []string
	for _, g := range e.Groups {
		p := g.Protocol
		if p == "" {
			p = "classic"
		}
		out = append(out, p)
	}
	return out
}
