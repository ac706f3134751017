package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

var update = flag.Bool("update", false, "write the golden files anew")

func span1(text string) playbooks.Span    { return playbooks.Span{Text: text} }
func code(text string) playbooks.Span     { return playbooks.Span{Text: text, Style: playbooks.Code} }
func strong(text string) playbooks.Span   { return playbooks.Span{Text: text, Style: playbooks.Bold} }
func ref(text, url string) playbooks.Span { return playbooks.Span{Text: text, URL: url} }

func when(clock string) playbooks.Span {
	at, err := time.Parse(time.DateTime, "2026-11-30 "+clock)
	if err != nil {
		panic(err)
	}
	return playbooks.Span{Text: clock, Time: at}
}

// goldens are messages as the product writes them, and messages that nobody
// should write.
func goldens() map[string]playbooks.Message {
	return map[string]playbooks.Message{
		"burst":    burst(),
		"thrash":   thrash(),
		"reply":    {Text: "Over: no error for 10 min. Nothing to do."},
		"evidence": evidenceReply(),
		"hostile":  hostile(),
		"empty":    {},
		"huge":     huge(),
	}
}

func burst() playbooks.Message {
	const graph = "https://prometheus.example/graph?g0.expr=up&g0.range=15m"
	return playbooks.Message{
		Text:    "Restart burst, probably harmless: broker 3 of kafka-prod. Next: wait.",
		Title:   playbooks.T("Restart burst — probably harmless"),
		Subject: playbooks.Rich{strong("kafka-prod"), span1(" · broker 3")},
		Summary: playbooks.Rich{
			span1("When broker 3 took its partitions back at "), when("02:14:09"), span1(", 20 of 20 Java consumers each got one "),
			code("FETCH_SESSION_ID_NOT_FOUND"), span1(" and carried on. No records are lost and nobody stops consuming."),
		},
		Evidence: []playbooks.Rich{
			{span1("broker 3 started "), when("02:13:58"), span1(", leaders 0 → 4 at "), when("02:14:09"), span1(" "), ref("▸", graph)},
			{span1("20 errors in that one scrape, none in the 2 min since; evictions 0 "), ref("▸", graph)},
			{span1("22 of 1,000 session slots in use "), ref("▸", graph)},
		},
		Step: &playbooks.StepView{
			Number: 1, Of: 1, Title: "wait", Safety: playbooks.Look,
			Text:   playbooks.Rich{span1("I look again at "), when("02:17:00"), span1(" and tell you here if it goes on.")},
			Avoid:  playbooks.T("Do not raise the cache slots: it would change nothing."),
			Verify: playbooks.T("errors 70 of broker 3: none for two silent periods of 120 s. Give it 5 min."),
		},
		Buttons: []playbooks.Button{
			{Action: playbooks.ActionLookAgain, Label: "Look again", Value: "inc-7f3a"},
			{Action: playbooks.ActionAcknowledge, Label: "Acknowledge", Value: "inc-7f3a"},
		},
		Footer: []playbooks.Rich{playbooks.T("provisional"), {span1("firing since "), when("02:15:00")}, {span1("last look "), when("02:16:03")}},
	}
}

func thrash() playbooks.Message {
	m := burst()
	m.Text = "Upgraded to sustained thrashing: broker 5 of kafka-prod. Step 1 of 4: set the cache slots to 2072."
	m.Title = playbooks.T("Upgraded: sustained thrashing")
	m.Summary = playbooks.T("Errors went on after the restart window. One error per eviction, so live sessions are being thrown out.")
	m.Step = &playbooks.StepView{
		Number: 1, Of: 4, Title: "set max.incremental.fetch.session.cache.slots=2072 on all brokers", Safety: playbooks.ChangeBroker,
		Text:       playbooks.T("Needs a rolling restart, which itself causes one error per consumer and broker; I will label it."),
		Arithmetic: playbooks.T("(1,284 × 1.25 deploy surge + 2 × 26 followers) × 1.25 shard skew = 2,071 → 2,072; about 11 MB of heap per broker."),
		Command:    "kafka-configs.sh --bootstrap-server <broker> --describe --entity-type brokers --all \\\n  | grep max.incremental.fetch.session.cache.slots",
		Verify:     playbooks.T("evictions after the last restart: 0 for 10 min."),
	}
	m.Buttons = append([]playbooks.Button{{Action: playbooks.ActionDone, Label: "Done → next step", Value: "inc-7f3a", Primary: true, Describe: "Step 1 is done, show step 2"}}, m.Buttons...)
	return m
}

func evidenceReply() playbooks.Message {
	return playbooks.Message{
		Text: "Evidence for the verdict restart burst",
		Details: []playbooks.Detail{
			{Title: "Evidence", Lines: []playbooks.Rich{playbooks.T("20 errors since 02:14:09"), {span1("from "), code("kafka_network_RequestMetrics_ErrorsPerSec")}}},
			{Title: "Ruled out", Lines: []playbooks.Rich{playbooks.T("sustained thrashing: 0 evictions in 600 s")}},
			{Title: "Not visible", Lines: []playbooks.Rich{playbooks.T("client metrics: not exported; leaves open client-unreachable")}},
		},
	}
}

// nasty is what a label, a group name or a log line may hold.
var nasty = []string{
	"<!channel> <!here> <!everyone> <!subteam^S0123>", "<@U0ANNA0001> <#C0ALERTS1|general>",
	"<https://evil.example|https://grafana.example>", "<!date^1|x>", "&lt;!channel&gt; &amp;amp;",
	"`code` ``` ``", "*bold* _it_ ~no~", "a\nb\r\n> quote\n• fake bullet", "\u202egnp.exe\u202c", "zero\u200bwidth\ufeff\u2066", "\x00\x1b[31m\x7f",
	strings.Repeat("&", 5000), strings.Repeat("<", 4000), strings.Repeat("🦀", 4000), strings.Repeat("e\u0301\u0301\u0301\u0301\u0301", 900),
	"\xff\xfe broken", "|x>", ">|<!", "javascript:alert(1)", "http://user:pw@host/", "https://ok.example/a|b>c<d", "",
}

func hostile() playbooks.Message {
	evil := strings.Join(nasty[:11], " ")
	r := playbooks.Rich{span1(evil), code(evil), strong(evil), ref(evil, "https://ok.example/?a=b&c=<!here>|x"), ref(evil, "javascript:alert(1)"), {Text: evil, Time: time.Unix(1732932849, 0)}}
	return playbooks.Message{
		Text: evil, Title: r, Subject: r, Summary: r, Evidence: []playbooks.Rich{r, r},
		Step:    &playbooks.StepView{Number: 1, Of: 2, Title: evil, Safety: playbooks.Restart, Text: r, Arithmetic: r, Command: evil, Avoid: r, Verify: r},
		Details: []playbooks.Detail{{Title: evil, Lines: []playbooks.Rich{r}}},
		Footer:  []playbooks.Rich{r},
		Buttons: []playbooks.Button{{Action: playbooks.ActionDone, Label: evil, Value: "id", Describe: evil}},
	}
}

func huge() playbooks.Message {
	m := thrash()
	m.Evidence = nil
	for i := range 40 {
		m.Evidence = append(m.Evidence, playbooks.T(fmt.Sprintf("observation %d: %s", i, strings.Repeat("x", 300))))
	}
	for i := range 60 {
		d := playbooks.Detail{Title: fmt.Sprintf("List %d", i)}
		for j := range 30 {
			d.Lines = append(d.Lines, playbooks.T(fmt.Sprintf("line %d of list %d", j, i)))
		}
		m.Details = append(m.Details, d)
	}
	return m
}

// sent is a rendered message as it goes over the wire.
type sent struct {
	Text   string `json:"text"`
	Blocks any    `json:"blocks"`
}

func wire(t *testing.T, r rendered) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(sent{Text: r.text, Blocks: r.blocks}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRenderGoldens(t *testing.T) {
	for name, m := range goldens() {
		t.Run(name, func(t *testing.T) {
			got := wire(t, render(m))
			file := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; run with -update and look at the change\n%s", file, got)
			}
			checkRendered(t, m, render(m))
		})
	}
}

// ourEntity are the only entities that a rendered message may hold: times, and
// links to http(s).
var ourEntity = regexp.MustCompile(`<(!date\^\d+\^[^|<>]+\|[^<>]*|https?://[^|<>]+\|[^<>]*)>`)

// checkRendered states what holds for every message: inside every limit, inert,
// and the headline, the step and something to read are there.
func checkRendered(t *testing.T, m playbooks.Message, r rendered) {
	t.Helper()
	if r.text == "" || len(r.text) > MaxText || !utf8.ValidString(r.text) {
		t.Errorf("text has %d bytes", len(r.text))
	}
	if strings.ContainsAny(r.text, "<>\n") {
		t.Errorf("text is not inert: %q", r.text)
	}
	if errs := slackdouble.CheckMessage(r.text, wireBlocks(t, r)); len(errs) > 0 {
		t.Errorf("the double would refuse it: %v", errs)
	}
	if len(r.blocks) == 0 {
		t.Error("no blocks")
	}
	total := size(r.text)
	for _, s := range stringsOf(t, r) {
		total += size(s.text)
		checkInert(t, s)
	}
	if total > MaxTotal {
		t.Errorf("%d characters in all, limit %d", total, MaxTotal)
	}
	all := string(wire(t, r))
	if m.Step != nil && !strings.Contains(all, "Next:") && !strings.Contains(all, "Step ") {
		t.Error("the step is gone")
	}
	if title := plain(m.Title, maxTitle); title != "" && !strings.Contains(all, `"header"`) {
		t.Error("the headline is gone")
	}
}

// text is a string of a message with the kind of text object it stands in.
type textPart struct{ kind, text string }

func checkInert(t *testing.T, s textPart) {
	t.Helper()
	text := s.text
	if s.kind == "mrkdwn" {
		text = ourEntity.ReplaceAllString(text, "")
		if strings.ContainsAny(text, "<>") {
			t.Errorf("mrkdwn holds an entity that is not ours: %q", text)
		}
		if regexp.MustCompile(`&(?:[^alg]|a[^m]|$)`).MatchString(text) {
			t.Errorf("mrkdwn holds a bare ampersand: %.200q", text)
		}
		if n := strings.Count(text, "`"); n%2 != 0 {
			t.Errorf("a code span is not closed: %.300q", text)
		}
	}
	for _, opener := range []string{"<!channel", "<!here", "<!everyone", "<!subteam", "<@", "<#"} {
		if strings.Contains(text, opener) {
			t.Errorf("%s holds %s: %q", s.kind, opener, text)
		}
	}
	for _, r := range text {
		if invisible(r) || (r < ' ' && r != '\n') || r == 0x7f {
			t.Errorf("%s holds %U", s.kind, r)
		}
	}
}

func wireBlocks(t *testing.T, r rendered) []map[string]any {
	t.Helper()
	data, err := json.Marshal(r.blocks)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// stringsOf collects every text of the blocks, and values and ids beside them.
func stringsOf(t *testing.T, r rendered) []textPart {
	var out []textPart
	var walk func(kind string, v any)
	walk = func(kind string, v any) {
		switch x := v.(type) {
		case map[string]any:
			k, _ := x["type"].(string)
			for key, e := range x {
				if key != "type" && key != "style" {
					walk(k, e)
				}
			}
		case []any:
			for _, e := range x {
				walk(kind, e)
			}
		case string:
			out = append(out, textPart{kind, x})
		}
	}
	for _, b := range wireBlocks(t, r) {
		walk("", b)
	}
	return out
}
