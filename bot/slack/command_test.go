package slack

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func number3() *int { n := 3; return &n }

func TestParseCommand(t *testing.T) {
	for text, want := range map[string]Query{
		"":                                   {Verb: VerbDiagnose},
		"   ":                                {Verb: VerbDiagnose},
		"help":                               {Verb: VerbHelp},
		"LIST":                               {Verb: VerbList},
		"status":                             {Verb: VerbStatus},
		"playbook cache-thrash":              {Verb: VerbPlaybook, Class: "cache-thrash"},
		"group orders":                       {Verb: VerbDiagnose, Group: "orders"},
		"diagnose group orders":              {Verb: VerbDiagnose, Group: "orders"},
		"Group orders cluster kafka-prod":    {Verb: VerbDiagnose, Group: "orders", Cluster: "kafka-prod"},
		"since 30m group orders":             {Verb: VerbDiagnose, Group: "orders", Since: 30 * time.Minute},
		"broker 3 since 1h30m":               {Verb: VerbDiagnose, Broker: number3(), Since: 90 * time.Minute},
		"broker=3 since=1d":                  {Verb: VerbDiagnose, Broker: number3(), Since: 24 * time.Hour},
		"topic __consumer_offsets":           {Verb: VerbDiagnose, Topic: "__consumer_offsets"},
		`group "my group"`:                   {Verb: VerbDiagnose, Group: "my group"},
		"group “my group”":                   {Verb: VerbDiagnose, Group: "my group"},
		"group `orders`":                     {Verb: VerbDiagnose, Group: "orders"},
		`group="my group" cluster=c`:         {Verb: VerbDiagnose, Group: "my group", Cluster: "c"},
		"group bob's":                        {Verb: VerbDiagnose, Group: "bob's"},
		"group a&lt;b&gt;&amp;amp;":          {Verb: VerbDiagnose, Group: "a<b>&amp;"},
		"group <http://my.group|my.group>":   {Verb: VerbDiagnose, Group: "my.group"},
		"topic <http://orders.com>":          {Verb: VerbDiagnose, Topic: "orders.com"},
		"group <#C0123|orders>":              {Verb: VerbDiagnose, Group: "orders"},
		"group group":                        {Verb: VerbDiagnose, Group: "group"},
		"group=a=b":                          {Verb: VerbDiagnose, Group: "a=b"},
		"group gruppe-für-überweisungen":     {Verb: VerbDiagnose, Group: "gruppe-für-überweisungen"},
		"\tgroup\u00a0orders\n  since   2h ": {Verb: VerbDiagnose, Group: "orders", Since: 2 * time.Hour},
	} {
		got, err := ParseCommand(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseCommand(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// Mistakes are named, and the example that is shown works.
func TestParseCommandMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"orders":                        "group orders",
		"3":                             "broker 3",
		"group":                         "needs a value",
		"group a topic b":               "a group and a topic",
		"group a group b":               "twice",
		"broker three":                  "a number",
		"broker -1":                     "a number",
		"broker 99999999999":            "a number",
		"topic a/b":                     "no topic name",
		"topic ..":                      "no topic name",
		"since yesterday":               "no duration",
		"since 5s":                      "too short",
		"since 2d":                      "too long",
		"since -5m":                     "too short",
		"help me":                       "stands alone",
		"playbook":                      "Which playbook",
		"playbook a b":                  "One class",
		`group "orders`:                 "never closed",
		`group ""`:                      "is empty",
		"group o\u200brders":            "cannot be seen",
		"group \u202eorders":            "cannot be seen",
		"group \xff":                    "cannot be seen",
		strings.Repeat("x ", 2000):      "too long",
		"group " + longName():           "longer than",
		"<!channel> please":             "do not",
		"drop table; group x":           "do not know",
		"cluster":                       "needs a value",
		"group=":                        "is empty",
		"foo=bar":                       "do not know",
		"\u202e\u202e":                  "do not understand",
		"group x since 30m and tell me": "do not know",
	} {
		q, err := ParseCommand(text)
		var usage *UsageError
		if !errors.As(err, &usage) {
			t.Errorf("ParseCommand(%.40q) = %+v, %v; want a UsageError", text, q, err)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("ParseCommand(%.40q): %q does not say %q", text, err, want)
		}
		example, ok := strings.CutPrefix(usage.Example, "/kafka-diagnose ")
		if _, err := ParseCommand(example); !ok || err != nil {
			t.Errorf("ParseCommand(%.40q): its example %q does not work: %v", text, usage.Example, err)
		}
	}
}

func longName() string { return strings.Repeat("n", maxName+1) }

func FuzzParseCommand(f *testing.F) {
	for _, s := range append(nasty, "group orders since 30m", `group "a b"`, "playbook x", "group=“x", "<http://a|b> <", "broker 3 broker") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseCommand(text)
		if err != nil {
			var usage *UsageError
			if !errors.As(err, &usage) || len(err.Error()) > 1000 {
				t.Errorf("error %T of %d bytes", err, len(err.Error()))
			}
			return
		}
		if q.Verb == "" || len(q.Group) > maxName || len(q.Topic) > maxTopic || len(q.Cluster) > maxName || len(q.Class) > maxName {
			t.Errorf("out of bounds: %+v", q)
		}
		if len(subjects(q)) > 1 || q.Since < 0 || q.Since > diagnose.MaxWindow || (q.Broker != nil && *q.Broker < 0) {
			t.Errorf("out of bounds: %+v", q)
		}
		for _, s := range []string{q.Group, q.Topic, q.Cluster, q.Class} {
			if strings.ContainsFunc(s, invisible) {
				t.Errorf("invisible characters in %q", s)
			}
		}
	})
}

func FuzzEnvelope(f *testing.F) {
	f.Add("slash_commands", []byte(`{"command":"/kafka-diagnose","user_id":"U1","trigger_id":"t","is_enterprise_install":"false"}`))
	f.Add("interactive", []byte(`{"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"share","block_id":"b","type":"button","action_ts":"1"}]}`))
	f.Add("events_api", []byte(`{"event_id":"Ev1","event":{"type":"app_mention","user":"U1","text":"<@UB> help","ts":"1.2"}}`))
	s := NewSocket(Config{}, nil, nil, nil)
	f.Fuzz(func(t *testing.T, kind string, payload []byte) {
		job, id := s.decode(envelope{ID: "e", Type: kind, Payload: payload})
		if (job == nil) != (id == "") {
			t.Errorf("job without an id, or an id without a job: %q", id)
		}
	})
}
