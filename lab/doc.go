// Package lab starts real Kafka clusters on loopback, breaks them on purpose and
// says what is true.
//
// A lab is one or more KRaft brokers started from Kafka's own jars (fetched by
// Maven), each with the JMX exporter agent, a Prometheus that scrapes them and an
// Alertmanager that posts to a webhook. Node 1 is broker and controller; the
// other nodes are brokers only, so that restarting one of them never moves the
// controller. Everything listens on 127.0.0.1.
//
//	c, err := lab.Up(ctx, lab.Options{Version: "4.4.0", Brokers: 3})
//	defer c.Down(ctx)
//	truth, err := c.Run(ctx, "restart-burst", lab.Params{})
//
// Run plays one scenario to its end and returns a Truth: what was broken, whom it
// hit, when, and the counts to expect. A test that wants to look while the fault
// is there passes Params.OnEvent (called at ready, fault, effect and return; it
// may block, the scenario waits) and Params.Hold or Params.Release.
//
// Whom a scenario plays with: consumers of three libraries (Java, librdkafka,
// franz-go; one process each, told by lines on standard input), hand-made members
// (rawMember) that do what no library would, hundreds of fetch sessions (driver),
// and a proxy that understands Kafka's frames and can fall silent or balance.
//
// Params.Record keeps a run's raw material; with Params.Looker the cluster
// is diagnosed during and after the fault, and evidence and verdicts are kept beside
// the truth. Soak plays a list of runs, each on a lab of its own.
//
// State is kept in DIR/run/NAME/state.json, so that `kafka-lab run` and
// `kafka-lab down` find what `kafka-lab up` started. A process is only ever
// ended when its id and its start time are those that were written down.
//
// Linux only: process identity is read from /proc. Needs a JDK 17, Maven, and
// the programs prometheus and prometheus-alertmanager on PATH; Python 3 with pip for
// librdkafka.
package lab
