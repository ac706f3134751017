package diagnose

import (
	"strings"
	"testing"
	"time"
)

func TestParseWindow(t *testing.T) {
	for s, want := range map[string]time.Duration{"30m": 30 * time.Minute, "1H": time.Hour, "1d\t": 24 * time.Hour, "1m": time.Minute, "24h": 24 * time.Hour} {
		if d, err := ParseWindow(s); err != nil || d != want {
			t.Errorf("%q: %v, %v", s, d, err)
		}
	}
	for s, want := range map[string]string{
		"": "no duration", "30": "no duration", "d": "no duration", "1.5d": "no duration", "1000d": "no duration", "nan": "no duration",
		"59s": "at least 1m", "-1h": "at least 1m", "0": "at least 1m", "24h1s": "at most 24h", "2d": "at most 24h", "999d": "at most 24h",
	} {
		if d, err := ParseWindow(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", s, d, err)
		}
	}
}
