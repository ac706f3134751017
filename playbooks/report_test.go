package playbooks

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// contract is the documented object; tests outside this repository rely on its
// keys, their nesting and their types.
const contract = `{"schema":1,"at":"2026-11-30T02:16:03Z","target":{"cluster":"kafka-prod","broker":3,"group":null,"topic":null},
 "findings":[{"class":"restart-burst","family":"restart-burst","headline":"Restart burst","confidence":"provisional","subject":"broker 3",
   "citations":[{"path":"brokers[3].errors.fetch_session_id_not_found","value":"20 since 02:14:09","source":"prometheus: x"}],
   "alternatives":[{"class":"misrouted-sessions","because":"x"}],"decides":"x"}],
 "ruled_out":[{"class":"cache-thrash","because":"0 evictions in 600 s"}],
 "blind_spots":[{"reading":"client_metrics","status":"not_exported","leaves_open":["client-unreachable"]}],
 "next_step":{"playbook":"restart-burst","step":"wait","title":"Wait","safety":"look","text":"x"},"next_look_seconds":60}`

func reportOf(t *testing.T, d diagnose.Diagnosis) map[string]any {
	t.Helper()
	b, err := json.Marshal(NewReport(d, defaultSet(t), nil))
	if err != nil {
		t.Fatal(err)
	}
	return object(t, b)
}

func object(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReportKeepsTheContract(t *testing.T) {
	d := restartBurst(diagnose.Provisional, "no")
	d.Findings[0].Alternatives = []diagnose.Alternative{{Class: diagnose.MisroutedSessions, Because: "x"}}
	same(t, "", object(t, []byte(contract)), reportOf(t, d))
}

// same checks that got has every key of want with a value of the same kind.
func same(t *testing.T, path string, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Fatalf("%s is %T, want an object", path, got)
		}
		for k, v := range w {
			x, ok := g[k]
			if !ok {
				t.Errorf("%s.%s is missing", path, k)
				continue
			}
			same(t, path+"."+k, v, x)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) == 0 {
			t.Fatalf("%s is %v, want a list with an element", path, got)
		}
		same(t, path+"[0]", w[0], g[0])
	case nil:
		if got != nil {
			t.Errorf("%s is %v, want null", path, got)
		}
	default:
		if kind(want) != kind(got) {
			t.Errorf("%s is %T, want %T", path, got, want)
		}
	}
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "bool"
	default:
		return "other"
	}
}

func TestReportKeysComeInTheDocumentedOrder(t *testing.T) {
	b, err := json.Marshal(NewReport(restartBurst(diagnose.Provisional, "no"), defaultSet(t), nil))
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, key := range []string{"schema", "at", "target", "findings", "ruled_out", "blind_spots", "next_step", "next_look_seconds"} {
		i := strings.Index(string(b), `"`+key+`":`)
		if i <= at {
			t.Errorf("%s stands before the key ahead of it", key)
		}
		at = i
	}
	if n := bytes.Count(b, []byte("\n")); n > 0 {
		t.Errorf("the report has %d line breaks; replay prints one object a line", n)
	}
}

func TestReportNullsAndEmptyLists(t *testing.T) {
	bare := diagnose.Diagnosis{Schema: 1, At: time.Date(2026, 11, 30, 3, 0, 0, 0, time.FixedZone("x", 3600)), Findings: []diagnose.Finding{{Class: "no-such-class"}}}
	got := reportOf(t, bare)
	if got["next_step"] != nil {
		t.Errorf("next_step is %v, want null", got["next_step"])
	}
	if got["at"] != "2026-11-30T02:00:00Z" {
		t.Errorf("at is %v, want UTC", got["at"])
	}
	f := got["findings"].([]any)[0].(map[string]any)
	for where, v := range map[string]any{"ruled_out": got["ruled_out"], "blind_spots": got["blind_spots"], "citations": f["citations"], "alternatives": f["alternatives"]} {
		if l, ok := v.([]any); !ok || len(l) != 0 {
			t.Errorf("%s is %v, want []", where, v)
		}
	}
	target := got["target"].(map[string]any)
	for _, k := range []string{"broker", "group", "topic"} {
		if v, ok := target[k]; !ok || v != nil {
			t.Errorf("target.%s is %v, want null", k, v)
		}
	}
}
