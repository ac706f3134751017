package diagnose

import (
	"slices"
	"testing"
)

// injected is what was done to a cluster in a case whose verdict must be
// another class, or a doubt: the score compares with this.
type injected struct {
	class Class
	// partial: the source that would decide is missing on purpose.
	partial bool
}

// injectedIn holds the truth of those synthetic cases whose `primary` is not
// it. Near misses that lie below a threshold have no other truth than `primary`.
var injectedIn = map[string]injected{
	"cache-thrash/near-demand-unknown":            {CacheThrash, true},
	"cache-thrash/near-evictions-absent":          {CacheThrash, true},
	"client-unreachable/near-no-client-metrics":   {ClientUnreachable, true},
	"coordinator-trouble/near-one-group":          {CoordinatorTrouble, false},
	"duplicate-static-id/near-beats-not-visible":  {DuplicateStaticID, true},
	"duplicate-static-id/near-fenced-not-visible": {DuplicateStaticID, true},
	"poll-interval/near-idle":                     {RollingDeploy, false},
	"poll-interval/near-two-sick-groups":          {SessionTimeout, false},
	"process-gone/near-88s":                       {ProcessGone, false},
	"rebalance-timeout/near-counters-missing":     {RebalanceTimeout, true},
	"removed-by-admin/near-no-broker-metrics":     {RemovedByAdmin, true},
	"undecided/no-baseline":                       {SessionTimeout, true},
}

// describe adds the truth to case.json.
func (i injected) describe(words map[string]any) {
	if i.class != "" {
		words["class"] = i.class
	}
	if i.partial {
		words["telemetry"] = "partial"
	}
}

// TestInjectedCasesExist: a case that was renamed keeps its truth.
func TestInjectedCasesExist(t *testing.T) {
	for name := range injectedIn {
		if !slices.ContainsFunc(corpus(t), func(c corpusCase) bool { return c.name == name }) {
			t.Errorf("injectedIn names %s, which is not in the corpus", name)
		}
	}
}
