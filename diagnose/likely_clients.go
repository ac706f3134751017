package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Who is likely behind a cache that is too small, or that is filled with dead
// sessions. Three pieces of evidence can tell, each only a part:
//
//   - Demand.ByGroup, ByClient and ByHost count members with a partition led here.
//     They name who needs sessions, and nobody outside groups.
//   - Broker.Software counts connections by library, which are not sessions, and
//     names neither host nor group. It tells which libraries can hold sessions at
//     all. Clients that send no ApiVersions of version 3 (KIP-511) have no name
//     there: brokers, Java before 2.4, Sarama before 1.30, kafkajs, kafka-go.
//   - Broker.SoftwareGone is the same for libraries that have left.
//
// None of them shows who opened a session; only the broker's request log does. So
// that these names are advice: no class and no confidence rests on them.

const (
	// namedMost is how many names a text has.
	namedMost = 3
	// nameMost bounds a name from outside, in characters.
	nameMost = 40
	// hostShare of a broker's consumers from which their host is worth a word: with
	// one pod each, hosts say nothing.
	hostShare = 0.2
	// unnamedSoftware is the broker's word for clients that give no name.
	unnamedSoftware = "unknown"
)

// likelyFacts are the names that the rules of too many sessions provide.
func likelyFacts() []FactSpec {
	return []FactSpec{
		{Name: "likely_clients", Unit: UnitText, Meaning: "who needs most sessions here: groups, then client ids and hosts that stand out; or why nobody can be named"},
		{Name: "likely_libraries", Unit: UnitText, Meaning: "the client libraries connected here that may hold sessions; or why they are not known"},
	}
}

// likely fills in likelyFacts, and cites what was counted.
func (b *brokerFacts) likely(o *Outcome) {
	who, libraries := b.neediest(), b.holders()
	o.Facts = append(o.Facts, factText("likely_clients", who), factText("likely_libraries", libraries))
	if b.Demand.Reading.Usable() && len(b.Demand.ByGroup) > 0 {
		o.Citations = append(o.Citations, cite(b.path("demand.by_group"), "most sessions are needed by "+who, b.Demand.Reading))
	}
	if b.SoftwareReading.Usable() && len(b.Software) > 0 {
		o.Citations = append(o.Citations, cite(b.path("software"), "libraries that may hold sessions: "+libraries, b.SoftwareReading))
	}
}

// neediest names groups, client ids and hosts by the members that have a partition
// led here.
func (b *brokerFacts) neediest() string {
	d := b.Demand
	switch {
	case !d.Reading.Usable():
		return "nobody that can be named, as the groups' members were not counted (" + d.Known().Words() + ")"
	case len(d.ByGroup) == 0 && d.Consumers == 0:
		return "nobody in a group: no group has a consumer with partitions here"
	case len(d.ByGroup) == 0:
		return plural(d.Consumers, "consumer in groups", "consumers in groups") + ", which are not named"
	}
	var groups, ids, hosts []string
	for _, g := range d.ByGroup {
		groups = append(groups, fmt.Sprintf("%s (%s)", brief(g.Group), plural(g.Members, "consumer", "consumers")))
	}
	for _, c := range d.ByClient {
		if c.Groups > 1 {
			ids = append(ids, fmt.Sprintf("%s (%s in %s groups)", brief(c.Name), count(c.Members), count(c.Groups)))
		}
	}
	for _, h := range d.ByHost {
		if h.Members > 1 && float64(h.Members) >= hostShare*float64(d.Consumers) {
			hosts = append(hosts, fmt.Sprintf("%s (%s)", brief(strings.TrimPrefix(h.Name, "/")), count(h.Members)))
		}
	}
	return strings.Join(slices.Concat(
		titled("group", "groups", groups, len(d.ByGroup) == demandNamed),
		titled("client id", "client ids", ids, len(d.ByClient) == demandNamed),
		titled("host", "hosts", hosts, false)), "; ")
}

// holders names the libraries that may hold sessions here, most connections first,
// and those that cannot.
func (b *brokerFacts) holders() string {
	if s, known := b.census(); !known {
		return s
	}
	var may, not []string
	for _, s := range byConnections(b.Software) {
		switch s.Connections = b.clientsOf(s); {
		case s.Name == BotSoftware || s.Connections <= 0:
		case s.Sessionless():
			not = append(not, s.label())
		default:
			may = append(may, s.counted())
		}
	}
	out := "none of those connected"
	if len(may) > 0 {
		out = named(may, false)
	}
	if len(not) > 0 {
		out += "; not " + named(not, false) + ": no sessions there"
	}
	return out
}

// census says why the libraries are not known, when they are not.
func (b *brokerFacts) census() (why string, known bool) {
	switch r := b.SoftwareReading; {
	case !r.Usable():
		return "not known, as the connections by client library were not read (" + r.Known().Words() + ")", false
	case len(b.Software)+len(b.SoftwareGone) == 0:
		return "not known, as no connection by client library was seen", false
	default:
		return "", true
	}
}

// clientsOf is the number of a library's connections without those of replica
// fetchers, which give no name: one each.
func (b *brokerFacts) clientsOf(s Software) int {
	if s.unnamed() && b.Demand.Reading.Usable() {
		return s.Connections - b.Demand.Followers
	}
	return s.Connections
}

// leakers are the libraries that may open a session with every fetch, the likeliest
// first: those that groups can do without before all others, hand-written ones
// before clients without a name before libraries that are known to reuse a session,
// few connections before many, since it takes only one client. The Apache Kafka
// client reuses its session and is not among them.
func (b *brokerFacts) leakers() []Software {
	var out []Software
	for _, s := range b.Software {
		s.Connections = b.clientsOf(s)
		if s.mayLeak() && s.Connections > 0 {
			out = append(out, s)
		}
	}
	for _, s := range b.SoftwareGone {
		if s.mayLeak() && !slices.ContainsFunc(b.Software, func(x Software) bool { return x.Name == s.Name && x.Version == s.Version }) {
			s.Connections = 0
			out = append(out, s)
		}
	}
	spare := slices.DeleteFunc(slices.Clone(out), b.carriesGroups)
	if len(spare) > 0 {
		out = spare
	}
	slices.SortFunc(out, func(x, y Software) int {
		return cmp.Or(cmp.Compare(x.doubt(), y.doubt()), cmp.Compare(x.Connections, y.Connections), cmp.Compare(x.label(), y.label()))
	})
	return out
}

// carriesGroups says that the members of groups cannot all be of other libraries:
// those have fewer connections than there are members, and a member has one at
// least.
func (b *brokerFacts) carriesGroups(s Software) bool {
	if !b.Demand.Reading.Usable() {
		return false
	}
	others := 0
	for _, x := range b.Software {
		if x.Name != s.Name && x.Name != BotSoftware && !x.Sessionless() {
			others += max(0, b.clientsOf(x))
		}
	}
	return others < b.Demand.Consumers
}

// likelyLeak names who may leak, or says why nobody can be named. s is a library that
// is known for it.
func (b *brokerFacts) likelyLeak(s Software, o *Outcome) {
	if s.Name != "" {
		o.Facts = append(o.Facts, factText("likely_clients", s.counted()))
		return
	}
	if _, known := b.census(); !known {
		o.Missing = append(o.Missing, "which client libraries are connected")
		return
	}
	list := b.leakers()
	if len(list) == 0 {
		o.Citations = append(o.Citations, cite(b.path("software"), "no library stands out: those connected reuse their sessions, or use none", b.SoftwareReading))
		return
	}
	var all []string
	for _, x := range list {
		all = append(all, x.counted())
	}
	text, why := named(all, false), "groups can do without them, and they are not known to reuse a session"
	if b.carriesGroups(list[0]) {
		why = "no other library is connected that is not known to reuse its session"
	}
	if !b.SoftwareGoneReading.Usable() {
		text += ", or a client that has left since"
	}
	o.Facts = append(o.Facts, factText("likely_clients", text))
	o.Citations = append(o.Citations, cite(b.path("software"), "likely: "+text+"; "+why, b.SoftwareReading))
}

// mayLeak excludes the Apache Kafka client, the bot, and libraries without sessions.
func (s Software) mayLeak() bool {
	return s.Name != javaSoftware && s.Name != BotSoftware && !s.Sessionless()
}

// unnamed says that the clients give no name.
func (s Software) unnamed() bool { return s.Name == unnamedSoftware || s.Name == "" }

// doubt ranks who may leak.
func (s Software) doubt() int {
	switch lib := s.Library(); {
	case s.unnamed():
		return 1
	case lib == LibraryFranzGo, lib == LibraryKafkaPython:
		return 2
	default:
		return 0
	}
}

// counted writes "sarama 1.26.1 (3 connections)".
func (s Software) counted() string {
	name := brief(s.label())
	if s.unnamed() {
		name = "clients that give no name"
	}
	if s.Connections <= 0 {
		return name + " (connected earlier, gone now)"
	}
	return fmt.Sprintf("%s (%s)", name, plural(s.Connections, "connection", "connections"))
}

func byConnections(in []Software) []Software {
	return ordered(in, func(x, y Software) int {
		return cmp.Or(cmp.Compare(y.Connections, x.Connections), cmp.Compare(x.label(), y.label()))
	})
}

// titled puts a word before names; nothing without names.
func titled(one, many string, names []string, bounded bool) []string {
	switch len(names) {
	case 0:
		return nil
	case 1:
		return []string{one + " " + names[0]}
	default:
		return []string{many + " " + named(names, bounded)}
	}
}

// named joins the first names and says how many more there are. bounded says that
// the list itself was cut.
func named(names []string, bounded bool) string {
	rest := len(names) - namedMost
	switch {
	case rest > 0 && bounded:
		return strings.Join(names[:namedMost], ", ") + " and others"
	case rest > 0:
		return fmt.Sprintf("%s and %s more", strings.Join(names[:namedMost], ", "), count(rest))
	case len(names) > 1:
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	default:
		return strings.Join(names, "")
	}
}

// brief bounds a name from outside.
func brief(s string) string {
	if r := []rune(s); len(r) > nameMost {
		return string(r[:nameMost-1]) + "…"
	}
	return s
}
