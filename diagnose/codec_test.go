package diagnose

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

const minimal = `{"schema":1,"at":"2026-11-30T02:16:03Z","window_seconds":600,"target":{"cluster":"c","broker":3,"group":null,"topic":null}}`

func TestDecodeErrors(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(minimal, old, new, 1) }
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "the file ends too early"},
		{"cut", minimal[:40], "the file ends too early"},
		{"not JSON", "at: today", "line 1: not valid JSON"},
		{"line", "{\n\"schema\":1,\n\"at\": nonsense}", "line 3"},
		{"wrong type", with(`600`, `"ten minutes"`), "field window_seconds: a string cannot be read as int"},
		{"nested", with(`"target"`, `"brokers":[{"id":1,"demand":{"status":"ok","consumers":"x"}}],"target"`), "field brokers.demand.consumers"},
		{"no schema", with(`"schema":1,`, ""), "field schema is missing"},
		{"newer", with(`"schema":1`, `"schema":2`), "use a newer kafka-oncall"},
		{"negative", with(`"schema":1`, `"schema":-1`), "counted from 0"},
		{"two objects", minimal + minimal, "one file holds one object"},
		{"no time", with(`"at":"2026-11-30T02:16:03Z",`, ""), "field at: the moment is missing"},
		{"no window", with(`600`, `0`), "field window_seconds"},
		{"twice", with(`"target"`, `"brokers":[{"id":1},{"id":1}],"target"`), "broker 1 is there twice"},
		{"nameless group", with(`"target"`, `"groups":[{}],"target"`), "a group has no id"},
		{"status", with(`"target"`, `"watcher":{"status":"fine"},"target"`), `field watcher: status "fine" is not known`},
		{"sample", with(`"target"`, `"brokers":[{"id":1,"signals":{"leaders":{"status":"ok","series":[{"samples":[[1,2,3]]}]}}}],"target"`), "a sample is [unix milliseconds, value]"},
		{"sample time", with(`"target"`, `"brokers":[{"id":1,"signals":{"leaders":{"status":"ok","series":[{"samples":[[1e30,2]]}]}}}],"target"`), "a sample's time is unix milliseconds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
		})
	}
}

func TestDecodeBound(t *testing.T) {
	if _, err := Decode(make([]byte, MaxEvidenceBytes+1)); err == nil || !strings.Contains(err.Error(), "more than the limit") {
		t.Errorf("error %v", err)
	}
}

func TestDecodeTolerates(t *testing.T) {
	e, err := Decode([]byte(strings.Replace(minimal, `"target"`, `"added_later":{"x":1},"target"`, 1)))
	if err != nil || e.WindowSeconds != 600 || *e.Target.Broker != 3 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestUpgrade(t *testing.T) {
	if len(upgraders()) != SchemaVersion {
		t.Fatalf("%d upgraders for schema %d", len(upgraders()), SchemaVersion)
	}
	old := `{"schema":0,"at":"2026-11-30T02:16:03Z","window":"10m","target":{"cluster":"c"}}`
	e, err := Decode([]byte(old))
	if err != nil || e.WindowSeconds != 600 || e.Schema != SchemaVersion {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := Decode([]byte(strings.Replace(old, "10m", "soon", 1))); err == nil || !strings.Contains(err.Error(), "from schema 0 to 1: field window") {
		t.Errorf("error %v", err)
	}
}

func TestSampleForms(t *testing.T) {
	for _, v := range []float64{0, 20, -1.5, 1.796001124648e9, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
		in := Sample{T: time.UnixMilli(1796001124648).UTC(), V: v}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out Sample
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		if !out.T.Equal(in.T) || out.V != v && !math.IsNaN(v) || math.IsNaN(v) != math.IsNaN(out.V) {
			t.Errorf("%v became %v through %s", in, out, b)
		}
	}
}

func TestTargetIsNullNotEmpty(t *testing.T) {
	id := int32(3)
	b, err := json.Marshal(Target{Cluster: "kafka-prod", Broker: &id})
	if want := `{"cluster":"kafka-prod","broker":3,"group":null,"topic":null}`; err != nil || string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	b, _ = json.Marshal(Target{Cluster: "kafka-prod", Group: "orders"})
	if want := `{"cluster":"kafka-prod","broker":null,"group":"orders","topic":null}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}

func TestLookup(t *testing.T) {
	yes := true
	e := Evidence{
		Cluster: Cluster{ShardedCache: &yes},
		Brokers: []Broker{
			{ID: 3, Slots: Setting{Value: "1000"}, Signals: map[Signal]Metric{SignalErrors70: {}}, Settings: map[string]Setting{"num.replica.fetchers": {Value: "2"}}},
			{ID: 30},
		},
		Groups: []Group{
			{ID: "orders", Lag: []LagPoint{{Total: 7}}, History: GroupHistory{Records: []GroupRecord{{Generation: 4}}}},
			{ID: "odd].lag", Coordinator: 2},
		},
		Clients: []Client{{ClientID: "c1", Signals: map[Signal]Metric{SignalPollMax: {}}}},
		Watcher: Watcher{Losses: []Loss{{Group: "orders"}}},
	}
	for _, path := range []string{
		"brokers[3]", "brokers[30]", "brokers[3].slots", "brokers[3].slots.value", "brokers[3].errors.fetch_session_id_not_found",
		"brokers[3].demand", "brokers[3].settings.num.replica.fetchers", "brokers[3].signals.errors.fetch_session_id_not_found",
		"groups[orders].lag", "groups[orders].lag[0].total", "groups[orders].history.records[0].generation", "groups[odd].lag].coordinator",
		"clients[c1].client.time_between_poll_max_ms", "watcher.losses[0]", "watcher.status", "cluster.sharded_cache", "cluster.status", "window_seconds",
	} {
		if _, ok := e.Lookup(path); !ok {
			t.Errorf("%s is not found", path)
		}
	}
	for _, path := range []string{
		"", "brokers", "brokers[4]", "brokers[x]", "brokers[3].evictions", "brokers[3]slots", "brokers[3].leading", "groups[none]", "groups[orders].lag[1]",
		"groups[orders].lag[-1]", "groups[orders].lag[x]", "clients[c2]", "watcher.losses[9]", "watcher.losses[0].group.x", "cluster.nothing", "target.broker", "..", "[0]",
	} {
		if v, ok := e.Lookup(path); ok && path != "brokers" {
			t.Errorf("%s resolves to %v", path, v)
		}
	}
}

// tiny is evidence with few samples: small seeds make the fuzzer fast.
func tiny(f *testing.F, e Evidence) []byte {
	for i := range e.Brokers {
		for sig, m := range e.Brokers[i].Signals {
			if len(m.Series) == 0 {
				delete(e.Brokers[i].Signals, sig)
			}
			for k, s := range m.Series {
				m.Series[k].Samples = s.Samples[max(0, len(s.Samples)-12):]
			}
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// FuzzDecode: any bytes give evidence that classifies and survives, or an
// error; never a panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(`{"schema":0,"window":"1h"}`))
	f.Add([]byte(`{"schema":1,"at":"0001-01-01T00:00:01Z","window_seconds":1,"brokers":[{"id":1,"signals":{"process_start":{"status":"ok","series":[{"samples":[[0,1e300]]}]}}}]}`))
	f.Add(tiny(f, world(restarted(3, ago(2*time.Minute), ago(time.Minute))).evidence()))
	f.Add(tiny(f, world(small(alike(waves(64, ago(time.Minute), ago(3*time.Minute))))).evidence()))
	f.Add(tiny(f, ask(orders(lagSpec{totals: ramp(10, 9000), span: 10 * time.Minute, produce: 9000}))))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Decode(b)
		if err != nil {
			return
		}
		d := Classify(e, DefaultLimits())
		if len(d.Findings) == 0 {
			t.Fatal("no finding")
		}
		out, err := Encode(e)
		if err != nil {
			t.Fatalf("decoded evidence does not encode: %v", err)
		}
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("encoded evidence does not decode: %v", err)
		}
		if a, b := verdicts(d), verdicts(Classify(again, DefaultLimits())); len(a) != len(b) || a[0] != b[0] {
			t.Fatalf("%v became %v", a, b)
		}
	})
}
