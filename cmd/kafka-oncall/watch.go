package main

import (
	"context"
	"time"

	"github.com/kafka-oncall/kafka-oncall/diagnose"
)

// Bounds of the pause between two looks of --watch.
const (
	shortestPause = 10 * time.Second
	longestPause  = time.Minute
)

// keepLooking looks once, and goes on for the given span, at the pace that the
// diagnosis asks for. It prints the first verdict and every change of class,
// confidence or subject, and returns the last one. Ctrl-C ends it early with
// what is known by then.
func keepLooking(ctx context.Context, length time.Duration, look func() (diagnose.Diagnosis, error), write func(diagnose.Diagnosis) error) (diagnose.Diagnosis, error) {
	end := time.Now().Add(length)
	d, err := look()
	if err != nil {
		return d, err
	}
	if err := write(d); err != nil {
		return d, err
	}
	for {
		pause := min(max(time.Duration(d.NextLookSeconds)*time.Second, shortestPause), longestPause)
		if time.Now().Add(pause).After(end) {
			return d, nil
		}
		select {
		case <-ctx.Done():
			return d, nil
		case <-time.After(pause):
		}
		next, err := look()
		if ctx.Err() != nil {
			return d, nil
		}
		if err != nil {
			return d, err
		}
		if changed(d, next) {
			if err := write(next); err != nil {
				return next, err
			}
		}
		d = next
	}
}

func changed(a, b diagnose.Diagnosis) bool {
	x, y := a.Primary(), b.Primary()
	return x.Class != y.Class || x.Confidence != y.Confidence || x.Subject != y.Subject
}
