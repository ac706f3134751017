//go:build lab

package offsets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-oncall/kafka-oncall/lab"
)

const offsetsTopic = "__consumer_offsets"

// Every record that a real broker wrote is decoded by Kafka's own tool and here,
// field by field:
//
//	go test -tags lab -timeout 10m -run DumpLogSegments ./diagnose/offsets
//
// KAFKA_LAB_CACHE is where jars are kept. Takes about a minute.
func TestAgreesWithDumpLogSegments(t *testing.T) {
	cache, err := filepath.Abs(cmp.Or(os.Getenv("KAFKA_LAB_CACHE"), "../../.klab"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := lab.Up(t.Context(), lab.Options{Version: "4.4.0", Name: "dump", Dir: t.TempDir(), Cache: cache, Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	truth, err := c.Run(t.Context(), "session-timeout", lab.Params{Protocol: "consumer"})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Info().Bootstrap))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	playRareMembers(t, cl, c.Info().Bootstrap, truth.Subject.Topic)

	// The tool reads the segments before the client does, so that it cannot know more.
	dumped := map[place]dumpedRecord{}
	segments, err := filepath.Glob(filepath.Join(c.Info().Dir, "broker-1", "data", offsetsTopic+"-*", "*.log"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments of %s below %s: %v", offsetsTopic, c.Info().Dir, err)
	}
	for _, s := range segments {
		dump(t, filepath.Join(cache, "k4.4.0", "lib", "*"), s, dumped)
	}
	seen := compare(t, readOffsets(t, c.Info().Bootstrap, dumped), dumped)
	t.Logf("records by key type: %v", seen)
	for _, typ := range []int16{1, keyGroupEpoch, keyMember, keyTargetEpoch, keyTarget, keyCurrent, keyRegex} {
		if seen[typ] == 0 {
			t.Errorf("no record of key type %d was written, so nothing was compared", typ)
		}
	}
}

// playRareMembers makes a group of a static member with an expression, which
// leaves for now and returns, and of a member of the classic protocol.
func playRareMembers(t *testing.T, cl *kgo.Client, bootstrap, topic string) {
	t.Helper()
	beat := func(epoch int32) int32 {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = "g-rare", "static-member", epoch, 12000
		req.InstanceID, req.SubscribedTopicRegex = kmsg.StringPtr("i-1"), kmsg.StringPtr(regexp.QuoteMeta(topic)+".*")
		req.SubscribedTopicNames, req.Topics = []string{}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		resp, err := req.RequestWith(t.Context(), cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			t.Fatalf("heartbeat with epoch %d: %v", epoch, err)
		}
		return resp.MemberEpoch
	}
	epoch := beat(0)
	old, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup("g-rare"), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	// The broker resolves the expression beside the group, and wants a beat to use it.
	deadline, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	for deadline.Err() == nil {
		old.PollFetches(deadlineSoon(t))
		epoch = beat(epoch)
	}
	old.Close()
	beat(-2)
}

func deadlineSoon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// place is where a record lies.
type place struct {
	partition int32
	offset    int64
}

type dumpedRecord struct {
	Key     dumpedPart
	Payload *dumpedPart // nil = tombstone
}

type dumpedPart struct {
	Type    string
	Version string
	Data    map[string]any
}

var dumpLine = regexp.MustCompile(`^\| offset: (\d+) .* key: (\{.*\}) payload: (.*)$`)

func dump(t *testing.T, classPath, segment string, into map[place]dumpedRecord) {
	t.Helper()
	dir := filepath.Base(filepath.Dir(segment))
	partition := number(t, dir[strings.LastIndex(dir, "-")+1:])
	cmd := exec.CommandContext(t.Context(), "java", "-Xmx128m", "-cp", classPath, "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder", "--print-data-log", "--files", segment)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("DumpLogSegments: %v\n%s", err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		f := dumpLine.FindStringSubmatch(strings.TrimSpace(line))
		if f == nil {
			continue
		}
		var r dumpedRecord
		unmarshal(t, f[2], &r.Key)
		if f[3] != "<DELETE>" {
			r.Payload = &dumpedPart{}
			unmarshal(t, f[3], r.Payload)
		}
		into[place{int32(partition), number(t, f[1])}] = r
	}
}

func unmarshal(t *testing.T, text string, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// readOffsets reads the same records over the wire.
func readOffsets(t *testing.T, bootstrap string, want map[place]dumpedRecord) map[place]Record {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(offsetsTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out := map[place]Record{}
	for len(out) < len(want) && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			p := place{r.Partition, r.Offset}
			if _, ok := want[p]; ok {
				out[p] = Record{Offset: r.Offset, At: r.Timestamp, Key: r.Key, Value: r.Value}
			}
		})
	}
	return out
}

// compare returns how many records of each key type were compared.
func compare(t *testing.T, read map[place]Record, dumped map[place]dumpedRecord) map[int16]int {
	t.Helper()
	seen := map[int16]int{}
	for p, d := range dumped {
		r, ok := read[p]
		if !ok {
			t.Errorf("%v: the tool has it, the broker does not give it out", p)
			continue
		}
		typ, kind := keyKind(r.Key)
		if strconv.Itoa(int(typ)) != d.Key.Type {
			t.Errorf("%v: key type %d, the tool says %s", p, typ, d.Key.Type)
			continue
		}
		var got, want any
		var err error
		switch kind {
		case KindKIP848:
			got, err = inToolWords(r)
			want = toolWords(d)
		case KindCommit:
			if d.Payload == nil {
				continue
			}
			got, want, err = sameCommit(r, d)
		default:
			continue
		}
		seen[typ]++
		if err != nil || !reflect.DeepEqual(plain(t, got), plain(t, want)) {
			t.Errorf("%v, key type %d: %v\n here %v\n tool %v", p, typ, err, plain(t, got), plain(t, want))
		}
	}
	return seen
}

func sameCommit(r Record, d dumpedRecord) (got, want any, err error) {
	c, err := decodeCommit(r)
	return []any{c.Topic, c.Partition, c.Offset, c.At.UnixMilli()},
		[]any{d.Key.Data["topic"], d.Key.Data["partition"], d.Payload.Data["offset"], d.Payload.Data["commitTimestamp"]}, err
}

// plain gives both sides one form: numbers as text, null as "".
func plain(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "null", `""`)
}

type fields = map[string]any

// toolWords is what the tool printed, of classic members without the clients'
// own bytes.
func toolWords(d dumpedRecord) any {
	if d.Payload == nil {
		return []any{d.Key.Data, nil}
	}
	if m, ok := d.Payload.Data["classicMemberMetadata"].(fields); ok {
		for _, p := range m["supportedProtocols"].([]any) {
			delete(p.(fields), "metadata")
		}
	}
	return []any{d.Key.Data, d.Payload.Data}
}

// inToolWords is the decoded record under the names of Kafka's schemas.
func inToolWords(r Record) (any, error) {
	c, err := decodeConsumer(r)
	if err != nil {
		return nil, err
	}
	key := fields{"groupId": c.group}
	switch c.key {
	case keyMember, keyTarget, keyCurrent:
		key["memberId"] = c.of
	case keyRegex:
		key["regularExpression"] = c.of
	}
	if c.tombstone {
		return []any{key, nil}, nil
	}
	return []any{key, c.valueWords()}, nil
}

func (c consumerRecord) valueWords() fields {
	switch {
	case c.epoch != nil:
		return tagged(fields{"epoch": c.epoch.epoch}, "metadataHash", c.epoch.hash)
	case c.member != nil:
		m := c.member
		v := fields{"instanceId": m.instance, "rackId": m.rack, "clientId": m.client, "clientHost": m.host, "subscribedTopicNames": list(m.topics),
			"subscribedTopicRegex": m.regex, "rebalanceTimeoutMs": m.rebalanceMS, "serverAssignor": m.assignor, "classicMemberMetadata": nil}
		if m.classic != nil {
			var ps []fields
			for _, name := range m.classic.assignors {
				ps = append(ps, fields{"name": name})
			}
			v["classicMemberMetadata"] = fields{"sessionTimeoutMs": m.classic.sessionMS, "supportedProtocols": ps}
		}
		return v
	case c.target != nil:
		return tagged(fields{"assignmentEpoch": c.target.epoch}, "assignmentTimestamp", c.target.at)
	case c.current != nil:
		return fields{"memberEpoch": c.current.epoch, "previousMemberEpoch": c.current.previous, "state": c.current.state,
			"assignedPartitions": topicWords(c.current.assigned), "partitionsPendingRevocation": topicWords(c.current.pending)}
	case c.regex != nil:
		return fields{"topics": list(c.regex.topics), "version": c.regex.version, "timestamp": c.regex.at}
	default:
		return fields{"topicPartitions": topicWords(c.planned)}
	}
}

// tagged adds a tagged field, which the tool prints only when it is there.
func tagged(f fields, name string, v int64) fields {
	if v != 0 {
		f[name] = v
	}
	return f
}

func list(ss []string) []string { return append([]string{}, ss...) }

func topicWords(ts []heldTopic) []fields {
	out := []fields{}
	for _, t := range ts {
		f := fields{"topicId": idText(t.topic), "partitions": slices.Clone(t.partitions)}
		if len(t.epochs) > 0 {
			f["assignmentEpochs"] = t.epochs
		}
		out = append(out, f)
	}
	return out
}
