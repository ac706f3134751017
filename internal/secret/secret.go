// Package secret holds texts that must not be shown: tokens and passwords.
package secret

import (
	"fmt"
	"log/slog"
)

// Text is a secret. However it is printed, logged or encoded, it shows as ***;
// an empty one, which hides nothing, as nothing.
type Text string

const mask = "***"

// Reveal returns the secret itself, for the one place that sends it.
func (t Text) Reveal() string { return string(t) }

// String returns the mask.
func (t Text) String() string {
	if t == "" {
		return ""
	}
	return mask
}

// Format prints the mask for every verb, also %x and %#v.
func (t Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// LogValue implements slog.LogValuer.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText makes JSON and YAML show the mask.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
