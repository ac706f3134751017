package collect

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector is a set of PromQL matchers. Queries are built from matchers through
// the PromQL parser and printer, never by pasting text together, so that a
// configured value cannot change the query's meaning.
type selector struct {
	match []*labels.Matcher
}

// parseSelector reads a vector selector, for example
// kafka_server_ReplicaManager_Value{name="LeaderCount"} or {cluster="a"}. The
// empty text is the selector without matchers.
func parseSelector(text string) (selector, error) {
	if strings.TrimSpace(text) == "" {
		return selector{}, nil
	}
	ms, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	if err != nil {
		return selector{}, fmt.Errorf("read PromQL selector %q: %w", text, err)
	}
	return selector{match: ms}, nil
}

// name returns the metric name matcher, nil when there is none.
func (s selector) name() *labels.Matcher {
	for _, m := range s.match {
		if m.Name == model.MetricNameLabel {
			return m
		}
	}
	return nil
}

// labelNames returns the sorted label names that are matched besides the metric
// name.
func (s selector) labelNames() []string {
	var out []string
	for _, m := range s.match {
		if m.Name != model.MetricNameLabel {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// and returns the selector with the other one's matchers added.
func (s selector) and(o selector) selector {
	return selector{match: append(slices.Clone(s.match), o.match...)}
}

func (s selector) matches(m model.Metric) bool {
	for _, x := range s.match {
		if !x.Matches(string(m[model.LabelName(x.Name)])) {
			return false
		}
	}
	return true
}

// String returns the selector as PromQL.
func (s selector) String() string { return s.node().String() }

func (s selector) node() *parser.VectorSelector {
	vs := &parser.VectorSelector{LabelMatchers: s.match}
	if n := s.name(); n != nil && n.Type == labels.MatchEqual {
		vs.Name = n.Value
	}
	return vs
}

// overRange returns the range selector s[d].
func (s selector) overRange(d time.Duration) string {
	return (&parser.MatrixSelector{VectorSelector: s.node(), Range: d}).String()
}

// merge returns one selector that covers all given ones. They have to match the
// same label names. The result covers more than their union where two of them
// differ in two labels, so whoever uses it filters the answer again.
func merge(sels []selector) selector {
	values := map[string][]string{}
	for _, s := range sels {
		for _, m := range s.match {
			values[m.Name] = append(values[m.Name], pattern(m))
		}
	}
	names := make([]string, 0, len(values))
	for n := range values {
		names = append(names, n)
	}
	sort.Strings(names)
	var out selector
	for _, n := range names {
		v := values[n]
		slices.Sort(v)
		v = slices.Compact(v)
		out.match = append(out.match, oneOf(n, v, sels))
	}
	return out
}

// pattern returns a matcher of a merged group as an alternative of a regular
// expression. Only = and =~ occur in the dialect table (a test checks that).
func pattern(m *labels.Matcher) string {
	if m.Type == labels.MatchEqual {
		return quoteRegexp(m.Value)
	}
	return m.Value
}

func oneOf(name string, patterns []string, sels []selector) *labels.Matcher {
	if len(patterns) == 1 {
		for _, s := range sels {
			for _, m := range s.match {
				if m.Name == name {
					return m
				}
			}
		}
	}
	return labels.MustNewMatcher(labels.MatchRegexp, name, strings.Join(patterns, "|"))
}

// quoteRegexp escapes what has a meaning in RE2. Unlike regexp.QuoteMeta it
// leaves everything else alone, so that Prometheus recognises a plain list of
// alternatives and looks them up instead of scanning all values.
func quoteRegexp(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plain returns a label name in the form in which dialects are compared: lower
// case, no separators. Exporters differ in lowercaseOutputLabelNames, and
// Prometheus renames a label that clashes with a target's to exported_….
func plain(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return strings.TrimPrefix(name, "exported")
}

// labelValue returns the value of the first label whose plain name is one of
// names, in the order of names.
func labelValue(m model.Metric, names ...string) string {
	for _, want := range names {
		for _, l := range sortedLabels(m) {
			if plain(l) == want && m[model.LabelName(l)] != "" {
				return string(m[model.LabelName(l)])
			}
		}
	}
	return ""
}

func sortedLabels(m model.Metric) []string {
	out := make([]string, 0, len(m))
	for l := range m {
		out = append(out, string(l))
	}
	sort.Strings(out)
	return out
}
