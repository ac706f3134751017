package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Words: numbers carry units, thousands are grouped, times are UTC clock times.

// count writes a number with grouped thousands: 1,310.
func count[T ~int | ~int32 | ~int64 | ~float64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return sign + strings.Join(append([]string{s}, parts...), ",")
}

// plural writes "1 client" or "20 clients".
func plural[T ~int | ~int32 | ~int64 | ~float64](n T, one, many string) string {
	if int64(n) == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// span writes a duration the way people say it: 45 s, 12 min, 3 h, 2 d.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	default:
		return fmt.Sprintf("%d d", int(d/(24*time.Hour)))
	}
}

// clock writes the time of day in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// percent writes a share as a whole percentage.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }
