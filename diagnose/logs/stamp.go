package logs

import (
	"regexp"
	"strings"
	"time"
)

var (
	// dayBefore and monthBefore are what stands before a time of day.
	dayBefore   = regexp.MustCompile(`^\d{4}[-/.]\d\d[-/.]\d\d[T ]$`)
	monthBefore = regexp.MustCompile(`^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d $`)
	// afterClock is what may follow one: a fraction and a zone.
	afterClock = regexp.MustCompile(`^(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?`)
	// rdkafkaStamp is level and time of a librdkafka line.
	rdkafkaStamp = regexp.MustCompile(`%\d\|\d{9,10}\.\d{3}\|`)
)

// maxStamps bounds the stamps of one line.
const maxStamps = 8

// stampsIn finds moments in the forms that loggers write. Times of day are
// looked for by hand: a pattern for all forms would cost more than all else.
func stampsIn(text string) []string {
	var out []string
	if strings.Contains(text, "|") {
		out = rdkafkaStamp.FindAllString(text, 1)
	}
	for i := 2; i+5 < len(text) && len(out) < maxStamps; i++ {
		if text[i] != ':' || text[i+3] != ':' || !digits(text[i-2:i]) || !digits(text[i+1:i+3]) || !digits(text[i+4:i+6]) {
			continue
		}
		from, to := i-2, i+6
		to += len(afterClock.FindString(text[to:]))
		switch {
		case from >= 11 && dayBefore.MatchString(text[from-11:from]):
			from -= 11
		case from >= 7 && monthBefore.MatchString(text[from-7:from]):
			from, to = from-7, i+6
		case from > 0 && (digits(text[from-1:from]) || text[from-1] == ':'):
			continue // part of something longer, such as an address
		}
		out = append(out, text[from:to])
		i = to
	}
	return out
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

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
	found := stampsIn(text[:min(end, len(text))])
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
	t, err := time.Parse("15:04:05", strings.TrimSuffix(strings.Replace(s, ",", ".", 1), "Z"))
	if err != nil {
		return time.Time{}, false
	}
	return time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), true
}
