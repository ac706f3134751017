package score

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func judged(truth, found diagnose.Class, more ...func(*Judgement)) Judgement {
	j := Judgement{Truth: truth, Found: found, Right: truth == found, Grounded: truth == found}
	for _, m := range more {
		m(&j)
	}
	return j
}

// The figures of a small set, worked out by hand: three bursts of which one is
// taken for thrashing with confidence, one thrash, one quiet case left undecided.
func TestTally(t *testing.T) {
	confirmed := func(j *Judgement) { j.Confidence = diagnose.Confirmed }
	recorded := func(j *Judgement) { j.Recorded = true }
	heldOut := func(j *Judgement) { j.HeldOut = true }
	loose := func(j *Judgement) { j.Grounded = false }
	partial := func(j *Judgement) { j.Partial = true }
	r := Tally([]Judgement{
		judged(diagnose.RestartBurst, diagnose.RestartBurst, recorded),
		judged(diagnose.RestartBurst, diagnose.RestartBurst, loose),
		judged(diagnose.RestartBurst, diagnose.CacheThrash, confirmed),
		judged(diagnose.CacheThrash, diagnose.CacheThrash, confirmed),
		judged(diagnose.Quiet, diagnose.Undecided, heldOut),
		judged(diagnose.PollInterval, diagnose.Undecided, partial),
	})
	if r.Runs != 6 || r.RecordedRuns != 1 || r.SyntheticRuns != 5 || r.HeldOutRuns != 1 || r.TunedRuns != 5 || r.Scored != 5 {
		t.Errorf("counts: %+v", r)
	}
	// Burst: recall 2/3, precision 1, F1 0.8. Thrash: 1 and 1/2, F1 2/3. Quiet: 0.
	if want := 0.4889; r.MacroF1 != want {
		t.Errorf("macro-F1 %v, want %v", r.MacroF1, want)
	}
	if r.Accuracy != 0.6 || r.GroundedAccuracy != 0.4 || r.WrongConfirmedShare != 0.2 || r.WrongConfirmedRuns != 1 || r.Undecided != 1 {
		t.Errorf("shares: %+v", r.Figures)
	}
	if c := r.PerClass[diagnose.RestartBurst]; c.Recall != 0.6667 || c.Precision != 1 || c.F1 != 0.8 {
		t.Errorf("burst: %+v", c)
	}
	if r.Confusion[diagnose.RestartBurst][diagnose.CacheThrash] != 1 || r.Partial.Scored != 1 {
		t.Errorf("confusion %v, partial %+v", r.Confusion, r.Partial)
	}
	for _, m := range r.Misjudged {
		if m.Truth == diagnose.Quiet {
			t.Error("a held-out case is named")
		}
	}
	if len(r.Misjudged) != 2 {
		t.Errorf("misjudged: %+v", r.Misjudged)
	}
}

var update = flag.Bool("update", false, "write golden files")

// The matrix of what cannot be told apart is an excuse for wrong verdicts: any
// change of it must be seen.
func TestPairsGolden(t *testing.T) {
	const file = "testdata/pairs.golden.md"
	got := PairsTable().Markdown()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestPairsAreKnownClassesWithASource(t *testing.T) {
	for _, p := range Pairs() {
		for _, c := range []diagnose.Class{p.A, p.B} {
			if _, ok := diagnose.Lookup(c); !ok || c == diagnose.Undecided || c == diagnose.Quiet {
				t.Errorf("%+v: %q cannot stand in a pair", p, c)
			}
		}
		if p.A == p.B || p.Source == "" || !strings.Contains(p.Source, "runs") {
			t.Errorf("%+v lacks its source", p)
		}
	}
}

// caseOf is a group case with evidence down to the group's records.
func caseOf(truth diagnose.Class) Case {
	return Case{Meta: Meta{Class: truth, Provenance: Synthetic}, Evidence: diagnose.Evidence{Groups: []diagnose.Group{{
		ID: "orders", Protocol: "classic", Snapshots: []diagnose.GroupSnapshot{{State: "Stable"}},
		History: diagnose.GroupHistory{Reading: diagnose.Reading{Status: diagnose.StatusOK}, Records: []diagnose.GroupRecord{{Generation: 2}}},
	}}}}
}

// aloneOn lets a watcher count the groups on the coordinator.
func aloneOn(c Case, groups int) Case {
	c.Evidence.Watcher = diagnose.Watcher{Reading: diagnose.Reading{Status: diagnose.StatusOK}, StableGroups: []diagnose.CoordinatorGroups{{Broker: 0, Stable: groups - 1, Hurt: 1}}}
	return c
}

// lost is a case in which b was dropped after it had been silent, beside a
// survivor that committed every gap; rebalance timeout 12 s, session 6 s. The next
// owner finds b's partition so much further on.
func lost(silent, gap time.Duration, further int64) Case {
	c := caseOf(diagnose.SessionTimeout)
	at, e, g := t0.Add(-time.Minute), &c.Evidence, &c.Evidence.Groups[0]
	e.At, e.WindowSeconds = t0, 600
	part := func(n int32) diagnose.TopicPartition { return diagnose.TopicPartition{Topic: "t", Partition: n} }
	member := func(id string, n int32) diagnose.RecordMember {
		return diagnose.RecordMember{ID: id, RebalanceTimeoutMS: 12000, SessionTimeoutMS: 6000, Partitions: []diagnose.TopicPartition{part(n)}}
	}
	before, after := at.Add(-time.Minute), member("a", 0)
	after.Partitions = append(after.Partitions, part(1))
	g.History.Records = []diagnose.GroupRecord{
		{At: before, StateAt: before, Generation: 1, Members: []diagnose.RecordMember{member("a", 0), member("b", 1)}},
		{At: at, StateAt: at, Generation: 2, Members: []diagnose.RecordMember{after}},
	}
	commit := func(when time.Time, n int32, offset int64) {
		g.History.Commits = append(g.History.Commits, diagnose.Commit{At: when, TopicPartition: part(n), Offset: offset})
	}
	for when := before.Add(time.Second); when.Before(at); when = when.Add(gap) {
		commit(when, 0, 10)
	}
	commit(at.Add(-silent), 1, 100)
	commit(at.Add(time.Second), 1, 100+further)
	slices.SortFunc(g.History.Commits, func(a, b diagnose.Commit) int { return a.At.Compare(b.At) })
	return c
}

// Each condition of the matrix has a case on either side.
func TestPairsHoldOnlyWhereTheyWereMeasured(t *testing.T) {
	const s, p, w, k = diagnose.SessionTimeout, diagnose.PollInterval, diagnose.ClientUnreachable, diagnose.CoordinatorTrouble
	clients := func(c Case, n int) Case {
		c.Evidence.Clients = make([]diagnose.Client, n)
		c.Evidence.ClientsReading.Status = diagnose.StatusOK
		return c
	}
	noRecords := func(sick ...string) Case {
		c := caseOf(s)
		c.Evidence.At, c.Evidence.WindowSeconds, c.Evidence.Groups[0].History = t0, 600, diagnose.GroupHistory{}
		for _, g := range sick {
			c.Evidence.Watcher.Losses = append(c.Evidence.Watcher.Losses, diagnose.Loss{Group: g, By: t0.Add(-time.Minute)})
		}
		return c
	}
	protocol := func(c Case, name string) Case {
		c.Evidence.Groups[0].Protocol = name
		for i := range c.Evidence.Groups[0].History.Records {
			c.Evidence.Groups[0].History.Records[i].Protocol = name
		}
		return c
	}
	blind := aloneOn(caseOf(s), 1)
	blind.Evidence.Watcher.Status = diagnose.StatusUnreachable
	second := aloneOn(caseOf(s), 1)
	second.Evidence.Groups = append(second.Evidence.Groups, diagnose.Group{ID: "payments"})
	logs := lost(12400*time.Millisecond, 6*time.Second, 5)
	logs.Evidence.Logs.Status = diagnose.StatusOK
	for _, x := range []struct {
		name string
		c    Case
		a, b diagnose.Class
		want bool
	}{
		{"silence beside a slow survivor", lost(12400*time.Millisecond, 6*time.Second, 5), s, p, true},
		{"the same, with the broker's log", logs, s, p, false},
		{"the same under KIP-848, which waits for nobody", protocol(lost(12400*time.Millisecond, 6*time.Second, 5), "consumer"), s, p, false},
		{"silence beside a quick survivor", lost(6*time.Second, time.Second, 5), s, p, false},
		{"silence past the poll limit beside a quick survivor", lost(16*time.Second, time.Second, 5), s, p, false},
		{"idle partitions", lost(6*time.Second, time.Second, 0), s, p, true},
		{"no loss in the records", caseOf(s), s, p, false},
		{"no records, one sick group", noRecords("orders", "orders"), s, p, false},
		{"no records, two sick groups", noRecords("orders", "payments"), s, p, true},
		{"no records under KIP-848", protocol(noRecords("orders"), "consumer"), s, p, true},
		{"one group on the coordinator", aloneOn(caseOf(s), 1), s, k, true},
		{"two groups on the coordinator", aloneOn(caseOf(s), 2), s, k, false},
		{"nobody counted the groups", caseOf(s), s, k, false},
		{"a watcher that could not", blind, s, k, false},
		{"a second group described", second, s, k, false},
		{"one client of the one group", clients(aloneOn(caseOf(w), 1), 1), w, k, true},
		{"two clients of the one group", clients(aloneOn(caseOf(w), 1), 2), w, k, false},
		{"one client of one of two groups", clients(aloneOn(caseOf(w), 2), 1), w, k, false},
		{"a client's metrics tell a frozen process", clients(aloneOn(caseOf(s), 1), 1), s, k, false},
	} {
		for _, pair := range [][2]diagnose.Class{{x.a, x.b}, {x.b, x.a}} {
			if got := sourcesOf(x.c.Evidence, false).inseparable(pair[0], pair[1]); got != x.want {
				t.Errorf("%s: %v, want %v", x.name, got, x.want)
			}
		}
	}
}

func TestAlternativeCountsOnlyWhereNobodyCouldTell(t *testing.T) {
	finding := func(c diagnose.Class, conf diagnose.Confidence, alternatives ...diagnose.Class) diagnose.Finding {
		f := diagnose.Finding{Class: c, Confidence: conf}
		for _, a := range alternatives {
			f.Alternatives = append(f.Alternatives, diagnose.Alternative{Class: a})
		}
		return f
	}
	withClient := caseOf(diagnose.ClientUnreachable)
	withClient.Evidence.Clients = []diagnose.Client{{ClientID: "c1"}}
	withClient.Evidence.ClientsReading.Status = diagnose.StatusOK
	blindCache := Case{Meta: Meta{Class: diagnose.CacheThrash}, Evidence: diagnose.Evidence{Brokers: []diagnose.Broker{{ID: 3}}}}
	countedCache := blindCache
	countedCache.Evidence.Brokers = []diagnose.Broker{{ID: 3, Demand: diagnose.Demand{Reading: diagnose.Reading{Status: diagnose.StatusOK}}}}
	for _, x := range []struct {
		name string
		c    Case
		f    diagnose.Finding
		want bool
	}{
		{"silent network without client metrics", caseOf(diagnose.ClientUnreachable), finding(diagnose.SessionTimeout, diagnose.Likely, diagnose.ClientUnreachable), true},
		{"the same, not named", caseOf(diagnose.ClientUnreachable), finding(diagnose.SessionTimeout, diagnose.Likely, diagnose.ProcessGone), false},
		{"the same, confirmed", caseOf(diagnose.ClientUnreachable), finding(diagnose.SessionTimeout, diagnose.Confirmed, diagnose.ClientUnreachable), false},
		{"client metrics would have told", withClient, finding(diagnose.SessionTimeout, diagnose.Likely, diagnose.ClientUnreachable), false},
		{"a killed process that may still return", caseOf(diagnose.ProcessGone), finding(diagnose.SessionTimeout, diagnose.Provisional, diagnose.ProcessGone), true},
		{"one that has been away for long", caseOf(diagnose.ProcessGone), finding(diagnose.SessionTimeout, diagnose.Likely, diagnose.ProcessGone), false},
		{"a doubt between inseparable causes", caseOf(diagnose.SessionTimeout), finding(diagnose.Undecided, diagnose.Open, diagnose.SessionTimeout, diagnose.ClientUnreachable, diagnose.CoordinatorTrouble), false},
		{"the same, with a single group on the coordinator", aloneOn(caseOf(diagnose.SessionTimeout), 1), finding(diagnose.Undecided, diagnose.Open, diagnose.SessionTimeout, diagnose.ClientUnreachable, diagnose.CoordinatorTrouble), true},
		{"a doubt with a candidate that could be excluded", caseOf(diagnose.SessionTimeout), finding(diagnose.Undecided, diagnose.Open, diagnose.SessionTimeout, diagnose.ClientUnreachable, diagnose.StrayCommits), false},
		{"a doubt with one candidate", caseOf(diagnose.SessionTimeout), finding(diagnose.Undecided, diagnose.Open, diagnose.SessionTimeout), false},
		{"thrashing or routing, nobody counted the clients", blindCache, finding(diagnose.Undecided, diagnose.Open, diagnose.CacheThrash, diagnose.MisroutedSessions), true},
		{"the same, they were counted", countedCache, finding(diagnose.Undecided, diagnose.Open, diagnose.CacheThrash, diagnose.MisroutedSessions), false},
		{"a pair of the other protocol", caseOf(diagnose.PollInterval), finding(diagnose.RollingDeploy, diagnose.Likely, diagnose.PollInterval), false},
	} {
		if got := excused(x.c, x.f); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// What a case allows while it is early is right for that moment only, and only where
// the finding is provisional and names the truth; a pair of the matrix goes first.
func TestRightForThatMoment(t *testing.T) {
	restarted := Case{Meta: Meta{Class: diagnose.Quiet, Provisional: diagnose.RestartBurst, Provenance: Recorded}}
	killed := caseOf(diagnose.ProcessGone)
	killed.Provisional = diagnose.SessionTimeout
	for _, x := range []struct {
		name                 string
		c                    Case
		class                diagnose.Class
		confidence           diagnose.Confidence
		named                []diagnose.Class
		right, matrix, early bool
	}{
		{"a burst that may not come", restarted, diagnose.RestartBurst, diagnose.Provisional, []diagnose.Class{diagnose.Quiet}, true, false, true},
		{"the truth is not named", restarted, diagnose.RestartBurst, diagnose.Provisional, nil, false, false, false},
		{"time has told", restarted, diagnose.RestartBurst, diagnose.Likely, []diagnose.Class{diagnose.Quiet}, false, false, false},
		{"another class", restarted, diagnose.CacheThrash, diagnose.Provisional, []diagnose.Class{diagnose.Quiet}, false, false, false},
		{"the truth itself", restarted, diagnose.Quiet, diagnose.Confirmed, nil, true, false, false},
		{"a pair of the matrix", killed, diagnose.SessionTimeout, diagnose.Provisional, []diagnose.Class{diagnose.ProcessGone}, true, true, false},
		{"the pair, not named", killed, diagnose.SessionTimeout, diagnose.Provisional, []diagnose.Class{diagnose.ClientUnreachable}, false, false, false},
	} {
		f := diagnose.Finding{Class: x.class, Confidence: x.confidence}
		for _, c := range x.named {
			f.Alternatives = append(f.Alternatives, diagnose.Alternative{Class: c})
		}
		j := JudgeFinding(x.c, f)
		if j.Right != x.right || j.Alternative != x.matrix || j.ForNow != x.early {
			t.Errorf("%s: %+v", x.name, j)
		}
		d := degraded("x", []Judgement{j})
		if d.Right+d.ByAlternative+d.ByMoment+d.Undecided+d.WrongNamed+d.WrongOther != 1 || d.ByMoment == 1 != x.early || figures([]Judgement{j}).ByMoment != d.ByMoment {
			t.Errorf("%s is counted as %+v", x.name, d)
		}
	}
}

// kafka_exporter counts members and lag at its scrapes and names nobody.
func TestExporterOnlyShowsWhatTheExporterHas(t *testing.T) {
	ago := func(d time.Duration) time.Time { return t0.Add(-d) }
	members := func(n int) []diagnose.Member { return make([]diagnose.Member, n) }
	read := diagnose.Reading{Status: diagnose.StatusOK, AsOf: t0}
	g := diagnose.Group{
		Reading: read, ID: "orders", Protocol: "classic", LagReading: read,
		History: diagnose.GroupHistory{Reading: read, Records: []diagnose.GroupRecord{
			{At: ago(10 * time.Minute), Generation: 1, Members: make([]diagnose.RecordMember, 3)}, {At: ago(time.Minute), Generation: 2, Members: make([]diagnose.RecordMember, 2)},
		}},
		Snapshots: []diagnose.GroupSnapshot{{At: ago(5 * time.Minute), State: "Stable", Members: members(3)}, {At: ago(30 * time.Second), State: "Stable", Members: members(2)}},
		Lag:       []diagnose.LagPoint{{At: ago(4 * time.Minute), Total: 100}, {At: ago(2 * time.Minute), Total: 100}, {At: t0, Total: 340}},
	}
	next := g
	next.ID, next.Protocol = "payments", "consumer"
	before := diagnose.Evidence{At: t0, WindowSeconds: 600, Target: diagnose.Target{Group: "orders"}, Groups: []diagnose.Group{g, next}, GroupsReading: read, Brokers: []diagnose.Broker{{ID: 1}}}
	var d Degradation
	for _, d = range Degradations() {
		if d.Name == "kafka-exporter-only" {
			break
		}
	}
	e := d.Apply(before)
	if len(e.Brokers) != 0 || len(e.Groups) != 1 || e.Groups[0].Usable() || len(e.Groups[0].Lag)+len(e.Groups[0].Snapshots)+len(e.Groups[0].History.Records) != 0 {
		t.Errorf("more is left than the exporter has: %+v", e.Groups)
	}
	if len(before.Groups) != 2 || len(before.Groups[0].Lag) != 3 {
		t.Error("the argument was changed")
	}
	if !e.Exported.OK() || len(e.Exported.Groups) != 2 {
		t.Fatalf("exported: %+v", e.Exported)
	}
	at := func(in []diagnose.Sample, when time.Time) float64 {
		i := slices.IndexFunc(in, func(s diagnose.Sample) bool { return s.T.Equal(when) })
		if i < 0 {
			return -1
		}
		return in[i].V
	}
	x := e.Exported.Groups[0]
	for _, w := range []struct {
		what      string
		got, want float64
	}{
		{"members before anybody looked", at(x.Members, ago(11*time.Minute)), -1},
		{"members by the record", at(x.Members, ago(10*time.Minute)), 3},
		{"members before the drop", at(x.Members, ago(75*time.Second)), 3},
		{"members after it", at(x.Members, ago(time.Minute)), 2},
		{"lag before it was measured", at(x.Lag, ago(5*time.Minute)), -1},
		{"lag between two moments", at(x.Lag, ago(time.Minute)), 220},
		{"lag now", at(x.Lag, t0), 340},
	} {
		if w.got != w.want {
			t.Errorf("%s: %v, want %v", w.what, w.got, w.want)
		}
	}
	if y := e.Exported.Groups[1]; y.Members != nil || y.Doubt == "" || len(y.Lag) == 0 {
		t.Errorf("a KIP-848 group cannot be counted: %+v", y)
	}
	if err := e.Validate(); err != nil {
		t.Error(err)
	}
}

// A doubt that names the truth tells more than one that does not.
func TestUndecidedThatNamesTheTruth(t *testing.T) {
	named := func(j *Judgement) { j.Named = true }
	d := degraded("x", []Judgement{
		judged(diagnose.ProcessGone, diagnose.Undecided, named), judged(diagnose.ProcessGone, diagnose.Undecided),
		judged(diagnose.ProcessGone, diagnose.SessionTimeout, named), judged(diagnose.ProcessGone, diagnose.ProcessGone, named),
	})
	if d.Undecided != 2 || d.UndecidedNamed != 1 || d.WrongNamed != 1 {
		t.Errorf("%+v", d)
	}
}

// A run that was looked at twice is two cases and one run.
func TestLabRunsAreCountedOnce(t *testing.T) {
	look := func(run, version string) Judgement {
		return Judgement{Truth: diagnose.Quiet, Found: diagnose.Quiet, Right: true, Recorded: true, Run: run, Version: version}
	}
	r := Tally([]Judgement{look("a", "3.9.2"), look("a", "3.9.2"), look("a", "4.4.0"), look("b", "4.4.0"), look("", "")})
	if r.RecordedRuns != 5 || r.LabRunsTotal != 3 || r.LabRuns[diagnose.Quiet]["4.4.0"] != 2 {
		t.Errorf("%d looks, %d runs: %v", r.RecordedRuns, r.LabRunsTotal, r.LabRuns)
	}
}

func TestProducedNamesTheSubject(t *testing.T) {
	three := int32(3)
	e := diagnose.Evidence{Target: diagnose.Target{Broker: &three}, Brokers: []diagnose.Broker{{ID: 1}, {ID: 3}}}
	at := func(path string) diagnose.Finding {
		return diagnose.Finding{Citations: []diagnose.Citation{{Path: path}}}
	}
	produced := Produced(diagnose.CacheThrash, e)
	for path, want := range map[string]bool{
		"brokers[3].evictions": true, "brokers[1].evictions": false, "brokers[3].slots": false, "brokers[3].evictions_total": false,
	} {
		if cites(at(path), produced) != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
	if len(Produced(diagnose.Quiet, e)) != 0 {
		t.Error("nothing is produced where nothing was done")
	}
	for _, entry := range diagnose.Catalogue() {
		_, broker := brokerMarks[entry.Class]
		_, group := groupMarks[entry.Class]
		if none := entry.Class == diagnose.Quiet || entry.Class == diagnose.Undecided; (broker || group) == none || broker && group {
			t.Errorf("%s: what its fault moves must stand in one list", entry.Class)
		}
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	good := `{"schema":1,"at":"2026-11-30T02:30:00Z","window_seconds":600,"target":{"cluster":"c","broker":null,"group":null,"topic":null}}`
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	root := fstest.MapFS{
		"a/case.json":     file(`{"provenance":"synthetic","primary":"quiet"}`),
		"a/evidence.json": file(good),
		"b/case.json":     file("{\n\"provenance\":\"synthetic\",\n\"klass\":\"quiet\"}"),
		"c/case.json":     file(`{"provenance":"synthetic","class":"cache-trash"}`),
		"d/case.json":     file(`{"provenance":"synthetic","class":"quiet"}`),
		"e/case.json":     file(`{"provenance":"made up","class":"quiet"}`),
		"f/case.json":     file(`{"provenance":"synthetic"}`),
		"g/case.json":     file(`{"provenance":"synthetic","class":"quiet","set":"heldout"}`),
		"h/case.json":     file(`{"provenance":"synthetic","class":"quiet"}`),
		"h/evidence.json": file(`{"at":`),
	}
	want := map[string]string{
		"a": "", "b": "line 3", "c": "cache-trash", "d": "no evidence.json", "e": "made up", "f": "neither class nor primary", "g": "heldout", "h": "line 1",
	}
	for c, err := range Load(root) {
		text := ""
		if err != nil {
			text = err.Error()
		}
		if w, ok := want[c.Name]; !ok || (w == "") != (err == nil) || !strings.Contains(text, w) {
			t.Errorf("%s: %q, want %q", c.Name, text, w)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
}

var t0 = time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)

// counter is a series scraped every minute for the last 15.
func counter(values ...float64) diagnose.Metric {
	m := diagnose.Metric{Reading: diagnose.Reading{Status: diagnose.StatusOK}, Series: []diagnose.Series{{}}}
	for i, v := range values {
		at := t0.Add(-time.Duration(len(values)-1-i) * time.Minute)
		m.Series[0].Samples = append(m.Series[0].Samples, diagnose.Sample{T: at, V: v})
	}
	return m
}

func TestResetCounters(t *testing.T) {
	e := diagnose.Evidence{At: t0, WindowSeconds: 600, Brokers: []diagnose.Broker{{ID: 1, Signals: map[diagnose.Signal]diagnose.Metric{
		diagnose.SignalEvictions: counter(10, 10, 12, 12, 15, 20, 20, 20),
		diagnose.SignalErrors70:  counter(10, 10, 12, 12, 12, 12, 12, 13),
		diagnose.SignalSessions:  counter(64, 64, 64, 64, 64, 64, 64, 64),
	}}}}
	for _, d := range Degradations() {
		if d.Name != "counters-reset" {
			continue
		}
		signals := d.Apply(e).Brokers[0].Signals
		values := func(s diagnose.Signal) (out []float64) {
			for _, x := range signals[s].Series[0].Samples {
				out = append(out, x.V)
			}
			return out
		}
		for s, want := range map[diagnose.Signal][]float64{
			diagnose.SignalEvictions: {10, 10, 12, 0, 3, 8, 8, 8},
			diagnose.SignalErrors70:  {10, 10, 12, 1},
			diagnose.SignalSessions:  {64, 64, 64, 64, 64, 64, 64, 64},
		} {
			if got := values(s); !equal(got, want) {
				t.Errorf("%s: %v, want %v", s, got, want)
			}
		}
	}
	if got := e.Brokers[0].Signals[diagnose.SignalEvictions].Series[0].Samples[7].V; got != 20 {
		t.Errorf("the argument was changed: %v", got)
	}
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestArticles(t *testing.T) {
	three := int32(3)
	broker := func(signals map[diagnose.Signal]diagnose.Metric, group string) diagnose.Evidence {
		e := diagnose.Evidence{At: t0, WindowSeconds: 600, Brokers: []diagnose.Broker{{ID: 3, Signals: signals, Slots: diagnose.Setting{Value: "100"}}}}
		if e.Target.Group = group; group == "" {
			e.Target.Broker = &three
		}
		return e
	}
	for _, x := range []struct {
		name string
		e    diagnose.Evidence
		want diagnose.Class
	}{
		{"evictions of sessions nobody uses", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalEvictions: counter(1, 1, 65, 65)}, ""), diagnose.CacheThrash},
		{"errors after a start", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalErrors70: counter(0, 20, 20), diagnose.SignalProcessStart: counter(float64(t0.Unix() - 300))}, ""), diagnose.RestartBurst},
		{"a full cache of dead sessions", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalSessions: counter(96, 96)}, ""), diagnose.CacheNearLimit},
		{"old errors only", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalErrors70: counter(20, 20, 20)}, ""), diagnose.Quiet},
		{"a commit refused", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalOffsetCommit25: counter(1, 2, 3)}, "orders"), diagnose.PollInterval},
		{"a heartbeat refused", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalHeartbeat25: counter(1, 2, 3), diagnose.SignalOffsetCommit25: counter(1, 2, 3)}, "orders"), diagnose.SessionTimeout},
		{"a sync refused", broker(map[diagnose.Signal]diagnose.Metric{diagnose.SignalHeartbeat25: counter(1, 2, 3), diagnose.SignalSyncGroup25: counter(1, 2)}, "orders"), diagnose.JoinSyncRace},
		{"nothing refused", broker(nil, "orders"), diagnose.Quiet},
	} {
		if got := Articles(x.e); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

func TestLagOnly(t *testing.T) {
	group := func(points ...[2]int64) diagnose.Evidence {
		g := diagnose.Group{ID: "orders"}
		for _, p := range points {
			g.Lag = append(g.Lag, diagnose.LagPoint{Total: p[0], CommittedTotal: p[1]})
		}
		return diagnose.Evidence{Target: diagnose.Target{Group: "orders"}, Groups: []diagnose.Group{g}}
	}
	for _, x := range []struct {
		name string
		e    diagnose.Evidence
		want diagnose.Class
	}{
		{"nothing to read", group(), diagnose.Quiet},
		{"no lag once", group([2]int64{10, 1}, [2]int64{0, 20}, [2]int64{5, 30}), diagnose.Quiet},
		{"stopped", group([2]int64{10, 5}, [2]int64{20, 5}), diagnose.ProcessGone},
		{"falling behind", group([2]int64{10, 5}, [2]int64{20, 9}, [2]int64{30, 12}), diagnose.LagStableGroup},
		{"catching up", group([2]int64{30, 5}, [2]int64{20, 19}), diagnose.Quiet},
	} {
		if got := LagOnly(x.e); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

func TestTablesLineUp(t *testing.T) {
	table := Table{Head: []string{"class", "n"}, Rows: [][]string{{"quiet", "12"}, {"–", "3"}}}
	if got, want := table.Plain(), "class   n\nquiet  12\n–       3\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := table.Markdown(), "| class | n |\n|---|---:|\n| quiet | 12 |\n| – | 3 |\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
