package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// offsetsBetween gives the first offset at or after a time and the end.
func (c *Cluster) offsetsBetween(ctx context.Context, topic string, p int32, from time.Time) (begin, end int64, err error) {
	adm := kadm.NewClient(c.client)
	starts, err := adm.ListOffsetsAfterMilli(ctx, from.UnixMilli(), topic)
	if err != nil {
		return 0, 0, fmt.Errorf("asking for the offsets of %s: %w", topic, err)
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, 0, fmt.Errorf("asking for the end of %s: %w", topic, err)
	}
	s, known := starts.Lookup(topic, p)
	e, ok := ends.Lookup(topic, p)
	if !known || !ok {
		return 0, 0, fmt.Errorf("asking for the offsets of %s/%d: no such partition", topic, p)
	}
	return s.Offset, e.Offset, errors.Join(s.Err, e.Err)
}

// topology is what the admin API says about the cluster at the end of a run.
type topology struct {
	At      time.Time           `json:"at"`
	Brokers []Broker            `json:"brokers"`
	Configs map[int32]configSet `json:"configs"`
	Topics  []topicView         `json:"topics"`
}

// configSet is a broker's settings that a diagnosis reads, as DescribeConfigs gives them.
type configSet map[string]configValue

type configValue struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}

var describedConfigs = map[string]bool{
	"max.incremental.fetch.session.cache.slots": true, "num.replica.fetchers": true, "leader.imbalance.check.interval.seconds": true,
	"auto.leader.rebalance.enable": true, "group.min.session.timeout.ms": true, "group.max.session.timeout.ms": true,
	"group.initial.rebalance.delay.ms": true, "offsets.topic.num.partitions": true, "group.consumer.session.timeout.ms": true,
	"group.consumer.heartbeat.interval.ms": true,
}

func (r *run) recordTopology(ctx context.Context, path string) error {
	t := topology{At: now(), Brokers: r.c.Info().Brokers, Configs: map[int32]configSet{}}
	var err error
	if t.Topics, err = r.c.allTopics(ctx); err != nil {
		return err
	}
	var ids []int32
	for _, b := range t.Brokers {
		ids = append(ids, int32(b.ID))
	}
	all, err := kadm.NewClient(r.c.client).DescribeBrokerConfigs(ctx, ids...)
	if err != nil {
		return fmt.Errorf("describing broker settings: %w", err)
	}
	for i, id := range ids {
		set := configSet{}
		for _, rc := range all {
			if rc.Name != fmt.Sprint(ids[i]) {
				continue
			}
			for _, c := range rc.Configs {
				if describedConfigs[c.Key] {
					set[c.Key] = configValue{Value: c.MaybeValue(), Source: c.Source.String()}
				}
			}
		}
		t.Configs[id] = set
	}
	b, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("writing the topology: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the topology: %w", err)
	}
	return nil
}

// coordinatorLine matches the broker log lines about groups (Scala and Java coordinator).
var coordinatorLine = regexp.MustCompile(`GroupCoordinator|GroupMetadataManager|coordinator\.group`)

// recordLog keeps the coordinators' lines since the run began.
func (r *run) recordLog(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the log: %w", err)
	}
	w := bufio.NewWriter(f)
	since := "[" + r.t.Started.Local().Format("2006-01-02 15:04:05,000")
	for _, b := range r.c.Info().Brokers {
		err = errors.Join(err, copyLines(w, filepath.Join(r.c.state.brokerDir(b.ID), "out.log"), fmt.Sprintf("broker-%d ", b.ID), since))
	}
	return errors.Join(err, w.Flush(), f.Close())
}

func copyLines(w *bufio.Writer, path, prefix, since string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the broker log: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if l := lines.Text(); l >= since && coordinatorLine.MatchString(l) {
			_, _ = w.WriteString(prefix + l + "\n")
		}
	}
	return lines.Err()
}
