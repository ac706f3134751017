package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-oncall/kafka-oncall/internal/promstore"
)

// offsetsTopic is where coordinators keep their groups.
const offsetsTopic = "__consumer_offsets"

// Stage is a recording on air.
type Stage struct {
	rec   *Recording
	now   func() time.Time
	shift time.Duration

	prom     *http.Server
	promAddr string
	kafka    *kfake.Cluster
	producer *kgo.Client
	topicIDs map[string][16]byte
	// sent is the number of records already in the offsets topic.
	mu   sync.Mutex
	sent int
}

// Open puts a recording on stage. The moment `starts` of the recording happens
// at now(): pass rec.Truth.Ready to begin before the fault. Close it.
func Open(ctx context.Context, rec *Recording, starts time.Time, now func() time.Time) (*Stage, error) {
	s := &Stage{rec: rec, now: now, shift: now().Sub(starts), topicIDs: map[string][16]byte{}}
	if err := s.openPrometheus(); err != nil {
		return nil, err
	}
	if err := s.openKafka(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OnStage returns the time on stage at which a recorded moment happens.
func (s *Stage) OnStage(recorded time.Time) time.Time { return recorded.Add(s.shift).UTC() }

// recorded returns the recorded moment that is happening now.
func (s *Stage) recorded() time.Time { return s.now().Add(-s.shift) }

// PrometheusURL is the address of the query API.
func (s *Stage) PrometheusURL() string { return "http://" + s.promAddr }

// Bootstrap is the address list of the in-process Kafka.
func (s *Stage) Bootstrap() []string { return s.kafka.ListenAddrs() }

// Close ends everything. It may be called on a half-open stage.
func (s *Stage) Close() {
	if s.producer != nil {
		s.producer.Close()
	}
	if s.kafka != nil {
		s.kafka.Close()
	}
	if s.prom != nil {
		_ = s.prom.Close() // the listener is ours and nothing waits for it
	}
}

func (s *Stage) openPrometheus() error {
	st := promstore.New()
	if _, err := st.Load(bytes.NewReader(s.rec.Samples)); err != nil {
		return fmt.Errorf("loading recorded samples: %w", err)
	}
	st.SetShift(s.shift)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening the query API: %w", err)
	}
	s.promAddr = ln.Addr().String()
	s.prom = &http.Server{Handler: promstore.NewServer(st, s.now), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.prom.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			panic(err) // a loopback listener that was just opened
		}
	}()
	return nil
}

// Advance writes the group records that are due into the offsets topic. Call it
// before looking, or let [Stage.Play] do it.
func (s *Stage) Advance(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := s.recorded()
	var due []*kgo.Record
	for s.sent < len(s.rec.Records) && !s.rec.Records[s.sent].At().After(until) {
		r := s.rec.Records[s.sent]
		out := &kgo.Record{Topic: offsetsTopic, Partition: r.Partition, Key: r.Key, Timestamp: r.At().Add(s.shift)}
		if r.Value != nil {
			out.Value = shifted(r.Key, *r.Value, s.shift)
		}
		due = append(due, out)
		s.sent++
	}
	for _, r := range due {
		// One batch each: the time index of the topic is per batch.
		if err := s.producer.ProduceSync(ctx, r).FirstErr(); err != nil {
			return fmt.Errorf("writing a group record: %w", err)
		}
	}
	return nil
}

// Play advances until the context ends.
func (s *Stage) Play(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := s.Advance(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
