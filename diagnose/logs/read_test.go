package logs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/diagnose/logs"
)

func read(t testing.TB, text string) diagnose.LogText {
	t.Helper()
	out, err := logs.Read(strings.NewReader(text), logs.Options{Now: testNow})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// One message in every wrapping is one finding with the same group, client and
// moment.
func TestWrappings(t *testing.T) {
	const msg = `[Consumer clientId=fraud-1, groupId=fraud] consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer`
	at := time.Date(2031, 3, 1, 10, 0, 5, 120e6, time.UTC)
	unix := fmt.Sprint(at.UnixMilli())
	for name, line := range map[string]string{
		"log4j":                  `[2031-03-01 10:00:05,120] WARN ` + msg + ` (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)`,
		"log4j2 brackets":        `[2031-03-01T10:00:05,120][WARN ][org.apache.kafka.clients.consumer.internals.ConsumerCoordinator] ` + msg,
		"logger first":           `2031-03-01 10:00:05,120 [Thread-3] (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator) WARN  ` + msg,
		"spring":                 `2031-03-01 10:00:05.120  WARN 1 --- [ad | fraud] o.a.k.c.c.internals.ConsumerCoordinator  : ` + msg,
		"spring with zone":       `2031-03-01T12:00:05.120+02:00  WARN 1 --- [ad | fraud] o.a.k.c.c.internals.ConsumerCoordinator  : ` + msg,
		"connect":                `[2031-03-01 10:00:05,120] WARN [sink|task-0] ` + msg + ` (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:1010)`,
		"docker compose":         `app-1  | 2031-03-01 10:00:05,120 WARN ` + msg,
		"kubectl":                `2031-03-01T10:00:06.000000001Z [2031-03-01T10:00:05,120][WARN ] ` + msg,
		"syslog":                 `Mar  1 13:00:06 node1 app[77]: 2031-03-01T10:00:05.120 WARN ` + msg,
		"crlf":                   `2031-03-01 10:00:05,120 WARN ` + msg + "\r",
		"colours":                "2031-03-01 10:00:05,120 \x1b[33mWARN\x1b[0m " + msg,
		"table":                  `| 2031-03-01T10:00:05.120Z | warn  | ` + msg + ` |`,
		"box":                    "│ 2031-03-01 10:00:05,120 WARN " + msg + " │",
		"logback json":           `{"@timestamp":"2031-03-01T10:00:05.120Z","message":"` + msg + `","logger_name":"o.a.k","level":"WARN"}`,
		"ecs":                    `{"@timestamp":"2031-03-01T10:00:05.120Z","log.level":"WARN","message":"` + msg + `","log.logger":"o.a.k"}`,
		"logstash json":          `{"level":"WARN","loggerName":"o.a.k","timeMillis":` + unix + `,"thread":"main","logEvent":{"message":"` + msg + `"}}`,
		"pino":                   `{"level":40,"time":` + unix + `,"msg":"` + msg + `"}`,
		"docker json-file":       `{"log":"[2031-03-01 10:00:05,120] WARN ` + msg + `\n","stream":"stdout","time":"2031-03-01T10:00:06.1Z"}`,
		"json behind a syslog":   `Mar  1 10:00:06 node1 app: {"level":"WARN","timestamp":"2031-03-01T10:00:05.120Z","message":"` + msg + `"}`,
		"kubectl prefix on json": `2031-03-01T10:00:06.000000001Z {"level":"WARN","ts":` + fmt.Sprintf("%.3f", float64(at.UnixMilli())/1000) + `,"msg":"` + msg + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, "noise before\n"+line+"\nnoise after\n")
			if got.Lines != 3 || got.Recognised != 1 || len(got.Findings) != 1 {
				t.Fatalf("%+v", got)
			}
			f := got.Findings[0]
			if f.Kind != diagnose.LogPollTimeout || f.Group != "fraud" || f.Client != "fraud-1" || f.Line != 2 {
				t.Errorf("%+v", f)
			}
			if !f.First.Equal(at) {
				t.Errorf("at %s, want %s", f.First, at)
			}
		})
	}
}

// A stack trace belongs to its record, in text and in JSON.
func TestStackTraceIsOneFinding(t *testing.T) {
	const trace = "org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since the group has already rebalanced\n\tat a.B.c(B.java:1)\nCaused by: org.apache.kafka.clients.consumer.CommitFailedException: again\n"
	text := "[2031-03-01 10:00:05,120] ERROR [Consumer clientId=a, groupId=g] Offset commit failed on partition t-0 at offset 1: The coordinator is not aware of this member. (x.Y)\n" + trace
	if got := read(t, text); got.Recognised != 1 {
		t.Errorf("%d findings: %+v", got.Recognised, got.Findings)
	}
	j := `{"@timestamp":"2031-03-01T10:00:05.120Z","message":"commit went wrong","stack_trace":"` + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(trace) + `"}`
	got := read(t, j)
	if len(got.Findings) != 1 || got.Findings[0].Kind != diagnose.LogCommitFailed || got.Findings[0].First.IsZero() {
		t.Errorf("%+v", got)
	}
}

func TestNothingSecretOrActiveIsRepeated(t *testing.T) {
	const base = `2031-03-01 10:00:05,120 WARN [Consumer clientId=a, groupId=g] consumer poll timeout has expired. `
	for _, secret := range []string{
		`sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="HIDEME";`,
		`password=HIDEME`, `sasl.password: 'HIDEME'`, `url=https://user:HIDEME@host/x`, `Authorization: Bearer HIDEMEHIDEME`,
		`https://host/x?token=HIDEME&a=b`, `api_key="HIDEME"`, `basic.auth.user.info.secret=HIDEME`,
	} {
		got := read(t, base+secret+"\n")
		if len(got.Findings) != 1 || strings.Contains(fmt.Sprintf("%+v", got), "HIDEME") {
			t.Errorf("%s: %+v", secret, got.Findings)
		}
	}
	got := read(t, "\x1b]0;title\x07\x1b[2J"+base+"\x00\u202e<!channel>\u2028next\n")
	for _, r := range got.Findings[0].Sample {
		if unicode.IsControl(r) || r == '\u202e' || r == '\u2028' {
			t.Errorf("%q holds %U", got.Findings[0].Sample, r)
		}
	}
}

func TestBounds(t *testing.T) {
	const word = `consumer poll timeout has expired`
	t.Run("a line without end", func(t *testing.T) {
		got := read(t, word+strings.Repeat("x", 3<<20)+"\n"+word+"\n")
		if got.Lines != 2 || got.Recognised != 2 || got.Bytes != int64(3<<20+2*len(word)+2) {
			t.Errorf("lines %d, recognised %d, bytes %d", got.Lines, got.Recognised, got.Bytes)
		}
	})
	t.Run("more subjects than fit", func(t *testing.T) {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, "[Consumer clientId=c%d, groupId=g%d] %s\n", i, i, word)
		}
		got := read(t, b.String())
		if len(got.Findings) != 500 || got.Dropped != 1500 || got.Recognised != 2000 {
			t.Errorf("%d kept, %d dropped, %d recognised", len(got.Findings), got.Dropped, got.Recognised)
		}
	})
	t.Run("names and samples", func(t *testing.T) {
		f := read(t, "[Consumer clientId="+strings.Repeat("é", 9000)+", groupId=g] "+word+"\n").Findings[0]
		if len(f.Client) > 260 || len(f.Sample) > 300 || !utf8.ValidString(f.Client+f.Sample) {
			t.Errorf("client %d bytes, sample %d bytes", len(f.Client), len(f.Sample))
		}
	})
}

// Lines are counted under what they mean, whatever their order.
func TestCounts(t *testing.T) {
	const line = "[2031-03-01 10:%02d:00,000] INFO [Consumer clientId=c, groupId=g] Node 3 was unable to process the fetch request with (sessionId=%d, epoch=%d): FETCH_SESSION_ID_NOT_FOUND. (o.a.k.clients.FetchSessionHandler)\n"
	got := read(t, fmt.Sprintf(line, 9, 77, 400)+fmt.Sprintf(line, 2, 78, 12)+fmt.Sprintf(line, 5, 79, 90))
	f := got.Findings[0]
	if len(got.Findings) != 1 || f.Count != 3 || f.Low != 12 || f.High != 400 || f.First.Minute() != 2 || f.Last.Minute() != 9 || f.Node == nil || *f.Node != 3 {
		t.Errorf("%+v", got.Findings)
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range logCases {
		f.Add([]byte(c.log))
	}
	f.Add([]byte("\xff\xfe{\"log\":\"{\\\"log\\\":\\\"consumer poll timeout has expired\\\"}\"}"))
	f.Add([]byte("%4|99999999999999.999|MAXPOLL|x#consumer-1| Application maximum poll interval (9999999999999999999ms) exceeded"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := logs.Read(bytes.NewReader(in), logs.Options{Now: testNow, MaxLine: 4096, MaxFindings: 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Findings) > 20 || got.Bytes != int64(len(in)) {
			t.Fatalf("%d findings, %d of %d bytes", len(got.Findings), got.Bytes, len(in))
		}
		e := logs.Evidence(got, testNow)
		raw, err := diagnose.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := diagnose.Decode(raw); err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		d := diagnose.Classify(e, diagnose.DefaultLimits())
		if len(d.Findings) == 0 || d.Primary().Confidence == diagnose.Confirmed {
			t.Fatalf("%+v", d)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "2031-03-01 10:00:%02d.221  INFO 1 --- [http-nio-8080-exec-%d] com.example.Service : handled request /api/v1/orders/%d in %d ms\n", i%60, i%50, i, i%977)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		read(b, text.String())
	}
}
