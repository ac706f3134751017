package score

import (
	"slices"

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
	// Early pairs hold only while a finding is provisional: time tells them
	// apart, nothing else.
	Early bool
	// NoDemand pairs hold only where nobody counted who needs a fetch session.
	NoDemand bool
	// NoPods pairs hold only where pods were not read.
	NoPods bool
	// Source is where it was measured.
	Source string
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
		{diagnose.SessionTimeout, diagnose.ClientUnreachable, DepthLogs, "", false, false, false, d + "S = W; only the client's own time between polls decides"},
		{diagnose.SessionTimeout, diagnose.CoordinatorTrouble, DepthLogs, "", false, false, false, d + "S = C with a single group on the coordinator"},
		{diagnose.ClientUnreachable, diagnose.CoordinatorTrouble, DepthClient, "", false, false, false, e + "W = C from one client of one group"},
		{diagnose.SessionTimeout, diagnose.ProcessGone, DepthClient, "", true, false, false, "group runs, signatures: S and G differ only in what comes back after the drop"},
		{diagnose.ProcessGone, diagnose.ClientUnreachable, DepthLogs, "", true, false, false, "group runs, signatures: W and G differ only in what comes back after the drop"},
		{diagnose.ProcessGone, diagnose.PollIntervalStatic, DepthMetrics, "", false, false, false, a + "G = Ps until it returns"},
		{diagnose.ProcessReplaced, diagnose.RollingDeploy, DepthClient, "", false, false, true, e + "G' = X = SIGKILL after grace; only pods or the Streams log tell"},
		{diagnose.ProcessReplaced, diagnose.ProcessGone, DepthMetrics, "", false, false, false, a + "neither moves an error counter"},
		{diagnose.SessionTimeout, diagnose.RebalanceTimeout, DepthMetrics, "classic", false, false, false, a + "S = R of a Java member"},
		{diagnose.ClientUnreachable, diagnose.RebalanceTimeout, DepthMetrics, "classic", false, false, false, a + "W = R of a Java member"},
		{diagnose.SessionTimeout, diagnose.RebalanceTimeout, DepthLogs, "consumer", false, false, false, d + "R = S for franz-go under KIP-848, but for the last record's state"},
		{diagnose.PollInterval, diagnose.RollingDeploy, DepthAdmin, "classic", false, false, false, b + "P = D on hosts that keep their name"},
		{diagnose.PollInterval, diagnose.RollingDeploy, DepthLogs, "consumer", false, false, false, d + "P = D under KIP-848: both only 'left the consumer group'"},
		{diagnose.PollInterval, diagnose.RebalanceStorm, DepthMetrics, "", false, false, false, a + "P = N"},
		{diagnose.RollingDeploy, diagnose.RebalanceStorm, DepthMetrics, "", false, false, false, a + "D = N"},
		{diagnose.PollInterval, diagnose.ProcessGone, DepthMetrics, "consumer", false, false, false, a + "P without commit = G under KIP-848"},
		{diagnose.RollingDeploy, diagnose.ProcessGone, DepthMetrics, "consumer", false, false, false, a + "D = G under KIP-848"},
		{diagnose.SessionTimeout, diagnose.PollInterval, DepthOffsets, "", false, false, false, c + "S = P when survivors were slow or the partitions idle"},
		{diagnose.SessionTimeout, diagnose.PollInterval, DepthLogs, "consumer", false, false, false, d + "P of librdkafka = S under KIP-848"},
		{diagnose.PollInterval, diagnose.StrayCommits, DepthMetrics, "consumer", false, false, false, a + "P with a commit = a short burst of stray commits"},
		{diagnose.PollIntervalStatic, diagnose.RollingDeploy, DepthOffsets, "consumer", false, false, false, c + "Ps that has not returned = a clean static stop"},
		{diagnose.RemovedByAdmin, diagnose.RollingDeploy, DepthOffsets, "classic", false, false, false, c + "A of all members = a full restart"},
		{diagnose.RemovedByAdmin, diagnose.SessionTimeout, DepthMetrics, "", false, false, false, a + "A = S but for the LeaveGroup"},
		{diagnose.CacheThrash, diagnose.MisroutedSessions, DepthClient, "", false, true, false, f + "once the cache is full, balanced requests thrash alike; only the demand tells"},
		{diagnose.CacheSaturated, diagnose.CacheNearLimit, DepthClient, "", false, true, false, f + "a full and quiet cache says nothing about clients without a session; only the demand or the size of requests tells"},
	}
}

// sources is what a case has to tell classes apart with.
type sources struct {
	depth     Depth
	protocols []string
	early     bool
	demand    bool
	pods      bool
}

func sourcesOf(e diagnose.Evidence, early bool) sources {
	return sources{depth(e), protocols(e), early, demandKnown(e), e.Pods.OK()}
}

// inseparable reports whether two classes look the same with these sources.
func (s sources) inseparable(a, b diagnose.Class) bool {
	return slices.ContainsFunc(Pairs(), func(p Pair) bool {
		switch {
		case (p.A != a || p.B != b) && (p.A != b || p.B != a), s.depth > p.UpTo:
			return false
		case p.Protocol != "" && !slices.Contains(s.protocols, p.Protocol):
			return false
		}
		return (!p.Early || s.early) && (!p.NoDemand || !s.demand) && (!p.NoPods || !s.pods)
	})
}

// demandKnown: who needs a session was counted on the broker in question, or on
// every broker.
func demandKnown(e diagnose.Evidence) bool {
	known := len(e.Brokers) > 0
	for _, b := range e.Brokers {
		if e.Target.Broker == nil || b.ID == *e.Target.Broker {
			known = known && b.Demand.OK()
		}
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
