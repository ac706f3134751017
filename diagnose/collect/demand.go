package collect

import (
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// demandInput is what the demand for fetch sessions follows from.
type demandInput struct {
	topo *topology
	// groups are all described groups of the cluster.
	groups map[string]*groupLook
	// fetchers is num.replica.fetchers by follower; a broker that is not in the
	// map counts with the default of 1.
	fetchers map[int32]int
	// software is the census of client libraries by broker, where exported.
	software map[int32][]diagnose.Software
	// connections is the number of client connections by broker.
	connections map[int32]int
}

// maxByGroup bounds the named groups of one broker.
const maxByGroup = 10

// demand works out how many fetch sessions each broker must hold:
//
//	consumers = members with a partition led here, except of libraries that
//	            use no sessions
//	followers = Σ over followers of min(num.replica.fetchers, partitions they
//	            replicate from here)
//
// It rests on topology alone, so clients outside groups are not in it, and a
// member that fetches from a preferred read replica (KIP-392) counts at the
// leader.
func demand(in demandInput) map[int32]diagnose.Demand {
	members := membersByBroker(in)
	followers := followersByBroker(in)
	clients, hosts := namedByBroker(in, clientFamily), namedByBroker(in, func(m diagnose.Member) string { return m.Host })
	base := groupsReading(in.groups)
	out := map[int32]diagnose.Demand{}
	for _, b := range in.topo.brokers {
		d := diagnose.Demand{Reading: base, Followers: followers[b.ID], Connections: -1}
		if n, ok := in.connections[b.ID]; ok {
			d.Connections = n
		}
		d.ByGroup = topGroups(members[b.ID])
		d.ByClient, d.ByHost = topNamed(clients[b.ID]), topNamed(hosts[b.ID])
		total := 0
		for _, n := range members[b.ID] {
			total += n
		}
		d.Consumers = total
		if census := in.software[b.ID]; len(census) > 0 {
			applyCensus(&d, census)
		}
		out[b.ID] = d
	}
	return out
}

// membersByBroker counts, for each broker and group, the members with a
// partition led there, leaving out those whose member id betrays a library
// without sessions.
func membersByBroker(in demandInput) map[int32]map[string]int {
	out := map[int32]map[string]int{}
	for id, g := range in.groups {
		for _, m := range g.snapshot.Members {
			if sessionlessID(m.ID) {
				continue
			}
			for _, b := range leadersOf(m, in.topo) {
				if out[b] == nil {
					out[b] = map[string]int{}
				}
				out[b][id]++
			}
		}
	}
	return out
}

// leadersOf lists each leader of a member's partitions once.
func leadersOf(m diagnose.Member, topo *topology) []int32 {
	seen := map[int32]bool{}
	var out []int32
	for _, tp := range m.Partitions {
		if l := topo.leader(tp); l >= 0 && !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out
}

// sessionlessID recognises members of librdkafka and Sarama that kept the
// default client id: the coordinator builds the member id from it.
func sessionlessID(memberID string) bool {
	return strings.HasPrefix(memberID, "rdkafka-") || strings.HasPrefix(memberID, "sarama-")
}

// followersByBroker adds up the replica fetchers. A partition whose leader is
// unknown has no fetchers.
func followersByBroker(in demandInput) map[int32]int {
	type pair struct{ leader, follower int32 }
	parts := map[pair]int{}
	for _, t := range in.topo.topics {
		for _, p := range t.parts {
			for _, r := range p.replicas {
				if r != p.leader && p.leader >= 0 && in.topo.has(r) {
					parts[pair{p.leader, r}]++
				}
			}
		}
	}
	out := map[int32]int{}
	for pr, n := range parts {
		fetchers := 1
		if f, ok := in.fetchers[pr.follower]; ok {
			fetchers = f
		}
		out[pr.leader] += min(fetchers, n)
	}
	return out
}

func topGroups(members map[string]int) []diagnose.GroupDemand {
	out := make([]diagnose.GroupDemand, 0, len(members))
	for id, n := range members {
		out = append(out, diagnose.GroupDemand{Group: id, Members: n})
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Members != out[j].Members {
			return out[i].Members > out[j].Members
		}
		return out[i].Group < out[j].Group
	})
	return out[:min(maxByGroup, len(out))]
}

// namedByBroker counts the members of membersByBroker by a name of theirs.
func namedByBroker(in demandInput, name func(diagnose.Member) string) map[int32]map[string]*diagnose.NamedDemand {
	out := map[int32]map[string]*diagnose.NamedDemand{}
	for _, g := range in.groups {
		counted := map[*diagnose.NamedDemand]bool{}
		for _, m := range g.snapshot.Members {
			who := clip(name(m))
			if who == "" || sessionlessID(m.ID) {
				continue
			}
			for _, b := range leadersOf(m, in.topo) {
				if out[b] == nil {
					out[b] = map[string]*diagnose.NamedDemand{}
				}
				d := out[b][who]
				if d == nil {
					d = &diagnose.NamedDemand{Name: who}
					out[b][who] = d
				}
				d.Members++
				if !counted[d] {
					counted[d] = true
					d.Groups++
				}
			}
		}
	}
	return out
}

func topNamed(all map[string]*diagnose.NamedDemand) []diagnose.NamedDemand {
	var out []diagnose.NamedDemand
	for _, d := range all {
		out = append(out, *d)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Members != out[j].Members {
			return out[i].Members > out[j].Members
		}
		return out[i].Name < out[j].Name
	})
	return out[:min(maxByGroup, len(out))]
}

var (
	uuid      = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	idPart    = regexp.MustCompile(`[^-_.]+`)
	starParts = regexp.MustCompile(`\*(?:[-_.]\*)+`)
	numeral   = regexp.MustCompile(`^[0-9]+$`)
	// random is a part as deployments add it: 7f9c6d5b4d, x2x9q; not reports1, s3sink.
	random = regexp.MustCompile(`(?i)^[a-z]*[0-9]+[a-z]+[a-z]*[0-9][a-z0-9]*$`)
)

// clientFamily is a member's client id with * for what tells instances apart, UUIDs,
// numbers and random parts: notifier-7f9c6d5b4d-x2x9q is one of notifier-*.
func clientFamily(m diagnose.Member) string {
	id := m.ClientID
	if r := []rune(id); len(r) > maxClientID {
		id = string(r[:maxClientID])
	}
	id = idPart.ReplaceAllStringFunc(uuid.ReplaceAllLiteralString(id, "*"), func(part string) string {
		if numeral.MatchString(part) || len(part) >= 5 && random.MatchString(part) {
			return "*"
		}
		return part
	})
	return starParts.ReplaceAllLiteralString(id, "*")
}

// maxClientID bounds the work on a client id, in characters.
const maxClientID = 200

// groupsReading says whether every group could be counted.
func groupsReading(groups map[string]*groupLook) diagnose.Reading {
	r := diagnose.Reading{Status: diagnose.StatusOK, Source: "kafka: Metadata, group members' assignments"}
	unread, moving, hidden := 0, 0, 0
	for _, g := range groups {
		if g.reading.AsOf.After(r.AsOf) {
			r.AsOf = g.reading.AsOf
		}
		switch {
		case g.protocol == "share" || g.protocol == "streams", g.reading.Known() == diagnose.StatusSkipped:
		case !g.reading.Usable():
			unread++
		case len(g.hidden) > 0:
			hidden++
		case g.state == "PreparingRebalance" || g.state == "CompletingRebalance":
			moving++
		}
	}
	var why []string
	if unread > 0 {
		why = append(why, count(unread, "group")+" could not be described")
	}
	if moving > 0 {
		why = append(why, count(moving, "group")+" in a rebalance without an assignment")
	}
	if hidden > 0 {
		why = append(why, count(hidden, "group")+" with topics that are not visible")
		r.Hint = "needs Describe on all topics"
	}
	if len(why) > 0 {
		r.Status, r.Error = diagnose.StatusPartial, strings.Join(why, "; ")
	}
	return r
}

// applyCensus takes the share of connections that belong to libraries without
// sessions off the count of members. Which member uses which library is not
// known, so with both kinds present the result is an estimate and says so.
func applyCensus(d *diagnose.Demand, census []diagnose.Software) {
	with, without := 0, 0
	for _, s := range census {
		switch {
		case s.Name == diagnose.BotSoftware:
		case s.Sessionless():
			without += s.Connections
		default:
			with += s.Connections
		}
	}
	if without == 0 || d.Consumers == 0 {
		return
	}
	all := d.Consumers
	d.Consumers = int(math.Round(float64(all) * float64(with) / float64(with+without)))
	d.Status = diagnose.StatusPartial
	why := fmt.Sprintf("%s, of which about %d use sessions: %d of %d client connections are of libraries without", count(all, "member"), d.Consumers, without, with+without)
	if d.Error != "" {
		why = d.Error + "; " + why
	}
	d.Error = why
}

// fetcherCounts reads num.replica.fetchers by broker, where it is readable.
func fetcherCounts(settings map[int32]brokerSettings) map[int32]int {
	out := map[int32]int{}
	for id, s := range settings {
		if f := s.others[fetchersConfig]; f.OK() {
			if n, err := strconv.Atoi(f.Value); err == nil && n > 0 {
				out[id] = n
			}
		}
	}
	return out
}
