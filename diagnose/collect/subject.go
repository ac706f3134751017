package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// subject says whether what was asked about exists. A name with a typing error
// must never be answered with "nothing wrong": there is nothing to be wrong.
func (c *collection) subject(ctx context.Context) diagnose.Reading {
	if c.topo == nil || c.kafkaDown() {
		return skipped("the cluster's metadata was not read")
	}
	switch t := c.q.Target; {
	case t.Broker == nil && c.q.Unresolved != "":
		r := ok(srcMetadata, c.topo.at)
		r.Status, r.Error = diagnose.StatusPartial, "the alert names “"+clip(c.q.Unresolved)+"”, which is not known to be a broker; all brokers were looked at"
		r.Hint = "map it under alerts.mapping.brokers, or put a label broker_id on the scrape targets"
		return r
	case t.Broker != nil && !c.topo.has(*t.Broker):
		return c.noBroker(*t.Broker)
	case t.Group != "":
		return c.noGroup(t.Group)
	case t.Topic != "" && c.topo.topics[t.Topic] == nil:
		return c.noTopic(ctx, t.Topic)
	default:
		return ok(srcMetadata, c.topo.at)
	}
}

// noBroker tells a broker that is down, to which partitions are still assigned,
// from one that there never was.
func (c *collection) noBroker(id int32) diagnose.Reading {
	ids := make([]string, 0, len(c.topo.brokers))
	for _, b := range c.topo.brokers {
		ids = append(ids, fmt.Sprint(b.ID))
	}
	have := "; it has " + strings.Join(ids[:min(20, len(ids))], ", ")
	if n := c.topo.assigned(id); n > 0 {
		return diagnose.Reading{Status: diagnose.StatusUnreachable, AsOf: c.topo.at, Source: srcMetadata,
			Error: fmt.Sprintf("broker %d is down: the cluster does not list it, and %s assigned to it", id, countVerb(n, "partition is", "partitions are"))}
	}
	return diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: c.topo.at, Source: srcMetadata,
		Error: fmt.Sprintf("there is no broker %d in this cluster%s", id, have)}
}

func (c *collection) noGroup(id string) diagnose.Reading {
	i := slices.IndexFunc(c.groups, func(g diagnose.Group) bool { return g.ID == id })
	if i < 0 {
		return skipped("the group was not read")
	}
	g := c.groups[i]
	lost := slices.ContainsFunc(c.watcher.Losses, func(l diagnose.Loss) bool { return l.Group == id })
	if g.Status != diagnose.StatusEmpty || len(g.Snapshots)+len(g.History.Records)+len(g.History.Commits) > 0 || lost {
		return ok(srcMetadata, c.topo.at)
	}
	r := g.Reading
	r.Error = "there is no group " + clip(id) + " in this cluster: never used, deleted, expired, or misspelled"
	if c.sweep.sweep != nil {
		r.Error += near(id, slices.Collect(maps.Keys(c.sweep.groups)))
	}
	return r
}

func (c *collection) noTopic(ctx context.Context, topic string) diagnose.Reading {
	r := diagnose.Reading{Status: diagnose.StatusEmpty, AsOf: c.topo.at, Source: srcMetadata,
		Error: "there is no topic " + clip(topic) + " in this cluster" + near(topic, slices.Collect(maps.Keys(c.topo.topics)))}
	if err := c.r.cfg.Kafka.topicVisible(ctx, topic); errors.Is(err, kerr.TopicAuthorizationFailed) {
		r.Status, r.Error, r.Hint = diagnose.StatusForbidden, "topic "+clip(topic)+" is hidden from the bot, or there is none", "needs Describe on Topic "+clip(topic)
	}
	return r
}

// near names up to three existing names that a typing error may have meant.
func near(name string, all []string) string {
	slices.Sort(all)
	low := strings.ToLower(name)
	var out []string
	for _, n := range all {
		l := strings.ToLower(n)
		if strings.Contains(l, low) || strings.Contains(low, l) && len(l) > 2 || oneEdit(low, l) {
			out = append(out, clip(n))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; there is " + strings.Join(out[:min(3, len(out))], ", ")
}

// oneEdit reports whether one character changed, added, left out or swapped with
// its neighbour makes b of a.
func oneEdit(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	rest, other := x[i:], y[i:]
	if len(x) < len(y) {
		return string(rest) == string(other[1:])
	}
	swapped := len(rest) > 1 && rest[0] == other[1] && rest[1] == other[0] && string(rest[2:]) == string(other[2:])
	return len(rest) > 0 && (string(rest[1:]) == string(other[1:]) || swapped)
}

func countVerb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
