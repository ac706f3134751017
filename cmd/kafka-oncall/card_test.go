package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// What to do comes before what it rests on, and a long log line takes few rows.
func TestCardPutsTheNextStepFirst(t *testing.T) {
	out := cliStdin(t, strings.Replace(pollLog, "expired.", "expired. "+strings.Repeat("word ", 60), 1), "diagnose", "--logs", "-").stdout
	next, evidence := strings.Index(out, "Next: "), strings.Index(out, "\nEvidence\n")
	if next < 0 || evidence < next || strings.Count(out[:next], "\n") > 6 {
		t.Errorf("the next step does not follow the verdict:\n%s", out)
	}
	body, _, _ := strings.Cut(out[evidence+1:], "\n\n")
	if rows := strings.Count(body, "\n"); rows > 6 || strings.ContainsAny(body, "│┌") {
		t.Errorf("%d rows for one log line:\n%s", rows, body)
	}
}

// Without evidence there is no heading over nothing.
func TestCardWithoutEvidence(t *testing.T) {
	if out := cliStdin(t, "nothing\n", "diagnose", "--logs", "-").stdout; strings.Contains(out, "\nEvidence") || strings.Contains(out, "Not visible") || strings.Contains(out, "│") {
		t.Error(out)
	}
}

// Addresses stand once, at the end, where the terminal shows no links, and behind a
// word where it does.
func TestCardLinks(t *testing.T) {
	url := "https://prometheus.example/graph?g0.expr=" + strings.Repeat("x", 250)
	d := diagnose.Diagnosis{Findings: []diagnose.Finding{{Citations: []diagnose.Citation{
		{Path: "brokers[3].evictions", Value: "5 evictions", Source: "prometheus: evictions", Link: url},
		{Path: "brokers[3].slots", Value: "64 slots", Source: "kafka: DescribeConfigs", Link: "javascript:alert(1)"},
	}}}}
	for _, live := range []bool{false, true} {
		var b bytes.Buffer
		p, l := &printer{w: &b, width: 100}, linker{live: live}
		evidenceCard(p, d, &l)
		l.write(p)
		out := b.String()
		at := strings.Index(out, url)
		if strings.Count(out, url) != 1 || strings.Contains(out, "javascript") {
			t.Errorf("live %t:\n%s", live, out)
		}
		if heading := strings.Index(out, "Queries"); live != (heading < 0) || !live && at < heading || live && !strings.Contains(out, "graph") {
			t.Errorf("live %t:\n%q", live, out)
		}
	}
}

func TestHyperlinksOnlyWhereKnown(t *testing.T) {
	for env, want := range map[string]bool{
		"": false, "TERM=xterm-256color": false, "TERM=dumb": false, "VTE_VERSION=4200": false, "VTE_VERSION=7600": true,
		"TERM_PROGRAM=iTerm.app": true, "TERM_PROGRAM=Apple_Terminal": false, "KITTY_WINDOW_ID=1": true, "WT_SESSION=": false,
	} {
		if got := hyperlinks([]string{"A=b", env}); got != want {
			t.Errorf("%q: %t", env, got)
		}
	}
}
