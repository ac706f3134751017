// Package e2e holds the tests on real neighbours: real brokers, a real
// Prometheus that evaluates the shipped alert rules, a real Alertmanager, the
// built binary, and the strict Slack double in Slack's place.
//
// Run them with `make e2e` (build tag e2e). They need Java 17, Maven and
// Debian's prometheus and prometheus-alertmanager packages, talk to loopback
// addresses only, and end what they started by process id.
package e2e
