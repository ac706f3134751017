package slack

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

// generator makes messages of any size from hostile parts.
type generator struct{ *rand.Rand }

func (g generator) text() string {
	switch g.IntN(6) {
	case 0:
		return ""
	case 1:
		return strings.Repeat(nasty[g.IntN(len(nasty))], 1+g.IntN(3))
	case 2:
		return strings.Repeat("word ", g.IntN(1200))
	case 3:
		runes := make([]rune, g.IntN(60))
		for i := range runes {
			runes[i] = rune(g.IntN(0x10ffff))
		}
		return string(runes)
	}
	return "group orders-" + nasty[g.IntN(len(nasty))]
}

func (g generator) rich() playbooks.Rich {
	var r playbooks.Rich
	for range g.IntN(5) {
		s := playbooks.Span{Text: g.text(), Style: []playbooks.Style{playbooks.Plain, playbooks.Bold, playbooks.Code, "odd"}[g.IntN(4)]}
		switch g.IntN(4) {
		case 0:
			s.URL = []string{"https://ok.example/a?b=c&d=<e>|f", "http://x/" + g.text(), "ftp://x", g.text()}[g.IntN(4)]
		case 1:
			s.Time = time.Unix(g.Int64N(1<<33), 0)
		}
		r = append(r, s)
	}
	return r
}

func (g generator) riches(n int) []playbooks.Rich {
	var out []playbooks.Rich
	for range g.IntN(n + 1) {
		out = append(out, g.rich())
	}
	return out
}

func (g generator) message() playbooks.Message {
	m := playbooks.Message{Text: g.text(), Title: g.rich(), Subject: g.rich(), Summary: g.rich(), Evidence: g.riches(30), Footer: g.riches(9)}
	if g.IntN(3) > 0 {
		m.Step = &playbooks.StepView{
			Number: g.IntN(9), Of: g.IntN(9), Title: g.text(), Safety: playbooks.Safety([]string{"look", "restart", "odd"}[g.IntN(3)]),
			Text: g.rich(), Arithmetic: g.rich(), Command: g.text(), Avoid: g.rich(), Verify: g.rich(),
		}
	}
	for range g.IntN(60) {
		m.Details = append(m.Details, playbooks.Detail{Title: g.text(), Lines: g.riches(40)})
	}
	for range g.IntN(40) {
		m.Buttons = append(m.Buttons, playbooks.Button{
			Action: playbooks.Action([]string{"step_done", "look_again", g.text()}[g.IntN(3)]),
			Label:  g.text(), Value: g.text(), Primary: g.IntN(2) == 0, Describe: g.text(),
		})
	}
	return m
}

// Whatever a message holds, Slack takes it, nobody is mentioned, and headline and
// step are there.
func TestAnyMessageIsWithinLimitsAndInert(t *testing.T) {
	for seed := range uint64(60) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		m := g.message()
		checkRendered(t, m, render(m))
		if text := textOnly(m); text == "" || len(text) > MaxText {
			t.Errorf("text alone has %d bytes", len(text))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The step and the buttons survive any amount of evidence and details, and what
// is left out is said.
func TestOmissionIsStated(t *testing.T) {
	r := render(huge())
	all := string(wire(t, r))
	for _, want := range []string{"Upgraded: sustained thrashing", "Step 1 of 4", "2,071 → 2,072", "grep max.incremental", "Done → next step", "more observations left out", "left out, too long for Slack"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// A root with three observations shows them all: limits must not bite where the
// message is of the size it should be.
func TestOrdinaryCardIsComplete(t *testing.T) {
	all := string(wire(t, render(thrash())))
	for _, no := range []string{"left out", "…"} {
		if strings.Contains(all, no) {
			t.Errorf("an ordinary card was cut: %s", all)
		}
	}
}

func TestCommandsAreNeverCut(t *testing.T) {
	m := thrash()
	m.Step.Command = strings.Repeat("kafka-configs.sh --alter ", 80)
	all := string(wire(t, render(m)))
	if strings.Contains(all, "kafka-configs") || !strings.Contains(all, "too long to show") {
		t.Errorf("a long command must be named, not cut: %s", all)
	}
}

func TestLinks(t *testing.T) {
	for u, want := range map[string]string{
		"https://prometheus.example/graph?a=1&b=2": "https://prometheus.example/graph?a=1&amp;b=2",
		"http://10.0.0.1:9090/x|y":                 "http://10.0.0.1:9090/x%7Cy",
		"javascript:alert(1)":                      "",
		"ftp://x/y":                                "",
		"https://":                                 "",
		"//host/x":                                 "",
		"https://user:pw@host/":                    "",
		"https://good.example@evil.example/":       "",
		"https://x/\u202e":                         "",
		"https://x/a b":                            "https://x/a%20b",
		"https://x/" + strings.Repeat("a", 3000):   "",
	} {
		got, ok := link(u)
		if got != want && (ok || want != "") {
			t.Errorf("link(%.60q) = %q, %v; want %q", u, got, ok, want)
		}
	}
}

func FuzzSpan(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, "bold", s, 200)
		f.Add(s, "code", "https://ok.example/"+s, 20)
	}
	f.Fuzz(func(t *testing.T, text, style, url string, limit int) {
		limit = 3 + (limit&0xfff)%3000
		s := rich(playbooks.Rich{{Text: text, Style: playbooks.Style(style), URL: url}}, limit)
		if size(s) > limit {
			t.Errorf("%d units, limit %d: %q", size(s), limit, s)
		}
		checkInert(t, textPart{"mrkdwn", s})
	})
}
