// Package collect reads the world into an Evidence. It is the shell around
// package diagnose, and only cmd knows it.
//
//	k, err := collect.NewKafka(cfg.Kafka, log)            // reads only, by construction
//	p, err := collect.NewPrometheus(cfg.Prometheus, log)  // may be nil
//	w, err := collect.NewWatcher(collect.WatcherConfig{Cluster: name}, k, log)
//	r := collect.NewRunner(collect.RunnerConfig{Cluster: name, Kafka: k, Prometheus: p, Watcher: w}, log)
//	e := r.Collect(ctx, diagnose.Request{Target: t})      // never fails
//
// One time budget is shared out. A source that is slow, refuses or breaks costs
// its own section only, and the section's Reading says what happened: a safe
// text without addresses, and a hint about the missing right or exporter rule.
//
// Prometheus: prometheus.go (client and queries), dialects.go (signal → series),
// identity.go (series → broker), clients.go. Kafka: sweep.go (all groups in a
// handful of requests per broker), watcher.go (the last hour), tail.go (the
// offsets topic, newest first), demand.go. runner.go puts it together.
package collect
