package lab

import (
	"reflect"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/twmb/franz-go/pkg/kerr"
)

func TestFetchSession(t *testing.T) {
	var s fetchSession
	step := func(name string, want []int32, plan fetchPlan, code int16, id int32) {
		t.Helper()
		if got := s.next(want); !reflect.DeepEqual(got, plan) {
			t.Fatalf("%s: planned %+v, want %+v", name, got, plan)
		}
		s.answered(code, id, want)
	}
	all, some := []int32{1, 2, 3}, []int32{1, 3}
	step("refused", all, fetchPlan{add: all}, 0, 0)
	step("asks again", all, fetchPlan{add: all}, 0, 7)
	step("first incremental", some, fetchPlan{id: 7, epoch: 1, forget: []int32{2}}, 0, 7)
	step("grows", all, fetchPlan{id: 7, epoch: 2, add: []int32{2}}, 0, 7)
	step("no change, evicted", all, fetchPlan{id: 7, epoch: 3}, kerr.FetchSessionIDNotFound.Code, 0)
	step("after 70: new", all, fetchPlan{add: all}, 0, 8)
	step("wrong epoch", all, fetchPlan{id: 8, epoch: 1}, kerr.InvalidFetchSessionEpoch.Code, 0)
	step("after 71: close and renew", some, fetchPlan{id: 8, add: some}, 0, 9)
	s.broken()
	step("after a lost connection", some, fetchPlan{id: 9, add: some}, 0, 10)
	s.epoch = 1<<31 - 1
	step("last epoch", some, fetchPlan{id: 10, epoch: 1<<31 - 1}, 0, 10)
	step("wraps to 1", some, fetchPlan{id: 10, epoch: 1}, 0, 10)
}

func TestGrowth(t *testing.T) {
	at := model.TimeFromUnix(100).Time()
	points := func(tv ...int64) (out []model.SamplePair) {
		for i := 0; i < len(tv); i += 2 {
			out = append(out, model.SamplePair{Timestamp: model.TimeFromUnix(tv[i]), Value: model.SampleValue(tv[i+1])})
		}
		return out
	}
	for name, c := range map[string]struct {
		points []model.SamplePair
		want   float64
	}{
		"steady":       {points(99, 5, 101, 5), 0},
		"grows":        {points(98, 4, 99, 5, 101, 8), 3},
		"born after":   {points(103, 20, 104, 20), 20},
		"reset":        {points(99, 50, 101, 52, 102, 0, 103, 7), 9},
		"reset before": {points(97, 50, 98, 3, 101, 4), 1},
		"none":         {nil, 0},
	} {
		if got := growth(c.points, at); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// "polygenelubricants" hashes to MIN_VALUE in Java, whose abs() Kafka takes as 0.
func TestOffsetsPartition(t *testing.T) {
	for group, want := range map[string]int{"": 0, "a": 97 % 8, "ab": (97*31 + 98) % 8, "polygenelubricants": 0} {
		if got := offsetsPartition(group, 8); got != want {
			t.Errorf("%q: %d, want %d", group, got, want)
		}
	}
}

func TestReaddress(t *testing.T) {
	meta := "#\nversion=1\nnode.id=1\ndirectory.id=Ab12\ncluster.id=c\n"
	want := "#\nversion=1\nnode.id=3\ndirectory.id=Db12\ncluster.id=c\n"
	if got := string(readdress([]byte(meta), 3)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSucceededNeedsBothInOneAnswer(t *testing.T) {
	old := memberView{MemberID: "a-1", ClientID: "a"}
	other := memberView{MemberID: "b-1", ClientID: "b"}
	next := memberView{MemberID: "a-2", ClientID: "a"}
	for _, tc := range []struct {
		name  string
		views []groupView
		want  bool
	}{
		{"side by side", []groupView{{Members: []memberView{old, other}}, {Members: []memberView{old, next, other}}, {Members: []memberView{next, other}}}, true},
		{"one after the other", []groupView{{Members: []memberView{old, other}}, {Members: []memberView{other}}, {Members: []memberView{next, other}}}, false},
		{"nobody", nil, false},
	} {
		w := &watch{views: tc.views}
		if got := w.succeeded(old); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
