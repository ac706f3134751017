// Package bench holds the measurements behind docs/bench.md. They are benchmarks
// of the built program, each beside a peer in the same run:
//
//	make bench
//	go test ./bench -run '^$' -bench Figures/WebhookAck -benchtime 1x
//
// They print one table of ratios and assert no time: machines are small and
// noisy.
package bench
