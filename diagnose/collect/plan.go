package collect

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// lookup is one way to find one signal.
type lookup struct {
	signal diagnose.Signal
	// rank orders the ways: 0 is preferred.
	rank int
	// sel picks the signal's series, without the cluster's matchers.
	sel selector
	// fetch is what is asked for; narrower than sel for SignalErrorsAny.
	fetch selector
	scale float64
	// beanLabels are the dialect's.
	beanLabels []string
	// override says that the way comes from the configuration.
	override bool
}

// batch is one query and the lookups that its answer serves.
type batch struct {
	sel     selector
	lookups []lookup
}

// plan turns a dialect and the overrides into batches, always in the same
// order: lookups that match the same label names share a query, so that a
// cluster takes four queries and the census two, instead of thirty.
func plan(d dialect, overrides map[diagnose.Signal]selector) ([]batch, error) {
	groups := map[string][]lookup{}
	var out []batch
	for _, sig := range sortedSignals(d.signals) {
		if _, ok := overrides[sig]; ok {
			continue
		}
		ls, err := d.lookups(sig)
		if err != nil {
			return nil, err
		}
		for _, l := range ls {
			key := strings.Join(l.fetch.labelNames(), ",")
			groups[key] = append(groups[key], l)
		}
	}
	keys := make([]string, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		var sels []selector
		for _, l := range groups[k] {
			sels = append(sels, l.fetch)
		}
		out = append(out, batch{sel: merge(sels), lookups: groups[k]})
	}
	for _, sig := range sortedSignals(overrides) {
		l := lookup{signal: sig, sel: overrides[sig], fetch: overrides[sig], scale: 1, override: true}
		out = append(out, batch{sel: l.fetch, lookups: []lookup{l}})
	}
	return out, nil
}

func (d dialect) lookups(sig diagnose.Signal) ([]lookup, error) {
	var out []lookup
	for rank, text := range d.signals[sig] {
		sel, err := parseSelector(text)
		if err != nil {
			return nil, fmt.Errorf("dialect %s, signal %s: %w", d.name, sig, err)
		}
		l := lookup{signal: sig, rank: rank, sel: sel, fetch: sel, scale: 1, beanLabels: d.beanLabels}
		if f, ok := d.scale[sel.name().Value]; ok {
			l.scale = f
		}
		if sig == diagnose.SignalErrorsAny {
			if l.fetch, err = parseSelector(d.witness); err != nil {
				return nil, fmt.Errorf("dialect %s, witness: %w", d.name, err)
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// probe asks which of the dialects' tell-tale series exist.
func probe(ds []dialect) selector {
	var names []string
	for _, d := range ds {
		names = append(append(names, d.probe), d.marks...)
	}
	sort.Strings(names)
	names = slices.Compact(names)
	return selector{match: []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, strings.Join(names, "|"))}}
}

// pick returns the dialect that the counts of tell-tale series point to: the
// one with most probe series, the first in the table where several share a
// probe and the marks hold.
func pick(ds []dialect, counts map[string]float64) (dialect, bool) {
	var best dialect
	var most float64
	for _, d := range ds {
		n := counts[d.probe]
		if n > most && d.marked(counts) {
			best, most = d, n
		}
	}
	return best, most > 0
}

// families returns the probes that have series.
func families(ds []dialect, counts map[string]float64) []string {
	var out []string
	for _, d := range ds {
		if counts[d.probe] > 0 && !slices.Contains(out, d.probe) {
			out = append(out, d.probe)
		}
	}
	return out
}

func (d dialect) marked(counts map[string]float64) bool {
	for _, m := range d.marks {
		if counts[m] > 0 {
			return true
		}
	}
	return len(d.marks) == 0
}
