package playbooks

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func TestBuiltInPlaybooksPassLint(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Lint(set, diagnose.Rules()) {
		t.Error(p)
	}
}

// good is a playbook without faults; each case below breaks one thing in it.
const good = `class: poll-interval
meaning: m
impact: i
steps:
  - id: cap
    title: Set ` + "`max.poll.records={records}`" + `
    safety: change-client
    when: has(per_record_seconds) and per_record_seconds > 0
    compute:
      - name: records
        expr: 150 / per_record_seconds
        unit: count
        round: down 1
        show: "150 ÷ {per_record_seconds} = {records}"
    text: Cap it at {records}.
    command: max.poll.records={records}
    avoid: {text: Do not., why: Because.}
    verify: {read: The group., shows: Nothing lost., condition: ruled_out("poll-interval"), wait: 5m}
`

func TestLintFindsFaults(t *testing.T) {
	if ps := lintOne(t, good); len(ps) > 0 {
		t.Fatalf("the good one has problems: %v", ps)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no verify", "    verify: {read: The group., shows: Nothing lost., condition: ruled_out(\"poll-interval\"), wait: 5m}\n", "", `p.yaml:5:5: steps[0]: the step "cap" has no verify`},
		{"verify without condition", `, condition: ruled_out("poll-interval")`, "", "p.yaml:18:14: steps[0].verify.condition: is missing"},
		{"verify without wait", ", wait: 5m", "", "steps[0].verify.wait: is missing"},
		{"number without arithmetic", "text: Cap it at {records}.", "text: Set `max.poll.records` to 200.", "p.yaml:15:11: steps[0].text: a number for max.poll.records must be computed"},
		{"number in the title", "Set `max.poll.records={records}`", "Set `max.poll.records=200`", "p.yaml:6:12: steps[0].title: a number for max.poll.records must be computed"},
		{"number in the command", "command: max.poll.records={records}", "command: max.poll.records=200", "steps[0].command: a number for max.poll.records"},
		{"computed, not shown", "        show: \"150 ÷ {per_record_seconds} = {records}\"\n", "", "p.yaml:10:15: steps[0].compute[0].name: the value records is advised without its arithmetic"},
		{"otherwise without when", "        show: \"150", "        otherwise: never\n        show: \"150", "compute[0].otherwise: is never shown"},
		{"value that may be missing in text", "        unit: count\n", "        unit: count\n        when: lost > 1\n", "the fact records may be missing"},
		{"unguarded optional fact in otherwise", "        unit: count\n", "        unit: count\n        when: has(return_seconds)\n        otherwise: \"{return_seconds}\"\n", "compute[0].otherwise: the fact return_seconds may be missing"},
		{"invented setting", "text: Cap it at {records}.", "text: Set `min.incremental.fetch.session.eviction.ms` too.", "does not exist: it is a constant of 120 s"},
		{"unknown setting", "text: Cap it at {records}.", "text: Set `max.poll.recods` too.", "max.poll.recods is not a Kafka setting"},
		{"unknown class", "class: poll-interval", "class: poll-intervall", `p.yaml:1:8: class: "poll-intervall" is not a class`},
		{"unknown fact in text", "Cap it at {records}.", "Cap it at {recrods}.", "p.yaml:15:11: steps[0].text: the class poll-interval has no fact recrods"},
		{"unknown fact in when", "when: has(per_record_seconds) and", "when: has(per_record_second) and", "has no fact per_record_second"},
		{"unguarded optional fact in text", "Cap it at {records}.", "It came back after {return_seconds}.", "the fact return_seconds may be missing: say has(return_seconds) in when"},
		{"unguarded optional fact in when", "when: has(per_record_seconds) and per", "when: per", "p.yaml:8:11: steps[0].when: the fact per_record_seconds may be missing"},
		{"guard on one side of or", "has(per_record_seconds) and per", "has(per_record_seconds) or per", "the fact per_record_seconds may be missing"},
		{"expression that does not compile", "per_record_seconds > 0", "per_record_seconds >", "steps[0].when: the expression does not compile"},
		{"expression of the wrong type", "has(per_record_seconds) and per_record_seconds > 0", "per_record_seconds + 1", "steps[0].when"},
		{"text compared as a number", "per_record_seconds > 0", "group > 0", "p.yaml:8:11: steps[0].when: invalid operation"},
		{"unknown class in verify", `ruled_out("poll-interval")`, `ruled_out("poll")`, `p.yaml:18:65: steps[0].verify.condition: "poll" is not a class`},
		{"unknown safety", "safety: change-client", "safety: safe", `p.yaml:7:13: steps[0].safety: "safe" is not a safety level`},
		{"unknown key", "    text: Cap", "    txt: Cap", `p.yaml:15:5: steps[0].txt: unknown key; did you mean "text"?`},
		{"unclosed code", "Cap it at {records}.", "Cap `it at {records}.", "steps[0].text: a code mark is opened and not closed"},
		{"unclosed brace", "Cap it at {records}.", "Cap it at {records.", "a { is not closed"},
		{"bad rounding", "round: down 1", "round: sideways 1", "p.yaml:13:16: steps[0].compute[0].round: round wants up, down or nearest"},
		{"bad unit", "unit: count", "unit: furlong", `"furlong" is not a unit`},
		{"avoid without a reason", ", why: Because.", "", "says what not to do (text) and the reason (why)"},
		{"too long", "text: Cap it at {records}.", "text: " + strings.Repeat("long ", 200), "at most 700 fit the card"},
		{"bad id", "- id: cap", "- id: Cap It", "p.yaml:5:9: steps[0].id: an id is"},
		{"texts for no library", "    verify: {", "    libraries: [{text: Other.}]\n    verify: {", "steps[0].libraries[0].for: name the libraries"},
		{"texts for an unknown library", "    verify: {", "    libraries: [{for: [sarma], text: Other.}]\n    verify: {", `"sarma" is not a library that is known here`},
		{"two texts for one library", "    verify: {", "    libraries: [{for: [sarama], text: Other.}, {for: [sarama], text: More.}]\n    verify: {", "libraries[1].for: sarama has its texts already"},
		{"a library without texts", "    verify: {", "    libraries: [{for: [sarama]}]\n    verify: {", "libraries[0]: says nothing of its own"},
		{"unknown fact for a library", "    verify: {", "    libraries: [{for: [sarama], text: \"It is {recrods}.\"}]\n    verify: {", "libraries[0].text: the class poll-interval has no fact recrods"},
		{"unguarded fact for a library", "    verify: {", "    libraries: [{for: [sarama], text: \"Back after {return_seconds}, {library_by}.\"}]\n    verify: {", "the fact return_seconds may be missing"},
		{"unknown setting for a library", "    verify: {", "    libraries: [{for: [sarama], text: Set `max.poll.recods` too.}]\n    verify: {", "max.poll.recods is not a Kafka setting"},
		{"no steps", good[strings.Index(good, "steps:"):], "steps: []\n", "a playbook has 1 to 10 steps"},
		{"name taken", "name: records", "name: members", "the name members is taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the good playbook", c.old)
			}
			ps := lintOne(t, strings.ReplaceAll(good, c.old, c.new))
			for _, p := range ps {
				if strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("problems %v, want one with %q", ps, c.want)
		})
	}
}

// lintOne loads one playbook over the built-in ones and lists its problems.
func lintOne(t *testing.T, text string) []Problem {
	t.Helper()
	set, err := Load(fstest.MapFS{"p.yaml": {Data: []byte(text)}})
	var ps Problems
	if errors.As(err, &ps) {
		return ps
	}
	if err != nil {
		t.Fatal(err)
	}
	return Lint(set, diagnose.Rules())
}

func TestLintWantsAPlaybookForEachJudgedClass(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	delete(set.books, diagnose.CacheThrash)
	ps := Lint(set, diagnose.Rules())
	if len(ps) != 1 || ps[0].String() != "cache-thrash.yaml: the class cache-thrash is judged and has no playbook" {
		t.Errorf("problems: %v", ps)
	}
}

func TestTwoFilesForOneClass(t *testing.T) {
	_, err := Load(fstest.MapFS{"a.yaml": {Data: []byte(good)}, "b.yml": {Data: []byte(good)}, "readme.txt": {Data: []byte("x")}})
	if err == nil || !strings.Contains(err.Error(), "b.yml:1:8: class: the class poll-interval has a playbook in a.yaml already") {
		t.Errorf("error: %v", err)
	}
}

func TestOverlayReplacesAndAdds(t *testing.T) {
	added := strings.NewReplacer("class: poll-interval", "class: follower-churn", "has(per_record_seconds) and per_record_seconds > 0", `confidence == "likely"`,
		"150 / per_record_seconds", "next_look_seconds * 2", "150 ÷ {per_record_seconds}", "2 × {next_look_seconds}").Replace(good)
	added = strings.ReplaceAll(added, `ruled_out("poll-interval")`, `ruled_out("follower-churn")`)
	set, err := Load(fstest.MapFS{"p.yaml": {Data: []byte(good)}, "f.yaml": {Data: []byte(added)}})
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := set.Show(diagnose.PollInterval); b.Meaning != "m" || len(b.Steps) != 1 {
		t.Errorf("the built-in playbook was not replaced: %+v", b)
	}
	if _, ok := set.Show(diagnose.FollowerChurn); !ok {
		t.Error("the new playbook was not added")
	}
	if ps := Lint(set, diagnose.Rules()); len(ps) > 0 {
		t.Error(ps)
	}
}
