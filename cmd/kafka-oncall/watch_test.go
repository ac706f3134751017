package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

func TestWatchPrintsChangesAndEndsInTime(t *testing.T) {
	verdict := func(c diagnose.Confidence, next int) diagnose.Diagnosis {
		return diagnose.Diagnosis{NextLookSeconds: next, Findings: []diagnose.Finding{{Class: diagnose.RestartBurst, Confidence: c, Subject: "broker 3"}}}
	}
	synctest.Test(t, func(t *testing.T) {
		looks, start := 0, time.Now()
		var printed []diagnose.Confidence
		d, err := keepLooking(t.Context(), 5*time.Minute,
			func() (diagnose.Diagnosis, error) {
				looks++
				if looks < 4 {
					return verdict(diagnose.Provisional, 226), nil
				}
				return verdict(diagnose.Confirmed, 0), nil
			},
			func(d diagnose.Diagnosis) error {
				printed = append(printed, d.Primary().Confidence)
				return nil
			})
		if err != nil || d.Primary().Confidence != diagnose.Confirmed {
			t.Errorf("ended with %v %v", d.Primary().Confidence, err)
		}
		if len(printed) != 2 || printed[1] != diagnose.Confirmed {
			t.Errorf("printed %v, want the first verdict and its confirmation", printed)
		}
		// 3 looks a minute apart, then one every 10 s.
		if took := time.Since(start); took > 5*time.Minute || looks != 1+3+12 {
			t.Errorf("%d looks in %s", looks, took)
		}
	})
}

func TestWatchEndsWithWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		known := diagnose.Diagnosis{Findings: []diagnose.Finding{{Class: diagnose.Quiet}}}
		looks := 0
		d, err := keepLooking(ctx, time.Hour, func() (diagnose.Diagnosis, error) {
			if looks++; looks == 2 {
				stop()
				return diagnose.Diagnosis{}, errors.New("stopped")
			}
			return known, nil
		}, func(diagnose.Diagnosis) error { return nil })
		if err != nil || d.Primary().Class != diagnose.Quiet || looks != 2 {
			t.Errorf("after Ctrl-C: %v %v, %d looks", d.Primary().Class, err, looks)
		}
	})
}
