package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/kafka-oncall/kafka-oncall/bot"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/slackdouble"
	"github.com/kafka-oncall/kafka-oncall/internal/stage"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

type demoFlags struct {
	scenario string
	once     bool
	listen   string
	page     string
	verbose  bool
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	var names []string
	for _, p := range plays() {
		names = append(names, p.name)
	}
	c := &cobra.Command{
		Use:   "demo",
		Short: "See the whole thing work: no Kafka, Prometheus or Slack needed",
		Long: `Run the real server in this process against an incident that was recorded on a
real broker: the recorded series through a real PromQL engine and the real
collectors, the recorded group records through an in-process Kafka, and a local
page in Slack's place. An alert fires; watch the thread change, press the buttons,
type /kafka-diagnose.

With --once it plays the incident in fast time, prints the thread as it changes,
and exits 0 only if the expected verdict was posted.`,
		Example: "  kafka-oncall demo\n  kafka-oncall demo --scenario poll-interval --once",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, p := range plays() {
				if p.name == f.scenario {
					return a.demo(c.Context(), p, f)
				}
			}
			return usage("there is no scenario %q; there are: %s", f.scenario, strings.Join(names, ", "))
		},
	}
	c.Flags().StringVar(&f.scenario, "scenario", names[0], "incident to play: "+strings.Join(names, ", "))
	c.Flags().BoolVar(&f.once, "once", false, "play once in fast time, print the thread, and end")
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "address of the server's webhook")
	c.Flags().StringVar(&f.page, "page", "127.0.0.1:0", "address of the page in Slack's place")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print the server's log")
	return c
}

// theatre is a running demo.
type theatre struct {
	play   play
	rec    *stage.Recording
	clock  stage.Clock
	stage  *stage.Stage
	slack  *slackdouble.Server
	sites  *sites
	server *service
	out    io.Writer
}

func (a *app) demo(ctx context.Context, p play, f demoFlags) error {
	dir, err := os.MkdirTemp("", "kafka-oncall-demo-")
	if err != nil {
		return failed("make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	speed := p.speed
	if !f.once {
		// Somebody is reading along.
		speed = p.calm
	}
	t := &theatre{play: p, out: a.stdout}
	if err := t.open(ctx, speed); err != nil {
		return failed("set the stage: %w", err)
	}
	defer t.close()
	log := slog.New(slog.DiscardHandler)
	if f.verbose {
		log = newLogger(a.stderr, logConfig{Level: "debug", Format: "text"})
	}
	if err := t.serve(f, dir, log); err != nil {
		return failed("start the server: %w", err)
	}
	return t.perform(ctx, f)
}

// open puts the recording on stage and starts Slack's double.
func (t *theatre) open(ctx context.Context, speed float64) error {
	var err error
	if t.rec, err = stage.Embedded(t.play.name); err != nil {
		return err
	}
	begin := t.play.begin(t.rec)
	now := time.Now()
	t.clock = stage.Clock{Start: now, Began: now, Speed: speed, End: now.Add(t.rec.Truth.Ended.Sub(begin))}
	if t.stage, err = stage.Open(ctx, t.rec, begin, t.clock.Now); err != nil {
		return err
	}
	t.slack, err = slackdouble.Start("127.0.0.1:0", slackdouble.Options{Stamp: t.clock.Now})
	return err
}

func (t *theatre) close() {
	if t.sites != nil {
		t.sites.close()
	}
	if t.slack != nil {
		t.slack.Close()
	}
	if t.stage != nil {
		t.stage.Close()
	}
}

// config is what a configuration file would say.
func (t *theatre) config(f demoFlags, dir string) config {
	c := defaultConfig()
	c.Server.Listen, c.Server.Store = f.listen, filepath.Join(dir, "demo.db")
	c.Server.Channel = slackdouble.DefaultChannel
	// Five seconds of the stage are an instant here; the first verdict takes
	// real work.
	c.Server.FirstVerdict = time.Duration(5 * float64(time.Second) * t.clock.Speed)
	c.Server.Incident.MinGap = time.Second
	c.Slack = slack.Config{
		BotToken: slackdouble.DefaultBotToken, AppToken: slackdouble.DefaultAppToken, APIURL: t.slack.APIURL(), Connections: 1,
	}
	cl := clusterConfig{Name: t.rec.Truth.Cluster, Watch: watchConfig{Interval: 5 * time.Second, tick: t.clock.Real(5 * time.Second)}}
	cl.Kafka.BootstrapServers = t.stage.Bootstrap()
	cl.Prometheus.URL = t.stage.PrometheusURL()
	cl.Window, cl.Budget = t.play.window, 5*time.Second
	c.Clusters = []clusterConfig{cl}
	c.Server.Clusters = []bot.Cluster{{Name: cl.Name}}
	return c
}

// serve builds the server as `serve` does, on the stage's clock.
func (t *theatre) serve(f demoFlags, dir string, log *slog.Logger) error {
	cfg := t.config(f, dir)
	registry := prometheus.NewRegistry()
	var err error
	if t.sites, err = openSites(cfg, registry, log, t.clock.Now); err != nil {
		return err
	}
	words, err := playbooks.Default()
	if err != nil {
		return err
	}
	cfg.Slack, err = cfg.Slack.Resolve(func(string) string { return "" })
	if err != nil {
		return err
	}
	t.server, err = newService(cfg, t.sites, words, registry, log, func(d *bot.Deps) {
		d.Now = t.clock.Now
		d.After = func(wait time.Duration, do func()) {
			if t.clock.Now().Before(t.clock.End) {
				// Once the clock stands still nothing is due any more.
				time.AfterFunc(t.clock.Real(wait), do)
			}
		}
	})
	return err
}

// perform runs the server and the script.
func (t *theatre) perform(ctx context.Context, f demoFlags) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.stage.Play(gctx) })
	g.Go(func() error { return t.server.run(gctx) })
	g.Go(func() error {
		// A script that failed, or has been played once, ends the show.
		err := t.script(gctx, f)
		if err != nil || f.once {
			stop()
		}
		return err
	})
	if !f.once {
		g.Go(func() error { return t.showPage(gctx, f.page) })
	}
	g.Go(func() error { return t.printThread(gctx) })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// script sends the alert when it fired, and its end when it ended.
func (t *theatre) script(ctx context.Context, f demoFlags) error {
	if err := t.awaitReady(ctx); err != nil {
		return failed("wait for the server: %w", err)
	}
	t.say("Recorded on Kafka %s: %s\nPlayed %s× faster than it was.\n", t.rec.Truth.Version, t.play.what, trim(t.clock.Speed))
	for _, cue := range t.play.cues(t.rec) {
		if err := t.until(ctx, t.stage.OnStage(cue.at)); err != nil {
			return err
		}
		if err := t.send(ctx, cue); err != nil {
			return failed("send the alert: %w", err)
		}
	}
	if err := t.until(ctx, t.clock.End); err != nil {
		return err
	}
	if f.once {
		return t.judge(ctx)
	}
	t.say("\nThe recording is over and the clock stands still; buttons and commands go on working.\n%s", t.help())
	<-ctx.Done()
	return nil
}

// until waits for a time on stage.
func (t *theatre) until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(max(0, t.clock.Real(at.Sub(t.clock.Now()))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *theatre) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if t.server.server.Addr() != nil && t.server.socket.Ready() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// judge compares the last word of the thread with the truth of the recording.
func (t *theatre) judge(ctx context.Context) error {
	entry, _ := diagnose.Lookup(t.play.expect)
	var last string
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	err := t.slack.Wait(ctx, "the verdict", func() bool {
		roots := t.slack.Messages(slackdouble.DefaultChannel)
		if len(roots) == 0 {
			return false
		}
		last = roots[0].Text
		if t.play.endsAfter > 0 && !t.saidOver(roots[0]) {
			return false
		}
		return strings.Contains(last, entry.Headline) && (t.play.ends == "" || strings.Contains(strings.ToLower(last), t.play.ends))
	})
	if n := len(t.slack.Messages(slackdouble.DefaultChannel)); n > 1 {
		return failed("%d roots were posted for one incident", n)
	}
	if err != nil {
		return failed("the expected verdict was %q; the thread ends with: %s", entry.Headline, last)
	}
	if wrong := t.slack.Audit(); len(wrong) > 0 {
		return failed("Slack would not have liked: %s", strings.Join(wrong, "; "))
	}
	t.say("\nAs expected: %s.\n", entry.Headline)
	return nil
}

// saidOver reports whether the thread has the reply that ends it.
func (t *theatre) saidOver(root *slackdouble.Message) bool {
	return slices.ContainsFunc(t.slack.Thread(root.Channel, root.TS), func(m *slackdouble.Message) bool { return strings.HasPrefix(m.Text, "Over") })
}

func (t *theatre) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format, args...) }

// showPage serves the page in Slack's place.
func (t *theatre) showPage(ctx context.Context, addr string) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return failed("open the page: %w", err)
	}
	srv := &http.Server{Handler: t.slack.Page(), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	t.say("Open http://%s to see the channel, press buttons and type commands.\n\n", ln.Addr())
	if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return failed("serve the page: %w", err)
	}
	return nil
}

// printThread prints every post and edit as it happens.
func (t *theatre) printThread(ctx context.Context) error {
	seen, teller := 0, slackdouble.NewTeller(100)
	show := func() {
		for _, e := range t.slack.Journal(seen) {
			seen = e.Seq
			if text := teller.Tell(e); text != "" {
				t.say("%s\n", text)
			}
		}
	}
	for {
		changed := t.slack.Changed()
		show()
		select {
		case <-ctx.Done():
			show()
			return nil
		case <-changed:
		}
	}
}

func trim(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }
