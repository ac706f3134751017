//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/lab"
)

// scenario is one way to break a cluster and what the thread must say.
type scenario struct {
	name string
	// stable is how long the group was stable before; longer than the window of
	// 60 s, its last record is outside of it.
	stable time.Duration
	// class is what must be named; steps are the ids of the step that may be next.
	class diagnose.Class
	steps []string
	// alternatives are classes that must be named beside it.
	alternatives []diagnose.Class
	// cut kills the bot with SIGKILL when the incident is young.
	cut bool
}

func (s scenario) title() string {
	if s.stable > 0 {
		return s.name + "-stable"
	}
	return s.name
}

const (
	// long is longer than the group cluster's window of 60 s.
	long = 75 * time.Second
	// apart is the time from one fault to the next where groups wait side by side.
	apart = 40 * time.Second
)

// groupScenarios are in this order because a coordinator's errors name no group:
// those that raise them stand apart by more than the window of 60 s.
func groupScenarios() []scenario {
	return []scenario{
		{name: "session-timeout", class: diagnose.SessionTimeout, steps: []string{"find-the-pause", "read-the-client-log", "find-the-process"}},
		{name: "poll-interval", class: diagnose.PollInterval, steps: []string{"cap-the-batch", "scale-the-batch", "one-slow-call", "time-a-batch"}, cut: true},
		{name: "process-gone", class: diagnose.ProcessGone, steps: []string{"find-why-it-died", "find-why-it-died-on-host"}},
		{name: "rolling-deploy", class: diagnose.RollingDeploy, steps: []string{"nothing-to-do"}},
		{name: "join-sync-race", class: diagnose.JoinSyncRace, steps: []string{"look-at-the-newcomer", "look-at-the-newcomer-on-host"}},
	}
}

func fetchScenarios() []scenario {
	return []scenario{
		{name: "restart-burst", class: diagnose.RestartBurst, steps: []string{"wait", "nothing-to-do"}},
		{name: "cache-thrash", class: diagnose.CacheThrash, steps: []string{"raise-slots"}},
	}
}

// versions are the brokers to run on; soak adds 3.9.2 and repeats.
func versions() []string {
	if rounds() > 1 {
		return []string{"4.4.0", "3.9.2"}
	}
	return []string{"4.4.0"}
}

func rounds() int {
	n, err := strconv.Atoi(os.Getenv("KAFKA_ONCALL_SOAK"))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// TestRealBrokers runs a fetch-session cluster and a group cluster side by side,
// each with its own Prometheus and Alertmanager, and one bot for both.
func TestRealBrokers(t *testing.T) {
	for _, version := range versions() {
		for round := range rounds() {
			t.Run(fmt.Sprintf("%s/round-%d", version, round+1), func(t *testing.T) { both(t, version) })
		}
	}
}

func both(t *testing.T, version string) {
	ctx, cancel := context.WithTimeout(context.Background(), 17*time.Minute)
	defer cancel()
	w := newWorld(ctx, t, version)
	var wg sync.WaitGroup
	wg.Go(func() {
		w.play(ctx, w.fetch, fetchScenarios())
		// The clients go, so the thrashing ends and its alert with it.
		close(w.fetchDone)
	})
	wg.Go(func() {
		w.play(ctx, w.group, groupScenarios())
		w.playStable(ctx, w.group, groupScenarios())
	})
	wg.Wait()
	w.endings.Wait()
	w.sane()
	close(w.groupDone)
	w.running.Wait()
}

// world is everything that runs.
type world struct {
	t   *testing.T
	dir string
	// fetchDone and groupDone end a cluster's scenarios: until then their
	// clients stay, so that the end of one is no event for the next.
	fetchDone, groupDone chan struct{}
	endings              sync.WaitGroup
	slack                *slackdouble.Server
	fetch                *lab.Cluster
	group                *lab.Cluster
	bot                  *bot
	// running are the scenarios that still hold their clients.
	running sync.WaitGroup
}

func newWorld(ctx context.Context, t *testing.T, version string) *world {
	w := &world{t: t, dir: t.TempDir(), fetchDone: make(chan struct{}), groupDone: make(chan struct{})}
	if err := os.MkdirAll(recordings(), 0o755); err != nil {
		t.Fatal(err)
	}
	rules, err := shortRules(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("KAFKA_LAB_CACHE")
	if cache == "" {
		cache = filepath.Join("..", ".klab")
	}
	up := func(name string, brokers int) *lab.Cluster {
		c, err := lab.Up(ctx, lab.Options{
			Version: version, Brokers: brokers, Name: name, Dir: w.dir, Cache: cache, Slots: 64, RulesFile: rules,
			ScrapeInterval: time.Second, HeapMB: 400, Progress: func(line string) { t.Log(name + ": " + line) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Down(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	w.fetch = up("fetch", 3)
	w.group = up("group", 1)
	w.slack, err = slackdouble.Start("127.0.0.1:0", slackdouble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.slack.Close)
	w.bot = newBot(t, w.dir, w.slack, site{w.fetch, 6 * time.Minute}, site{w.group, time.Minute})
	t.Cleanup(w.keep)
	w.bot.start(ctx)
	for _, c := range []*lab.Cluster{w.fetch, w.group} {
		if err := c.ScrapeBot(w.bot.addr); err != nil {
			t.Fatal(err)
		}
		if err := c.SetWebhook(ctx, "http://"+w.bot.addr+"/webhook/alertmanager", webhookToken); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// play runs scenarios on one cluster, one after another; their incidents end in
// the background.
func (w *world) play(ctx context.Context, c *lab.Cluster, all []scenario) {
	for _, s := range all {
		w.one(ctx, c, s)
	}
}

// playStable runs the same scenarios with groups that were stable for longer
// than the window. They wait side by side and break one after another.
func (w *world) playStable(ctx context.Context, c *lab.Cluster, all []scenario) {
	var wg sync.WaitGroup
	for i, s := range all {
		s.stable, s.cut = long+time.Duration(i)*apart, false
		wg.Go(func() { w.one(ctx, c, s) })
	}
	wg.Wait()
}

func (w *world) one(ctx context.Context, c *lab.Cluster, s scenario) {
	if truth, ok := w.run(ctx, c, s); ok {
		w.endings.Go(func() { w.ends(ctx, s, truth) })
	}
}

// run breaks the cluster, waits for the thread, and compares.
func (w *world) run(ctx context.Context, c *lab.Cluster, s scenario) (lab.Truth, bool) {
	moments := make(chan string, 16)
	var truth lab.Truth
	var mu sync.Mutex
	p := lab.Params{
		StableFor: s.stable, Hold: 16 * time.Minute, Release: w.releases(c), Record: filepath.Join(recordings(), s.title()+"-"+c.Info().Version),
		OnEvent: func(event string, tr lab.Truth) {
			mu.Lock()
			truth = tr
			mu.Unlock()
			moments <- event
		},
	}
	if s.stable > 0 {
		// Made-up names are unique by the moment, and these start at one moment.
		p.Group, p.Topic = "stable-"+s.name, "stable-"+s.name
	}
	began := time.Now()
	w.running.Go(func() {
		if _, err := c.Run(ctx, s.name, p); err != nil {
			w.t.Errorf("%s: %v", s.title(), err)
		}
		close(moments)
	})
	last := ""
	for m := range moments {
		if last = m; m == lab.EventReturn || m == lab.EventEffect && !s.returns() {
			break
		}
	}
	mu.Lock()
	now := truth
	mu.Unlock()
	ok := last != "" && w.verdict(ctx, s, now)
	w.t.Logf("%s: %s after %s", s.title(), map[bool]string{true: "right", false: "WRONG"}[ok], time.Since(began).Round(time.Second))
	return now, ok
}

func (w *world) releases(c *lab.Cluster) <-chan struct{} {
	if c == w.fetch {
		return w.fetchDone
	}
	return w.groupDone
}

// returns says whether the scenario reports a victim's return.
func (s scenario) returns() bool {
	return !slices.Contains([]string{"process-gone", "cache-thrash", "join-sync-race"}, s.name)
}

func recordings() string {
	if dir := os.Getenv("KAFKA_ONCALL_RECORD"); dir != "" {
		return dir
	}
	return os.TempDir() + "/kafka-oncall-e2e"
}

// verdict waits until the thread and the command line agree with the truth.
func (w *world) verdict(ctx context.Context, s scenario, truth lab.Truth) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	entry, _ := diagnose.Lookup(s.class)
	subject := subjectOf(truth)
	if s.cut {
		w.cut(ctx, subject)
	}
	var root *slackdouble.Message
	err := w.slack.Wait(ctx, "the verdict of "+s.title(), func() bool {
		roots := w.roots(truth)
		if len(roots) != 1 {
			return false
		}
		root = roots[0]
		return len(w.slack.Thread(root.Channel, root.TS)) > 1 && names(root.Text, entry.Headline)
	})
	if err != nil {
		w.t.Errorf("%s: %v\nroots: %s\nlog: %s", s.title(), err, texts(w.roots(truth)), w.bot.tail())
		return false
	}
	return w.commandAgrees(ctx, s, truth)
}

// names reports whether a root's text names a verdict: as the first one, or as
// the one that came after another.
func names(text, headline string) bool {
	lower := strings.ToLower(headline[:1]) + headline[1:]
	for _, start := range []string{headline, "Upgraded: " + lower, "Found: " + lower, "Changed: " + lower, "Cleared: " + lower} {
		if rest, ok := strings.CutPrefix(text, start); ok && (strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " (was")) {
			return true
		}
	}
	return false
}

// cut kills the bot without warning as soon as the incident has a root, and
// starts it again.
func (w *world) cut(ctx context.Context, subject string) {
	err := w.slack.Wait(ctx, "a root to cut under", func() bool {
		return slices.ContainsFunc(w.slack.Messages(slackdouble.DefaultChannel), func(m *slackdouble.Message) bool {
			return strings.Contains(m.Text, subject)
		})
	})
	if err != nil {
		w.t.Errorf("cut: %v\n%s", err, w.bot.tail())
		return
	}
	w.bot.stop(syscall.SIGKILL)
	w.bot.start(ctx)
}

// patience is how long the step may need: the second wave of evictions comes
// 120 s after the first.
func (s scenario) patience() time.Duration {
	if s.class == diagnose.CacheThrash {
		return 200 * time.Second
	}
	return 30 * time.Second
}

// commandAgrees asks with `diagnose -o json` and compares class, alternatives
// and next step.
func (w *world) commandAgrees(ctx context.Context, s scenario, truth lab.Truth) bool {
	args := []string{"--cluster", truth.Cluster}
	if truth.Subject.Group != "" {
		args = append(args, "--group", truth.Subject.Group)
	} else {
		args = append(args, "--broker", fmt.Sprint(truth.Subject.Broker))
	}
	var r report
	var code int
	deadline := time.Now().Add(s.patience())
	for {
		var err error
		r, code, err = w.bot.diagnose(ctx, filepath.Join(recordings(), s.title()+"-"+truth.Version+".evidence.json"), args...)
		if err != nil {
			w.t.Errorf("%s: %v", s.title(), err)
			return false
		}
		right := r.Findings[0].Class == string(s.class) && r.NextStep != nil && slices.Contains(s.steps, r.NextStep.Step)
		if right || time.Now().After(deadline) {
			break
		}
	}
	if got := r.Findings[0].Class; got != string(s.class) {
		w.t.Errorf("%s: diagnose says %s (%s), want %s", s.title(), got, r.Findings[0].Confidence, s.class)
		return false
	}
	if code != 10 {
		w.t.Errorf("%s: exit code %d, want 10", s.title(), code)
	}
	if r.NextStep == nil || r.NextStep.Playbook != string(s.class) {
		w.t.Errorf("%s: next step %+v, want one of %s", s.title(), r.NextStep, s.class)
	} else if !slices.Contains(s.steps, r.NextStep.Step) {
		w.t.Errorf("%s: next step %q, want one of %v", s.title(), r.NextStep.Step, s.steps)
	}
	for _, want := range s.alternatives {
		if !slices.ContainsFunc(r.Findings[0].Alternatives, func(a struct {
			Class string `json:"class"`
		}) bool {
			return a.Class == string(want)
		}) {
			w.t.Errorf("%s: alternative %s is not named", s.title(), want)
		}
	}
	return true
}

// ends waits until the root says that it is over, and a reply says so too.
func (w *world) ends(ctx context.Context, s scenario, truth lab.Truth) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	err := w.slack.Wait(ctx, "the end of "+s.title(), func() bool {
		roots := w.roots(truth)
		if len(roots) != 1 {
			return false
		}
		thread := w.slack.Thread(roots[0].Channel, roots[0].TS)
		return strings.Contains(roots[0].Text, "over") && slices.ContainsFunc(thread[1:], func(m *slackdouble.Message) bool {
			return strings.HasPrefix(m.Text, "Over")
		})
	})
	if err != nil {
		w.t.Errorf("%s: %v\nroots: %s", s.title(), err, texts(w.roots(truth)))
	}
}

// roots are the channel's messages about the truth's subject.
func (w *world) roots(truth lab.Truth) []*slackdouble.Message {
	// A later occurrence is named behind the broker.
	subject := regexp.MustCompile(fmt.Sprintf(`: %s, broker %d[.,]`, regexp.QuoteMeta(truth.Cluster), truth.Subject.Broker))
	if g := truth.Subject.Group; g != "" {
		subject = regexp.MustCompile(regexp.QuoteMeta(g))
	}
	var out []*slackdouble.Message
	for _, m := range w.slack.Messages(slackdouble.DefaultChannel) {
		if m.ThreadTS == "" && subject.MatchString(m.Text) {
			out = append(out, m)
		}
	}
	return out
}

func subjectOf(truth lab.Truth) string {
	if truth.Subject.Group != "" {
		return truth.Subject.Group
	}
	return fmt.Sprintf("broker %d", truth.Subject.Broker)
}

func texts(ms []*slackdouble.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return "\n  " + strings.Join(out, "\n  ")
}

// sane looks at the whole run: nothing impolite to Slack, no stray roots, no
// secret in the log.
func (w *world) sane() {
	for _, wrong := range w.slack.Audit() {
		// A killed bot leaves an envelope behind; Slack delivers it again.
		w.t.Errorf("audit: %s", wrong)
	}
	log, err := os.ReadFile(w.bot.log)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, secret := range []string{webhookToken, slackdouble.DefaultBotToken, slackdouble.DefaultAppToken} {
		if strings.Contains(string(log), secret) {
			w.t.Errorf("a secret stands in the log")
		}
	}
}

// keep saves the bot's log and what the channel looked like, for whoever reads
// a failure.
func (w *world) keep() {
	if b, err := os.ReadFile(w.bot.log); err == nil {
		_ = os.WriteFile(filepath.Join(recordings(), "bot.log"), b, 0o600)
	}
	var out strings.Builder
	teller := slackdouble.NewTeller(110)
	for _, e := range w.slack.Journal(0) {
		if text := teller.Tell(e); text != "" {
			out.WriteString(text + "\n")
		}
	}
	_ = os.WriteFile(filepath.Join(recordings(), "thread.txt"), []byte(out.String()), 0o600)
}
