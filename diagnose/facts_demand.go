package diagnose

// bound is a range that a number lies in; -1 = unknown on that side.
type bound struct{ low, high int }

// demand bounds the number of fetch sessions the broker has to hold. Topology
// counts group members and follower fetchers and misses clients outside groups:
// a lower bound. Connections are an upper bound, since one client holds at most
// one session per broker. The present number of sessions is an upper bound of
// the live ones as long as the cache has room.
func (b *brokerFacts) demand() bound {
	d := bound{-1, -1}
	if b.Demand.Status == StatusOK || b.Demand.Status == StatusPartial {
		d.low = b.Demand.Consumers + b.Demand.Followers
		if c := b.Demand.Connections; c >= d.low {
			d.high = c
		}
	}
	return d
}

// fullShare estimates the share of full fetches among consumer fetches from the
// sizes of the requests: s ≈ (mean − p50) / (p99 − p50). A full fetch names
// every partition, an incremental one hardly any (measured 23.0 % against
// 22.9 % computed). It holds while p50 is still the small form (below 50 %) and
// p99 the big one; ok is false otherwise.
func (b *brokerFacts) fullShare() (float64, bool) {
	mean, ok1 := b.now(SignalFetchBytesMean)
	p50, ok2 := b.now(SignalFetchBytesP50)
	p99, ok3 := b.now(SignalFetchBytesP99)
	if !ok1 || !ok2 || !ok3 || p50 <= 0 || p99 < 3*p50 {
		return 0, false
	}
	s := (mean - p50) / (p99 - p50)
	if s < 0 || s > 0.5 {
		return 0, false
	}
	return s, true
}
