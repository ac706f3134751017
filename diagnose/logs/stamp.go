package logs

import (
	"regexp"
	"strings"
	"time"
)

// stamps finds moments in the forms that loggers write.
var stamps = regexp.MustCompile(`\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?` +
	`|%\d\|\d{9,10}\.\d{3}\|` +
	`|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d` +
	`|\b\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\b`)

// parseStamp reads one stamp that names its day.
func parseStamp(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "%"); ok && len(rest) > 2 {
		return unixStamp(strings.Trim(rest[2:], "|"))
	}
	if len(s) < 19 {
		return time.Time{}, false
	}
	b := []byte(s)
	b[4], b[7], b[10] = '-', '-', 'T'
	if len(b) > 19 && b[19] == ',' {
		b[19] = '.'
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, string(b)); err == nil && t.Year() > 1970 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func unixStamp(s string) (time.Time, bool) {
	sec, milli, _ := strings.Cut(s, ".")
	n := int64(0)
	for _, c := range []byte(sec + milli) {
		if c < '0' || c > '9' || n > 1e15 {
			return time.Time{}, false
		}
		n = 10*n + int64(c-'0')
	}
	return time.UnixMilli(n).UTC(), len(milli) == 3
}

// clockOf remembers the day of the last full stamp, for lines that have none.
type clockOf struct {
	now time.Time
	day time.Time
}

// at is the moment of a record whose message begins at or before end: the inner
// of several stamps, since the outer one is a collector's.
func (c *clockOf) at(text string, end int) time.Time {
	found := stamps.FindAllString(text[:min(end, len(text))], 8)
	var partial time.Time
	for i := len(found) - 1; i >= 0; i-- {
		if t, ok := parseStamp(found[i]); ok {
			c.day = t
			return t
		}
		if t, ok := c.partial(found[i]); ok && partial.IsZero() {
			partial = t
		}
	}
	return partial
}

// partial completes a stamp that lacks its year or day.
func (c *clockOf) partial(s string) (time.Time, bool) {
	day := c.day
	if day.IsZero() {
		day = c.now.UTC()
	}
	if t, err := time.Parse("Jan _2 15:04:05", s); err == nil {
		return t.AddDate(day.Year(), 0, 0), true
	}
	t, err := time.Parse("15:04:05", strings.Replace(s, ",", ".", 1))
	if err != nil {
		return time.Time{}, false
	}
	return time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), true
}
