package collect

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/collect/internal/readkafka"
)

// readLag asks each leader once for the ends of the partitions that some group
// committed to, and works out the lag of every group.
func (k *Kafka) readLag(ctx context.Context, s *sweep, now func() time.Time) {
	byLeader := map[int32]map[string][]int32{}
	wanted := map[diagnose.TopicPartition]bool{}
	for _, g := range s.groups {
		for _, c := range g.commits {
			if wanted[c.TopicPartition] {
				continue
			}
			wanted[c.TopicPartition] = true
			leader := s.topo.leader(c.TopicPartition)
			if leader < 0 {
				continue
			}
			if byLeader[leader] == nil {
				byLeader[leader] = map[string][]int32{}
			}
			byLeader[leader][c.Topic] = append(byLeader[leader][c.Topic], c.Partition)
		}
	}
	failed := s.silentBrokers()
	for leader := range failed {
		// It was waited for once already.
		delete(byLeader, leader)
	}
	s.requests += len(byLeader)
	ends := k.endOffsets(ctx, byLeader, failed)
	at := now()
	for _, g := range s.groups {
		g.countLag(ends, at)
		g.explainLag(failed)
	}
}

// silentBrokers are those that did not answer as coordinators.
func (s *sweep) silentBrokers() map[int32]failure {
	out := map[int32]failure{}
	for _, b := range s.brokers {
		if b.list.Status == diagnose.StatusTimeout || b.list.Status == diagnose.StatusUnreachable {
			out[b.id] = failure{status: b.list.Status, text: b.list.Error}
		}
	}
	return out
}

// endOffsets lists ends at all leaders at once, and adds those that do not
// answer to failed.
func (k *Kafka) endOffsets(ctx context.Context, byLeader map[int32]map[string][]int32, failed map[int32]failure) map[diagnose.TopicPartition]int64 {
	ends := map[diagnose.TopicPartition]int64{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for leader, parts := range byLeader {
		wg.Go(func() {
			resp, err := k.c.ListOffsets(ctx, leader, parts, readkafka.AtEnd)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[leader] = kafkaFailure(err, "")
				return
			}
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					if kerr.ErrorForCode(p.ErrorCode) == nil {
						ends[diagnose.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p.Offset
					}
				}
			}
		})
	}
	wg.Wait()
	return ends
}

// countLag sums over the partitions whose end is known. A commit beyond the end
// (the topic was made anew, or the commit is a mistake) counts as no lag.
func (g *groupLook) countLag(ends map[diagnose.TopicPartition]int64, at time.Time) {
	if !g.lagReading.Usable() {
		return
	}
	g.lag.At = at
	for _, c := range g.commits {
		end, known := ends[c.TopicPartition]
		if !known {
			g.lag.Hidden++
			continue
		}
		g.lag.EndTotal += end
		g.lag.CommittedTotal += c.offset
		g.lag.Total += max(0, end-c.offset)
	}
}

// explainLag makes the reading say what the sum lacks.
func (g *groupLook) explainLag(failed map[int32]failure) {
	if !g.lagReading.Usable() {
		return
	}
	if len(g.commits) == 0 && g.lag.Hidden == 0 {
		g.lagReading.Status, g.lagReading.Error = diagnose.StatusEmpty, "the group has committed nothing"
		return
	}
	if g.lag.Hidden == 0 {
		return
	}
	g.lagReading.Status = diagnose.StatusPartial
	g.lagReading.Error = count(g.lag.Hidden, "partition") + " could not be read"
	if len(failed) > 0 {
		g.lagReading.Error += "; " + describeFailures(failed)
	}
	if len(g.hidden) > 0 {
		g.lagReading.Hint = "needs Describe on Topic " + nameList(g.hidden)
	}
}

// describeFailures says which brokers failed and how, in order of their ids.
func describeFailures(failed map[int32]failure) string {
	ids := make([]int32, 0, len(failed))
	for id := range failed {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf("broker %d: %s", id, failed[id].text))
	}
	return strings.Join(parts, "; ")
}

// count is "1 group" or "2 groups".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// nameList shows at most three names.
func nameList(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
