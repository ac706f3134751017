package score

import (
	"strconv"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// grown is how much a counter of a broker grew in the window. It is kinder than
// increase(): a series that was born in the window counts from zero.
func grown(e diagnose.Evidence, b diagnose.Broker, s diagnose.Signal) float64 {
	sum, start := 0.0, windowStart(e)
	for _, series := range b.Signals[s].Series {
		for i, x := range series.Samples {
			if x.T.Before(start) {
				continue
			}
			before := 0.0
			if i > 0 && series.Samples[i-1].V <= x.V {
				before = series.Samples[i-1].V
			} else if i == 0 && !bornIn(e, b, x) {
				before = x.V
			}
			sum += x.V - before
		}
	}
	return sum
}

// bornIn: other counters of the broker have older samples, so this one was not
// there before.
func bornIn(e diagnose.Evidence, b diagnose.Broker, x diagnose.Sample) bool {
	for _, series := range b.Signals[diagnose.SignalErrorsAny].Series {
		if len(series.Samples) > 0 && series.Samples[0].T.Before(x.T) && x.T.After(windowStart(e)) {
			return true
		}
	}
	return false
}

// last is the newest sample of a metric.
func last(m diagnose.Metric) (float64, bool) {
	var newest diagnose.Sample
	for _, s := range m.Series {
		if n := len(s.Samples); n > 0 && !s.Samples[n-1].T.Before(newest.T) {
			newest = s.Samples[n-1]
		}
	}
	return newest.V, !newest.T.IsZero()
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return v
}
