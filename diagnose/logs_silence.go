package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// librdkafka's "session timed out … after N ms" counts from the last answer of the
// coordinator. A process that ran notices at the session timeout (measured: 6.00 and
// 6.09 s of 6 s); one that stood still notices when it runs again (measured: 10.9
// and 11.0 s of 6 s).
const (
	silenceEqual = 1.02
	silenceLong  = 1.3
)

// usualSessions are session timeouts that people set, besides librdkafka's defaults
// of 45 s and, before 1.9, 10 s.
var usualSessions = []time.Duration{
	6 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	45 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute,
}

// sessionCount reads what librdkafka counted. The session timeout itself is not in
// the line: it is at most the smallest count, and a count right at a usual setting
// is taken for that setting.
func (c scope) sessionCount(v *logVerdict) {
	low, high := c.counted()
	switch usual := usualSession(low); {
	case high <= 0:
	case float64(high) >= silenceLong*float64(low):
		v.summary = fmt.Sprintf("librdkafka noticed the end of its session only %s after the last answer, another time after %s: a process that runs notices at once, so this one stood still.", seconds(high), seconds(low))
		v.advice.Title = "Find what made the process stand still"
	case usual > 0:
		v.class = ClientUnreachable
		v.summary = fmt.Sprintf("librdkafka counted %s without an answer, which is a usual session timeout (%s): the process ran and noticed in time, and nothing answered. Its network or the coordinator was silent.", seconds(high), span(usual))
		v.rest = []Alternative{{SessionTimeout, "if session.timeout.ms is set well below that, the process stood still"}, {CoordinatorTrouble, "the coordinator may have stood still; then its other groups suffered too"}}
		v.decides = "session.timeout.ms of this client, and whether other groups of the same coordinator suffered at the same time"
		v.advice.Title, v.advice.Text = "Check the way to the coordinator", "Compare session.timeout.ms with that time first. If they are equal: look at the coordinator's load and whether other groups of it lost members at that moment, then at the network between them. If it is well below: look at the process (CPU throttling, GC pauses, a frozen host)."
	default:
		v.summary = fmt.Sprintf("librdkafka counted %s without an answer. If session.timeout.ms is well below that, the process stood still and noticed late; if it is equal, the network or the coordinator was silent.", seconds(high))
		v.decides = "session.timeout.ms of this client against those " + seconds(high)
	}
}

// counted bounds what librdkafka's lines count for one client: the one whose counts
// differ most, since each may have a session timeout of its own.
func (c scope) counted() (low, high time.Duration) {
	lows, highs := map[string]int64{}, map[string]int64{}
	for _, i := range c.only(LogSessionTimedOut) {
		f := c.s.all[i]
		if f.By != "librdkafka" || f.Low <= 0 {
			continue
		}
		if n, ok := lows[f.Client]; !ok || f.Low < n {
			lows[f.Client] = f.Low
		}
		highs[f.Client] = max(highs[f.Client], f.High)
	}
	most := 0.0
	for _, client := range slices.Sorted(maps.Keys(lows)) {
		if r := float64(highs[client]) / float64(lows[client]); r > most {
			most, low, high = r, time.Duration(lows[client])*time.Millisecond, time.Duration(highs[client])*time.Millisecond
		}
	}
	return low, high
}

// usualSession is the usual session timeout that a count is right at; 0 for none.
func usualSession(d time.Duration) time.Duration {
	for _, s := range usualSessions {
		if d >= s && float64(d) <= silenceEqual*float64(s) {
			return s
		}
	}
	return 0
}
