package stage_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-oncall/kafka-oncall/internal/stage"
)

// TestStageShowsOnlyThePast plays a recorded session timeout and looks before
// the fault and after the return.
func TestStageShowsOnlyThePast(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rec, err := stage.Load(os.DirFS("recordings/session-timeout"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	clock := func() time.Time { return now }
	st, err := stage.Open(ctx, rec, rec.Truth.Ready, clock)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(st.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)

	before := describe(ctx, t, adm, rec.Truth.Subject.Group)
	if len(before.Members) != 2 || before.State != "Stable" {
		t.Fatalf("before the fault: %s with %d members, want Stable with 2", before.State, len(before.Members))
	}
	records := end(ctx, t, adm)

	now = now.Add(rec.Truth.Effect.Sub(rec.Truth.Ready) + time.Second)
	if err := st.Advance(ctx); err != nil {
		t.Fatal(err)
	}
	during := describe(ctx, t, adm, rec.Truth.Subject.Group)
	if len(during.Members) != 1 {
		t.Errorf("while the member is away: %d members, want 1", len(during.Members))
	}
	if grown := end(ctx, t, adm); grown <= records {
		t.Errorf("the offsets topic did not grow: %d records, then %d", records, grown)
	}
}

// A group of the consumer protocol is described by the request of its protocol
// only, with its epochs.
func TestStageDescribesConsumerGroups(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rec, err := stage.Load(os.DirFS("recordings/session-timeout"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rec.Views {
		rec.Views[i].Protocol, rec.Views[i].Epoch = "consumer", 7
		for k := range rec.Views[i].Members {
			rec.Views[i].Members[k].Epoch = 6
		}
	}
	st, err := stage.Open(ctx, rec, rec.Truth.Ready, time.Now().UTC)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(st.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	group := rec.Truth.Subject.Group
	gs, err := kadm.NewClient(cl).DescribeConsumerGroups(ctx, group, "nobody")
	if err != nil {
		t.Fatal(err)
	}
	if g := gs[group]; g.Err != nil || g.Epoch != 7 || g.State != "Stable" || len(g.Members) != 2 || g.Members[0].MemberEpoch != 6 || len(g.Members[0].Assignment) != 1 {
		t.Errorf("described as %+v", g)
	}
	if !errors.Is(gs["nobody"].Err, kerr.GroupIDNotFound) {
		t.Errorf("a group that is not there: %v", gs["nobody"].Err)
	}
	if g := describe(ctx, t, kadm.NewClient(cl), group); len(g.Members) != 0 {
		t.Errorf("the classic request shows %d members", len(g.Members))
	}
}

func describe(ctx context.Context, t *testing.T, adm *kadm.Client, group string) kadm.DescribedGroup {
	t.Helper()
	gs, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	return gs[group]
}

func end(ctx context.Context, t *testing.T, adm *kadm.Client) int64 {
	t.Helper()
	ends, err := adm.ListEndOffsets(ctx, "__consumer_offsets")
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	return sum
}
