package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What a storm's rebalances are about is worked out rebalance by rebalance: a
// member that joined once, when the group was started, is not what the seven after
// it were about.

// The kinds of a change, as the fact "changed" has them. Where two account for as
// many rebalances, the first one stands.
var changeKinds = []string{"scaling", "metadata", "assignor", "unknown"}

// changes is what differs from one membership to the next.
type changes struct {
	kind, words string
	joined      int
	cites       []Citation
}

// changedIn names what changed in most of the rebalances in the window.
func (s *groupStory) changedIn() changes {
	rs := s.rounds()
	if len(rs) == 0 {
		return s.joinedByLooks()
	}
	n := map[string]int{}
	for _, r := range rs {
		for _, k := range r.kinds {
			n[k]++
		}
		if len(r.kinds) == 0 {
			n["unknown"]++
		}
	}
	c := changes{kind: changeKinds[0]}
	for _, k := range changeKinds {
		if n[k] > n[c.kind] {
			c.kind = k
		}
	}
	words := map[string]string{}
	for _, add := range []func([]round) (string, string, []Citation){s.joinWords, s.topicWords, s.assignorWords} {
		kind, w, at := add(rs)
		words[kind] = w
		c.cites = append(c.cites, at...)
	}
	for _, r := range rs {
		c.joined += r.joined
	}
	c.words = s.changeWords(c.kind, words, n["unknown"])
	return c
}

// changeWords puts what accounts for most of the rebalances first.
func (s *groupStory) changeWords(kind string, words map[string]string, unknown int) string {
	var parts []string
	for _, k := range append([]string{kind}, changeKinds...) {
		if w := words[k]; w != "" && !slices.Contains(parts, w) {
			parts = append(parts, w)
		}
	}
	if kind != "unknown" {
		return strings.Join(parts, ", ")
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ") + fmt.Sprintf("; in the other %d nothing changed that is visible, so a client asks for them (a changing subscription, enforceRebalance, or a topic pattern)", unknown)
	}
	return s.nothingChanged()
}

func (s *groupStory) nothingChanged() string {
	if !s.baselineKnown() {
		return "no change of members, topics or partitions is visible, so a client may ask for them (a changing subscription, enforceRebalance, or a topic pattern)"
	}
	return "the members, topics and partitions stayed the same, so a client asks for them (a changing subscription, enforceRebalance, or a topic pattern)"
}

// joinedByLooks is all that looks show where there is no record of a rebalance:
// members that are listed for the first time. Members that came in one look may
// have made a rebalance each.
func (s *groupStory) joinedByLooks() changes {
	c := changes{kind: "unknown", words: s.nothingChanged()}
	for i, x := range s.seen {
		if i > 0 && x.from.After(s.f.from()) && len(s.fresh[i]) > 0 {
			if c.joined == 0 {
				c.cites = append(c.cites, cite(x.path, plural(len(s.fresh[i]), "member", "members")+" more at "+clock(x.from), x.reading))
			}
			c.joined += len(s.fresh[i])
		}
	}
	if x := s.storm(); c.joined > 0 {
		joined := plural(c.joined, "member joined", "members joined")
		if rest := x.n - c.joined; rest > c.joined {
			c.words = s.changeWords("unknown", map[string]string{"scaling": joined}, rest)
		} else {
			c.kind, c.words = "scaling", joined
		}
	}
	return c
}

// round is one rebalance of the records: what sets its membership apart from the
// one before.
type round struct {
	rec    int // the record that shows it
	joined int
	topics []topicChange
	// assignors is the change of the assignor in words, empty for none.
	assignors string
	kinds     []string
	// follows says that it is the second half of the rebalance before.
	follows bool
}

// topicChange is a topic that came, left, or grew: the partitions before and after.
type topicChange struct {
	topic    string
	from, to int
}

// rounds are the rebalances in the window, without the joins of a group that was
// started in it: those are its birth.
func (s *groupStory) rounds() []round {
	h := s.g.History
	if !h.Usable() {
		return nil
	}
	var out []round
	gens := generations(h.Records)
	sizes := topicSizes{}
	for k, g := range gens {
		r := round{rec: g.last}
		var next *generation
		if k+1 < len(gens) {
			next = &gens[k+1]
		}
		if r.topics = sizes.next(g, next); k == 0 {
			continue
		}
		r.compare(gens[k-1], g)
		if at := h.Records[g.first].At; at.Before(s.f.from()) || at.After(s.f.at()) || s.atBirth(g) {
			continue
		}
		if n := len(out); len(r.kinds) == 0 && n > 0 && g.gradual && !out[n-1].follows {
			// A member that takes over what another one gave up does so in a rebalance more.
			r.kinds, r.follows = out[n-1].kinds, true
		}
		out = append(out, r)
	}
	return out
}

// atBirth says that a generation belongs to the group's start: its records begin
// in the window with its first generations, and the processes that were started
// together come within seconds.
func (s *groupStory) atBirth(g generation) bool {
	first := s.g.History.Records[0]
	born := first.Generation <= 1 || len(first.Members) == 0 || first.Protocol == "consumer" && first.Generation == 2
	return born && first.At.After(s.f.from()) && g.first <= s.burstEnd()
}

func (r *round) compare(a, b generation) {
	for id := range b.members {
		if !a.members[id] {
			r.joined++
		}
	}
	if a.assignor != "" && b.assignor != "" && a.assignor != b.assignor {
		r.assignors = "the assignor changed from " + a.assignor + " to " + b.assignor
	}
	for i, is := range []bool{r.joined > 0, len(r.topics) > 0, r.assignors != ""} {
		if is {
			r.kinds = append(r.kinds, changeKinds[i])
		}
	}
}

// generation joins the records of one generation or epoch: those of a KIP-848
// group show step by step how its members take up their partitions.
type generation struct {
	n           int32
	first, last int // of the records
	members     map[string]bool
	// held is the highest partition of each topic that a member holds.
	held     map[string]int
	assignor string
	// settled says that nobody waits for partitions that others have too many of.
	settled bool
	// gradual says that partitions are given up in one step and taken over in a
	// later one (cooperative assignors, KIP-848), so one may be nobody's meanwhile.
	gradual bool
}

// generations leaves out tombstones, and a generation that nobody is a member of.
func generations(rs []GroupRecord) []generation {
	var out []generation
	for i, r := range rs {
		if r.Tombstone || len(r.Members) == 0 {
			continue
		}
		if len(out) == 0 || out[len(out)-1].n != r.Generation {
			out = append(out, generation{n: r.Generation, first: i, members: map[string]bool{}, held: map[string]int{}})
		}
		out[len(out)-1].add(i, r)
	}
	return out
}

func (g *generation) add(i int, r GroupRecord) {
	g.last, g.assignor = i, r.Assignor
	g.gradual = r.Protocol == "consumer" || strings.Contains(r.Assignor, "cooperative")
	least, most := len(r.Members[0].Partitions), 0
	for _, m := range r.Members {
		g.members[m.ID] = true
		least, most = min(least, len(m.Partitions)), max(most, len(m.Partitions))
		for _, p := range m.Partitions {
			g.held[p.Topic] = max(g.held[p.Topic], int(p.Partition)+1)
		}
	}
	g.settled = least > 0 || most < 2
}

// topicSizes are the partitions of each topic, as far as they were ever assigned.
// A topic does not shrink: fewer assigned partitions are a reassignment half done.
type topicSizes map[string]int

// next takes over a generation and returns what it changes. Until one is settled
// there is nothing to compare with.
func (t topicSizes) next(g generation, after *generation) []topicChange {
	if len(g.held) == 0 || len(t) == 0 && !g.settled {
		return nil
	}
	var out []topicChange
	begin := len(t) == 0
	for _, topic := range slices.Sorted(maps.Keys(g.held)) {
		if was := t[topic]; g.held[topic] > was {
			out = append(out, topicChange{topic, was, g.held[topic]})
			t[topic] = g.held[topic]
		}
	}
	if begin {
		return nil
	}
	for _, topic := range slices.Sorted(maps.Keys(t)) {
		if g.held[topic] == 0 && (!g.gradual || after != nil && after.held[topic] == 0) {
			out = append(out, topicChange{topic, t[topic], 0})
			delete(t, topic)
		}
	}
	return out
}

func (s *groupStory) joinWords(rs []round) (kind, words string, at []Citation) {
	n := 0
	for _, r := range rs {
		if r.joined > 0 && n == 0 {
			at = []Citation{s.roundCite(r, plural(r.joined, "member", "members")+" more")}
		}
		n += r.joined
	}
	if n == 0 {
		return "scaling", "", nil
	}
	return "scaling", plural(n, "member joined", "members joined"), at
}

// mostTopics bounds the topics that are named.
const mostTopics = 2

// topicWords says how far each topic came from the first change to the last.
func (s *groupStory) topicWords(rs []round) (kind, words string, at []Citation) {
	var all []topicChange
	var last round
	for _, r := range rs {
		for _, c := range r.topics {
			last = r
			if i := slices.IndexFunc(all, func(x topicChange) bool { return x.topic == c.topic }); i >= 0 {
				all[i].to = c.to
			} else {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		return "metadata", "", nil
	}
	var parts []string
	for i, c := range all {
		if i < mostTopics {
			parts = append(parts, c.words())
		}
	}
	if more := len(all) - len(parts); more > 0 {
		parts = append(parts, plural(more, "topic more changed", "topics more changed"))
	}
	words = strings.Join(parts, ", ")
	return "metadata", words, []Citation{s.roundCite(last, words)}
}

func (c topicChange) words() string {
	switch {
	case c.from == 0 && c.to == 0:
		return "topic " + c.topic + " came into the subscription and left it"
	case c.from == 0:
		return "topic " + c.topic + " came into the subscription"
	case c.to == 0:
		return "topic " + c.topic + " left the subscription"
	case c.from == c.to:
		return "topic " + c.topic + " left the subscription and came back"
	default:
		return fmt.Sprintf("topic %s went from %d to %d assigned partitions", c.topic, c.from, c.to)
	}
}

func (s *groupStory) assignorWords(rs []round) (kind, words string, at []Citation) {
	for _, r := range rs {
		if r.assignors != "" {
			return "assignor", r.assignors, []Citation{s.roundCite(r, r.assignors)}
		}
	}
	return "assignor", "", nil
}

func (s *groupStory) roundCite(r round, words string) Citation {
	h := s.g.History
	return cite(groupPath(s.g.ID, fmt.Sprintf("history.records[%d]", r.rec)), words+" at "+clock(h.Records[r.rec].At), h.Reading)
}
