package lab

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recorded are the series that a recording keeps: what a classifier may read, and
// no more, so that one run stays below 150 KB.
var recorded = []string{
	`kafka_server_FetchSessionCache_Value`,
	`kafka_server_FetchSessionCache_Count`,
	`kafka_network_RequestMetrics_Count{name="ErrorsPerSec",request=~"Fetch|JoinGroup|SyncGroup|Heartbeat|LeaveGroup|OffsetCommit|ConsumerGroupHeartbeat|ApiVersions|ListOffsets"}`,
	`kafka_network_RequestMetrics_Count{name="RequestsPerSec",request=~"FetchConsumer|FetchFollower|JoinGroup|SyncGroup|Heartbeat|LeaveGroup|OffsetCommit|ConsumerGroupHeartbeat"}`,
	`{__name__=~"kafka_network_RequestMetrics_(Mean|50thPercentile|99thPercentile)",name="RequestBytes",request="FetchConsumer"}`,
	`kafka_network_RequestMetrics_99thPercentile{name="TotalTimeMs",request=~"Heartbeat|ConsumerGroupHeartbeat|JoinGroup"}`,
	`kafka_server_ReplicaManager_Value{name=~"LeaderCount|PartitionCount|UnderReplicatedPartitions"}`,
	`kafka_server_KafkaServer_Value{name="BrokerState"}`,
	`{__name__=~"kafka_server_app_info_.*"}`,
	`process_start_time_seconds`,
	`kafka_server_socket_server_metrics_connections`,
	`kafka_coordinator_group_GroupMetadataManager_Value`,
	`{__name__=~"kafka_server_group_coordinator_metrics_(group_count|consumer_group_count|classic_group_count|group_completed_rebalance_count|consumer_group_rebalance_count|partition_load_time_max|event_queue_size)"}`,
	`{__name__=~"kafka_consumer_consumer_metrics_(time_between_poll_max|time_between_poll_avg|last_poll_seconds_ago|poll_idle_ratio_avg)"}`,
	`{__name__=~"kafka_consumer_consumer_coordinator_metrics_(last_heartbeat_seconds_ago|rebalance_total|failed_rebalance_total|rebalance_rate_per_hour|last_rebalance_seconds_ago|assigned_partitions|heartbeat_rate|commit_rate)"}`,
	`kafka_consumer_consumer_fetch_manager_metrics_records_lag_max`,
	`{__name__=~"kafka_consumer_app_info_.*"}`,
	`up`,
}

// recordsPast is how much before the fault-free start the samples begin.
const recordsPast = 15 * time.Second

// record writes the run's raw material into r.p.Record:
//
//	truth.json           the Truth
//	samples.prom.gz      lines "series value unix_ms", sorted by series, then time
//	records.raw.jsonl    {"p","o","ts","k","v"}: __consumer_offsets of the groups, base64, v null = tombstone
//	describe.jsonl       every changed answer about the groups
//	topology.json        brokers, slots, topics with leaders
//	coordinator.log      the brokers' group coordinator lines
func (r *run) record(ctx context.Context, views []groupView) error {
	dir := r.p.Record
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the recording folder: %w", err)
	}
	return errors.Join(
		r.recordTruth(dir),
		r.recordSamples(ctx, filepath.Join(dir, "samples.prom.gz")),
		r.recordOffsets(ctx, filepath.Join(dir, "records.raw.jsonl")),
		recordViews(filepath.Join(dir, "describe.jsonl"), views),
		r.recordTopology(ctx, filepath.Join(dir, "topology.json")),
		r.recordLog(filepath.Join(dir, "coordinator.log")),
	)
}

func (r *run) recordTruth(dir string) error {
	f, err := os.Create(filepath.Join(dir, "truth.json"))
	if err != nil {
		return fmt.Errorf("writing the truth: %w", err)
	}
	return errors.Join(r.t.Write(f), f.Close())
}

func (r *run) recordSamples(ctx context.Context, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing samples: %w", err)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w := bufio.NewWriter(z)
	for _, selector := range recorded {
		all, err := r.c.raw(ctx, selector, r.t.Ready.Add(-recordsPast), r.t.Ended)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		for _, s := range all {
			for _, p := range s.points {
				_, _ = fmt.Fprintf(w, "%s %s %d\n", s.name, strconv.FormatFloat(float64(p.Value), 'g', -1, 64), int64(p.Timestamp))
			}
		}
	}
	return errors.Join(w.Flush(), z.Close(), f.Close())
}

// rawRecord is one record of __consumer_offsets.
type rawRecord struct {
	Partition int32   `json:"p"`
	Offset    int64   `json:"o"`
	Timestamp int64   `json:"ts"`
	Key       []byte  `json:"k"`
	Value     *[]byte `json:"v"`
}

// recordOffsets copies the groups' partitions from the start of the run, which is
// the groups' beginning. Other groups' records come along: a reader has to cope.
func (r *run) recordOffsets(ctx context.Context, path string) error {
	groups := slices.Clone(r.t.Subject.Groups[:min(2, len(r.t.Subject.Groups))]) // eight say no more than two
	if r.t.Subject.Group != "" && !slices.Contains(groups, r.t.Subject.Group) {
		groups = append(groups, r.t.Subject.Group)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing group records: %w", err)
	}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	parts, err := r.offsetsPartitions(ctx, groups)
	for _, p := range parts {
		var recs []rawRecord
		if err == nil {
			recs, err = r.c.readPartition(ctx, "__consumer_offsets", p, r.t.Started)
		}
		for _, rec := range recs {
			err = errors.Join(err, enc.Encode(rec))
		}
	}
	return errors.Join(err, w.Flush(), f.Close())
}

func (r *run) offsetsPartitions(ctx context.Context, groups []string) ([]int32, error) {
	if len(groups) == 0 { // and then perhaps no such topic
		return nil, nil
	}
	v, err := r.c.topic(ctx, "__consumer_offsets")
	if err != nil {
		return nil, err
	}
	seen := map[int32]bool{}
	var out []int32
	for _, g := range groups {
		p := int32(offsetsPartition(g, len(v.Partitions)))
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out, nil
}

// readPartition reads one partition from a point in time to the end it has now.
func (c *Cluster) readPartition(ctx context.Context, topic string, p int32, from time.Time) ([]rawRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	begin, end, err := c.offsetsBetween(ctx, topic, p, from)
	if err != nil || begin >= end {
		return nil, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.state.broker(1).Kafka), kgo.DisableFetchSessions(), kgo.FetchMaxWait(300*time.Millisecond), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(begin)}}))
	if err != nil {
		return nil, fmt.Errorf("reading %s/%d: %w", topic, p, err)
	}
	defer cl.Close()
	var out []rawRecord
	for {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return out, fmt.Errorf("reading %s/%d: %w", topic, p, ctx.Err())
		}
		for _, rec := range fs.Records() {
			out = append(out, toRaw(rec))
			if rec.Offset >= end-1 {
				return out, nil
			}
		}
	}
}

func toRaw(rec *kgo.Record) rawRecord {
	out := rawRecord{Partition: rec.Partition, Offset: rec.Offset, Timestamp: rec.Timestamp.UnixMilli(), Key: rec.Key}
	if rec.Value != nil {
		out.Value = &rec.Value
	}
	return out
}

func recordViews(path string, views []groupView) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing group answers: %w", err)
	}
	enc := json.NewEncoder(f)
	for _, v := range views {
		err = errors.Join(err, enc.Encode(v))
	}
	return errors.Join(err, f.Close())
}
