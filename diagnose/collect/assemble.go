package collect

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// nothing is the result where the source as a whole could not be read: every
// broker and every signal carries the reason, so that no rule takes the absence
// of a series for health.
func nothing(r diagnose.Reading, known []BrokerInfo) PrometheusResult {
	res := PrometheusResult{Source: diagnose.MetricsSource{Reading: r}}
	for _, b := range sortedInfos(known) {
		res.Brokers = append(res.Brokers, unreadBroker(b.ID, r))
	}
	return res
}

// unreadBroker is a broker of which nothing could be read. Where the source
// answered and had no series of the broker, its signals are not "empty", which
// would mean zero, but not exported.
func unreadBroker(id int32, r diagnose.Reading) diagnose.Broker {
	if r.Usable() {
		r.Status = diagnose.StatusNotExported
	}
	b := diagnose.Broker{ID: id, Identity: r, SoftwareReading: r, SoftwareGoneReading: r, Signals: map[diagnose.Signal]diagnose.Metric{}}
	for _, s := range diagnose.BrokerSignals() {
		b.Signals[s] = diagnose.Metric{Reading: r}
	}
	return b
}

func sortedInfos(known []BrokerInfo) []BrokerInfo {
	out := slices.Clone(known)
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (p *Prometheus) assemble(r raw, l look) PrometheusResult {
	source := r.source(l)
	if source.Status == diagnose.StatusOK && len(r.targets) == 0 {
		source.Status = diagnose.StatusEmpty
		source.Hint = "No broker series match prometheus.selector in the last " + l.rng.String() + "."
	}
	if !source.Usable() || len(r.targets) == 0 {
		res := nothing(source.Reading, l.known)
		res.Source = source
		return res
	}
	resolver{known: l.known, idLabel: p.set.idLabel, idPattern: p.set.idPattern}.resolve(r.targets)
	if text, hint := twoClusters(r.targets, len(p.set.cluster.match) > 0); text != "" {
		source.Status, source.Error, source.Hint = diagnose.StatusFailed, text, hint
		res := nothing(source.Reading, l.known)
		res.Source = source
		return res
	}
	r.targets = onceEach(r.targets)
	source.ScrapeSeconds = scrapeSeconds(r.targets)
	res := PrometheusResult{Source: source, Connections: map[int32]int{}}
	for _, b := range r.infos(l.known) {
		broker, conns, ok := p.broker(r, l, b)
		res.Brokers = append(res.Brokers, broker)
		if ok {
			res.Connections[b.ID] = conns
		}
	}
	return res
}

// source sums up the readings of all queries.
func (r raw) source(l look) diagnose.MetricsSource {
	s := diagnose.MetricsSource{Dialect: r.dialect.name}
	s.Reading = diagnose.Reading{Status: diagnose.StatusOK, AsOf: l.at.UTC(), Source: "prometheus: " + r.dialect.title}
	if r.dialect.note != "" {
		s.Status, s.Error = diagnose.StatusPartial, r.dialect.note
	}
	bad := 0
	for _, a := range r.answers {
		if a.reading.Status == diagnose.StatusOK {
			continue
		}
		if bad == 0 {
			s.Error, s.Hint = a.reading.Error, a.reading.Hint
		}
		if !a.reading.Usable() {
			bad++
		}
		s.Status = diagnose.StatusPartial
	}
	if bad == len(r.answers) {
		s.Reading = r.answers[0].reading
	}
	return s
}

// infos returns the known brokers, or, with none known, those the series name.
func (r raw) infos(known []BrokerInfo) []BrokerInfo {
	if len(known) > 0 {
		return sortedInfos(known)
	}
	var out []BrokerInfo
	for _, t := range r.targets {
		if t.resolved && !slices.ContainsFunc(out, func(b BrokerInfo) bool { return b.ID == t.id }) {
			out = append(out, BrokerInfo{ID: t.id})
		}
	}
	return sortedInfos(out)
}

func (r raw) of(id int32) []*target {
	var out []*target
	for _, t := range r.targets {
		if t.resolved && t.id == id {
			out = append(out, t)
		}
	}
	return out
}

func (p *Prometheus) broker(r raw, l look, info BrokerInfo) (diagnose.Broker, int, bool) {
	ts := r.of(info.ID)
	identity := r.identity(ts, l, info)
	if len(ts) == 0 {
		return unreadBroker(info.ID, identity), 0, false
	}
	b := diagnose.Broker{ID: info.ID, Host: info.Host, Rack: info.Rack, Identity: identity, Signals: map[diagnose.Signal]diagnose.Metric{}}
	for i, batch := range r.batches {
		for _, look := range batch.lookups {
			if !slices.Contains(diagnose.BrokerSignals(), look.signal) || look.rank > 0 {
				continue
			}
			b.Signals[look.signal] = p.metric(r, l, ts, look, r.answers[i].reading)
		}
	}
	for _, s := range diagnose.BrokerSignals() {
		if _, ok := b.Signals[s]; !ok {
			b.Signals[s] = diagnose.Metric{Reading: diagnose.Reading{Status: diagnose.StatusNotExported, AsOf: l.at.UTC(), Hint: r.dialect.hint(s)}}
		}
	}
	markStale(b.Signals, r.silence(ts, l))
	who := r.census.of(ts, r.dialect)
	b.SoftwareReading, b.Software = who.reading, who.software
	b.SoftwareGoneReading, b.SoftwareGone = who.past, who.gone
	return b, who.total, who.known
}

// identity says how the broker's series were found, or why none were.
func (r raw) identity(ts []*target, l look, info BrokerInfo) diagnose.Reading {
	out := diagnose.Reading{AsOf: l.at.UTC(), Status: diagnose.StatusOK}
	if len(ts) > 0 {
		var how []string
		for _, t := range ts {
			how = append(how, t.how)
		}
		slices.Sort(how)
		out.Source = "prometheus: " + strings.Join(slices.Compact(how), ", ")
		if len(l.known) == 0 {
			out.Status, out.Error = diagnose.StatusPartial, "The broker ids could not be checked with the admin API"
		}
		return out
	}
	r.whyUnplaced(&out, info)
	return out
}

func (r raw) whyUnplaced(out *diagnose.Reading, info BrokerInfo) {
	open, placed := 0, 0
	for _, t := range r.targets {
		switch {
		case t.open():
			open++
		case t.resolved:
			placed++
		}
	}
	switch {
	case open > 0:
		out.Status = diagnose.StatusFailed
		out.Error = fmt.Sprintf("%d scrape target(s) could be this broker; which one is not visible", open)
		out.Hint = `Put a label broker_id on the scrape targets, or set prometheus.broker_id.label and .pattern, for example instance and ^kafka-(\d+)\.`
	case placed == 0:
		out.Status = diagnose.StatusFailed
		out.Error = "The series name broker ids that this cluster does not have"
		out.Hint = "Check that prometheus.selector and the bootstrap servers belong to the same cluster."
	default:
		out.Status = diagnose.StatusNotExported
		out.Hint = fmt.Sprintf("Prometheus has no series of broker %d: look at its scrape target.", info.ID)
	}
}

// silence is how long before the look the broker was scraped last, 0 while it
// is scraped as usual.
func (r raw) silence(ts []*target, l look) time.Duration {
	var newest time.Time
	for _, t := range ts {
		if _, to := t.span(); to.After(newest) {
			newest = to
		}
	}
	usual := time.Duration(missedScrapes * scrapeSeconds(r.targets) * float64(time.Second))
	if gap := l.at.Sub(newest); !newest.IsZero() && gap > max(usual, minSilence) {
		return gap
	}
	return 0
}

// A target counts as silent after three missed scrapes, but not within a
// minute: single scrapes of a loaded broker took up to 15 s (measured).
const (
	missedScrapes = 3
	minSilence    = time.Minute
)

// markStale says on every signal that its end is missing: what happened in the
// gap is unknown, not nothing.
func markStale(signals map[diagnose.Signal]diagnose.Metric, gap time.Duration) {
	if gap == 0 {
		return
	}
	for s, m := range signals {
		if m.Status == diagnose.StatusOK || m.Status == diagnose.StatusEmpty {
			m.Status = diagnose.StatusPartial
			m.Error = fmt.Sprintf("The broker's metrics end %d s before this look", int(gap.Seconds()))
			signals[s] = m
		}
	}
}

// metric collects one signal of one broker over its targets.
func (p *Prometheus) metric(r raw, l look, ts []*target, want lookup, reading diagnose.Reading) diagnose.Metric {
	m := diagnose.Metric{Reading: reading}
	for _, t := range ts {
		fs := t.best(want.signal)
		if want.signal == diagnose.SignalErrorsAny {
			fs = witness(fs)
		}
		for _, f := range fs {
			m.Series = append(m.Series, f.series)
			want = f.lookup
		}
	}
	sel := want.sel.and(p.set.cluster)
	m.Source, m.Link = "prometheus: "+sel.overRange(l.rng), p.link(sel, l.at, l.rng)
	switch {
	case len(m.Series) == 0 && reading.Status == diagnose.StatusOK:
		m.Status, m.Hint = r.absent(ts, want.signal)
	case len(m.Series) == 0 && reading.Status == diagnose.StatusPartial:
		m.Hint = "The series may be in the part that did not answer."
	}
	return m
}

// witness keeps one counter, the one seen longest: it shows when errors could
// have been counted.
func witness(fs []found) []found {
	if len(fs) == 0 {
		return nil
	}
	best := slices.MaxFunc(fs, func(a, b found) int { return len(a.series.Samples) - len(b.series.Samples) })
	return []found{best}
}

// absent tells "none so far" from "not exported". Error and request counters
// are born with their first use, so their absence beside a counter of the same
// kind is a zero; a gauge is born with the broker, so its absence is the
// exporter's doing, unless another broker of the cluster shows it.
func (r raw) absent(ts []*target, s diagnose.Signal) (diagnose.Status, string) {
	kind := diagnose.Signal("")
	switch {
	case s != diagnose.SignalErrorsAny && strings.HasPrefix(string(s), "errors."):
		kind = diagnose.SignalErrorsAny
	case strings.HasPrefix(string(s), "requests."):
		kind = auxRequests
	}
	has := func(want diagnose.Signal) func(*target) bool {
		return func(t *target) bool {
			for sig := range t.found {
				if sig == want || want == auxRequests && strings.HasPrefix(string(sig), "requests.") {
					return true
				}
			}
			return false
		}
	}
	switch {
	case kind != "" && slices.ContainsFunc(ts, has(kind)):
		return diagnose.StatusEmpty, ""
	case kind == "" && slices.ContainsFunc(r.targets, has(s)):
		return diagnose.StatusEmpty, "Other brokers of the cluster show this series."
	}
	return diagnose.StatusNotExported, r.dialect.hint(s)
}
