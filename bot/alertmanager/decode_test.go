package alertmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decodeOK(t *testing.T, body string, b Bounds) Delivery {
	t.Helper()
	d, err := Decode(strings.NewReader(body), b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every captured payload of both releases decodes; firing/resolved and what was
// cut are per member.
func TestCapturedPayloads(t *testing.T) {
	type want struct{ firing, resolved, truncated int }
	for name, w := range map[string]want{
		"webhook_fetch_session_firing":   {3, 0, 0},
		"webhook_fetch_session_resolved": {0, 3, 0},
		"webhook_group_by_all_firing":    {1, 0, 0},
		"webhook_group_by_all_resolved":  {0, 1, 0},
		"webhook_lag_firing":             {5, 0, 0},
		"webhook_lag_partially_resolved": {2, 3, 0},
		"webhook_lag_resolved":           {0, 1, 0},
		"webhook_max_alerts_firing":      {2, 0, 3},
		"webhook_max_alerts_resolved":    {0, 1, 0},
	} {
		for _, version := range []string{"0.25", "0.35"} {
			d := decodeOK(t, sample(t, version+"/"+name+".json"), DefaultBounds())
			got := want{truncated: d.Truncated}
			for _, a := range d.Alerts {
				if a.Firing {
					got.firing++
				} else {
					got.resolved++
				}
				if a.Firing == !a.EndsAt.IsZero() {
					t.Errorf("%s %s: firing %v with end %v", version, name, a.Firing, a.EndsAt)
				}
				if len(a.Fingerprint) != 16 || a.Name() == "" || a.StartsAt.IsZero() || a.GeneratorURL == "" {
					t.Errorf("%s %s: %+v", version, name, a)
				}
			}
			if got != w || d.Cut != (Cut{}) || d.GroupKey == "" {
				t.Errorf("%s %s: got %+v, cut %+v, want %+v", version, name, got, d.Cut, w)
			}
			if newer := version == "0.35"; (d.Reason != "") != newer {
				t.Errorf("%s %s: reason %q", version, name, d.Reason)
			}
		}
	}
}

// The same labels have the same fingerprint in both releases.
func TestFingerprintsAgree(t *testing.T) {
	a := decodeOK(t, sample(t, "0.25/webhook_lag_firing.json"), DefaultBounds())
	b := decodeOK(t, sample(t, "0.35/webhook_lag_firing.json"), DefaultBounds())
	for i := range a.Alerts {
		if a.Alerts[i].Fingerprint != b.Alerts[i].Fingerprint {
			t.Errorf("%s: %s and %s", a.Alerts[i].Labels, a.Alerts[i].Fingerprint, b.Alerts[i].Fingerprint)
		}
	}
}

const good = `{"version":"4","groupKey":"k","alerts":[{"status":"firing","labels":{"alertname":"A"},"startsAt":"2026-11-30T02:15:00Z"}]}`

func TestTolerance(t *testing.T) {
	for name, body := range map[string]string{
		"fewest fields":       good,
		"unknown fields":      strings.Replace(good, `{"version"`, `{"future":{"a":[1,{"b":2}]},"version"`, 1),
		"unknown alert field": strings.Replace(good, `"status"`, `"future":[1],"status"`, 1),
		"null annotations":    strings.Replace(good, `"startsAt"`, `"annotations":null,"startsAt"`, 1),
	} {
		d := decodeOK(t, body, DefaultBounds())
		if len(d.Alerts) != 1 || d.Alerts[0].Fingerprint == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestOtherShapesAreNamed(t *testing.T) {
	for body, want := range map[string]string{
		`hello`:                                "not JSON at byte 1",
		``:                                     "ends too early",
		`[1]`:                                  "not a JSON object",
		`"x"`:                                  "not a JSON object",
		`{"text":1}`:                           `"version" and "alerts" are missing`,
		`{"alerts":[]}`:                        `"version" is "", not "4"`,
		strings.Replace(good, `"4"`, `"5"`, 1): `"version" is "5"`,
		strings.Replace(good, `"4"`, `4`, 1):   `"version" is not a string`,
		`{"version":"4"}`:                      `"alerts" is missing or empty`,
		`{"version":"4","alerts":[]}`:          `"alerts" is missing or empty`,
		`{"version":"4","alerts":{}}`:          `"alerts" is not a list`,
		strings.Replace(good, "firing", "on fire", 1):                 "alerts[0].status is neither",
		strings.Replace(good, `{"alertname":"A"}`, `{}`, 1):           "alerts[0] has no labels",
		strings.Replace(good, `"A"`, `1`, 1):                          "alerts[0].labels",
		strings.Replace(good, "2026-11-30T02:15:00Z", "yesterday", 1): "alerts[0] has a time",
		good + good: "more after",
		good[:60]:   "ends too early",
		strings.Replace(good, `"alerts"`, `"truncatedAlerts":-1,"alerts"`, 1):  "negative",
		strings.Replace(good, `"alerts"`, `"truncatedAlerts":"x","alerts"`, 1): `"truncatedAlerts" is not a number`,
	} {
		_, err := Decode(strings.NewReader(body), DefaultBounds())
		var shape *ShapeError
		if !errors.As(err, &shape) || !strings.Contains(shape.Problem, want) {
			t.Errorf("%.80s:\n got %v\nwant %s", body, err, want)
		}
	}
}

// A broken connection is not a wrong shape: it will be sent again.
func TestReadErrorsStay(t *testing.T) {
	boom := errors.New("connection reset")
	_, err := Decode(iotest.ErrReader(boom), DefaultBounds())
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	var big *http.MaxBytesError
	_, err = Decode(http.MaxBytesReader(nil, body(strings.NewReader(good)), 10), DefaultBounds())
	if !errors.As(err, &big) {
		t.Errorf("got %v", err)
	}
}

// Request 28: 20,000 members cost the memory of the bound, and all are counted.
func TestMembersAreBounded(t *testing.T) {
	b := DefaultBounds()
	b.Members = 10
	var members []string
	for i := range 20_000 {
		status := "firing"
		if i%2 == 1 {
			status = "resolved"
		}
		members = append(members, fmt.Sprintf(`{"status":%q,"labels":{"alertname":"A","i":"%d"}}`, status, i))
	}
	d := decodeOK(t, `{"version":"4","alerts":[`+strings.Join(members, ",")+`]}`, b)
	if len(d.Alerts) != 10 || d.Cut.MembersFiring != 9995 || d.Cut.MembersResolved != 9995 {
		t.Errorf("%d kept, cut %+v", len(d.Alerts), d.Cut)
	}
}

func TestTextsAreBounded(t *testing.T) {
	b := DefaultBounds()
	b.Labels, b.LabelBytes, b.Annotations, b.AnnotationBytes, b.NameBytes = 4, 10, 1, 8, 12
	b.Keep = []string{"zz_cluster"}
	labels := map[string]string{"alertname": "A", "zz_cluster": "prod", "a": strings.Repeat("é", 20), "b": "2", "c": "3", strings.Repeat("n", 40): "x"}
	body, _ := json.Marshal(map[string]any{"version": "4", "alerts": []any{map[string]any{
		"status": "firing", "labels": labels, "annotations": map[string]string{"summary": "0123456789", "x": "y"},
		"generatorURL": "javascript:alert(1)", "fingerprint": "../../etc",
	}}})
	d := decodeOK(t, string(body), b)
	a := d.Alerts[0]
	if len(a.Labels) != 4 || a.Labels["alertname"] != "A" || a.Labels["zz_cluster"] != "prod" || a.Labels["a"] != "ééé…" {
		t.Errorf("labels %q", a.Labels)
	}
	if len(a.Annotations) != 1 || a.Annotations["summary"] != "01234…" || a.GeneratorURL != "" || len(a.Fingerprint) != 16 {
		t.Errorf("%+v", a)
	}
	if d.Cut.Labels != 2 || d.Cut.Annotations != 1 || d.Cut.Texts != 2 {
		t.Errorf("cut %+v", d.Cut)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(good)
	f.Add(`{"version":"4","alerts":[{"status":"resolved","labels":{"a":"\ud800"}}],"x":[[[]]]}`)
	b := DefaultBounds()
	b.Members, b.LabelBytes = 3, 16
	f.Fuzz(func(t *testing.T, in string) {
		d, err := Decode(strings.NewReader(in), b)
		if err != nil {
			var shape *ShapeError
			if !errors.As(err, &shape) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		if len(d.Alerts) == 0 || len(d.Alerts) > 3 {
			t.Fatalf("%q: %d members", in, len(d.Alerts))
		}
		for _, a := range d.Alerts {
			for _, v := range a.Labels {
				if len(v) > 16 {
					t.Fatalf("label of %d bytes", len(v))
				}
			}
		}
		again, err := json.Marshal(d)
		if err != nil || json.Unmarshal(again, &Delivery{}) != nil {
			t.Fatalf("%q does not go through the inbox: %v", in, err)
		}
	})
}
