package stage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"time"
)

// Recording is one recorded run.
type Recording struct {
	Truth    Truth
	Topology Topology
	// Samples are lines `series value unix_ms`.
	Samples []byte
	Records []Record
	Views   []GroupView
}

// Truth is what the run did, as far as a stage needs it.
type Truth struct {
	Scenario string    `json:"scenario"`
	Class    string    `json:"class"`
	Family   string    `json:"family"`
	Cluster  string    `json:"cluster"`
	Version  string    `json:"version"`
	Subject  Subject   `json:"subject"`
	Ready    time.Time `json:"ready_at"`
	Fault    time.Time `json:"fault_at"`
	Effect   time.Time `json:"effect_at"`
	Return   time.Time `json:"return_at"`
	Ended    time.Time `json:"ended_at"`
}

// Subject is whom the fault hit; fields that do not apply are zero.
type Subject struct {
	Broker      int32  `json:"broker"`
	Group       string `json:"group"`
	ClientID    string `json:"client_id"`
	Coordinator int32  `json:"coordinator"`
}

// Topology is the cluster at the end of the run.
type Topology struct {
	Brokers []struct {
		ID      int32  `json:"id"`
		Metrics string `json:"metrics"`
	} `json:"brokers"`
	Configs map[int32]map[string]struct {
		Value string `json:"value"`
	} `json:"configs"`
	Topics []Topic `json:"topics"`
}

// Topic is a topic with the leaders of its partitions.
type Topic struct {
	Name       string `json:"topic"`
	Partitions []struct {
		Partition int32   `json:"partition"`
		Leader    int32   `json:"leader"`
		Replicas  []int32 `json:"replicas"`
	} `json:"partitions"`
}

// Record is one record of __consumer_offsets; a nil Value is a tombstone.
type Record struct {
	Partition int32   `json:"p"`
	Offset    int64   `json:"o"`
	UnixMilli int64   `json:"ts"`
	Key       []byte  `json:"k"`
	Value     *[]byte `json:"v"`
}

// At returns the record's timestamp.
func (r Record) At() time.Time { return time.UnixMilli(r.UnixMilli).UTC() }

// GroupView is one changed answer about a group.
type GroupView struct {
	At          time.Time `json:"at"`
	Group       string    `json:"group"`
	Protocol    string    `json:"protocol"`
	State       string    `json:"state"`
	Coordinator int32     `json:"coordinator"`
	// Epoch is the group epoch of a group of the consumer protocol.
	Epoch   int32        `json:"epoch"`
	Members []MemberView `json:"members"`
	Err     string       `json:"err"`
}

// MemberView is a member inside a GroupView.
type MemberView struct {
	MemberID   string             `json:"member_id"`
	InstanceID *string            `json:"instance_id"`
	ClientID   string             `json:"client_id"`
	Host       string             `json:"host"`
	Epoch      int32              `json:"epoch"`
	Partitions map[string][]int32 `json:"partitions"`
}

//go:embed recordings
var embedded embed.FS

// Embedded loads a recording that is part of the program, by its name.
func Embedded(name string) (*Recording, error) {
	sub, err := fs.Sub(embedded, "recordings/"+name)
	if err != nil {
		return nil, fmt.Errorf("opening the recording %s: %w", name, err)
	}
	return Load(sub)
}

// Load reads a recording from the root of a file system. Group records and views are optional (a
// run about fetch sessions may have none).
func Load(fsys fs.FS) (*Recording, error) {
	var rec Recording
	if err := readJSON(fsys, "truth.json", &rec.Truth); err != nil {
		return nil, err
	}
	if err := readJSON(fsys, "topology.json", &rec.Topology); err != nil {
		return nil, err
	}
	if len(rec.Topology.Brokers) == 0 {
		return nil, errors.New("reading the recording: topology.json names no broker")
	}
	var err error
	if rec.Samples, err = readGzip(fsys, "samples.prom.gz"); err != nil {
		return nil, err
	}
	if rec.Records, err = readLines[Record](fsys, "records.raw.jsonl"); err != nil {
		return nil, err
	}
	if rec.Views, err = readLines[GroupView](fsys, "describe.jsonl"); err != nil {
		return nil, err
	}
	sort.SliceStable(rec.Records, func(i, j int) bool { return rec.Records[i].UnixMilli < rec.Records[j].UnixMilli })
	sort.SliceStable(rec.Views, func(i, j int) bool { return rec.Views[i].At.Before(rec.Views[j].At) })
	return &rec, nil
}

func readJSON(fsys fs.FS, name string, into any) error {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("reading the recording: %s: %w", name, err)
	}
	return nil
}

func readGzip(fsys fs.FS, name string) ([]byte, error) {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %w", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %s: %w", name, err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %s: %w", name, err)
	}
	return out, nil
}

func readLines[T any](fsys fs.FS, name string) ([]T, error) {
	b, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = readGzip(fsys, name+".gz")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %w", err)
	}
	var out []T
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("reading the recording: %s line %d: %w", name, n, err)
		}
		out = append(out, v)
	}
	return out, sc.Err()
}
