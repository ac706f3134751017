package diagnose

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MinWindow and MaxWindow bound the span that a question may ask to judge.
const (
	MinWindow = time.Minute
	MaxWindow = 24 * time.Hour
)

// inDays lets people write 1d, which time.ParseDuration does not know.
var inDays = regexp.MustCompile(`^([0-9]{1,3})d$`)

// ParseWindow reads the span to judge as people write it: 30m, 2h, 1d. Its error
// ends a sentence that begins with what was written.
func ParseWindow(s string) (time.Duration, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if m := inDays.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1])
		s = strconv.Itoa(24*n) + "h"
	}
	switch d, err := time.ParseDuration(s); {
	case err != nil:
		return 0, errors.New("is no duration; write 30m, 2h or 1d")
	case d < MinWindow:
		return 0, errors.New("is too short: at least 1m")
	case d > MaxWindow:
		return 0, errors.New("is too long: at most 24h")
	default:
		return d, nil
	}
}
