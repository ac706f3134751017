package diagnose_test

import (
	"os"
	"testing"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
	"github.com/kafka-oncall/kafka-oncall/internal/score"
)

// A gap is never taken for health: whatever is taken away from evidence that
// names what is wrong, the answer is not that nothing is.
func TestGapIsNeverHealth(t *testing.T) {
	for c, err := range score.Load(os.DirFS("testdata/corpus")) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Set == score.HeldOut {
			continue
		}
		truth := c.True()
		// Where the truth is a doubt, the case lies at a threshold on purpose.
		if truth == diagnose.Quiet || truth == diagnose.Undecided || truth == "" || !score.Judge(c, diagnose.DefaultLimits()).Right {
			continue
		}
		for _, d := range score.Degradations() {
			p := diagnose.Classify(d.Apply(c.Evidence), diagnose.DefaultLimits()).Primary()
			if p.Class == diagnose.Quiet {
				t.Errorf("%s, %s: %s", c.Name, d.Name, p.Summary)
			}
		}
	}
}
