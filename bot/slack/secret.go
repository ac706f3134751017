package slack

import (
	"fmt"
	"log/slog"
)

// Secret is a token. However it is printed, logged or encoded, it shows as ***.
type Secret string

const mask = "***"

// Reveal returns the token itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format prints the mask for every verb, also %x and %#v.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText makes JSON and YAML show the mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
