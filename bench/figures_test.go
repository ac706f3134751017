// Package bench measures the built program from outside, each figure beside a
// peer in the same run, and prints one table. `make bench` runs it. Nothing
// here asserts a time: targets stand beside the figures for the reader. What is
// measured how is in docs/bench.md.
package bench

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"text/tabwriter"
	"time"
)

// BenchmarkFigures measures everything once, whatever b.N is, and prints the
// table at the end.
func BenchmarkFigures(b *testing.B) {
	bin := build(b)
	var t table
	b.Run("WebhookAck", func(b *testing.B) { webhookAck(b, bin, &t) })
	b.Run("WebhookToRoot", func(b *testing.B) { webhookToRoot(b, bin, &t) })
	b.Run("CommandAck", func(b *testing.B) { commandAck(b, bin, &t) })
	b.Run("Sweep", func(b *testing.B) { watch(b, bin, &t) })
	t.print(os.Stdout)
}

// table collects the rows: what, measured, peer, ratio, target.
type table struct{ rows [][5]string }

func (t *table) add(what, measured, peer, ratio, target string) {
	t.rows = append(t.rows, [5]string{what, measured, peer, ratio, target})
}

func (t *table) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nwhat\tmeasured\tpeer in the same run\tratio\ttarget (not asserted)")
	for _, r := range t.rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r[0], r[1], r[2], r[3], r[4])
	}
	fmt.Fprintln(tw)
	_ = tw.Flush()
}

// quantile is the smallest value that percent of the values do not exceed.
func quantile(ds []time.Duration, percent int) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(ds))
	return s[max((len(s)*percent+99)/100-1, 0)]
}

// spread is the median and the tail as text.
func spread(ds []time.Duration) string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms (n=%d)", ms(quantile(ds, 50)), ms(quantile(ds, 99)), len(ds))
}

func ratio(ours, peer time.Duration) string {
	if peer <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", float64(ours)/float64(peer))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
