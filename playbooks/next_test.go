package playbooks

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/sizing"
)

func TestNextSkipsDoneStepsAndEnds(t *testing.T) {
	set, d := defaultSet(t), thrash()
	var ids, done []string
	for {
		s, ok := set.Next(d, done)
		if !ok {
			break
		}
		ids = append(ids, s.ID)
		if s.View.Number != len(ids) || s.View.Of != 3 {
			t.Errorf("step %s is %d of %d, want %d of 3", s.ID, s.View.Number, s.View.Of, len(ids))
		}
		done = append(done, s.ID)
	}
	if got := strings.Join(ids, " "); got != "raise-slots biggest-group short-lived-clients" {
		t.Errorf("steps: %s", got)
	}
}

func TestNextWithoutAPlaybook(t *testing.T) {
	if s, ok := defaultSet(t).Next(diag("no-such-class", diagnose.Likely, "group g"), nil); ok {
		t.Errorf("a step came out of nowhere: %+v", s)
	}
	if s, ok := defaultSet(t).Next(diagnose.Diagnosis{}, nil); ok {
		t.Errorf("a step for no finding: %+v", s)
	}
}

// set gives a fact another number, or adds it.
func set(d *diagnose.Diagnosis, name string, u diagnose.Unit, n float64) {
	f := &d.Findings[0]
	for i := range f.Facts {
		if f.Facts[i].Name == name {
			f.Facts[i].Number = n
			return
		}
	}
	f.Facts = append(f.Facts, num(name, u, n))
}

// The sizes follow from the numbers: 64 consumers and 2 followers are below
// 300, so the shards are more uneven; nothing is sized below the default, and
// nothing is advised that is not above what is set.
func TestComputedSlots(t *testing.T) {
	const slots = "max.incremental.fetch.session.cache.slots="
	for _, c := range []struct {
		consumers, followers, have float64
		steps, want                string
	}{
		{1284, 26, 1000, "raise-slots", slots + "2072"}, // (1605 + 52) × 1.25 = 2071.25
		{64, 2, 64, "raise-slots", slots + "1000"},      // 126 → the default
		{64, 2, 1000, "biggest-group", ""},              // as set already
		{4000, 0, 1000, "raise-slots", slots + "6256"},  // 6250 → a multiple of 8
		{6400, 0, 1000, "raise-slots", slots + "10000"},
		{10000, 30, 1000, "ask-the-platform raise-slots", slots + "15704"},
		{0, 0, 64, "raise-slots", slots + "1000"},
		{1e12, 1e12, 1000, "ask-the-platform raise-slots", slots + "2147483640"}, // no more than Kafka's int
		{-5, -5, 64, "raise-slots", slots + "1000"},
	} {
		d := thrash()
		set(&d, "demand_consumers", diagnose.UnitCount, c.consumers)
		set(&d, "demand_followers", diagnose.UnitCount, c.followers)
		set(&d, "slots", diagnose.UnitCount, c.have)
		var ids []string
		command := ""
		for _, s := range defaultSet(t).Steps(d) {
			if ids = append(ids, s.ID); s.ID == "raise-slots" {
				command = s.View.Command
			}
		}
		if got := strings.Join(ids, " "); !strings.HasPrefix(got, c.steps) || command != c.want {
			t.Errorf("%v consumers, %v followers, %v slots: %s with %s, want %s with %s", c.consumers, c.followers, c.have, got, command, c.steps, c.want)
		}
	}
}

// The arithmetic on a card says what the functions do.
func TestShownSumIsTheSumThatIsDone(t *testing.T) {
	s, _ := defaultSet(t).Next(thrash(), nil)
	want := "1,284 consumers × 1.25 for deploys + 2 × 26 followers = 1,657; 1,657 × 1.25 as the 8 parts fill unevenly = 2,071; " +
		"short-lived clients are not counted (new connections are not exported): 120 slots more (614 kB) for each that arrives in a second → 2,072"
	if got := s.View.Arithmetic.String(); !strings.HasPrefix(got, want) {
		t.Errorf("%q", got)
	}
	if planned := sizing.Sessions(1284, 26, sizing.DeploySurge); planned != 1657 || sizing.Want(planned) != 2071.25 {
		t.Errorf("%v → %v", planned, sizing.Want(planned))
	}
}

// Short-lived clients leave a dead session for 120 s each: known arrivals are in
// the sum with their slots and their memory.
func TestShortLivedClientsAreInTheSum(t *testing.T) {
	for rate, want := range map[float64]struct{ sum, command string }{
		0:    {"120 s × 0 new connections a second, at most so many short-lived clients = 0 slots more (0 bytes) → 2,072", "2072"},
		0.01: {"120 s × 0.01 new connections a second, at most so many short-lived clients = 2 slots more (10.2 kB) → 2,080", "2080"},
		2.5:  {"120 s × 2.5 new connections a second, at most so many short-lived clients = 300 slots more (1.54 MB) → 2,376", "2376"},
		1e9:  {"2,147,483,640", "2147483640"},
		-3:   {"= 0 slots more", "2072"},
	} {
		d := thrash()
		set(&d, "new_connections_per_second", diagnose.UnitCount, rate)
		for _, s := range defaultSet(t).Steps(d) {
			if s.ID != "raise-slots" {
				continue
			}
			if got := s.View.Arithmetic.String(); !strings.Contains(got, want.sum) || s.View.Command != "max.incremental.fetch.session.cache.slots="+want.command {
				t.Errorf("%v a second: %s\n%s, want %s", rate, got, s.View.Command, want)
			}
		}
	}
}

func TestPollBudgetFollowsTheMeasuredTime(t *testing.T) {
	for perRecord, want := range map[float64]string{
		0.64: "cap-the-batch max.poll.records=230", 20: "cap-the-batch max.poll.records=7", 0.31: "cap-the-batch max.poll.records=480", 150: "cap-the-batch max.poll.records=1",
		// Beyond, no cap helps, or the default batch fits: another step comes first.
		151: "more-time max.poll.interval.ms=490000", 1e9: "more-time max.poll.interval.ms=490000", 0.01: "one-slow-call ",
		1e-12: "one-slow-call ", 0: "more-time max.poll.interval.ms=490000", -1: "more-time max.poll.interval.ms=490000",
	} {
		d := pollBreach()
		set(&d, "per_record_seconds", diagnose.UnitSeconds, perRecord)
		if s, _ := defaultSet(t).Next(d, nil); s.ID+" "+s.View.Command != want {
			t.Errorf("%v s a record: %s %s, want %s", perRecord, s.ID, s.View.Command, want)
		}
	}
}

// Without a time per record, its upper bound or the slow batch itself gives the
// number, and the card says what is missing.
func TestPollBudgetWithoutATimePerRecord(t *testing.T) {
	for _, c := range []struct {
		atMost, stall float64
		returns       bool
		steps, sum    string
	}{
		// 300 s ÷ 2 ÷ 322.6 s = 46 %.
		{0, 0, true, "scale-the-batch time-a-batch more-time move-work-off", "half of the limit of 5 min ÷ 5 min 23 s that the slow batch took at most = 46 %; where it is 500, 500 × 46 % = 230"},
		{0, 600, true, "scale-the-batch time-a-batch more-time-by-polls move-work-off", "÷ 10 min that the slow batch took at most = 25 %; where it is 500, 500 × 25 % = 125"},
		{2, 600, true, "scale-the-batch time-a-batch more-time-by-polls move-work-off", "= 25 %"},
		{0.1, 0, true, "one-slow-call time-a-batch more-time move-work-off", "× at most 100 ms a record = 50 s of 5 min; half of 5 min ÷ 100 ms, rounded down → 1,500"},
		{0, 0, false, "time-a-batch move-work-off", ""},
	} {
		d := pollBreach()
		f := &d.Findings[0]
		f.Facts = slices.DeleteFunc(f.Facts, func(x diagnose.Fact) bool {
			return strings.HasPrefix(x.Name, "per_record") || x.Name == "return_seconds" && !c.returns
		})
		f.Facts = append(f.Facts, txt("per_record_missing", "the group had no backlog, so its commits show the producers' pace"))
		if c.atMost > 0 {
			set(&d, "per_record_at_most_seconds", diagnose.UnitSeconds, c.atMost)
		}
		if c.stall > 0 {
			set(&d, "stall_seconds", diagnose.UnitSeconds, c.stall)
		}
		steps := defaultSet(t).Steps(d)
		var ids []string
		said := false
		for _, s := range steps {
			ids = append(ids, s.ID)
			said = said || strings.Contains(s.Text, "the producers' pace")
		}
		if got := strings.Join(ids, " "); got != c.steps || !strings.Contains(steps[0].View.Arithmetic.String(), c.sum) || !said {
			t.Errorf("%+v: %s, %q, said what is missing: %v", c, got, steps[0].View.Arithmetic.String(), said)
		}
	}
}

// The gap that the client's own metrics show beats the one between commits.
func TestPollLimitFollowsTheObservedGap(t *testing.T) {
	for stall, want := range map[float64]string{
		0: "max.poll.interval.ms=490000", 299: "max.poll.interval.ms=490000", 300: "max.poll.interval.ms=450000",
		420: "max.poll.interval.ms=630000", 1e9: "max.poll.interval.ms=86400000",
	} {
		d := pollBreach()
		if stall > 0 {
			set(&d, "stall_seconds", diagnose.UnitSeconds, stall)
		}
		if s, _ := defaultSet(t).Next(d, []string{"cap-the-batch"}); s.View.Command != want {
			t.Errorf("%v s between polls: %s, want %s", stall, s.View.Command, want)
		}
	}
}

// A short session is worth a step, the default is not.
func TestShortSessionIsNamed(t *testing.T) {
	for session, want := range map[float64]string{
		10: "a pause of 10 s − 3 s heartbeat interval (as set) = 7 s is enough to lose a member; Kafka's default, 45 s, or the broker's limit if that is less → 45000 ms",
		6:  "a pause of 6 s − 3 s heartbeat interval (as set) = 3 s is enough to lose a member; Kafka's default, 45 s, or the broker's limit if that is less → 45000 ms",
		30: "", 45: "", 0: "", 1e9: "",
	} {
		d := sessionDoubt()
		set(&d, "session_timeout_seconds", diagnose.UnitSeconds, session)
		heartbeat(&d, 3, "as set")
		got := ""
		for _, s := range defaultSet(t).Steps(d) {
			if s.ID == "default-session" {
				got = s.View.Arithmetic.String()
			}
		}
		if got != want {
			t.Errorf("%v s: %q, want %q", session, got, want)
		}
	}
}

// The pause that can cost a session is the session less one heartbeat interval: a
// shorter one between two polls is not the cause, and the network is looked at.
func TestPauseIsHeldAgainstTheHeartbeat(t *testing.T) {
	for _, c := range []struct {
		stall, beat float64
		by          string
		step, sum   string
	}{
		{38, 5, "the setting of the group or its broker", "look-at-the-network", ""},
		{41, 5, "the setting of the group or its broker", "find-the-pause", "45 s session timeout − 5 s heartbeat interval (the setting of the group or its broker) = 40 s"},
		{29, 15, "a third", "look-at-the-network", ""},
		{31, 15, "a third", "find-the-pause", "45 s session timeout − 15 s heartbeat interval (a third) = 30 s"},
	} {
		d := sessionDoubt()
		set(&d, "stall_seconds", diagnose.UnitSeconds, c.stall)
		heartbeat(&d, c.beat, c.by)
		if slices.ContainsFunc(defaultSet(t).Steps(d), func(s Step) bool { return s.ID == "look-at-the-network" }) {
			t.Errorf("%+v: the network is blamed, and nothing covers the drop", c)
		}
		d.Findings[0].Facts = append(d.Findings[0].Facts, txt("metrics_cover_drop", "yes"))
		var ids []string
		for _, s := range defaultSet(t).Steps(d) {
			ids = append(ids, s.ID)
			if s.ID == c.step && s.View.Arithmetic.String() != c.sum {
				t.Errorf("%+v: %q", c, s.View.Arithmetic.String())
			}
		}
		if !slices.Contains(ids, c.step) || slices.Contains(ids, "find-the-pause") && slices.Contains(ids, "look-at-the-network") {
			t.Errorf("%+v: %v", c, ids)
		}
	}
}

func heartbeat(d *diagnose.Diagnosis, beat float64, by string) {
	f := &d.Findings[0]
	f.Facts = slices.DeleteFunc(f.Facts, func(x diagnose.Fact) bool { return x.Name == "heartbeat_interval_by" })
	f.Facts = append(f.Facts, txt("heartbeat_interval_by", by))
	set(d, "heartbeat_interval_seconds", diagnose.UnitSeconds, beat)
}

// A fact that a rule failed to provide shows as a step that says so.
func TestMissingFactIsSaidNotBlank(t *testing.T) {
	d := lagging()
	d.Findings[0].Facts = d.Findings[0].Facts[1:] // without lag_records
	for _, s := range defaultSet(t).Steps(d) {
		if s.ID == "one-slow-partition" && !strings.Contains(s.Text, "the fact lag_records is missing") {
			t.Errorf("text: %q", s.Text)
		}
	}
}

func TestCommandsQuoteOutsideText(t *testing.T) {
	d := lagging()
	d.Findings[0].Subject = "group x'; reboot #\n$(id)"
	s, _ := defaultSet(t).Next(d, nil)
	if want := `--group 'x'\''; reboot # $(id)'`; !strings.HasSuffix(s.View.Command, want) {
		t.Errorf("command %q, want the end %q", s.View.Command, want)
	}
	for in, want := range map[string]string{"orders": "orders", "": "''", "-rf": "'-rf'", "a b": "'a b'", "a\nb": "ab", "`id`": "'`id`'"} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestWorked(t *testing.T) {
	set := defaultSet(t)
	fine := quietDiag()
	fine.RuledOut = []diagnose.RuledOut{{Class: diagnose.CacheThrash, Because: "0 evictions"}}
	blind := quietDiag()
	blind.BlindSpots = []diagnose.BlindSpot{{Reading: "broker_metrics", LeavesOpen: []diagnose.Class{diagnose.CacheThrash}}}
	for _, c := range []struct {
		name  string
		fresh diagnose.Diagnosis
		want  bool
	}{{"ruled out", fine, true}, {"still there", thrash(), false}, {"not visible", blind, false}} {
		if got, err := set.Worked(diagnose.CacheThrash, "raise-slots", c.fresh); err != nil || got != c.want {
			t.Errorf("%s: %v %v, want %v", c.name, got, err, c.want)
		}
	}
	if ok, err := set.Worked(diagnose.RestartBurst, "wait", restartBurst(diagnose.Confirmed, "yes")); err != nil || !ok {
		t.Errorf("a burst that is over: %v %v", ok, err)
	}
	for _, id := range []string{"raise-slots", "nope"} {
		if _, err := set.Worked("no-such-class", id, fine); err == nil {
			t.Errorf("no error for a step that does not exist: %s", id)
		}
	}
}

// Every verify condition can be evaluated, whatever the fresh diagnosis says.
func TestVerifyConditionsEvaluate(t *testing.T) {
	set := defaultSet(t)
	for _, b := range set.List() {
		for _, s := range b.Steps {
			for _, fresh := range []diagnose.Diagnosis{quietDiag(), thrash(), diag(b.Class, diagnose.Likely, "broker 1"), {}} {
				if _, err := set.Worked(b.Class, s.ID, fresh); err != nil {
					t.Errorf("%s %s: %v", b.Class, s.ID, err)
				}
			}
		}
	}
}

func TestTemplates(t *testing.T) {
	v := values{"n": number(diagnose.UnitCount, 2072), "who": {unit: unit(diagnose.UnitText), text: "a`b**c{n}"}, "s": number(diagnose.UnitSeconds, 130)}
	for in, want := range map[string]string{
		"plain":                        "plain",
		"`slots={n}` is {n}":           "`slots=2072` is 2,072",
		"**{n}** of {who}":             "*2,072* of a`b**c{n}",
		"wait {s}, `{s}`":              "wait 2 min 10 s, `130`",
		"{{n} stays":                   "{n} stays",
		"`**not bold**`":               "`**not bold**`",
		"max(a, b) * 2 and **b** `c`.": "max(a, b) * 2 and *b* `c`.",
	} {
		tpl, err := parseTemplate(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		r, err := tpl.fill(v)
		if err != nil || marked(r) != want {
			t.Errorf("%q: %q %v, want %q", in, marked(r), err, want)
		}
	}
	for _, bad := range []string{"`open", "**open", "{open", "{Not a name}", "{}"} {
		if _, err := parseTemplate(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestNumbersAreWrittenForReading(t *testing.T) {
	for _, c := range []struct {
		unit diagnose.Unit
		n    float64
		want string
	}{
		{diagnose.UnitCount, 1310, "1,310"}, {diagnose.UnitCount, 1234567, "1,234,567"}, {diagnose.UnitCount, -1000, "-1,000"},
		{diagnose.UnitCount, 42.55, "42.5"}, {diagnose.UnitCount, 0.64, "0.64"}, {diagnose.UnitCount, 1.5, "1.5"},
		{diagnose.UnitSeconds, 0, "0 s"}, {diagnose.UnitSeconds, 0.64, "640 ms"}, {diagnose.UnitSeconds, 8.1, "8.1 s"}, {diagnose.UnitSeconds, 45, "45 s"},
		{diagnose.UnitSeconds, 59.97, "1 min"}, {diagnose.UnitSeconds, 130, "2 min 10 s"}, {diagnose.UnitSeconds, 300, "5 min"},
		{diagnose.UnitSeconds, 11100, "3 h 5 min"}, {diagnose.UnitSeconds, 3 * 86400, "3 d"}, {diagnose.UnitMillis, 45000, "45 s"},
		{diagnose.UnitBytes, 10608640, "10.6 MB"}, {diagnose.UnitBytes, 512, "512 bytes"}, {diagnose.UnitPercent, 23, "23 %"},
	} {
		if got := number(c.unit, c.n).human(false); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.n, c.unit, got, c.want)
		}
	}
}

func TestLoadRefusesBadFolders(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"faulty yaml": {"x.yaml": {Data: []byte("class: [")}},
		"too large":   {"x.yaml": {Data: make([]byte, maxFile+1)}},
	} {
		if _, err := Load(fsys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUnfilledReadsWithoutAnIncident(t *testing.T) {
	for text, want := range map[string]Rich{
		"Set `max.poll.records={records_new}` now": {{Text: "Set "}, {Text: "max.poll.records=‹records new›", Style: Code}, {Text: " now"}},
		"{member} is **gone**":                     {{Text: "‹member› is "}, {Text: "gone", Style: Bold}},
		"a {{ brace":                               {{Text: "a { brace"}},
		"a `mark that is not closed":               {{Text: "a `mark that is not closed"}},
	} {
		if got := Unfilled(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// One of a thing is one: 1 member, 2 members.
func TestCountsAgreeWithTheirNouns(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 members for 0 partitions", 1: "1 member for 1 partition", 2: "2 members for 2 partitions", 1001: "1,001 members for 1,001 partitions",
	} {
		tpl, err := parseTemplate("{n} members for {n} partitions")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := tpl.fill(values{"n": number(diagnose.UnitCount, n)}); err != nil || r.String() != want {
			t.Errorf("%v: %q, %v", n, r.String(), err)
		}
	}
}

// A reason that tells what happened is said with its condition while other causes are
// open; a general one as it is.
func TestReasonsHoldAsLongAsTheCause(t *testing.T) {
	for _, tc := range []struct {
		why  string
		open bool
		want string
	}{
		{"Its heartbeats were fine.", true, "Do not. If it is this cause: its heartbeats were fine."},
		{"Its heartbeats were fine.", false, "Do not. Its heartbeats were fine."},
		{"The pauses stay.", true, "Do not. The pauses stay."},
	} {
		avoid, _ := parseTemplate("Do not.")
		why, _ := parseTemplate(tc.why)
		v := values{}
		if tc.open {
			v["alternatives"] = value{unit: unit(diagnose.UnitText), text: "x"}
		}
		if r, err := (step{avoid: avoid, why: why}).fillAvoid(v); err != nil || r.String() != tc.want {
			t.Errorf("%q, open %v: %q, %v", tc.why, tc.open, r.String(), err)
		}
	}
}
