package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/kafka-oncall/kafka-oncall/bot"
	"github.com/kafka-oncall/kafka-oncall/bot/slack"
	"github.com/kafka-oncall/kafka-oncall/playbooks"
)

func (a *app) serveCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Take alerts and commands, and keep one Slack thread per incident",
		Long: `Take alerts from Alertmanager (POST /webhook/alertmanager) and commands from
Slack, diagnose, and keep one thread per incident.

What was accepted is on disk: a restart goes on where the file says. SIGINT and
SIGTERM stop within seconds. /-/healthy, /-/ready and /metrics are served on the
same address.`,
		Example: "  kafka-oncall serve --config /etc/kafka-oncall/config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := a.serveConfig(file)
			if err != nil {
				return err
			}
			return a.serve(c.Context(), cfg)
		},
	}
	c.Flags().StringVarP(&file, "config", "c", a.getenv(envConfig), "configuration file")
	return c
}

// serveConfig loads the file and checks what only the server needs.
func (a *app) serveConfig(file string) (config, error) {
	if file == "" {
		return config{}, usage("name the configuration with --config FILE; `kafka-oncall demo` needs none")
	}
	cfg, err := a.loadConfig(file)
	if err != nil {
		if isProblems(err) {
			return cfg, &exitError{exitUsage, err}
		}
		return cfg, failed("%w", err)
	}
	if ps := a.checkServe(cfg); len(ps) > 0 {
		return cfg, &exitError{exitUsage, playbooks.Problems(ps)}
	}
	if cfg.Slack, err = cfg.Slack.Resolve(a.getenv); err != nil {
		return cfg, &exitError{exitUsage, err}
	}
	if cfg.Server.WebhookTokens, err = cfg.webhookTokens(); err != nil {
		return cfg, failed("read the webhook's token: %w", err)
	}
	return cfg, nil
}

// serve runs until the context ends.
func (a *app) serve(ctx context.Context, cfg config) error {
	log := newLogger(a.stderr, cfg.Log)
	registry := prometheus.NewRegistry()
	sites, err := openSites(cfg, registry, log, a.now)
	if err != nil {
		return failed("%w", err)
	}
	defer sites.close()
	words, err := loadPlaybooks(cfg.PlaybooksDir)
	if err != nil {
		return failed("load playbooks: %w", err)
	}
	s, err := newService(cfg, sites, words, registry, log)
	if err != nil {
		return failed("%w", err)
	}
	return s.run(ctx)
}

// service is the server with what runs beside it.
type service struct {
	server *bot.Server
	socket *slack.Socket
	sites  *sites
	log    *slog.Logger
}

// newService wires the server; each with may change its neighbours.
func newService(cfg config, sites *sites, words *playbooks.Set, registry *prometheus.Registry, log *slog.Logger, with ...func(*bot.Deps)) (*service, error) {
	s := &service{sites: sites, log: log}
	metrics := slack.NewMetrics(registry)
	deps := bot.Deps{
		Diagnoser: sites, Poster: slack.NewSender(cfg.Slack, log, metrics), Responder: slack.NewResponder(cfg.Slack, log, metrics),
		Playbooks: words, BrokerOf: sites.brokerOf, Log: log, Registry: registry,
		Connected: func() bool { return s.socket == nil || s.socket.Ready() },
	}
	if cfg.Alertmanager.URL != "" {
		asker, err := newAsker(cfg.Alertmanager)
		if err != nil {
			return nil, err
		}
		deps.Asker = asker
	}
	for _, change := range with {
		change(&deps)
	}
	server, err := bot.New(cfg.Server, deps)
	if err != nil {
		return nil, err
	}
	s.server = server
	if cfg.Slack.AppToken != "" {
		s.socket = slack.NewSocket(cfg.Slack, server, log, metrics)
	}
	return s, nil
}

// run starts everything, waits for the end, and stops in reverse.
func (s *service) run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	if err := s.server.Start(gctx); err != nil {
		return failed("start: %w", err)
	}
	s.sites.watch(gctx, g)
	if s.socket != nil {
		g.Go(func() error {
			if err := s.socket.Run(gctx); err != nil {
				// Alerts still have to be diagnosed and posted; commands and
				// buttons are gone, and readiness says so.
				s.log.Error("commands and buttons do not work any more", "error", err)
			}
			return nil
		})
	} else {
		s.log.Warn("no app token: commands and buttons do not work")
	}
	<-gctx.Done()
	s.log.Info("stopping")
	// The context has ended; stopping has its own bound.
	err := s.server.Stop(context.WithoutCancel(ctx))
	if err := errors.Join(g.Wait(), err); err != nil && !errors.Is(err, context.Canceled) {
		return failed("%w", err)
	}
	return nil
}

func newLogger(w io.Writer, c logConfig) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(c.Level)) != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

// safeError is text that may be shown to people in Slack.
type safeError struct{ text string }

func (e safeError) Error() string { return e.text }

// Safe marks the text as fit to be shown.
func (e safeError) Safe() string { return e.text }

func unknownCluster(name string, known []string) error {
	if name == "" {
		return safeError{fmt.Sprintf("The question names no cluster. I know: %s.", strings.Join(known, ", "))}
	}
	return safeError{fmt.Sprintf("I do not know this cluster. I know: %s.", strings.Join(known, ", "))}
}
